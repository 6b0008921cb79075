//! What a policy looks at: values and action probabilities along episodes, and
//! how much each number of the observation matters for one output.
//!
//! Three methods answer the second question, because each has a known weakness
//! and their agreement says more than any one: the gradient's size (saliency),
//! the gradient averaged over noisy copies of the state (SmoothGrad, Smilkov et
//! al. 2017), and integrated gradients (Sundararajan et al. 2017), whose parts
//! add up to the difference between the output here and at a baseline.
//!
//! Everything is in terms of raw observations: gradients are chained through
//! the frozen normaliser, and are zero where it clips. What is asked of the
//! network is its value, the log-probability of the action that was taken, or
//! the mean of a continuous action.
//!
//! An observation that is an index (or several) has no slope. There the network
//! is asked over its one-hot entries, and a part's attribution is the sum over
//! its entries of gradient × (entry − baseline entry). With the baseline
//! `zeros` that is gradient × input; with `mean` the baseline is how often each
//! index was visited.

pub mod attribution;
pub mod ranking;
pub mod states;
pub mod trajectory;

use rlxp_env::Sources;
use rlxp_spec::Config;
use rlxp_types::Stream;
use serde::Serialize;

use crate::evaluate::{DEFAULT_STEP_CAP, Episode, EpisodeFactory, evaluation_env};
use crate::policy::Policy;
use crate::{Actor, LearnError};
use attribution::{Explainer, IntegratedGradients, Question};
use ranking::{Ranking, rank};
use states::{Reason, choose};
use trajectory::{Moment, Trajectory};

/// How large the noise of SmoothGrad is, in deviations of each dimension over
/// the visited states. The paper uses 10 to 20 percent of the range; half a
/// deviation is 14 percent of the range of evenly spread values.
pub const NOISE: f64 = 0.5;

/// Most episodes that are played to find enough different states.
pub const EPISODE_CAP: usize = 64;

/// Which output is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The value estimate.
    Value,
    /// The log-probability of the action that was taken, all parts together;
    /// for a continuous action the sum of its means.
    Action,
    /// The mean of one element of a continuous action, or the log-probability
    /// of one part of the action that was taken.
    ActionElement(usize),
}

/// What integrated gradients start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The mean observation of the visited states.
    Mean,
    /// Zero everywhere.
    Zeros,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Episodes to play; more are played when they hold too few different states.
    pub episodes: usize,
    /// Seed of the first episode, and of SmoothGrad's noise.
    pub seed: u64,
    /// Representative states to explain.
    pub states: usize,
    /// Which output.
    pub target: Target,
    /// Where integrated gradients start.
    pub baseline: Baseline,
    /// Noisy copies of each state.
    pub samples: usize,
    /// Sample actions instead of taking the most likely.
    pub sampled: bool,
}

/// One explained state. The three lists have one number per observation dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Which moment of the trajectory.
    pub moment: usize,
    /// Why it was chosen.
    pub reasons: Vec<Reason>,
    /// The output here.
    pub target: f64,
    /// |gradient|; for an index |Σ gradient × (entry − baseline entry)|.
    pub saliency: Vec<f64>,
    /// Mean gradient over noisy copies; for an index as above.
    pub smoothgrad: Vec<f64>,
    /// Integrated gradients.
    pub integrated: Vec<f64>,
    /// How integrated gradients were found, and how well they add up.
    #[serde(flatten)]
    pub integration: Integration,
}

/// How well integrated gradients add up to the difference that they explain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Integration {
    /// The output at the baseline.
    pub baseline_target: f64,
    /// |Σ attributions − (target − baseline target)|.
    pub completeness_error: f64,
    /// The error is within 1e-3 × max(1, |target − baseline target|).
    pub complete: bool,
    /// Points of the path at which the gradient was taken.
    pub steps: usize,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// The episodes, in the order of their seeds.
    pub episodes: Vec<Episode>,
    /// Every step of them.
    pub trajectory: Vec<Moment>,
    /// How many different observations there are among them.
    pub different_states: usize,
    /// Where integrated gradients start, per input of the network: per
    /// dimension, or per entry where dimensions are indices.
    pub baseline: Vec<f64>,
    /// Deviation of each of these over the visited states.
    pub spread: Vec<f64>,
    /// The explained states, in the order of the trajectory.
    pub states: Vec<Explained>,
    /// The dimensions, those that matter most first.
    pub ranking: Ranking,
}

/// Plays episodes of `policy` as an evaluation does and explains it.
pub fn inspect(
    sources: Sources<'_>,
    config: &Config,
    policy: &Policy,
    options: &Options,
) -> Result<Inspection, LearnError> {
    let env = evaluation_env(sources, config);
    inspect_in(config, &|seeds| sources.episodes(&env, seeds, DEFAULT_STEP_CAP), policy, options)
}

/// The same in an environment of the caller's own, which must cap its episodes.
pub fn inspect_in(
    config: &Config,
    factory: EpisodeFactory<'_>,
    policy: &Policy,
    options: &Options,
) -> Result<Inspection, LearnError> {
    let actor = if options.sampled { Actor::Stochastic(policy) } else { Actor::Deterministic(policy) };
    let mut trajectory = Trajectory::default();
    let most = options.episodes.max(EPISODE_CAP);
    for index in 0..most {
        if index >= options.episodes && trajectory.different_states() >= options.states {
            break;
        }
        let seed = options.seed.wrapping_add(index as u64);
        trajectory.play(factory, actor, policy, seed, config)?;
    }
    let mut explainer = Explainer::new(policy);
    let (mean, spread) = explainer.moments(&trajectory.moments);
    let baseline = match options.baseline {
        Baseline::Mean => mean,
        Baseline::Zeros => vec![0.0; spread.len()],
    };
    let chosen = choose(&trajectory.moments, explainer.parts(), options.states);
    let states: Vec<Explained> = chosen
        .into_iter()
        .enumerate()
        .map(|(index, (moment, reasons))| {
            let mut stream = Stream::new(options.seed, "inspect/smoothgrad", index as u64);
            let state = &trajectory.moments[moment];
            let mut explained = explain(&mut explainer, state, &baseline, &spread, options, &mut stream);
            (explained.moment, explained.reasons) = (moment, reasons);
            explained
        })
        .collect();
    // A gradient is per unit of its dimension; times the dimension's spread it
    // can be compared with others. Indices are without unit already.
    let units = match explainer.parts() {
        None => spread.clone(),
        Some(parts) => vec![1.0; parts.len()],
    };
    let ranking = rank(&states, &units);
    Ok(Inspection {
        episodes: trajectory.episodes,
        different_states: trajectory.different.len(),
        trajectory: trajectory.moments,
        baseline,
        spread,
        states,
        ranking,
    })
}

/// Explains one state by all three methods.
fn explain(
    explainer: &mut Explainer<'_>,
    moment: &Moment,
    baseline: &[f64],
    spread: &[f64],
    options: &Options,
    stream: &mut Stream,
) -> Explained {
    let question = Question { target: options.target, action: &moment.action };
    let point = explainer.features(&moment.observation);
    let (target, gradient) = explainer.gradient(&point, &question);
    let noise: Vec<f64> = spread.iter().map(|spread| NOISE * spread).collect();
    let smooth = explainer.smooth_gradient(&point, &question, &noise, options.samples, stream);
    let IntegratedGradients { attributions, integration } =
        explainer.integrated_gradients(&point, baseline, &question);
    let saliency = explainer.per_dimension(&gradient, &point, baseline);
    Explained {
        moment: 0,
        reasons: Vec::new(),
        target,
        saliency: saliency.into_iter().map(f64::abs).collect(),
        smoothgrad: explainer.per_dimension(&smooth, &point, baseline),
        integrated: explainer.sums(&attributions),
        integration,
    }
}

#[cfg(test)]
mod tests;
