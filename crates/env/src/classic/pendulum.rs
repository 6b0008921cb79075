//! Pendulum: swing a pole up with a limited torque and hold it there.
//! State in f64, torque in f32 as the action comes in.

use std::f64::consts::PI;

use rlxp_types::{Stream, vectorised};

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::trig::{sin_cos, wrap};
use crate::vector::BadState;
use crate::view::View;

const SPEED_MAX: f64 = 8.0;
const TORQUE_MAX: f32 = 2.0;
const SECONDS_PER_STEP: f64 = 0.05;

/// Pendulum-v1 over many copies; mass and length are 1.
#[derive(Clone, Debug)]
pub struct Pendulum {
    angle: Vec<f64>,
    velocity: Vec<f64>,
    gravity: f64,
}

impl Pendulum {
    /// `copies` pendulums under `gravity`.
    pub fn new(copies: usize, gravity: f64) -> Self {
        Self { angle: vec![0.0; copies], velocity: vec![0.0; copies], gravity }
    }

    /// Angle (0 is up, not wrapped) and angular velocity of one copy.
    pub fn state(&self, copy: usize) -> [f64; 2] {
        [self.angle[copy], self.velocity[copy]]
    }

    /// Sets what [`Pendulum::state`] reads.
    pub fn set_state(&mut self, copy: usize, state: [f64; 2]) {
        [self.angle[copy], self.velocity[copy]] = state;
    }
}

vectorised! {
    /// One step of all pendulums, with the reward for where each was.
    fn advance(actions: &[f32], gravity: f64, angle: &mut [f64], velocity: &mut [f64], rewards: &mut [f32]) {
        let columns = angle.iter_mut().zip(velocity);
        for ((action, reward), (angle, velocity)) in actions.iter().zip(rewards).zip(columns) {
            let torque = action.clamp(-TORQUE_MAX, TORQUE_MAX);
            let from_up = wrap(*angle);
            let cost =
                from_up * from_up + 0.1 * (*velocity * *velocity) + f64::from(0.001 * (torque * torque));
            *reward = -cost as f32;
            let gravity_pull = 3.0 * gravity / 2.0 * sin_cos(*angle).0;
            let faster = *velocity + (gravity_pull + f64::from(3.0 * torque)) * SECONDS_PER_STEP;
            *velocity = faster.clamp(-SPEED_MAX, SPEED_MAX);
            *angle += *velocity * SECONDS_PER_STEP;
        }
    }
}

vectorised! {
    fn observe_all(angle: &[f64], velocity: &[f64], observations: &mut [f32]) {
        let rows = observations.as_chunks_mut().0;
        for (row, (angle, velocity)) in rows.iter_mut().zip(angle.iter().zip(velocity)) {
            let (sine, cosine) = sin_cos(*angle);
            *row = [cosine as f32, sine as f32, *velocity as f32];
        }
    }
}

impl Dynamics for Pendulum {
    const KIND: &'static str = "Pendulum";

    fn copies(&self) -> usize {
        self.angle.len()
    }

    fn observation_space(&self) -> Space {
        let high = vec![1.0, 1.0, SPEED_MAX as f32];
        Space::vector(high.iter().map(|bound| -bound).collect(), high)
    }

    fn action_space(&self) -> Space {
        Space::vector(vec![-TORQUE_MAX], vec![TORQUE_MAX])
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.set_state(copy, [stream.uniform_in(-PI, PI), stream.uniform_in(-1.0, 1.0)]);
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        advance(actions, self.gravity, &mut self.angle, &mut self.velocity, rewards);
        terminated.fill(false);
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        let (sine, cosine) = sin_cos(self.angle[copy]);
        row.copy_from_slice(&[cosine as f32, sine as f32, self.velocity[copy] as f32]);
    }

    fn observe(&self, observations: &mut [f32]) {
        observe_all(&self.angle, &self.velocity, observations);
    }

    fn view(&self, copy: usize) -> View {
        let [angle, angular_velocity] = self.state(copy);
        View::Pendulum { angle, angular_velocity }
    }

    fn save(&self, writer: &mut StateWriter) {
        writer.f64s(&self.angle);
        writer.f64s(&self.velocity);
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        reader.f64s(&mut self.angle)?;
        reader.f64s(&mut self.velocity)
    }
}
