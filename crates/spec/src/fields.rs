//! Every key that a config may hold and the rule for its value.
//!
//! One table serves the checks, the nearest-key hints, the JSON Schema, the
//! snapshot and shell completion, so they can't disagree. Its order is the
//! order of the snapshot.

use crate::config::MAX_STEPS;

/// The largest seed: above it JSON readers such as `jq` would round.
pub(crate) const MAX_SEED: u64 = (1 << 53) - 1;
/// Seeds of one run.
pub(crate) const MAX_SEEDS: usize = 1000;
/// Samples of one rollout over all environments; bounds what a config can make
/// the trainer allocate.
pub(crate) const MAX_ROLLOUT: u64 = 100_000_000;
/// Hidden layers of a network.
pub(crate) const MAX_LAYERS: usize = 8;
/// Units of one hidden layer.
pub(crate) const MAX_WIDTH: u64 = 4096;
/// Wrappers around an environment.
pub(crate) const MAX_WRAPPERS: usize = 16;
/// Keyword arguments of an environment.
pub(crate) const MAX_KWARGS: usize = 64;
/// Bytes of a text value.
pub(crate) const MAX_TEXT: usize = 200;

/// A key of a config.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Dotted path.
    pub(crate) path: &'static str,
    /// What may stand there.
    pub(crate) rule: Rule,
    /// Whether `null` may stand there.
    pub(crate) nullable: bool,
}

/// What may stand at a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Text that can name a run.
    RunName,
    /// Any short text.
    Text,
    /// One of some words.
    Word(&'static [&'static str]),
    /// true or false.
    Flag,
    /// A whole number within both bounds.
    Count(u64, u64),
    /// A number.
    Number(Bounds),
    /// A number, or a line from one to another whose ends may touch the lower bound.
    Schedule(Bounds),
    /// Widths of hidden layers.
    Sizes,
    /// A count, or a list of seeds.
    Seeds,
    /// Keyword arguments of an environment.
    Kwargs,
    /// Wrappers of an environment.
    Wrappers,
}

/// Numbers from `low` to `high`; `low` itself only where `closed`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) low: f64,
    pub(crate) closed: bool,
    pub(crate) high: f64,
}

impl Bounds {
    pub(crate) fn hold(&self, value: f64) -> bool {
        value <= self.high && (value > self.low || self.closed && value == self.low)
    }

    pub(crate) fn describe(&self) -> String {
        let Bounds { low, high, .. } = self;
        if self.closed { format!("{low} to {high}") } else { format!("above {low} and at most {high}") }
    }
}

const fn from_to(low: f64, high: f64) -> Bounds {
    Bounds { low, closed: true, high }
}

const fn above(low: f64, high: f64) -> Bounds {
    Bounds { low, closed: false, high }
}

const fn field(path: &'static str, rule: Rule) -> Field {
    Field { path, rule, nullable: false }
}

const fn nullable(path: &'static str, rule: Rule) -> Field {
    Field { path, rule, nullable: true }
}

/// Every key, in the order of the snapshot.
pub(crate) const FIELDS: &[Field] = &[
    field("run_name", Rule::RunName),
    field("seed", Rule::Count(0, MAX_SEED)),
    field("seeds", Rule::Seeds),
    field("threads", Rule::Count(0, 1024)),
    field("device", Rule::Text),
    field("env.id", Rule::Text),
    field("env.num_envs", Rule::Count(1, 65_536)),
    field("env.kwargs", Rule::Kwargs),
    nullable("env.max_episode_steps", Rule::Count(1, 1_000_000_000)),
    field("env.wrappers", Rule::Wrappers),
    field("env.normalize_observations", Rule::Flag),
    field("env.normalize_rewards", Rule::Flag),
    field("algo.name", Rule::Word(&["ppo"])),
    field("algo.total_timesteps", Rule::Count(1, MAX_STEPS)),
    field("algo.rollout_steps", Rule::Count(1, 1_000_000)),
    field("algo.batch_size", Rule::Count(1, MAX_ROLLOUT)),
    field("algo.update_epochs", Rule::Count(1, 1000)),
    field("algo.learning_rate", Rule::Schedule(above(0.0, 100.0))),
    field("algo.clip_range", Rule::Schedule(above(0.0, 100.0))),
    field("algo.gamma", Rule::Number(above(0.0, 1.0))),
    field("algo.gae_lambda", Rule::Number(from_to(0.0, 1.0))),
    field("algo.entropy_coef", Rule::Number(from_to(0.0, 10.0))),
    field("algo.value_coef", Rule::Number(from_to(0.0, 100.0))),
    nullable("algo.max_grad_norm", Rule::Number(above(0.0, 1e6))),
    nullable("algo.target_kl", Rule::Number(above(0.0, 100.0))),
    field("algo.normalize_advantages", Rule::Flag),
    nullable("algo.clip_value", Rule::Number(above(0.0, 1e6))),
    field("algo.adam_epsilon", Rule::Number(from_to(1e-12, 1.0))),
    field("policy.type", Rule::Word(&["mlp"])),
    field("policy.hidden_sizes", Rule::Sizes),
    field("policy.activation", Rule::Word(&["tanh", "relu", "elu", "gelu"])),
    field("policy.shared_network", Rule::Flag),
    field("policy.log_std_init", Rule::Number(from_to(-20.0, 5.0))),
    field("policy.use_sde", Rule::Flag),
    nullable("policy.sde_sample_freq", Rule::Count(1, 1_000_000_000)),
    field("checkpoint.save_every", Rule::Count(1, MAX_STEPS)),
    nullable("checkpoint.keep", Rule::Count(1, 10_000)),
    field("eval.every", Rule::Count(0, MAX_STEPS)),
    field("eval.episodes", Rule::Count(1, 100_000)),
    field("eval.deterministic", Rule::Flag),
    field("eval.seed", Rule::Count(0, MAX_SEED - 100_000)),
];

/// The keys that hold other keys.
pub(crate) const SECTIONS: &[&str] = &["env", "algo", "policy", "checkpoint", "eval"];

/// The wrappers by the word that names them.
pub(crate) const WRAPPERS: &[&str] = &["scale_reward", "freeze_observation", "truncation_as_termination"];

/// How far `scale_reward` may scale.
pub(crate) const SCALE: Bounds = from_to(-1e6, 1e6);

/// How many numbers `freeze_observation` may name, and the largest of them.
pub(crate) const MAX_DIMENSIONS: usize = 65_536;

pub(crate) fn find(path: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.path == path)
}

/// The names of the keys directly within a section; `""` is the top level.
pub(crate) fn keys_of(section: &str) -> Vec<&'static str> {
    let own = FIELDS.iter().filter_map(|field| match field.path.split_once('.') {
        Some((of, key)) if of == section => Some(key),
        None if section.is_empty() => Some(field.path),
        _ => None,
    });
    let sections = SECTIONS.iter().copied().filter(|_| section.is_empty());
    own.chain(sections).collect()
}

/// Every dotted key that `--set` takes.
pub fn known_keys() -> Vec<String> {
    FIELDS.iter().map(|field| field.path.to_owned()).collect()
}
