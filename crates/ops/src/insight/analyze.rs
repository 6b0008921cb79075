//! `rlx analyze`: what happened in runs, over time and across seeds. Every sentence carries the claims it makes about
//! a metric, its steps and values.
//!
//! The score is the return of the evaluations during training, or of the training episodes if nothing was evaluated.
//! `rlxp_analyze::story` describes its curve; this module adds what only the run folder and the environment know:
//! checkpoints, times, a random policy, and the policy's own metrics.

mod cost;
mod findings;
mod policy;
mod score;
mod twins;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rlxp_analyze::story::{Baseline, Claim, Over, Statement, Statistic, Story, tell};
pub use rlxp_analyze::story::{Best, Topic};
use rlxp_learn::{Actor, evaluate};
use rlxp_spec::Config;
use rlxp_store::{BEST, MetricColumns};
use rlxp_types::RunStatus;
use rlxp_types::text::{grouped, shell_word};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::compare::origin;
use crate::insight::run_data::counting::{count_once, counted_once};
use crate::insight::run_data::joined::{Joined, join_training};
use crate::insight::run_data::{Group, RunData, load, named_once, steps_of};
use crate::training::envs::SOURCES;
use crate::training::eval::FIRST_SEED;

pub(crate) use cost::duration;
pub use findings::TopFinding;
pub(crate) use findings::findings;
pub(crate) use score::score;

/// Longest label, in characters.
const LONGEST_LABEL: usize = 60;
/// Episodes of the random policy.
const BASELINE_EPISODES: usize = 50;

/// What to analyse.
#[derive(Clone, Debug, Default)]
pub struct AnalyzeRequest {
    /// Runs, `tag:TAG` or `A+B`; each is described separately.
    pub words: Vec<String>,
    /// Leave out the random policy.
    pub no_baseline: bool,
}

/// A run of a group.
#[derive(Clone, Debug, Serialize)]
pub struct AnalyzedRun {
    pub name: String,
    pub status: RunStatus,
    /// Why it failed, if it did.
    pub reason: Option<String>,
    pub seeds: Vec<u64>,
}

/// What happened in one run, or in several as one group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupAnalysis {
    pub label: String,
    pub runs: Vec<AnalyzedRun>,
    pub env: String,
    pub algo: String,
    /// Steps that the furthest seed has done.
    pub steps: u64,
    /// Steps that the seed with the fewest has done.
    pub fewest_steps: u64,
    /// Steps planned per seed, by its first run.
    pub total_steps: u64,
    /// Whether all runs plan as many.
    pub equal_budgets: bool,
    /// The score, `eval/mean_return` or `train/mean_return`.
    pub metric: String,
    /// The score of a random policy.
    pub baseline: Option<Baseline>,
    /// What happened.
    #[serde(flatten)]
    pub story: Story,
    /// The findings of `rlx diagnose`, worst first.
    pub findings: Vec<TopFinding>,
    /// Problems of the record.
    pub notes: Vec<String>,
    /// Commands to continue with.
    pub next: Vec<String>,
}

/// All groups.
#[derive(Clone, Debug, Serialize)]
pub struct AnalysisReport {
    pub groups: Vec<GroupAnalysis>,
}

pub fn analyze(context: &Context, request: &AnalyzeRequest) -> Outcome<AnalysisReport> {
    if request.words.is_empty() {
        return Err(
            Failure::usage("nothing_to_analyze", "expected at least one run").hint("rlx analyze @last")
        );
    }
    let mut groups = load(context, &request.words, &crate::insight::diagnose::wanted)?;
    let repeated = named_once(&mut groups, 1);
    let mut analyses = groups
        .iter_mut()
        .map(|group| group_analysis(context, group, request))
        .collect::<Outcome<Vec<GroupAnalysis>>>()?;
    if let (Some(note), Some(first)) = (repeated, analyses.first_mut()) {
        first.notes.insert(0, note);
    }
    Ok(AnalysisReport { groups: analyses })
}

fn group_analysis(context: &Context, group: &mut Group, request: &AnalyzeRequest) -> Outcome<GroupAnalysis> {
    let mut of_each_run = OfEachRun::keep(group);
    join_training(context, group)?;
    count_once(group);
    let mut notes: Vec<String> = counted_once(&group.continued).into_iter().collect();
    notes.extend(twins::fold(group));
    // Rules are about one run; the story is about the whole training.
    of_each_run.swap(group);
    let (findings, undiagnosed) = findings(&group.runs);
    of_each_run.swap(group);
    notes.extend(undiagnosed);
    let Joined { included, late } = Joined::of(std::slice::from_ref(group));
    notes.extend(included.into_iter().chain(late));
    let group: &Group = group;
    let first = &group.runs[0];
    for run in &group.runs {
        let whose = if group.runs.len() > 1 { format!("{}: ", run.name) } else { String::new() };
        notes.extend(run.notes.iter().map(|note| format!("{whose}{note}")));
    }
    notes.extend(twins::differences(group));
    let baseline = if request.no_baseline { None } else { random_policy(&first.config) };
    let (subject, seeds) = score(group, baseline);
    let mut story = tell(&subject, &seeds);
    story.statements.extend(checkpoints(group, &story));
    story.statements.extend(cost::statements(group));
    story.statements.extend(policy::statements(group));
    // Unknowns come last; otherwise the order within topics stays.
    story.statements.sort_by_key(|statement| (statement.topic == Topic::Unknown, place(statement.topic)));
    let runs = group.runs.iter().map(|run| AnalyzedRun {
        name: run.name.clone(),
        status: run.status,
        reason: run.reason.clone(),
        seeds: run.seeds.iter().map(|seed| seed.seed).collect(),
    });
    let (fewest_steps, steps) = steps_of(group.seeds());
    Ok(GroupAnalysis {
        label: label(group),
        runs: runs.collect(),
        env: first.metadata.env.clone(),
        algo: first.metadata.algo.clone(),
        steps,
        fewest_steps,
        total_steps: first.metadata.total_steps,
        equal_budgets: group.runs.iter().all(|run| run.metadata.total_steps == first.metadata.total_steps),
        metric: format!("{}/{}", subject.kind, subject.metric),
        baseline,
        next: next(group, &story, &findings),
        story,
        findings,
        notes,
    })
}

/// The metrics of runs that extend others, as their own files have them.
struct OfEachRun(BTreeMap<(PathBuf, u64), MetricColumns>);

impl OfEachRun {
    fn keep(group: &Group) -> Self {
        let extended = group.seeds().filter(|(run, _)| run.ancestry.extends());
        Self(extended.map(|(run, seed)| (Self::key(run, seed.seed), seed.metrics.clone())).collect())
    }

    /// Exchanges the metrics of the group for those kept here.
    fn swap(&mut self, group: &mut Group) {
        for run in &mut group.runs {
            let keys: Vec<_> = run.seeds.iter().map(|seed| Self::key(run, seed.seed)).collect();
            for (seed, key) in run.seeds.iter_mut().zip(keys) {
                if let Some(own) = self.0.get_mut(&key) {
                    std::mem::swap(&mut seed.metrics, own);
                }
            }
        }
    }

    fn key(run: &RunData, seed: u64) -> (PathBuf, u64) {
        (run.run.path().to_owned(), seed)
    }
}

/// The group's name in text: its word, unless that is a long list.
fn label(group: &Group) -> String {
    if group.label.chars().count() <= LONGEST_LABEL {
        return group.label.clone();
    }
    format!("{} and {} more", group.runs[0].name, group.runs.len() - 1)
}

/// The position of a topic in the report.
fn place(topic: Topic) -> usize {
    const ORDER: [Topic; 11] = [
        Topic::Result,
        Topic::Baseline,
        Topic::Onset,
        Topic::Phase,
        Topic::Reach,
        Topic::Best,
        Topic::Stability,
        Topic::Seeds,
        Topic::Policy,
        Topic::Efficiency,
        Topic::Unknown,
    ];
    ORDER.iter().position(|known| *known == topic).unwrap_or(ORDER.len())
}

/// The score of random actions on the episodes that `rlx eval` plays; `None` if the environment is unknown here.
fn random_policy(config: &Config) -> Option<Baseline> {
    let played = evaluate(SOURCES, config, Actor::Random, BASELINE_EPISODES, FIRST_SEED).ok()?;
    let episodes = played.episodes.len();
    let standard_error = played.deviation() / (episodes as f64).sqrt();
    Some(Baseline { mean: played.mean_return(), standard_error, episodes })
}

/// Describes which checkpoint has the best evaluation. That of an extended run may be in a run that it extends.
fn checkpoints(group: &Group, story: &Story) -> Option<Statement> {
    let seeds: Vec<_> = group.seeds().collect();
    let (index, best) = story
        .seeds
        .iter()
        .enumerate()
        .filter_map(|(index, seed)| Some((index, seed.best?)))
        .reduce(|best, next| if next.1.value > best.1.value { next } else { best })?;
    let (run, seed) = seeds.get(index)?;
    let own = (run.run.clone(), seed.folder.clone());
    let earlier = run.ancestry.runs.iter().filter_map(|parent| {
        let folders = parent.run.seed_folders().ok()?;
        Some((parent.run.clone(), folders.into_iter().find(|folder| folder.seed() == seed.seed)?))
    });
    let linked = std::iter::once(own).chain(earlier).filter_map(|(run, folder)| {
        let store = folder.checkpoints();
        Some((store.link(BEST).ok().flatten()?, run, store))
    });
    let mut linked: Vec<_> = linked.collect();
    let place = linked.iter().position(|(link, ..)| *link == best.step).unwrap_or(0);
    let (link, run, store) = (place < linked.len()).then(|| linked.swap_remove(place))?;
    let whose = match (group.runs.len(), seeds.len()) {
        (1, 1) => String::new(),
        (1, _) => format!(" of seed {}", seed.seed),
        _ => format!(" of {}, seed {}", run.name(), seed.seed),
    };
    let path = store.step_path(link);
    let path = path.strip_prefix(run.path().parent().and_then(std::path::Path::parent)?).unwrap_or(&path);
    let text = format!("The best checkpoint{whose} is at step {}: {}.", grouped(link), path.display());
    let statement = Statement::new(Topic::Best, ("eval", "mean_return"), (link, link), &[seed.seed], text);
    let claim = Claim::new(Over::Seed(index), Statistic::First, (link, link), best.value);
    Some(statement.claiming((best.step == link).then_some(claim)))
}

fn next(group: &Group, story: &Story, findings: &[TopFinding]) -> Vec<String> {
    let name = shell_word(&group.runs[0].name);
    let mut commands = Vec::new();
    for run in &group.runs {
        commands.extend(crate::training::next_step::commands(&run.run));
    }
    commands.truncate(3);
    if let Some(origin) = origin(&group.runs[0]).filter(|_| story.seeds.len() < 5) {
        let fresh = story.seeds.iter().map(|seed| seed.seed).max().unwrap_or(0).saturating_add(1);
        commands.push(format!(
            "rlx train {} --set seed={fresh} --set seeds={}{origin}    # more seeds, to distinguish skill from luck",
            shell_word(&format!("runs/{}/config_snapshot.yaml", group.runs[0].name)),
            5 - story.seeds.len().min(4)
        ));
    }
    let diagnose = format!("rlx diagnose {name}");
    if !findings.is_empty() && !commands.contains(&diagnose) {
        commands.push(diagnose);
    }
    commands.push(format!("rlx explain-metrics {name}"));
    commands
}
