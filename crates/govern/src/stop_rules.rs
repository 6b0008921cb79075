//! What ends a study: its budget, the rules of its contract, and the number of candidates that were planned.

use serde::Serialize;

use crate::budget::Amounts;
use crate::documents::{Contract, Direction, Phase, StopRule};
use crate::ledger::state::CandidateRecord;
use crate::machine::CandidateState;
use crate::view::Study;

/// What ends a study, and how to say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) ending: Ending,
    pub(crate) reason: String,
}

impl Stop {
    fn new(ending: Ending, reason: impl Into<String>) -> Self {
        Self { ending, reason: reason.into() }
    }
}

/// Why a study doesn't continue by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The budget is used up, or nothing that is left fits into it
    Budget,
    /// The incumbent is as good as was asked for
    TargetReached,
    /// Too many candidates in a row were not accepted
    NoImprovement,
    /// All planned candidates were confirmed
    PlannedOut,
    /// Too many runs in a row failed or could not start
    Failures,
    /// Nothing can be compared with the baseline
    NoResult,
}

/// What stop rules look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The incumbent's primary metric, if known.
    pub(crate) score: Option<f64>,
    pub(crate) misses_in_a_row: u64,
    pub(crate) failures_in_a_row: u64,
}

impl Standing {
    pub(crate) fn of(study: &Study) -> Self {
        let state = study.state();
        Self {
            score: state.incumbent_score,
            misses_in_a_row: state.misses_in_a_row,
            failures_in_a_row: state.failures_in_a_row,
        }
    }
}

/// The stop rule that applies.
pub(crate) fn stop_rule(study: &Study, contract: &Contract) -> Option<Stop> {
    stop_rule_at(study, contract, Standing::of(study))
}

/// The stop rule that would apply.
pub(crate) fn stop_rule_at(study: &Study, contract: &Contract, standing: Standing) -> Option<Stop> {
    let Standing { score, misses_in_a_row, failures_in_a_row } = standing;
    contract.stop_rules.iter().find_map(|rule| match rule {
        StopRule::TargetReached { value } => {
            let score = score?;
            let reached = match study.files.metric_spec.typed()?.primary.direction {
                Direction::Higher => score >= *value,
                Direction::Lower => score <= *value,
            };
            let reason = || format!("the incumbent has reached {score}; the target is {value}");
            reached.then(|| Stop::new(Ending::TargetReached, reason()))
        }
        StopRule::NoImprovement { candidates } => (misses_in_a_row >= *candidates).then(|| {
            Stop::new(
                Ending::NoImprovement,
                format!("{misses_in_a_row} candidates in a row were not accepted"),
            )
        }),
        StopRule::FailuresInARow { runs } => (failures_in_a_row >= *runs)
            .then(|| Stop::new(Ending::Failures, format!("{failures_in_a_row} runs in a row failed"))),
    })
}

/// Two runs in a row that could not start: whatever is missing won't come back by trying again.
pub(crate) fn blocked(study: &Study) -> Option<Stop> {
    let blocked = study.state().blocked_in_a_row;
    (blocked >= MOST_BLOCKED_IN_A_ROW)
        .then(|| Stop::new(Ending::Failures, format!("{blocked} runs in a row could not start")))
}

const MOST_BLOCKED_IN_A_ROW: u64 = 2;

/// What of the budget is used up.
pub(crate) fn spent(study: &Study, contract: &Contract) -> Option<Stop> {
    let left = study.state().tally.left(Amounts::from(&contract.budget));
    let agreed = Amounts::from(&contract.budget).named();
    let out: Vec<&str> = left
        .named()
        .into_iter()
        .zip(agreed)
        .filter(|(left, agreed)| left.1 == 0 && agreed.1 > 0)
        .map(|(left, _)| left.0)
        .collect();
    let reason = || format!("the budget of {} is used up", out.join(" and "));
    (!out.is_empty()).then(|| Stop::new(Ending::Budget, reason()))
}

/// How many candidates that change something were confirmed: each of them shares the chance of a false claim.
pub(crate) fn confirmed(study: &Study) -> u64 {
    // A candidate without changes makes no claim, so it doesn't use up a confirmation.
    let claims = |record: &&CandidateRecord| {
        !record.validated.kind.is_empty_change() && record.phases.contains(&Phase::Confirm)
    };
    study.state().candidates.values().filter(claims).count() as u64
}

/// Whether every planned candidate was confirmed and judged. More can't be claimed in this study.
pub(crate) fn planned_out(study: &Study, contract: &Contract) -> Option<Stop> {
    let planned = contract.statistics.schedule().candidates;
    let is_open = |record: &CandidateRecord| {
        !record.validated.kind.is_empty_change()
            && matches!(record.state, CandidateState::Launched | CandidateState::Completed)
    };
    let is_over = confirmed(study) >= planned && !study.state().candidates.values().any(is_open);
    let reason = || match planned {
        1 => "the one planned candidate was confirmed (statistics.candidates)".to_owned(),
        many => format!("all {many} planned candidates were confirmed (statistics.candidates)"),
    };
    is_over.then(|| Stop::new(Ending::PlannedOut, reason()))
}
