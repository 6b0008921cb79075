//! What runs count for: the primary metric that was read from their files, or a score that makes it pointless to
//! interrupt them.
//!
//! A run is scored by the side it is on. Where it is judged, everything that kept it from a result is the failure
//! score. Where it is the reference, only what it did itself is; a seed that was interrupted counts like the best
//! finished seed of its set, so that cancelling or killing runs doesn't lower the bar. Smoke runs never count, and
//! neither do runs without an evaluation seed, which older versions launched.

use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::{Direction, MetricSpec};
use crate::ledger::attempts::{self, Attempts, Side};
use crate::ledger::state::RunRecord;
use crate::machine::EndCause;

/// Differences of larger values can't be computed; such a value counts like one that is not finite.
pub const LARGEST: f64 = 1e150;

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
    /// The run failed; if it is judged, also: it was interrupted, or its files were changed from outside
    FailureScore,
}

/// What a seed counts for, before it is compared with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeedResult {
    /// It finished with this value
    Finished(f64),
    /// It counts with the failure score
    Failed,
    /// It was interrupted and counts like the best finished seed of its set
    LikeTheBest,
}

/// What each seed of an accepted candidate counts for, now that others are compared with it; `None` if one of them has
/// no result. It ran while it was judged, so a seed that was interrupted didn't run again; like every interrupted seed of
/// a reference, it counts like the best.
pub fn results_as_reference(runs: &[&RunRecord], spec: &MetricSpec) -> Option<Vec<SeedResult>> {
    let counted = |attempts: &Attempts<'_>| {
        let was_finished = attempts.last.cause() == Some(EndCause::Finished);
        let was_interrupted = !was_finished && attempts.last.cause() != Some(EndCause::Itself);
        match result_of(attempts, spec, Side::Judged)? {
            SeedResult::Failed if was_interrupted || attempts.last.was_touched() => {
                Some(SeedResult::LikeTheBest)
            }
            result => Some(result),
        }
    };
    attempts::done(runs, Side::Judged).iter().map(counted).collect()
}

/// What a seed counts for; `None` while that isn't known, and if it never counts.
pub fn result_of(attempts: &Attempts<'_>, spec: &MetricSpec, side: Side) -> Option<SeedResult> {
    if !attempts.is_done(side) || !is_comparable(attempts.last) {
        return None;
    }
    match (attempts.last.cause()?, side) {
        (EndCause::Finished, Side::Judged) if attempts.last.was_touched() => Some(SeedResult::Failed),
        (EndCause::Finished, _) if attempts.last.not_evidence().is_some() => None,
        (EndCause::Finished, _) => match primary(attempts.last, spec)? {
            Some(value) => Some(SeedResult::Finished(value)),
            None => Some(SeedResult::Failed),
        },
        (EndCause::Itself, _) => Some(SeedResult::Failed),
        // It is done, so it was interrupted or blocked as often as it may be.
        (EndCause::Outside | EndCause::LostEarly | EndCause::NotStarted, Side::Judged) => {
            Some(SeedResult::Failed)
        }
        (EndCause::Outside | EndCause::LostEarly | EndCause::NotStarted, Side::Reference) => {
            Some(SeedResult::LikeTheBest)
        }
    }
}

/// What each seed of a set counts for, in the order of their runs; `None` if one of them has no result. `runs` are
/// those of one phase.
pub fn results(runs: &[&RunRecord], spec: &MetricSpec, side: Side) -> Option<Vec<SeedResult>> {
    attempts::done(runs, side).iter().map(|attempts| result_of(attempts, spec, side)).collect()
}

/// The failure score in a comparison of these sets: what the contract says, and never better than the worst seed that
/// finished in any of them.
pub fn failure_score(sets: &[&[SeedResult]], spec: &MetricSpec) -> f64 {
    let finished = sets.iter().copied().flatten().filter_map(finished);
    finished.fold(spec.failure_score, |worst, value| worse(worst, value, spec.primary.direction))
}

/// The values of a set, where failed seeds count `failure`; `None` if a seed counts like the best and none finished.
pub fn values(set: &[SeedResult], spec: &MetricSpec, failure: f64) -> Option<Vec<f64>> {
    let better = |one: f64, other: f64| -worse(-one, -other, spec.primary.direction);
    let best = set.iter().filter_map(finished).reduce(better);
    let value = |result: &SeedResult| match result {
        SeedResult::Finished(value) => Some(*value),
        SeedResult::Failed => Some(failure),
        SeedResult::LikeTheBest => best,
    };
    set.iter().map(value).collect()
}

/// The values of the reference and of the judged set, for a comparison of the two.
pub fn compared(
    reference: &[SeedResult],
    judged: &[SeedResult],
    spec: &MetricSpec,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let failure = failure_score(&[reference, judged], spec);
    Some((values(reference, spec, failure)?, values(judged, spec, failure)?))
}

/// What a single run counts for, as far as that doesn't depend on others.
pub fn score_run(run: &RunRecord, spec: &MetricSpec, side: Side) -> Option<Score> {
    let attempts = attempts::by_seed(&[run]);
    match result_of(attempts.get(&run.intent.seed)?, spec, side)? {
        SeedResult::Finished(value) => Some(Score { value, from: ScoreSource::Primary }),
        SeedResult::Failed => Some(Score { value: spec.failure_score, from: ScoreSource::FailureScore }),
        SeedResult::LikeTheBest => None,
    }
}

/// Whether a run can be compared with others at all.
pub(crate) fn is_comparable(run: &RunRecord) -> bool {
    run.is_measured() && run.intent.evaluation_seed.is_some()
}

/// The primary metric of a run: `None` if its files weren't read yet, `Some(None)` if they have no finite value.
pub(crate) fn primary(run: &RunRecord, spec: &MetricSpec) -> Option<Option<f64>> {
    let read = run.evidence.as_ref()?.values.get(&spec.primary.name).copied().flatten();
    Some(read.filter(|value| value.abs() <= LARGEST))
}

fn finished(result: &SeedResult) -> Option<f64> {
    match result {
        SeedResult::Finished(value) => Some(*value),
        SeedResult::Failed | SeedResult::LikeTheBest => None,
    }
}

fn worse(one: f64, other: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Higher => one.min(other),
        Direction::Lower => one.max(other),
    }
}
