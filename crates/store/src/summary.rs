//! How far a run has come, in a few numbers: what listings show. They are read
//! from the ends of the metrics, the newest evaluation and from checkpoints, and
//! written down when an attempt ends, so that listing ended runs needn't open any
//! of that.

mod speed;

use std::path::Path;

use rlxp_fs::FsExt;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::metrics::{MEAN_RETURN, Record};
use crate::plain::list_plain;
use crate::{Run, SeedFolder, StoreError};
use speed::{Pace, first_of_training};

/// How much of an end of the metrics is read.
const END_BYTES: u64 = 16 * 1024;
/// The longest evaluation that is read; one has a line per episode.
const EVALUATION_CAP: u64 = 16 << 20;
/// The kind of records that training writes after each update.
const TRAIN_KIND: &str = "train";

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Steps done, over all seeds.
    pub steps: u64,
    /// The last mean return of training, averaged over the seeds that have one.
    pub last_mean_return: Option<f64>,
    /// The best evaluation's mean return, averaged over the seeds that have one.
    pub best_eval_mean: Option<f64>,
    /// The last evaluation's mean return, averaged over the seeds that have one. A summary without this key is of an
    /// earlier version and is not used: the record itself says more.
    #[serde(deserialize_with = "present")]
    pub score: Option<f64>,
    /// Steps of all seeds per second, from the first to the last update of the newest attempt.
    #[serde(deserialize_with = "present")]
    pub steps_per_second: Option<f64>,
}

/// A value that may be null but not missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(deserializer)
}

impl Summary {
    /// The summary of a run as its record is now; `resumed` as in [`Summary::read`].
    pub(crate) fn from_run(run: &Run, resumed: Option<&str>) -> Result<Self, StoreError> {
        Self::read(run, &run.seed_folders()?, resumed, &mut |_| {})
    }

    /// The same for the seeds in `folders`. `resumed` is when the newest attempt began, if it is not the first: the
    /// pause before it is not training. Calls `looks_at` for each file and folder that the summary depends on, relative
    /// to the run's folder.
    pub(crate) fn read(
        run: &Run,
        folders: &[SeedFolder],
        resumed: Option<&str>,
        looks_at: &mut dyn FnMut(String),
    ) -> Result<Self, StoreError> {
        let mut steps: u64 = 0;
        let (mut returns, mut bests, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        let mut pace = Pace::default();
        for folder in folders {
            let place = folder.path().strip_prefix(run.path()).unwrap_or(Path::new(""));
            let within = match place.to_str() {
                None | Some("") => String::new(),
                Some(place) => {
                    looks_at("seeds".to_owned());
                    looks_at(place.to_owned());
                    format!("{place}/")
                }
            };
            looks_at(format!("{within}metrics.jsonl"));
            looks_at(format!("{within}checkpoints"));
            let last = LastOfMetrics::read(folder)?;
            let mut manifest = |step: u64| looks_at(format!("{within}checkpoints/step_{step}/manifest.json"));
            let (saved, best) = last_of_checkpoints(folder, &mut manifest)?;
            looks_at(format!("{within}eval"));
            let mut evaluation = |name: &str| looks_at(format!("{within}eval/{name}"));
            let score = last_of_evaluations(folder, &mut evaluation)?;
            steps = steps.saturating_add(last.step.max(saved));
            returns.extend(last.mean_return);
            bests.extend(best);
            scores.extend(score);
            if let Some(last) = last.update
                && let Some(first) = first_of_training(folder, resumed)?
            {
                pace.add(first, last);
            }
        }
        Ok(Self {
            steps,
            last_mean_return: mean(&returns),
            best_eval_mean: mean(&bests),
            score: mean(&scores),
            steps_per_second: pace.steps_per_second(),
        })
    }
}

/// What the end of the metrics says.
#[derive(Default)]
struct LastOfMetrics {
    step: u64,
    /// The last finite mean return of training.
    mean_return: Option<f64>,
    /// Step and wall time of the last update.
    update: Option<(u64, f64)>,
}

impl LastOfMetrics {
    /// Lines are parsed from the last one backwards, most often only a few.
    fn read(folder: &SeedFolder) -> Result<Self, StoreError> {
        let (fs, path) = (folder.fs.as_ref(), folder.metrics_path());
        let mut last = Self::default();
        let length = fs.metadata_if_any(&path)?.map_or(0, |meta| meta.length);
        if length == 0 {
            return Ok(last);
        }
        let bytes = fs.read_at(&path, length.saturating_sub(END_BYTES), END_BYTES as usize)?;
        let records =
            bytes.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let mut step = None;
        for record in records {
            let record: Record = record;
            last.step = *step.get_or_insert(record.step);
            if record.kind == TRAIN_KIND {
                last.update.get_or_insert((record.step, record.wall));
            }
            let mean_return = record.number(MEAN_RETURN).filter(|value| value.is_finite());
            if record.kind != "eval" && mean_return.is_some() {
                last.mean_return = mean_return;
                break;
            }
        }
        Ok(last)
    }
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

/// The mean return of the last evaluation during training that can be read.
fn last_of_evaluations(
    folder: &SeedFolder,
    looked_at: &mut dyn FnMut(&str),
) -> Result<Option<f64>, StoreError> {
    let entries = list_plain(folder.fs.as_ref(), &folder.eval_dir())?;
    let step = |name: &str| name.strip_prefix("step_")?.strip_suffix(".json")?.parse::<u64>().ok();
    let mut found: Vec<(u64, &str)> =
        entries.iter().filter_map(|entry| Some((step(&entry.name)?, entry.name.as_str()))).collect();
    found.sort_unstable();
    for (_, name) in found.into_iter().rev() {
        looked_at(name);
        let bytes = folder.fs.read(&folder.eval_dir().join(name), EVALUATION_CAP);
        let content = bytes.ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        if let Some(content) = content {
            return Ok(content.get(MEAN_RETURN).and_then(Value::as_f64));
        }
    }
    Ok(None)
}

/// Nothing without values.
fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}
