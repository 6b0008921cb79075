//! One run's folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::{Fs, FsExt, Machine};

use crate::attempt;
use crate::seed_folder::SeedFolder;
use crate::{Metadata, StoreError};

/// Name of the resolved config in a run folder.
pub const CONFIG_FILE: &str = "config_snapshot.yaml";
/// Name of the description in a run folder.
pub const METADATA_FILE: &str = "metadata.json";

/// The longest config snapshot that is read.
const CONFIG_CAP: u64 = 4 << 20;

/// A run's folder. Nothing of it is held in memory: every call reads the disk.
#[derive(Clone)]
pub struct Run {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) machine: Arc<dyn Machine>,
    path: PathBuf,
}

impl Run {
    /// The run in the folder `path`, without reading it.
    pub fn at(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>, path: &Path) -> Self {
        Self { fs, machine, path: path.to_owned() }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's name, which is the run's name.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// The file system that the run is on.
    pub fn fs(&self) -> &Arc<dyn Fs> {
        &self.fs
    }

    /// Path of the resolved config.
    pub fn config_path(&self) -> PathBuf {
        self.path.join(CONFIG_FILE)
    }

    /// The resolved config's text.
    pub fn config_snapshot(&self) -> Result<String, StoreError> {
        Ok(self.fs.read_text(&self.config_path(), CONFIG_CAP)?)
    }

    /// Path of the description.
    pub fn metadata_path(&self) -> PathBuf {
        self.path.join(METADATA_FILE)
    }

    /// The description.
    pub fn metadata(&self) -> Result<Metadata, StoreError> {
        match Metadata::read(self.fs.as_ref(), &self.metadata_path()) {
            Err(StoreError::Fs(error)) if error.is_not_found() => {
                Err(StoreError::NotARun { path: self.path.clone() })
            }
            result => result,
        }
    }

    /// Rewrites the description; fields that `change` leaves alone stay.
    pub fn update_metadata(&self, change: impl FnOnce(&mut Metadata)) -> Result<Metadata, StoreError> {
        let mut metadata = self.metadata()?;
        let before = metadata.clone();
        change(&mut metadata);
        if metadata != before {
            self.fs.write_atomic(&self.metadata_path(), &metadata.to_bytes())?;
        }
        Ok(metadata)
    }

    /// Adds and removes tags; returns the tags that the run has then.
    pub fn set_tags(&self, add: &[String], remove: &[String]) -> Result<Vec<String>, StoreError> {
        let metadata = self.update_metadata(|metadata| {
            metadata.tags.extend(add.iter().cloned());
            metadata.tags.retain(|tag| !remove.contains(tag));
            metadata.tags.sort();
            metadata.tags.dedup();
        })?;
        Ok(metadata.tags)
    }

    /// Where each seed's record is: the run's own folder for a single seed,
    /// `seeds/<seed>` for several, in the order of the metadata.
    pub fn seed_folders(&self) -> Result<Vec<SeedFolder>, StoreError> {
        Ok(self.seed_folders_of(&self.metadata()?))
    }

    /// [`Run::seed_folders`] when the metadata is already at hand.
    pub fn seed_folders_of(&self, metadata: &Metadata) -> Vec<SeedFolder> {
        let folder = |path: &Path, seed: u64| {
            SeedFolder::at(Arc::clone(&self.fs), Arc::clone(&self.machine), path, seed)
        };
        match metadata.seeds.as_slice() {
            [] => vec![folder(&self.path, 0)],
            [seed] => vec![folder(&self.path, *seed)],
            several => several
                .iter()
                .map(|seed| folder(&self.path.join("seeds").join(seed.to_string()), *seed))
                .collect(),
        }
    }

    /// An error when a living or possibly living process writes the run.
    pub(crate) fn refuse_if_written(&self) -> Result<(), StoreError> {
        attempt::refuse_if_written(self)
    }
}
