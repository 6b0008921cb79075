//! `rlx study monitor`: runs that are active, runs that ended, and the queue. It reads what the supervisor and the
//! steps have written so far and what the study declares of it.
//!
//! It stops nothing: the rules of a contract end a study, not a run, and silence and limits of a run are enforced by its
//! supervisor. Where a run looks lost, the report recommends cancelling it, with the command.

mod live;
mod look;
mod rules;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use rlxp_govern::documents::{Slug, StudyName};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::RunState;
use rlxp_govern::queue::{JobStatus, Queue};
use rlxp_launch::Interrupts;
use rlxp_launch::order::Usage;
use rlxp_types::Exit;
use rlxp_types::text::grouped;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::launch::reconcile;
use crate::studies::launch::watch::find;

use look::Looker;
pub use rules::{FoundRule, LackingRule, RuleAnswers};

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Ended runs that are shown.
const SHOWN: usize = 5;
/// Phases of the queue that are shown.
const SHOWN_JOBS: usize = 10;

/// Active and ended runs, and the queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MonitorReport {
    pub study: StudyName,
    /// Active runs in the order of their intents, then the last ones that ended.
    pub runs: Vec<MonitoredRun>,
    /// How many ended runs are not shown.
    pub not_shown: usize,
    /// Phases that can run or wait, in their order.
    pub queue: Vec<QueuedPhase>,
    /// How many of them are not shown.
    pub queue_not_shown: usize,
    /// Whether a run is active on this machine.
    pub active: bool,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// A phase in the queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueuedPhase {
    pub candidate: Slug,
    pub phase: String,
    pub runs: u64,
    pub status: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MonitoredRun {
    pub key: String,
    pub candidate: Slug,
    pub phase: String,
    pub seed: u64,
    /// Its state in the ledger.
    pub state: String,
    /// The actual state of an active run: starting, running, external, over or unknown.
    pub found: Option<&'static str>,
    /// Why it ended.
    pub reason: Option<String>,
    /// The step that ran last.
    pub step: Option<&'static str>,
    /// Seconds so far, or in total.
    pub elapsed: Option<f64>,
    /// Seconds that it may take.
    pub limit: u64,
    /// Seconds since the last output or changed file.
    pub silent_for: Option<f64>,
    /// Seconds of silence after which its supervisor stops it.
    pub silence_limit: Option<u64>,
    pub progress: Option<Progress>,
    pub time_left: Option<TimeLeft>,
    pub usage: Option<Usage>,
    pub metrics: Vec<LiveMetric>,
    /// What the failure rules say; `None` if they were not asked.
    pub rules: Option<RuleAnswers>,
    pub advice: Option<Advice>,
    /// What could not be found out, and why.
    pub problems: Vec<String>,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub folder: PathBuf,
}

/// How far the steps of a training have come.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// The metric whose log tells.
    pub metric: Slug,
    pub step: f64,
    /// The last step of an earlier run of this phase that succeeded.
    pub total: Option<f64>,
}

/// When a run will probably end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeLeft {
    pub seconds: f64,
    /// What it is estimated from: `steps` or `earlier_runs`.
    pub basis: &'static str,
}

/// The last value of a declared metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveMetric {
    pub name: Slug,
    pub file: Option<String>,
    pub points: usize,
    pub step: Option<f64>,
    /// The last value; `None` if it isn't finite, or nothing was read.
    pub last: Option<f64>,
    /// Why nothing was read.
    pub missing: Option<String>,
}

/// What could be done about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    pub why: String,
    pub command: String,
}

/// How following ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Nothing runs any more.
    Over,
    /// The reader has had enough.
    Left,
    Interrupted,
}

/// The state of a study's runs now; of one of them if `run` names it. Records runs that have ended.
pub fn monitor(context: &Context, study: Option<&str>, run: Option<&str>) -> Outcome<MonitorReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let mut warnings = Vec::new();
    if opened.study.state().closed.is_none()
        && let Err(failure) = reconcile(context, &mut opened)
    {
        // One damaged run folder doesn't hide the others.
        warnings.push(format!("not all runs could be checked: {failure}"));
    }
    let place = LaunchPaths::for_study(&opened)?;
    let state = opened.study.state();
    let mut ended: Vec<&RunRecord> =
        state.runs.values().filter(|run| matches!(run.state, RunState::Ended(_))).collect();
    ended.sort_by_key(|run| run.order);
    let (shown, not_shown) = match run {
        Some(key) => (vec![find(&opened, key)?], 0),
        None => {
            let not_shown = ended.len().saturating_sub(SHOWN);
            let mut shown = state.live();
            shown.extend(&ended[not_shown..]);
            (shown, not_shown)
        }
    };
    let looker = Looker { context, opened: &opened, place: &place, ended: &ended };
    let runs: Vec<MonitoredRun> = shown.into_iter().map(|one| looker.look(one, run.is_some())).collect();
    let (queue, queue_not_shown) = if run.is_some() { (Vec::new(), 0) } else { queue(&opened) };
    let active = runs.iter().any(|run| matches!(run.found, Some("running" | "starting")));
    warnings.append(&mut opened.warnings.clone());
    let study = opened.study.name.clone();
    opened.leave();
    Ok(MonitorReport { study, runs, not_shown, queue, queue_not_shown, active, warnings })
}

/// Hands the state to `show` again and again, and whether it differs from the one before, until no run is active, the
/// reader has had enough or the user interrupts.
pub fn follow(
    context: &Context,
    study: Option<&str>,
    run: Option<&str>,
    show: &mut dyn FnMut(&MonitorReport, bool) -> ControlFlow<()>,
) -> Outcome<Followed> {
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen to signals: {error}")))?;
    let mut before: Option<MonitorReport> = None;
    loop {
        let report = monitor(context, study, run)?;
        let is_new = before.as_ref().is_none_or(|before| differs(before, &report));
        if show(&report, is_new).is_break() {
            return Ok(Followed::Left);
        }
        if !report.active {
            return Ok(Followed::Over);
        }
        before = Some(report);
        if interrupts.count() > 0 {
            return Ok(Followed::Interrupted);
        }
        std::thread::sleep(LOOK_EVERY);
        if interrupts.count() > 0 {
            return Ok(Followed::Interrupted);
        }
    }
}

/// Whether something happened: more than that time passed and resources were used.
fn differs(before: &MonitorReport, now: &MonitorReport) -> bool {
    let what = |run: &MonitoredRun| {
        let progress = run.progress.as_ref();
        let tenth = progress.and_then(|one| Some((one.step / one.total? * 10.0).floor() as i64));
        let rules = run.rules.as_ref().map(|rules| {
            rules.findings.iter().map(|found| (found.rule.clone(), found.severity)).collect::<Vec<_>>()
        });
        (run.key.clone(), run.state.clone(), run.found, run.step, tenth, rules, run.advice.clone())
    };
    before.runs.iter().map(what).ne(now.runs.iter().map(what)) || before.queue != now.queue
}

fn queue(opened: &OpenStudy) -> (Vec<QueuedPhase>, usize) {
    let queue = Queue::for_study(&opened.study);
    let is_open = |status: &JobStatus| !matches!(status, JobStatus::Passed);
    let open: Vec<QueuedPhase> = queue
        .jobs
        .iter()
        .filter(|job| is_open(&job.stand))
        .map(|job| QueuedPhase {
            candidate: job.candidate.clone(),
            phase: job.phase.to_string(),
            runs: job.runs,
            status: job.stand.to_string(),
        })
        .collect();
    let not_shown = open.len().saturating_sub(SHOWN_JOBS);
    (open.into_iter().take(SHOWN_JOBS).collect(), not_shown)
}

impl Progress {
    /// `step 2,400 of 10,000 (24%)`.
    pub fn sentence(&self) -> String {
        let step = grouped(self.step as u64);
        match self.total.filter(|total| *total > 0.0) {
            Some(total) => {
                let percent = (self.step / total * 100.0).clamp(0.0, 999.0);
                format!("step {step} of {} ({percent:.0}%)", grouped(total as u64))
            }
            None => format!("step {step}"),
        }
    }
}
