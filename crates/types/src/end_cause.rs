//! What ended a training that is not complete.

use serde::{Deserialize, Serialize};

/// What ended a training early. The recorded reason has the details; decisions depend on the cause alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Its numbers became NaN or infinite; the same config and seed end there again.
    Diverged,
    /// The disk was full, broken or not writable, or held damaged files. That
    /// says nothing about what was trained.
    Storage,
    /// The user stopped it.
    Interrupted,
    /// A signal ended its process.
    Killed,
    /// Its process was killed, most likely for want of memory.
    OutOfMemory,
    /// Anything else, causes of newer versions included.
    #[serde(other)]
    Other,
}

impl EndCause {
    /// The cause behind a reason that was recorded without one, as version 0.1
    /// did: `code: message`, or how the process ended. This is the only place
    /// that reads a cause out of words.
    pub fn of_reason(reason: &str) -> Self {
        let code = reason.split(':').next().unwrap_or(reason);
        match code {
            "diverged" => Self::Diverged,
            "storage" | "disk_full" | "damaged" | "checkpoint_damaged" | "origin_missing" => Self::Storage,
            "stopped at once" => Self::Interrupted,
            _ if code.ends_with("most likely for want of memory") => Self::OutOfMemory,
            _ if code.starts_with("was ended by signal ") => Self::Killed,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_older_versions_have_their_cause() {
        for (reason, cause) in [
            (
                "diverged: seed 1: the gradient norm became NaN at step 512: training diverged",
                EndCause::Diverged,
            ),
            // What is known of a seed when only another one's reason was written down.
            ("diverged", EndCause::Diverged),
            ("storage: runs/a_001/metrics.jsonl: No space left on device", EndCause::Storage),
            ("disk_full: checkpoints need 3 MB", EndCause::Storage),
            ("damaged: runs/a_001/metadata.json", EndCause::Storage),
            ("stopped at once", EndCause::Interrupted),
            ("was ended by signal 9", EndCause::Killed),
            ("was ended by signal 9, most likely for want of memory", EndCause::OutOfMemory),
            ("ended with code 101", EndCause::Other),
            // A run's name is not its cause.
            ("environment: runs/diverged_001 has no such environment", EndCause::Other),
            ("taken_over: storage: moved", EndCause::Other),
            ("", EndCause::Other),
        ] {
            assert_eq!(EndCause::of_reason(reason), cause, "{reason}");
        }
    }
}
