//! `rlx tail`: follows the metrics of a run while it is being trained.

use std::ops::ControlFlow;
use std::time::Duration;

use rlxp_launch::Interrupts;
use rlxp_store::{MetricsFollower, Record, StatusReport};
use rlxp_types::{Exit, RunStatus};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::select::{one_run_or_seed, project};

/// Pause between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Looks at a run whose process is gone before it counts as lost.
const LOOKS_AT_LOST: u32 = 10;

/// What is known of a run when its following ends.
#[derive(Debug)]
pub struct Tailed {
    pub status: RunStatus,
    /// Why it ended, where that is recorded.
    pub reason: Option<String>,
}

/// Hands every record of `text` to `show` with its seed: the last `lines` per
/// seed, then, with `follow`, what comes until the run ends or `show` has had
/// enough.
pub fn tail(
    context: &Context,
    text: &str,
    lines: usize,
    follow: bool,
    show: &mut dyn FnMut(u64, &Record) -> ControlFlow<()>,
) -> Outcome<Tailed> {
    let (run, seed) = one_run_or_seed(&project(context)?, text)?;
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen for signals: {error}")))?;
    let mut folders = run.seed_folders()?;
    folders.retain(|folder| seed.is_none_or(|seed| folder.seed() == seed));
    let mut followers: Vec<(u64, MetricsFollower)> =
        folders.iter().map(|folder| (folder.seed(), folder.follow_metrics())).collect();
    for (seed, follower) in &mut followers {
        let records = follower.poll()?;
        let from = records.len().saturating_sub(lines);
        if records[from..].iter().try_for_each(|record| show(*seed, record)).is_break() {
            return Ok(tailed(run.status()?));
        }
    }
    let mut lost = 0;
    loop {
        // The status first: what is written before the end is then seen below.
        let report = run.status()?;
        let status = report.status;
        for (seed, follower) in &mut followers {
            if follower.poll()?.iter().try_for_each(|record| show(*seed, record)).is_break() {
                return Ok(tailed(report));
            }
        }
        let over = match status {
            RunStatus::Running | RunStatus::Created | RunStatus::Unknown => false,
            // The supervisor of a worker that was killed is about to record that.
            RunStatus::Lost => {
                lost += 1;
                lost > LOOKS_AT_LOST
            }
            RunStatus::Completed | RunStatus::Interrupted | RunStatus::Failed => true,
        };
        if over || !follow || interrupts.requested() {
            return Ok(tailed(report));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn tailed(report: StatusReport) -> Tailed {
    let end = report.attempt.and_then(|attempt| attempt.end);
    Tailed { status: report.status, reason: end.and_then(|end| end.reason) }
}
