//! What comparing, drawing, diagnosing and reporting start from: runs as they are on disk, read once, with every
//! irregularity noted instead of hidden.
//!
//! A set of runs is named by words ([`crate::select`]), each of them one group. A group pools the seeds of its runs: the
//! seed is the unit of replication, never the run folder.

pub(crate) mod counting;
pub(crate) mod fold;
pub(crate) mod joined;
pub(crate) mod lineage;
#[cfg(test)]
pub(crate) mod testing;
mod trainings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use rlxp_spec::Config;
use rlxp_store::{Best, End, Manifest, Metadata, MetricColumns, Run, SeedFolder, Series, StoreError};
use rlxp_types::{EndCause, RunStatus};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::select::{RunSeeds, one_run_or_seed, project, runs_and_seeds};
use crate::training::evaluation::EvaluationRecord;
use counting::Continuation;
use lineage::Ancestry;
pub(crate) use trainings::{Trainings, load_trainings, named_once};

/// The state of one seed's training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedState {
    /// It reached its last step, or stopped early as it was asked to.
    Finished,
    /// It failed by itself: diverged, an error of its environment, out of memory.
    Failed,
    /// Its run is still training, or was stopped by something else and can be resumed.
    Unfinished,
}

/// One seed of a run.
pub struct SeedData {
    pub seed: u64,
    pub folder: SeedFolder,
    /// The state of its training.
    pub state: SeedState,
    /// Why it failed, if it did.
    pub failure: Option<SeedFailure>,
    /// The requested metrics.
    pub metrics: MetricColumns,
}

pub struct RunData {
    pub run: Run,
    pub name: String,
    pub metadata: Metadata,
    /// Its status, by proof.
    pub status: RunStatus,
    /// How its newest attempt ended, if it did.
    end: Option<End>,
    /// Why it failed, if it did.
    pub reason: Option<String>,
    /// The config it is trained from.
    pub config: Config,
    pub seeds: Vec<SeedData>,
    /// Problems of its record, one sentence each.
    pub notes: Vec<String>,
    /// The runs that it extends.
    pub(crate) ancestry: Ancestry,
}

/// Runs that are treated as one.
pub struct Group {
    /// The run's name, or the words that named the group.
    pub label: String,
    /// Its runs, at least one.
    pub runs: Vec<RunData>,
    /// Seeds that were left out because another run of the group continues them.
    pub(crate) continued: Vec<Continuation>,
}

impl SeedData {
    /// The recorded reason of its failure.
    pub fn reason(&self) -> Option<&str> {
        self.failure.as_ref()?.reason.as_deref()
    }
    /// A series, if it has any point.
    pub fn series(&self, kind: &str, name: &str) -> Option<&Series> {
        self.metrics.get(kind, name)
    }

    /// Every readable evaluation during training, by step; then those of `rlx
    /// eval`, by name.
    pub fn evaluations(&self) -> Outcome<Vec<(String, EvaluationRecord)>> {
        let mut found = Vec::new();
        for evaluation in self.folder.evaluations()? {
            let Ok(content) = evaluation.content else { continue };
            if let Ok(record) = serde_json::from_value::<EvaluationRecord>(content) {
                found.push((evaluation.name, record));
            }
        }
        found.sort_by(|(a, x), (b, y)| {
            let during = |name: &str| !name.starts_with("step_");
            (during(a), x.step, a).cmp(&(during(b), y.step, b))
        });
        Ok(found)
    }
}

/// The fewest and the most steps that any of the seeds has done, those of the runs that it extends included.
pub(crate) fn steps_of<'m>(seeds: impl Iterator<Item = (&'m RunData, &'m SeedData)>) -> (u64, u64) {
    let steps = seeds.map(|(run, seed)| seed.metrics.last_step.max(run.ancestry.start(seed.seed)));
    let found = steps.fold(None, |found: Option<(u64, u64)>, steps| match found {
        Some((low, high)) => Some((low.min(steps), high.max(steps))),
        None => Some((steps, steps)),
    });
    found.unwrap_or((0, 0))
}

impl RunData {
    /// As [`steps_of`], of all its seeds.
    pub(crate) fn steps(&self) -> (u64, u64) {
        steps_of(self.seeds.iter().map(|seed| (self, seed)))
    }

    /// The evaluation at which a seed stopped before its last step, if it did.
    pub(crate) fn stopped_early(&self, seed: &SeedData) -> Option<Best> {
        let asked = self.metadata.extra.contains_key(crate::training::recorded::STOP_AT);
        asked.then(|| stop_of(&seed.folder)).flatten().filter(|stop| stop.step < self.metadata.total_steps)
    }
}

impl Group {
    pub(crate) fn new(label: String, runs: Vec<RunData>) -> Self {
        Self { label, runs, continued: Vec::new() }
    }

    pub fn seeds(&self) -> impl Iterator<Item = (&RunData, &SeedData)> {
        self.runs.iter().flat_map(|run| run.seeds.iter().map(move |seed| (run, seed)))
    }
}

/// The groups that `words` name, one each, with the metrics that `wanted` accepts by kind and name.
pub fn load(
    context: &Context,
    words: &[String],
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<Vec<Group>> {
    let project = project(context)?;
    let mut named = Vec::new();
    for word in words {
        named.push((word.clone(), runs_and_seeds(&project, word)?));
    }
    // Seeds are read in parallel, across runs.
    let runs: Vec<RunData> = {
        let mut prepared =
            named.iter().flat_map(|(_, runs)| runs).map(prepare).collect::<Outcome<Vec<RunData>>>()?;
        read_metrics(context.cores, &mut prepared, wanted)?;
        prepared
    };
    let mut runs = runs.into_iter();
    let mut groups = Vec::new();
    for (word, members) in named {
        let runs: Vec<RunData> = runs.by_ref().take(members.len()).collect();
        let label = match (&*runs, &*members) {
            ([run], [RunSeeds { seeds: None, .. }]) => run.name.clone(),
            _ => word,
        };
        groups.push(Group::new(label, runs));
    }
    Ok(groups)
}

/// Each run once, those of one config together, whatever words named them. The name of a group is that of its runs.
pub(crate) fn by_config(groups: Vec<Group>) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    let mut places: BTreeMap<Vec<(String, String)>, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for run in groups.into_iter().flat_map(|group| group.runs) {
        if !seen.insert(run.run.path().to_owned()) {
            continue;
        }
        let place = *places.entry(fold::identity_of(&run)).or_insert(found.len());
        match found.get_mut(place) {
            Some(group) => group.runs.push(run),
            None => found.push(Group::new(String::new(), vec![run])),
        }
    }
    for group in &mut found {
        let names: Vec<&str> = group.runs.iter().map(|run| run.name.as_str()).collect();
        group.label = first_and_more(&names);
    }
    found
}

/// The first run, and how many more there are.
pub(crate) fn first_and_more(runs: &[&str]) -> String {
    match runs {
        [] => "no runs".to_owned(),
        [only] => (*only).to_owned(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Names in a sentence; long lists are truncated.
pub(crate) fn named(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    }
}

/// One run with the metrics that `wanted` accepts.
pub fn load_run(
    context: &Context,
    word: &str,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<RunData> {
    let (run, seed) = one_run_or_seed(&project(context)?, word)?;
    load_seeds(context, &RunSeeds { run, seeds: seed.map(|seed| [seed].into()) }, wanted)
}

/// One run without any metrics.
pub(crate) fn load_record(context: &Context, word: &str) -> Outcome<RunData> {
    let (run, seed) = one_run_or_seed(&project(context)?, word)?;
    prepare(&RunSeeds { run, seeds: seed.map(|seed| [seed].into()) })
}

/// Some seeds of a run with the metrics that `wanted` accepts.
pub(crate) fn load_seeds(
    context: &Context,
    chosen: &RunSeeds,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<RunData> {
    let mut prepared = vec![prepare(chosen)?];
    read_metrics(context.cores, &mut prepared, wanted)?;
    Ok(prepared.remove(0))
}

/// Everything of a run except its metrics.
fn prepare(chosen: &RunSeeds) -> Outcome<RunData> {
    let RunSeeds { run, seeds: wanted } = chosen;
    let metadata = run.metadata()?;
    let report = run.status()?;
    let end = report.attempt.and_then(|attempt| attempt.end);
    let config = crate::training::recorded::config_of(run)?;
    let seeds = run
        .seed_folders_of(&metadata)
        .into_iter()
        .filter(|folder| wanted.as_ref().is_none_or(|wanted| wanted.contains(&folder.seed())))
        .map(|folder| SeedData {
            seed: folder.seed(),
            folder,
            state: SeedState::Unfinished,
            failure: None,
            metrics: MetricColumns::default(),
        })
        .collect();
    Ok(RunData {
        name: run.name(),
        ancestry: Ancestry::of(run, &metadata),
        run: run.clone(),
        status: report.status,
        reason: end.as_ref().and_then(|end| end.reason.clone()),
        end,
        metadata,
        config,
        seeds,
        notes: Vec::new(),
    })
}

/// Reads the metrics of all seeds in parallel.
fn read_metrics(
    cores: usize,
    runs: &mut [RunData],
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<()> {
    let folders: Vec<SeedFolder> =
        runs.iter().flat_map(|run| run.seeds.iter().map(|seed| seed.folder.clone())).collect();
    let next = AtomicUsize::new(0);
    let read: Mutex<Vec<(usize, Outcome<Option<MetricColumns>>)>> = Mutex::new(Vec::new());
    let lane = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(folder) = folders.get(index) else { break };
            let columns = match folder.columns(&|kind, name| wanted(kind, name)) {
                // The file was removed; the other runs can still be read.
                Err(StoreError::Fs(error)) if error.is_not_found() => Ok(None),
                read => read.map(Some).map_err(Failure::from),
            };
            read.lock().expect("no lane panics while it holds the list").push((index, columns));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(folders.len()) {
            // Without a free thread this is slower, and that is all.
            if Builder::new().spawn_scoped(scope, lane).is_err() {
                break;
            }
        }
        lane();
    });
    let mut read = read.into_inner().expect("no lane panics while it holds the list");
    read.sort_by_key(|(index, _)| *index);
    let mut columns = read.into_iter().map(|(_, columns)| columns);
    for run in runs {
        let several = run.seeds.len() > 1;
        for seed in &mut run.seeds {
            let of = if several { format!("seed {}: ", seed.seed) } else { String::new() };
            seed.metrics = columns.next().expect("every folder was read")?.unwrap_or_else(|| {
                run.notes.push(format!("{of}metrics.jsonl is missing"));
                MetricColumns::default()
            });
            let last_step = seed.metrics.last_step;
            (seed.state, seed.failure) =
                state_of(run.status, run.end.as_ref(), &run.metadata, last_step, &seed.folder);
            for damage in &seed.metrics.damage {
                run.notes.push(format!("{of}metrics.jsonl, {damage}"));
            }
            if let Some(torn) = &seed.metrics.torn_tail
                && run.status != RunStatus::Running
            {
                run.notes.push(format!(
                    "{of}metrics.jsonl ends in the middle of a record at byte {}; everything before it was read",
                    torn.offset
                ));
            }
        }
    }
    Ok(())
}

/// Why a seed failed.
#[derive(Clone, Debug)]
pub struct SeedFailure {
    pub cause: EndCause,
    /// The recorded reason.
    pub reason: Option<String>,
}

/// The state of a seed, and why it failed if it did.
pub(crate) fn state_of(
    status: RunStatus,
    end: Option<&End>,
    metadata: &Metadata,
    last_step: u64,
    folder: &SeedFolder,
) -> (SeedState, Option<SeedFailure>) {
    // A completed run has finished every seed, some of them early with `--stop-at`.
    if status == RunStatus::Completed {
        return (SeedState::Finished, None);
    }
    let own = end.and_then(|end| end.seeds.get(&folder.seed()));
    let stopped =
        || metadata.extra.contains_key(crate::training::recorded::STOP_AT) && stop_of(folder).is_some();
    // A seed that diverges in its last update has all steps and is still not finished.
    if own.is_none() && (last_step >= metadata.total_steps || stopped()) {
        return (SeedState::Finished, None);
    }
    let Some(end) = end.filter(|_| status == RunStatus::Failed) else { return (SeedState::Unfinished, None) };
    let (cause, reason) = match (own, end.seeds.is_empty()) {
        (Some(own), _) => (end.cause_of(folder.seed()), Some(own.clone())),
        // It was stopped with the others and did not fail itself.
        (None, false) => return (SeedState::Unfinished, None),
        (None, true) => {
            let reason = end.reason.as_deref().map(|reason| of_the_whole_run(reason, folder.seed()));
            (end.cause(), reason)
        }
    };
    match cause.unwrap_or(EndCause::Other) {
        // What stopped it says nothing about what was trained, and the run can be resumed.
        EndCause::Storage | EndCause::Interrupted | EndCause::Killed => (SeedState::Unfinished, None),
        cause @ (EndCause::Diverged | EndCause::OutOfMemory | EndCause::Other) => {
            (SeedState::Failed, Some(SeedFailure { cause, reason }))
        }
    }
}

/// A seed's reason if only the run has one. Older versions recorded that of one seed, `diverged: seed 3: …`; of the
/// others only the kind is known.
fn of_the_whole_run(reason: &str, seed: u64) -> String {
    let of_another = reason.contains("seed ") && !reason.contains(&format!("seed {seed}:"));
    if of_another { reason.split(':').next().unwrap_or(reason).to_owned() } else { reason.to_owned() }
}

/// The evaluation at which a seed stopped early, according to its newest checkpoint.
pub(crate) fn stopped_early(manifest: &Manifest) -> Option<Best> {
    let stopped = manifest.facts.get("stopped_early") == Some(&true.into());
    let score = manifest.facts.get("last_score").and_then(serde_json::Value::as_f64);
    stopped.then_some(Best { step: manifest.step, score: score.unwrap_or(f64::NAN) })
}

/// Like [`stopped_early`], for a folder whose newest checkpoint was not read yet.
pub(crate) fn stop_of(folder: &SeedFolder) -> Option<Best> {
    let store = folder.checkpoints();
    let newest = store.link(rlxp_store::LATEST).ok().flatten()?;
    stopped_early(&store.manifest(newest).ok()?)
}
