//! CartPole: push a cart left or right so that its pole stays up
//! (Barto, Sutton and Anderson 1983). Euler steps in f64.

use rlxp_types::{Stream, vectorised};

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::trig::sin_cos;
use crate::vector::BadState;
use crate::view::View;

const GRAVITY: f64 = 9.8;
const POLE_MASS: f64 = 0.1;
const TOTAL_MASS: f64 = 1.0 + POLE_MASS;
const HALF_POLE_LENGTH: f64 = 0.5;
const POLE_MASS_LENGTH: f64 = POLE_MASS * HALF_POLE_LENGTH;
const FORCE: f64 = 10.0;
const SECONDS_PER_STEP: f64 = 0.02;
/// The pole has fallen beyond this angle.
pub const ANGLE_LIMIT: f64 = 12.0 * 2.0 * std::f64::consts::PI / 360.0;
/// The cart has left the track beyond this distance from the middle.
pub const POSITION_LIMIT: f64 = 2.4;
const START_RANGE: f64 = 0.05;

/// CartPole-v1 over many copies.
#[derive(Clone, Debug)]
pub struct CartPole {
    position: Vec<f64>,
    velocity: Vec<f64>,
    angle: Vec<f64>,
    angular_velocity: Vec<f64>,
    reward_up: f32,
    reward_down: f32,
}

impl CartPole {
    /// `copies` carts. The reward is 1 per step, or with `sutton_barto_reward`
    /// 0 per step and −1 for the fall.
    pub fn new(copies: usize, sutton_barto_reward: bool) -> Self {
        let zeros = vec![0.0; copies];
        Self {
            position: zeros.clone(),
            velocity: zeros.clone(),
            angle: zeros.clone(),
            angular_velocity: zeros,
            reward_up: if sutton_barto_reward { 0.0 } else { 1.0 },
            reward_down: if sutton_barto_reward { -1.0 } else { 1.0 },
        }
    }

    /// Position, velocity, angle and angular velocity of one copy.
    pub fn state(&self, copy: usize) -> [f64; 4] {
        [self.position[copy], self.velocity[copy], self.angle[copy], self.angular_velocity[copy]]
    }

    /// Sets what [`CartPole::state`] reads.
    pub fn set_state(&mut self, copy: usize, state: [f64; 4]) {
        [self.position[copy], self.velocity[copy], self.angle[copy], self.angular_velocity[copy]] = state;
    }
}

vectorised! {
    /// One Euler step of all carts.
    fn advance(
        actions: &[f32],
        position: &mut [f64],
        velocity: &mut [f64],
        angle: &mut [f64],
        angular_velocity: &mut [f64],
    ) {
        // Equal lengths known to the compiler remove the bounds checks that
        // would keep this loop from being vectorised.
        let copies = position.len();
        let (position, velocity) = (&mut position[..copies], &mut velocity[..copies]);
        let (angle, angular_velocity) = (&mut angle[..copies], &mut angular_velocity[..copies]);
        let actions = &actions[..copies];
        for copy in 0..copies {
            let force = if actions[copy] == 1.0 { FORCE } else { -FORCE };
            let (sine, cosine) = sin_cos(angle[copy]);
            let spin = angular_velocity[copy];
            let push = (force + POLE_MASS_LENGTH * (spin * spin) * sine) / TOTAL_MASS;
            let angular_acceleration = (GRAVITY * sine - cosine * push)
                / (HALF_POLE_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS));
            let acceleration = push - POLE_MASS_LENGTH * angular_acceleration * cosine / TOTAL_MASS;
            position[copy] += SECONDS_PER_STEP * velocity[copy];
            velocity[copy] += SECONDS_PER_STEP * acceleration;
            angle[copy] += SECONDS_PER_STEP * spin;
            angular_velocity[copy] = spin + SECONDS_PER_STEP * angular_acceleration;
        }
    }
}

impl Dynamics for CartPole {
    const KIND: &'static str = "CartPole";

    fn copies(&self) -> usize {
        self.position.len()
    }

    fn observation_space(&self) -> Space {
        let high =
            vec![2.0 * POSITION_LIMIT as f32, f32::INFINITY, (2.0 * ANGLE_LIMIT) as f32, f32::INFINITY];
        Space::vector(high.iter().map(|bound| -bound).collect(), high)
    }

    fn action_space(&self) -> Space {
        Space::Discrete { n: 2 }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        let mut draw = || stream.uniform_in(-START_RANGE, START_RANGE);
        self.set_state(copy, [draw(), draw(), draw(), draw()]);
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        let Self { position, velocity, angle, angular_velocity, .. } = self;
        advance(actions, position, velocity, angle, angular_velocity);
        let places = self.position.iter().zip(&self.angle);
        for ((reward, terminated), (position, angle)) in rewards.iter_mut().zip(terminated).zip(places) {
            let down = (position.abs() > POSITION_LIMIT) | (angle.abs() > ANGLE_LIMIT);
            *terminated = down;
            *reward = if down { self.reward_down } else { self.reward_up };
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        row.copy_from_slice(&self.state(copy).map(|value| value as f32));
    }

    fn observe(&self, observations: &mut [f32]) {
        let columns =
            self.position.iter().zip(&self.velocity).zip(self.angle.iter().zip(&self.angular_velocity));
        for (row, ((position, velocity), (angle, spin))) in
            observations.as_chunks_mut().0.iter_mut().zip(columns)
        {
            *row = [*position as f32, *velocity as f32, *angle as f32, *spin as f32];
        }
    }

    fn view(&self, copy: usize) -> View {
        let [position, velocity, angle, angular_velocity] = self.state(copy);
        View::CartPole { position, velocity, angle, angular_velocity }
    }

    fn save(&self, writer: &mut StateWriter) {
        for column in [&self.position, &self.velocity, &self.angle, &self.angular_velocity] {
            writer.f64s(column);
        }
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        for column in [&mut self.position, &mut self.velocity, &mut self.angle, &mut self.angular_velocity] {
            reader.f64s(column)?;
        }
        Ok(())
    }
}
