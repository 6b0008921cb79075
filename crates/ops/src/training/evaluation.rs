//! An evaluation as it is stored in `eval/*.json`.

use rlxp_learn::Evaluation;
use serde::{Deserialize, Serialize};

/// One evaluation: every episode is kept, so any later statistic can be
/// computed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// The name and version of the format.
    pub schema: String,
    /// Step of the evaluated policy; `None` for a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Whether the most likely action was taken.
    pub deterministic: bool,
    pub mean_return: f64,
    /// Sample deviation of the returns.
    pub deviation: f64,
    pub mean_length: f64,
    /// Episodes truncated by the step cap.
    pub truncated: usize,
    /// Seed of the first episode; episode i uses this + i.
    pub first_seed: u64,
    /// Return of each episode.
    pub returns: Vec<f64>,
    /// Length of each episode.
    pub lengths: Vec<u64>,
    /// Seed of each episode.
    pub seeds: Vec<u64>,
}

pub(crate) fn record(
    step: impl Into<Option<u64>>,
    deterministic: bool,
    first_seed: u64,
    played: &Evaluation,
) -> EvaluationRecord {
    EvaluationRecord {
        schema: "rlx.evaluation/1".into(),
        step: step.into(),
        deterministic,
        mean_return: played.mean_return(),
        deviation: played.deviation(),
        mean_length: played.mean_length(),
        truncated: played.truncated(),
        first_seed,
        returns: played.episodes.iter().map(|episode| episode.total).collect(),
        lengths: played.episodes.iter().map(|episode| episode.length).collect(),
        seeds: played.episodes.iter().map(|episode| episode.seed).collect(),
    }
}
