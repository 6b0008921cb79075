//! The learning algorithms: a variant each, with its keys and checks in a file of its own.
//!
//! This file is the table of them. A new algorithm is a variant here, with an
//! arm in each method below; the first variant is what a config gets that names
//! none. Its keys, their ranges, defaults and meanings come from its type.

mod ppo;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::rules::{Facts, Report};
use crate::config::{EnvConfig, Schedule};
pub use ppo::PpoConfig;

/// The learning algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum AlgoConfig {
    /// Proximal policy optimisation.
    Ppo(PpoConfig),
}

/// What every algorithm has.
impl AlgoConfig {
    /// The keys of proximal policy optimisation, if that is the algorithm.
    pub fn ppo(&self) -> Option<&PpoConfig> {
        match self {
            AlgoConfig::Ppo(ppo) => Some(ppo),
        }
    }

    /// Reports values that don't fit together or to the environment.
    pub(crate) fn check(&self, env: &EnvConfig, facts: &Facts<'_>, report: &mut Report<'_>) {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.check(env, facts, report),
        }
    }

    /// What training does with values that don't divide evenly, given a rollout of this many samples.
    pub fn notes(&self, rollout: u64) -> Vec<String> {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.last_batch(rollout).into_iter().collect(),
        }
    }

    /// Shrinks defaults to a rollout of this many samples; explicit values are known to fit.
    pub(crate) fn fit(&mut self, rollout: usize) {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.batch_size = ppo.batch_size.min(rollout),
        }
    }

    /// The word that chooses it in a config.
    pub fn name(&self) -> &'static str {
        match self {
            AlgoConfig::Ppo(_) => "ppo",
        }
    }

    /// Environment steps that the config asks for.
    pub fn total_timesteps(&self) -> u64 {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.total_timesteps,
        }
    }

    /// Asks for another number of environment steps.
    pub fn set_total_timesteps(&mut self, steps: u64) {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.total_timesteps = steps,
        }
    }

    /// Steps that each environment takes between two updates.
    pub fn rollout_steps(&self) -> usize {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.rollout_steps,
        }
    }

    /// Samples of one gradient step.
    pub fn batch_size(&self) -> usize {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.batch_size,
        }
    }

    /// Gradient steps of one update on `samples` samples.
    pub fn gradient_steps(&self, samples: u64) -> u64 {
        match self {
            AlgoConfig::Ppo(ppo) => samples.div_ceil(ppo.batch_size as u64) * ppo.update_epochs as u64,
        }
    }

    /// The optimiser's step size.
    pub fn learning_rate(&self) -> Schedule {
        match self {
            AlgoConfig::Ppo(ppo) => ppo.learning_rate,
        }
    }

    /// The dotted keys whose values may change over training.
    pub fn schedules(&self) -> Vec<(&'static str, Schedule)> {
        match self {
            AlgoConfig::Ppo(ppo) => {
                vec![("algo.learning_rate", ppo.learning_rate), ("algo.clip_range", ppo.clip_range)]
            }
        }
    }
}
