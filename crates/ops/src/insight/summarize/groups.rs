//! Many runs: grouped by environment and config, with pooled seeds.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_analyze::aggregate::median;
use rlxp_analyze::selection::expected_maximum;
use rlxp_analyze::story::{Final, finals};
use rlxp_store::{Metadata, Run, RunRow};
use rlxp_types::RunStatus;
use rlxp_types::text::{one_line, shell_word};
use serde::Serialize;

use super::SetSummary;
use super::which::Chosen;
use crate::failure::{Failure, Outcome};
use crate::insight::group_names::{Unnamed, absent, names, shown};
use crate::insight::group_order::{BestOf, Worth, best_first, in_order};
use crate::insight::run_data::counting::{Continuation, Part, continued, counted_once};
use crate::insight::run_data::first_and_more;
use crate::insight::run_data::fold::{Training, identity};
use crate::insight::run_data::lineage::{Ancestor, Ancestry};
use crate::training::envs::reward_threshold;

/// Most runs that a command names.
const MOST_NAMED: usize = 6;

/// Number of runs by status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub runs: usize,
    /// Seeds of all runs.
    pub seeds: usize,
    pub completed: usize,
    pub failed: usize,
    /// Still running.
    pub running: usize,
    /// Interrupted, lost, or only created: not complete, and no process works on them.
    pub unfinished: usize,
    /// Runs whose state or record is unreadable.
    pub unknown: usize,
}

/// Runs of one config.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    /// What differs from the environment's other groups, or its first run; no two of them have the same.
    pub label: String,
    pub runs: Vec<String>,
    /// Seeds with a score, or failed.
    pub seeds: usize,
    /// Seeds without a score, of runs that did not fail.
    pub unscored: usize,
    /// Last evaluation of the seeds, failed ones scored below every other.
    pub result: Option<Final>,
    /// The best evaluation of any seed.
    pub best: Option<f64>,
    /// Steps planned per seed.
    pub total_steps: u64,
    /// The keys that vary within the environment, with this group's values.
    pub values: BTreeMap<String, String>,
    /// Runs by status.
    pub counts: Counts,
}

/// A key that takes several values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariedKey {
    pub key: String,
    /// Its values, in order of first occurrence.
    pub values: Vec<String>,
}

/// All runs of one environment.
#[derive(Clone, Debug, Serialize)]
pub struct EnvSummary {
    pub env: String,
    /// The return from which it counts as solved; none where a run changes the environment.
    pub threshold: Option<f64>,
    /// Its groups, best first.
    pub groups: Vec<GroupSummary>,
    /// How many groups `--best` left out; null if none.
    pub best_of: Option<BestOf>,
    /// The keys that differ between them.
    pub varied: Vec<VariedKey>,
    /// Groups with a score, those that `--best` left out included.
    pub scored_groups: usize,
    /// How many of them reach the threshold; null without one.
    pub solved_groups: Option<usize>,
    /// Number of pairs of groups that the table invites to compare.
    pub comparisons: usize,
    /// By how much the best of this many groups looks better than it is, if all were equally good.
    pub luck_of_the_best: Option<f64>,
    /// Whether `rlx compare` can judge the best two: they were measured alike and are not parts of the same trainings.
    pub judgeable: bool,
}

/// One run with what grouping needs.
struct Known {
    row: RunRow,
    keys: Vec<(String, String)>,
    total_steps: u64,
    threshold: Option<f64>,
    scores: Vec<SeedScores>,
    metadata: Metadata,
    ancestry: Ancestry,
}

/// What the newest checkpoint of a seed says.
struct SeedScores {
    seed: u64,
    /// The last evaluation.
    last: Option<f64>,
    /// The best evaluation, also of the runs that it extends.
    best: Option<f64>,
    /// The checkpoint's step.
    step: u64,
}

pub(super) fn summary(chosen: Chosen, best: Option<usize>) -> Outcome<SetSummary> {
    if chosen.runs.is_empty() {
        return Err(Failure::usage("no_runs", format!("no runs found: {}", chosen.what))
            .hint("rlx train configs/ppo_cartpole.yaml"));
    }
    let mut unreadable = Vec::new();
    let mut counts = Counts::default();
    let mut known: Vec<Known> = Vec::new();
    for (run, row) in chosen.runs {
        match read(&run, row.clone()) {
            Ok(found) => known.push(found),
            Err(error) => {
                counts.runs += 1;
                counts.unknown += 1;
                unreadable.push((row.name, row.problem.unwrap_or(error.message)));
            }
        }
    }
    known.iter().for_each(|run| counts.add(run.row.status, 0));
    let continued = left_out(&known).into_iter().map(|(_, one)| one).collect::<Vec<_>>();
    mark_repeated(&mut known);
    // Each group is the result of its own budget, but the seeds of a run and its extension are the same trainings.
    let in_two_rows = left_out(&known).len();
    counts.seeds = known.iter().map(|run| run.scores.len()).sum::<usize>() - in_two_rows;
    known.sort_by(|a, b| (&a.row.created, &a.row.name).cmp(&(&b.row.created, &b.row.name)));
    let mut by_env: BTreeMap<String, Vec<Known>> = BTreeMap::new();
    for run in known {
        by_env.entry(run.row.env.clone()).or_default().push(run);
    }
    let environments: Vec<EnvSummary> =
        by_env.into_iter().map(|(env, runs)| of_env(env, runs, best, &continued)).collect();
    let next = if chosen.own { next(&environments, counts.runs) } else { Vec::new() };
    let rows = if in_two_rows > 0 { "; each has a row, as the result of its own budget" } else { "" };
    let notes = counted_once(&continued).map(|note| note + rows).into_iter().collect();
    Ok(SetSummary { what: chosen.what, counts, environments, unreadable, notes, next })
}

/// The seeds that another run continues, by the place of their run and their own.
fn left_out<'k>(known: impl IntoIterator<Item = &'k Known>) -> Vec<((usize, usize), Continuation)> {
    let seeds = known.into_iter().enumerate();
    let seeds =
        seeds.flat_map(|(run, one)| one.parts().enumerate().map(move |(seed, part)| ((run, seed), part)));
    let (places, parts): (Vec<_>, Vec<_>) = seeds.unzip();
    continued(&parts).into_iter().map(|one| (places[one.place], one.continuation)).collect()
}

/// Leaves each training in its row once.
fn mark_repeated(known: &mut [Known]) {
    let mut rows: BTreeMap<Vec<(String, String)>, Vec<usize>> = BTreeMap::new();
    for (place, run) in known.iter().enumerate() {
        rows.entry(run.keys.clone()).or_default().push(place);
    }
    for runs in rows.into_values() {
        let out = left_out(runs.iter().map(|place| &known[*place]));
        let mut out: BTreeSet<(usize, usize)> = out.into_iter().map(|(place, _)| place).collect();
        // The same seed with bit-identical scores is the same training.
        let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
        for (run, place) in runs.iter().enumerate() {
            for (seed, score) in known[*place].scores.iter().enumerate() {
                let mut is_new = |last: f64| seen.insert((score.seed, last.to_bits()));
                if !out.contains(&(run, seed)) && score.last.is_some_and(|last| !is_new(last)) {
                    out.insert((run, seed));
                }
            }
        }
        for (run, place) in runs.into_iter().enumerate() {
            let mut seeds = 0..;
            known[place].scores.retain(|_| !seeds.next().is_some_and(|seed| out.contains(&(run, seed))));
        }
    }
}

impl Known {
    /// Its seeds, as far as counting them needs it.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let Self { row, metadata, ancestry, .. } = self;
        let training = Training::new(self.keys.clone(), metadata, ancestry);
        let beginning = ancestry.beginning(&training, metadata);
        self.scores.iter().map(move |seed| Part {
            run: &row.name,
            id: metadata.id,
            seed: seed.seed,
            ancestry,
            beginning: beginning.clone(),
            root: ancestry.root(metadata),
            decided: matches!(row.status, RunStatus::Completed | RunStatus::Failed),
            reached: seed.step.max(ancestry.start(seed.seed)),
            data: None,
        })
    }
}

fn read(run: &Run, row: RunRow) -> Outcome<Known> {
    let config = crate::training::recorded::config_of(run)?;
    let metadata = run.metadata()?;
    let ancestry = Ancestry::of(run, &metadata);
    let folders = run.seed_folders_of(&metadata);
    let scores = folders.iter().map(|folder| {
        let store = folder.checkpoints();
        let newest = store.steps().unwrap_or_default().into_iter().rev();
        let manifest = newest.filter_map(|step| store.manifest(step).ok()).next();
        let last = manifest.as_ref().and_then(|found| found.facts.get("last_score")?.as_f64());
        let step = manifest.as_ref().map_or(0, |found| found.step);
        let best = manifest.and_then(|found| found.best).map(|best| best.score);
        // A whole training is as good as its best part.
        let best = best.into_iter().chain(earlier_best(&ancestry, folder.seed())).reduce(f64::max);
        SeedScores { seed: folder.seed(), last, best, step }
    });
    let scores = scores.collect();
    let (total_steps, threshold) = (config.total_steps(), reward_threshold(&config.env));
    let keys = identity(&config, &metadata, &ancestry);
    Ok(Known { row, keys, total_steps, threshold, scores, metadata, ancestry })
}

/// The best evaluation of a seed in the runs that were extended, before they were.
fn earlier_best(ancestry: &Ancestry, seed: u64) -> Option<f64> {
    let of_parent = |parent: &Ancestor| {
        let folders = parent.run.seed_folders_of(&parent.metadata);
        let store = folders.into_iter().find(|folder| folder.seed() == seed)?.checkpoints();
        let until = parent.extended.checkpoints.get(&seed).copied().or(parent.extended.checkpoint)?;
        let step = store.steps().ok()?.into_iter().rfind(|step| *step <= until)?;
        let best = store.manifest(step).ok()?.best?;
        Some(best.score)
    };
    ancestry.runs.iter().filter_map(of_parent).reduce(f64::max)
}

impl Counts {
    fn add(&mut self, status: RunStatus, seeds: usize) {
        self.runs += 1;
        self.seeds += seeds;
        match status {
            RunStatus::Completed => self.completed += 1,
            RunStatus::Failed => self.failed += 1,
            RunStatus::Running => self.running += 1,
            RunStatus::Interrupted | RunStatus::Lost | RunStatus::Created => self.unfinished += 1,
            RunStatus::Unknown => self.unknown += 1,
        }
    }
}

fn of_env(env: String, runs: Vec<Known>, best: Option<usize>, continued: &[Continuation]) -> EnvSummary {
    // Unknown unless it holds for all runs: some may have other arguments.
    let threshold = runs[0].threshold.filter(|_| runs.iter().all(|run| run.threshold.is_some()));
    let mut grouped: Vec<Vec<Known>> = Vec::new();
    let mut places: BTreeMap<Vec<(String, String)>, usize> = BTreeMap::new();
    for run in runs {
        let place = *places.entry(run.keys.clone()).or_insert(grouped.len());
        if place == grouped.len() {
            grouped.push(Vec::new());
        }
        grouped[place].push(run);
    }
    let varied = varied(&grouped);
    let groups: Vec<GroupSummary> = grouped.iter().map(|runs| of_group(runs, &varied)).collect();
    let worths: Vec<Option<Worth>> = groups
        .iter()
        .map(|group| group.result.map(|result| Worth { iqm: result.iqm, mean: result.mean }))
        .collect();
    let places = best_first(&worths);
    let mut groups = in_order(groups, &places);
    let scored: Vec<&Final> = groups.iter().filter_map(|group| group.result.as_ref()).collect();
    // The standard error of a group's score. Groups of one seed have no deviation of their own.
    let deviations: Vec<f64> = scored.iter().filter_map(|result| result.deviation).collect();
    let errors: Vec<f64> = scored
        .iter()
        .map(|result| (result.seeds as f64).sqrt())
        .map(|root| if deviations.is_empty() { f64::NAN } else { median(&deviations) / root })
        .collect();
    let luck = (scored.len() > 1 && !deviations.is_empty())
        .then(|| median(&errors) * expected_maximum(scored.len() as u32));
    let scored_groups = scored.len();
    let solved = |threshold: f64| scored.iter().filter(|result| result.iqm >= threshold).count();
    let solved_groups = threshold.map(solved);
    let first = groups.iter().filter(|group| group.result.is_some()).take(2).collect::<Vec<_>>();
    let judgeable = matches!(first.as_slice(), [best, second] if is_judgeable(best, second, continued));
    let all = groups.len();
    groups.truncate(best.unwrap_or(all));
    let unnamed = groups.iter().zip(&places).map(|(group, place)| {
        let identities = grouped[*place].iter().map(|run| run.keys.clone());
        Unnamed::new(group.label.clone(), identities)
    });
    let names = names(&unnamed.collect::<Vec<_>>());
    for (group, name) in groups.iter_mut().zip(names) {
        group.label = name.label;
    }
    EnvSummary {
        threshold,
        env,
        varied,
        scored_groups,
        solved_groups,
        comparisons: scored_groups * scored_groups.saturating_sub(1) / 2,
        luck_of_the_best: luck,
        judgeable,
        best_of: BestOf::new(groups.len(), all),
        groups,
    }
}

/// Every key that groups differ in, with its values.
fn varied(grouped: &[Vec<Known>]) -> Vec<VariedKey> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in grouped.iter().flat_map(|runs| &runs[0].keys) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let values_of = |key: &str| {
        let mut values: Vec<String> = Vec::new();
        for runs in grouped {
            let own = runs[0].keys.iter().find(|(own, _)| own == key);
            let value = own.map_or_else(|| absent(key).to_owned(), |(_, value)| shown(value));
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let all = keys.into_iter().map(|key| VariedKey { key: key.to_owned(), values: values_of(key) });
    all.filter(|key| key.values.len() > 1).collect()
}

fn of_group(runs: &[Known], varied: &[VariedKey]) -> GroupSummary {
    let mut counts = Counts::default();
    let mut scores = Vec::new();
    let mut unscored = 0;
    for run in runs {
        counts.add(run.row.status, run.scores.len());
        for SeedScores { last, .. } in &run.scores {
            match (run.row.status, last) {
                // Whether a seed finished before its run failed is unknown here; its steps are known.
                (RunStatus::Failed, Some(last)) if run.row.steps >= run.row.total_steps => scores.push(*last),
                (RunStatus::Failed, _) => scores.push(f64::NAN),
                (_, Some(last)) => scores.push(*last),
                (_, None) => unscored += 1,
            }
        }
    }
    let best = runs.iter().flat_map(|run| run.scores.iter().filter_map(|seed| seed.best)).reduce(f64::max);
    let label = first_and_more(&runs.iter().map(|run| run.row.name.as_str()).collect::<Vec<_>>());
    let value = |key: &str| {
        let own = runs[0].keys.iter().find(|(own, _)| own == key);
        own.map_or_else(|| absent(key).to_owned(), |(_, value)| shown(value))
    };
    let values = varied.iter().map(|varied| (varied.key.clone(), value(&varied.key)));
    GroupSummary {
        label,
        runs: runs.iter().map(|run| run.row.name.clone()).collect(),
        seeds: scores.len(),
        unscored,
        result: finals(&scores),
        best,
        total_steps: runs[0].total_steps,
        values: values.collect(),
        counts,
    }
}

/// `A+B+…` for the runs of a group; `None` if there are too many to type.
fn word(group: &GroupSummary) -> Option<String> {
    let plain = group
        .runs
        .iter()
        .all(|name| shell_word(name) == *name && (group.runs.len() == 1 || !name.contains('+')));
    (group.runs.len() <= MOST_NAMED && plain).then(|| group.runs.join("+"))
}

/// Keys that make results incomparable, as far as they are known without reading the records.
fn is_measured_by(key: &str) -> bool {
    key.starts_with("eval.") || ["env.kwargs", "env.max_episode_steps", "stop_at"].contains(&key)
}

/// Whether `rlx compare` can judge two groups.
fn is_judgeable(a: &GroupSummary, b: &GroupSummary, continued: &[Continuation]) -> bool {
    // Nothing is learned from comparing a run with its own extension.
    let has = |group: &GroupSummary, name: &String| group.runs.contains(name);
    let both = |a, b| continued.iter().any(|one| has(a, &one.counted) && has(b, &one.left_out));
    let ended = |group: &GroupSummary| group.counts.runs == group.counts.completed + group.counts.failed;
    let alike = a.values.iter().all(|(key, value)| !is_measured_by(key) || b.values.get(key) == Some(value));
    let asked = |group: &GroupSummary| group.values.get("algo.total_timesteps").cloned();
    let same_budget = a.total_steps == b.total_steps || asked(a) == asked(b);
    !both(a, b) && !both(b, a) && ended(a) && ended(b) && alike && same_budget
}

fn next(environments: &[EnvSummary], runs: usize) -> Vec<String> {
    let mut commands = Vec::new();
    for env in environments {
        let scored = env.groups.iter().filter(|group| group.result.is_some());
        if let [best, second, ..] = scored.take(2).collect::<Vec<_>>().as_slice()
            && env.judgeable
            && let (Some(best), Some(second)) = (word(best), word(second))
        {
            commands.push(format!(
                "rlx compare {second} {best}    # {}: is the best better than the next?",
                one_line(&env.env)
            ));
        }
    }
    commands.truncate(4);
    if let [env] = environments
        && let [group] = env.groups.as_slice()
        && let Some(word) = word(group)
    {
        commands.push(format!("rlx analyze {word}"));
    } else if let Some(best) = environments.first().and_then(|env| env.groups.first()) {
        commands.push(format!("rlx analyze {}", shell_word(&best.runs[0])));
    }
    if runs > 1 {
        commands.push("rlx ls --sort best".to_owned());
    }
    commands
}
