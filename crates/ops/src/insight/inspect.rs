//! `rlx inspect`: what a checkpoint does along episodes, and which components of the observation it depends on.

mod picture;

use std::path::PathBuf;

use rlxp_env::Sources;
use rlxp_env::Space;
use rlxp_learn::inspect::ranking::{Agreement, RankedDimension};
use rlxp_learn::inspect::trajectory::Moment;
use rlxp_learn::inspect::{Explained, Inspection, NOISE, Options, inspect as look};
use rlxp_learn::{Episode, algorithm};
use rlxp_spec::Config;
use rlxp_types::text::shell_word;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::select::checkpoint::CheckpointRef;
use crate::studies::files::permit_training;
use crate::training::bridge::Python;
use crate::training::envs::SOURCES;
use crate::training::recorded::config_of;
use crate::training::weights::Weights;

pub use picture::{draw, reason_words};
pub use rlxp_learn::inspect::states::Reason;
pub use rlxp_learn::inspect::{Baseline, Target};

/// Fewest states over which dimensions are ranked.
pub const FEWEST_STATES: usize = 5;

#[derive(Clone, Debug)]
pub struct InspectRequest {
    /// A checkpoint's folder, or a run with `:best`, `:latest` or `:step_N`.
    pub checkpoint: String,
    /// Episodes to play.
    pub episodes: usize,
    /// Seed of the first one.
    pub seed: u64,
    /// Representative states to explain.
    pub states: usize,
    /// Which output is explained.
    pub target: Target,
    /// The baseline of integrated gradients.
    pub baseline: Baseline,
    /// Noisy copies of each state for SmoothGrad.
    pub samples: usize,
    /// Sample actions instead of taking the most likely.
    pub sampled: bool,
    /// A picture to write, `.svg` or `.png`.
    pub output: Option<PathBuf>,
}

/// A dimension of the ranking, with its name.
#[derive(Clone, Debug, Serialize)]
pub struct NamedDimension {
    pub name: String,
    #[serde(flatten)]
    pub place: RankedDimension,
}

#[derive(Clone, Debug, Serialize)]
pub struct InspectReport {
    pub run: String,
    /// Step of the checkpoint.
    pub step: u64,
    /// Training seed of the policy.
    pub training_seed: u64,
    pub env: String,
    /// Which output was explained.
    pub target: Target,
    /// A description of it.
    pub target_meaning: &'static str,
    /// The baseline of integrated gradients.
    pub baseline: Baseline,
    /// That point: per dimension, or per index where observations are indices.
    pub baseline_point: Vec<f64>,
    /// Deviation of each of these over the visited states.
    pub spread: Vec<f64>,
    /// Noisy copies of each state for SmoothGrad.
    pub samples: usize,
    /// Their noise, in deviations of each dimension.
    pub noise: f64,
    /// Seed of the first episode.
    pub first_seed: u64,
    /// Whether actions were sampled.
    pub sampled: bool,
    /// Whether the observation's dimensions are indices without an order, which
    /// are explained over their one-hot entries.
    pub observations_are_indices: bool,
    /// Names of the observation's dimensions.
    pub observation_names: Vec<String>,
    /// Names of the choices, or of a continuous action's elements.
    pub action_names: Vec<String>,
    /// Number of choices of each part of the action; empty if it is continuous.
    pub choices: Vec<usize>,
    /// Dimensions, most important first.
    pub ranking: Vec<NamedDimension>,
    /// How far the methods agree.
    pub agreement: Vec<Agreement>,
    /// The explained states, in the order of time.
    pub states: Vec<Explained>,
    /// Number of distinct visited observations.
    pub different_states: usize,
    pub episodes: Vec<Episode>,
    /// Every step of them.
    pub trajectory: Vec<Moment>,
    /// Caveats for the reader.
    pub notes: Vec<String>,
    /// The picture that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

impl InspectReport {
    /// What influences the output most in explained state `index`, and by how much.
    pub fn strongest(&self, index: usize) -> String {
        let state = &self.states[index];
        let integrated = &state.integrated;
        let Some(at) =
            (0..integrated.len()).max_by(|a, b| integrated[*a].abs().total_cmp(&integrated[*b].abs()))
        else {
            return String::new();
        };
        let seen = self.trajectory[state.moment].observation[at];
        let which = if self.observations_are_indices { format!(" {seen}") } else { String::new() };
        format!("{}{which} {:+.3}", self.observation_names[at], integrated[at])
    }

    /// The largest error of the sums of integrated gradients, relative to what they explain (absolute if that is less
    /// than 1). At most 1e-3 when complete.
    pub fn completeness(&self) -> f64 {
        let error = |state: &Explained| {
            let explained = (state.target - state.integration.baseline_target).abs().max(1.0);
            state.integration.completeness_error / explained
        };
        self.states.iter().map(error).fold(0.0, f64::max)
    }
}

/// Plays the checkpoint and explains it. Writes nothing into the run, only the picture if requested.
pub fn inspect(context: &Context, request: &InspectRequest) -> Outcome<InspectReport> {
    check(request)?;
    let mut report = explain(context, request)?;
    if let Some(path) = &request.output {
        let written = picture::write(context, &report, path)?;
        report.picture = Some(written.display().to_string());
    }
    Ok(report)
}

fn explain(context: &Context, request: &InspectRequest) -> Outcome<InspectReport> {
    let (found, about_seeds) = CheckpointRef::find(context, &request.checkpoint)?;
    let permit = permit_training(context, found.run.path())?;
    let config = config_of(&found.run)?;
    let python = Python::of_run(permit, context, &found.run, &config)?;
    let table = python.table();
    let sources = Sources::new(&table);
    let (observations, actions) = sources.spaces(&config.env).map_err(rlxp_learn::LearnError::from)?;
    let agent = Weights::load(sources, &config, &found.folder, found.step)?.agent;
    let Some(policy) = agent.actor_critic() else {
        let name = algorithm(&config).name();
        let message = format!("rlx inspect needs policy and value networks; {name} has none");
        return Err(Failure::usage("not_inspectable", message));
    };
    let options = Options {
        episodes: request.episodes,
        seed: request.seed,
        states: request.states,
        target: request.target,
        baseline: request.baseline,
        samples: request.samples,
        sampled: request.sampled,
    };
    let inspection = look(sources, &config, policy, &options)?;
    let (observation_names, action_names) = names(&config, &observations, &actions);
    let mut notes = notes(request, &inspection, &observations, &observation_names);
    notes.extend(about_seeds);
    let name_of = |place: &RankedDimension| observation_names[place.dimension].clone();
    let ranking = inspection.ranking.dimensions.into_iter();
    Ok(InspectReport {
        run: found.run.name(),
        step: found.step,
        training_seed: found.folder.seed(),
        env: config.env.id,
        target: request.target,
        target_meaning: meaning(request.target, &actions),
        baseline: request.baseline,
        baseline_point: inspection.baseline,
        spread: inspection.spread,
        samples: request.samples,
        noise: NOISE,
        first_seed: request.seed,
        sampled: request.sampled,
        observations_are_indices: are_indices(&observations),
        choices: choices(&actions),
        ranking: ranking.map(|place| NamedDimension { name: name_of(&place), place }).collect(),
        agreement: inspection.ranking.agreement,
        observation_names,
        action_names,
        states: inspection.states,
        different_states: inspection.different_states,
        episodes: inspection.episodes,
        trajectory: inspection.trajectory,
        notes,
        picture: None,
    })
}

fn check(request: &InspectRequest) -> Outcome<()> {
    request.output.as_deref().map(picture::Format::from_path).transpose()?;
    let fewest = FEWEST_STATES;
    let problem = if request.states < fewest {
        format!("a ranking needs at least {fewest} states, not {}", request.states)
    } else if request.episodes == 0 {
        "an inspection needs at least one episode".to_owned()
    } else if request.samples == 0 {
        "SmoothGrad needs at least one noisy copy".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::usage("bad_inspection", problem)
        .hint(format!("rlx inspect {}", shell_word(&request.checkpoint))))
}

/// Names of observation dimensions and of actions: from the catalogue, or numbers if a wrapper or a custom
/// environment has others.
fn names(config: &Config, observations: &Space, actions: &Space) -> (Vec<String>, Vec<String>) {
    let info = SOURCES.find(&config.env.id).ok();
    let named = |known: &[&str], count: usize, kind: &str| -> Vec<String> {
        if known.len() == count {
            return known.iter().map(|name| (*name).to_owned()).collect();
        }
        (0..count).map(|index| format!("{kind} {index}")).collect()
    };
    let action_count = match choices(actions).as_slice() {
        [] => actions.width(),
        parts => parts.iter().sum(),
    };
    (
        named(info.map_or(&[], |info| info.observation_names), observations.width(), "observation"),
        named(info.map_or(&[], |info| info.action_names), action_count, "action"),
    )
}

fn are_indices(observations: &Space) -> bool {
    matches!(observations, Space::Discrete { .. } | Space::MultiDiscrete { .. })
}

/// Number of choices of each part of an action; empty if it is continuous.
fn choices(actions: &Space) -> Vec<usize> {
    match actions {
        Space::Discrete { n } => vec![*n],
        Space::MultiDiscrete { nvec } => nvec.clone(),
        Space::MultiBinary { n } => vec![2; *n],
        Space::Box { .. } => Vec::new(),
    }
}

fn meaning(target: Target, actions: &Space) -> &'static str {
    let is_continuous = matches!(actions, Space::Box { .. });
    match target {
        Target::Value => "the value estimate",
        _ if is_continuous => "the mean action",
        _ => "the log-probability of the action taken",
    }
}

fn notes(
    request: &InspectRequest,
    found: &Inspection,
    observations: &Space,
    names: &[String],
) -> Vec<String> {
    let mut notes = Vec::new();
    if found.states.len() < request.states {
        notes.push(format!(
            "only {} different states were visited in {} episodes, fewer than the requested {}",
            found.different_states,
            found.episodes.len(),
            request.states
        ));
    } else if found.episodes.len() > request.episodes {
        notes.push(format!(
            "played {} episodes to visit {} different states",
            found.episodes.len(),
            request.states
        ));
    }
    let incomplete: Vec<f64> = found
        .states
        .iter()
        .filter(|state| !state.integration.complete)
        .map(|state| state.integration.completeness_error)
        .collect();
    if !incomplete.is_empty() {
        let worst = incomplete.iter().copied().fold(0.0, f64::max);
        notes.push(format!(
            "integrated gradients of {} of {} states don't add up to 1e-3 (worst off by {worst:.2e})",
            incomplete.len(),
            found.states.len()
        ));
    }
    if found.trajectory.iter().any(|moment| !moment.value.is_finite()) {
        notes.push("the network outputs are NaN or infinite: these results are meaningless".to_owned());
    }
    if are_indices(observations) {
        notes.push(
            "observations are indices: attribution is over their one-hot entries, against the baseline"
                .to_owned(),
        );
    } else {
        let still: Vec<&str> = (0..names.len())
            .filter(|dimension| found.spread[*dimension] == 0.0)
            .map(|dimension| names[dimension].as_str())
            .collect();
        if !still.is_empty() {
            notes.push(format!("never changed, so their influence is unknown: {}", still.join(", ")));
        }
    }
    notes
}
