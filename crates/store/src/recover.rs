//! Preparing a resume: the record of a seed is restored to its state at a
//! checkpoint, so that training continues as if it had never stopped.
//!
//! Nothing is lost: everything after the checkpoint moves to `logs/`. After every step the folder is in a state from
//! which the recovery can be repeated, so a crash in the middle costs nothing.

use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use rlxp_types::Digest;

use crate::checkpoint::{BEST, Checkpoint, LATEST};
use crate::error::if_whole;
use crate::leftovers::remove_leftovers;
use crate::metrics::{MetricsPosition, digest_of_prefix};
use crate::numbers::next_free;
use crate::plain::list_plain;
use crate::{SeedFolder, StoreError};

/// The highest number of a recovery in the logs.
const HIGHEST: u64 = 999_999_999;

/// The longest tail of the metrics that is copied to the logs.
const MOST_COPIED: u64 = 256 << 20;

/// What a recovery found and did.
#[derive(Debug)]
pub struct Recovery {
    /// The checkpoint to continue from; `None` means from the start.
    pub checkpoint: Option<Checkpoint>,
    /// The end of the metrics now, for [`SeedFolder::metrics_writer`].
    pub metrics: MetricsPosition,
    /// Where things were moved to.
    pub superseded: Vec<PathBuf>,
    /// Remarks for the user: damaged checkpoints, missing files.
    pub notes: Vec<String>,
}

/// Restores `folder` to its newest usable checkpoint, or to that of `step`.
///
/// Usable means: every file fits the manifest, and the metrics up to the recorded length have the recorded digest.
/// Only the process that has claimed the run may call it. The metrics file is replaced by a new one, so lines of a
/// writer that was taken for dead can't reach it.
pub fn recover(folder: &SeedFolder, step: Option<u64>) -> Result<Recovery, StoreError> {
    let mut work = Work { folder, number: None, superseded: Vec::new(), notes: Vec::new() };
    work.remove_leftovers()?;
    let checkpoint = work.choose(step)?;
    let (step, metrics) = checkpoint
        .as_ref()
        .map_or((None, MetricsPosition::start()), |found| (Some(found.step), found.manifest.metrics));
    work.cut_metrics(&metrics)?;
    work.move_evaluations(step)?;
    work.set_links(checkpoint.as_ref())?;
    work.move_checkpoints(step)?;
    if let Some(step) = step {
        folder.checkpoints().remove_interrupts(step)?;
    }
    Ok(Recovery { checkpoint, metrics, superseded: work.superseded, notes: work.notes })
}

struct Work<'a> {
    folder: &'a SeedFolder,
    /// The number of this recovery in `logs/`, once it moves something.
    number: Option<u64>,
    superseded: Vec<PathBuf>,
    notes: Vec<String>,
}

impl Work<'_> {
    /// Removes what a killed writer left unfinished. Another process may be writing an evaluation or a tag just now,
    /// so there only files of dead processes are removed.
    fn remove_leftovers(&self) -> Result<(), StoreError> {
        let folder = self.folder;
        folder.checkpoints().tidy()?;
        for place in [folder.path().to_owned(), folder.eval_dir(), folder.logs_dir()] {
            folder.fs.create_dir_all(&place)?;
            remove_leftovers(folder.fs.as_ref(), folder.machine.as_ref(), &place, |name| {
                name.ends_with("-metrics.jsonl")
            })?;
        }
        Ok(())
    }

    /// The checkpoint to continue from. A requested step must be usable.
    fn choose(&mut self, wanted: Option<u64>) -> Result<Option<Checkpoint>, StoreError> {
        let store = self.folder.checkpoints();
        if let Some(step) = wanted {
            let checkpoint = store.load(step)?;
            self.check_metrics(&checkpoint)?;
            return Ok(Some(checkpoint));
        }
        for step in store.steps()?.into_iter().rev() {
            let usable = store.load(step).and_then(|checkpoint| {
                self.check_metrics(&checkpoint)?;
                Ok(checkpoint)
            });
            match usable {
                Ok(checkpoint) => return Ok(Some(checkpoint)),
                // Neither a failing disk nor a newer version is a reason to set a
                // checkpoint aside.
                Err(error @ (StoreError::Fs(_) | StoreError::NewerFormat { .. })) => return Err(error),
                Err(error) => self.notes.push(format!("checkpoint of step {step} is not used: {error}")),
            }
        }
        Ok(None)
    }

    fn check_metrics(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let path = self.folder.metrics_path();
        let position = checkpoint.manifest.metrics;
        if position.length == 0 {
            return Ok(());
        }
        if self.folder.fs.metadata_if_any(&path)?.is_none() {
            return Err(StoreError::damaged(&path, "it is missing"));
        }
        let hasher = digest_of_prefix(self.folder.fs.as_ref(), &path, position.length)?;
        if Digest::from_bytes(*hasher.finalize().as_bytes()) != position.digest {
            let why = format!("its first {} bytes differ from what the checkpoint recorded", position.length);
            return Err(StoreError::damaged(&path, why));
        }
        Ok(())
    }

    /// Moves everything after `position` to the logs and replaces the file by the rest.
    fn cut_metrics(&mut self, position: &MetricsPosition) -> Result<(), StoreError> {
        let fs = self.folder.fs.as_ref();
        let path = self.folder.metrics_path();
        let length = fs.metadata_if_any(&path)?.map_or(0, |meta| meta.length);
        if length - position.length.min(length) > MOST_COPIED {
            self.keep_whole()?;
        } else if length > position.length {
            self.keep_tail(position.length, length)?;
        }
        let temporary = fs.temporary_beside(&path);
        let mut file = fs.create_new(&temporary)?;
        fs.copy_range(&path, 0, position.length, file.as_mut())?;
        file.sync()?;
        fs.rename(&temporary, &path)?;
        Ok(fs.sync_dir(self.folder.path())?)
    }

    /// Keeps a file whose tail is too long to be copied, under a second name: it may be a hole that no disk has room
    /// for.
    fn keep_whole(&mut self) -> Result<(), StoreError> {
        let fs = self.folder.fs.as_ref();
        let number = self.number()?;
        let kept = self.log_path(number, ".whole.jsonl");
        fs.hard_link(&self.folder.metrics_path(), &kept)?;
        fs.sync_dir(&self.folder.logs_dir())?;
        self.notes.push(format!("the metrics were far too long; they were moved to {}", kept.display()));
        self.superseded.push(kept);
        Ok(())
    }

    fn keep_tail(&mut self, from: u64, to: u64) -> Result<(), StoreError> {
        let fs = self.folder.fs.as_ref();
        let path = self.folder.metrics_path();
        let number = self.number()?;
        // An interrupted recovery may have kept the same lines.
        let earlier = self.log_path(number.saturating_sub(1), ".jsonl");
        if self.same_tail(&earlier, from, to)? {
            return Ok(());
        }
        let kept = self.log_path(number, ".jsonl");
        let temporary = fs.temporary_beside(&kept);
        let mut file = fs.create_new(&temporary)?;
        fs.copy_range(&path, from, to - from, file.as_mut())?;
        file.sync()?;
        fs.rename(&temporary, &kept)?;
        fs.sync_dir(&self.folder.logs_dir())?;
        self.superseded.push(kept);
        Ok(())
    }

    fn same_tail(&self, earlier: &Path, from: u64, to: u64) -> Result<bool, StoreError> {
        const PIECE: usize = 1 << 20;
        let fs = self.folder.fs.as_ref();
        if fs.metadata_if_any(earlier)?.is_none_or(|meta| meta.length != to - from) {
            return Ok(false);
        }
        let path = self.folder.metrics_path();
        let mut at = 0;
        while at < to - from {
            let limit = ((to - from - at) as usize).min(PIECE);
            let kept = fs.read_at(earlier, at, limit)?;
            if kept.is_empty() || kept != fs.read_at(&path, from + at, limit)? {
                return Ok(false);
            }
            at += kept.len() as u64;
        }
        Ok(true)
    }

    /// Moves evaluations of steps after `step` to the logs.
    fn move_evaluations(&mut self, step: Option<u64>) -> Result<(), StoreError> {
        for evaluation in self.folder.evaluations()? {
            if let Err(why) = &evaluation.content {
                self.notes.push(format!("evaluation {} can't be read: {why}", evaluation.name));
            }
            let later = match (evaluation.step(), step) {
                (_, None) => true,
                (Some(evaluated), Some(step)) => evaluated > step,
                (None, Some(_)) => false,
            };
            if later {
                let name = format!("{}.json", evaluation.name);
                self.set_aside(&self.folder.eval_dir().join(&name), "eval", &name)?;
            }
        }
        Ok(())
    }

    /// Moves every checkpoint after `step` to the logs: it is damaged, or was not wanted, and would be taken for the
    /// newest the next time. Damaged ones before it are moved too.
    fn move_checkpoints(&mut self, step: Option<u64>) -> Result<(), StoreError> {
        let store = self.folder.checkpoints();
        for other in store.steps()? {
            if step.is_none_or(|step| other > step) || if_whole(store.load(other))?.is_none() {
                self.set_aside(&store.step_path(other), "checkpoints", &format!("step_{other}"))?;
            }
        }
        Ok(())
    }

    fn set_links(&mut self, checkpoint: Option<&Checkpoint>) -> Result<(), StoreError> {
        let store = self.folder.checkpoints();
        let Some(checkpoint) = checkpoint else {
            store.remove_link(LATEST)?;
            return store.remove_link(BEST);
        };
        store.set_link(LATEST, checkpoint.step)?;
        let Some(best) = checkpoint.manifest.best else { return store.remove_link(BEST) };
        if best.step <= checkpoint.step && if_whole(store.load(best.step))?.is_some() {
            return store.set_link(BEST, best.step);
        }
        self.notes.push(format!("the best checkpoint, of step {}, no longer exists", best.step));
        store.remove_link(BEST)
    }

    /// Moves a file or folder to `logs/superseded_<k>/<what>/<name>`.
    fn set_aside(&mut self, path: &Path, what: &str, name: &str) -> Result<(), StoreError> {
        let number = self.number()?;
        let fs = self.folder.fs.as_ref();
        let place = self.log_path(number, "").join(what);
        fs.create_dir_all(&place)?;
        let target = place.join(name);
        fs.rename_new(path, &target)?;
        // The new location first: between the two syncs it may be in both, but never in neither.
        fs.sync_dir(&place)?;
        if let Some(old) = path.parent() {
            fs.sync_dir(old)?;
        }
        self.superseded.push(target);
        Ok(())
    }

    fn log_path(&self, number: u64, end: &str) -> PathBuf {
        self.folder.logs_dir().join(format!("superseded_{number}{end}"))
    }

    /// The number of this recovery, which no earlier one has in the logs.
    fn number(&mut self) -> Result<u64, StoreError> {
        if let Some(number) = self.number {
            return Ok(number);
        }
        let entries = list_plain(self.folder.fs.as_ref(), &self.folder.logs_dir())?;
        let used = entries.iter().filter_map(|entry| {
            entry.name.strip_prefix("superseded_")?.split('.').next()?.parse::<u64>().ok()
        });
        let number = next_free(&used.collect(), HIGHEST);
        self.number = Some(number);
        Ok(number)
    }
}
