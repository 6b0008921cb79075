//! `rlx stop`: asks trainings that other commands started to save and stop.
//!
//! The run's claim names the process that trains it. It is signalled only if that process is proven to be alive here:
//! the same boot and process namespace, and a process of that number and start time, which was started to train the run
//! in this folder. A number alone may belong to another process by now, and the claim of a copied run names the process
//! that trains the original.

use std::path::Path;
use std::time::Duration;

use rlxp_fs::{Machine, clock};
use rlxp_launch::{Request, signal_process};
use rlxp_store::{Attempt, Liveness, Project, Run, StoreError, TakeOver, Writer};
use rlxp_types::{Exit, RunStatus};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::select::{project, whole_runs};
use crate::training::supervise::listen;
use crate::training::supervised::{STOPPED_BEFORE, STOPPED_NOW, stopped_by_user};

/// Pause between two looks at the records.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks at a run whose process is gone before it counts as lost: its supervisor may still be writing down why.
const LOOKS_AT_LOST: u32 = 20;
/// How often a run that changes under our hands is looked at again.
const TRIES: u32 = 5;

/// A run that is to be stopped.
#[derive(Clone, Debug, Serialize)]
pub struct ToStop {
    pub run: String,
    pub status: RunStatus,
    /// The process that trains it, where it runs.
    pub process: Option<u32>,
}

/// What was done about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopAction {
    /// It was asked to save and stop.
    Asked,
    /// It was stopped at once.
    Killed,
    /// It was waiting for its turn, and won't start.
    Cancelled,
    /// It had ended before, or ended by itself.
    NotRunning,
    /// Its process can't be proven to run here.
    Refused,
}

/// A run, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Stopped {
    pub run: String,
    pub action: StopAction,
    /// Its status now; `running` if it was not waited for.
    pub status: RunStatus,
    /// Why it was refused, or how it ended.
    pub reason: Option<String>,
    /// The attempt whose process was signalled.
    #[serde(skip)]
    attempt: Option<u64>,
}

/// `rlx stop`.
#[derive(Debug, Serialize)]
pub struct StopReport {
    pub runs: Vec<Stopped>,
    /// Whether the user ended the waiting.
    pub interrupted: bool,
}

impl StopReport {
    /// The matching exit code.
    pub fn exit(&self) -> Exit {
        let has = |wanted: &dyn Fn(&Stopped) -> bool| self.runs.iter().any(wanted);
        let acted = |run: &Stopped| !matches!(run.action, StopAction::NotRunning | StopAction::Refused);
        let failed = |run: &Stopped| matches!(run.status, RunStatus::Failed | RunStatus::Lost) && acted(run);
        if has(&|run| run.action == StopAction::Refused) {
            Exit::Refused
        } else if self.interrupted {
            Exit::Interrupted
        } else if has(&failed) {
            Exit::RunFailed
        } else if has(&acted) {
            Exit::Yes
        } else {
            Exit::No
        }
    }
}

/// The runs that `words` name, before anything is done.
pub fn to_stop(context: &Context, words: &[String]) -> Outcome<Vec<ToStop>> {
    let mut found = Vec::new();
    for run in whole_runs(&project(context)?, words)? {
        let report = run.status()?;
        let is_running = report.status == RunStatus::Running;
        let writer = report.attempt.and_then(|attempt| attempt.writer).filter(|_| is_running);
        found.push(ToStop {
            run: run.name(),
            status: report.status,
            process: writer.map(|writer| writer.pid),
        });
    }
    Ok(found)
}

/// How runs are stopped.
#[derive(Clone, Copy, Debug)]
pub struct StopMode {
    /// At once, without saving.
    pub now: bool,
    /// Wait until they have ended.
    pub wait: bool,
}

/// Stops runs. Calls `waiting` again and again with the names of those that have not ended yet.
pub fn stop(
    context: &Context,
    runs: &[ToStop],
    mode: StopMode,
    waiting: &mut dyn FnMut(&[&str]),
) -> Outcome<StopReport> {
    let project = project(context)?;
    let interrupts = listen()?;
    let mut stopped = Vec::new();
    for one in runs {
        stopped.push(ask(context, &project.run(&one.run), mode.now)?);
    }
    let mut interrupted = false;
    if mode.wait {
        interrupted = wait(&project, &mut stopped, waiting, &|| interrupts.requested())?;
    }
    Ok(StopReport { runs: stopped, interrupted })
}

/// Asks the process of one run to stop, or says why not.
fn ask(context: &Context, run: &Run, now: bool) -> Outcome<Stopped> {
    let machine = context.machine.as_ref();
    let answer = |action, status, reason| Stopped { run: run.name(), action, status, reason, attempt: None };
    for _ in 0..TRIES {
        let report = run.status()?;
        let status = report.status;
        match (status, report.attempt) {
            (RunStatus::Created, _) => match cancel(run) {
                Ok(()) => return Ok(answer(StopAction::Cancelled, RunStatus::Interrupted, None)),
                // Its turn has come meanwhile.
                Err(StoreError::AlreadyRunning { .. }) => {}
                Err(error) => return Err(error.into()),
            },
            (RunStatus::Running, Some(Attempt { writer: Some(writer), .. }))
                if !trains(context, writer.pid, run) =>
            {
                let why = format!(
                    "process {}, which its claim names, doesn't train the run in {}; is this a copy?",
                    writer.pid,
                    run.path().display()
                );
                return Ok(answer(StopAction::Refused, status, Some(why)));
            }
            (RunStatus::Running, Some(Attempt { number, writer: Some(writer), .. })) => {
                match signal(run, number, &writer, machine, now) {
                    Ok(true) => {
                        let action = if now { StopAction::Killed } else { StopAction::Asked };
                        return Ok(Stopped { attempt: Some(number), ..answer(action, status, None) });
                    }
                    // It ended meanwhile.
                    Ok(false) => {}
                    Err(Signalled::Record(error)) => return Err(error.into()),
                    Err(Signalled::Process(error)) => {
                        let why = format!("can't signal process {}: {error}", writer.pid);
                        return Ok(answer(StopAction::Refused, status, Some(why)));
                    }
                }
            }
            (RunStatus::Lost | RunStatus::Unknown | RunStatus::Running, Some(attempt)) => {
                return Ok(answer(StopAction::Refused, status, Some(unreachable(&attempt, status, machine))));
            }
            (_, attempt) => {
                let reason = attempt.and_then(|attempt| attempt.end).and_then(|end| end.reason);
                return Ok(answer(StopAction::NotRunning, status, reason));
            }
        }
    }
    let why = "the run keeps changing; run the command again".to_owned();
    Ok(answer(StopAction::Refused, run.status()?.status, Some(why)))
}

/// Ends a run that no process has begun to train; others stay as they are.
pub(crate) fn end_unstarted(run: &Run) -> Outcome<()> {
    if run.status()?.status == RunStatus::Created {
        cancel(run)?;
    }
    Ok(())
}

/// Ends a run that waits for its turn, so that its supervisor passes it over.
fn cancel(run: &Run) -> Result<(), StoreError> {
    let claim = run.claim(&clock::wall_text(), TakeOver::WhenProvenGone)?;
    claim.end(&stopped_by_user(STOPPED_BEFORE)).map(drop)
}

/// Why a request could not be made.
enum Signalled {
    Record(StoreError),
    Process(std::io::Error),
}

/// Whether the process was signalled; false if it is not the one that the claim names any more.
fn signal(
    run: &Run,
    attempt: u64,
    writer: &Writer,
    machine: &dyn Machine,
    now: bool,
) -> Result<bool, Signalled> {
    if now {
        // First, so that the supervisor, which sees its worker killed, records an interruption.
        run.request_stop(attempt, &clock::wall_text()).map_err(Signalled::Record)?;
    }
    let request = if now { Request::StopNow } else { Request::SaveAndStop };
    let is_it = || writer.liveness(machine) == Liveness::Alive;
    let signalled = signal_process(writer.pid, request, &is_it);
    if now && !matches!(signalled, Ok(true)) {
        // Otherwise a later crash would pass for the user's stop.
        run.withdraw_stop(attempt).map_err(Signalled::Record)?;
    }
    signalled.map_err(Signalled::Process)
}

/// Whether a process was started to train the run in this very folder.
fn trains(context: &Context, process: u32, run: &Run) -> bool {
    let Some(words) = context.machine.process_arguments(process) else { return false };
    let folder = |path: &Path| context.fs.canonicalize(path).ok();
    let own = folder(run.path());
    own.is_some() && words.windows(2).any(|pair| pair[0] == "--run" && folder(Path::new(&pair[1])) == own)
}

/// Why the process of a run is not signalled.
fn unreachable(attempt: &Attempt, status: RunStatus, machine: &dyn Machine) -> String {
    let Some(writer) = &attempt.writer else {
        return "its claim can't be read, so the process that trains it is unknown".to_owned();
    };
    let Writer { pid, host, .. } = writer;
    if status == RunStatus::Lost {
        let recycled = writer.boot_id == machine.boot_id() && machine.process_start(*pid).is_some();
        let other = if recycled { "; that number belongs to another process now" } else { "" };
        return format!("it is not running: process {pid} has ended without recording how{other}");
    }
    if *host == machine.host() {
        return format!(
            "it is trained by process {pid} in another container or boot of {host}; stop it there"
        );
    }
    format!("it is trained by process {pid} on {host}; run rlx stop there")
}

/// Waits until every run that was asked has ended; true if the user doesn't want to wait any longer.
fn wait(
    project: &Project,
    stopped: &mut [Stopped],
    waiting: &mut dyn FnMut(&[&str]),
    enough: &dyn Fn() -> bool,
) -> Outcome<bool> {
    let mut lost = vec![0; stopped.len()];
    loop {
        for (one, lost) in stopped.iter_mut().zip(&mut lost) {
            if is_pending(one) {
                look(&project.run(&one.run), one, lost)?;
            }
        }
        let names: Vec<&str> =
            stopped.iter().filter(|one| is_pending(one)).map(|one| one.run.as_str()).collect();
        if names.is_empty() {
            return Ok(false);
        }
        if enough() {
            return Ok(true);
        }
        waiting(&names);
        std::thread::sleep(LOOK_EVERY);
    }
}

fn is_pending(one: &Stopped) -> bool {
    matches!(one.action, StopAction::Asked | StopAction::Killed) && one.status == RunStatus::Running
}

/// Notes how a run that was asked to stop has ended, if it has.
fn look(run: &Run, one: &mut Stopped, lost: &mut u32) -> Outcome<()> {
    let report = run.status()?;
    let number = report.attempt.as_ref().map(|attempt| attempt.number);
    if number != one.attempt {
        // It stopped, and was resumed meanwhile.
        one.status = RunStatus::Interrupted;
        one.reason = Some("it was resumed since".to_owned());
        return Ok(());
    }
    match (report.status, &report.attempt) {
        (RunStatus::Running, _) => return Ok(()),
        (RunStatus::Lost, Some(attempt)) if one.action == StopAction::Killed => {
            // Its supervisor would write the same; the first one counts.
            run.claimed(attempt.number)?.end(&stopped_by_user(STOPPED_NOW))?;
            return Ok(());
        }
        (RunStatus::Lost, _) if *lost < LOOKS_AT_LOST => {
            *lost += 1;
            return Ok(());
        }
        _ => {}
    }
    one.status = report.status;
    one.reason = report.attempt.and_then(|attempt| attempt.end).and_then(|end| end.reason);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rlxp_fs::RealFs;
    use rlxp_fs::testing::FakeMachine;
    use rlxp_store::{Metadata, NewRun};
    use rlxp_types::RunName;

    use super::*;

    fn stopped(action: StopAction, status: RunStatus) -> Stopped {
        Stopped { run: "a_001".into(), action, status, reason: None, attempt: None }
    }

    #[test]
    fn the_exit_code_says_whether_something_was_stopped() {
        use RunStatus::{Completed, Failed, Interrupted, Lost, Running};
        use StopAction::{Asked, Cancelled, Killed, NotRunning, Refused};
        let exit = |runs: &[(StopAction, RunStatus)], interrupted| {
            let runs = runs.iter().map(|(action, status)| stopped(*action, *status)).collect();
            StopReport { runs, interrupted }.exit()
        };
        assert_eq!(exit(&[(Asked, Interrupted), (NotRunning, Failed)], false), Exit::Yes);
        assert_eq!(exit(&[(Cancelled, Interrupted)], false), Exit::Yes);
        assert_eq!(exit(&[(Asked, Completed)], false), Exit::Yes);
        assert_eq!(exit(&[(NotRunning, Completed), (NotRunning, Failed)], false), Exit::No);
        assert_eq!(exit(&[(Asked, Interrupted), (Refused, Lost)], false), Exit::Refused);
        assert_eq!(exit(&[(Asked, Failed)], false), Exit::RunFailed);
        assert_eq!(exit(&[(Killed, Running)], true), Exit::Interrupted);
    }

    const NOW: &str = "2026-01-02T03:04:05.000Z";

    /// A run that a process has claimed whose number no process has.
    fn claimed() -> (tempfile::TempDir, Arc<FakeMachine>, Run) {
        let folder = tempfile::tempdir().unwrap();
        let machine = Arc::new(FakeMachine::new("here", "boot-1", 2_000_000_000));
        let project = Project::at(Arc::new(RealFs), machine.clone(), folder.path());
        project.prepare().unwrap();
        let metadata = Metadata::new(NOW, "CartPole-v1", "ppo", &[0], 1);
        let (name, config_snapshot) = (RunName::parse("a").unwrap(), String::new());
        let run = project.create_run(NewRun { name, config_snapshot, metadata }).unwrap();
        run.claim(NOW, TakeOver::WhenProvenGone).unwrap();
        (folder, machine, run)
    }

    #[test]
    fn a_request_that_reached_no_process_is_withdrawn() {
        let (_folder, machine, run) = claimed();
        let writer = run.newest_attempt().unwrap().unwrap().writer.unwrap();
        assert!(matches!(signal(&run, 1, &writer, machine.as_ref(), true), Ok(false)));
        assert!(!run.stop_was_requested(1).unwrap(), "a later crash would pass for the user's stop");
        // It was there before: what is left of an earlier command is withdrawn as well.
        run.request_stop(1, NOW).unwrap();
        assert!(run.stop_was_requested(1).unwrap());
        assert!(matches!(signal(&run, 1, &writer, machine.as_ref(), true), Ok(false)));
        assert!(!run.stop_was_requested(1).unwrap());
    }

    #[test]
    fn a_run_that_is_resumed_while_it_stops_counts_as_stopped() {
        let (_folder, _machine, run) = claimed();
        let mut one = Stopped { attempt: Some(1), ..stopped(StopAction::Asked, RunStatus::Running) };
        run.claimed(1).unwrap().end(&stopped_by_user("interrupted")).unwrap();
        let again = run.claim(NOW, TakeOver::WhenProvenGone).unwrap();
        assert_eq!(again.attempt(), 2);
        look(&run, &mut one, &mut 0).unwrap();
        assert_eq!(
            (one.status, one.reason.as_deref()),
            (RunStatus::Interrupted, Some("it was resumed since"))
        );
    }
}
