//! The parts of a study that are approved one by one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is approved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What is to be achieved
    Task,
    /// How success is measured
    Metrics,
    /// What may be changed
    Scope,
    /// What may be spent, and when to stop
    Budget,
    /// What it runs on, and how confined
    Hardware,
    /// What everything is compared with, and the commands
    Baseline,
    /// How a result is evaluated and judged
    Evaluation,
    /// Which experiments are agreed, and who starts them
    Experiment,
    /// Candidates may be planned
    Plan,
    /// Candidates may be run
    Execute,
    /// The loop may be entered: from here on rlx alone starts runs in this folder
    LoopEntry,
}
