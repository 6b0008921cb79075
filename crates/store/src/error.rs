//! What can go wrong with the record of runs.

use std::path::{Path, PathBuf};

use rlxp_fs::FsError;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A file exists but is invalid.
    #[error("{path} is damaged: {why}", path = path.display())]
    Damaged {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file in a format that only a newer version knows.
    #[error(
        "{path} was written by a newer version of rlx: its schema is {schema}, but this version supports \
         up to {known}",
        path = path.display()
    )]
    NewerFormat {
        /// Which file.
        path: PathBuf,
        /// Its format.
        schema: String,
        /// The newest format that is known here.
        known: String,
    },
    /// A run's folder with a name that means something else in a command.
    #[error("the name of {path} starts with `-` or `@`: rename the folder", path = path.display())]
    BadRunName {
        /// The run's folder.
        path: PathBuf,
    },
    /// A run that is not one of the project's own.
    #[error("{path} is not a run of this project, whose runs are in {runs}", path = path.display(), runs = runs.display())]
    NotOfThisProject {
        /// The run's folder.
        path: PathBuf,
        /// The project's folder of runs.
        runs: PathBuf,
    },
    /// No folder with `runs/` in it was found.
    #[error("no project found: neither {from} nor a folder above it has `runs/`", from = from.display())]
    NoProject {
        /// Where the search began.
        from: PathBuf,
    },
    /// The folder is not a run.
    #[error("{path} is not a run: it has no metadata.json", path = path.display())]
    NotARun {
        /// Which folder.
        path: PathBuf,
    },
    /// No run has this name, id or prefix.
    #[error("no run named {text:?}{}", nearest_text(nearest))]
    NoSuchRun {
        /// The requested name.
        text: String,
        /// Names that are close to it, nearest first.
        nearest: Vec<String>,
    },
    /// A prefix matches several runs.
    #[error("{text:?} matches several runs: {}", candidates.join(", "))]
    Ambiguous {
        /// The requested name.
        text: String,
        /// The runs that it matches.
        candidates: Vec<String>,
    },
    /// Another process writes the run, or may be writing it.
    #[error(
        "run {run} {} {}",
        if *certain { "is being written by" } else { "may still be written by" },
        if *pid == 0 { "an unknown process".to_owned() } else { format!("process {pid} on {host}") }
    )]
    AlreadyRunning {
        /// Which run.
        run: String,
        /// Where the writer runs.
        host: String,
        /// Its process number.
        pid: u32,
        /// Whether it is known to be alive.
        certain: bool,
    },
    /// A folder of numbered files holds the highest possible number.
    #[error("{path}: no numbers are left: {highest} is the highest", path = path.display())]
    NumbersUsedUp {
        /// The folder.
        path: PathBuf,
        /// The highest number.
        highest: u64,
    },
    /// Another process writes the ledger, or may be writing it.
    #[error(
        "{path} {} process {pid} on {host}",
        if *certain { "is held by" } else { "may still be held by" },
        path = path.display()
    )]
    LedgerLocked {
        /// The lock.
        path: PathBuf,
        /// Where its holder runs.
        host: String,
        /// Its process number.
        pid: u32,
        /// Whether it is known to be alive.
        certain: bool,
    },
    /// Another process has taken over the run.
    #[error("attempt {attempt} on {path} has been taken over by another process", path = path.display())]
    TakenOver {
        /// The run's folder or the file that was replaced.
        path: PathBuf,
        /// The attempt that lost its claim, 0 when the file shows it.
        attempt: u64,
    },
    /// An earlier write to this file failed, so nothing more is accepted.
    #[error("can't write {path}: an earlier write to it failed", path = path.display())]
    Poisoned {
        /// Which file.
        path: PathBuf,
    },
    /// The checkpoint is not there.
    #[error("no checkpoint of step {step} in {path}", path = path.display())]
    NoSuchCheckpoint {
        /// The folder of checkpoints.
        path: PathBuf,
        /// The step.
        step: u64,
    },
    /// A name that can't be the name of a file of a run.
    #[error("{name:?} can't be a file name of a run")]
    BadName {
        /// The name.
        name: String,
    },
    /// A record that is too long to be read back.
    #[error("a record of {length} bytes exceeds the limit of {limit}")]
    RecordTooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The disk is too full for what is planned.
    #[error("{path} has {available} bytes free, but the run needs about {needed}", path = path.display())]
    NotEnoughSpace {
        /// Where the run would be.
        path: PathBuf,
        /// Bytes that the run is likely to need.
        needed: u64,
        /// Bytes that are free.
        available: u64,
    },
}

impl StoreError {
    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        StoreError::Damaged { path: path.to_owned(), why: why.into() }
    }

    /// Whether the disk or quota is full.
    pub fn is_full(&self) -> bool {
        match self {
            StoreError::Fs(error) => error.is_full(),
            StoreError::NotEnoughSpace { .. } => true,
            _ => false,
        }
    }

    /// Whether storage itself is at fault, so that the exit code says so.
    pub fn is_storage(&self) -> bool {
        matches!(
            self,
            StoreError::Fs(_)
                | StoreError::Damaged { .. }
                | StoreError::Poisoned { .. }
                | StoreError::NotEnoughSpace { .. }
        )
    }
}

/// Distinguishes "incomplete" from "can't be read right now": only the first
/// may be acted upon, or a temporary read error would cost a good checkpoint.
pub(crate) fn if_whole<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Damaged { .. } | StoreError::NoSuchCheckpoint { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn nearest_text(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; similar names: {}", nearest.join(", ")) }
}
