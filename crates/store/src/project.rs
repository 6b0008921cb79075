//! A project: a folder with `runs/` in it. Runs are created and removed here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rlxp_fs::{Entry, Fs, FsExt, Kind, Machine, RealFs, RealMachine, TEMPORARY_PREFIX, clock};
use rlxp_types::{Digest, RunName};

use crate::labels::LABELS_FOLDER;
use crate::metadata::{HIGHEST_CREATION, METADATA_SCHEMA};
use crate::numbers::next_free;
use crate::run::{CONFIG_FILE, METADATA_FILE, Run};
use crate::seed_folder::SeedFolder;
use crate::{Index, Metadata, RunFilter, StoreError};

/// The highest number in a run's folder name; a higher one was not given by rlx.
const HIGHEST_NUMBER: u64 = 999_999_999;

/// The most bytes of a run's name in a temporary name, which has other parts and must fit into 255.
const MOST_OF_NAME: usize = 100;

/// A folder with `runs/` in it.
#[derive(Clone)]
pub struct Project {
    /// The file system as it is, for what the user names.
    plain: Arc<dyn Fs>,
    /// The files below `runs/`, where no symlink is followed.
    fs: Arc<dyn Fs>,
    machine: Arc<dyn Machine>,
    root: PathBuf,
}

/// What is needed to create a run.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The run's name; its folder is `<name>_<nnn>`.
    pub name: RunName,
    /// The resolved config, every default filled in.
    pub config_snapshot: String,
    /// What the run is. `schema`, `id`, `name` and an empty `host` are filled in.
    pub metadata: Metadata,
}

/// Adds files to the folders of a new run's seeds.
pub type Fill<'a> = &'a dyn Fn(&dyn Fs, &[SeedFolder]) -> Result<(), StoreError>;

/// What is in `runs/`.
#[derive(Default)]
pub(crate) struct RunEntries {
    pub(crate) named: Vec<Entry>,
    /// Names that are not text, as far as they can be shown. Nothing can name these folders.
    pub(crate) not_text: Vec<String>,
}

impl Project {
    /// The project at `root`, whether or not `runs/` exists yet.
    pub fn at(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>, root: &Path) -> Self {
        let below = fs.rooted(&root.join("runs"));
        Self { plain: fs, fs: below, machine, root: root.to_owned() }
    }

    /// The project at `root` on the real machine.
    pub fn real(root: &Path) -> Self {
        Self::at(Arc::new(RealFs), Arc::new(RealMachine), root)
    }

    /// The nearest folder, from `from` upwards, that has `runs/`.
    pub fn find(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>, from: &Path) -> Result<Self, StoreError> {
        for folder in from.ancestors() {
            // Behind a symlink is fine too: large disks are often mounted so.
            let runs = folder.join("runs");
            let is_link = fs.metadata_if_any(&runs)?.is_some_and(|meta| meta.kind == Kind::Link);
            if fs.is_folder(&runs)? || (is_link && fs.list(&runs).is_ok()) {
                return Ok(Self::at(fs, machine, folder));
            }
        }
        Err(StoreError::NoProject { from: from.to_owned() })
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of runs.
    pub fn runs_dir(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The file system below `runs/`: it follows no symlink there and reaches
    /// nothing else.
    pub fn fs(&self) -> &Arc<dyn Fs> {
        &self.fs
    }

    /// The file system as it is, for paths that the user names.
    pub(crate) fn plain_fs(&self) -> &Arc<dyn Fs> {
        &self.plain
    }

    /// The machine that looks at the project.
    pub fn machine(&self) -> &Arc<dyn Machine> {
        &self.machine
    }

    /// Creates `runs/` if need be.
    pub fn prepare(&self) -> Result<(), StoreError> {
        Ok(self.plain.create_dir_all(&self.runs_dir())?)
    }

    /// The names of all run folders, sorted. A project without `runs/` has
    /// none. A symlink is among them: it can't be read, and is listed so.
    pub fn run_names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.run_entries()?.named.into_iter().map(|entry| entry.name).collect())
    }

    /// The same with what each is: a folder or a symlink.
    pub(crate) fn run_entries(&self) -> Result<RunEntries, StoreError> {
        let entries = match self.fs.list_raw(&self.runs_dir()) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let mut found = RunEntries::default();
        for entry in entries.into_iter().filter(|entry| matches!(entry.kind, Kind::Folder | Kind::Link)) {
            match entry.name.into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) => found.named.push(Entry { name, kind: entry.kind }),
                Err(name) => found.not_text.push(name.to_string_lossy().into_owned()),
            }
        }
        Ok(found)
    }

    /// The run in the folder `name`, without reading it.
    pub fn run(&self, name: &str) -> Run {
        Run::at(Arc::clone(&self.fs), Arc::clone(&self.machine), &self.runs_dir().join(name))
    }

    /// Creates a run: complete under a temporary name, then renamed to the next
    /// free `<name>_<nnn>`. After it returns, the run survives a power loss.
    pub fn create_run(&self, new: NewRun) -> Result<Run, StoreError> {
        self.create_run_with(new, &|_, _| Ok(()))
    }

    /// The same; `fill` adds files to the folders of the seeds before the run appears.
    pub fn create_run_with(&self, new: NewRun, fill: Fill<'_>) -> Result<Run, StoreError> {
        self.prepare()?;
        let temporary = self.temporary(&format!("new-{}", new.name));
        let created = self.fill_and_place(&temporary, new, fill);
        if created.is_err() {
            drop(self.fs.remove_dir_all(&temporary));
        }
        created
    }

    fn fill_and_place(&self, temporary: &Path, new: NewRun, fill: Fill<'_>) -> Result<Run, StoreError> {
        let fs = self.fs.as_ref();
        let mut metadata = new.metadata;
        METADATA_SCHEMA.clone_into(&mut metadata.schema);
        metadata.id = self.new_id(&new.name, &new.config_snapshot);
        if metadata.host.is_empty() {
            metadata.host = self.machine.host();
        }
        fs.create_dir(temporary)?;
        fs.write_new(&temporary.join(CONFIG_FILE), new.config_snapshot.as_bytes())?;
        metadata.creation = Some(self.next_creation()?);
        fs.create_dir(&temporary.join("attempts"))?;
        fs.create_dir(&temporary.join(LABELS_FOLDER))?;
        let folders: Vec<PathBuf> = match metadata.seeds.as_slice() {
            [] | [_] => vec![temporary.to_owned()],
            several => {
                let seeds = temporary.join("seeds");
                fs.create_dir(&seeds)?;
                several.iter().map(|seed| seeds.join(seed.to_string())).collect()
            }
        };
        for folder in &folders {
            SeedFolder::fill(fs, folder, folder.as_path() != temporary)?;
        }
        if folders.len() > 1 {
            fs.sync_dir(&temporary.join("seeds"))?;
        }
        let unnamed = Run::at(Arc::clone(&self.fs), Arc::clone(&self.machine), temporary);
        fill(self.fs.as_ref(), &unnamed.seed_folders_of(&metadata))?;
        loop {
            let number = self.next_number(new.name.as_str())?;
            metadata.name = format!("{}_{number:03}", new.name);
            fs.write_atomic(&temporary.join(METADATA_FILE), &metadata.to_bytes())?;
            let place = self.runs_dir().join(&metadata.name);
            match fs.rename_new(temporary, &place) {
                Ok(()) => {
                    fs.sync_dir(&self.runs_dir())?;
                    return Ok(self.run(&metadata.name));
                }
                Err(error) if error.is_already_there() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// One more than the highest number in use for `name`, or a free one where that is used up.
    fn next_number(&self, name: &str) -> Result<u64, StoreError> {
        let entries = self.fs.list(&self.runs_dir())?;
        let numbers = entries.iter().filter_map(|entry| {
            let digits = entry.name.strip_prefix(name)?.strip_prefix('_')?;
            let plain = digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse::<u64>().ok().filter(|number| plain && *number <= HIGHEST_NUMBER)
        });
        Ok(next_free(&numbers.collect(), HIGHEST_NUMBER))
    }

    /// One more than the highest creation number in `runs/`, so that the order
    /// of runs doesn't depend on the clock. Two runs that are created at the
    /// same moment may get the same one; then `created` decides.
    fn next_creation(&self) -> Result<u64, StoreError> {
        let rows = Index::open(self).list(&RunFilter::default())?;
        let highest = rows.iter().filter_map(|row| row.creation).max();
        Ok(highest.map_or(1, |highest| highest.saturating_add(1)).min(HIGHEST_CREATION))
    }

    /// An id that no other run has: it is made from everything that makes this
    /// moment of this process unlike any other.
    fn new_id(&self, name: &RunName, config: &str) -> Digest {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let process = self.machine.process_id();
        let facts = format!(
            "{name}\0{}\0{}\0{process}\0{:?}\0{}\0{}\0{config}",
            self.machine.host(),
            self.machine.boot_id(),
            self.machine.process_start(process),
            clock::wall().as_nanos(),
            COUNTER.fetch_add(1, Ordering::Relaxed),
        );
        Digest::hash(facts.as_bytes())
    }

    /// A temporary name in `runs/` that tells this machine's processes from
    /// those of another machine on the same disk. What has one is removed by
    /// [`Project::sweep`] once the process is gone.
    pub fn temporary(&self, what: &str) -> PathBuf {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let what = &what[..what.floor_char_boundary(MOST_OF_NAME)];
        self.runs_dir().join(format!(
            "{TEMPORARY_PREFIX}{}-{number}-{}-{what}",
            self.machine.process_id(),
            self.machine_mark()
        ))
    }

    /// What tells this machine from others in temporary names.
    pub(crate) fn machine_mark(&self) -> String {
        let facts = format!(
            "{}\0{}\0{}",
            self.machine.host(),
            self.machine.machine_id(),
            self.machine.process_namespace()
        );
        Digest::hash(facts.as_bytes()).short()
    }
}
