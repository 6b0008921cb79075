//! `rlx launch ID --execute`, in the order of its steps:
//!
//! 1. the user confirms the plan that they read ([`check_confirmation`]);
//! 2. runs that ended in the meantime are recorded ([`super::reconcile`]);
//! 3. the sandbox of this machine is probed while study, git, programs and code are read ([`super::ready`]);
//! 4. each run of the phase, as many at once as the contract allows, is launched ([`launch`]): it passes every gate,
//!    its folder is claimed, its intent and reserve are recorded, its code is laid out ([`super::layout`]), and its
//!    supervisor starts ([`super::supervisor`]);
//! 5. the runs are watched until they end or the user leaves ([`Launch::wait_for_change`]).
//!
//! A kill between any two steps leaves something from which [`super::reconcile`] can tell how far the launch came.

use std::panic::resume_unwind;
use std::thread::{self, Builder};
use std::time::Duration;

use rlxp_govern::documents::{Network, Phase, Slug};
use rlxp_govern::gate::{Refusal, RefusalCode, reservation};
use rlxp_govern::ledger::event::{LaunchIntent, RunEnded};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::next_run::{key, next_run, runs_left};
use rlxp_launch::Interrupts;
use rlxp_launch::order::Mechanisms;
use rlxp_types::{Digest, Exit};

use super::claim;
use super::layout::lay_out;
use super::outcome::{ExecuteReport, LaunchEvent, Stopped, outcome};
use super::ready::{LookedAt, Offered, Ready, choose_seeds, look, nothing_to_run, pass_gates, ready};
use super::reconcile::{Real, real, reconcile};
use super::run_order::reach;
use super::supervisor::{append, start_supervisor};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::candidate::known;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::{OpenStudy, permit_launch};

/// What must be typed so that nothing is started by a slip.
pub const CONFIRMATION: &str = "RUN_CANDIDATE";
/// Pause between two looks at a run.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a launch is tried again because another process appended to the ledger.
const TRIES: usize = 50;

/// What to launch.
#[derive(Clone, Debug)]
pub struct ExecuteRequest {
    pub candidate: String,
    pub confirm: Option<String>,
    /// The plan to follow.
    pub plan: Option<Digest>,
    /// At most this many runs; all of the phase when left out.
    pub runs: Option<u64>,
    /// Return as soon as runs have started, without watching them.
    pub detach: bool,
}

/// Launches the next runs of a candidate.
pub fn execute(
    context: &Context,
    study: Option<&str>,
    request: &ExecuteRequest,
    events: &dyn Fn(LaunchEvent),
) -> Outcome<ExecuteReport> {
    check_confirmation(request)?;
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen to signals: {error}")))?;
    let mut opened = OpenStudy::open(context, study)?;
    let id = known(&opened, &request.candidate)?;
    report_ended(&reconcile(context, &mut opened)?, events);
    let (mechanisms, looked_at) = probe_and_look(context, study, &opened, &id);
    let mechanisms = mechanisms?;
    let offered = Offered::Here(&mechanisms);
    let first = match looked_at.and_then(|found| pass_gates(context, found, &id, request.plan, offered)) {
        Err(failure) if failure.is(FailureKind::LedgerMoved) => {
            ready_despite_others(context, study, &id, request.plan, &mechanisms)?
        }
        first => first?,
    };
    let mut launch = Launch {
        phase: first.next.phase,
        plan: first.plan.digest(),
        most: request.runs.unwrap_or(u64::MAX),
        stopped: None,
        tries: 0,
        started: Vec::new(),
        context,
        study,
        id,
        request,
        mechanisms,
        interrupts,
        events,
    };
    let mut step = Next::Run(Box::new(first));
    loop {
        match step {
            Next::Run(ready) => launch.start(*ready)?,
            Next::Wait(opened) => launch.wait_for_change(&opened)?,
            Next::Return { opened, left_running } => return Ok(launch.report(&opened, left_running)),
        }
        step = launch.next()?;
    }
}

/// Launches one run: every step from the gates, which `ready` has passed, to a running supervisor.
fn launch(context: &Context, mut ready: Ready) -> Outcome<Started> {
    let (id, revision) = (ready.view.written.typed.id.clone(), ready.view.written.typed.revision);
    let (phase, role) = (ready.next.phase, ready.next.role);
    // Before anything is recorded: a refusal must neither show seeds nor use up an attempt.
    let permit = permit_launch(&ready.opened)?;
    let seeds = choose_seeds(&ready)?;
    let seed = seeds.train;
    let key = key(&id, revision, phase, seed, ready.next.attempt);
    let folder = ready.place.run(&key);
    claim::claim_run(context, &ready.opened, &folder, &key)?;
    rlxp_launch::crash::point("launch:claimed");

    let contract = ready.opened.study.contract().expect("the gates saw a contract");
    let reserve = reservation(&ready.next.plan, &contract.budget);
    let plan = ready.plan.digest();
    let intent = LaunchIntent {
        key: key.clone(),
        candidate: id,
        phase,
        seed,
        role,
        reserve,
        plan,
        external: None,
        evaluation_seed: seeds.evaluation,
        evaluator_exposed: ready.exposes_evaluator(),
        bounded_repeats: true,
        probe: ready.next.probe.clone(),
    };
    if let Err(failure) = ready.opened.append(Actor::Rlx, Event::LaunchIntent(intent)) {
        // The ledger doesn't know this run: without its claim, the launch can be tried again.
        claim::give_up(context.fs.as_ref(), &folder)?;
        return Err(failure);
    }
    rlxp_launch::crash::point("launch:intended");

    let started = lay_out(context, &ready, &folder, &key, seeds)
        .and_then(|order| start_supervisor(context, &permit, &mut ready.opened, &folder, order));
    match started {
        Ok(()) => Ok(Started { key, phase, seed, warnings: ready.opened.warnings }),
        Err(failure) => {
            let ended = never_started(&key, format!("it could not be started: {failure}"));
            append(context, &ready.opened.place, Event::RunEnded(ended))?;
            Err(failure)
        }
    }
}

/// A run whose supervisor runs.
struct Started {
    key: String,
    phase: Phase,
    seed: u64,
    /// Problems that did not stop it.
    warnings: Vec<String>,
}

/// The end of a run that never started, and costs nothing.
fn never_started(key: &str, reason: String) -> RunEnded {
    RunEnded {
        key: key.to_owned(),
        end: RunEnd::Blocked,
        reason,
        spent: Default::default(),
        killed_by: None,
        not_evidence: None,
        after_training: Some(false),
        manifest: None,
        confinement: None,
        executable_output: None,
    }
}

/// The runs of one command.
struct Launch<'a> {
    context: &'a Context,
    study: Option<&'a str>,
    request: &'a ExecuteRequest,
    events: &'a dyn Fn(LaunchEvent),
    interrupts: Interrupts,
    id: Slug,
    mechanisms: Mechanisms,
    phase: Phase,
    plan: Digest,
    /// At most this many runs are started.
    most: u64,
    /// Why no more runs are started, though more were asked for.
    stopped: Option<Failure>,
    /// How often another process had claimed the next run.
    tries: usize,
    started: Vec<Started>,
}

/// What a launch does next.
enum Next {
    Run(Box<Ready>),
    Wait(Box<OpenStudy>),
    Return { opened: Box<OpenStudy>, left_running: bool },
}

impl Launch<'_> {
    fn start(&mut self, ready: Ready) -> Outcome<()> {
        match launch(self.context, ready) {
            Ok(run) => {
                let event = LaunchEvent::Started { key: run.key.clone(), seed: run.seed, phase: run.phase };
                (self.events)(event);
                for message in &run.warnings {
                    (self.events)(LaunchEvent::Warning { message: message.clone() });
                }
                self.started.push(run);
            }
            Err(failure) if failure.is(FailureKind::LedgerMoved) => {}
            // In a moment it is in the ledger, or free again.
            Err(failure) if failure.is(FailureKind::RunClaimed) && self.tries < TRIES => {
                self.tries += 1;
                thread::sleep(LOOK_EVERY);
            }
            Err(failure) if self.started.is_empty() => return Err(failure),
            // Runs that were started are watched to their end; the report says why the others are missing.
            Err(failure) => self.stopped = Some(failure),
        }
        Ok(())
    }

    /// Records what ended, then decides.
    fn next(&mut self) -> Outcome<Next> {
        let mut opened = Box::new(OpenStudy::open(self.context, self.study)?);
        report_ended(&reconcile(self.context, &mut opened)?, self.events);
        let left_running = self.live(&opened) > 0;
        let is_interrupted = self.interrupts.count() > 0;
        if is_interrupted && self.started.is_empty() {
            let message = "interrupted before anything was started";
            return Err(Failure::new(Exit::Interrupted, "interrupted", message));
        }
        let parallel = opened.study.contract().map_or(0, |contract| contract.budget.parallel);
        let has_room = (opened.study.state().live().len() as u64) < parallel;
        if is_interrupted || (self.request.detach && !has_room && !self.started.is_empty()) {
            return Ok(Next::Return { opened, left_running });
        }
        if self.started.is_empty() {
            return self.first_again().map(|ready| Next::Run(Box::new(ready)));
        }
        if self.stopped.is_none() && (self.started.len() as u64) < self.most && has_room {
            match self.next_of_phase() {
                Ok(Some(ready)) => return Ok(Next::Run(Box::new(ready))),
                Ok(None) => {}
                // Another launch was quicker; it may be over before the runs of this one are.
                Err(failure) if is_only_busy(&failure) => {
                    thread::sleep(LOOK_EVERY);
                    return self.next();
                }
                // Something has changed since the first run started: those are watched, and no new one starts.
                Err(failure) => self.stopped = Some(failure),
            }
        }
        if !left_running || self.request.detach {
            // Another launch may have started the rest since the study was read.
            let opened = Box::new(OpenStudy::open(self.context, self.study)?);
            return Ok(Next::Return { opened, left_running });
        }
        thread::sleep(LOOK_EVERY);
        Ok(Next::Wait(opened))
    }

    /// The first run again, after another process was quicker. The gates say whether anything is left, and why not.
    fn first_again(&self) -> Outcome<Ready> {
        let again = self.ready()?;
        if again.next.phase == self.phase {
            return Ok(again);
        }
        let (phase, id) = (self.phase, &self.id);
        let message = format!("another process already ran the rest of the {phase} phase of {id}");
        Err(Failure::refused("nothing_to_run", message).hint(format!("rlx launch {id}")))
    }

    /// The next run of the same phase, if there is one.
    fn next_of_phase(&self) -> Outcome<Option<Ready>> {
        let opened = OpenStudy::open(self.context, self.study)?;
        // A file that can't be read any more is what the gates report.
        let Some(written) = opened.candidate(&self.id)?.get().map(|written| written.typed.clone()) else {
            return self.ready().map(Some);
        };
        match next_run(&opened.study, &written) {
            Some(next) if next.phase == self.phase => {}
            _ => return Ok(None),
        }
        Ok(Some(self.ready()?).filter(|ready| ready.next.phase == self.phase))
    }

    fn ready(&self) -> Outcome<Ready> {
        ready_despite_others(self.context, self.study, &self.id, self.request.plan, &self.mechanisms)
    }

    fn runs<'o>(&self, opened: &'o OpenStudy) -> impl Iterator<Item = &'o RunRecord> {
        let runs = &opened.study.state().runs;
        self.started.iter().filter_map(|run| runs.get(&run.key))
    }

    fn live(&self, opened: &OpenStudy) -> usize {
        self.runs(opened).filter(|run| !matches!(run.state, RunState::Ended(_))).count()
    }

    /// Waits until a run that was started here is over, or the user wants to leave. Reads only small files of the runs.
    fn wait_for_change(&self, opened: &OpenStudy) -> Outcome<()> {
        let place = LaunchPaths::for_study(opened)?;
        loop {
            for run in self.runs(opened).filter(|run| !matches!(run.state, RunState::Ended(_))) {
                match real(self.context, &opened.study, &place, run)? {
                    Real::Running | Real::Starting => {}
                    _ => return Ok(()),
                }
            }
            if self.interrupts.count() > 0 {
                return Ok(());
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn report(self, opened: &OpenStudy, left_running: bool) -> ExecuteReport {
        let runs = self.runs(opened).map(|run| outcome(opened, run)).collect();
        let stopped = self.stopped_early(opened);
        let (study, candidate) = (opened.study.name.clone(), self.id);
        ExecuteReport { study, candidate, phase: self.phase, plan: self.plan, runs, left_running, stopped }
    }

    /// Whether another launch of this candidate, which took the place, starts the rest.
    fn continues_elsewhere(&self, opened: &OpenStudy) -> bool {
        let is_mine = |key: &str| self.started.iter().any(|run| run.key == key);
        let live = opened.study.state().live();
        live.iter().any(|run| run.intent.candidate == self.id && !is_mine(&run.intent.key))
    }

    /// Why some of the runs that this command was to start are missing. A user who asked for fewer, or stopped
    /// watching, knows why.
    fn stopped_early(&self, opened: &OpenStudy) -> Option<Stopped> {
        let open = self.most.saturating_sub(self.started.len() as u64);
        let not_started = runs_left(&opened.study, &self.id, self.phase).min(open);
        let is_told = self.request.detach || self.interrupts.count() > 0;
        let failure = match &self.stopped {
            _ if not_started == 0 => return None,
            Some(failure) => failure,
            None if is_told || self.continues_elsewhere(opened) => return None,
            // Nothing failed, but the phase can't continue: a run that is not evidence, or a plan that has changed.
            None => &nothing_to_run(opened, &self.id),
        };
        let reasons: Vec<String> = match failure.refusals.is_empty() {
            true => vec![failure.message.clone()],
            false => failure
                .refusals
                .iter()
                .map(|refusal| format!("{}: {}", refusal.code, refusal.reason))
                .collect(),
        };
        let (code, hints, exit) = (failure.code, failure.hints.clone(), failure.exit);
        Some(Stopped { not_started, code, reason: reasons.join("; "), hints, exit })
    }
}

/// Whether nothing but runs of others is in the way.
fn is_only_busy(failure: &Failure) -> bool {
    let is_live = |refusal: &Refusal| refusal.code == RefusalCode::LiveRun;
    !failure.refusals.is_empty() && failure.refusals.iter().all(is_live)
}

fn check_confirmation(request: &ExecuteRequest) -> Outcome<()> {
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

fn report_ended(ended: &[RunEnded], events: &dyn Fn(LaunchEvent)) {
    for run in ended {
        events(LaunchEvent::Ended { key: run.key.clone(), end: run.end, reason: run.reason.clone() });
    }
}

/// Probing takes processes of its own; everything else is read meanwhile.
fn probe_and_look(
    context: &Context,
    study: Option<&str>,
    opened: &OpenStudy,
    id: &Slug,
) -> (Outcome<Mechanisms>, Outcome<LookedAt>) {
    thread::scope(|scope| {
        let looking = Builder::new().spawn_scoped(scope, || look(context, study, id));
        let mechanisms = probe(opened);
        let looked_at = match looking {
            Ok(looking) => looking.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a free thread this is slower, and that is all.
            Err(_) => look(context, study, id),
        };
        (mechanisms, looked_at)
    })
}

/// How this machine can sandbox a run of this study.
pub(super) fn probe(opened: &OpenStudy) -> Outcome<Mechanisms> {
    let network = opened.study.contract().map_or(Network::None, |contract| contract.hardware.network);
    let mut mechanisms = rlxp_launch::confine::probe(reach(network))?;
    rlxp_launch::supervise::describe_limits(&mut mechanisms);
    Ok(mechanisms)
}

/// [`ready`], also while other processes append to the ledger.
fn ready_despite_others(
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
