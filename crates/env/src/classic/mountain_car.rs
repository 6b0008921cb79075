//! MountainCar: swing a weak car out of a valley with three pushes
//! (Moore 1990). State in f64.

use rlxp_types::{Stream, vectorised};

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::trig::sin_cos;
use crate::vector::BadState;
use crate::view::View;

const POSITION_MIN: f64 = -1.2;
const POSITION_MAX: f64 = 0.6;
const SPEED_MAX: f64 = 0.07;
const GOAL_POSITION: f64 = 0.5;
const PUSH: f64 = 0.001;
const GRAVITY: f64 = 0.0025;

/// MountainCar-v0 over many copies.
#[derive(Clone, Debug)]
pub struct MountainCar {
    position: Vec<f64>,
    velocity: Vec<f64>,
    goal_velocity: f64,
}

impl MountainCar {
    /// `copies` cars that must pass the goal with at least `goal_velocity`.
    pub fn new(copies: usize, goal_velocity: f64) -> Self {
        Self { position: vec![0.0; copies], velocity: vec![0.0; copies], goal_velocity }
    }

    /// Position and velocity of one copy.
    pub fn state(&self, copy: usize) -> [f64; 2] {
        [self.position[copy], self.velocity[copy]]
    }

    /// Sets what [`MountainCar::state`] reads.
    pub fn set_state(&mut self, copy: usize, state: [f64; 2]) {
        [self.position[copy], self.velocity[copy]] = state;
    }
}

vectorised! {
    /// One step of all cars.
    fn advance(actions: &[f32], position: &mut [f64], velocity: &mut [f64]) {
        for (action, (position, velocity)) in actions.iter().zip(position.iter_mut().zip(velocity)) {
            let slope = sin_cos(3.0 * *position).1;
            let pushed = *velocity + ((f64::from(*action) - 1.0) * PUSH + slope * -GRAVITY);
            let pushed = pushed.clamp(-SPEED_MAX, SPEED_MAX);
            *position = (*position + pushed).clamp(POSITION_MIN, POSITION_MAX);
            // The left wall takes the speed away.
            let against_wall = (*position == POSITION_MIN) & (pushed < 0.0);
            *velocity = if against_wall { 0.0 } else { pushed };
        }
    }
}

impl Dynamics for MountainCar {
    const KIND: &'static str = "MountainCar";

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
        Space::Discrete { n: 3 }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.set_state(copy, [stream.uniform_in(-0.6, -0.4), 0.0]);
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        advance(actions, &mut self.position, &mut self.velocity);
        let places = self.position.iter().zip(&self.velocity);
        for (terminated, (position, velocity)) in terminated.iter_mut().zip(places) {
            *terminated = (*position >= GOAL_POSITION) & (*velocity >= self.goal_velocity);
        }
        rewards.fill(-1.0);
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        row.copy_from_slice(&self.state(copy).map(|value| value as f32));
    }

    fn view(&self, copy: usize) -> View {
        let [position, velocity] = self.state(copy);
        View::MountainCar { position, velocity, goal_position: GOAL_POSITION, continuous: false }
    }

    fn save(&self, writer: &mut StateWriter) {
        writer.f64s(&self.position);
        writer.f64s(&self.velocity);
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        reader.f64s(&mut self.position)?;
        reader.f64s(&mut self.velocity)
    }
}
