//! The resolved config: every default filled in, every value checked.
//!
//! This is what a run is trained from and what `config_snapshot.yaml` holds, so
//! every field that changes training is here. The types also describe what a
//! user may write: their schema gives the checks, the defaults, the hints, the
//! order of a snapshot, shell completion, `rlx config schema` and the reference
//! page. An attribute defines the allowed values, `default` the value of a
//! config that leaves the key out, and the comment what the key means.

pub(crate) mod algo;
pub(crate) mod policy;
pub(crate) mod rules;

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::keys::{at, known_keys};

pub use algo::{AlgoConfig, PpoConfig};
pub use policy::{ActivationName, MlpConfig, PolicyConfig};

/// Most steps that a seed may be trained for.
pub const MAX_STEPS: u64 = 1_000_000_000_000;
/// The largest seed: above it JSON readers such as `jq` would round.
pub(crate) const MAX_SEED: u64 = (1 << 53) - 1;
/// Seeds of one run.
const MAX_SEEDS: usize = 1000;
/// Bytes of a text value.
const MAX_TEXT: usize = 200;
/// How many numbers of an observation a wrapper may name.
const MAX_DIMENSIONS: usize = 65_536;

/// A whole training config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the run, whose folder is `runs/<run_name>_<nnn>`. Made from the algorithm and the environment if left out.
    #[schemars(length(min = 1, max = 100), extend("format" = "run-name", "pattern" = r"^[^.\-\s/\\][^\s/\\]*$"))]
    pub run_name: String,
    /// The first seed.
    #[schemars(range(max = MAX_SEED), extend("default" = 0))]
    pub seed: u64,
    /// The seeds to train: a list, or how many. `seeds: 5` trains `seed` to `seed` + 4.
    #[schemars(schema_with = "seeds", extend("default" = 1))]
    pub seeds: Vec<u64>,
    /// Threads to train with; 0 uses every core. Does not change results.
    #[schemars(range(max = 1024), extend("default" = 0))]
    pub threads: usize,
    /// Device to train on. rlx trains on the CPU: any other device, such as `auto` or `cuda`, is accepted with a warning and becomes `cpu`.
    #[schemars(length(min = 1, max = MAX_TEXT), extend("format" = "line", "default" = "cpu"))]
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
    /// Several values; only environments of Python take them.
    List(Vec<Kwarg>),
    /// Values by name; only environments of Python take them.
    Table(BTreeMap<String, Kwarg>),
}

/// How often an environment of Python is seeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvSeeding {
    /// Every episode is reset with its own seed, so that training can be resumed exactly.
    #[default]
    Episode,
    /// Only the first reset of a copy has a seed: for environments that are slow to seed. Such a run can't be resumed exactly.
    Once,
}

/// Which environment, how many copies, and what is wrapped around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvConfig {
    /// Id of the environment: a built-in one such as `CartPole-v1` (`rlx envs` lists them), one that Python's Gymnasium registers, or a class of your own as `module:Class`.
    #[schemars(length(min = 1, max = MAX_TEXT), extend("format" = "line"))]
    pub id: String,
    /// Copies of the environment that are stepped together.
    #[schemars(range(min = 1, max = 65_536), extend("default" = 8))]
    pub num_envs: usize,
    /// Arguments of the environment by name; `rlx envs ID` lists those of a built-in one. Environments of Python also take lists and nested mappings.
    #[schemars(schema_with = "kwargs", extend("default" = {}))]
    pub kwargs: BTreeMap<String, Kwarg>,
    /// Most steps of an episode; null keeps the environment's own limit.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("default" = null))]
    pub max_episode_steps: Option<u64>,
    /// Wrappers around the environment, innermost first.
    #[schemars(length(max = 16), extend("default" = []))]
    pub wrappers: Vec<WrapperConfig>,
    /// Scale observations by their running mean and variance.
    #[schemars(extend("default" = false))]
    pub normalize_observations: bool,
    /// Scale rewards by the running standard deviation of the discounted return.
    #[schemars(extend("default" = false))]
    pub normalize_rewards: bool,
    /// Python interpreter for environments of Gymnasium: a path, relative to the project. The project's `.venv`, otherwise `python3`, if left out.
    #[schemars(length(min = 1, max = MAX_TEXT), extend("format" = "line", "default" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// Processes that step environments of Python; 0 uses the cores that each seed has. Does not change results and is not part of a snapshot.
    #[schemars(range(max = 1024), extend("default" = 0))]
    #[serde(default, skip_serializing)]
    pub workers: usize,
    /// Seconds that environments of Python may take for a batch of steps; starting may take five times as long.
    #[schemars(range(min = 1, max = 86_400), extend("default" = DEFAULT_TIMEOUT))]
    #[serde(default = "default_timeout", skip_serializing_if = "is_default_timeout")]
    pub timeout: u64,
    /// How often an environment of Python is seeded: for every `episode`, or `once`, which can't be resumed exactly.
    #[schemars(with = "String", extend("enum" = ["episode", "once"], "default" = "episode"))]
    #[serde(default, skip_serializing_if = "is_default")]
    pub seed: EnvSeeding,
    /// Create a new instance of a Python environment for every episode: for one whose `reset` keeps something of the episode before.
    #[schemars(extend("default" = false))]
    #[serde(default, skip_serializing_if = "is_default")]
    pub recreate: bool,
}

/// Seconds that a batch of steps may take.
const DEFAULT_TIMEOUT: u64 = 60;

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_default_timeout(seconds: &u64) -> bool {
    *seconds == DEFAULT_TIMEOUT
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl EnvConfig {
    /// The environment with this id and every default, in one copy.
    pub fn plain(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            num_envs: 1,
            kwargs: BTreeMap::new(),
            max_episode_steps: None,
            wrappers: Vec::new(),
            normalize_observations: false,
            normalize_rewards: false,
            python: None,
            workers: 0,
            timeout: DEFAULT_TIMEOUT,
            seed: EnvSeeding::Episode,
            recreate: false,
        }
    }
}

/// A change to an environment that training sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = name_alone)]
pub enum WrapperConfig {
    /// Multiplies rewards.
    ScaleReward {
        /// What rewards are multiplied by.
        #[schemars(range(min = -1e6, max = 1e6))]
        factor: f64,
    },
    /// Every observation is the first one of the episode.
    FreezeObservation {
        /// Indices of the observation's numbers to freeze; null freezes all of them.
        #[schemars(schema_with = "dimensions")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dimensions: Option<Vec<usize>>,
    },
    /// Reports a time limit as if the episode had really ended.
    TruncationAsTermination {},
    /// A wrapper class of Python, for environments of Python. Comes before the other wrappers.
    Python {
        /// Where it is: `module:Class`.
        #[schemars(length(min = 3, max = MAX_TEXT), extend("format" = "line", "pattern" = "^[^:]+:[^:]+$"))]
        class: String,
        /// Its arguments by name, after the environment.
        #[schemars(schema_with = "kwargs")]
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        kwargs: BTreeMap<String, Kwarg>,
        /// Leave it out of evaluations.
        #[serde(default, skip_serializing_if = "is_default")]
        train_only: bool,
    },
}

/// A value that may change over training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum Schedule {
    /// The same value throughout.
    Constant(#[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0))] f64),
    /// A straight line over the training steps.
    Linear {
        /// Always `linear`.
        schedule: LinearTag,
        /// Value at the first step.
        #[schemars(range(min = 0.0, max = 100.0))]
        from: f64,
        /// Value at the last step.
        #[schemars(range(min = 0.0, max = 100.0))]
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
    /// The value after the share `done` (0 to 1) of the training.
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
    /// Steps between checkpoints. A tenth of the training if left out.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    pub save_every: u64,
    /// How many of the newest checkpoints to keep, besides `best`; null keeps all.
    #[schemars(range(min = 1, max = 10_000), extend("default" = null))]
    pub keep: Option<usize>,
}

/// Periodic evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalConfig {
    /// Steps between evaluations; 0 disables them. A twentieth of the training if left out.
    #[schemars(range(max = MAX_STEPS))]
    pub every: u64,
    /// Episodes per evaluation. `best` is the checkpoint with the highest mean, so with few episodes the luckiest wins.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 100))]
    pub episodes: usize,
    /// Take the most likely action instead of sampling one.
    #[schemars(extend("default" = true))]
    pub deterministic: bool,
    /// Seed of the first episode; episode i uses this seed + i.
    #[schemars(range(max = MAX_SEED - 100_000), extend("default" = 10_000))]
    pub seed: u64,
}

impl Config {
    /// Steps of one rollout over all environments.
    pub fn rollout_size(&self) -> u64 {
        self.env.num_envs as u64 * self.algo.rollout_steps() as u64
    }

    /// Total training steps, rounded up to a whole rollout.
    pub fn total_steps(&self) -> u64 {
        self.algo.total_timesteps().div_ceil(self.rollout_size()) * self.rollout_size()
    }

    /// The value of a dotted key such as `algo.gamma`, for code that works with every algorithm and network. `None` if
    /// the chosen one has no such key, or its value is not a `T`; with `T = Option<_>`, a null is `Some(None)`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        debug_assert!(known_keys().iter().any(|known| known == key), "no config has the key {key}");
        let config = serde_json::to_value(self).expect("a config is plain data");
        at(&config, key).and_then(|value| T::deserialize(value).ok())
    }
}

fn seeds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MAX_SEEDS},
        {
            "type": "array", "minItems": 1, "maxItems": MAX_SEEDS, "uniqueItems": true,
            "items": {"type": "integer", "minimum": 0, "maximum": MAX_SEED},
        },
    ]})
}

fn kwargs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "null"],
        "maxProperties": 64,
        "propertyNames": {"format": "argument-name", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
        "additionalProperties": {
            "description": "delete the line to keep the environment's default",
            "type": ["boolean", "number", "string", "array", "object"],
            "minLength": 1, "maxLength": MAX_TEXT, "format": "line",
        },
    })
}

fn dimensions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"], "minItems": 1, "maxItems": MAX_DIMENSIONS, "uniqueItems": true,
        "items": {"type": "integer", "minimum": 0, "maximum": MAX_DIMENSIONS - 1},
    })
}

/// A wrapper that needs no argument may be given by its name alone, or with nothing after its colon.
fn name_alone(schema: &mut Schema) {
    let mut names = Vec::new();
    let branches = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for (name, arguments) in branches.into_iter().flatten().flat_map(|branch| {
        let properties = branch.get_mut("properties").and_then(Value::as_object_mut);
        properties.into_iter().flatten()
    }) {
        if arguments.get("required").is_none() {
            arguments["type"] = json!(["object", "null"]);
            names.push(name.clone());
        }
    }
    if let Some(branches) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        branches.push(json!({"enum": names}));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Known, Source, load};

    #[test]
    fn values_are_found_by_their_dotted_keys() {
        let text = "env: {id: CartPole-v1}\nalgo: {gamma: 0.9, update_epochs: 3, max_grad_norm: null}\n";
        let known = Known { env_ids: &["CartPole-v1"], cores: 1 };
        let config = load(&Source::new("c.yaml", text), &[], &known).unwrap().config;
        assert_eq!(config.get("algo.gamma"), Some(0.9));
        assert_eq!(
            (config.get("algo.update_epochs"), config.get("algo.update_epochs")),
            (Some(3_usize), Some(3.0))
        );
        assert_eq!(config.get("algo.clip_range"), Some(config.algo.schedules()[1].1));
        assert_eq!(config.get("policy.use_sde"), Some(false));
        assert_eq!(config.get::<f64>("algo.max_grad_norm"), None);
        assert_eq!(config.get::<Option<f64>>("algo.max_grad_norm"), Some(None));
        assert_eq!(config.get::<bool>("algo.gamma"), None, "not a flag");
    }
}
