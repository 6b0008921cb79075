//! Small worlds with countable states, aligned with Gymnasium 1.4.0.

pub mod blackjack;
pub mod cliff_walking;
pub mod frozen_lake;
pub mod table;
pub mod taxi;

pub use blackjack::Blackjack;
pub use table::{Outcome, Table, TableWorld};
pub use taxi::Taxi;
