//! One line of a listing, read from a run's folder.

use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use rlxp_types::{Digest, RunStatus};
use serde::{Deserialize, Serialize};

use super::stamp::Sources;
use crate::labels::LABELS_FOLDER;
use crate::metrics::{MEAN_RETURN, Record};
use crate::run::METADATA_FILE;
use crate::{Run, SeedFolder, StoreError};

/// How much of the end of the metrics is read.
const TAIL_BYTES: u64 = 16 * 1024;

/// A run in a listing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The folder's name.
    pub name: String,
    /// The run's id, when its metadata can be read.
    pub id: Option<Digest>,
    /// How it stands.
    pub status: RunStatus,
    /// Its environment.
    pub env: String,
    /// Its algorithm.
    pub algo: String,
    /// How many seeds it trains.
    pub seeds: usize,
    /// Steps done, over all seeds.
    pub steps: u64,
    /// Steps planned, over all seeds.
    pub total_steps: u64,
    /// The last mean return of training, averaged over the seeds that have one.
    pub last_mean_return: Option<f64>,
    /// The best evaluation's mean return, averaged over the seeds that have one.
    pub best_eval_mean: Option<f64>,
    /// When it was made.
    pub created: String,
    /// Its number in the order of creation; nothing for a run of version 0.1.
    #[serde(default)]
    pub creation: Option<u64>,
    /// When it ended.
    pub ended: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What is wrong with it.
    pub problem: Option<String>,
}

impl RunRow {
    /// Reads a run. A run that can't be read becomes a row with a problem.
    pub fn read(run: &Run) -> Self {
        Self::read_with_sources(run).0
    }

    /// A run's row, and every file and folder that it was read from, relative
    /// to the run's folder and each after the folder that holds it.
    pub(super) fn read_with_sources(run: &Run) -> (Self, Sources) {
        let mut row = Self::empty(run.name());
        let mut sources = Sources::default();
        if let Err(error) = row.fill(run, &mut sources) {
            row.problem.get_or_insert(error.to_string());
        }
        (row, sources)
    }

    /// Compares runs by age: later ones are greater. Wall time decides only
    /// between runs that have no creation number, which come first, and
    /// between runs that were created at the same moment.
    pub fn age(&self) -> (Option<u64>, &str, usize, &str) {
        (self.creation, &self.created, self.name.len(), &self.name)
    }

    fn empty(name: String) -> Self {
        Self {
            name,
            id: None,
            status: RunStatus::Unknown,
            env: String::new(),
            algo: String::new(),
            seeds: 0,
            steps: 0,
            total_steps: 0,
            last_mean_return: None,
            best_eval_mean: None,
            created: String::new(),
            creation: None,
            ended: None,
            tags: Vec::new(),
            problem: None,
        }
    }

    fn fill(&mut self, run: &Run, sources: &mut Sources) -> Result<(), StoreError> {
        sources.add(METADATA_FILE);
        let metadata = run.recorded()?;
        let labels = run.labels(&metadata.tags);
        sources.add(LABELS_FOLDER);
        labels.numbers.iter().for_each(|number| sources.add(format!("{LABELS_FOLDER}/{number}.json")));
        let folders = run.seed_folders_of(&metadata);
        self.id = Some(metadata.id);
        self.seeds = folders.len();
        self.total_steps = metadata.total_steps.saturating_mul(folders.len() as u64);
        self.env = metadata.env;
        self.algo = metadata.algo;
        self.created = metadata.created;
        self.creation = metadata.creation;
        self.ended = metadata.ended;
        self.tags = labels.tags;
        self.problem = labels.problem;
        let status = run.status()?;
        self.status = status.status;
        sources.add("attempts");
        if let Some(attempt) = status.attempt {
            let folder = format!("attempts/{}", attempt.number);
            ["", "/claim.json", "/end.json"].iter().for_each(|file| sources.add(format!("{folder}{file}")));
            self.problem = attempt.problem.or(self.problem.take());
            self.ended = attempt.end.map(|end| end.ended);
        }
        let mut returns = Vec::new();
        let mut scores = Vec::new();
        for folder in &folders {
            let place = folder.path().strip_prefix(run.path()).unwrap_or(Path::new(""));
            let place = place.to_str().filter(|place| !place.is_empty());
            if let Some(place) = place {
                sources.add("seeds");
                sources.add(place);
            }
            let within = place.map_or(String::new(), |place| format!("{place}/"));
            sources.add(format!("{within}metrics.jsonl"));
            sources.add(format!("{within}checkpoints"));
            let (step, mean_return) = last_of_metrics(folder.fs.as_ref(), &folder.metrics_path())?;
            let mut looked_at = |step: u64| {
                let checkpoint = format!("{within}checkpoints/step_{step}");
                sources.add(format!("{checkpoint}/manifest.json"));
            };
            let (saved, score) = last_of_checkpoints(folder, &mut looked_at)?;
            self.steps = self.steps.saturating_add(step.max(saved));
            returns.extend(mean_return);
            scores.extend(score);
        }
        self.last_mean_return = mean(&returns);
        self.best_eval_mean = mean(&scores);
        Ok(())
    }
}

/// The last step and the last finite mean return in the end of the metrics.
/// Lines are parsed from the last one backwards, most often only one or two.
fn last_of_metrics(fs: &dyn Fs, path: &Path) -> Result<(u64, Option<f64>), StoreError> {
    let length = fs.metadata_if_any(path)?.map_or(0, |meta| meta.length);
    if length == 0 {
        return Ok((0, None));
    }
    let bytes = fs.read_at(path, length.saturating_sub(TAIL_BYTES), TAIL_BYTES as usize)?;
    let records = bytes.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let mut step = None;
    for record in records {
        let record: Record = record;
        step.get_or_insert(record.step);
        let mean_return = record.number(MEAN_RETURN).filter(|value| value.is_finite());
        if record.kind != "eval" && mean_return.is_some() {
            return Ok((step.unwrap_or_default(), mean_return));
        }
    }
    Ok((step.unwrap_or_default(), None))
}

/// The newest checkpoint's step and the best score that it knows of.
fn last_of_checkpoints(
    folder: &SeedFolder,
    looked_at: &mut dyn FnMut(u64),
) -> Result<(u64, Option<f64>), StoreError> {
    let store = folder.checkpoints();
    for step in store.steps()?.into_iter().rev() {
        looked_at(step);
        if let Ok(manifest) = store.manifest(step) {
            return Ok((step, manifest.best.map(|best| best.score)));
        }
    }
    Ok((0, None))
}

fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}
