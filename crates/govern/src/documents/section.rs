//! The parts of a study that are approved one by one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is approved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// The goal
    Task,
    /// How success is measured
    Metrics,
    /// What may be changed
    Scope,
    /// The budget, and when to stop
    Budget,
    /// Hardware and sandboxing
    Hardware,
    /// The reference for all comparisons, and the commands
    Baseline,
    /// How results are evaluated and judged
    Evaluation,
    /// The approved experiments, and who starts them
    Experiment,
    /// Candidates may be planned
    Plan,
    /// Candidates may be run
    Execute,
    /// The loop may be entered: from here on rlx alone starts runs in this folder
    LoopEntry,
}
