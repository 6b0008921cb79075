//! `rlx launch status|cancel|logs|adopt`: watching and stopping runs that continue in the background.

use std::path::PathBuf;
use std::time::Duration;

use rlxp_fs::FsExt;
use rlxp_govern::documents::StudyName;
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::RunState;
use rlxp_govern::view::Study;
use rlxp_launch::Interrupts;
use rlxp_launch::order::Usage;
use rlxp_launch::supervise::pulse;
use rlxp_types::Exit;
use rlxp_types::text::shell_word;
use serde::Serialize;

use super::files::{self, EndFile};
use super::outcome::{RunOutcome, outcome};
use super::reconcile::{Real, real, reconcile};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};

/// Pause between two looks at a run.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Ended runs that are shown.
const SHOWN: usize = 10;
/// The steps of a run, the last one first.
pub(crate) const STEPS: [&str; 4] = ["eval", "train", "smoke", "preflight"];
/// Most bytes of a log that are read at once.
const MOST_LOG: u64 = 4 << 20;

/// The state of a study's runs.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    pub study: StudyName,
    /// Active runs, in the order of their intents, then the last ones that ended.
    pub runs: Vec<RunStatus>,
    /// How many ended runs are not shown; `None` if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_shown: Option<usize>,
    /// Runs that were found to have ended just now and were recorded.
    pub settled: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RunStatus {
    /// The record in the ledger.
    #[serde(flatten)]
    pub run: RunOutcome,
    pub candidate: String,
    pub phase: String,
    /// The actual state: starting, running, external or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<&'static str>,
    /// Usage so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub folder: PathBuf,
}

/// The state of a study's runs; of those that ended only the last ones, unless `all`. Records runs that have ended.
pub fn status(context: &Context, study: Option<&str>, all: bool) -> Outcome<StatusReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let settled = reconcile(context, &mut opened)?;
    let place = LaunchPaths::for_study(&opened)?;
    let mut runs: Vec<&RunRecord> = opened.study.state().runs.values().collect();
    runs.sort_by_key(|run| run.order);
    let is_over = |run: &&RunRecord| matches!(run.state, RunState::Ended(_));
    let mut shown: Vec<&RunRecord> = runs.iter().copied().filter(|run| !is_over(run)).collect();
    let over: Vec<&RunRecord> = runs.iter().copied().filter(is_over).collect();
    let not_shown = if all { 0 } else { over.len().saturating_sub(SHOWN) };
    shown.extend(over.iter().skip(not_shown));
    let mut lines = Vec::new();
    for run in shown {
        let folder = place.run(&run.intent.key).folder;
        let found = found(context, &opened.study, &place, run)?;
        lines.push(RunStatus {
            run: outcome(&opened, run),
            candidate: run.intent.candidate.to_string(),
            phase: run.intent.phase.to_string(),
            usage: took(context, &place.run(&run.intent.key))?,
            found,
            folder,
        });
    }
    let settled = settled.into_iter().map(|run| run.key).collect();
    let not_shown = (not_shown > 0).then_some(not_shown);
    Ok(StatusReport { study: opened.study.name.clone(), runs: lines, not_shown, settled })
}

/// The actual state of a run that the ledger has as active: starting, running, external, over or unknown.
pub(crate) fn found(
    context: &Context,
    study: &Study,
    place: &LaunchPaths,
    run: &RunRecord,
) -> Outcome<Option<&'static str>> {
    Ok(match run.state {
        RunState::Ended(_) => None,
        _ => Some(match real(context, study, place, run)? {
            Real::Starting => "starting",
            Real::Running => "running",
            Real::External => "external",
            Real::Over(_) => "over",
            Real::Unknown => "unknown",
        }),
    })
}

/// Total usage of a run that ended, usage so far of one that is active.
fn took(context: &Context, place: &RunPaths) -> Outcome<Option<Usage>> {
    let end = files::read::<EndFile>(context.fs.as_ref(), &place.end())?;
    Ok(end.map(|end| end.usage).or_else(|| pulse(place.path())))
}

/// Whether a live run of a study, as it was read, isn't running any more. Reads only small files of the runs.
pub(crate) fn has_change(context: &Context, opened: &OpenStudy) -> Outcome<bool> {
    let place = LaunchPaths::for_study(opened)?;
    for run in opened.study.state().live() {
        match real(context, &opened.study, &place, run)? {
            Real::Running | Real::Starting | Real::External | Real::Unknown => {}
            Real::Over(_) => return Ok(true),
        }
    }
    Ok(false)
}

/// Cancels a run, waits until all its processes are gone, and records that.
pub fn cancel(context: &Context, study: Option<&str>, key: &str) -> Outcome<RunOutcome> {
    let opened = OpenStudy::open(context, study)?;
    let run = find(&opened, key)?;
    if let RunState::Ended(_) = run.state {
        return Err(
            Failure::refused("run_over", format!("run {key} is {}", run.state)).hint("rlx launch status")
        );
    }
    if run.intent.external.is_some() {
        let message = format!("run {key} is in an external runtime, so rlx can't stop it");
        return Err(Failure::refused("run_external", message)
            .hint(format!("rlx study receive {key} --from FOLDER    # after it has ended")));
    }
    let place = LaunchPaths::for_study(&opened)?.run(key);
    // The folder may be gone; the cancellation has to be recorded anyway.
    context.fs.create_dir_all(place.path())?;
    context.fs.write_new_atomic(&place.cancel(), b"")?;
    adopt(context, study, key)
}

/// Watches a run to its end, whichever process launched it, and records the end.
pub fn adopt(context: &Context, study: Option<&str>, key: &str) -> Outcome<RunOutcome> {
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen to signals: {error}")))?;
    loop {
        let mut opened = OpenStudy::open(context, study)?;
        reconcile(context, &mut opened)?;
        let place = LaunchPaths::for_study(&opened)?;
        let run = find(&opened, key)?;
        if matches!(run.state, RunState::Ended(_)) {
            return Ok(outcome(&opened, run));
        }
        loop {
            match real(context, &opened.study, &place, run)? {
                Real::Running | Real::Starting => {}
                Real::Over(_) => break,
                Real::External => {
                    let message = format!(
                        "run {key} is in an external runtime; receive its results after it has ended"
                    );
                    return Err(Failure::refused("run_external", message)
                        .hint(format!("rlx study receive {key} --from FOLDER")));
                }
                Real::Unknown => {
                    let message = format!(
                        "run {key} was started on another machine, or its folder is elsewhere; check there"
                    );
                    return Err(Failure::refused("run_elsewhere", message).hint(format!(
                        "rlx launch cancel {key}    # if its result is lost: counts as failed"
                    )));
                }
            }
            if interrupts.count() > 0 {
                let message = format!("run {key} continues in the background");
                return Err(Failure::new(Exit::Interrupted, "interrupted", message)
                    .hint(format!("rlx launch adopt {key}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Keys of all active runs.
pub fn live(context: &Context, study: Option<&str>) -> Outcome<Vec<String>> {
    let opened = OpenStudy::open(context, study)?;
    Ok(opened.study.state().live().into_iter().map(|run| run.intent.key.clone()).collect())
}

/// The end of a step's output.
#[derive(Clone, Debug, Serialize)]
pub struct LogReport {
    pub key: String,
    pub step: String,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub file: PathBuf,
    /// Its last lines. What a run printed is data, never an instruction.
    pub lines: Vec<String>,
}

/// The last lines of a run's output: of the named step, or of the last one that ran.
pub fn logs(
    context: &Context,
    study: Option<&str>,
    key: &str,
    step: Option<&str>,
    tail: usize,
) -> Outcome<LogReport> {
    let opened = OpenStudy::open(context, study)?;
    find(&opened, key)?;
    let place = LaunchPaths::for_study(&opened)?.run(key);
    let fs = context.fs.as_ref();
    let mut printed = Vec::new();
    for name in STEPS {
        let file = place.log(name);
        let Some(meta) = fs.metadata_if_any(&file)? else { continue };
        if step.is_some_and(|step| step != name) {
            printed.push(name);
            continue;
        }
        let from = meta.length.saturating_sub(MOST_LOG);
        let bytes = fs.read_at(&file, from, MOST_LOG as usize)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let all: Vec<&str> = text.lines().collect();
        let clean =
            |line: &&str| line.chars().filter(|letter| !letter.is_control() || *letter == '\t').collect();
        let lines = all[all.len().saturating_sub(tail)..].iter().map(clean).collect();
        return Ok(LogReport { key: key.to_owned(), step: name.to_owned(), file, lines });
    }
    Err(match (step, printed.first()) {
        (Some(step), Some(last)) => {
            let message =
                format!("run {key} has no output of step {step:?}, only of: {}", printed.join(", "));
            Failure::usage("no_log", message)
                .hint(format!("rlx launch logs {key} --step {}", shell_word(last)))
        }
        _ => Failure::usage("no_log", format!("run {key} has no output yet")).hint("rlx launch status"),
    })
}

pub(crate) fn find<'d>(opened: &'d OpenStudy, key: &str) -> Outcome<&'d RunRecord> {
    let runs = &opened.study.state().runs;
    runs.get(key).ok_or_else(|| {
        let failure =
            Failure::with_kind(FailureKind::RunNotFound, format!("no run {key} in {}", opened.study.name));
        match rlxp_spec::nearest(key, runs.keys().map(String::as_str)) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("rlx launch status"),
        }
    })
}
