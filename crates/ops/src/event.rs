//! What happens while a verb runs. The worker prints these as JSON Lines, the
//! supervisor reads them back, and surfaces show them.

use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run folder exists.
    Created {
        /// Name of the run.
        run: String,
        /// Its folder.
        path: String,
    },
    /// What the worker is about to do.
    Planned {
        seeds: usize,
        /// Steps of each.
        total: u64,
    },
    /// An extension changes the value of a schedule, which runs over all steps.
    ScheduleStretched {
        /// The config's key.
        key: String,
        /// Step from which training continues.
        step: u64,
        /// Steps that the schedule runs over now.
        total: u64,
        /// Value at the last update before.
        last: f64,
        /// Value at the next update.
        next: f64,
        end: f64,
    },
    /// Training began or went on.
    Started {
        seed: u64,
        /// Step that it starts from.
        step: u64,
        /// Steps in all.
        total: u64,
    },
    /// Where training is; sent a few times a second.
    Progress {
        seed: u64,
        step: u64,
        /// Steps in all.
        total: u64,
        /// Steps per second since this attempt started.
        steps_per_second: f64,
        /// Mean return of recent training episodes.
        mean_return: Option<f64>,
        /// Best evaluation so far.
        best: Option<f64>,
    },
    /// A periodic evaluation.
    Evaluated {
        seed: u64,
        /// Step of the policy.
        step: u64,
        mean_return: f64,
        /// Episodes played.
        episodes: usize,
        /// Whether it is the best so far.
        best: bool,
    },
    /// A checkpoint is safely on disk.
    Saved { seed: u64, step: u64 },
    SeedEnded {
        seed: u64,
        step: u64,
        /// How it ended.
        outcome: WorkerOutcome,
        /// Mean return of the last evaluation.
        last: Option<f64>,
        /// Best evaluation.
        best: Option<f64>,
        /// Whether the last evaluation was good enough to stop before the last step.
        stopped_early: bool,
    },
    /// A seed can't be trained further; the others go on.
    SeedFailed { seed: u64, reason: String },
    /// Something worth knowing that is as it should be.
    Note {
        /// The text.
        message: String,
    },
    /// Something to be careful about that stops nothing.
    Warning {
        /// The text.
        message: String,
    },
    /// The worker's last word.
    Ended {
        /// How it ended.
        outcome: WorkerOutcome,
        /// Exit code that tells the same.
        exit: u8,
        /// Why, when it failed.
        reason: Option<String>,
        /// What helps.
        hints: Vec<String>,
    },
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerOutcome {
    Completed,
    /// Asked to stop; saved.
    Interrupted,
    Failed,
}

/// Takes events.
pub type Sink<'a> = &'a mut dyn FnMut(Event);
