//! One run's folder.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::{Fs, FsExt, Kind, Machine};
use rlxp_types::Digest;

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
    /// The run in the folder `path`, without reading it. From the folder that
    /// holds it no symlink is followed: neither the run nor anything in it may
    /// be one.
    pub fn at(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>, path: &Path) -> Self {
        let fs = fs.rooted(path.parent().unwrap_or(path));
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

    /// The run's files: nothing outside is reached through it.
    pub fn fs(&self) -> &Arc<dyn Fs> {
        &self.fs
    }

    /// The run of that name in the same folder, without reading it; `None` for a name that leads elsewhere.
    pub fn sibling(&self, name: &str) -> Option<Self> {
        let mut parts = Path::new(name).components();
        let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        let (fs, machine) = (Arc::clone(&self.fs), Arc::clone(&self.machine));
        plain.then(|| Self { fs, machine, path: self.path.with_file_name(name) })
    }

    /// The run with this id in the same folder, whatever it is called now.
    pub fn sibling_with_id(&self, id: Digest) -> Option<Self> {
        let entries = self.fs.list(self.path.parent()?).ok()?;
        let runs = entries.into_iter().filter_map(|entry| self.sibling(&entry.name));
        // A folder that can't be read as a run is none, or not the one that is looked for.
        let mut same = runs.filter(|run| run.recorded().is_ok_and(|metadata| metadata.id == id));
        same.next()
    }

    /// Writes a picture or video into a folder of the run. Creates that folder, but not its parents: a run that was
    /// removed in the meantime must not come back.
    pub fn write_output(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        if let Some(folder) = path.parent() {
            match self.fs.create_dir(folder) {
                Err(error) if !error.is_already_there() => return Err(error.into()),
                _ => {}
            }
        }
        self.fs.remove_abandoned(self.machine.as_ref(), path);
        Ok(self.fs.write_atomic(path, bytes)?)
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

    /// The description, with the tags that the run has now.
    pub fn metadata(&self) -> Result<Metadata, StoreError> {
        let mut metadata = self.recorded()?;
        metadata.tags = self.labels_since(&metadata.tags).tags;
        Ok(metadata)
    }

    /// `metadata.json` as it is.
    pub(crate) fn recorded(&self) -> Result<Metadata, StoreError> {
        match Metadata::read(self.fs.as_ref(), &self.metadata_path()) {
            Err(StoreError::Fs(error)) if error.is_not_found() => {
                Err(StoreError::NotARun { path: self.path.clone() })
            }
            result => result,
        }
    }

    /// Rewrites the description; fields that `change` leaves alone stay. Only
    /// the holder of the run's claim calls it: two that rewrote it at once
    /// would lose one change.
    pub(crate) fn update_metadata(&self, change: impl FnOnce(&mut Metadata)) -> Result<(), StoreError> {
        let mut metadata = self.recorded()?;
        let before = metadata.clone();
        change(&mut metadata);
        if metadata != before {
            self.fs.write_atomic(&self.metadata_path(), &metadata.to_bytes())?;
        }
        Ok(())
    }

    /// Whether the run's folder exists and is not a link.
    pub(crate) fn is_folder(&self) -> Result<bool, StoreError> {
        Ok(self.fs.is_folder(&self.path)?)
    }

    /// The bytes of all its files.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        let mut total: u64 = 0;
        let mut open = vec![self.path.clone()];
        while let Some(folder) = open.pop() {
            for entry in self.fs.list_raw(&folder)? {
                let path = folder.join(&entry.name);
                match entry.kind {
                    Kind::Folder => open.push(path),
                    Kind::File => {
                        let meta = self.fs.metadata_if_any(&path)?;
                        total = total.saturating_add(meta.map_or(0, |meta| meta.length));
                    }
                    Kind::Link | Kind::Other => {}
                }
            }
        }
        Ok(total)
    }

    /// Where each seed's record is: the run's own folder for a single seed,
    /// `seeds/<seed>` for several, in the order of the metadata.
    pub fn seed_folders(&self) -> Result<Vec<SeedFolder>, StoreError> {
        Ok(self.seed_folders_of(&self.metadata()?))
    }

    /// Like [`Run::seed_folders`], with metadata that was already read.
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
}
