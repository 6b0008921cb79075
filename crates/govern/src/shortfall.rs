//! What a budget lacks for the remaining runs.

use crate::budget::Amounts;
use crate::documents::{BudgetSection, Slug};
use crate::ledger::StudyState;
use crate::ledger::attempts;
use crate::ledger::event::PlannedPhase;
use crate::ledger::state::RunRecord;
use crate::machine::CandidateState;

/// How a candidate's runs exceed the remaining budget, as text; empty when they fit. `phases` is the plan
/// that they follow. A gate refuses by this, and the next step is chosen by it, so that no step is offered
/// that would be refused.
pub fn shortfalls(
    state: &StudyState,
    candidate: &Slug,
    phases: &[PlannedPhase],
    budget: &BudgetSection,
) -> Vec<String> {
    let overruns =
        state.tally.overruns(Amounts::from(budget), to_come(state, candidate, phases, budget)).into_iter();
    overruns.map(|(what, wanted, left)| format!("its runs need {wanted} of {what}; {left} left")).collect()
}

/// The total cost of the runs of a plan that aren't recorded as intended yet. Intended runs are already in
/// the tally; runs of earlier revisions belong to other plans, and an interrupted run may be repeated.
fn to_come(state: &StudyState, candidate: &Slug, phases: &[PlannedPhase], budget: &BudgetSection) -> Amounts {
    let record = state.candidates.get(candidate);
    let under_way = record.is_some_and(|record| record.state == CandidateState::Launched);
    let runs = if under_way { state.runs_of_plan(candidate) } else { Vec::new() };
    phases.iter().fold(Amounts::default(), |sum, planned| {
        let of_phase: Vec<&RunRecord> =
            runs.iter().copied().filter(|run| run.intent.phase == planned.phase).collect();
        let intended = attempts::taken(&of_phase, state.side_of(candidate));
        // A record of an earlier version doesn't say how long a run may take, but it still counts
        // as a run.
        let least = Amounts { runs: 1, disk: budget.per_run.disk.0, ..Amounts::default() };
        let left = planned.seeds.saturating_sub(intended);
        sum.plus(planned.reserve.unwrap_or(least).times(left))
    })
}
