//! The resolved config: every default filled in, every value checked.
//!
//! This is what a run is trained from and what `config_snapshot.yaml` holds,
//! so a field that changes training must stand here and nowhere else.

mod algo;
mod policy;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use algo::{AlgoConfig, PpoConfig};
pub use policy::{ActivationName, MlpConfig, PolicyConfig};

/// Most steps that a seed may be trained for.
pub const MAX_STEPS: u64 = 1_000_000_000_000;

/// A whole training config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the run; its folder is `runs/<run_name>_<nnn>`. Unless given, made from algorithm and environment.
    pub run_name: String,
    /// First seed; 0 unless given.
    pub seed: u64,
    /// The seeds that are trained: a list, or a count in a config, where `seeds: 5` means seed … seed+4.
    pub seeds: Vec<u64>,
    /// Threads to train with; never changes a result. In a config 0 means every core.
    pub threads: usize,
    /// Where to compute. rlx trains on the CPU: any other device, such as `auto` or `cuda`, is accepted with a warning and becomes `cpu`.
    pub device: String,
    /// The environment.
    pub env: EnvConfig,
    /// The learning algorithm.
    pub algo: AlgoConfig,
    /// The networks.
    pub policy: PolicyConfig,
    /// When checkpoints are saved and how many are kept.
    pub checkpoint: CheckpointConfig,
    /// Periodic evaluation.
    pub eval: EvalConfig,
}

/// A keyword argument of an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Kwarg {
    /// true or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Which environment, how many copies, and what is wrapped around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvConfig {
    /// Id such as `CartPole-v1`.
    pub id: String,
    /// Copies stepped together.
    pub num_envs: usize,
    /// Keyword arguments of the environment.
    pub kwargs: BTreeMap<String, Kwarg>,
    /// Step cap of an episode; null keeps the environment's own.
    pub max_episode_steps: Option<u64>,
    /// Wrappers, innermost first.
    pub wrappers: Vec<WrapperConfig>,
    /// Scale observations by their running mean and variance.
    pub normalize_observations: bool,
    /// Scale rewards by the running deviation of the discounted return.
    pub normalize_rewards: bool,
}

/// A change to an environment that training sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WrapperConfig {
    /// Multiplies rewards.
    ScaleReward {
        /// The factor.
        factor: f64,
    },
    /// Every observation is the first one of the episode.
    FreezeObservation {
        /// Which numbers of the observation are held; null holds all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dimensions: Option<Vec<usize>>,
    },
    /// Reports a time limit as if the episode had really ended.
    TruncationAsTermination {},
}

/// A value that may change over training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Schedule {
    /// The same value throughout.
    Constant(f64),
    /// A straight line over the training steps.
    Linear {
        /// Always `linear`.
        schedule: LinearTag,
        /// Value at the first step.
        from: f64,
        /// Value at the last step.
        to: f64,
    },
}

/// The word `linear`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinearTag {
    /// A straight line.
    Linear,
}

impl Schedule {
    /// The value when `done` of the training (0 to 1) lies behind.
    pub fn at(&self, done: f64) -> f64 {
        match *self {
            Schedule::Constant(value) => value,
            Schedule::Linear { from, to, .. } => from + (to - from) * done.clamp(0.0, 1.0),
        }
    }
}

/// When checkpoints are saved and how many are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Steps between saves; a tenth of the training unless given.
    pub save_every: u64,
    /// How many of the newest checkpoints to keep; `best` is kept besides. Unless given, and with null, all are kept.
    pub keep: Option<usize>,
}

/// Periodic evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalConfig {
    /// Steps between evaluations; 0 switches it off. A twentieth of the training unless given.
    pub every: u64,
    /// Episodes of each evaluation, played exactly as given. Unless given 100, and 1000 in Blackjack-v1: `best` is chosen on them, and among policies that played few the luckiest wins.
    pub episodes: usize,
    /// Take the most likely action instead of sampling.
    pub deterministic: bool,
    /// Episode i starts from this seed + i.
    pub seed: u64,
}

impl Config {
    /// Steps of one rollout over all environments.
    pub fn rollout_size(&self) -> u64 {
        self.env.num_envs as u64 * self.algo.rollout_steps() as u64
    }

    /// Training steps in all, rounded up to a whole rollout.
    pub fn total_steps(&self) -> u64 {
        self.algo.total_timesteps().div_ceil(self.rollout_size()) * self.rollout_size()
    }
}
