//! Acrobot: two links, torque only at the joint between them; swing the tip
//! above the line (Sutton 1996, with the equations of Sutton and Barto's book).
//! One Runge-Kutta step of 0.2 s in f64; start states are rounded to f32.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use rlxp_types::Stream;

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::trig::sin_cos;
use crate::vector::BadState;
use crate::view::View;

const SECONDS_PER_STEP: f64 = 0.2;
const GRAVITY: f64 = 9.8;
/// Both links have length 1, mass 1 and moment of inertia 1.
const CENTRE_OF_MASS: f64 = 0.5;
const SPEED_MAX_1: f64 = 4.0 * PI;
const SPEED_MAX_2: f64 = 9.0 * PI;
const START_RANGE: f64 = 0.1;

/// Acrobot-v1 over many copies.
#[derive(Clone, Debug)]
pub struct Acrobot {
    /// Angle of the first link (0 hangs down), angle between the links, and
    /// their velocities: the Runge-Kutta stages mix all four, so they lie together.
    state: Vec<[f64; 4]>,
}

impl Acrobot {
    pub fn new(copies: usize) -> Self {
        Self { state: vec![[0.0; 4]; copies] }
    }

    /// Both angles, then both angular velocities of one copy.
    pub fn state(&self, copy: usize) -> [f64; 4] {
        self.state[copy]
    }

    /// Sets what [`Acrobot::state`] reads.
    pub fn set_state(&mut self, copy: usize, state: [f64; 4]) {
        self.state[copy] = state;
    }
}

/// The time derivative of the state under a torque.
#[inline]
fn derivative([angle_1, angle_2, speed_1, speed_2]: [f64; 4], torque: f64) -> [f64; 4] {
    let (sine_2, cosine_2) = sin_cos(angle_2);
    let d1 = CENTRE_OF_MASS * CENTRE_OF_MASS
        + (1.0 + CENTRE_OF_MASS * CENTRE_OF_MASS + 2.0 * CENTRE_OF_MASS * cosine_2)
        + 2.0;
    let d2 = (CENTRE_OF_MASS * CENTRE_OF_MASS + CENTRE_OF_MASS * cosine_2) + 1.0;
    let phi_2 = CENTRE_OF_MASS * GRAVITY * sin_cos(angle_1 + angle_2 - FRAC_PI_2).1;
    let phi_1 = -CENTRE_OF_MASS * (speed_2 * speed_2) * sine_2
        - 2.0 * CENTRE_OF_MASS * speed_2 * speed_1 * sine_2
        + (CENTRE_OF_MASS + 1.0) * GRAVITY * sin_cos(angle_1 - FRAC_PI_2).1
        + phi_2;
    let acceleration_2 = (torque + d2 / d1 * phi_1 - CENTRE_OF_MASS * (speed_1 * speed_1) * sine_2 - phi_2)
        / (CENTRE_OF_MASS * CENTRE_OF_MASS + 1.0 - d2 * d2 / d1);
    let acceleration_1 = -(d2 * acceleration_2 + phi_1) / d1;
    [speed_1, speed_2, acceleration_1, acceleration_2]
}

/// The state one step later, by the classic fourth-order Runge-Kutta rule.
#[inline]
fn integrate(state: [f64; 4], torque: f64) -> [f64; 4] {
    let ahead = |slope: [f64; 4], seconds: f64| std::array::from_fn(|i| state[i] + seconds * slope[i]);
    let k1 = derivative(state, torque);
    let k2 = derivative(ahead(k1, SECONDS_PER_STEP / 2.0), torque);
    let k3 = derivative(ahead(k2, SECONDS_PER_STEP / 2.0), torque);
    let k4 = derivative(ahead(k3, SECONDS_PER_STEP), torque);
    std::array::from_fn(|i| state[i] + SECONDS_PER_STEP / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

/// The same angle within ±π. One multiplication instead of repeated
/// subtraction, so that no restored value can make this loop for ever.
#[inline]
fn wrap(angle: f64) -> f64 {
    if angle > PI {
        angle - TAU * ((angle - PI) / TAU).ceil()
    } else if angle < -PI {
        angle + TAU * ((-PI - angle) / TAU).ceil()
    } else {
        angle
    }
}

impl Dynamics for Acrobot {
    const KIND: &'static str = "Acrobot";

    fn copies(&self) -> usize {
        self.state.len()
    }

    fn observation_space(&self) -> Space {
        let high = vec![1.0, 1.0, 1.0, 1.0, SPEED_MAX_1 as f32, SPEED_MAX_2 as f32];
        Space::vector(high.iter().map(|bound| -bound).collect(), high)
    }

    fn action_space(&self) -> Space {
        Space::Discrete { n: 3 }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        let mut draw = || f64::from(stream.uniform_in(-START_RANGE, START_RANGE) as f32);
        self.state[copy] = [draw(), draw(), draw(), draw()];
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        let answers = rewards.iter_mut().zip(terminated);
        for ((action, state), (reward, terminated)) in actions.iter().zip(&mut self.state).zip(answers) {
            let [angle_1, angle_2, speed_1, speed_2] = integrate(*state, f64::from(*action) - 1.0);
            let (angle_1, angle_2) = (wrap(angle_1), wrap(angle_2));
            *state = [
                angle_1,
                angle_2,
                speed_1.clamp(-SPEED_MAX_1, SPEED_MAX_1),
                speed_2.clamp(-SPEED_MAX_2, SPEED_MAX_2),
            ];
            *terminated = -sin_cos(angle_1).1 - sin_cos(angle_2 + angle_1).1 > 1.0;
            *reward = if *terminated { 0.0 } else { -1.0 };
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        let [angle_1, angle_2, speed_1, speed_2] = self.state[copy];
        let ((sine_1, cosine_1), (sine_2, cosine_2)) = (sin_cos(angle_1), sin_cos(angle_2));
        row.copy_from_slice(
            &[cosine_1, sine_1, cosine_2, sine_2, speed_1, speed_2].map(|value| value as f32),
        );
    }

    fn view(&self, copy: usize) -> View {
        let [first_angle, second_angle, first_velocity, second_velocity] = self.state[copy];
        View::Acrobot { first_angle, second_angle, first_velocity, second_velocity }
    }

    fn save(&self, writer: &mut StateWriter) {
        self.state.iter().for_each(|state| writer.f64s(state));
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        self.state.iter_mut().try_for_each(|state| reader.f64s(state))
    }
}
