//! The planned looks at a candidate: how many of its seeds each needs, and how many audit seeds follow one that accepts.
//!
//! A candidate draws fresh confirm seeds up to its next look. Each look is a record of the ledger, so how far a candidate
//! is follows from its records alone.

use crate::documents::{Phase, Schedule};
use crate::ledger::event::{LookCall, PlannedPhase};
use crate::ledger::state::CandidateRecord;
use crate::view::Study;

/// The seeds of a candidate at each look: those of the contract, as far as its plan goes. A plan that an earlier version
/// of rlx validated may have fewer.
pub fn planned(schedule: &Schedule, phases: &[PlannedPhase]) -> Vec<u64> {
    let Some(total) = seeds_of(phases, Phase::Confirm) else { return Vec::new() };
    let mut looks: Vec<u64> = schedule.looks.iter().copied().filter(|seeds| *seeds < total).collect();
    looks.push(total);
    looks
}

/// The seeds at which a candidate was found to be better, if it was.
pub fn accepted_at(record: &CandidateRecord) -> Option<u64> {
    record.looks.last().filter(|look| look.call == LookCall::Accept).map(|look| look.seeds)
}

/// How many seeds of a phase are wanted before its candidate is looked at.
pub fn wanted(study: &Study, record: &CandidateRecord, planned_phase: &PlannedPhase) -> u64 {
    let schedule = study.contract().map(|contract| contract.statistics.schedule());
    let (Some(schedule), false) = (schedule, record.validated.kind.is_empty_change()) else {
        return planned_phase.seeds;
    };
    match planned_phase.phase {
        Phase::Confirm => match record.looks.last() {
            Some(last) if last.call != LookCall::More => last.seeds,
            _ => {
                let looks = planned(&schedule, &record.validated.phases);
                looks.get(record.looks.len()).or(looks.last()).copied().unwrap_or(planned_phase.seeds)
            }
        },
        Phase::IncumbentValidation => {
            accepted_at(record).map_or(planned_phase.seeds, |seeds| schedule.top_up(seeds))
        }
        Phase::Smoke | Phase::Short => planned_phase.seeds,
    }
}

/// The most audit seeds that a plan can still need beside all its confirm seeds: few where it is accepted late, because
/// the set is topped up to a fixed size.
pub fn audit_seeds_beside(
    schedule: &Schedule,
    record: Option<&CandidateRecord>,
    phases: &[PlannedPhase],
) -> u64 {
    let looks = planned(schedule, phases);
    let Some(total) = looks.last().copied() else {
        return seeds_of(phases, Phase::IncumbentValidation).unwrap_or(0);
    };
    if let Some(seeds) = record.and_then(accepted_at) {
        return schedule.top_up(seeds);
    }
    let done = record.map_or(0, |record| record.looks.len());
    let whole = looks.iter().skip(done).map(|seeds| seeds + schedule.top_up(*seeds)).max();
    whole.unwrap_or(total).saturating_sub(total)
}

fn seeds_of(phases: &[PlannedPhase], phase: Phase) -> Option<u64> {
    phases.iter().find(|planned| planned.phase == phase).map(|planned| planned.seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(confirm: u64, audit: u64) -> Vec<PlannedPhase> {
        [(Phase::Smoke, 1), (Phase::Confirm, confirm), (Phase::IncumbentValidation, audit)]
            .map(|(phase, seeds)| PlannedPhase { phase, seeds, reserve: None })
            .to_vec()
    }

    fn schedule(incumbent_seeds: u64) -> Schedule {
        Schedule { alpha: 0.05, screen_seeds: 3, candidates: 5, incumbent_seeds, looks: vec![5, 10, 15] }
    }

    #[test]
    fn looks_end_with_the_plan() {
        assert_eq!(planned(&schedule(15), &plan(15, 10)), [5, 10, 15]);
        assert_eq!(planned(&schedule(15), &plan(12, 10)), [5, 10, 12]);
        assert_eq!(planned(&schedule(15), &plan(2, 10)), [2]);
        assert_eq!(planned(&schedule(15), &plan(20, 10)), [5, 10, 15, 20]);
        assert_eq!(planned(&schedule(15), &[]), [0; 0]);
    }

    #[test]
    fn the_budget_holds_the_most_expensive_way_to_be_accepted() {
        // 15 and 5 more are the most; accepted at 5, only 10 follow.
        assert_eq!(audit_seeds_beside(&schedule(15), None, &plan(15, 10)), 5);
        // Accepted at any look, the set is topped up to 40.
        assert_eq!(audit_seeds_beside(&schedule(40), None, &plan(15, 35)), 25);
        assert_eq!(audit_seeds_beside(&schedule(15), None, &[]), 0);
    }
}
