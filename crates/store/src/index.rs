//! The derived index: a cache of one row per run, so that listing ten
//! thousand runs reads no more than a folder and two stamps per run.
//!
//! Run folders are the truth. The index may be deleted, damaged, or
//! unwritable at any time: it is then rebuilt, or kept in memory only, and the
//! answers are the same. Each row carries a digest, so that a flipped bit in
//! the file can't become an answer.

mod database;
mod row;

use std::path::PathBuf;

use rlxp_fs::{FsExt, clock};
use rlxp_types::RunStatus;

use crate::{Project, Run, StoreError};
use database::Database;
pub use row::RunRow;

/// Changes younger than this may share a time stamp with a later change, so a
/// row made that soon after one is not trusted the next time.
const STAMP_DOUBT_NANOSECONDS: i64 = 2_000_000_000;

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
}

impl Index {
    /// Opens `runs/.index.sqlite`. What can't be opened is made anew; where
    /// that fails too, as in a read-only folder, the index lives in memory.
    pub fn open(project: &Project) -> Self {
        let database = Database::open(&Self::path(project));
        Self { project: project.clone(), database }
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
        let project = &self.project;
        // Looking at the folders and reading the cache take about as long.
        let (stamps, mut cached) = std::thread::scope(|scope| {
            let look = || names.iter().map(|name| Stamp::of(&project.run(name))).collect::<Vec<_>>();
            let looking = scope.spawn(look);
            let cached = self.database.load();
            (looking.join().unwrap_or_else(|_| look()), cached)
        });
        let mut rows = Vec::with_capacity(names.len());
        let mut fresh = Vec::new();
        for (name, stamp) in names.iter().zip(stamps) {
            match cached.remove(name) {
                Some((present, row)) if present == stamp.text && stamp.is_there => rows.push(row),
                _ => {
                    let row = RunRow::read(&self.project.run(name));
                    if stamp.is_sure() && is_settled(&row) {
                        fresh.push((stamp.text, row.clone()));
                    }
                    rows.push(row);
                }
            }
        }
        // What is left in `cached` has no folder any more.
        self.database.store(&fresh, cached.into_keys());
        Ok(rows)
    }
}

/// Whether nothing can change about a run without its stamp changing.
fn is_settled(row: &RunRow) -> bool {
    row.problem.is_none()
        && matches!(
            row.status,
            RunStatus::Completed | RunStatus::Failed | RunStatus::Interrupted | RunStatus::Created
        )
}

/// What changes when a run's description or attempts change: time, length and
/// number of the one, time of the other.
struct Stamp {
    text: StampText,
    is_there: bool,
    taken: i64,
}

/// A stamp as it is compared and stored.
type StampText = [i64; 4];

impl Stamp {
    /// Taken before the run is read: a change in between makes it differ.
    fn of(run: &Run) -> Self {
        let taken = i64::try_from(clock::wall().as_nanos()).unwrap_or(i64::MAX);
        let look = |path: PathBuf| run.fs().metadata_if_any(&path).ok().flatten();
        let metadata = look(run.metadata_path());
        let attempts = look(run.path().join("attempts"));
        let (Some(metadata), Some(attempts)) = (metadata, attempts) else {
            return Self { text: StampText::default(), is_there: false, taken };
        };
        let (length, inode) = (metadata.length.cast_signed(), metadata.inode.cast_signed());
        let text = [metadata.modified, attempts.modified, length, inode];
        Self { text, is_there: true, taken }
    }

    /// Whether a later change would give another stamp.
    fn is_sure(&self) -> bool {
        let newest = self.text[0].max(self.text[1]);
        self.is_there && self.taken.saturating_sub(newest) > STAMP_DOUBT_NANOSECONDS
    }
}
