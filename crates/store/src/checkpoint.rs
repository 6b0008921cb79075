//! Checkpoints: complete or absent, and the last good one is kept.
//!
//! A checkpoint is built in a temporary folder, its files synced, its manifest written last, then renamed to
//! `step_<n>`. `latest` and `best` are relative symlinks to such folders and are replaced atomically; they are
//! shortcuts for people, while the valid manifests are the source of truth.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::{Entry, Fs, FsExt, Kind, is_temporary};

use crate::StoreError;
use crate::error::if_whole;
use crate::manifest::{
    CheckpointFacts, FileFacts, MANIFEST_FILE, MODEL_FILE, Manifest, STATE_FILE, SaveReason,
};
use crate::plain::list_but_for;

/// The name of a replaced folder until its successor is in place.
const REPLACED_PREFIX: &str = ".replaced-";

/// The largest file of a checkpoint that is read.
const FILE_CAP: u64 = 1 << 30;
/// The largest manifest that is compared.
const MANIFEST_CAP: u64 = 16 << 20;

/// The link to the newest checkpoint.
pub const LATEST: &str = "latest";
/// The link to the checkpoint with the best evaluation.
pub const BEST: &str = "best";

/// A folder of checkpoints.
#[derive(Clone)]
pub struct CheckpointStore {
    fs: Arc<dyn Fs>,
    path: PathBuf,
}

/// A checkpoint, read and verified.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Training steps done.
    pub step: u64,
    /// Its manifest.
    pub manifest: Manifest,
    /// The bytes of `model.safetensors`.
    pub model: Vec<u8>,
    /// The bytes of `state.safetensors`.
    pub state: Vec<u8>,
}

/// A checkpoint that can't be used.
#[derive(Clone, Debug)]
pub struct DamagedCheckpoint {
    /// Its step.
    pub step: u64,
    /// What is wrong with it.
    pub why: String,
}

/// The newest valid checkpoint, and newer damaged ones.
#[derive(Clone, Debug, Default)]
pub struct NewestCheckpoint {
    /// The newest valid one.
    pub checkpoint: Option<Checkpoint>,
    /// Newer ones that were skipped.
    pub damaged: Vec<DamagedCheckpoint>,
}

impl CheckpointStore {
    /// The checkpoints in the folder `path`.
    pub fn new(fs: Arc<dyn Fs>, path: &Path) -> Self {
        Self { fs, path: path.to_owned() }
    }

    /// The folder of checkpoints.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the checkpoint of `step`.
    pub fn step_path(&self, step: u64) -> PathBuf {
        self.path.join(format!("step_{step}"))
    }

    /// The entries of the folder; the only symlinks are `latest` and `best`.
    fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        list_but_for(self.fs.as_ref(), &self.path, |name| name == LATEST || name == BEST)
    }

    /// The steps that have a folder, ascending, valid or not.
    pub fn steps(&self) -> Result<Vec<u64>, StoreError> {
        let entries = self.entries()?;
        let mut steps: Vec<u64> = entries
            .iter()
            .filter(|entry| entry.kind == Kind::Folder)
            .filter_map(|entry| step_of(&entry.name))
            .collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Saves a checkpoint, points `latest` at it and removes earlier checkpoints of interrupts. After it returns, the
    /// checkpoint survives a power loss; after an error the earlier ones do.
    pub fn save(
        &self,
        step: u64,
        model: &[u8],
        state: &[u8],
        facts: &CheckpointFacts,
    ) -> Result<(), StoreError> {
        let manifest = Manifest::new(step, model, state, facts);
        let fs = self.fs.as_ref();
        // The same bytes may already exist, as when training stops at a step that is also scheduled: then only the
        // reason differs.
        let present = if_whole(self.load(step))?;
        if present.is_some_and(|present| present.model == model && present.state == state) {
            fs.write_atomic(&self.step_path(step).join(MANIFEST_FILE), &manifest.to_bytes())?;
        } else {
            self.build(step, model, state, &manifest)?;
        }
        self.set_link(LATEST, step)?;
        self.remove_interrupts(step)
    }

    fn build(&self, step: u64, model: &[u8], state: &[u8], manifest: &Manifest) -> Result<(), StoreError> {
        let fs = self.fs.as_ref();
        let place = self.step_path(step);
        let temporary = fs.temporary_beside(&place);
        let fill = || {
            fs.create_dir(&temporary)?;
            fs.write_new(&temporary.join(MODEL_FILE), model)?;
            fs.write_new(&temporary.join(STATE_FILE), state)?;
            fs.write_new(&temporary.join(MANIFEST_FILE), &manifest.to_bytes())?;
            fs.sync_dir(&temporary)
        };
        let put = fill().and_then(|()| match fs.rename_new(&temporary, &place) {
            Err(error) if error.is_already_there() => self.replace(&temporary, &place),
            result => result,
        });
        if let Err(error) = put {
            drop(fs.remove_dir_all(&temporary));
            return Err(error.into());
        }
        Ok(fs.sync_dir(&self.path)?)
    }

    /// Replaces an existing folder. Between the two renames the old one has a name that [`CheckpointStore::tidy`]
    /// recognises.
    fn replace(&self, temporary: &Path, place: &Path) -> rlxp_fs::Result<()> {
        let fs = self.fs.as_ref();
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let aside = self.path.join(format!("{REPLACED_PREFIX}{name}"));
        fs.remove_dir_all(&aside)?;
        fs.rename_new(place, &aside)?;
        if let Err(error) = fs.rename_new(temporary, place) {
            drop(fs.rename_new(&aside, place));
            return Err(error);
        }
        fs.sync_dir(&self.path)?;
        fs.remove_dir_all(&aside)
    }

    /// Removes what interrupted saves have left, and restores a checkpoint whose replacement did not arrive. Only the
    /// run's writer may call it.
    pub fn tidy(&self) -> Result<(), StoreError> {
        for entry in self.entries()? {
            let path = self.path.join(&entry.name);
            if let Some(original) = entry.name.strip_prefix(REPLACED_PREFIX) {
                let original = self.path.join(original);
                if self.fs.metadata_if_any(&original)?.is_none() {
                    self.fs.rename_new(&path, &original)?;
                    self.fs.sync_dir(&self.path)?;
                    continue;
                }
            } else if !is_temporary(&entry.name) {
                continue;
            }
            if entry.kind == Kind::Folder {
                self.fs.remove_dir_all(&path)?;
            } else {
                self.fs.remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// The manifest of `step`, verified by its own digest; the files that it
    /// describes are not read.
    pub fn manifest(&self, step: u64) -> Result<Manifest, StoreError> {
        let folder = self.step_path(step);
        match Manifest::read(self.fs.as_ref(), &folder.join(MANIFEST_FILE), step) {
            Err(StoreError::Fs(error)) if error.is_not_found() => {
                if self.fs.is_folder(&folder)? {
                    Err(StoreError::damaged(&folder, "it has no manifest"))
                } else {
                    Err(StoreError::NoSuchCheckpoint { path: self.path.clone(), step })
                }
            }
            result => result,
        }
    }

    /// Reads a checkpoint and verifies sizes and digests.
    pub fn load(&self, step: u64) -> Result<Checkpoint, StoreError> {
        let manifest = self.manifest(step)?;
        let model = self.load_file(step, MODEL_FILE, &manifest.model)?;
        let state = self.load_file(step, STATE_FILE, &manifest.state)?;
        Ok(Checkpoint { step, manifest, model, state })
    }

    /// Only the model, for evaluation: verified like [`CheckpointStore::load`].
    pub fn load_model(&self, step: u64) -> Result<(Manifest, Vec<u8>), StoreError> {
        let manifest = self.manifest(step)?;
        let model = self.load_file(step, MODEL_FILE, &manifest.model)?;
        Ok((manifest, model))
    }

    fn load_file(&self, step: u64, name: &str, facts: &FileFacts) -> Result<Vec<u8>, StoreError> {
        let path = self.step_path(step).join(name);
        let bytes = match self.fs.metadata_if_any(&path)? {
            None => return Err(StoreError::damaged(&path, "it is missing")),
            Some(meta) if meta.kind == Kind::Other => {
                return Err(StoreError::damaged(&path, "it is not a plain file"));
            }
            Some(meta) if meta.length != facts.size => {
                let why = format!("it has {} bytes, but the manifest says {}", meta.length, facts.size);
                return Err(StoreError::damaged(&path, why));
            }
            Some(meta) if meta.length > FILE_CAP => {
                let why = format!("it has {} bytes, more than the {FILE_CAP} that rlx reads", meta.length);
                return Err(StoreError::damaged(&path, why));
            }
            Some(_) => self.fs.read(&path, facts.size)?,
        };
        if FileFacts::from_bytes(&bytes) != *facts {
            return Err(StoreError::damaged(&path, "its digest differs from the one in the manifest"));
        }
        Ok(bytes)
    }

    /// The checkpoint with the highest step whose manifest is valid and whose
    /// files match it; newer damaged ones are reported and skipped.
    pub fn newest_valid(&self) -> Result<NewestCheckpoint, StoreError> {
        let mut newest = NewestCheckpoint::default();
        for step in self.steps()?.into_iter().rev() {
            match self.load(step) {
                Ok(checkpoint) => {
                    newest.checkpoint = Some(checkpoint);
                    break;
                }
                Err(error) => newest.damaged.push(DamagedCheckpoint { step, why: error.to_string() }),
            }
        }
        Ok(newest)
    }

    /// Points `latest` or `best` at the checkpoint of `step`.
    pub fn set_link(&self, name: &str, step: u64) -> Result<(), StoreError> {
        let is_copy = self.fs.is_folder(&self.path.join(name))?;
        if self.link(name)? == Some(step) && !is_copy {
            return Ok(());
        }
        if is_copy {
            self.remove_copy(name)?;
        }
        let target = PathBuf::from(format!("step_{step}"));
        Ok(self.fs.replace_symlink(&target, &self.path.join(name))?)
    }

    /// Removes a folder in place of `latest` or `best` if it is a copy of an existing checkpoint: tools that follow
    /// links create such copies.
    fn remove_copy(&self, name: &str) -> Result<(), StoreError> {
        let place = self.path.join(name);
        if self.link(name)?.is_none() {
            let why = "it should be a symlink to a checkpoint, but is a folder that is not a copy of one";
            return Err(StoreError::damaged(&place, why));
        }
        let temporary = self.fs.temporary_beside(&place);
        self.fs.rename_new(&place, &temporary)?;
        Ok(self.fs.remove_dir_all(&temporary)?)
    }

    /// The step of the checkpoint that the folder `name` is a copy of.
    fn copied_step(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let bytes = match self.fs.read(&self.path.join(name).join(MANIFEST_FILE), MANIFEST_CAP) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for step in self.steps()? {
            let own = self.fs.read(&self.step_path(step).join(MANIFEST_FILE), MANIFEST_CAP);
            if own.is_ok_and(|own| own == bytes) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Removes `latest` or `best`.
    pub fn remove_link(&self, name: &str) -> Result<(), StoreError> {
        if self.fs.is_folder(&self.path.join(name))? {
            return self.remove_copy(name);
        }
        match self.fs.remove_file(&self.path.join(name)) {
            Ok(()) => Ok(self.fs.sync_dir(&self.path)?),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The step that a link points at; `None` if there is no such link or it points elsewhere. A folder in its place
    /// counts if it is a copy of a checkpoint, as in a run that was copied by a tool that follows links.
    pub fn link(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let link = self.path.join(name);
        match self.fs.metadata_if_any(&link)? {
            Some(meta) if meta.kind == Kind::Link => Ok(self.fs.read_link(&link)?.to_str().and_then(step_of)),
            Some(meta) if meta.kind == Kind::Folder => self.copied_step(name),
            _ => Ok(None),
        }
    }

    /// The step of `latest`.
    pub fn latest_link(&self) -> Result<Option<u64>, StoreError> {
        self.link(LATEST)
    }

    /// The step of `best`.
    pub fn best_link(&self) -> Result<Option<u64>, StoreError> {
        self.link(BEST)
    }

    /// Keeps the newest `keep` checkpoints (at least one), those in `protect`
    /// and those that a link points at; returns the steps that were removed.
    ///
    /// Checkpoints of interrupts are neither counted nor removed: otherwise a
    /// run that was stopped often would end with different checkpoints than one
    /// that was not. Call it after [`crate::recover()`] too: the last writer
    /// may have been killed between a save and this.
    pub fn prune(&self, keep: usize, protect: &[u64]) -> Result<Vec<u64>, StoreError> {
        let mut steps = self.steps()?;
        if steps.len() <= keep {
            return Ok(Vec::new());
        }
        let mut interrupts = Vec::new();
        for step in &steps {
            if self.is_interrupt(*step)? {
                interrupts.push(*step);
            }
        }
        steps.retain(|step| !interrupts.contains(step));
        let old = steps.len().saturating_sub(keep.max(1));
        let linked = [self.latest_link()?, self.best_link()?];
        let mut removed = Vec::new();
        for step in &steps[..old] {
            if !protect.contains(step) && !linked.contains(&Some(*step)) {
                self.remove(*step)?;
                removed.push(*step);
            }
        }
        Ok(removed)
    }

    fn is_interrupt(&self, step: u64) -> Result<bool, StoreError> {
        let manifest = if_whole(self.manifest(step))?;
        Ok(manifest.is_some_and(|manifest| manifest.reason == SaveReason::Interrupt))
    }

    /// Removes a checkpoint: first its name, then its files, so that a partly removed one never looks valid.
    pub fn remove(&self, step: u64) -> Result<(), StoreError> {
        let place = self.step_path(step);
        let temporary = self.fs.temporary_beside(&place);
        self.fs.rename_new(&place, &temporary)?;
        self.fs.sync_dir(&self.path)?;
        Ok(self.fs.remove_dir_all(&temporary)?)
    }

    /// Removes the checkpoints of interrupts before `step`; a damaged one is left for `recover`, which keeps it in
    /// the logs.
    pub(crate) fn remove_interrupts(&self, step: u64) -> Result<(), StoreError> {
        let best = self.best_link()?;
        for earlier in self.steps()?.into_iter().filter(|earlier| *earlier < step) {
            if best != Some(earlier) && self.is_interrupt(earlier)? {
                self.remove(earlier)?;
            }
        }
        Ok(())
    }
}

fn step_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("step_")?;
    let step = digits.parse().ok()?;
    // rlx never creates names like `step_007` and `step_+7`.
    (format!("{step}") == digits).then_some(step)
}
