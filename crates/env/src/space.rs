//! Spaces of observations and actions, as Gymnasium names them.
//!
//! Both are carried as rows of f32: a Discrete value is one float that holds
//! the index, MultiDiscrete one index per part, MultiBinary and Box one float
//! per element. f32 holds every index below 2^24 exactly, and one storage type
//! keeps the hot loop free of dispatch.

use serde::Serialize;

/// What observations or actions look like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Space {
    /// One of n values.
    Discrete { n: usize },
    /// Several choices at once.
    MultiDiscrete {
        /// Number of values of each part.
        nvec: Vec<usize>,
    },
    /// Several yes/no values.
    MultiBinary { n: usize },
    /// Real numbers within bounds.
    Box {
        /// Lower bounds; may be infinite.
        low: Vec<f32>,
        /// Upper bounds; may be infinite.
        high: Vec<f32>,
    },
}

impl Space {
    /// Floats in one row.
    pub fn width(&self) -> usize {
        match self {
            Space::Discrete { .. } => 1,
            Space::MultiDiscrete { nvec } => nvec.len(),
            Space::MultiBinary { n } => *n,
            Space::Box { low, .. } => low.len(),
        }
    }
}
