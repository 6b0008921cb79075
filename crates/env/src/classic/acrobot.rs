//! Acrobot: two links, torque only at the joint between them; swing the tip
//! above the line (Sutton 1996, with the equations of Sutton and Barto's book).
//! One Runge-Kutta step of 0.2 s in f64; start states are rounded to f32.

use std::f64::consts::{FRAC_PI_2, PI};

use rlxp_types::{Stream, vectorised};

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::trig::{sin_cos, wrap};
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
    /// Angles of the first link (0 hangs down), angles between the links, and
    /// their velocities, each over all copies.
    states: [Vec<f64>; 4],
    /// How far the tips are above the line, from step to step overwritten.
    heights: Vec<f64>,
}

impl Acrobot {
    pub fn new(copies: usize) -> Self {
        Self { states: std::array::from_fn(|_| vec![0.0; copies]), heights: vec![0.0; copies] }
    }

    /// Both angles, then both angular velocities of one copy.
    pub fn state(&self, copy: usize) -> [f64; 4] {
        std::array::from_fn(|part| self.states[part][copy])
    }

    /// Sets what [`Acrobot::state`] reads.
    pub fn set_state(&mut self, copy: usize, state: [f64; 4]) {
        for (column, value) in self.states.iter_mut().zip(state) {
            column[copy] = value;
        }
    }
}

/// The time derivative of the state under a torque.
#[inline(always)]
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
#[inline(always)]
fn integrate(state: [f64; 4], torque: f64) -> [f64; 4] {
    let ahead = |slope: [f64; 4], seconds: f64| std::array::from_fn(|i| state[i] + seconds * slope[i]);
    let k1 = derivative(state, torque);
    let k2 = derivative(ahead(k1, SECONDS_PER_STEP / 2.0), torque);
    let k3 = derivative(ahead(k2, SECONDS_PER_STEP / 2.0), torque);
    let k4 = derivative(ahead(k3, SECONDS_PER_STEP), torque);
    std::array::from_fn(|i| state[i] + SECONDS_PER_STEP / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

vectorised! {
    /// One step of all copies, four by four columns.
    fn advance(actions: &[f32], states: &mut [Vec<f64>; 4]) {
        let [angle_1, angle_2, speed_1, speed_2] = states;
        // Equal lengths known to the compiler remove the bounds checks that
        // would keep this loop from being vectorised.
        let copies = angle_1.len();
        let (angle_1, angle_2) = (&mut angle_1[..copies], &mut angle_2[..copies]);
        let (speed_1, speed_2) = (&mut speed_1[..copies], &mut speed_2[..copies]);
        let actions = &actions[..copies];
        for copy in 0..copies {
            let before = [angle_1[copy], angle_2[copy], speed_1[copy], speed_2[copy]];
            let after = integrate(before, f64::from(actions[copy]) - 1.0);
            angle_1[copy] = wrap(after[0]);
            angle_2[copy] = wrap(after[1]);
            speed_1[copy] = after[2].clamp(-SPEED_MAX_1, SPEED_MAX_1);
            speed_2[copy] = after[3].clamp(-SPEED_MAX_2, SPEED_MAX_2);
        }
    }
}

vectorised! {
    /// How far the tip of each copy is above the line.
    fn heights(angle_1: &[f64], angle_2: &[f64], heights: &mut [f64]) {
        for (height, (angle_1, angle_2)) in heights.iter_mut().zip(angle_1.iter().zip(angle_2)) {
            *height = -sin_cos(*angle_1).1 - sin_cos(angle_2 + angle_1).1 - 1.0;
        }
    }
}

vectorised! {
    fn observe_all(states: &[Vec<f64>; 4], observations: &mut [f32]) {
        let [angle_1, angle_2, speed_1, speed_2] = states;
        let rows = observations.as_chunks_mut().0;
        let columns = angle_1.iter().zip(angle_2).zip(speed_1.iter().zip(speed_2));
        for (row, ((angle_1, angle_2), (speed_1, speed_2))) in rows.iter_mut().zip(columns) {
            let ((sine_1, cosine_1), (sine_2, cosine_2)) = (sin_cos(*angle_1), sin_cos(*angle_2));
            *row = [cosine_1, sine_1, cosine_2, sine_2, *speed_1, *speed_2].map(|value| value as f32);
        }
    }
}

impl Dynamics for Acrobot {
    const KIND: &'static str = "Acrobot";

    fn copies(&self) -> usize {
        self.heights.len()
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
        self.set_state(copy, [draw(), draw(), draw(), draw()]);
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        advance(actions, &mut self.states);
        heights(&self.states[0], &self.states[1], &mut self.heights);
        for ((reward, terminated), height) in rewards.iter_mut().zip(terminated).zip(&self.heights) {
            *terminated = *height > 0.0;
            *reward = if *terminated { 0.0 } else { -1.0 };
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        let [angle_1, angle_2, speed_1, speed_2] = self.state(copy);
        let ((sine_1, cosine_1), (sine_2, cosine_2)) = (sin_cos(angle_1), sin_cos(angle_2));
        row.copy_from_slice(
            &[cosine_1, sine_1, cosine_2, sine_2, speed_1, speed_2].map(|value| value as f32),
        );
    }

    fn observe(&self, observations: &mut [f32]) {
        observe_all(&self.states, observations);
    }

    fn view(&self, copy: usize) -> View {
        let [first_angle, second_angle, first_velocity, second_velocity] = self.state(copy);
        View::Acrobot { first_angle, second_angle, first_velocity, second_velocity }
    }

    fn save(&self, writer: &mut StateWriter) {
        (0..self.copies()).for_each(|copy| writer.f64s(&self.state(copy)));
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        for copy in 0..self.copies() {
            let mut state = [0.0; 4];
            reader.f64s(&mut state)?;
            self.set_state(copy, state);
        }
        Ok(())
    }
}
