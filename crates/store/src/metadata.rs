//! `metadata.json`: describes a run, readable by people and `jq`.
//!
//! It is a description, not the source of truth for the run's state: that is in
//! `attempts/`. Fields that this version doesn't know are kept when the file is
//! rewritten.

use std::collections::BTreeMap;
use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use rlxp_types::{Digest, RunStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::StoreError;

/// The format number that this version writes.
pub const METADATA_SCHEMA: &str = "rlx.metadata/1";

/// A file format: its name, and the newest number of it that this version knows.
pub(crate) struct Format {
    pub(crate) kind: &'static str,
    pub(crate) newest: u64,
}

const METADATA: Format = Format { kind: "rlx.metadata", newest: 1 };

impl Format {
    /// The schema that this version writes.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}", self.kind, self.newest)
    }

    /// [`Format::check`] of the schema in a JSON file, before anything else is
    /// read of it: a newer one may lack what this version expects.
    pub(crate) fn check_in(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let header: Result<Header, _> = serde_json::from_slice(bytes);
        let Header { schema } = header.map_err(|error| StoreError::damaged(path, error.to_string()))?;
        self.check(path, &schema)
    }

    /// An error unless `schema` is this format in a number that is known: what
    /// a newer version has written must be neither misread nor rewritten.
    pub(crate) fn check(&self, path: &Path, schema: &str) -> Result<(), StoreError> {
        let number = schema.strip_prefix(self.kind).and_then(|rest| rest.strip_prefix('/'));
        match number.and_then(|number| number.parse::<u64>().ok()) {
            Some(number) if (1..=self.newest).contains(&number) => Ok(()),
            Some(number) if number > self.newest => {
                let (schema, known) = (schema.to_owned(), self.text());
                Err(StoreError::NewerFormat { path: path.to_owned(), schema, known })
            }
            _ => Err(StoreError::damaged(path, format!("its schema is {schema:?}, not {}", self.text()))),
        }
    }
}

/// The most seeds that a run may list; a config allows fewer.
const MOST_SEEDS: usize = 10_000;
/// Higher creation numbers were not given by rlx, and the next one must fit.
pub(crate) const HIGHEST_CREATION: u64 = 1 << 40;

/// The longest `metadata.json` that is read.
const CAP: u64 = 4 << 20;

/// How a run came from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineageKind {
    /// The same run with more steps than its snapshot said.
    ResumedExtended,
    /// Starts from the parameters of a checkpoint.
    WarmStart,
    /// Trained again from the parent's snapshot.
    Reproduced,
}

/// Where a run comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// How it came from its parent.
    pub kind: LineageKind,
    /// The parent run's name or folder.
    pub parent: String,
    /// The parent's id, when it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Digest>,
    /// The step of the checkpoint it started from; nothing if that differs between seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
    /// The seed of the parent that every seed started from, where the parent has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The step that each seed started from, where they differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<u64, u64>,
    /// Ids of the runs that an extended parent extends itself, the nearest first: with them a run is known to continue
    /// a training even if a run between them was removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Digest>,
}

impl Lineage {
    /// Ids of the run that it extends and of those before it, the nearest first, for the lineage of an extension.
    pub fn extended_ids(&self) -> Vec<Digest> {
        self.parent_id.into_iter().chain(self.ancestors.iter().copied()).collect()
    }

    /// The checkpoint that it started from, as commands take it; nothing if that differs between seeds.
    pub fn checkpoint_name(&self) -> Option<String> {
        let seed = self.seed.map_or_else(String::new, |seed| format!(":{seed}"));
        let step = self.checkpoint.map_or_else(String::new, |step| format!(":step_{step}"));
        self.checkpoints.is_empty().then(|| format!("{}{seed}{step}", self.parent))
    }
}

/// The state of the code that a run was started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The commit; nothing in a repository that has none yet.
    #[serde(default)]
    pub commit: Option<String>,
    /// The branch; `None` if no branch is checked out.
    #[serde(default)]
    pub branch: Option<String>,
    /// Whether there are uncommitted changes.
    pub dirty: bool,
    /// Digest of the uncommitted changes, where it could be taken.
    #[serde(default)]
    pub dirty_digest: Option<Digest>,
    /// Why the digest does not cover everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_covered: Option<String>,
}

/// What trained the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Version of rlx.
    #[serde(default)]
    pub rlx: String,
    /// Digest of the program file.
    #[serde(default)]
    pub binary: Option<Digest>,
}

/// The content of `metadata.json`. Times are RFC 3339 text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Format number, [`METADATA_SCHEMA`].
    pub schema: String,
    /// The run's unique id; set by `create_run`.
    pub id: Digest,
    /// The folder's name; set by `create_run`.
    pub name: String,
    /// The last recorded state.
    pub status: RunStatus,
    /// When the folder was made: a label, which decides no order where there is a `creation`.
    pub created: String,
    /// The run's number among those of its project, in the order in which they
    /// were created; set by `create_run`. Version 0.1 didn't write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation: Option<u64>,
    /// When training first began.
    #[serde(default)]
    pub started: Option<String>,
    /// When the last attempt ended.
    #[serde(default)]
    pub ended: Option<String>,
    /// Every seed that is trained.
    pub seeds: Vec<u64>,
    /// Id of the environment.
    pub env: String,
    /// Name of the algorithm.
    pub algo: String,
    /// Training steps per seed.
    pub total_steps: u64,
    /// Where it computes.
    #[serde(default)]
    pub device: String,
    /// The machine's name.
    #[serde(default)]
    pub host: String,
    /// Which kernels the processor runs: results are equal only within one kind.
    #[serde(default)]
    pub cpu_kernels: String,
    /// The code's state, when the project is in git.
    #[serde(default)]
    pub git: Option<GitState>,
    /// What trained it.
    #[serde(default)]
    pub versions: Versions,
    /// Where it comes from.
    #[serde(default)]
    pub lineage: Option<Lineage>,
    /// The tags that the run was created with; `labels/` has later changes.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Overrides given on the command line, `a.b=c`.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// Mean return of a random policy in the environment that the run is evaluated in, where it could be played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_return: Option<f64>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Deserialize)]
struct Header {
    schema: String,
}

impl Metadata {
    /// Metadata of a new run; the rest can be set before `create_run`.
    pub fn new(created: &str, env: &str, algo: &str, seeds: &[u64], total_steps: u64) -> Self {
        Self {
            schema: METADATA_SCHEMA.to_owned(),
            id: Digest::hash(b""),
            name: String::new(),
            status: RunStatus::Created,
            created: created.to_owned(),
            creation: None,
            started: None,
            ended: None,
            seeds: seeds.to_vec(),
            env: env.to_owned(),
            algo: algo.to_owned(),
            total_steps,
            device: "cpu".to_owned(),
            host: String::new(),
            cpu_kernels: String::new(),
            git: None,
            versions: Versions::default(),
            lineage: None,
            tags: Vec::new(),
            overrides: Vec::new(),
            random_return: None,
            extra: Map::new(),
        }
    }

    /// Reads a `metadata.json`.
    pub fn read(fs: &dyn Fs, path: &Path) -> Result<Self, StoreError> {
        let bytes = fs.read(path, CAP)?;
        let damaged = |error: serde_json::Error| StoreError::damaged(path, error.to_string());
        METADATA.check_in(path, &bytes)?;
        let mut metadata: Self = serde_json::from_slice(&bytes).map_err(damaged)?;
        if metadata.seeds.len() > MOST_SEEDS {
            let why = format!("it lists {} seeds; the maximum is {MOST_SEEDS}", metadata.seeds.len());
            return Err(StoreError::damaged(path, why));
        }
        metadata.creation = metadata.creation.filter(|number| *number <= HIGHEST_CREATION);
        let distinct: std::collections::BTreeSet<&u64> = metadata.seeds.iter().collect();
        if distinct.len() < metadata.seeds.len() {
            return Err(StoreError::damaged(path, "it lists a seed twice"));
        }
        Ok(metadata)
    }

    /// The file's text.
    pub fn to_bytes(&self) -> Vec<u8> {
        pretty(self)
    }
}

/// JSON for people: indented, with a newline at the end.
pub(crate) fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data with text keys always serialises");
    bytes.push(b'\n');
    bytes
}
