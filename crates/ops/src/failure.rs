//! Why a verb did not do what was asked: kind, message, and the commands that
//! help. Surfaces decide how it looks; the exit code is decided here.

use std::fmt;

use rlxp_fs::FsError;
use rlxp_govern::gate::Refusal;
use rlxp_learn::LearnError;
use rlxp_spec::{Problem, Source};
use rlxp_store::StoreError;
use rlxp_types::text::shell_word;
use rlxp_types::{EndCause, Exit};
use serde::Serialize;

/// What is wrong when a checkpoint's parts don't fit a config.
pub(crate) const CHECKPOINT_MISMATCH: &str =
    "the checkpoint belongs to another environment, network shape or version";

/// A verb's "no".
#[derive(Debug)]
pub struct Failure {
    /// What the process should exit with.
    pub exit: Exit,
    /// A stable word for programs, such as `run_not_found`.
    pub code: &'static str,
    /// What it means for a training that it ends; decided by kind, never by `code`.
    pub(crate) cause: EndCause,
    /// What happened, where a caller does something about it; never decided by `code` either.
    pub(crate) kind: Option<FailureKind>,
    pub message: String,
    /// Commands or corrections that help; each can be pasted or followed.
    pub hints: Vec<String>,
    /// Every reason of a gate's "no", with its code and the command that helps.
    pub refusals: Box<[Refusal]>,
    /// Problems of a config, with their places.
    pub problems: Box<[Problem]>,
    /// The texts that the problems point into.
    pub sources: Box<[Source]>,
}

/// Failures that some caller handles instead of passing them on. Each has its own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Another process appended to the ledger since it was read.
    LedgerMoved,
    /// Another process is appending to the ledger.
    LedgerLocked,
    /// The ledger's state doesn't allow the event.
    Impossible,
    /// Another process is launching the same run.
    RunClaimed,
    LinkInStudy,
    RunNotFound,
    /// Several runs, where one was asked for.
    SeveralRuns,
    MetricUnknown,
}

impl FailureKind {
    fn code(self) -> &'static str {
        match self {
            Self::LedgerMoved => "ledger_moved",
            Self::LedgerLocked => "ledger_locked",
            Self::Impossible => "impossible",
            Self::RunClaimed => "run_claimed",
            Self::LinkInStudy => "link_in_study",
            Self::RunNotFound => "run_not_found",
            Self::SeveralRuns => "several_runs",
            Self::MetricUnknown => "metric_unknown",
        }
    }

    fn exit(self) -> Exit {
        match self {
            Self::LedgerMoved
            | Self::LedgerLocked
            | Self::Impossible
            | Self::RunClaimed
            | Self::LinkInStudy => Exit::Refused,
            Self::RunNotFound | Self::SeveralRuns | Self::MetricUnknown => Exit::Usage,
        }
    }
}

/// A verb's result.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure with this exit code.
    pub fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        let (hints, refusals, problems, sources) =
            (Vec::new(), Box::default(), Box::default(), Box::default());
        let cause = match exit {
            Exit::Storage => EndCause::Storage,
            Exit::Interrupted => EndCause::Interrupted,
            _ => EndCause::Other,
        };
        Self { exit, code, cause, kind: None, message: message.into(), hints, refusals, problems, sources }
    }

    /// A failure that callers recognise, with its exit code and code.
    pub(crate) fn with_kind(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind: Some(kind), ..Self::new(kind.exit(), kind.code(), message) }
    }

    pub(crate) fn is(&self, kind: FailureKind) -> bool {
        self.kind == Some(kind)
    }

    /// Whether a record was only kept out by a process that was adding another one.
    pub(crate) fn is_contention(&self) -> bool {
        self.is(FailureKind::LedgerMoved) || self.is(FailureKind::LedgerLocked)
    }

    /// Wrong usage.
    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, message)
    }

    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, code, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Refused by gates, for all these reasons.
    pub fn gates(what: &str, refusals: Vec<Refusal>) -> Self {
        let reasons =
            if refusals.len() == 1 { "1 reason".to_owned() } else { format!("{} reasons", refusals.len()) };
        Self {
            refusals: refusals.into(),
            ..Self::refused("gates", format!("{what} is not allowed ({reasons})"))
        }
    }

    /// A config that can't be used.
    pub fn config(problems: Vec<Problem>, sources: Vec<Source>) -> Self {
        let count = problems.len();
        let plural = if count == 1 { "" } else { "s" };
        let name = sources.first().map_or("the config", |source| source.name.as_str());
        let mut failure = Self::usage("config_invalid", format!("{name} has {count} problem{plural}"));
        failure.problems = problems.into();
        failure.sources = sources.into();
        failure
    }

    /// The failure as one JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        #[derive(Serialize)]
        struct Shown<'a> {
            schema: &'static str,
            code: &'a str,
            exit: u8,
            message: &'a str,
            hints: &'a [String],
            #[serde(skip_serializing_if = "<[Refusal]>::is_empty")]
            refusals: &'a [Refusal],
            #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
            problems: &'a [Problem],
        }
        let shown = Shown {
            schema: "rlx.error/1",
            code: self.code,
            exit: self.exit.code(),
            message: &self.message,
            hints: &self.hints,
            refusals: &self.refusals,
            problems: &self.problems,
        };
        serde_json::to_value(shown).expect("a failure is plain data")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        if let Some(link) = error.link() {
            let hint = format!("replace {} with a copy of its target", link.display());
            return Self::refused("symlink", describe(&error)).hint(hint);
        }
        let hint = if error.is_full() {
            Some("free some space and run the command again; saved data is intact")
        } else if error.is_read_only() {
            Some("the folder is not writable: check its permissions, or choose another with --root")
        } else if is_exhausted(&error.source) {
            Some(EXHAUSTED)
        } else {
            None
        };
        let failure = Self::new(Exit::Storage, "storage", describe(&error));
        hint.into_iter().fold(failure, Failure::hint)
    }
}

impl From<LearnError> for Failure {
    fn from(error: LearnError) -> Self {
        let message = describe(&error);
        match error {
            LearnError::Environment(_) => Self::usage("environment", message),
            LearnError::EnvironmentFailed { .. } => Self::new(Exit::RunFailed, "environment_failed", message),
            // What helps is known where the run is: see `next_step`.
            LearnError::Diverged { .. } => {
                Self { cause: EndCause::Diverged, ..Self::new(Exit::RunFailed, "diverged", message) }
            }
            LearnError::EnvironmentState(_)
            | LearnError::Network(_)
            | LearnError::Tensors(_)
            | LearnError::Moments(_)
            | LearnError::State { .. } => Self::usage("checkpoint_mismatch", message)
                .hint("the checkpoint belongs to another environment, network shape or version"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = describe(&error);
        match error {
            StoreError::Fs(error) => error.into(),
            StoreError::NoProject { .. } => {
                Self::usage("no_project", message).hint("rlx init demo && cd demo")
            }
            StoreError::NoSuchRun { .. } | StoreError::NotARun { .. } => {
                Self::with_kind(FailureKind::RunNotFound, message).hint("rlx ls")
            }
            StoreError::NewerFormat { .. } => {
                Self::usage("newer_format", message).hint("update rlx, or use the version that wrote it")
            }
            StoreError::NotOfThisProject { .. } => Self::usage("not_of_this_project", message).hint("rlx ls"),
            StoreError::Ambiguous { .. } => {
                Self::usage("run_ambiguous", message).hint("use a longer prefix, or the folder of the run")
            }
            StoreError::AlreadyRunning { ref run, certain: true, .. } => {
                Self::refused("already_running", message).hint(format!("rlx tail {}", shell_word(run)))
            }
            StoreError::AlreadyRunning { .. } => Self::refused("already_running", message)
                .hint("if that process has ended, run the command again with --force"),
            StoreError::LedgerLocked { ref path, certain, .. } => {
                let hint = if certain {
                    "wait for that process to finish, then run the command again".to_owned()
                } else {
                    format!("if that process has ended: rm {}", shell_word(&path.display().to_string()))
                };
                Self::with_kind(FailureKind::LedgerLocked, message).hint(hint)
            }
            StoreError::TakenOver { .. } => Self::new(Exit::RunFailed, "taken_over", message),
            StoreError::NoSuchCheckpoint { .. } => Self::usage("checkpoint_not_found", message),
            StoreError::BadName { .. } | StoreError::BadRunName { .. } => Self::usage("bad_name", message),
            StoreError::RecordTooLong { .. } => Self::new(Exit::Bug, "record_too_long", message),
            StoreError::NotEnoughSpace { .. } => Self::new(Exit::Storage, "disk_full", message)
                .hint("free some space, or keep fewer checkpoints with --set checkpoint.keep=1"),
            StoreError::Damaged { .. } | StoreError::Poisoned { .. } | StoreError::NumbersUsedUp { .. } => {
                Self::new(Exit::Storage, "damaged", message)
            }
        }
    }
}

impl From<rlxp_launch::LaunchError> for Failure {
    fn from(error: rlxp_launch::LaunchError) -> Self {
        use rlxp_launch::LaunchError::{Control, Log, OwnProgram, Start, Thread};
        let source = match &error {
            OwnProgram(error) => &error.source,
            Thread(source) | Start { source, .. } | Control { source, .. } | Log { source, .. } => source,
        };
        let hint = is_exhausted(source).then_some(EXHAUSTED);
        let (exit, code) = match &error {
            Log { .. } => (Exit::Storage, "storage"),
            _ => (Exit::RunFailed, "launch"),
        };
        let failure = Self::new(exit, code, describe(&error));
        hint.into_iter().fold(failure, Failure::hint)
    }
}

const EXHAUSTED: &str = "close other programs, or raise the limit (ulimit -n for open files, ulimit -u for processes and threads)";

/// Whether the system has no file handle, thread or process left to give.
fn is_exhausted(error: &std::io::Error) -> bool {
    // Neither has a kind of its own: ENFILE and EMFILE, the same numbers on Linux and macOS.
    matches!(error.raw_os_error(), Some(23 | 24)) || error.kind() == std::io::ErrorKind::WouldBlock
}

/// An error with everything that caused it, in one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
