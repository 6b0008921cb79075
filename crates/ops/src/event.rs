//! Events while a verb runs. The worker prints them as JSON Lines, the supervisor reads them, and the command line
//! shows them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run folder exists.
    Created { run: String, path: String },
    /// The plan of the worker.
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
    /// Training started or continued.
    Started {
        seed: u64,
        step: u64,
        /// Total steps.
        total: u64,
    },
    /// Progress; sent a few times a second.
    Progress {
        seed: u64,
        step: u64,
        /// Total steps.
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
        outcome: WorkerOutcome,
        /// Mean return of the last evaluation.
        last: Option<f64>,
        /// Best evaluation.
        best: Option<f64>,
        /// Whether the last evaluation was good enough to stop before the last step.
        stopped_early: bool,
    },
    /// A seed can't be trained further; the others continue.
    SeedFailed { seed: u64, reason: String },
    /// Information that needs no action.
    Note { message: String },
    /// A warning that stops nothing.
    Warning { message: String },
    /// The worker's last event.
    Ended {
        outcome: WorkerOutcome,
        /// The matching exit code.
        exit: u8,
        /// Why, when it failed.
        reason: Option<String>,
        hints: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerOutcome {
    Completed,
    /// It was asked to stop, and saved.
    Interrupted,
    Failed,
}

/// Receives events.
pub type Sink<'a> = &'a mut dyn FnMut(Event);
