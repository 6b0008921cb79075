//! What each environment looks like: a [`View`] of its state as a picture that
//! a person recognises, one file per environment.
//!
//! All pictures are 600 × 400 and keep the upper [`CALM`] units free of
//! anything that matters, so that words can be laid over them. Every number of
//! a view changes its picture, velocities included, and nothing is said by
//! colour alone.

mod acrobot;
mod blackjack;
mod cart_pole;
mod cliff_walking;
mod frozen_lake;
mod mountain_car;
mod observation;
mod parts;
mod pendulum;
mod photo;
mod taxi;

pub use photo::whole;
use rlxp_env::View;

use crate::scene::Scene;

/// Width of every picture.
pub const WIDTH: f32 = 600.0;
/// Height of every picture.
pub const HEIGHT: f32 = 400.0;
/// Height of the strip at the top without important content.
pub const CALM: f32 = 38.0;

/// What is known beside the state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look<'a> {
    /// The action that is about to be taken, as the environment is given it.
    pub action: Option<&'a [f32]>,
    /// Names of the observation's numbers, as the catalogue has them.
    pub observation_names: &'a [&'a str],
    /// Names of the choices, or of the action's numbers.
    pub action_names: &'a [&'a str],
}

impl Look<'_> {
    /// The choice, when the action is one.
    fn choice(&self) -> Option<usize> {
        match self.action {
            Some([index]) if *index >= 0.0 => Some(*index as usize),
            _ => None,
        }
    }

    /// The number, when the action is one; NaN and infinities push nothing.
    fn number(&self) -> Option<f64> {
        match self.action {
            Some([value]) if value.is_finite() => Some(f64::from(*value)),
            _ => None,
        }
    }
}

/// The picture of a view.
pub fn scene(view: &View, look: &Look<'_>) -> Scene {
    match *view {
        View::CartPole { position, velocity, angle, angular_velocity } => {
            cart_pole::scene(position, velocity, angle, angular_velocity, look.choice())
        }
        View::Acrobot { first_angle, second_angle, first_velocity, second_velocity } => {
            acrobot::scene([first_angle, second_angle], [first_velocity, second_velocity], look.choice())
        }
        View::MountainCar { position, velocity, goal_position, continuous } => {
            let push =
                if continuous { look.number() } else { look.choice().map(|choice| choice as f64 - 1.0) };
            mountain_car::scene(position, velocity, goal_position, continuous, push)
        }
        View::Pendulum { angle, angular_velocity } => pendulum::scene(angle, angular_velocity, look.number()),
        View::FrozenLake { rows, columns, ref tiles, slippery, row, column } => {
            let lake = frozen_lake::Lake { rows, columns, tiles, slippery };
            frozen_lake::scene(&lake, (row, column), look.choice())
        }
        View::CliffWalking { rows, columns, slippery, row, column } => {
            cliff_walking::scene(rows, columns, slippery, (row, column), look.choice())
        }
        View::Taxi { row, column, passenger, destination, raining, undecided } => {
            let town = taxi::Town { row, column, passenger, destination, raining, undecided };
            taxi::scene(&town, look.choice())
        }
        View::Blackjack { .. } => blackjack::scene(view, look.choice()),
        View::Observation(ref row) => observation::scene(row, look),
        View::Photo(ref photo) => photo::scene(photo),
    }
}

/// Steps per second at which a person can follow: true time where the physics
/// has a clock, slower for board games.
pub fn steps_per_second(view: &View) -> u32 {
    match view {
        View::CartPole { .. } => 50,
        View::MountainCar { .. } => 30,
        View::Pendulum { .. } => 20,
        View::Acrobot { .. } => 15,
        View::FrozenLake { .. } | View::CliffWalking { .. } | View::Taxi { .. } => 5,
        View::Blackjack { .. } | View::Observation(_) => 2,
        View::Photo(photo) => photo.format.per_second,
    }
}
