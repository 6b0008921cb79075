//! A run's learning curve as read from its metrics.

use rlxp_store::{MEAN_RETURN, Record};
use serde::Serialize;

/// Points of (step, mean return).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Running mean of training episodes.
    pub training: Vec<(u64, f64)>,
    /// Periodic evaluations.
    pub evaluation: Vec<(u64, f64)>,
}

impl Curve {
    /// The curve in `records`.
    pub(crate) fn of(records: &[Record]) -> Self {
        let points = |kind: &str| {
            let of_kind = records.iter().filter(|record| record.kind == kind);
            of_kind.filter_map(|record| Some((record.step, record.number(MEAN_RETURN)?))).collect()
        };
        Self { training: points("train"), evaluation: points("eval") }
    }
}
