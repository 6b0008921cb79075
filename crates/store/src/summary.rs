//! How far a run has come, in three numbers: what listings show. They are read
//! from the ends of the metrics and from checkpoints, and written down when an
//! attempt ends, so that listing ended runs needn't open any of that.

use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use serde::{Deserialize, Serialize};

use crate::metrics::{MEAN_RETURN, Record};
use crate::{Run, SeedFolder, StoreError};

/// How much of the end of the metrics is read.
const TAIL_BYTES: u64 = 16 * 1024;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Steps done, over all seeds.
    pub steps: u64,
    /// The last mean return of training, averaged over the seeds that have one.
    pub last_mean_return: Option<f64>,
    /// The best evaluation's mean return, averaged over the seeds that have one.
    pub best_eval_mean: Option<f64>,
}

impl Summary {
    /// The summary of a run as its record is now.
    pub(crate) fn from_run(run: &Run) -> Result<Self, StoreError> {
        Self::read(run, &run.seed_folders()?, &mut |_| {})
    }

    /// The same for the seeds in `folders`; calls `looks_at` for each file and folder that it depends on, relative to
    /// the run's folder.
    pub(crate) fn read(
        run: &Run,
        folders: &[SeedFolder],
        looks_at: &mut dyn FnMut(String),
    ) -> Result<Self, StoreError> {
        let mut steps: u64 = 0;
        let (mut returns, mut scores) = (Vec::new(), Vec::new());
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
            let (step, mean_return) = last_of_metrics(folder.fs.as_ref(), &folder.metrics_path())?;
            let mut manifest = |step: u64| looks_at(format!("{within}checkpoints/step_{step}/manifest.json"));
            let (saved, score) = last_of_checkpoints(folder, &mut manifest)?;
            steps = steps.saturating_add(step.max(saved));
            returns.extend(mean_return);
            scores.extend(score);
        }
        Ok(Self { steps, last_mean_return: mean(&returns), best_eval_mean: mean(&scores) })
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

/// Nothing without values.
fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}
