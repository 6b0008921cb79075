//! The next run of a candidate: which phase, which seed, under which key, with which words. Pure, as all of this crate:
//! where a seed has to be drawn, the caller brings the randomness.

use std::collections::BTreeSet;

use crate::documents::{Candidate, Phase, PhasePlan, SeedRange, SeedRoles, Slug};
use crate::ledger::attempts::{Attempts, by_seed, taken};
use crate::ledger::event::ProbePoint;
use crate::ledger::state::RunRecord;
use crate::looks::wanted;
use crate::machine::CandidateState;
use crate::probe;
use crate::queue::{JobStatus, Queue};
use crate::seeds::SeedRole;
use crate::view::Study;

#[derive(Clone, Debug, PartialEq)]
pub struct NextRun {
    pub phase: Phase,
    pub role: SeedRole,
    pub seed: SeedChoice,
    /// The attempt number for this seed, from 1.
    pub attempt: u64,
    /// The phase as the candidate plans it.
    pub plan: PhasePlan,
    /// What it probes, where it probes.
    pub probe: Option<ProbePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedChoice {
    /// It is known beforehand.
    Known(u64),
    /// It is [drawn](draw) from the pool of its role, so that it can't be known earlier.
    Draw,
}

/// The next run of a candidate that is validated; `None` when none can be started, or not before another
/// one has finished. Free slots and gates are not checked.
pub fn next_run(study: &Study, candidate: &Candidate) -> Option<NextRun> {
    let state = study.state();
    let record = state.candidates.get(&candidate.id)?;
    if !matches!(record.state, CandidateState::Validated | CandidateState::Launched) {
        return None;
    }
    let queue = Queue::for_study(study);
    // Phases after this one wait for it.
    let job = queue.jobs.iter().find(|job| {
        job.candidate == candidate.id
            && matches!(job.stand, JobStatus::Ready | JobStatus::Queued | JobStatus::Running)
    })?;
    let plan = candidate.phases.iter().find(|plan| plan.phase == job.phase)?.clone();
    let all = state.runs_of_plan(&candidate.id);
    let runs: Vec<&RunRecord> = all.into_iter().filter(|run| run.intent.phase == job.phase).collect();
    // With such a run, the phase stops as soon as the others have finished.
    let (seeds, side) = (by_seed(&runs), state.side_of(&candidate.id));
    if runs.iter().any(|run| run.stops_its_phase(side).is_some()) {
        return None;
    }
    let is_taken = |attempts: &Attempts<'_>| attempts.is_live() || attempts.is_done(side);
    if taken(&runs, side) >= job.runs {
        return None;
    }
    let open = |seed: &u64| seeds.get(seed).is_none_or(|attempts| !is_taken(attempts));
    let seed = match job.role {
        SeedRole::Screen => SeedChoice::Known(job.seeds.iter().copied().find(|seed| open(seed))?),
        // One that was drawn and never gave a result comes before another is drawn.
        _ => {
            let again = runs.iter().map(|run| run.intent.seed).find(|seed| open(seed));
            again.map_or(SeedChoice::Draw, SeedChoice::Known)
        }
    };
    let before = match seed {
        SeedChoice::Known(seed) => seeds.get(&seed).map_or(0, |attempts| attempts.count),
        SeedChoice::Draw => 0,
    };
    let probe = match (probe::parameter(study, candidate), seed) {
        (Some(parameter), SeedChoice::Known(seed)) => {
            let place = job.seeds.iter().position(|known| *known == seed)?;
            Some(probe::point(study, parameter, place as u64)?)
        }
        _ => None,
    };
    Some(NextRun { phase: job.phase, role: job.role, seed, attempt: before + 1, plan, probe })
}

/// The pool that the seed of a run's evaluation is drawn from; `None` in the smoke phase, where evaluation is
/// only tried.
pub fn evaluation_pool(phase: Phase, pools: &SeedRoles) -> Option<SeedRange> {
    (phase != Phase::Smoke).then_some(pools.evaluation)
}

/// How many runs of a phase of a candidate's present plan have not been started, or have to be started again, up to its
/// next look.
pub fn runs_left(study: &Study, candidate: &Slug, phase: Phase) -> u64 {
    let state = study.state();
    let Some(record) = state.candidates.get(candidate) else { return 0 };
    let planned = record.validated.phases.iter().find(|planned| planned.phase == phase);
    let mut runs = state.runs_of_plan(candidate);
    runs.retain(|run| run.intent.phase == phase);
    let wanted = planned.map_or(0, |planned| wanted(study, record, planned));
    wanted.saturating_sub(taken(&runs, state.side_of(candidate)))
}

/// The seed that `random` picks among the unused ones of `pool`; `None` if all are used. Every unused seed is picked
/// by the same number of values of `random`, give or take one.
pub fn draw(pool: SeedRange, used: &BTreeSet<u64>, random: u64) -> Option<u64> {
    let unused = pool.unused(used);
    if unused == 0 {
        return None;
    }
    // The share of `random` in its range, as a share of those that are left.
    let index = (u128::from(random) * u128::from(unused)) >> 64;
    let mut seed = pool.from + u64::try_from(index).expect("it is smaller than their number");
    for taken in used.range(pool.from..=pool.to) {
        if *taken > seed {
            break;
        }
        seed += 1;
    }
    Some(seed)
}

/// The key of a run: one run per key, ever.
pub fn key(candidate: &Slug, revision: u64, phase: Phase, seed: u64, attempt: u64) -> String {
    let phase = match phase {
        Phase::Smoke => "smoke",
        Phase::Short => "short",
        Phase::Confirm => "confirm",
        Phase::IncumbentValidation => "incumbent",
    };
    format!("{candidate}-r{revision}-{phase}-{seed}-{attempt}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_tell_runs_apart() {
        let id: Slug = "lower-lr".parse().unwrap();
        assert_eq!(key(&id, 1, Phase::Smoke, 17, 1), "lower-lr-r1-smoke-17-1");
        assert_eq!(key(&id, 2, Phase::IncumbentValidation, 200, 3), "lower-lr-r2-incumbent-200-3");
    }

    #[test]
    fn a_draw_reaches_both_ends() {
        let pool = SeedRange { from: 0, to: u64::MAX };
        assert_eq!(draw(pool, &BTreeSet::new(), 0), Some(0));
        assert_eq!(draw(SeedRange { from: 5, to: 4 }, &BTreeSet::new(), 0), None);
        let last = SeedRange { from: u64::MAX - 1, to: u64::MAX };
        assert_eq!(draw(last, &BTreeSet::from([u64::MAX - 1]), u64::MAX), Some(u64::MAX));
        assert_eq!(draw(last, &BTreeSet::from([u64::MAX - 1, u64::MAX]), 0), None);
    }

    proptest! {
        #[test]
        fn a_draw_is_uniform_over_what_is_left(
            from in 0..50u64,
            length in 0..30u64,
            used in prop::collection::btree_set(0..90u64, 0..40),
        ) {
            let pool = SeedRange { from, to: from + length };
            let left: Vec<u64> = (from..=from + length).filter(|seed| !used.contains(seed)).collect();
            // The values of `random` at which the answer moves on, by the number of those that are left.
            for (index, seed) in left.iter().enumerate() {
                let first = ((index as u128) << 64).div_ceil(left.len() as u128) as u64;
                prop_assert_eq!(draw(pool, &used, first), Some(*seed));
                if index > 0 {
                    prop_assert_eq!(draw(pool, &used, first - 1), Some(left[index - 1]));
                }
            }
            prop_assert_eq!(draw(pool, &used, u64::MAX), left.last().copied());
        }
    }
}
