//! Episodes step by step: what was seen, what the policy thought of it, what it
//! did. The same seeds give the same episodes as an evaluation.

use std::collections::BTreeSet;

use rlxp_env::{EnvError, StepBatch, VectorEnv};
use rlxp_nn::Head;
use rlxp_spec::Config;
use rlxp_types::Stream;
use serde::Serialize;

use crate::LearnError;
use crate::evaluate::{Actor, Episode, EpisodeFactory};
use crate::policy::Policy;

/// One step of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Number of the episode, from 0.
    pub episode: usize,
    /// Step within the episode, from 0.
    pub step: u64,
    /// The raw observation.
    pub observation: Vec<f32>,
    /// The value estimate.
    pub value: f32,
    /// Probability of every choice, the parts of the action one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probabilities: Vec<f64>,
    /// Mean of each element of a continuous action, before it is cut to its bounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f32>,
    /// Deviation of each element of a continuous action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviation: Vec<f32>,
    /// What the environment was given.
    pub action: Vec<f32>,
    /// What it answered.
    pub reward: f32,
}

/// Episodes and their steps.
#[derive(Default)]
pub(crate) struct Trajectory {
    pub(crate) episodes: Vec<Episode>,
    pub(crate) moments: Vec<Moment>,
    /// Bits of every observation seen.
    pub(crate) different: BTreeSet<Vec<u32>>,
}

impl Trajectory {
    /// How many observations differ.
    pub(crate) fn different_states(&self) -> usize {
        self.different.len()
    }

    /// Plays one more episode.
    pub(crate) fn play(
        &mut self,
        factory: EpisodeFactory<'_>,
        actor: Actor<'_>,
        policy: &Policy,
        seed: u64,
        config: &Config,
    ) -> Result<(), LearnError> {
        let mut env = factory(&[seed])?;
        self.play_in(env.as_mut(), actor, policy, seed)
            .map_err(|error| LearnError::in_environment(&config.env.id, error))
    }

    fn play_in(
        &mut self,
        env: &mut dyn VectorEnv,
        actor: Actor<'_>,
        policy: &Policy,
        seed: u64,
    ) -> Result<(), EnvError> {
        let space = env.action_space().clone();
        let mut streams = [Stream::new(seed, "eval/action", 0)];
        let mut hand = actor.hand(&space, 1);
        let mut scratch = policy.network.scratch(1);
        let mut observation = vec![0.0; env.observation_space().width()];
        let mut batch = StepBatch::new(1, observation.len());
        let mut action = vec![0.0; space.width()];
        let mut episode = Episode::begin(seed);
        env.reset(&mut observation)?;
        loop {
            let mut scaled = observation.clone();
            hand.act(episode.length, &mut scaled, &mut streams, &mut action);
            policy.network.forward(&policy.parameters, &scaled, 1, &mut scratch);
            env.step(&action, &mut batch)?;
            self.different.insert(observation.iter().map(|value| value.to_bits()).collect());
            let is_continuous = policy.head().parameter_count() > 0;
            let outputs = &scratch.policy[..policy.head().outputs()];
            self.moments.push(Moment {
                episode: self.episodes.len(),
                step: episode.length,
                value: scratch.values[0],
                probabilities: probabilities(policy.head(), outputs),
                mean: if is_continuous { outputs.to_vec() } else { Vec::new() },
                deviation: policy.head().deviations(policy.head_parameters(), scratch.latent()),
                action: action.clone(),
                reward: batch.rewards[0],
                observation: std::mem::replace(&mut observation, batch.observations.clone()),
            });
            episode.total += f64::from(batch.rewards[0]);
            episode.length += 1;
            if batch.terminated[0] || batch.truncated[0] {
                episode.truncated = !batch.terminated[0];
                episode.success = batch.success[0];
                self.episodes.push(episode);
                return Ok(());
            }
        }
    }
}

/// Number of choices of each part of an action; empty if it is continuous.
pub fn choices(head: &Head) -> Vec<usize> {
    match head {
        Head::Categorical { n } => vec![*n],
        Head::MultiCategorical { nvec } => nvec.clone(),
        Head::Gaussian { .. } | Head::StateDependent { .. } => Vec::new(),
    }
}

/// The probability of every choice.
fn probabilities(head: &Head, logits: &[f32]) -> Vec<f64> {
    let mut rest = logits;
    let mut all = Vec::new();
    for n in choices(head) {
        let (part, after) = rest.split_at(n);
        all.extend(softmax(part));
        rest = after;
    }
    all
}

/// exp(logit) / Σ exp(logits), in f64.
pub(crate) fn softmax(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let terms: Vec<f64> = logits.iter().map(|logit| f64::from(logit - largest).exp()).collect();
    let sum: f64 = terms.iter().sum();
    terms.into_iter().map(|term| term / sum).collect()
}
