//! Prose: what numbers say to a reader. [`verdict`] puts a comparison into
//! sentences, [`story`] a training, and [`metrics`] explains each number that
//! is logged.

pub mod metrics;
pub mod story;
#[cfg(test)]
mod tests;
pub mod verdict;
