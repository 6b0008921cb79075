//! The two state machines. Transitions that aren't listed are refused, with an error that names them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::Phase;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Recorded, not started
    Intended,
    /// Started
    Running,
    /// Ended
    Ended(RunEnd),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It succeeded
    Ok,
    /// Exit code, signal, or NaN or infinite values
    Failed,
    /// It reached a limit
    Limit,
    /// It was stopped by the user
    Cancelled,
    /// The host lost it
    Lost,
    /// A requirement is missing; nothing is charged
    Blocked,
}

impl RunEnd {
    pub const ALL: [RunEnd; 6] =
        [RunEnd::Ok, RunEnd::Failed, RunEnd::Limit, RunEnd::Cancelled, RunEnd::Lost, RunEnd::Blocked];

    /// Whether the same seed may run again. A result caused by the run itself can't be retried.
    pub fn may_run_again(self) -> bool {
        matches!(self, RunEnd::Lost | RunEnd::Blocked)
    }

    /// Whether the run gets the failure score.
    pub fn is_failure(self) -> bool {
        matches!(self, RunEnd::Failed | RunEnd::Limit | RunEnd::Cancelled)
    }
}

/// What ended a run. A run that was interrupted says nothing about what it would have scored, so what it counts for
/// depends on the side it is on ([`crate::score`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// It ran to its end
    Finished,
    /// It failed by itself: an exit code, a required file that is missing
    Itself,
    /// It was cancelled, killed, reached a limit, or was lost after training
    Outside,
    /// The host lost it before training had ended
    LostEarly,
    /// It never started
    NotStarted,
}

impl RunState {
    pub const ALL: [RunState; 8] = [
        RunState::Intended,
        RunState::Running,
        RunState::Ended(RunEnd::Ok),
        RunState::Ended(RunEnd::Failed),
        RunState::Ended(RunEnd::Limit),
        RunState::Ended(RunEnd::Cancelled),
        RunState::Ended(RunEnd::Lost),
        RunState::Ended(RunEnd::Blocked),
    ];

    /// Transitions to `next`, if allowed.
    pub fn to(self, next: RunState) -> Result<RunState, NoSuchMove> {
        use RunState::{Ended, Intended, Running};
        let known = matches!(
            (self, next),
            (Intended, Running)
                // It never started: it was lost, blocked or cancelled.
                | (Intended, Ended(RunEnd::Lost | RunEnd::Blocked | RunEnd::Cancelled))
                // Also blocked: a check before the training may find that something is missing.
                | (Running, Ended(_))
        );
        if known {
            Ok(next)
        } else {
            Err(NoSuchMove { what: "run", from: self.to_string(), to: next.to_string() })
        }
    }
}

/// The state of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CandidateState {
    /// Written, or changed since it was validated
    Draft,
    /// All gates passed for exactly this text
    Validated,
    /// Its first run was intended, its last hasn't ended
    Launched,
    /// All its runs have ended
    Completed,
    /// Better, and guardrails hold: the new incumbent
    Accepted,
    /// Worse
    Rejected,
    /// Inconclusive
    Inconclusive,
    /// It didn't work as intended; may be resumed as a new revision
    Debug,
    /// Was accepted, then undone
    Reverted,
}

impl CandidateState {
    pub const ALL: [CandidateState; 9] = [
        CandidateState::Draft,
        CandidateState::Validated,
        CandidateState::Launched,
        CandidateState::Completed,
        CandidateState::Accepted,
        CandidateState::Rejected,
        CandidateState::Inconclusive,
        CandidateState::Debug,
        CandidateState::Reverted,
    ];

    /// Transitions to `next`, if allowed. `phase` is the last phase that ran: a candidate that went through its
    /// confirm phase is judged and gets no other chance by debugging.
    pub fn to(self, next: CandidateState, phase: Option<Phase>) -> Result<CandidateState, NoSuchMove> {
        use CandidateState::{
            Accepted, Completed, Debug, Draft, Inconclusive, Launched, Rejected, Reverted, Validated,
        };
        let known = match (self, next) {
            (Draft, Validated) | (Validated, Draft | Launched) | (Launched, Completed) => true,
            (Completed, Accepted | Rejected | Inconclusive) => true,
            (Completed, Debug) => matches!(phase, Some(Phase::Smoke | Phase::Short)),
            // A smoke run only shows whether training starts. It is never evidence, so a new revision re-rolls nothing.
            (Launched | Completed, Draft) => phase == Some(Phase::Smoke),
            (Accepted, Reverted) | (Debug, Draft) => true,
            _ => false,
        };
        let refused = || NoSuchMove { what: "candidate", from: self.to_string(), to: next.to_string() };
        if known { Ok(next) } else { Err(refused()) }
    }
}

/// An invalid transition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {what} can't go from {from} to {to}")]
pub struct NoSuchMove {
    /// A run or a candidate.
    pub what: &'static str,
    pub from: String,
    pub to: String,
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RunEnd::Ok => "ok",
            RunEnd::Failed => "failed",
            RunEnd::Limit => "limit",
            RunEnd::Cancelled => "cancelled",
            RunEnd::Lost => "lost",
            RunEnd::Blocked => "blocked",
        })
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunState::Intended => f.pad("intended"),
            RunState::Running => f.pad("running"),
            RunState::Ended(end) => f.pad(&format!("ended ({end})")),
        }
    }
}

impl fmt::Display for CandidateState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(crate::canonical::plain(self).as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_make_the_listed_moves_and_no_other() {
        use RunEnd::{Blocked, Cancelled, Failed, Limit, Lost, Ok};
        use RunState::{Ended, Intended, Running};
        let listed = [
            (Intended, Running),
            (Intended, Ended(Lost)),
            (Intended, Ended(Blocked)),
            (Intended, Ended(Cancelled)),
            (Running, Ended(Ok)),
            (Running, Ended(Failed)),
            (Running, Ended(Limit)),
            (Running, Ended(Cancelled)),
            (Running, Ended(Lost)),
            (Running, Ended(Blocked)),
        ];
        for from in RunState::ALL {
            for to in RunState::ALL {
                assert_eq!(from.to(to).is_ok(), listed.contains(&(from, to)), "{from} {to}");
            }
        }
    }

    #[test]
    fn candidates_make_the_listed_moves_and_no_other() {
        use CandidateState::*;
        let listed = [
            (Draft, Validated),
            (Validated, Draft),
            (Validated, Launched),
            (Launched, Completed),
            (Completed, Accepted),
            (Completed, Rejected),
            (Completed, Inconclusive),
            (Accepted, Reverted),
            (CandidateState::Debug, Draft),
        ];
        let phases = [
            None,
            Some(Phase::Smoke),
            Some(Phase::Short),
            Some(Phase::Confirm),
            Some(Phase::IncumbentValidation),
        ];
        for from in CandidateState::ALL {
            for to in CandidateState::ALL {
                for phase in phases {
                    let early = matches!(phase, Some(Phase::Smoke | Phase::Short));
                    let smoke = phase == Some(Phase::Smoke);
                    let revised = [(Launched, Draft), (Completed, Draft)];
                    let expected = listed.contains(&(from, to))
                        || ((from, to) == (Completed, CandidateState::Debug) && early)
                        || (revised.contains(&(from, to)) && smoke);
                    assert_eq!(from.to(to, phase).is_ok(), expected, "{from} {to} {phase:?}");
                }
            }
        }
        let said = Rejected.to(Accepted, Some(Phase::Confirm)).unwrap_err().to_string();
        assert_eq!(said, "a candidate can't go from rejected to accepted");
    }

    #[test]
    fn a_failed_run_is_not_repeated() {
        let again: Vec<RunEnd> = RunEnd::ALL.into_iter().filter(|end| end.may_run_again()).collect();
        assert_eq!(again, [RunEnd::Lost, RunEnd::Blocked]);
        assert!(RunEnd::ALL.into_iter().all(|end| !(end.may_run_again() && end.is_failure())));
    }
}
