//! `rlx launch ID --execute`: the runs of a candidate's next phase, as many at once as were agreed, watched to their
//! end. Each run passes every gate again before it goes.

use std::panic::resume_unwind;
use std::thread::{self, Builder};
use std::time::Duration;

use rlxp_govern::documents::{Phase, Slug, StudyName};
use rlxp_govern::ledger::event::RunEnded;
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::score::{self, Score};
use rlxp_launch::Interrupts;
use rlxp_launch::order::Mechanisms;
use rlxp_types::{Digest, Exit};
use serde::Serialize;

use super::begin::begin;
use super::order::reach;
use super::reconcile::{Real, real, reconcile};
use super::start::{Offered, Ready, Started, ready, ready_from, start};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::candidate::known;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;

/// What must be typed so that nothing is started by a slip.
pub const CONFIRMATION: &str = "RUN_CANDIDATE";
/// How often a run is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a launch is tried again because the ledger moved.
const TRIES: usize = 50;

/// What to launch.
#[derive(Clone, Debug)]
pub struct ExecuteRequest {
    pub candidate: String,
    pub confirm: Option<String>,
    /// The plan to follow.
    pub plan: Option<Digest>,
    /// At most so many runs; all of the phase when left out.
    pub runs: Option<u64>,
    /// Return as soon as runs go, without watching them.
    pub detach: bool,
}

/// Something that happened meanwhile.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LaunchEvent {
    /// A run goes.
    Started { key: String, seed: u64, phase: Phase },
    /// A run is over.
    Ended { key: String, end: RunEnd, reason: String },
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct ExecuteReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub phase: Phase,
    /// The plan that was followed.
    pub plan: Digest,
    /// Runs that were started.
    pub runs: Vec<RunOutcome>,
    /// Whether runs go on that nobody watches here any more.
    pub left_running: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunOutcome {
    pub key: String,
    pub seed: u64,
    pub state: String,
    /// Why, once it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it can never be evidence, where it can't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_evidence: Option<String>,
    /// What it counts for, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
}

impl ExecuteReport {
    /// Whether every run ended well.
    pub fn is_well(&self) -> bool {
        self.left_running || self.runs.iter().all(RunOutcome::is_well)
    }
}

impl RunOutcome {
    /// Whether it ended well.
    pub fn is_well(&self) -> bool {
        self.state == RunState::Ended(RunEnd::Ok).to_string()
    }
}

/// Launches the next runs of a candidate.
pub fn execute(
    context: &Context,
    study: Option<&str>,
    request: &ExecuteRequest,
    events: &dyn Fn(LaunchEvent),
) -> Outcome<ExecuteReport> {
    confirmed(request)?;
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen to signals: {error}")))?;
    let mut opened = OpenStudy::open(context, study)?;
    let id = known(&opened, &request.candidate)?;
    tell(&reconcile(context, &mut opened)?, events);
    // The machine is tried by processes of their own; all else is read meanwhile.
    let (mechanisms, begun) = thread::scope(|scope| {
        let begun = Builder::new().spawn_scoped(scope, || begin(context, study, &id));
        let mechanisms = probe(&opened);
        // A system that has no thread left is slower, and that is all.
        let begun = begun.map(|begun| begun.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (mechanisms, begun.unwrap_or_else(|_| begin(context, study, &id)))
    });
    let mechanisms = mechanisms?;
    let offered = Offered::Here(&mechanisms);
    let first = match begun.and_then(|begun| ready_from(context, begun, &id, request.plan, offered)) {
        Err(failure) if failure.is(FailureKind::LedgerMoved) => {
            ready_again(context, study, &id, request.plan, &mechanisms)?
        }
        first => first?,
    };
    let (phase, plan) = (first.next.phase, first.plan.digest());
    let mut waiting = Some(first);
    let mut started: Vec<Started> = Vec::new();
    let (mut most, mut tries) = (request.runs.unwrap_or(u64::MAX), 0);
    loop {
        // As long as there is a place and something of this phase to run, the next one goes.
        if let Some(now) = waiting.take() {
            match start(context, now) {
                Ok(run) => {
                    events(LaunchEvent::Started { key: run.key.clone(), seed: run.seed, phase: run.phase });
                    started.push(run);
                }
                Err(failure) if failure.is(FailureKind::LedgerMoved) => {}
                // It will be on record in a moment, or free again.
                Err(failure) if failure.is(FailureKind::RunClaimed) && tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(LOOK_EVERY);
                }
                Err(failure) if started.is_empty() => return Err(failure),
                // What goes already is watched to its end; the next command will hear of this again.
                Err(_) => most = 0,
            }
        }
        let mut opened = OpenStudy::open(context, study)?;
        tell(&reconcile(context, &mut opened)?, events);
        let live = live_of(&opened, &started);
        if interrupts.count() > 0 && started.is_empty() {
            let message = "interrupted before anything was started";
            return Err(Failure::new(Exit::Interrupted, "interrupted", message));
        }
        let free = opened.study.contract().map_or(0, |contract| contract.budget.parallel);
        let has_place = (opened.study.state().live().len() as u64) < free;
        if interrupts.count() > 0 || (request.detach && !has_place && !started.is_empty()) {
            return Ok(report(&opened, id, phase, plan, &started, live > 0));
        }
        if started.is_empty() {
            // Others were quicker. Whether anything is left, and why not, is for the gates to say.
            let again = ready_again(context, study, &id, request.plan, &mechanisms)?;
            if again.next.phase != phase {
                let message = format!("another process already ran the rest of the {phase} phase of {id}");
                return Err(Failure::refused("nothing_to_run", message).hint(format!("rlx launch {id}")));
            }
            waiting = Some(again);
            continue;
        }
        if (started.len() as u64) < most && has_place {
            // Something may have changed after the first runs went: then they are watched, and nothing new is started.
            if let Ok(Some(next)) = next_of(context, study, &id, request.plan, &mechanisms, phase) {
                waiting = Some(next);
                continue;
            }
        }
        if live == 0 || request.detach {
            return Ok(report(&opened, id, phase, plan, &started, live > 0));
        }
        std::thread::sleep(LOOK_EVERY);
        wait_for_change(context, &opened, &started, &interrupts)?;
    }
}

fn confirmed(request: &ExecuteRequest) -> Outcome<()> {
    let again = format!("rlx launch {}", request.candidate);
    if request.confirm.as_deref() != Some(CONFIRMATION) {
        let message = format!("a launch needs --confirm {CONFIRMATION}");
        return Err(Failure::refused("not_confirmed", message).hint(again));
    }
    if request.plan.is_none() {
        let message = "a launch needs the plan to run: --plan DIGEST";
        return Err(Failure::refused("no_plan", message).hint(again));
    }
    Ok(())
}

/// What this machine can do to keep a run apart.
pub(super) fn probe(opened: &OpenStudy) -> Outcome<Mechanisms> {
    let network = opened.study.contract().map(|contract| contract.hardware.network);
    let network = network.unwrap_or(rlxp_govern::documents::Network::None);
    let mut mechanisms = rlxp_launch::confine::probe(reach(network))?;
    rlxp_launch::supervise::describe_limits(&mut mechanisms);
    Ok(mechanisms)
}

fn tell(settled: &[RunEnded], events: &dyn Fn(LaunchEvent)) {
    for run in settled {
        events(LaunchEvent::Ended { key: run.key.clone(), end: run.end, reason: run.reason.clone() });
    }
}

/// A candidate that is ready, also when others add to the ledger meanwhile.
fn ready_again(
    context: &Context,
    study: Option<&str>,
    id: &Slug,
    plan: Option<Digest>,
    mechanisms: &Mechanisms,
) -> Outcome<Ready> {
    let mut tries = 0;
    loop {
        match ready(context, study, id, plan, Offered::Here(mechanisms)) {
            Err(failure) if failure.is(FailureKind::LedgerMoved) && tries < TRIES => tries += 1,
            result => return result,
        }
    }
}

/// The next run of the same phase, if there is one.
fn next_of(
    context: &Context,
    study: Option<&str>,
    id: &Slug,
    plan: Option<Digest>,
    mechanisms: &Mechanisms,
    phase: Phase,
) -> Outcome<Option<Ready>> {
    let opened = OpenStudy::open(context, study)?;
    let Some(written) = opened.candidate(id)?.get().map(|written| written.typed.clone()) else {
        return Ok(None);
    };
    match rlxp_govern::launch::next_run(&opened.study, &written) {
        Some(next) if next.phase == phase => {}
        _ => return Ok(None),
    }
    let ready = ready_again(context, study, id, plan, mechanisms)?;
    Ok(Some(ready).filter(|ready| ready.next.phase == phase))
}

fn runs_of<'d>(opened: &'d OpenStudy, started: &[Started]) -> Vec<&'d RunRecord> {
    started.iter().filter_map(|run| opened.study.state().runs.get(&run.key)).collect()
}

fn live_of(opened: &OpenStudy, started: &[Started]) -> usize {
    runs_of(opened, started).into_iter().filter(|run| !matches!(run.state, RunState::Ended(_))).count()
}

/// Waits until a run that was started here is over, or somebody wants to leave. Only its own small files are looked at.
fn wait_for_change(
    context: &Context,
    opened: &OpenStudy,
    started: &[Started],
    interrupts: &Interrupts,
) -> Outcome<()> {
    let place = LaunchPaths::for_study(opened)?;
    loop {
        for run in runs_of(opened, started) {
            if matches!(run.state, RunState::Ended(_)) {
                continue;
            }
            match real(context, &opened.study, &place, run)? {
                Real::Running | Real::Starting => {}
                _ => return Ok(()),
            }
        }
        if interrupts.count() > 0 {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn report(
    opened: &OpenStudy,
    candidate: Slug,
    phase: Phase,
    plan: Digest,
    started: &[Started],
    left: bool,
) -> ExecuteReport {
    let runs = runs_of(opened, started).into_iter().map(|run| outcome(opened, run)).collect();
    ExecuteReport { study: opened.study.name.clone(), candidate, phase, plan, runs, left_running: left }
}

/// A run as reports show it.
pub(super) fn outcome(opened: &OpenStudy, run: &RunRecord) -> RunOutcome {
    let spec = opened.study.files.metric_spec.typed();
    RunOutcome {
        key: run.intent.key.clone(),
        seed: run.intent.seed,
        state: run.state.to_string(),
        reason: run.ended.as_ref().map(|ended| ended.reason.clone()),
        not_evidence: run.ended.as_ref().and_then(|ended| ended.not_evidence.clone()),
        score: spec.and_then(|spec| score::score_run(run, spec)),
    }
}
