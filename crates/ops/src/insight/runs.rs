//! `rlx ls`, `info`, `tag`, `rm`: looking at runs and keeping them in order.

use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_store::{
    Best, End, Index, Lineage, Metadata, Run, RunFilter, RunRow, SeedFolder, StoreError, TakeOver,
};
use rlxp_types::RunStatus;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::curve::Curve;
use crate::insight::run_data::{SeedState, state_of, stopped_early};
use crate::select::{one_run_or_seed, project, whole_runs};
use crate::training::recorded::STOP_AT;

/// What a listing is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    #[default]
    Created,
    Name,
    /// Best evaluation.
    Best,
    /// Last training return.
    Last,
    Steps,
}

/// Lists runs, newest first unless asked otherwise.
pub fn list(context: &Context, filter: &RunFilter, sort: SortKey, reverse: bool) -> Outcome<Vec<RunRow>> {
    let mut rows = Index::open(&project(context)?).list(filter)?;
    let number = |value: Option<f64>| value.unwrap_or(f64::NEG_INFINITY);
    match sort {
        SortKey::Created => rows.sort_by(|a, b| b.age().cmp(&a.age())),
        SortKey::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        SortKey::Best => rows.sort_by(|a, b| number(b.best_eval_mean).total_cmp(&number(a.best_eval_mean))),
        SortKey::Last => {
            rows.sort_by(|a, b| number(b.last_mean_return).total_cmp(&number(a.last_mean_return)))
        }
        SortKey::Steps => rows.sort_by_key(|row| std::cmp::Reverse(row.steps)),
    }
    if reverse {
        rows.reverse();
    }
    Ok(rows)
}

#[derive(Debug, Serialize)]
pub struct SeedInfo {
    pub seed: u64,
    /// Steps in the record.
    pub steps: u64,
    /// How its training stands.
    pub state: SeedState,
    /// Why it failed, where it did.
    pub reason: Option<String>,
    /// Checkpoints, by step.
    pub checkpoints: Vec<u64>,
    /// The best evaluation.
    pub best: Option<Best>,
    /// Mean return of training and evaluation over steps.
    pub curve: Curve,
    /// The evaluation at which it stopped early, where it did.
    pub stopped_early: Option<Best>,
    /// What is wrong with its record.
    pub damage: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct RunInfo {
    /// Its description.
    pub metadata: Metadata,
    /// Its folder.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// How it stands, by proof.
    pub status: RunStatus,
    /// Why it failed, where it did.
    pub reason: Option<String>,
    /// How often it was started.
    pub attempts: usize,
    pub seeds: Vec<SeedInfo>,
    /// The config it is trained from.
    pub config: serde_json::Value,
    pub lineage: Option<Lineage>,
    /// Mean evaluation return at which a seed stops early.
    pub stop_at: Option<f64>,
    /// Commands that help where it is not complete.
    pub next: Vec<String>,
}

/// Everything about the run that `text` names, or about one seed of it.
pub fn info(context: &Context, text: &str) -> Outcome<RunInfo> {
    let (run, seed) = one_run_or_seed(&project(context)?, text)?;
    let metadata = run.metadata()?;
    let report = run.status()?;
    let end = report.attempt.and_then(|attempt| attempt.end);
    let seeds = run
        .seed_folders_of(&metadata)
        .iter()
        .filter(|folder| seed.is_none_or(|seed| folder.seed() == seed))
        .map(|folder| seed_info(folder, report.status, end.as_ref(), &metadata))
        .collect::<Outcome<Vec<_>>>()?;
    let config = crate::training::recorded::config_of(&run)?;
    Ok(RunInfo {
        path: run.path().to_owned(),
        status: report.status,
        reason: end.and_then(|end| end.reason),
        stop_at: metadata.extra.get(STOP_AT).and_then(serde_json::Value::as_f64),
        next: crate::training::next_step::commands(&run),
        attempts: run.attempts()?.len(),
        seeds,
        config: serde_json::to_value(&config).expect("a config is plain data"),
        lineage: metadata.lineage.clone(),
        metadata,
    })
}

fn seed_info(
    folder: &SeedFolder,
    status: RunStatus,
    end: Option<&End>,
    metadata: &Metadata,
) -> Outcome<SeedInfo> {
    let content = folder.metrics()?;
    let steps = content.records.last().map_or(0, |record| record.step);
    let (state, failure) = state_of(status, end, metadata, steps, folder);
    let store = folder.checkpoints();
    let newest = store.newest_valid()?;
    let mut damage: Vec<String> =
        content.damage.iter().map(|damage| format!("metrics.jsonl, {damage}")).collect();
    damage.extend(newest.damaged.iter().map(|bad| format!("checkpoint step_{}: {}", bad.step, bad.why)));
    Ok(SeedInfo {
        seed: folder.seed(),
        steps,
        state,
        reason: failure.and_then(|failure| failure.reason),
        checkpoints: store.steps()?,
        stopped_early: newest
            .checkpoint
            .as_ref()
            .and_then(|checkpoint| stopped_early(&checkpoint.manifest))
            .filter(|stop| stop.step < metadata.total_steps),
        best: newest.checkpoint.and_then(|checkpoint| checkpoint.manifest.best),
        curve: Curve::from_records(&content.records),
        damage,
    })
}

/// A run with its tags.
#[derive(Clone, Debug, Serialize)]
pub struct Tagged {
    pub run: String,
    pub tags: Vec<String>,
}

/// The runs that `text` names, with their tags before anything is changed.
pub fn to_tag(context: &Context, text: &str) -> Outcome<Vec<Tagged>> {
    let runs = whole_runs(&project(context)?, &[text.to_owned()])?;
    let tagged = |run: &Run| Ok(Tagged { run: run.name(), tags: run.set_tags(&[], &[])? });
    runs.iter().map(tagged).collect()
}

/// Adds and removes tags of runs of this project; calls `done` for each with its new tags.
pub fn tag(
    context: &Context,
    runs: &[Tagged],
    add: &[String],
    remove: &[String],
    done: &mut dyn FnMut(Tagged),
) -> Outcome<()> {
    crate::training::tags::check_tags(add)?;
    let project = project(context)?;
    for Tagged { run, .. } in runs {
        let tags = project.run(run).set_tags(add, remove)?;
        done(Tagged { run: run.clone(), tags });
    }
    Ok(())
}

/// A run that is to be removed, or was.
#[derive(Clone, Debug, Serialize)]
pub struct Removal {
    /// The run's name.
    pub run: String,
    /// The bytes of all its files; `None` if they can't be counted.
    pub bytes: Option<u64>,
}

/// The runs that `texts` name, each once, before they are removed. Only runs of
/// this project are: what a path or a link leads to elsewhere is refused.
pub fn to_remove(context: &Context, texts: &[String]) -> Outcome<Vec<Removal>> {
    let mut runs: Vec<Removal> = Vec::new();
    for run in whole_runs(&project(context)?, texts)? {
        if run.fs().metadata_if_any(&run.metadata_path())?.is_none() {
            return Err(StoreError::NotARun { path: run.path().to_owned() }.into());
        }
        runs.push(Removal { run: run.name(), bytes: run.bytes().ok() });
    }
    Ok(runs)
}

/// Removes runs permanently, one after the other; calls `done` for each.
pub fn remove(
    context: &Context,
    runs: &[Removal],
    take_over: TakeOver,
    done: &mut dyn FnMut(&Removal),
) -> Outcome<()> {
    let project = project(context)?;
    for removal in runs {
        project.remove_run_from(&project.run(&removal.run), take_over)?;
        done(removal);
    }
    Ok(())
}
