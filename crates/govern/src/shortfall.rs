//! What a budget lacks for the remaining runs.

use crate::budget::Amounts;
use crate::documents::{Contract, Phase, Slug};
use crate::ledger::StudyState;
use crate::ledger::attempts;
use crate::ledger::event::PlannedPhase;
use crate::ledger::state::RunRecord;
use crate::looks::{accepted_at, audit_seeds_beside};
use crate::machine::CandidateState;

/// How a candidate's runs exceed the remaining budget, as text; empty when they fit. `phases` is the plan
/// that they follow. A gate refuses by this, and the next step is chosen by it, so that no step is offered
/// that would be refused.
pub fn shortfalls(
    state: &StudyState,
    candidate: &Slug,
    phases: &[PlannedPhase],
    contract: &Contract,
) -> Vec<String> {
    let agreed = Amounts::from(&contract.budget);
    let overruns = state.tally.overruns(agreed, to_come(state, candidate, phases, contract)).into_iter();
    overruns.map(|(what, wanted, left)| format!("its runs need {wanted} of {what}; {left} left")).collect()
}

/// The total cost of the runs of a plan that aren't recorded as intended yet. Intended runs are already in
/// the tally; runs of earlier revisions belong to other plans, and an interrupted run may be repeated. A candidate may
/// use every look and be accepted at any of them, so the whole schedule counts, audit seeds included.
fn to_come(state: &StudyState, candidate: &Slug, phases: &[PlannedPhase], contract: &Contract) -> Amounts {
    let budget = &contract.budget;
    let record = state.candidates.get(candidate);
    let record = record.filter(|record| record.state == CandidateState::Launched);
    let runs = if record.is_some() { state.runs_of_plan(candidate) } else { Vec::new() };
    let has_looks = phases.iter().any(|planned| planned.phase == Phase::Confirm);
    phases.iter().fold(Amounts::default(), |sum, planned| {
        let of_phase: Vec<&RunRecord> =
            runs.iter().copied().filter(|run| run.intent.phase == planned.phase).collect();
        let intended = attempts::taken(&of_phase, state.side_of(candidate));
        // A record of an earlier version doesn't say how long a run may take, but it still counts
        // as a run.
        let least = Amounts { runs: 1, disk: budget.per_run.disk.0, ..Amounts::default() };
        let wanted = match planned.phase {
            Phase::IncumbentValidation if has_looks => {
                audit_seeds_beside(&contract.statistics.schedule(), record, phases)
            }
            // What is accepted draws no further confirm seeds.
            Phase::Confirm => record.and_then(accepted_at).unwrap_or(planned.seeds),
            _ => planned.seeds,
        };
        let left = wanted.saturating_sub(intended);
        sum.plus(planned.reserve.unwrap_or(least).times(left))
    })
}
