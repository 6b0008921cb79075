//! One run in a paragraph.

use rlxp_analyze::story::{Final, Phase, Statement, Topic, tell};
use rlxp_store::{BEST, Best, Run};
use rlxp_types::RunStatus;
use rlxp_types::text::{between, grouped, number, one_line, shell_word};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::analyze::{TopFinding, duration, findings, score};
use crate::insight::config_keys::{KeyChange, unusual};
use crate::insight::diagnose::Severity;
use crate::insight::run_data::joined::{Joined, join_training};
use crate::insight::run_data::{Group, SeedState, load_run};
use crate::training::recorded::STOP_AT;

/// Keys that a paragraph lists.
const MOST_KEYS: usize = 6;

/// The best checkpoint of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestCheckpoint {
    pub seed: u64,
    pub step: u64,
    /// Mean return of the evaluation that chose it.
    pub score: f64,
    /// Its folder.
    pub path: String,
}

/// A seed that stopped before its last step because it was good enough.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EarlyStop {
    pub seed: u64,
    /// Its last step.
    pub step: u64,
    /// Mean return of its last evaluation.
    pub score: f64,
}

/// A run in short.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// Its name.
    pub run: String,
    pub env: String,
    pub algo: String,
    pub status: RunStatus,
    /// Why it failed, where it did.
    pub reason: Option<String>,
    pub seeds: Vec<u64>,
    pub failed_seeds: Vec<u64>,
    /// Steps that the furthest seed has done.
    pub steps: u64,
    /// Steps that the seed with the fewest has done.
    pub fewest_steps: u64,
    /// Steps planned per seed.
    pub total_steps: u64,
    /// Mean evaluation return at which a seed stops early.
    pub stop_at: Option<f64>,
    /// The seeds that did.
    pub stopped_early: Vec<EarlyStop>,
    pub created: String,
    /// Seconds from the first to the last record.
    pub seconds: Option<f64>,
    /// The score, such as `eval/mean_return`.
    pub metric: String,
    /// The last score of the seeds.
    pub result: Option<Final>,
    /// The return from which the environment counts as solved.
    pub threshold: Option<f64>,
    /// The best checkpoint of any seed.
    pub best: Option<BestCheckpoint>,
    /// What the score did.
    pub phases: Vec<Phase>,
    /// Where the config differs from the starter; `None` if unknown.
    pub unusual: Option<Vec<KeyChange>>,
    /// What `rlx diagnose` finds, the worst first.
    pub findings: Vec<TopFinding>,
    /// What is wrong with the record.
    pub notes: Vec<String>,
    /// All of it as one paragraph.
    pub paragraph: String,
    /// Commands to continue with.
    pub next: Vec<String>,
}

pub(super) fn summary(context: &Context, word: &str) -> Outcome<RunSummary> {
    let run = load_run(context, word, &crate::insight::diagnose::wanted)?;
    let mut group = Group::new(run.name.clone(), vec![run]);
    // Rules and times are about this run, the story is about the whole training.
    let ((findings, undiagnosed), seconds) = (findings(&group.runs), seconds(&group));
    join_training(context, &mut group)?;
    let Joined { included, late } = Joined::of(std::slice::from_ref(&group));
    let (subject, courses) = score(&group, None);
    let story = tell(&subject, &courses);
    let run = &group.runs[0];
    let failed = run.seeds.iter().filter(|seed| seed.state == SeedState::Failed);
    let (fewest_steps, steps) = run.steps();
    let mut summary = RunSummary {
        run: run.name.clone(),
        env: run.metadata.env.clone(),
        algo: run.metadata.algo.clone(),
        status: run.status,
        reason: run.reason.clone(),
        seeds: run.seeds.iter().map(|seed| seed.seed).collect(),
        failed_seeds: failed.map(|seed| seed.seed).collect(),
        steps,
        fewest_steps,
        total_steps: run.metadata.total_steps,
        stop_at: run.metadata.extra.get(STOP_AT).and_then(serde_json::Value::as_f64),
        stopped_early: run
            .seeds
            .iter()
            .filter_map(|seed| Some((seed.seed, run.stopped_early(seed)?)))
            .map(|(seed, Best { step, score })| EarlyStop { seed, step, score })
            .collect(),
        created: run.metadata.created.clone(),
        seconds,
        metric: format!("{}/{}", subject.kind, subject.metric),
        result: story.result,
        threshold: subject.threshold,
        best: best(context, &group),
        phases: story.phases.clone(),
        unusual: unusual(context, &run.config),
        findings,
        notes: [run.notes.clone(), undiagnosed, included, late].concat(),
        paragraph: String::new(),
        next: Vec::new(),
    };
    summary.paragraph = paragraph(&summary, &story.statements);
    summary.next = next(&summary, &run.run);
    Ok(summary)
}

/// From the first to the last record of any seed.
fn seconds(group: &Group) -> Option<f64> {
    let walls = group.seeds().flat_map(|(_, seed)| {
        let series = seed.metrics.series.values().flat_map(|kind| kind.values());
        series.flat_map(|series| series.walls.first().into_iter().chain(series.walls.last())).copied()
    });
    let (low, high) = walls
        .filter(|wall| wall.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), wall| (low.min(wall), high.max(wall)));
    (high >= low).then_some(high - low)
}

fn best(context: &Context, group: &Group) -> Option<BestCheckpoint> {
    let of_seed = |seed: &crate::insight::run_data::SeedData| {
        let store = seed.folder.checkpoints();
        let step = store.link(BEST).ok().flatten()?;
        let manifest = store.manifest(step).ok()?;
        let score = manifest.best.map(|best| best.score)?;
        let path = store.step_path(step);
        let path = path.strip_prefix(&context.folder).unwrap_or(&path).display().to_string();
        Some(BestCheckpoint { seed: seed.seed, step, score, path })
    };
    let found = group.seeds().filter_map(|(_, seed)| of_seed(seed));
    found.reduce(|best, next| if next.score > best.score { next } else { best })
}

fn paragraph(run: &RunSummary, statements: &[Statement]) -> String {
    let seeds = match run.seeds.as_slice() {
        [one] => format!("seed {one}"),
        several => format!("{} seeds", several.len()),
    };
    let mut sentences = vec![format!(
        "{}: {} on {}, {seeds}, {} of {} steps per seed, {}{}.",
        run.run,
        run.algo.to_uppercase(),
        run.env,
        between(run.fewest_steps, run.steps),
        grouped(run.total_steps),
        run.status,
        run.seconds.map_or(String::new(), |seconds| format!(" after {}", duration(seconds)))
    )];
    if let Some(wanted) = run.stop_at {
        let stops: Vec<String> = run
            .stopped_early
            .iter()
            .map(|stop| format!("seed {} at step {}", stop.seed, grouped(stop.step)))
            .collect();
        sentences.push(match stops.as_slice() {
            [] => format!("No seed stopped early (at a return of {} or more).", number(wanted)),
            stops => {
                format!("Stopped early at a return of {} or more: {}.", number(wanted), stops.join(", "))
            }
        });
    }
    if let Some(reason) = &run.reason {
        sentences.push(format!("Stopped because: {}.", one_line(reason.trim_end_matches('.'))));
    }
    if !run.failed_seeds.is_empty() {
        let failed = run.failed_seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let scored =
            if run.failed_seeds.len() < run.seeds.len() { ", scored worse than all others" } else { "" };
        sentences.push(format!("Failed seeds{scored}: {failed}."));
    }
    let short = |topic: Topic| {
        let of = statements.iter().filter(move |statement| statement.topic == topic);
        of.filter_map(|statement| Some(format!("{}.", statement.short.as_ref()?)))
    };
    sentences.extend(short(Topic::Result));
    if run.result.is_none() {
        sentences.push("No final score.".to_owned());
    }
    if let Some(best) = &run.best {
        let whose = if run.seeds.len() > 1 { format!("seed {}, ", best.seed) } else { String::new() };
        sentences.push(format!(
            "Best checkpoint: {} ({whose}step {}).",
            number(best.score),
            grouped(best.step)
        ));
    }
    sentences.extend(short(Topic::Phase));
    let wrong: Vec<&TopFinding> =
        run.findings.iter().filter(|finding| finding.severity > Severity::Info).collect();
    if let Some(worst) = wrong.first() {
        let more = wrong.len() - 1;
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        sentences.push(format!("Diagnosis: {} ({}{rest}).", worst.title, worst.rule));
    }
    match run.unusual.as_deref() {
        Some([]) => sentences.push("Uses the starter config.".to_owned()),
        Some(changes) => {
            let shown: Vec<String> = changes
                .iter()
                .take(MOST_KEYS)
                .map(|change| format!("{} {} (starter: {})", change.key, change.value, change.usual))
                .collect();
            let more = changes.len().saturating_sub(MOST_KEYS);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            sentences.push(format!("Differs from the starter config in {}{rest}.", shown.join(", ")));
        }
        None => {}
    }
    if run.seeds.len() == 1 && run.result.is_some() {
        sentences.push("One seed can't distinguish skill from luck.".to_owned());
    }
    sentences.join(" ")
}

fn next(run: &RunSummary, record: &Run) -> Vec<String> {
    let name = shell_word(&run.run);
    let mut commands = crate::training::next_step::commands(record);
    let diagnose = format!("rlx diagnose {name}");
    if !run.findings.is_empty() && !commands.contains(&diagnose) {
        commands.push(diagnose);
    }
    commands.push(format!("rlx analyze {name}"));
    if run.best.is_some() {
        commands.push(format!("rlx eval --run {name}"));
    }
    commands
}
