//! A run while a worker of this process trains it: what the worker says, and how it ended. The worker keeps the
//! record; the supervisor adds only what a dead worker can't say itself.

use std::ffi::OsString;
use std::time::Duration;

use rlxp_fs::clock;
use rlxp_launch::{Ended, Next, OutOfMemory, Worker, WorkerCommand};
use rlxp_store::{End, Outcome as RunOutcome, Run, TakeOver};
use rlxp_types::text::shell_word;
use rlxp_types::{EndCause, Exit, RunStatus};

use crate::context::Context;
use crate::event::{Event, WorkerOutcome};
use crate::failure::{Failure, Outcome};
use crate::studies::files::permit_training;
use crate::training::next_step;

/// The signal that asks a worker to save and stop.
const INTERRUPT: i32 = 2;
/// Lines of a dead worker's stderr that are reported.
const LAST_LINES: usize = 5;
/// Looks at a claim that another process has made before it counts as that of a training.
const LOOKS_AT_CLAIM: u32 = 10;
/// Pause between them.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest report of them.
const LAST_CHARACTERS: usize = 2000;

/// A run that is being trained.
pub(crate) struct Supervised {
    pub(crate) run: Run,
    worker: Worker,
    last_word: Option<LastWord>,
    asked: Asked,
}

struct LastWord {
    outcome: WorkerOutcome,
    exit: u8,
    reason: Option<String>,
    hints: Vec<String>,
}

/// What the worker was asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    SaveAndStop,
    StopNow,
}

/// What came from the worker within the time limit.
pub(crate) enum Said {
    Event(Event),
    Nothing,
    /// It has ended or is about to.
    Closed,
}

impl Supervised {
    /// Starts a worker on `run`. With `only_first`, it trains only if no other process has claimed the run before.
    pub(crate) fn start(context: &Context, run: Run, only_first: bool) -> Outcome<Self> {
        let permit = permit_training(context, run.path())?;
        let mut words: Vec<OsString> =
            vec!["worker".into(), "--run".into(), run.path().as_os_str().to_owned()];
        if only_first {
            words.push("--only-first".into());
        }
        let worker = Worker::spawn(&permit, &WorkerCommand::this_program(words)?)?;
        Ok(Self { run, worker, last_word: None, asked: Asked::Nothing })
    }

    /// The next event, waiting at most `timeout` for it.
    pub(crate) fn next(&mut self, timeout: Duration) -> Said {
        let line = match self.worker.next_line(timeout) {
            Next::Line(line) => line,
            Next::TimedOut => return Said::Nothing,
            Next::Closed => return Said::Closed,
        };
        match serde_json::from_str(&line) {
            Ok(Event::Ended { outcome, exit, reason, hints }) => {
                self.last_word = Some(LastWord { outcome, exit, reason, hints });
                Said::Nothing
            }
            Ok(event) => Said::Event(event),
            Err(_) => Said::Event(Event::Warning {
                message: format!("unexpected output of the training process: {line}"),
            }),
        }
    }

    pub(crate) fn save_and_stop(&mut self) -> Outcome<()> {
        self.asked = Asked::SaveAndStop;
        Ok(self.worker.interrupt()?)
    }

    pub(crate) fn stop_now(&mut self) -> Outcome<()> {
        self.asked = Asked::StopNow;
        Ok(self.worker.kill()?)
    }

    /// How the training ended, once the worker has said everything.
    pub(crate) fn finish(mut self) -> Outcome<RunStatus> {
        let ended = self.worker.wait()?;
        match self.last_word.take() {
            Some(LastWord { outcome: WorkerOutcome::Completed, .. }) => Ok(RunStatus::Completed),
            Some(LastWord { outcome: WorkerOutcome::Interrupted, .. }) => Ok(RunStatus::Interrupted),
            Some(LastWord { exit, reason, hints, .. }) => {
                let exit = Exit::from_code(i32::from(exit)).unwrap_or(Exit::RunFailed);
                if exit == Exit::Refused && was_stopped_before(&self.run, || std::thread::sleep(LOOK_EVERY))?
                {
                    return Ok(RunStatus::Interrupted);
                }
                let message = reason.unwrap_or_else(|| "training failed".into());
                let code = if exit == Exit::Refused { "already_running" } else { "run_failed" };
                let mut failure = Failure::new(exit, code, message);
                failure.hints = hints;
                if exit != Exit::Refused {
                    failure.hints.extend(next_step::commands(&self.run));
                }
                Err(failure)
            }
            None => self.died(&ended),
        }
    }

    /// The worker ended without a last word: writes down what is known.
    fn died(&self, ended: &Ended) -> Outcome<RunStatus> {
        // A wish that comes before the child listens ends it by the signal itself.
        let by_wish = self.asked == Asked::SaveAndStop && ended.signal == Some(INTERRUPT);
        let mut stopped = (self.asked == Asked::StopNow || by_wish).then_some("stopped by a second Ctrl-C");
        let newest = self.run.newest_attempt()?;
        let its = newest
            .as_ref()
            .filter(|attempt| attempt.writer.as_ref().is_some_and(|writer| writer.pid == self.worker.pid()));
        if let Some(attempt) = its
            && stopped.is_none()
            && self.run.stop_was_requested(attempt.number)?
        {
            stopped = Some(STOPPED_NOW);
        }
        let how = format!("{}{}", describe_end(ended), self.last_output());
        let end = match stopped {
            Some(reason) => stopped_by_user(reason),
            None => End {
                reason: Some(how.clone()),
                cause: Some(cause_of(ended)),
                exit_code: Some(i32::from(Exit::RunFailed.code())),
                ..End::new(RunOutcome::Failed, clock::wall_text())
            },
        };
        match (its, &newest) {
            (Some(attempt), _) if attempt.end.is_none() => {
                self.run.claimed(attempt.number)?.end(&end)?;
            }
            // It died before it could claim the run, and nothing else would say why. If that can't be written, the
            // failure below still says it.
            (None, None) if stopped.is_none() => {
                let claim = self.run.claim(&end.ended, TakeOver::WhenProvenGone);
                let _ = claim.and_then(|claim| claim.end(&end));
            }
            _ => {}
        }
        if stopped.is_some() {
            return Ok(RunStatus::Interrupted);
        }
        Err(Failure::new(Exit::RunFailed, "worker_died", format!("the training process {how}"))
            .hint(format!("rlx resume {}", shell_word(&self.run.name()))))
    }

    /// The end of the worker's stderr, as the end of a sentence.
    fn last_output(&self) -> String {
        let tail = self.worker.stderr_tail();
        let mut lines: Vec<&str> = tail.lines().rev().take(LAST_LINES).collect();
        if lines.is_empty() {
            return String::new();
        }
        lines.reverse();
        let text = lines.join(" | ");
        let skipped = text.chars().count().saturating_sub(LAST_CHARACTERS);
        let mark = if skipped == 0 { "" } else { "…" };
        format!("; last output: {mark}{}", text.chars().skip(skipped).collect::<String>())
    }
}

/// Whether `rlx stop` ended the run before its worker could claim it. `rlx stop` claims the run, too, and writes the
/// reason shortly after, so this looks several times with a `pause` in between.
fn was_stopped_before(run: &Run, mut pause: impl FnMut()) -> Outcome<bool> {
    for _ in 0..LOOKS_AT_CLAIM {
        let Some(newest) = run.newest_attempt()? else { return Ok(false) };
        if let Some(end) = newest.end {
            return Ok(end.reason.as_deref() == Some(STOPPED_BEFORE));
        }
        pause();
    }
    Ok(false)
}

/// Why an attempt ended that `rlx stop --now` stopped.
pub(crate) const STOPPED_NOW: &str = "stopped by rlx stop --now";

/// Why a run ended that was stopped while it waited for its turn.
pub(crate) const STOPPED_BEFORE: &str = "stopped before it started";

/// The end of an attempt that a user stopped, with this reason.
pub(crate) fn stopped_by_user(reason: &str) -> End {
    End {
        reason: Some(reason.to_owned()),
        cause: Some(EndCause::Interrupted),
        exit_code: Some(i32::from(Exit::Interrupted.code())),
        ..End::new(RunOutcome::Interrupted, clock::wall_text())
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rlxp_fs::RealFs;
    use rlxp_fs::testing::FakeMachine;
    use rlxp_store::{Metadata, NewRun, Project};
    use rlxp_types::RunName;

    use super::*;

    #[test]
    fn a_run_that_was_stopped_before_its_claim_is_distinguished_from_one_that_trains() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Arc::new(FakeMachine::new("here", "boot-1", 100));
        let project = Project::at(Arc::new(RealFs), machine, folder.path());
        project.prepare().unwrap();
        let now = "2026-01-02T03:04:05.000Z";
        let create = || {
            let metadata = Metadata::new(now, "CartPole-v1", "ppo", &[0], 1);
            let (name, config_snapshot) = (RunName::parse("a").unwrap(), String::new());
            project.create_run(NewRun { name, config_snapshot, metadata }).unwrap()
        };
        let run = create();
        assert!(!was_stopped_before(&run, || {}).unwrap(), "no process has claimed it");
        let mut claim = Some(run.claim(now, TakeOver::WhenProvenGone).unwrap());
        let end = || {
            if let Some(claim) = claim.take() {
                claim.end(&stopped_by_user(STOPPED_BEFORE)).unwrap();
            }
        };
        assert!(was_stopped_before(&run, end).unwrap(), "the reason is written after the first look");
        let trained = create();
        let _claim = trained.claim(now, TakeOver::WhenProvenGone).unwrap();
        assert!(!was_stopped_before(&trained, || {}).unwrap(), "it is being trained");
    }
}
