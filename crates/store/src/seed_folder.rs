//! The record of one seed: metrics, checkpoints, evaluations, logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::{Fs, FsExt, Kind, Machine};
use rlxp_types::RunName;
use serde::Serialize;
use serde_json::Value;

use crate::metadata::pretty;
use crate::metrics::{
    MetricColumns, MetricsContent, MetricsFollower, MetricsPosition, MetricsWriter, read_columns,
    read_metrics,
};
use crate::plain::list_plain;
use crate::{CheckpointStore, StoreError};

/// The longest evaluation file that is read.
const EVALUATION_CAP: u64 = 64 << 20;

/// The folder with one seed's record.
#[derive(Clone)]
pub struct SeedFolder {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) machine: Arc<dyn Machine>,
    path: PathBuf,
    seed: u64,
}

/// An evaluation file.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Its name without `.json`.
    pub name: String,
    /// Its content, or why it can't be read.
    pub content: Result<Value, String>,
}

impl Evaluation {
    /// The training step that was evaluated: the field `step`, otherwise the
    /// number in a name such as `step_4096`.
    pub fn step(&self) -> Option<u64> {
        let from_content = self.content.as_ref().ok().and_then(|value| value.get("step")?.as_u64());
        from_content.or_else(|| {
            let digits = self.name.rsplit_once("step_")?.1;
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            digits[..end].parse().ok()
        })
    }
}

impl SeedFolder {
    /// The folder at `path`, without reading it.
    pub fn at(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>, path: &Path, seed: u64) -> Self {
        Self { fs, machine, path: path.to_owned(), seed }
    }

    /// Creates the empty record in a new run's folder and syncs it.
    pub(crate) fn fill(fs: &dyn Fs, path: &Path, create: bool) -> Result<(), StoreError> {
        if create {
            fs.create_dir(path)?;
        }
        for name in ["checkpoints", "eval", "videos", "plots", "logs"] {
            fs.create_dir(&path.join(name))?;
        }
        fs.write_new(&path.join("metrics.jsonl"), b"")?;
        Ok(fs.sync_dir(path)?)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Path of the metrics.
    pub fn metrics_path(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// Path of the folder of evaluations.
    pub fn eval_dir(&self) -> PathBuf {
        self.path.join("eval")
    }

    /// Path of the folder of logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The checkpoints.
    pub fn checkpoints(&self) -> CheckpointStore {
        CheckpointStore::new(Arc::clone(&self.fs), &self.path.join("checkpoints"))
    }

    /// Opens the metrics for appending after `position`, which must be exactly the end of the file:
    /// [`MetricsPosition::start`] for a new run, otherwise what [`crate::recover`] returned.
    pub fn metrics_writer(&self, position: &MetricsPosition) -> Result<MetricsWriter, StoreError> {
        MetricsWriter::open(Arc::clone(&self.fs), &self.metrics_path(), position)
    }

    /// Every intact record of the metrics, and what is damaged.
    pub fn metrics(&self) -> Result<MetricsContent, StoreError> {
        read_metrics(self.fs.as_ref(), &self.metrics_path())
    }

    /// The wanted metrics in columns, and what is damaged.
    pub fn columns(&self, wanted: &dyn Fn(&str, &str) -> bool) -> Result<MetricColumns, StoreError> {
        read_columns(self.fs.as_ref(), &self.metrics_path(), wanted)
    }

    /// Follows the metrics as they grow.
    pub fn follow_metrics(&self) -> MetricsFollower {
        MetricsFollower::new(Arc::clone(&self.fs), &self.metrics_path())
    }

    /// Path of the evaluation `name`.
    pub fn evaluation_path(&self, name: &str) -> Result<PathBuf, StoreError> {
        RunName::parse(name).map_err(|_| StoreError::BadName { name: name.to_owned() })?;
        Ok(self.eval_dir().join(format!("{name}.json")))
    }

    /// Writes `eval/<name>.json` atomically. Give it a field `step`, so that a resume from an earlier step knows that
    /// it is superseded.
    pub fn write_evaluation(&self, name: &str, content: &impl Serialize) -> Result<PathBuf, StoreError> {
        let path = self.evaluation_path(name)?;
        self.fs.remove_abandoned(self.machine.as_ref(), &path);
        self.fs.write_atomic(&path, &pretty(content))?;
        Ok(path)
    }

    /// Every evaluation, sorted by step and name. A damaged one is listed with
    /// its problem.
    pub fn evaluations(&self) -> Result<Vec<Evaluation>, StoreError> {
        let entries = list_plain(self.fs.as_ref(), &self.eval_dir())?;
        let mut evaluations = Vec::new();
        for entry in entries {
            let Some(name) = entry.name.strip_suffix(".json") else { continue };
            if entry.kind != Kind::File || name.starts_with('.') {
                continue;
            }
            let content = self
                .fs
                .read(&self.eval_dir().join(&entry.name), EVALUATION_CAP)
                .map_err(|error| error.to_string())
                .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
            evaluations.push(Evaluation { name: name.to_owned(), content });
        }
        evaluations.sort_by(|a, b| a.step().cmp(&b.step()).then_with(|| a.name.cmp(&b.name)));
        Ok(evaluations)
    }
}
