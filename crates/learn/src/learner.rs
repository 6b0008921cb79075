//! The interface of every learning algorithm: a [`Learner`] is trained, saved and restored, an [`Agent`] acts with
//! what was learned, and an [`Algorithm`] creates both from a config.
//!
//! [`algorithm`] is the table of algorithms.

use std::time::Duration;

use rlxp_env::Space;
use rlxp_nn::Tensors;
use rlxp_spec::config::{AlgoConfig, Config};
use rlxp_types::Stream;

use crate::policy::Policy;
use crate::rollout::Factory;
use crate::{LearnError, ppo};

/// The algorithm of a config.
pub fn algorithm(config: &Config) -> &'static dyn Algorithm {
    match config.algo {
        AlgoConfig::Ppo(_) => &ppo::Algorithm,
    }
}

/// Creates learners and agents of one kind.
pub trait Algorithm: Sync {
    /// Its name, as in `algo.name`.
    fn name(&self) -> &'static str;

    /// A fresh learner.
    fn learner(&self, setup: &Setup<'_>) -> Result<Box<dyn Learner>, LearnError>;

    /// The agent with the weights in `model`; an error if they don't fit the config.
    fn agent(&self, config: &Config, spaces: &Spaces, model: &Tensors) -> Result<Box<dyn Agent>, LearnError>;

    /// Number of parameters that it would train.
    fn parameters(&self, config: &Config, spaces: &Spaces) -> usize;
}

/// What a learner is made from.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    pub config: &'a Config,
    /// Seed of this training.
    pub seed: u64,
    /// Threads that it may use; their number never changes a result.
    pub threads: usize,
    /// Creates the environments.
    pub factory: Factory<'a>,
}

/// What observations and actions look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Spaces {
    pub observations: Space,
    pub actions: Space,
}

impl From<(Space, Space)> for Spaces {
    fn from((observations, actions): (Space, Space)) -> Self {
        Self { observations, actions }
    }
}

/// A training in progress. Its model, which is what acts, and its state, which is everything else, describe it
/// completely.
pub trait Learner {
    /// One round of collecting experience and learning from it.
    fn iterate(&mut self) -> Result<Update, LearnError>;

    /// Environment steps done.
    fn steps(&self) -> u64;

    /// Whether all steps are done.
    fn is_finished(&self) -> bool;

    /// Mean return of the recent training episodes.
    fn mean_return(&self) -> Option<f64>;

    /// Metrics about recent observations, computed less often than every round; empty before the first rollout.
    fn observed(&self) -> Vec<(String, f64)>;

    /// The agent with the present weights.
    fn agent(&self) -> &dyn Agent;

    /// Everything but the model.
    fn state(&self) -> Result<Tensors, LearnError>;

    /// Starts from the weights of another training (warm start).
    fn start_from(&mut self, model: &Tensors) -> Result<(), LearnError>;

    /// Restores model and state of a saved learner with the same config.
    fn continue_from(&mut self, model: &Tensors, state: &Tensors) -> Result<Resumed, LearnError>;
}

/// The result of one round.
#[derive(Clone, Debug)]
pub struct Update {
    /// Total environment steps done.
    pub step: u64,
    /// Metrics of this round; those that don't apply are left out.
    pub values: Vec<(&'static str, f64)>,
    /// Mean return of the recent episodes, once one has ended.
    pub mean_return: Option<f64>,
    /// Time spent on each part, under names that end in `_seconds`.
    pub times: Vec<(&'static str, Duration)>,
}

/// How a learner continues from a saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// As if it had never stopped.
    Exactly,
    /// Its environments can't save their state: every copy starts a new episode.
    WithNewEpisodes,
    /// Some copies did not come back when their episodes were repeated, and start new ones.
    Diverged {
        /// How many.
        copies: usize,
        /// The first of them.
        copy: usize,
        /// The first step of its episode that was different; 0 is the reset. `None` if it was too long to repeat.
        step: Option<u64>,
    },
}

/// A policy that acts.
pub trait Agent: Send + Sync {
    /// An actor for `copies` copies at once.
    fn hand(&self, copies: usize, choice: Choice) -> Box<dyn BatchActor + '_>;

    /// All tensors that acting needs, by name.
    fn model(&self) -> Tensors;

    /// Its policy and value networks, if it consists of those: what `inspect` explains.
    fn actor_critic(&self) -> Option<&Policy> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The most likely one.
    MostLikely,
    /// One sampled as in training.
    Sampled,
}

/// Turns observations into actions, one batch of rows at a time and without
/// allocating.
pub trait BatchActor {
    /// Fills `actions` for step `time` of the episodes. May change `observations`, such as by normalising them.
    fn act(&mut self, time: u64, observations: &mut [f32], streams: &mut [Stream], actions: &mut [f32]);
}
