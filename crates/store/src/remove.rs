//! Removing runs, and what killed processes have left in `runs/`.

use std::io::ErrorKind;

use rlxp_fs::{FsError, FsExt, Kind, clock, is_temporary, temporary_owner};

use crate::{Project, Run, StoreError, TakeOver};

/// Whether the run can't be claimed: `attempts/` is a symlink or a file, or the
/// disk has no room for a claim, which removing may be about to make.
fn is_no_place_for_claims(error: &FsError) -> bool {
    error.link().is_some() || error.source.kind() == ErrorKind::NotADirectory || error.is_full()
}

/// A temporary file or folder that could not be removed.
#[derive(Debug)]
pub struct Leftover {
    /// Its name in `runs/`.
    pub name: String,
    /// Why.
    pub error: StoreError,
}

impl Project {
    /// Whether `run` is one of this project's own: a folder right below `runs/`.
    pub fn owns(&self, run: &Run) -> bool {
        let real = |path: &std::path::Path| self.plain_fs().canonicalize(path).ok();
        match (run.path().parent(), self.runs_dir()) {
            (Some(parent), runs) if parent == runs => true,
            (Some(parent), runs) => real(parent).is_some_and(|parent| real(&runs) == Some(parent)),
            (None, _) => false,
        }
    }

    /// Removes a run of this project. It is claimed first, so that a run that is being written, or is resumed at the
    /// same moment, stays; then it is renamed, so that it exists completely or not at all; then its files are
    /// removed.
    pub fn remove_run(&self, run: &Run) -> Result<(), StoreError> {
        self.remove_run_from(run, TakeOver::WhenProvenGone)
    }

    /// The same, from a writer that may have to be displaced.
    pub fn remove_run_from(&self, run: &Run, take_over: TakeOver) -> Result<(), StoreError> {
        if !self.owns(run) {
            return Err(StoreError::NotOfThisProject { path: run.path().to_owned(), runs: self.runs_dir() });
        }
        let name = run.name();
        let run = self.run(&name);
        // Another folder in `runs/` is not rlx's to remove. A damaged description is still one.
        if self.fs().metadata_if_any(&run.metadata_path())?.is_none() {
            return Err(StoreError::NotARun { path: run.path().to_owned() });
        }
        match run.claim_to_remove(&clock::wall_text(), take_over) {
            // Where attempts can't be claimed, no process of rlx can be writing.
            Err(StoreError::Fs(error)) if run.is_folder()? && is_no_place_for_claims(&error) => {}
            claimed => claimed?,
        }
        let temporary = self.temporary(&format!("remove-{name}"));
        self.fs().rename_new(run.path(), &temporary)?;
        self.fs().sync_dir(&self.runs_dir())?;
        Ok(self.fs().remove_dir_all(&temporary)?)
    }

    /// Removes temporary files and folders in `runs/` whose maker was a process
    /// of this machine that is gone; others may still be at work. What can't be
    /// removed is returned and does no harm.
    pub fn sweep(&self) -> Vec<Leftover> {
        let Ok(entries) = self.fs().list(&self.runs_dir()) else { return Vec::new() };
        let mark = self.machine_mark();
        let mut left = Vec::new();
        for entry in entries {
            if !is_temporary(&entry.name) || entry.name.split('-').nth(3) != Some(&mark) {
                continue;
            }
            let owner = temporary_owner(&entry.name);
            if owner.is_none_or(|owner| self.machine().process_start(owner).is_some()) {
                continue;
            }
            let path = self.runs_dir().join(&entry.name);
            let removed = match entry.kind {
                Kind::Folder => self.fs().remove_dir_all(&path),
                _ => self.fs().remove_file(&path),
            };
            if let Err(error) = removed {
                left.push(Leftover { name: entry.name, error: error.into() });
            }
        }
        left
    }
}
