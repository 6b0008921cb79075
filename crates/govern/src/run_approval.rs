//! Runs that count as evidence only once a person approves them, as `run:<key>`: rlx can't vouch for them by itself.

use std::fmt;

use crate::documents::{MetricSpec, Phase, Slug};
use crate::ledger::StudyState;
use crate::ledger::attempts::{self, Side};
use crate::ledger::state::RunRecord;
use crate::machine::EndCause;
use crate::score::primary;
use crate::view::Study;

/// Why a run counts only once a person approves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyApprove {
    /// rlx neither ran nor limited it
    External,
    /// Its evaluation took files from the candidate
    EvaluatorExposed,
    /// Changed code left files that can run code when evaluation loads them
    ExecutableOutput,
    /// Another seed of the baseline failed before it
    FailedToo,
    /// Its seed was ended from outside as often as it may be
    Interrupted,
    /// Its seed was blocked as often as it may be
    Blocked,
}

impl fmt::Display for WhyApprove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            WhyApprove::External => "it ran outside of rlx",
            WhyApprove::EvaluatorExposed => "its evaluation used files of the candidate",
            WhyApprove::ExecutableOutput => {
                "changed code left files, such as pickles, that can run code when evaluation loads them"
            }
            WhyApprove::FailedToo => "it is not the first seed of the baseline that failed",
            WhyApprove::Interrupted => "it was ended from outside twice",
            WhyApprove::Blocked => "it was blocked three times",
        })
    }
}

/// Why a run counts only once a person approves it; `None` if it counts without that, or never.
pub fn why_approve(state: &StudyState, spec: Option<&MetricSpec>, run: &RunRecord) -> Option<WhyApprove> {
    let of_candidate = of_plan(state, &run.intent.candidate, run.intent.phase);
    let side = state.side_of(&run.intent.candidate);
    let done = attempts::done(&of_candidate, side);
    let attempts = done.iter().find(|attempts| attempts.last.intent.key == run.intent.key)?;
    if !run.is_measured() || run.not_evidence().is_some() {
        return None;
    }
    if run.intent.external.is_some() {
        return Some(WhyApprove::External);
    }
    if run.intent.evaluator_exposed {
        return Some(WhyApprove::EvaluatorExposed);
    }
    if run.ended.as_ref().is_some_and(|ended| ended.executable_output.is_some()) {
        return Some(WhyApprove::ExecutableOutput);
    }
    if side != Side::Reference {
        return None;
    }
    if attempts.is_blocked_for_good() {
        return Some(WhyApprove::Blocked);
    }
    if attempts.is_interrupted(side) {
        return Some(WhyApprove::Interrupted);
    }
    let first = done.iter().map(|attempts| attempts.last).find(|run| has_failed(run, spec));
    let is_later = first.is_some_and(|first| first.intent.key != run.intent.key);
    (has_failed(run, spec) && is_later).then_some(WhyApprove::FailedToo)
}

/// Whether a run failed by itself: by its exit code, or because the primary metric isn't in its files.
pub(crate) fn has_failed(run: &RunRecord, spec: Option<&MetricSpec>) -> bool {
    match run.cause() {
        Some(EndCause::Itself) => true,
        Some(EndCause::Finished) => spec.is_some_and(|spec| primary(run, spec) == Some(None)),
        _ => false,
    }
}

/// Runs of a candidate's phase that don't count because no person approved them, oldest first.
pub fn unapproved<'s>(
    study: &'s Study,
    candidate: &'s Slug,
    phase: Phase,
) -> Vec<(&'s RunRecord, WhyApprove)> {
    let (state, spec) = (study.state(), study.files.metric_spec.typed());
    let runs = of_plan(state, candidate, phase).into_iter();
    let waiting = runs.filter_map(|run| Some((run, why_approve(state, spec, run)?)));
    waiting.filter(|(run, _)| !study.run_standing(run).is_given()).collect()
}

fn of_plan<'s>(state: &'s StudyState, candidate: &'s Slug, phase: Phase) -> Vec<&'s RunRecord> {
    let mut runs = state.runs_of_plan(candidate);
    runs.retain(|run| run.intent.phase == phase);
    runs
}
