//! Classic control: five small physical systems, aligned with Gymnasium 1.4.0.

pub mod acrobot;
pub mod cart_pole;
pub mod mountain_car;
pub mod mountain_car_continuous;
pub mod pendulum;

pub use acrobot::Acrobot;
pub use cart_pole::CartPole;
pub use mountain_car::MountainCar;
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::Pendulum;
