//! The derived index: a cache of one row per run, and of the values of its
//! config, so that listing ten thousand runs opens none of their files.
//!
//! Run folders are the truth. A row counts only while every file and folder
//! that it was read from is as it was ([`stamp`]). The index may be deleted,
//! damaged, or unwritable at any time: it is then rebuilt, or kept in memory
//! only, and the answers are the same. Each row carries a checksum, so that a flipped bit in
//! the file can't become an answer.

mod configs;
mod database;
mod order;
mod parallel;
mod row;
mod stamp;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use rlxp_fs::{Entry, Kind, clock};
use rlxp_types::RunStatus;

use crate::project::RunEntries;
use crate::run::METADATA_FILE;
use crate::{Project, StoreError};
pub use configs::ConfigReader;
use database::{Cached, Database, Fresh};
pub use order::{places_by_age, places_in_order};
use parallel::in_order;
pub use row::RunRow;
use row::forget_implausible;
use stamp::Stamped;
pub use values::ConfigValues;

/// Which runs to list; an empty filter lists all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this environment.
    pub env: Option<String>,
    /// Only runs of this algorithm.
    pub algo: Option<String>,
    /// Only runs with this status.
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
    /// Opens `runs/.index.sqlite`. A file that can't be opened is recreated;
    /// where that fails too, as in a read-only folder, the index is kept in
    /// memory.
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
        forget_implausible(&mut rows);
        rows.retain(|row| filter.accepts(row));
        Ok(rows)
    }

    /// Brings the cache up to date and returns all rows. Reading the cache and
    /// looking whether each row still holds take about as long, so a second
    /// thread begins with the one while this one is busy with the other.
    fn refresh(&self) -> Result<Vec<RunRow>, StoreError> {
        let RunEntries { named: entries, not_text } = self.project.run_entries()?;
        let (project, doubt) = (&self.project, self.doubt);
        let mut gone = Vec::new();
        let found: Vec<Found> = in_order(
            entries.len(),
            |take| gone = self.hand_out(entries, take),
            |(name, cached)| row(project, &name, cached, doubt),
        );
        let stored = |(row, stamped): &Found| Some((stamped.clone()?, row.clone()));
        let fresh: Vec<Fresh> = found.iter().filter_map(stored).collect();
        self.database.store(&fresh, &gone);
        let rows = found.into_iter().map(|(row, _)| row);
        Ok(rows.chain(not_text.into_iter().map(RunRow::not_text)).collect())
    }

    /// Hands out the runs with what the cache has of them, both in the order of
    /// their names; returns the names that have no folder any more.
    fn hand_out(&self, found: Vec<Entry>, take: &mut dyn FnMut((String, Option<Cached>))) -> Vec<String> {
        let mut gone = Vec::new();
        let mut runs = found.into_iter().peekable();
        // Nothing behind a link is read, not even to compare stamps.
        let mut hand_out = |entry: Entry, cached: Option<Cached>| {
            take((entry.name, cached.filter(|_| entry.kind == Kind::Folder)));
        };
        self.database.each(&mut |name, cached| {
            while let Some(entry) = runs.next_if(|entry| *entry.name < *name) {
                hand_out(entry, None);
            }
            match runs.next_if(|entry| entry.name == name) {
                Some(entry) => hand_out(entry, Some(cached)),
                None => gone.push(name.to_owned()),
            }
        });
        runs.for_each(|entry| hand_out(entry, None));
        gone
    }
}

/// A row, with the stamps of what it was read from where it is worth storing.
type Found = (RunRow, Option<Stamped>);

fn row(project: &Project, name: &str, cached: Option<Cached>, doubt: Duration) -> Found {
    let run = project.run(name);
    if let Some(cached) = cached
        && cached.stamped.holds(&run, METADATA_FILE)
        && let Some(row) = cached.row(name)
    {
        return (row, None);
    }
    let began = clock::wall();
    let (row, sources) = RunRow::read_with_sources(&run);
    let stamped = if sources.is_final && is_settled(&row) {
        Stamped::since(began.saturating_sub(doubt), &run, sources)
    } else {
        None
    };
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
