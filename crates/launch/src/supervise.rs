//! Runs the steps of a governed run one after another, enforces its limits, and records what
//! happened.
//!
//! This is the body of the shim (`rlx __run`). It outlives the command that started it and is the parent of
//! everything that the run starts; when it dies, all of that dies with it. Other processes learn about the
//! run from the files in its folder.
//!
//! Polling is cheap: about ten times a second, and less often when a poll becomes expensive, so that
//! supervision stays below one per cent of a processor.

mod cgroup;
mod disk;
mod environment;
mod limits;
mod log;
mod open_up;
mod outcome;
mod processes;
mod redact;
mod shim;
mod step;
mod taken;
#[cfg(test)]
mod test_orders;
mod watch;
mod words;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rlxp_fs::{Fs, FsError, FsExt, RealFs};
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};
use signal_hook::low_level;

pub(crate) use environment::existing_folders;
pub use shim::{Shim, start_shim, wait_for_go};
pub use taken::{Taken, TakenFile};

use crate::order::{Level, Limits, Mechanisms, RunOrder, StepEnd, StepOutcome, Usage};
use crate::permit::Permit;
use crate::worker::LaunchError;

/// The file in a run's folder with the resources used so far.
pub const PULSE_FILE: &str = "pulse.json";
const PULSE_BYTES: u64 = 4096;
const PULSE_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes that are read of what a failed step left.
const LISTED_OF_A_FAILURE: u64 = 256 << 20;
/// Entries that could not be listed and are named one by one.
const MOST_LEFT_OUT: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunReport {
    /// How it ended: as the last of its steps, unless it was cancelled or took too long after that.
    pub how: StepOutcome,
    pub reason: String,
    /// Resources used by all steps together.
    pub usage: Usage,
    /// Its sandboxing: the weakest of its steps.
    pub level: Level,
    /// The steps that were started.
    pub steps: Vec<StepEnd>,
    /// What each of them left in its folder and its tree, taken down right after it.
    pub taken: Taken,
    /// An entry of a step's folder that was touched after it was taken down, although a later step read it.
    pub touched: Option<String>,
}

/// Why a run could not be supervised. Nothing of it is left running.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The order is invalid.
    #[error("invalid order: {}", problems.join("; "))]
    Order { problems: Vec<String> },
    /// Something could not be written.
    #[error(transparent)]
    Storage(#[from] FsError),
    /// A step was started but can't be controlled.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Signals can't be listened to.
    #[error("can't listen for signals")]
    Signals(#[source] io::Error),
}

/// Runs all steps of an order, stopping after the first that fails.
///
/// Writes `<step>.log`, `<step>.json` ([`StepEnd`]) and [`PULSE_FILE`] into the run's folder. `cancelled`
/// is checked at every poll; a SIGTERM or SIGHUP to this process has the same effect, a SIGINT has none.
/// Call it from a thread that lives as long as the run, in a process that has no other children: their
/// processor time is counted.
pub fn supervise(
    _permit: &Permit,
    order: &RunOrder,
    cancelled: &dyn Fn() -> bool,
) -> Result<RunReport, SuperviseError> {
    check(order)?;
    let signals = Signals::listen().map_err(SuperviseError::Signals)?;
    let is_cancelled = || signals.called() || cancelled();
    let mut run = Run {
        order,
        began: rlxp_fs::clock::monotonic(),
        cancelled: &is_cancelled,
        before: Usage::default(),
        pulse: Pulse { path: order.folder.join(PULSE_FILE), written: None },
    };
    let mut steps: Vec<StepEnd> = Vec::new();
    let mut left = Left { bytes: order.limits.disk, ..Left::default() };
    for step in &order.steps {
        if is_cancelled() {
            let reason = step::CANCELLED.to_owned();
            return Ok(report(StepOutcome::Cancelled, reason, run.took(), steps, left));
        }
        // There is always a step before one that needs something.
        if !steps.is_empty() && !step.needs.iter().all(|file| RealFs.is_file(file).unwrap_or(false)) {
            continue;
        }
        let mut end = run.step(step)?;
        let ran = order.steps[..steps.len()].iter().rfind(|earlier| !earlier.is_check);
        if let (StepOutcome::Blocked, Some(ran)) = (end.how, ran) {
            // A blocked run may be repeated as if nothing had happened. Here a step has already run:
            // otherwise, removing the next step's program after seeing the result would allow another try
            // with the same seed.
            end.how = StepOutcome::Failed;
            end.reason = format!("{} can't start although {} has run: {}", step.name, ran.name, end.reason);
        }
        let mut bytes = serde_json::to_vec_pretty(&end).expect("the end of a step is plain data");
        bytes.push(b'\n');
        match RealFs.write_atomic(&order.folder.join(format!("{}.json", step.name)), &bytes) {
            // The run's report has it as well, and space for that is reserved.
            Err(error) if error.is_full() => {}
            written => written?,
        }
        crate::crash::point(&format!("shim:{}:written", step.name));
        run.before = run.before.then(end.usage);
        steps.push(end);
        left.notice_touched(&order.folder);
        let is_ok = steps.last().is_some_and(|end| end.how == StepOutcome::Ok);
        if !run.take_down(&step.name, is_ok, &mut left) || !is_ok {
            break;
        }
    }
    let last = steps.last().expect("an order has steps");
    let (mut how, mut reason, usage) = (last.how, last.reason.clone(), run.took());
    if let (StepOutcome::Ok, Some((other, why))) = (how, run.ended_meanwhile(&usage)) {
        (how, reason) = (other, why);
    }
    Ok(report(how, reason, usage, steps, left))
}

/// What the steps that have ended left.
#[derive(Default)]
struct Left {
    taken: Taken,
    /// How many bytes may still be read.
    bytes: u64,
    /// The folder of each, as it was when it was taken down.
    states: Vec<(String, taken::States)>,
    touched: Option<String>,
}

impl Left {
    /// A step that has just ended read the folders of those before it.
    fn notice_touched(&mut self, run: &Path) {
        let touched = self.states.iter().find_map(|(name, states)| {
            let path = states.changed(&run.join(name))?;
            Some(taken::text(&Path::new(name).join(path)))
        });
        self.touched = self.touched.take().or(touched);
    }
}

/// A run's resources as last written to the [`PULSE_FILE`] of its folder.
pub fn pulse(folder: &Path) -> Option<Usage> {
    serde_json::from_slice(&RealFs.read(&folder.join(PULSE_FILE), PULSE_BYTES).ok()?).ok()
}

/// Removes what a killed supervisor could not: the control groups of its steps. Only call this with proof
/// that the supervisor has exited; groups in use stay.
pub fn sweep(order: &RunOrder) {
    for step in &order.steps {
        cgroup::sweep(&group_of(order), &step.name);
    }
}

/// The name of a run's control groups: two studies of one user may have runs with the same key.
fn group_of(order: &RunOrder) -> String {
    let folder = Digest::hash(order.folder.as_os_str().as_encoded_bytes());
    format!("{}-{}", order.key, folder.short())
}

/// Describes how memory and processes of a run would be limited here, by creating groups and removing them.
pub fn describe_limits(mechanisms: &mut Mechanisms) {
    let much = Limits {
        wall_clock: 0,
        cpu_time: 0,
        memory: 1 << 40,
        processes: 1 << 15,
        disk: 0,
        output: 0,
        silence: None,
    };
    let name = format!("look-{}", std::process::id());
    cgroup::Groups::make(&name, "none", &much).describe(mechanisms);
}

fn report(how: StepOutcome, reason: String, usage: Usage, steps: Vec<StepEnd>, left: Left) -> RunReport {
    let level = steps.iter().map(|end| end.mechanisms.level()).min().unwrap_or(Level::None);
    let Left { mut taken, touched, .. } = left;
    taken.left_out.truncate(MOST_LEFT_OUT);
    RunReport { how, reason, usage, level, steps, taken, touched }
}

/// Checks an order and reports all problems.
fn check(order: &RunOrder) -> Result<(), SuperviseError> {
    let mut problems = Vec::new();
    if !order.folder.is_absolute() {
        problems.push(format!("the run's folder {} is not absolute", order.folder.display()));
    }
    if order.steps.is_empty() {
        problems.push("the order has no steps".to_owned());
    }
    let mut names = BTreeSet::new();
    for step in &order.steps {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if step.name.is_empty() || !step.name.bytes().all(is_plain) {
            problems.push(format!("{:?} is not a valid step name", step.name));
        }
        if !names.insert(&step.name) {
            problems.push(format!("duplicate step name {:?}", step.name));
        }
        if step.argv.is_empty() {
            problems.push(format!("step {:?} has no program", step.name));
        }
        let names = step.artifacts.iter().filter(|name| !outcome::is_plain(name));
        problems
            .extend(names.map(|name| format!("{name:?} of step {:?} is not a valid file name", step.name)));
    }
    if problems.is_empty() { Ok(()) } else { Err(SuperviseError::Order { problems }) }
}

/// An active run.
struct Run<'a> {
    order: &'a RunOrder,
    began: Instant,
    cancelled: &'a dyn Fn() -> bool,
    /// Usage of the steps that have ended.
    before: Usage,
    pulse: Pulse,
}

impl Run<'_> {
    /// Usage of the whole run. The time limit applies to all of it, including the time between steps.
    fn took(&self) -> Usage {
        Usage { wall_clock: self.began.elapsed().as_secs_f64(), ..self.before }
    }

    /// Why a run whose steps all succeeded has not, after all: it used more time than is reserved for it, or it was
    /// cancelled while its files were read.
    fn ended_meanwhile(&self, usage: &Usage) -> Option<(StepOutcome, String)> {
        if (self.cancelled)() {
            return Some((StepOutcome::Cancelled, step::CANCELLED.to_owned()));
        }
        let wall_clock = Duration::try_from_secs_f64(usage.wall_clock).unwrap_or(Duration::MAX);
        let seen = limits::Seen { wall_clock, ..limits::Seen::default() };
        limits::reached(&self.order.limits, &seen).map(|reached| (StepOutcome::Limit, reached.reason))
    }

    /// Lists what a step left. The next one reads its folder, and nothing else of it; false if there is no time for that.
    fn take_down(&self, name: &str, is_ok: bool, left: &mut Left) -> bool {
        let folder = &self.order.folder;
        // Before the files are read, so that a change meanwhile is noticed too.
        left.states.push((name.to_owned(), taken::states(&folder.join(name))));
        let mut stop: &dyn Fn() -> bool = &|| self.ended_meanwhile(&self.took()).is_some();
        if !is_ok {
            // It is over; what it left is listed as far as that takes no time.
            left.bytes = left.bytes.min(LISTED_OF_A_FAILURE);
            stop = &|| false;
        }
        [name.to_owned(), format!("{name}.changed")]
            .iter()
            .all(|part| taken::take_down(folder, part, &mut left.bytes, stop, &mut left.taken))
    }
}

/// Publishes the resources used so far.
struct Pulse {
    path: PathBuf,
    written: Option<Instant>,
}

impl Pulse {
    /// Writes at most once a second and without syncing: it is best effort. A failed write is noticed where it
    /// matters.
    fn beat(&mut self, usage: Usage) {
        let now = rlxp_fs::clock::monotonic();
        if self.written.is_some_and(|written| now.duration_since(written) < PULSE_INTERVAL) {
            return;
        }
        self.written = Some(now);
        let bytes = serde_json::to_vec(&usage).expect("numbers are plain data");
        let temporary = RealFs.temporary_beside(&self.path);
        let written = RealFs
            .create_new(&temporary)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| RealFs.rename(&temporary, &self.path));
        if written.is_err() {
            let _ = RealFs.remove_file(&temporary);
        }
    }
}

/// Signals to the supervisor while it works.
struct Signals {
    called: Arc<AtomicBool>,
    handlers: Vec<signal_hook::SigId>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let mut signals = Self { called: Arc::default(), handlers: Vec::new() };
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
            let called = Arc::clone(&signals.called);
            // SAFETY: the handler stores at most one atomic, which is async-signal-safe.
            let handler = unsafe {
                low_level::register(signal, move || {
                    // Ctrl-C is meant for the command that started the run; the run continues.
                    if signal != libc::SIGINT {
                        called.store(true, Ordering::SeqCst);
                    }
                })
            }?;
            signals.handlers.push(handler);
        }
        Ok(signals)
    }

    fn called(&self) -> bool {
        self.called.load(Ordering::SeqCst)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_refused_with_all_that_is_wrong_with_it() {
        let mut bad = test_orders::step("../up", &[]);
        bad.artifacts = vec!["fine/metrics.json".to_owned(), "/etc/passwd".to_owned(), "a/../b".to_owned()];
        let mut order = test_orders::order(Path::new("relative"), vec![bad.clone(), bad]);
        let error = supervise(&Permit::issue(), &order, &|| false).unwrap_err().to_string();
        for part in [
            "not absolute",
            "duplicate step name",
            "no program",
            "not a valid step name",
            "/etc/passwd",
            "a/../b",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!error.contains("fine/"), "{error}");
        order.steps.clear();
        assert!(supervise(&Permit::issue(), &order, &|| false).unwrap_err().to_string().contains("no steps"));
    }

    #[test]
    fn runs_of_two_studies_share_no_groups() {
        let order = |folder: &str| test_orders::order(Path::new(folder), Vec::new());
        let (one, other) = (group_of(&order("/one/runs/a-1")), group_of(&order("/other/runs/a-1")));
        assert_ne!(one, other);
        assert!(one.starts_with(&order("/").key), "{one}");
    }

    #[test]
    fn a_run_cancelled_before_it_starts_starts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let order = test_orders::order(folder.path(), vec![test_orders::step("train", &["/bin/false"])]);
        let report = supervise(&Permit::issue(), &order, &|| true).unwrap();
        assert_eq!((report.how, report.steps.len(), report.level), (StepOutcome::Cancelled, 0, Level::None));
        assert!(RealFs.list(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn the_pulse_is_read_back_and_damage_is_no_pulse() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(pulse(folder.path()), None);
        let mut pulse_of = Pulse { path: folder.path().join(PULSE_FILE), written: None };
        let usage = Usage { wall_clock: 1.5, memory: 7, ..Usage::default() };
        pulse_of.beat(usage);
        pulse_of.beat(Usage::default());
        assert_eq!(pulse(folder.path()), Some(usage), "the second came too early");
        assert_eq!(RealFs.list(folder.path()).unwrap().len(), 1);
        RealFs.write_atomic(&folder.path().join(PULSE_FILE), b"{\"wall").unwrap();
        assert_eq!(pulse(folder.path()), None);
    }
}
