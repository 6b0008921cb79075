//! MountainCarContinuous: the car in the valley with a push of any strength.
//!
//! Gymnasium draws the start in f64, computes the first step in f64, stores
//! the result in f32 and computes every later step in f32. The same is done
//! here, since a thousand f32 steps drift away from f64 ones.

use rlxp_types::Stream;

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::trig::sin_cos;
use crate::vector::BadState;
use crate::view::View;

const POSITION_MIN: f64 = -1.2;
const POSITION_MAX: f64 = 0.6;
const SPEED_MAX: f64 = 0.07;
const GOAL_POSITION: f64 = 0.45;
const POWER: f64 = 0.0015;
const GRAVITY: f64 = 0.0025;

/// MountainCarContinuous-v0 over many copies.
#[derive(Clone, Debug)]
pub struct MountainCarContinuous {
    position: Vec<f64>,
    velocity: Vec<f64>,
    /// The copy is in its start state, which is not rounded to f32.
    at_start: Vec<bool>,
    goal_velocity: f64,
}

impl MountainCarContinuous {
    /// `copies` cars that must pass the goal with at least `goal_velocity`.
    pub fn new(copies: usize, goal_velocity: f64) -> Self {
        Self {
            position: vec![0.0; copies],
            velocity: vec![0.0; copies],
            at_start: vec![true; copies],
            goal_velocity,
        }
    }

    /// Position and velocity of one copy.
    pub fn state(&self, copy: usize) -> [f64; 2] {
        [self.position[copy], self.velocity[copy]]
    }

    /// Puts one copy into the middle of an episode, where states are f32.
    pub fn set_state(&mut self, copy: usize, state: [f32; 2]) {
        [self.position[copy], self.velocity[copy]] = state.map(f64::from);
        self.at_start[copy] = false;
    }

    /// Puts one copy into a start state, which is f64 and has no velocity.
    pub fn set_start(&mut self, copy: usize, position: f64) {
        (self.position[copy], self.velocity[copy]) = (position, 0.0);
        self.at_start[copy] = true;
    }
}

/// The change of velocity, rounded to f32 as Gymnasium rounds it: the push is
/// an f32 product unless it was cut at its limit.
fn acceleration(action: f32, cosine: f64) -> f32 {
    let pull = GRAVITY * cosine;
    if action < -1.0 {
        (-POWER - pull) as f32
    } else if action > 1.0 {
        (POWER - pull) as f32
    } else {
        action * POWER as f32 - pull as f32
    }
}

impl Dynamics for MountainCarContinuous {
    const KIND: &'static str = "MountainCarContinuous";

    fn copies(&self) -> usize {
        self.position.len()
    }

    fn observation_space(&self) -> Space {
        Space::vector(
            vec![POSITION_MIN as f32, -SPEED_MAX as f32],
            vec![POSITION_MAX as f32, SPEED_MAX as f32],
        )
    }

    fn action_space(&self) -> Space {
        Space::vector(vec![-1.0], vec![1.0])
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.set_start(copy, stream.uniform_in(-0.6, -0.4));
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        for (copy, action) in actions.iter().enumerate() {
            let [position, velocity] = self.state(copy);
            let (position, velocity, ended) = if self.at_start[copy] {
                let push = acceleration(*action, sin_cos(3.0 * position).1);
                let velocity = (velocity + f64::from(push)).clamp(-SPEED_MAX, SPEED_MAX);
                let position = (position + velocity).clamp(POSITION_MIN, POSITION_MAX);
                let there = position >= GOAL_POSITION && velocity >= self.goal_velocity;
                (position as f32, velocity as f32, there)
            } else {
                let (position, velocity) = (position as f32, velocity as f32);
                let push = acceleration(*action, sin_cos(f64::from(3.0 * position)).1);
                let velocity = (velocity + push).clamp(-SPEED_MAX as f32, SPEED_MAX as f32);
                let position = (position + velocity).clamp(POSITION_MIN as f32, POSITION_MAX as f32);
                let there = position >= GOAL_POSITION as f32 && velocity >= self.goal_velocity as f32;
                (position, velocity, there)
            };
            // The left wall takes the speed away; it is far from the goal.
            let against_wall = position == POSITION_MIN as f32 && velocity < 0.0;
            self.set_state(copy, [position, if against_wall { 0.0 } else { velocity }]);
            terminated[copy] = ended;
            let effort = f64::from(*action) * f64::from(*action) * 0.1;
            rewards[copy] = (if ended { 100.0 } else { 0.0 } - effort) as f32;
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        row.copy_from_slice(&self.state(copy).map(|value| value as f32));
    }

    fn view(&self, copy: usize) -> View {
        let [position, velocity] = self.state(copy);
        View::MountainCar { position, velocity, goal_position: GOAL_POSITION, continuous: true }
    }

    fn save(&self, writer: &mut StateWriter) {
        writer.f64s(&self.position);
        writer.f64s(&self.velocity);
        self.at_start.iter().for_each(|flag| writer.u8(u8::from(*flag)));
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        reader.f64s(&mut self.position)?;
        reader.f64s(&mut self.velocity)?;
        for flag in &mut self.at_start {
            *flag = reader.u8_to(1, "a start flag")? == 1;
        }
        Ok(())
    }
}
