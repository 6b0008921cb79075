//! What one run counts for: the primary metric that was read from its files, or the failure score, so that
//! a failing run is never an advantage.

use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::MetricSpec;
use crate::ledger::state::RunRecord;
use crate::machine::{RunEnd, RunState};

/// What a run counts for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// In the unit of the primary metric.
    pub value: f64,
    /// Where it comes from.
    pub from: ScoreSource,
}

/// Where a score comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreSource {
    /// The primary metric, read from the run's files
    Primary,
    /// The run failed, reached a limit or was cancelled
    FailureScore,
}

/// What `run` counts for. A failure always counts; otherwise there is no score while it is running or its
/// metric hasn't been read, and never if it isn't evidence or its seed may run again.
pub fn score_run(run: &RunRecord, spec: &MetricSpec) -> Option<Score> {
    match run.state {
        RunState::Ended(end) if end.is_failure() => {
            Some(Score { value: spec.failure_score, from: ScoreSource::FailureScore })
        }
        RunState::Ended(RunEnd::Ok) if run.not_evidence().is_none() => {
            let read = run.evidence.as_ref()?.values.get(&spec.primary.name).copied().flatten()?;
            read.is_finite().then_some(Score { value: read, from: ScoreSource::Primary })
        }
        _ => None,
    }
}
