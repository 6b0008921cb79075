//! How an attempt ended: the content of `attempts/<k>/end.json`.

use std::collections::BTreeMap;

use rlxp_types::{EndCause, RunStatus};
use serde::{Deserialize, Serialize};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything is done.
    Completed,
    /// Stopped by the user after a save.
    Interrupted,
    /// An error ended it.
    Failed,
}

impl Outcome {
    /// The run's status that follows from it.
    pub fn status(self) -> RunStatus {
        match self {
            Outcome::Completed => RunStatus::Completed,
            Outcome::Interrupted => RunStatus::Interrupted,
            Outcome::Failed => RunStatus::Failed,
        }
    }
}

/// The content of `end.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when it is not simply done: `code: message`, or how the process ended.
    #[serde(default)]
    pub reason: Option<String>,
    /// What ended it, when it is not simply done; [`End::cause`] also knows it
    /// of older versions, which didn't write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EndCause>,
    /// The exit code that goes with it.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// When, RFC 3339.
    pub ended: String,
    /// Total steps done.
    #[serde(default)]
    pub steps: Option<u64>,
    /// Why each seed failed that did, in the form of `reason`. Empty when
    /// nothing is known of single seeds, as in runs of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seeds: BTreeMap<u64, String>,
    /// What ended each seed in `seeds`; [`End::cause_of`] also knows it of older
    /// versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seed_causes: BTreeMap<u64, EndCause>,
}

impl End {
    /// An end of which only this is known.
    pub fn new(outcome: Outcome, ended: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: None,
            cause: None,
            exit_code: None,
            ended: ended.into(),
            steps: None,
            seeds: BTreeMap::new(),
            seed_causes: BTreeMap::new(),
        }
    }

    /// What ended the run before it was done.
    pub fn cause(&self) -> Option<EndCause> {
        self.cause.or_else(|| self.reason.as_deref().map(EndCause::of_reason))
    }

    /// What ended a seed that failed on its own.
    pub fn cause_of(&self, seed: u64) -> Option<EndCause> {
        let recorded = self.seed_causes.get(&seed).copied();
        recorded.or_else(|| self.seeds.get(&seed).map(|reason| EndCause::of_reason(reason)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_on_record_counts_and_an_old_reason_is_read() {
        let read = |json: &str| serde_json::from_str::<End>(json).unwrap();
        let old = read(
            r#"{"outcome": "failed", "reason": "disk_full: x", "ended": "", "seeds": {"3": "diverged: y"}}"#,
        );
        assert_eq!(
            (old.cause(), old.cause_of(3), old.cause_of(4)),
            (Some(EndCause::Storage), Some(EndCause::Diverged), None)
        );
        let new = read(
            r#"{"outcome": "failed", "reason": "x", "cause": "diverged", "ended": "", "seeds": {"3": "y"},
                "seed_causes": {"3": "out_of_memory"}}"#,
        );
        assert_eq!((new.cause(), new.cause_of(3)), (Some(EndCause::Diverged), Some(EndCause::OutOfMemory)));
        let newer =
            read(r#"{"outcome": "failed", "reason": "x", "cause": "struck_by_lightning", "ended": ""}"#);
        assert_eq!(newer.cause(), Some(EndCause::Other));
        let done = End::new(Outcome::Completed, "");
        assert_eq!(done.cause(), None);
        assert!(!serde_json::to_string(&done).unwrap().contains("cause"));
    }
}
