//! `rlx eval`: seeded episodes of checkpoints and baselines, every episode kept.

use std::path::Path;

use rlxp_env::Sources;
use rlxp_learn::{Actor, evaluate};
use rlxp_spec::Config;
use rlxp_store::{BEST, LATEST, Run, SeedFolder};
use rlxp_types::text::shell_word;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::select::checkpoint::{CheckpointRef, step_of};
use crate::select::{Which, one_run_or_seed, project};
use crate::studies::files::{permit_training, refuse_governed};
use crate::training::bridge::Python;
use crate::training::config::{Purpose, check_source};
use crate::training::envs::{SOURCES, reward_threshold};
use crate::training::evaluation::{EvaluationRecord, record};
use crate::training::recorded::config_of;
use crate::training::train::project_for_new_run;
use crate::training::weights::Weights;

/// Seed of the first episode by default: never used in training or selection.
pub const FIRST_SEED: u64 = 20_000;

#[derive(Clone, Debug, Default)]
pub struct EvalRequest {
    pub checkpoint: Option<String>,
    /// A run: its best and latest checkpoints.
    pub run: Option<String>,
    /// Every checkpoint of the run.
    pub all_checkpoints: bool,
    /// Environment for a baseline without a run.
    pub env: Option<String>,
    /// Episodes per policy.
    pub episodes: usize,
    /// Seed of the first episode.
    pub seed: u64,
    /// Sample actions.
    pub stochastic: bool,
    /// Also play random actions.
    pub random: bool,
    /// Also play zero actions.
    pub zero: bool,
}

/// One evaluated policy.
#[derive(Clone, Debug, Serialize)]
pub struct EvalRow {
    /// `best`, `latest`, `step_N`, `random` or `zero`.
    pub policy: String,
    /// Training seed of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What was played.
    #[serde(flatten)]
    pub record: EvaluationRecord,
    /// The file that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct EvalReport {
    /// The run, if there is one.
    pub run: Option<String>,
    pub env: String,
    /// Return that counts as solved.
    pub threshold: Option<f64>,
    pub rows: Vec<EvalRow>,
}

/// Evaluates; calls `tell` for each finished row.
pub fn eval(context: &Context, request: &EvalRequest, tell: &mut dyn FnMut(&EvalRow)) -> Outcome<EvalReport> {
    if request.episodes == 0 {
        return Err(Failure::usage("no_episodes", "an evaluation needs at least one episode"));
    }
    refuse_governed(context)?;
    let mut rows = Vec::new();
    let mut push = |row: EvalRow| {
        tell(&row);
        rows.push(row);
    };
    let (run, config) = match (&request.checkpoint, &request.run, &request.env) {
        (Some(text), None, None) => {
            let found = CheckpointRef::each(context, text)?;
            let run = the_run(text, &found)?;
            let config = config_of(run)?;
            let python = python_for(context, run, &config)?;
            let table = python.table();
            let sources = Sources::new(&table);
            for CheckpointRef { folder, step, .. } in &found {
                push(play(sources, &config, folder, *step, &format!("step_{step}"), request)?);
            }
            (Some(run.clone()), config)
        }
        (None, Some(text), None) => {
            let (run, seed) = one_run_or_seed(&project(context)?, text)?;
            let config = config_of(&run)?;
            let python = python_for(context, &run, &config)?;
            let table = python.table();
            let sources = Sources::new(&table);
            for folder in run.seed_folders()?.iter().filter(|it| seed.is_none_or(|seed| it.seed() == seed)) {
                let mut played: Option<EvalRow> = None;
                for (label, step) in chosen(&run, folder, request.all_checkpoints)? {
                    // The best policy is often the latest: one game, two names.
                    let row = match played.filter(|row| row.record.step == Some(step)) {
                        Some(row) => EvalRow { policy: label, ..row },
                        None => play(sources, &config, folder, step, &label, request)?,
                    };
                    push(row.clone());
                    played = Some(row);
                }
            }
            (Some(run), config)
        }
        (None, None, Some(id)) if request.random || request.zero => (None, plain_config(context, id)?),
        (None, None, Some(_)) => {
            return Err(Failure::usage("nothing_to_evaluate", "--env needs a policy: add --baseline")
                .hint("rlx eval --env CartPole-v1 --baseline random"));
        }
        _ => {
            return Err(Failure::usage("nothing_to_evaluate", "expected a checkpoint, --run or --env")
                .hint("rlx eval --run @last"));
        }
    };
    let root = match &run {
        Some(run) => run.path().parent().and_then(Path::parent).unwrap_or(run.path()).to_owned(),
        None => project_for_new_run(context)?.root().to_owned(),
    };
    let python = Python::new(permit_training(context, &root)?, context, &root, &config.env, context.cores)?;
    let table = python.table();
    for (wanted, actor, label) in
        [(request.random, Actor::Random, "random"), (request.zero, Actor::Zero, "zero")]
    {
        if wanted {
            let played = evaluate(Sources::new(&table), &config, actor, request.episodes, request.seed)?;
            let record = record(None, label == "zero", request.seed, &played);
            push(EvalRow { policy: label.into(), seed: None, record, file: None });
        }
    }
    let threshold = reward_threshold(&config.env);
    Ok(EvalReport { run: run.map(|run| run.name()), env: config.env.id, threshold, rows })
}

/// The Python that the environments of a run need, if they need one.
fn python_for(context: &Context, run: &Run, config: &Config) -> Outcome<Python> {
    Python::of_run(permit_training(context, run.path())?, context, run, config)
}

/// The run that all the checkpoints belong to.
fn the_run<'a>(text: &str, found: &'a [CheckpointRef]) -> Outcome<&'a Run> {
    let mut runs: Vec<&Run> = found.iter().map(|found| &found.run).collect();
    runs.dedup_by_key(|run| run.path());
    match runs[..] {
        [run] => Ok(run),
        [] => Err(Failure::usage("no_checkpoint", format!("{text} has no checkpoint"))),
        _ => {
            let message = format!("{text:?} matches {} runs, expected one", runs.len());
            Err(Failure::with_kind(FailureKind::SeveralRuns, message)
                .hint(format!("rlx eval --run {}", shell_word(&runs[0].name()))))
        }
    }
}

/// The checkpoints to play, with what they are called.
fn chosen(run: &Run, folder: &SeedFolder, all: bool) -> Outcome<Vec<(String, u64)>> {
    let store = folder.checkpoints();
    if all {
        let steps = store.steps()?;
        return Ok(steps.into_iter().map(|step| (format!("step_{step}"), step)).collect());
    }
    let Some(latest) = store.link(LATEST)? else {
        let failure = Failure::usage("no_checkpoint", format!("{} has no checkpoint yet", run.name()));
        return Err(crate::training::next_step::commands(run).into_iter().fold(failure, Failure::hint));
    };
    let best = step_of(folder, Which::Best)?;
    Ok(vec![(BEST.to_owned(), best), (LATEST.to_owned(), latest)])
}

fn play(
    sources: Sources<'_>,
    config: &Config,
    folder: &SeedFolder,
    step: u64,
    label: &str,
    request: &EvalRequest,
) -> Outcome<EvalRow> {
    let agent = Weights::load(sources, config, folder, step)?.agent;
    let actor = if request.stochastic { Actor::Stochastic(&*agent) } else { Actor::Deterministic(&*agent) };
    let played = evaluate(sources, config, actor, request.episodes, request.seed)?;
    let record = record(step, !request.stochastic, request.seed, &played);
    let how = if request.stochastic { "_stochastic" } else { "" };
    let name = format!("posthoc_step_{step}_seed_{}_episodes_{}{how}", request.seed, request.episodes);
    let path = folder.write_evaluation(&name, &record)?;
    let file = Some(path.display().to_string());
    Ok(EvalRow { policy: label.into(), seed: Some(folder.seed()), record, file })
}

/// The defaults of an environment, for a baseline without a run.
fn plain_config(context: &Context, id: &str) -> Outcome<Config> {
    SOURCES.find(id).map_err(|unknown| crate::training::envs::unknown_env(&unknown))?;
    // Nothing is trained, but a config without a starter must say how long.
    let text = format!("env: {{id: {id:?}}}\nalgo: {{total_timesteps: 1}}\n");
    let source = rlxp_spec::Source::new("--env", text);
    Ok(check_source(context, source, &[], Purpose::Train)?.config)
}
