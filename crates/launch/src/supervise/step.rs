//! One step from start to end: started, polled, stopped if necessary, and its end described.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rlxp_fs::{Fs, RealFs};

use super::cgroup::Groups;
use super::limits::{CANCEL_GRACE, Reached, Seen, full, harmful, reached};
use super::log::{LastWords, Log};
use super::open_up::open_up;
use super::watch::{Alive, Watch};
use super::words::clean;
use super::{Run, SuperviseError, disk, environment, outcome};
use crate::confine::{Confined, StepExit};
use crate::order::{Mechanisms, StepEnd, StepOrder, StepOutcome, Usage};

/// The reason of a cancelled run.
pub(super) const CANCELLED: &str = "it was cancelled";

/// Between two looks at a step that is being ended.
const ENDING_INTERVAL: Duration = Duration::from_millis(20);
/// A step that can't be collected this long after everything in it was killed is stuck in the kernel.
const STUCK: Duration = Duration::from_secs(30);

/// Why a step is being stopped.
struct Ending {
    how: StepOutcome,
    reason: String,
    /// When it is killed.
    deadline: Instant,
    is_killed: bool,
}

impl Ending {
    fn new(how: StepOutcome, reason: String, grace: Duration) -> Self {
        Self { how, reason, deadline: rlxp_fs::clock::monotonic() + grace, is_killed: false }
    }

    fn by_limit(reached: Reached) -> Self {
        Self::new(StepOutcome::Limit, reached.reason, reached.grace)
    }
}

impl Run<'_> {
    pub(super) fn step(&mut self, step: &StepOrder) -> Result<StepEnd, SuperviseError> {
        let own = self.order.folder.join(&step.name);
        let crash = |place: &str| crate::crash::point(&format!("shim:{}:{place}", step.name));
        crash("preparing");
        let path = self.order.folder.join(format!("{}.log", step.name));
        let prepared = environment::make_folders(&own).and_then(|()| RealFs.create_new(&path));
        let (variables, secrets) = environment::for_step(step, &own);
        let secrets = Arc::new(secrets);
        // Declared before the step, so that the groups go after everything in them.
        let groups = Groups::make(&super::group_of(self.order), &step.name, &self.order.limits);
        crash("limited");
        let order = self.order;
        let mut watch = Watch::begin(&groups, &order.folder, &order.limits, self.before, self.began);
        let blocked = |why: &str, usage: Usage, mechanisms: Mechanisms| StepEnd {
            name: step.name.clone(),
            how: StepOutcome::Blocked,
            reason: clean(&secrets.out_of(why)),
            code: None,
            signal: None,
            usage,
            mechanisms,
            opened: BTreeSet::new(),
            loaded: BTreeSet::new(),
        };
        let file = match prepared {
            Err(error) if error.is_full() => {
                return Ok(blocked(&full(&error).reason, watch.usage(), Mechanisms::default()));
            }
            prepared => prepared?,
        };
        let mut confined = match Confined::spawn(order, step, &variables, &groups.join()) {
            Ok(confined) => confined,
            Err(error) => return Ok(blocked(&chain(&error), watch.usage(), Mechanisms::default())),
        };
        let (stdout, stderr) = confined.take_output().expect("the output was not taken before");
        let log = match Log::start_in(file, order.limits.output, &secrets, stdout, stderr) {
            Ok(log) => log,
            // Its output would be lost and its pipes would fill: it is ended before it begins.
            Err(error) => {
                drop(confined);
                let why = format!("can't start a thread: {error}");
                return Ok(blocked(&why, watch.usage(), Mechanisms::default()));
            }
        };
        let mut mechanisms = match confined.started() {
            Ok(mechanisms) => mechanisms,
            Err(why) => {
                drop(confined);
                let said = log.finish().unwrap_or_default();
                let why = [why.as_str(), said.why().trim()].join(" ");
                return Ok(blocked(&why, watch.usage(), Mechanisms::default()));
            }
        };
        groups.describe(&mut mechanisms);
        crash("running");

        let (exit, mut ending) = self.attend(&mut confined, &mut watch, &log)?;
        let opened = confined.opened();
        drop(confined);
        crash("ended");
        let left = [own.as_path(), step.tree.changed.as_path()];
        left.into_iter().for_each(open_up);
        let seen = watch.last_look(&log);
        let usage = watch.usage();
        let last_words = match log.finish() {
            Err(error) if error.is_full() => {
                ending.get_or_insert_with(|| Ending::by_limit(full(&error)));
                LastWords::default()
            }
            finished => finished?,
        };
        let (how, reason) = match ending.or_else(|| reached(&order.limits, &seen).map(Ending::by_limit)) {
            Some(ending) => (ending.how, ending.reason),
            None => match outcome::judge(exit, left, &step.artifacts, step.is_check, last_words.why()) {
                (StepOutcome::Failed, why) if disk::is_full(&order.folder) => {
                    (StepOutcome::Limit, full(&why).reason)
                }
                judged => judged,
            },
        };
        let StepExit { code, signal } = exit;
        let (name, loaded) = (step.name.clone(), outcome::loaded(&own));
        let reason = clean(&reason);
        Ok(StepEnd { name, how, reason, code, signal, usage, mechanisms, opened, loaded })
    }

    /// Stays with a step until no process of it is left.
    fn attend(
        &mut self,
        confined: &mut Confined,
        watch: &mut Watch<'_>,
        log: &Log,
    ) -> Result<(StepExit, Option<Ending>), SuperviseError> {
        let limits = self.order.limits;
        let mut ending: Option<Ending> = None;
        let mut is_silent = false;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(exit) = confined.try_wait()? {
                return Ok((exit, ending));
            }
            let has_said_too_much = ending.is_none() && log.came() > limits.output;
            if watch.rest().is_zero() || has_said_too_much {
                let alive = || Alive { processes: confined.processes(), scratch: confined.scratch() };
                let seen = watch.look(log, alive);
                self.pulse.beat(self.before.then(watch.usage()));
                let full = match log.failure() {
                    Some(error) if !error.is_full() => {
                        confined.kill();
                        return Err(error.into());
                    }
                    failure => failure.map(|error| full(&error)),
                };
                match &mut ending {
                    None => ending = self.begin_to_end(confined, &seen, full),
                    Some(ending) if harmful(&limits, &seen).is_some() => {
                        let soon = rlxp_fs::clock::monotonic() + Duration::from_secs(1);
                        ending.deadline = ending.deadline.min(soon);
                    }
                    Some(_) => {}
                }
            }
            let mut rest = watch.rest();
            if let Some(ending) = &mut ending {
                finish_off(ending, confined)?;
                rest = rest.min(ENDING_INTERVAL);
            }
            // Both streams are closed: it is about to exit, or it continues without output.
            if is_silent {
                std::thread::sleep(pause.min(rest));
                pause *= 2;
            } else {
                is_silent = log.wait(rest);
            }
        }
    }

    fn begin_to_end(&self, confined: &Confined, seen: &Seen, full: Option<Reached>) -> Option<Ending> {
        let ending = if (self.cancelled)() {
            Ending::new(StepOutcome::Cancelled, CANCELLED.to_owned(), CANCEL_GRACE)
        } else {
            Ending::by_limit(reached(&self.order.limits, seen).or(full)?)
        };
        confined.terminate();
        Some(ending)
    }
}

/// Kills a step that was asked to end and had its time.
fn finish_off(ending: &mut Ending, confined: &mut Confined) -> Result<(), SuperviseError> {
    let now = rlxp_fs::clock::monotonic();
    if now >= ending.deadline && !ending.is_killed {
        ending.is_killed = true;
        ending.deadline = now + STUCK;
        confined.kill();
    } else if now >= ending.deadline {
        let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
        let pid = confined.processes().first().copied().unwrap_or(0);
        return Err(crate::worker::LaunchError::Control { operation: "end", pid, source }.into());
    }
    Ok(())
}

/// An error with everything that led to it, once each.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = error.source();
    }
    text
}
