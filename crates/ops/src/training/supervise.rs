//! Starting a worker on a run and watching it to its end. The worker keeps the
//! record; the supervisor adds only what a dead worker can't say itself.

use std::time::Duration;

use rlxp_fs::clock;
use rlxp_launch::{Ended, Interrupts, Next, OutOfMemory, Worker, WorkerCommand};
use rlxp_store::{End, Outcome as RunOutcome, Run};
use rlxp_types::text::shell_word;
use rlxp_types::{EndCause, Exit, RunStatus};

use crate::event::{Event, Sink, WorkerOutcome};
use crate::failure::{Failure, Outcome};
use crate::training::next_step;

/// How often the supervisor looks at signals while the worker is silent.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The signal that asks a worker to save and stop.
const INTERRUPT: i32 = 2;

/// Trains `run` in a child process until it ends.
pub(crate) fn supervise(run: &Run, events: Sink<'_>) -> Outcome<RunStatus> {
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen for signals: {error}")))?;
    let folder = run.path().as_os_str().to_owned();
    let command = WorkerCommand::this_program(["worker".into(), "--run".into(), folder])?;
    let mut worker = Worker::spawn(&command)?;
    let mut last_word = None;
    let mut asked = 0;
    loop {
        match worker.next_line(LOOK_EVERY) {
            Next::Line(line) => match serde_json::from_str(&line) {
                Ok(Event::Ended { outcome, exit, reason, hints }) => {
                    last_word = Some((outcome, exit, reason, hints));
                }
                Ok(event) => events(event),
                Err(_) => events(Event::Warning {
                    message: format!("unexpected output of the training process: {line}"),
                }),
            },
            Next::TimedOut => {}
            Next::Closed => break,
        }
        let wanted = interrupts.count();
        if wanted > asked {
            asked = wanted;
            if wanted == 1 {
                events(Event::Warning {
                    message: "saving a checkpoint; press Ctrl-C again to stop immediately".into(),
                });
                worker.interrupt()?;
            } else {
                worker.kill()?;
            }
        }
    }
    let ended = worker.wait()?;
    match last_word {
        Some((WorkerOutcome::Completed, ..)) => Ok(RunStatus::Completed),
        Some((WorkerOutcome::Interrupted, ..)) => Ok(RunStatus::Interrupted),
        Some((WorkerOutcome::Failed, exit, reason, hints)) => {
            let exit = Exit::from_code(i32::from(exit)).unwrap_or(Exit::RunFailed);
            let message = reason.unwrap_or_else(|| "training failed".into());
            let code = if exit == Exit::Refused { "already_running" } else { "run_failed" };
            let mut failure = Failure::new(exit, code, message);
            failure.hints = hints;
            if exit != Exit::Refused {
                failure.hints.extend(next_step::commands(run));
            }
            Err(failure)
        }
        None => {
            // A wish that comes before the child listens ends it by the signal itself.
            let by_wish = asked == 1 && ended.signal == Some(INTERRUPT);
            died(run, &worker, &ended, asked > 1 || by_wish)
        }
    }
}

/// The worker ended without a last word: writes down what is known.
fn died(run: &Run, worker: &Worker, ended: &Ended, stopped_by_user: bool) -> Outcome<RunStatus> {
    let how = describe_end(ended);
    let outcome = if stopped_by_user { RunOutcome::Interrupted } else { RunOutcome::Failed };
    let exit = if stopped_by_user { Exit::Interrupted } else { Exit::RunFailed };
    if let Some(attempt) = run.newest_attempt()? {
        let is_its = attempt.writer.as_ref().is_some_and(|writer| writer.pid == worker.pid());
        if is_its && attempt.end.is_none() {
            let reason =
                Some(if stopped_by_user { "stopped by a second Ctrl-C".into() } else { how.clone() });
            let cause = Some(if stopped_by_user { EndCause::Interrupted } else { cause_of(ended) });
            let exit_code = Some(i32::from(exit.code()));
            let end = End { reason, cause, exit_code, ..End::new(outcome, clock::wall_text()) };
            run.claimed(attempt.number)?.end(&end)?;
        }
    }
    if stopped_by_user {
        return Ok(RunStatus::Interrupted);
    }
    let tail = worker.stderr_tail();
    let last_lines: Vec<&str> = tail.lines().rev().take(5).collect();
    let mut message = format!("the training process {how}");
    if !last_lines.is_empty() {
        let shown: Vec<&str> = last_lines.into_iter().rev().collect();
        message = format!("{message}; last output: {}", shown.join(" | "));
    }
    Err(Failure::new(Exit::RunFailed, "worker_died", message)
        .hint(format!("rlx resume {}", shell_word(&run.name()))))
}

fn cause_of(ended: &Ended) -> EndCause {
    match (ended.out_of_memory, ended.signal) {
        (OutOfMemory::Likely, _) => EndCause::OutOfMemory,
        (_, Some(_)) => EndCause::Killed,
        (_, None) => EndCause::Other,
    }
}

fn describe_end(ended: &Ended) -> String {
    let what = match (ended.code, ended.signal) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".into(),
    };
    match ended.out_of_memory {
        OutOfMemory::No | OutOfMemory::Possible => what,
        OutOfMemory::Likely => format!("{what}, most likely for want of memory"),
    }
}
