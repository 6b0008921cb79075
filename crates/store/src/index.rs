//! The derived index: a cache of one row per run, so that listing ten
//! thousand runs opens none of their files.
//!
//! Run folders are the truth. A row counts only while every file and folder
//! that it was read from is as it was ([`stamp`]). The index may be deleted,
//! damaged, or unwritable at any time: it is then rebuilt, or kept in memory
//! only, and the answers are the same. Each row carries a digest, so that a flipped bit in
//! the file can't become an answer.

mod database;
mod row;
mod stamp;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rlxp_fs::clock;
use rlxp_types::RunStatus;

use crate::{Project, StoreError};
use database::{Cached, Database};
pub use row::RunRow;
use stamp::Stamped;

/// From so many runs on, a second thread is worth starting.
const WORTH_A_THREAD: usize = 500;

/// Which runs to list; an empty filter lists all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this environment.
    pub env: Option<String>,
    /// Only runs of this algorithm.
    pub algo: Option<String>,
    /// Only runs that stand so.
    pub status: Option<RunStatus>,
    /// Only runs that have every one of these tags.
    pub tags: Vec<String>,
    /// Only runs whose name contains this.
    pub name: Option<String>,
}

impl RunFilter {
    /// Whether a row passes.
    pub fn accepts(&self, row: &RunRow) -> bool {
        let same = |wanted: &Option<String>, present: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(present))
        };
        same(&self.env, &row.env)
            && same(&self.algo, &row.algo)
            && self.status.is_none_or(|status| status == row.status)
            && self.tags.iter().all(|tag| row.tags.contains(tag))
            && self.name.as_ref().is_none_or(|part| row.name.contains(part))
    }
}

/// A cache of rows over a project's runs.
pub struct Index {
    project: Project,
    database: Database,
    /// How old the last change of a run must be for its row to be stored.
    doubt: Duration,
}

/// Changes younger than this may share a time with a later change: some file
/// systems keep times to the second, or to two.
const DOUBT: Duration = Duration::from_secs(2);

impl Index {
    /// Opens `runs/.index.sqlite`. What can't be opened is made anew; where
    /// that fails too, as in a read-only folder, the index lives in memory.
    pub fn open(project: &Project) -> Self {
        let database = Database::open(&Self::path(project));
        Self { project: project.clone(), database, doubt: DOUBT }
    }

    /// Stores rows of runs that last changed `age` ago, instead of two seconds:
    /// for file systems whose times are finer than that.
    pub fn trust_after(self, age: Duration) -> Self {
        Self { doubt: age, ..self }
    }

    /// Where the index of a project is.
    pub fn path(project: &Project) -> PathBuf {
        project.runs_dir().join(".index.sqlite")
    }

    /// The runs that pass the filter, sorted by name. A damaged run is listed
    /// with its problem and never hides another.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let mut rows = self.refresh()?;
        rows.retain(|row| filter.accepts(row));
        Ok(rows)
    }

    /// Brings the cache up to date and returns all rows.
    fn refresh(&self) -> Result<Vec<RunRow>, StoreError> {
        let names = self.project.run_names()?;
        let mut cached = self.database.load();
        let entries: Vec<(String, Option<Cached>)> = names
            .into_iter()
            .map(|name| {
                let present = cached.remove(&name);
                (name, present)
            })
            .collect();
        // What is left in `cached` has no folder any more.
        let gone = cached.into_keys();
        let found = rows(&self.project, entries, self.doubt);
        let stored = |(row, stamped): &(RunRow, Option<Stamped>)| Some((stamped.clone()?, row.clone()));
        let fresh: Vec<Cached> = found.iter().filter_map(stored).collect();
        self.database.store(&fresh, gone);
        Ok(found.into_iter().map(|(row, _)| row).collect())
    }
}

/// The rows of these runs, from the cache where it still holds; with a
/// stamp where a row is worth storing. Asking for thousands of stamps takes
/// long enough to share the work with a second thread, where there is one.
fn rows(
    project: &Project,
    mut entries: Vec<(String, Option<Cached>)>,
    doubt: Duration,
) -> Vec<(RunRow, Option<Stamped>)> {
    let work = |entries: Vec<(String, Option<Cached>)>| -> Vec<(RunRow, Option<Stamped>)> {
        entries.into_iter().map(|(name, cached)| row(project, &name, cached, doubt)).collect()
    };
    if entries.len() < WORTH_A_THREAD {
        return work(entries);
    }
    let second = Mutex::new(entries.split_off(entries.len() / 2));
    let take = || work(std::mem::take(&mut *second.lock().unwrap_or_else(PoisonError::into_inner)));
    std::thread::scope(|scope| {
        let helper = std::thread::Builder::new().spawn_scoped(scope, take);
        let mut rows = work(entries);
        match helper.map(|helper| helper.join()) {
            Ok(Ok(others)) => rows.extend(others),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No thread could be started: the work is still there.
            Err(_) => rows.extend(take()),
        }
        rows
    })
}

fn row(project: &Project, name: &str, cached: Option<Cached>, doubt: Duration) -> (RunRow, Option<Stamped>) {
    let run = project.run(name);
    if let Some((stamped, row)) = cached
        && stamped.holds(&run)
    {
        return (row, None);
    }
    let began = clock::wall();
    let (row, sources) = RunRow::read_with_sources(&run);
    let stamped =
        if is_settled(&row) { Stamped::since(began.saturating_sub(doubt), &run, sources) } else { None };
    (row, stamped)
}

/// Whether nothing can change about a run without a source of its row changing.
fn is_settled(row: &RunRow) -> bool {
    row.problem.is_none()
        && matches!(
            row.status,
            RunStatus::Completed | RunStatus::Failed | RunStatus::Interrupted | RunStatus::Created
        )
}
