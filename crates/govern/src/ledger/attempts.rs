//! The attempts at one seed of one phase: whether it runs again, and whether it ended without a result of its own.

use std::collections::BTreeMap;

use crate::ledger::state::{RunRecord, StudyState};
use crate::machine::{EndCause, RunState};

/// The side of a comparison that a run is on. Interrupting runs must not pay off on either: a judged run that was
/// interrupted has failed, and one of the reference runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It is judged
    Judged,
    /// Others are compared with it
    Reference,
}

impl Side {
    /// After how many interruptions a seed is over.
    fn most_interruptions(self) -> u64 {
        match self {
            Side::Judged => 1,
            Side::Reference => 2,
        }
    }
}

/// After how many blocked attempts a seed is over. The intent shows both seeds before anything starts, so a run that
/// can be blocked without end can be put off until its result suits.
const MOST_BLOCKED: u64 = 3;

/// The attempts at one seed.
#[derive(Clone, Copy, Debug)]
pub struct Attempts<'r> {
    pub last: &'r RunRecord,
    pub count: u64,
    lost_early: u64,
    outside: u64,
    blocked: u64,
}

impl Attempts<'_> {
    /// Whether one of them is active.
    pub fn is_live(&self) -> bool {
        !matches!(self.last.state, RunState::Ended(_))
    }

    /// Whether the seed won't run again.
    pub fn is_done(&self, side: Side) -> bool {
        match self.last.cause() {
            None => false,
            Some(EndCause::Finished | EndCause::Itself) => true,
            Some(EndCause::NotStarted | EndCause::Outside | EndCause::LostEarly) => self.is_used_up(side),
        }
    }

    /// Whether it was blocked so often that it doesn't run again. Smoke runs are never evidence, so they may be blocked
    /// until nothing is missing any more.
    pub fn is_blocked_for_good(&self) -> bool {
        self.last.is_measured() && self.blocked >= MOST_BLOCKED
    }

    /// Whether it was interrupted or blocked so often that it doesn't run again.
    fn is_used_up(&self, side: Side) -> bool {
        self.is_interrupted_too_often(side) || self.is_blocked_for_good()
    }

    /// Whether it was interrupted so often that it doesn't run again. A run that the host lost before training had
    /// ended gave nothing away, so the first such loss is free; the next ones are like any other interruption.
    pub fn is_interrupted_too_often(&self, side: Side) -> bool {
        self.outside + self.lost_early.saturating_sub(1) >= side.most_interruptions()
    }

    /// Whether the seed is over without a result of its own, because its runs were interrupted.
    pub fn is_interrupted(&self, side: Side) -> bool {
        self.is_done(side) && matches!(self.last.cause(), Some(EndCause::Outside | EndCause::LostEarly))
    }
}

/// The runs of one phase by seed, in the order in which they were intended.
pub fn by_seed<'r>(runs: &[&'r RunRecord]) -> BTreeMap<u64, Attempts<'r>> {
    let mut seeds: BTreeMap<u64, Attempts<'r>> = BTreeMap::new();
    for run in runs {
        let none = Attempts { last: run, count: 0, lost_early: 0, outside: 0, blocked: 0 };
        let all = seeds.entry(run.intent.seed).or_insert(none);
        all.last = run;
        all.count += 1;
        match run.cause() {
            Some(EndCause::LostEarly) => all.lost_early += 1,
            Some(EndCause::Outside) => all.outside += 1,
            Some(EndCause::NotStarted) => all.blocked += 1,
            Some(EndCause::Finished | EndCause::Itself) | None => {}
        }
    }
    seeds
}

/// The attempts at every seed that won't run again, in the order of their last runs.
pub fn done<'r>(runs: &[&'r RunRecord], side: Side) -> Vec<Attempts<'r>> {
    let mut done: Vec<Attempts<'r>> = by_seed(runs).into_values().filter(|all| all.is_done(side)).collect();
    done.sort_by_key(|attempts| attempts.last.order);
    done
}

/// How many seeds have a run that is active or won't be repeated.
pub fn taken(runs: &[&RunRecord], side: Side) -> u64 {
    by_seed(runs).into_values().filter(|all| all.is_live() || all.is_done(side)).count() as u64
}

/// Runs whose metrics are to be read, in the order in which they were intended. Smoke runs are never evidence, a run
/// whose seed runs again isn't either, and probes are summarized instead.
pub fn unread(state: &StudyState) -> Vec<&RunRecord> {
    let is_unread = |run: &&RunRecord| {
        run.is_measured()
            && run.intent.probe.is_none()
            && run.evidence.is_none()
            && run.not_evidence().is_none()
            && matches!(run.state, RunState::Ended(end) if !end.may_run_again())
    };
    let counts = |run: &&RunRecord| {
        let is_same = |one: &&RunRecord| {
            let (one, other) = (&one.intent, &run.intent);
            (one.phase, one.seed, one.plan) == (other.phase, other.seed, other.plan)
        };
        let same: Vec<&RunRecord> =
            state.runs_of(&run.intent.candidate).into_iter().filter(is_same).collect();
        let done = done(&same, state.side_of(&run.intent.candidate));
        done.iter().any(|seed| seed.last.intent.key == run.intent.key)
    };
    let mut ended: Vec<&RunRecord> = state.runs.values().filter(is_unread).filter(counts).collect();
    ended.sort_by_key(|run| run.order);
    ended
}
