//! Prose: what numbers say to a reader. [`verdict`] puts a comparison into
//! sentences, [`story`] a training, and [`metrics`] explains each number that
//! is logged.

pub mod metrics;
pub mod story;
pub mod verdict;
