//! How a run stands. A run is called dead only on proof.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a run as far as it can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The folder exists, nothing has claimed it yet.
    Created,
    /// Its writer is alive on this machine.
    Running,
    /// Ended with everything done.
    Completed,
    /// Stopped by the user after a save; `resume` continues it.
    Interrupted,
    /// Ended with a recorded error.
    Failed,
    /// Its writer is proven gone and left no record of its end; `resume` continues it.
    Lost,
    /// Claimed on another machine or boot: nothing here can tell.
    Unknown,
}

impl RunStatus {
    /// The word used in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Created => "created",
            RunStatus::Running => "running",
            RunStatus::Completed => "completed",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
            RunStatus::Lost => "lost",
            RunStatus::Unknown => "unknown",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
