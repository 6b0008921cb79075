//! The queue of a study: which phase of which candidate can run, what each waits for, and what a candidate
//! needs to advance to its next phase. Recomputed from the ledger each time, so it continues wherever it
//! was left.

use std::collections::BTreeSet;
use std::fmt;

use rlxp_types::Digest;
use serde::Serialize;

use crate::canonical;
use crate::documents::{CandidateKind, Direction, Phase, Slug};
use crate::ledger::attempts;
use crate::ledger::event::PlannedPhase;
use crate::ledger::state::{CandidateRecord, RunRecord};
use crate::machine::{CandidateState, RunEnd, RunState};
use crate::run_approval::unapproved;
use crate::score;
use crate::seeds::SeedRole;
use crate::view::Study;

/// One phase of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    pub candidate: Slug,
    pub phase: Phase,
    /// How many runs it has, one per seed.
    pub runs: u64,
    /// Seeds that are known beforehand; those of later phases are drawn at launch.
    pub seeds: Vec<u64>,
    pub role: SeedRole,
    /// The worktree that all its runs use.
    pub worktree: String,
    pub stand: JobStatus,
    /// The condition for advancing to the next phase.
    pub promotion: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum JobStatus {
    /// It can run now.
    Ready,
    /// It is planned, but all slots are taken.
    Queued,
    /// Some of its runs are active.
    Running,
    /// All its runs have ended, and the candidate advances.
    Passed,
    /// All its runs have ended, and the candidate doesn't advance.
    Stopped {
        /// Why not.
        reason: String,
    },
    /// All its runs have ended, and one of them counts only once a person approves it.
    Unapproved {
        /// Its key.
        run: String,
    },
    /// An earlier phase isn't passed.
    Waiting { phase: Phase },
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobStatus::Ready => f.pad("ready"),
            JobStatus::Queued => f.pad("queued"),
            JobStatus::Running => f.pad("running"),
            JobStatus::Passed => f.pad("passed"),
            JobStatus::Stopped { reason } => f.pad(&format!("stopped: {reason}")),
            JobStatus::Unapproved { run } => f.pad(&format!("needs the approval of run:{run}")),
            JobStatus::Waiting { phase } => f.pad(&format!("waits for {phase}")),
        }
    }
}

/// All jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// Maximum number of concurrent runs.
    pub parallel: u64,
    /// The jobs: candidates in the order of their validation, phases in theirs.
    pub jobs: Vec<Job>,
}

impl Queue {
    /// The jobs of every candidate whose plan isn't complete.
    pub fn for_study(study: &Study) -> Self {
        let state = study.state();
        let parallel = study.contract().map_or(1, |contract| contract.budget.parallel);
        let mut candidates: Vec<(&Slug, &CandidateRecord)> = state
            .candidates
            .iter()
            .filter(|(_, record)| {
                matches!(record.state, CandidateState::Validated | CandidateState::Launched)
            })
            .collect();
        candidates.sort_by_key(|(_, record)| record.order);
        // A candidate without changes makes no claim, so it doesn't use up a confirmation.
        let claims = |record: &&CandidateRecord| {
            !record.validated.kind.is_empty_change() && record.phases.contains(&Phase::Confirm)
        };
        let confirms = state.candidates.values().filter(claims).count() as u64;
        let shared = study.shared_parts();
        let mut jobs = Vec::new();
        for (id, record) in candidates {
            // A candidate that is only validated becomes a draft again; one that has runs can only
            // stop.
            let stale = Some(record).filter(|record| record.state == CandidateState::Launched);
            let stale = stale.and_then(|record| study.stale(record, &shared));
            let mut before: Option<(Phase, bool)> = None;
            let runs = state.runs_of_plan(id);
            for planned in &record.validated.phases {
                let stand = match before {
                    Some((phase, false)) => JobStatus::Waiting { phase },
                    _ if stale.is_some() => going_on(stale.clone().unwrap_or_default(), planned, &runs),
                    _ => stand(study, (id, record.validated.kind), planned, &runs, confirms),
                };
                before = Some((planned.phase, stand == JobStatus::Passed));
                jobs.push(job(study, (id, record), planned.phase, planned.seeds, stand));
            }
        }
        take_places(&mut jobs, parallel, state.live().len() as u64);
        Self { parallel, jobs }
    }

    /// The digest of the plan.
    pub fn digest(&self) -> Digest {
        canonical::digest_of(self)
    }

    /// Candidates that have jobs of which none can still run.
    pub fn over(&self) -> BTreeSet<&Slug> {
        let is_open = |job: &&Job| {
            use JobStatus::{Queued, Ready, Running, Unapproved};
            matches!(job.stand, Ready | Queued | Running | Unapproved { .. })
        };
        let going_on: BTreeSet<&Slug> = self.jobs.iter().filter(is_open).map(|job| &job.candidate).collect();
        let all = self.jobs.iter().map(|job| &job.candidate);
        all.filter(|id| !going_on.contains(id)).collect()
    }

    /// Jobs that can run, now or as soon as a slot is free.
    pub fn can_run(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| matches!(job.stand, JobStatus::Ready | JobStatus::Queued))
    }
}

/// Most seeds of one job that are listed; a plan with more can't be run anyway.
const MOST_SEEDS: u64 = 1000;

/// Limits ready jobs to the number of slots; the rest stays queued.
fn take_places(jobs: &mut [Job], parallel: u64, live: u64) {
    let mut free = parallel.saturating_sub(live);
    for job in jobs.iter_mut().filter(|job| job.stand == JobStatus::Ready) {
        if free == 0 {
            job.stand = JobStatus::Queued;
        }
        free = free.saturating_sub(1);
    }
}

fn job(
    study: &Study,
    (id, record): (&Slug, &CandidateRecord),
    phase: Phase,
    runs: u64,
    stand: JobStatus,
) -> Job {
    let role = SeedRole::for_phase(phase);
    let pools = study.files.metric_spec.typed().map(|spec| &spec.protocol.seeds);
    // Every candidate is tried on the same screen seeds, so that they are compared on equal terms.
    let seeds = match (role, pools) {
        (SeedRole::Screen, Some(pools)) => {
            pools.screen.first_unused(&Default::default(), runs.min(MOST_SEEDS))
        }
        _ => Vec::new(),
    };
    Job {
        candidate: id.clone(),
        phase,
        runs,
        seeds,
        role,
        worktree: format!("{id}-r{}", record.validated.revision),
        stand,
        promotion: promotion(record.validated.kind, phase),
    }
}

/// The condition for advancing, as text. A candidate without changes isn't compared with the incumbent: it
/// can't be better than itself.
pub fn promotion(kind: CandidateKind, phase: Phase) -> &'static str {
    match (phase, kind.is_empty_change()) {
        (Phase::Smoke, _) => "every run succeeds",
        (Phase::Short, false) => "every seed has the metric, and the median is no worse than the incumbent's",
        (Phase::Short, true) => "every seed has the metric",
        (Phase::Confirm, false) => "better by the contract's statistics, with no guardrail worse",
        (Phase::Confirm, true) => "every seed has run",
        (Phase::IncumbentValidation, _) => "the new incumbent is confirmed on fresh seeds",
    }
}

fn stand(
    study: &Study,
    (id, kind): (&Slug, CandidateKind),
    planned: &PlannedPhase,
    runs: &[&RunRecord],
    confirms: u64,
) -> JobStatus {
    let (phase, state) = (planned.phase, study.state());
    let runs: Vec<&RunRecord> = runs.iter().filter(|run| run.intent.phase == phase).copied().collect();
    if runs.iter().any(|run| !matches!(run.state, RunState::Ended(_))) {
        return JobStatus::Running;
    }
    let side = state.side_of(id);
    if let Some((run, code)) = runs.iter().find_map(|run| Some((run, run.stops_its_phase(side)?))) {
        return stopped(format!("run {} never counts as evidence: {code}", run.intent.key));
    }
    if let Some(baseline) = state.baseline.as_ref().filter(|baseline| *baseline != id)
        && kind == CandidateKind::Baseline
    {
        return stopped(format!("the baseline of this study is {baseline}"));
    }
    let done = attempts::done(&runs, side);
    if (done.len() as u64) < planned.seeds {
        let most = study.contract().map_or(0, |contract| contract.statistics.maximum_confirms);
        let claims = phase == Phase::Confirm && !kind.is_empty_change();
        if claims && runs.is_empty() && confirms >= most {
            return stopped(format!("{confirms} of {most} confirms are used up"));
        }
        return JobStatus::Ready;
    }
    if phase == Phase::Smoke {
        let failed = done.iter().filter(|seed| seed.last.state != RunState::Ended(RunEnd::Ok)).count();
        return match failed {
            0 => JobStatus::Passed,
            _ => stopped(format!("{failed} of {} runs failed", done.len())),
        };
    }
    if let Some((run, _)) = unapproved(study, id, phase).first() {
        return JobStatus::Unapproved { run: run.intent.key.clone() };
    }
    match phase {
        Phase::Short => short(study, (id, kind), &runs),
        // These two end in a verdict, and a candidate with a verdict has left the queue.
        _ => JobStatus::Passed,
    }
}

/// A phase of a plan that can't continue: active runs are awaited, nothing new starts.
fn going_on(stale: String, planned: &PlannedPhase, runs: &[&RunRecord]) -> JobStatus {
    let is_live =
        |run: &&RunRecord| run.intent.phase == planned.phase && !matches!(run.state, RunState::Ended(_));
    if runs.iter().any(is_live) { JobStatus::Running } else { stopped(stale) }
}

fn stopped(reason: String) -> JobStatus {
    JobStatus::Stopped { reason }
}

fn short(study: &Study, (id, kind): (&Slug, CandidateKind), runs: &[&RunRecord]) -> JobStatus {
    let Some(spec) = study.files.metric_spec.typed() else {
        return stopped("metric_spec.yaml can't be read".into());
    };
    let side = study.state().side_of(id);
    let mut results = Vec::new();
    for seed in attempts::done(runs, side) {
        let has_metric = score::primary(seed.last, spec).is_some_and(|value| value.is_some());
        let key = &seed.last.intent.key;
        let is_read = seed.last.state == RunState::Ended(RunEnd::Ok) && !seed.last.was_touched();
        if is_read && !has_metric {
            return stopped(format!("run {key} has no {}", spec.primary.name));
        }
        match score::result_of(&seed, spec, side) {
            Some(result) => results.push(result),
            None => return stopped(format!("run {key} has no evaluation seed and is never compared with")),
        }
    }
    let failure = score::failure_score(&[&results], spec);
    let Some(mut values) = score::values(&results, spec, failure) else {
        return stopped("no run finished".into());
    };
    let Some(median) = median(&mut values) else { return stopped("no value".into()) };
    match study.state().incumbent_score.filter(|_| !kind.is_empty_change()) {
        Some(incumbent) => {
            let better = match spec.primary.direction {
                Direction::Higher => median >= incumbent,
                Direction::Lower => median <= incumbent,
            };
            if better {
                JobStatus::Passed
            } else {
                stopped(format!("the median is {median}, the incumbent's is {incumbent}"))
            }
        }
        None => JobStatus::Passed,
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => None,
        values if values.len() % 2 == 1 => Some(values[middle]),
        values => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
