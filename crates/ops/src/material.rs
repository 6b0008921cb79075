//! What comparing, drawing, diagnosing and reporting start from: runs as they
//! stand on disk, read once, with every oddity noted instead of hidden.
//!
//! A set of runs is named by words: a run as everywhere (`name`, `@last`, …),
//! `tag:TAG` for every run with that tag, or `A+B+…` for several runs that are
//! one group. Runs of a group fold their seeds: the seed is the unit of
//! replication, never the run folder.

pub(crate) mod fold;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rlxp_spec::Config;
use rlxp_store::{
    Index, Metadata, MetricColumns, Project, Run, RunFilter, SeedFolder, Series, StoreError, resolve,
};
use rlxp_types::RunStatus;
use serde::Serialize;

use crate::checkpoint_ref::project;
use crate::context::Context;
use crate::evaluation::EvaluationRecord;
use crate::failure::{Failure, Outcome};

/// How the training of one seed stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedState {
    /// It reached its last step, or stopped early as it was asked to.
    Finished,
    /// Its run ended before it did: diverged, killed, out of memory.
    Failed,
    /// Its run is still going on, or was interrupted and can be resumed.
    Unfinished,
}

/// One seed of a run.
pub struct SeedMaterial {
    /// The seed.
    pub seed: u64,
    /// Its folder.
    pub folder: SeedFolder,
    /// How its training stands.
    pub state: SeedState,
    /// Its metrics, as far as they were asked for.
    pub metrics: MetricColumns,
}

/// One run.
pub struct RunMaterial {
    /// The run.
    pub run: Run,
    /// Its name.
    pub name: String,
    /// Its description.
    pub metadata: Metadata,
    /// How it stands, by proof.
    pub status: RunStatus,
    /// Why it failed, where it did.
    pub reason: Option<String>,
    /// The config it is trained from.
    pub config: Config,
    /// Its seeds.
    pub seeds: Vec<SeedMaterial>,
    /// What is wrong with its record, a sentence each.
    pub notes: Vec<String>,
}

/// Runs that are looked at as one.
pub struct Group {
    /// What to call it: the run's name, or the words that named the group.
    pub label: String,
    /// Its runs, at least one.
    pub runs: Vec<RunMaterial>,
}

impl SeedMaterial {
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

impl Group {
    /// Seeds of all runs.
    pub fn seeds(&self) -> impl Iterator<Item = (&RunMaterial, &SeedMaterial)> {
        self.runs.iter().flat_map(|run| run.seeds.iter().map(move |seed| (run, seed)))
    }
}

/// The groups that `words` name, one each, with the metrics that `wanted`
/// accepts by kind and name.
pub fn load(
    context: &Context,
    words: &[String],
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<Vec<Group>> {
    let project = project(context)?;
    let mut named = Vec::new();
    for word in words {
        named.push((word.clone(), runs_of(&project, word)?));
    }
    // Seeds are read side by side, whatever run they belong to.
    let runs: Vec<RunMaterial> = {
        let mut prepared =
            named.iter().flat_map(|(_, runs)| runs).map(prepare).collect::<Outcome<Vec<RunMaterial>>>()?;
        read_metrics(context.cores, &mut prepared, wanted)?;
        prepared
    };
    let mut runs = runs.into_iter();
    let mut groups = Vec::new();
    for (word, members) in named {
        let runs: Vec<RunMaterial> = runs.by_ref().take(members.len()).collect();
        let label = if runs.len() == 1 { runs[0].name.clone() } else { word };
        groups.push(Group { label, runs });
    }
    Ok(groups)
}

/// One run with the metrics that `wanted` accepts.
pub fn load_run(
    context: &Context,
    word: &str,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<RunMaterial> {
    let run = resolve(&project(context)?, word)?;
    let mut prepared = vec![prepare(&run)?];
    read_metrics(context.cores, &mut prepared, wanted)?;
    Ok(prepared.remove(0))
}

/// The runs that one word names, each once.
fn runs_of(project: &Project, word: &str) -> Outcome<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    // A name may hold a plus itself, so the whole word comes first.
    if let Ok(run) = resolve(project, word) {
        return Ok(vec![run]);
    }
    for part in word.split('+') {
        if let Some(tag) = part.strip_prefix("tag:") {
            let filter = RunFilter { tags: vec![tag.to_owned()], ..RunFilter::default() };
            let mut rows = Index::open(project).list(&filter)?;
            rows.sort_by(|a, b| (&a.created, &a.name).cmp(&(&b.created, &b.name)));
            if rows.is_empty() {
                return Err(Failure::usage("no_such_tag", format!("no run has the tag {tag:?}"))
                    .hint("rlx ls --columns name,tags"));
            }
            runs.extend(rows.iter().map(|row| project.run(&row.name)));
        } else {
            runs.push(resolve(project, part)?);
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    runs.retain(|run| seen.insert(run.path().to_owned()));
    Ok(runs)
}

/// Everything of a run but its metrics.
fn prepare(run: &Run) -> Outcome<RunMaterial> {
    let metadata = run.metadata()?;
    let report = run.status()?;
    let config = crate::worker::snapshot(run)?;
    let seeds = run
        .seed_folders_of(&metadata)
        .into_iter()
        .map(|folder| SeedMaterial {
            seed: folder.seed(),
            folder,
            state: SeedState::Unfinished,
            metrics: MetricColumns::default(),
        })
        .collect();
    Ok(RunMaterial {
        name: run.name(),
        run: run.clone(),
        status: report.status,
        reason: report.attempt.and_then(|attempt| attempt.end).and_then(|end| end.reason),
        metadata,
        config,
        seeds,
        notes: Vec::new(),
    })
}

/// Reads the metrics of all seeds over the cores.
fn read_metrics(
    cores: usize,
    runs: &mut [RunMaterial],
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
                // Somebody removed the file: the rest of the runs can still be looked at.
                Err(StoreError::Fs(error)) if error.is_not_found() => Ok(None),
                read => read.map(Some).map_err(Failure::from),
            };
            read.lock().expect("no lane panics while it holds the list").push((index, columns));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(folders.len()) {
            scope.spawn(lane);
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
            seed.state =
                state_of(run.status, run.reason.as_deref(), &run.metadata, &seed.metrics, &seed.folder);
            for damage in &seed.metrics.damage {
                run.notes.push(format!("{of}metrics.jsonl, byte {}: {}", damage.offset, damage.why));
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

/// What a failure's reason begins with when the disk is to blame and not the training.
const STORAGE_REASONS: [&str; 3] = ["storage:", "disk_full:", "damaged:"];

fn state_of(
    status: RunStatus,
    reason: Option<&str>,
    metadata: &Metadata,
    metrics: &MetricColumns,
    folder: &SeedFolder,
) -> SeedState {
    // A run that ended well has finished every seed, some of them early if it was told to.
    if metrics.last_step >= metadata.total_steps || status == RunStatus::Completed {
        return SeedState::Finished;
    }
    let may_stop_early = metadata.extra.contains_key(crate::train::STOP_AT);
    if may_stop_early && stopped_early(folder) {
        return SeedState::Finished;
    }
    // A full disk says nothing about what was trained, and the run can be resumed.
    let is_storage = reason.is_some_and(|reason| STORAGE_REASONS.iter().any(|word| reason.starts_with(word)));
    if status == RunStatus::Failed && !is_storage { SeedState::Failed } else { SeedState::Unfinished }
}

/// Whether the newest checkpoint says that the seed stopped because it was good enough.
fn stopped_early(folder: &SeedFolder) -> bool {
    let store = folder.checkpoints();
    let newest = store.link(rlxp_store::LATEST).ok().flatten();
    let manifest = newest.and_then(|step| store.manifest(step).ok());
    manifest.is_some_and(|manifest| manifest.facts.get("stopped_early") == Some(&true.into()))
}
