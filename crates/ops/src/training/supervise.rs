//! Trains runs in child processes and watches them to their ends: one run, or several, some of them at once.

use std::time::Duration;

use rlxp_launch::Interrupts;
use rlxp_store::Run;
use rlxp_types::{Exit, RunStatus};

use crate::context::Context;
use crate::event::{Event, Sink};
use crate::failure::{Failure, Outcome};
use crate::training::supervised::{Said, Supervised};

/// How often the supervisor looks at signals while its workers are silent.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A run whose turn has come.
pub(crate) enum Turn {
    Train {
        run: Run,
        /// Whether to leave the run alone if another process claims it first.
        only_first: bool,
    },
    /// There is nothing to do for it.
    Skip(RunStatus),
}

/// Receives events with the name of their run; none for what concerns all runs.
pub(crate) type RunSink<'a> = &'a mut dyn FnMut(Option<&str>, Event);

/// How a run ended; none if its turn never came, because the user stopped everything before.
pub(crate) type RunEnd = Option<Outcome<RunStatus>>;

/// Counts the user's interrupts from now on.
pub(crate) fn listen() -> Outcome<Interrupts> {
    Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen for signals: {error}")))
}

/// Trains `run` in a child process until it ends.
pub(crate) fn supervise(context: &Context, run: &Run, events: Sink<'_>) -> Outcome<RunStatus> {
    let only_first = run.was_never_attempted()?;
    let mut next = |_| Ok(Turn::Train { run: run.clone(), only_first });
    let mut ends = supervise_all(context, 1, 1, &mut next, &mut |_, event| events(event), &mut |_, _| {})?;
    ends.pop().flatten().unwrap_or(Ok(RunStatus::Interrupted))
}

/// Trains `count` runs, at most `parallel` at once, in the order in which `next` hands them out by number; calls
/// `ended` for each as it ends. A run that fails doesn't stop the others. The first interrupt has all runs save and
/// stop, and no other one starts; the second stops them at once.
pub(crate) fn supervise_all(
    context: &Context,
    count: usize,
    parallel: usize,
    next: &mut dyn FnMut(usize) -> Outcome<Turn>,
    events: RunSink<'_>,
    ended: &mut dyn FnMut(usize, &Outcome<RunStatus>),
) -> Outcome<Vec<RunEnd>> {
    let interrupts = listen()?;
    let mut ends: Vec<RunEnd> = (0..count).map(|_| None).collect();
    let mut end = |number: usize, result: Outcome<RunStatus>| {
        ended(number, &result);
        ends[number] = Some(result);
    };
    let mut running: Vec<(usize, Supervised)> = Vec::new();
    let mut waiting = 0..count;
    let mut asked = 0;
    let mut silent = false;
    loop {
        let wanted = interrupts.count();
        if wanted > asked {
            if wanted == 1 {
                let message = "saving a checkpoint; press Ctrl-C again to stop immediately".into();
                events(None, Event::Warning { message });
            }
            asked = wanted;
            for (_, supervised) in &mut running {
                let result = if wanted == 1 { supervised.save_and_stop() } else { supervised.stop_now() };
                if let Err(failure) = result {
                    events(Some(&supervised.run.name()), Event::Warning { message: failure.message });
                }
            }
        }
        while asked == 0 && running.len() < parallel.max(1) {
            let Some(number) = waiting.next() else { break };
            let started = next(number).and_then(|turn| match turn {
                Turn::Train { run, only_first } => Supervised::start(context, run, only_first).map(Ok),
                Turn::Skip(status) => Ok(Err(status)),
            });
            match started {
                Ok(Ok(supervised)) => running.push((number, supervised)),
                Ok(Err(status)) => end(number, Ok(status)),
                Err(failure) => end(number, Err(failure)),
            }
        }
        if running.is_empty() {
            return Ok(ends);
        }
        // While workers talk, each gets its turn without waiting for another.
        let patience = if silent { LOOK_EVERY / running.len() as u32 } else { Duration::ZERO };
        silent = true;
        let mut at = 0;
        while at < running.len() {
            match running[at].1.next(patience) {
                Said::Event(event) => {
                    silent = false;
                    events(Some(&running[at].1.run.name()), event);
                }
                Said::Nothing => {}
                Said::Closed => {
                    silent = false;
                    let (number, supervised) = running.remove(at);
                    end(number, supervised.finish());
                    continue;
                }
            }
            at += 1;
        }
    }
}
