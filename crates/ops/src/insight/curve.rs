//! A run's learning curve as read from its metrics.

use rlxp_analyze::{BandPoint, band};
use rlxp_store::{MEAN_RETURN, Record};
use serde::Serialize;

/// Places over the steps at which the seeds of a run are compared.
const GRID: usize = 60;

/// Points of (step, mean return).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Running mean of training episodes.
    pub training: Vec<(u64, f64)>,
    /// Periodic evaluations.
    pub evaluation: Vec<(u64, f64)>,
}

impl Curve {
    pub(crate) fn from_records(records: &[Record]) -> Self {
        let points = |kind: &str| {
            let of_kind = records.iter().filter(|record| record.kind == kind);
            of_kind.filter_map(|record| Some((record.step, record.number(MEAN_RETURN)?))).collect()
        };
        Self { training: points("train"), evaluation: points("eval") }
    }
}

/// What the seeds of one run have in common: mean, lowest and highest return
/// over the steps that all of them have. Evaluations, or training episodes
/// where nothing was evaluated.
pub fn over_seeds<'a>(curves: impl Iterator<Item = &'a Curve>) -> Vec<BandPoint> {
    let curves: Vec<&Curve> = curves.collect();
    let evaluated = curves.iter().all(|curve| !curve.evaluation.is_empty());
    let points: Vec<&[(u64, f64)]> = curves
        .iter()
        .map(|curve| if evaluated { curve.evaluation.as_slice() } else { curve.training.as_slice() })
        .collect();
    band(&points, GRID)
}
