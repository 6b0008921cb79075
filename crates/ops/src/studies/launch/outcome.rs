//! Runs of a launch as events and reports show them.

use rlxp_govern::documents::{Phase, Slug, StudyName};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::score::{self, Score};
use rlxp_types::{Digest, Exit};
use serde::Serialize;

use crate::studies::files::OpenStudy;

/// Something that happened while runs were watched.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LaunchEvent {
    Started {
        key: String,
        seed: u64,
        phase: Phase,
    },
    Ended {
        key: String,
        end: RunEnd,
        reason: String,
    },
    /// A problem that doesn't stop the launch.
    Warning {
        message: String,
    },
}

/// The runs that a command started.
#[derive(Clone, Debug, Serialize)]
pub struct ExecuteReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub phase: Phase,
    /// The plan that was followed.
    pub plan: Digest,
    pub runs: Vec<RunOutcome>,
    /// Whether runs continue that this command no longer watches.
    pub left_running: bool,
    /// Why runs that were asked for were not started, where some were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// A launch that ended before all of its runs were started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stopped {
    /// How many runs were not started.
    pub not_started: u64,
    /// What kept them from starting, as a code.
    pub code: &'static str,
    pub reason: String,
    /// Commands that help.
    pub hints: Vec<String>,
    #[serde(skip)]
    pub exit: Exit,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunOutcome {
    pub key: String,
    pub seed: u64,
    pub state: String,
    /// Why, once it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it can never be evidence, where it can't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_evidence: Option<String>,
    /// Its score, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
}

impl ExecuteReport {
    /// Whether every run that is over succeeded.
    pub fn is_well(&self) -> bool {
        self.left_running || self.runs.iter().all(RunOutcome::is_well)
    }

    /// The exit code: a run that failed, else what kept further runs from starting.
    pub fn exit(&self) -> Exit {
        match &self.stopped {
            _ if !self.is_well() => Exit::RunFailed,
            Some(stopped) => stopped.exit,
            None => Exit::Yes,
        }
    }
}

impl RunOutcome {
    pub fn is_well(&self) -> bool {
        self.state == RunState::Ended(RunEnd::Ok).to_string()
    }
}

/// A run of the ledger as reports show it.
pub(super) fn outcome(opened: &OpenStudy, run: &RunRecord) -> RunOutcome {
    let side = opened.study.state().side_of(&run.intent.candidate);
    let spec = opened.study.files.metric_spec.typed();
    RunOutcome {
        key: run.intent.key.clone(),
        seed: run.intent.seed,
        state: run.state.to_string(),
        reason: run.ended.as_ref().map(|ended| ended.reason.clone()),
        not_evidence: run.ended.as_ref().and_then(|ended| ended.not_evidence.clone()),
        score: spec.and_then(|spec| score::score_run(run, spec, side)),
    }
}
