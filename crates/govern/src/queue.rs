//! The queue of a study: which phase of which candidate can run, what each waits for, and what a candidate
//! needs to advance to its next phase. Recomputed from the ledger each time, so it continues wherever it
//! was left.
//!
//! A candidate that changes something goes from smoke to short to confirm. Its confirm phase runs up to a planned look,
//! is judged, and runs on if the look asks for more; once a look accepts it, its audit seeds follow.

use std::collections::BTreeSet;
use std::fmt;

use rlxp_types::Digest;
use serde::Serialize;

use crate::canonical;
use crate::documents::{CandidateKind, Phase, Slug};
use crate::ledger::attempts::{self, Side};
use crate::ledger::event::LookCall;
use crate::ledger::state::{CandidateRecord, RunRecord};
use crate::looks;
use crate::machine::{CandidateState, RunEnd, RunState};
use crate::run_approval::unapproved;
use crate::score;
use crate::seeds::SeedRole;
use crate::stop_rules::confirmed;
use crate::view::Study;

/// One phase of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    pub candidate: Slug,
    pub phase: Phase,
    /// How many runs it has, one per seed; those of a confirm phase up to its next look.
    pub runs: u64,
    /// How many of them can be started, as far as places are free.
    pub left: u64,
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
    /// Its runs have ended, and the candidate is to be judged by them.
    Judge,
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
            JobStatus::Judge => f.pad("to be judged"),
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
    /// How many more can be started now.
    pub free: u64,
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
        let confirms = confirmed(study);
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
                let wanted = looks::wanted(study, record, planned);
                let of_phase: Vec<&RunRecord> =
                    runs.iter().filter(|run| run.intent.phase == planned.phase).copied().collect();
                let stand = match before {
                    Some((phase, false)) => JobStatus::Waiting { phase },
                    _ if stale.is_some() => going_on(stale.clone().unwrap_or_default(), &of_phase),
                    _ => stand(study, (id, record), planned.phase, wanted, &of_phase, confirms),
                };
                before = Some((planned.phase, stand == JobStatus::Passed));
                let can_start = matches!(stand, JobStatus::Ready | JobStatus::Running) && stale.is_none();
                let left = if can_start { left(&of_phase, wanted, state.side_of(id)) } else { 0 };
                jobs.push(job(study, (id, record), planned.phase, (wanted, left), stand));
            }
        }
        let free = parallel.saturating_sub(state.live().len() as u64);
        take_places(&mut jobs, free);
        Self { parallel, free, jobs }
    }

    /// The digest of the plan.
    pub fn digest(&self) -> Digest {
        canonical::digest_of(self)
    }

    /// Candidates that have jobs of which none can still run or be judged.
    pub fn over(&self) -> BTreeSet<&Slug> {
        let is_open = |job: &&Job| {
            use JobStatus::{Judge, Queued, Ready, Running, Unapproved};
            matches!(job.stand, Ready | Queued | Running | Judge | Unapproved { .. })
        };
        let going_on: BTreeSet<&Slug> = self.jobs.iter().filter(is_open).map(|job| &job.candidate).collect();
        let all = self.jobs.iter().map(|job| &job.candidate);
        all.filter(|id| !going_on.contains(id)).collect()
    }

    /// Jobs of which a run can be started, now or as soon as a slot is free.
    pub fn can_run(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| job.left > 0)
    }

    /// The candidate that is to be judged first.
    pub fn to_judge(&self) -> Option<&Job> {
        self.jobs.iter().find(|job| job.stand == JobStatus::Judge)
    }
}

/// How many runs of a phase can be started. With a run that never counts as evidence it stops as soon as the others have
/// ended.
fn left(runs: &[&RunRecord], wanted: u64, side: Side) -> u64 {
    if runs.iter().any(|run| run.stops_its_phase(side).is_some()) {
        return 0;
    }
    wanted.saturating_sub(attempts::taken(runs, side))
}

/// Most seeds of one job that are listed; a plan with more can't be run anyway.
const MOST_SEEDS: u64 = 1000;

/// Limits ready jobs to the number of slots; the rest stays queued. Jobs that were planned earlier take theirs first.
fn take_places(jobs: &mut [Job], mut free: u64) {
    for job in jobs.iter_mut().filter(|job| job.left > 0) {
        if free == 0 && job.stand == JobStatus::Ready {
            job.stand = JobStatus::Queued;
        }
        free = free.saturating_sub(job.left);
    }
}

fn job(
    study: &Study,
    (id, record): (&Slug, &CandidateRecord),
    phase: Phase,
    (runs, left): (u64, u64),
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
        left,
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
        (Phase::Short, _) if kind == CandidateKind::Probe => "every value has run",
        (Phase::Short, _) => "every seed has the metric",
        (Phase::Confirm, false) => "a look finds it better, with every guardrail shown to hold",
        (Phase::Confirm, true) => "every seed has run",
        (Phase::IncumbentValidation, _) => "the audit seeds are not worse than the earlier incumbent",
    }
}

fn stand(
    study: &Study,
    (id, record): (&Slug, &CandidateRecord),
    phase: Phase,
    wanted: u64,
    runs: &[&RunRecord],
    confirms: u64,
) -> JobStatus {
    let (kind, state) = (record.validated.kind, study.state());
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
    let done = attempts::done(runs, side);
    if (done.len() as u64) < wanted {
        let most = study.contract().map_or(0, |contract| contract.statistics.schedule().candidates);
        let claims = phase == Phase::Confirm && !kind.is_empty_change();
        if claims && runs.is_empty() && confirms >= most {
            return stopped(format!("{confirms} of {most} planned candidates were confirmed"));
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
        // A probe shows where a policy fails, so failing is an answer.
        Phase::Short if runs.iter().all(|run| run.intent.probe.is_some()) => JobStatus::Passed,
        Phase::Short => short(study, id, runs),
        // What changes nothing makes no claim.
        _ if kind.is_empty_change() => JobStatus::Passed,
        Phase::Confirm => match record.looks.last().map(|look| look.call) {
            None | Some(LookCall::More) => JobStatus::Judge,
            Some(LookCall::Accept) => JobStatus::Passed,
            Some(LookCall::Drop) => stopped("its last look dropped it".into()),
            Some(LookCall::Undecided) => stopped("its last look did not decide".into()),
        },
        // It ends in a verdict, and a candidate with a verdict has left the queue.
        _ => JobStatus::Judge,
    }
}

/// A phase of a plan that can't continue: active runs are awaited, nothing new starts.
fn going_on(stale: String, runs: &[&RunRecord]) -> JobStatus {
    let is_live = |run: &&RunRecord| !matches!(run.state, RunState::Ended(_));
    if runs.iter().any(is_live) { JobStatus::Running } else { stopped(stale) }
}

fn stopped(reason: String) -> JobStatus {
    JobStatus::Stopped { reason }
}

/// What the short phase of a candidate's plan shows, once all its runs are over.
pub(crate) fn short_phase(study: &Study, id: &Slug) -> JobStatus {
    let mut runs = study.state().runs_of_plan(id);
    runs.retain(|run| run.intent.phase == Phase::Short);
    short(study, id, &runs)
}

/// The short phase only shows that every seed gives the metric: few seeds say nothing about which one is better.
fn short(study: &Study, id: &Slug, runs: &[&RunRecord]) -> JobStatus {
    let Some(spec) = study.files.metric_spec.typed() else {
        return stopped("metric_spec.yaml can't be read".into());
    };
    for seed in attempts::done(runs, study.state().side_of(id)) {
        let key = &seed.last.intent.key;
        if !score::is_comparable(seed.last) {
            return stopped(format!("run {key} has no evaluation seed and is never compared with"));
        }
        let has_ended_well = seed.last.state == RunState::Ended(RunEnd::Ok) && !seed.last.was_touched();
        let has_metric = score::primary(seed.last, spec).is_some_and(|value| value.is_some());
        if !has_ended_well {
            return stopped(format!("run {key} did not finish, so it has no {}", spec.primary.name));
        }
        if !has_metric {
            return stopped(format!("run {key} has no {}", spec.primary.name));
        }
    }
    JobStatus::Passed
}
