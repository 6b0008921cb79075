//! The resolved config as `config_snapshot.yaml`, and back, exactly.
//!
//! A snapshot begins with its format, `snapshot: 2`. The number changes when a
//! value gets another meaning, so that a run is always trained by the rules
//! that it was recorded under:
//!
//! | format | first line | what is different |
//! |---|---|---|
//! | 1 | none | `eval.episodes` is what was asked for; where chance plays a part, at least 100 were played |
//! | 2 | `snapshot: 2` | `eval.episodes` is what is played |
//!
//! Only a caller that knows the environments can tell where chance plays a
//! part, so [`from_snapshot`] gives the format and changes nothing. In a config
//! the key has no effect: a snapshot can be trained from like any other file.

use std::collections::BTreeMap;
use std::fmt::Write;

use rlxp_types::text::yaml_number;

use crate::check::Checker;
use crate::config::{ActivationName, Config, Kwarg, Schedule, WrapperConfig};
use crate::fields::FIELDS;
use crate::problem::{Collector, Problem, Problems, Severity};
use crate::relations::{self, Settled};
use crate::resolve::{self, Layers};
use crate::scalar::Scalar;
use crate::source::Source;
use crate::tree;
use crate::values::Value;

/// The key of a snapshot's format.
pub(crate) const FORMAT_KEY: &str = "snapshot";

/// The format that [`to_snapshot`] writes.
pub const SNAPSHOT_FORMAT: u64 = 2;

/// A snapshot as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The values as recorded.
    pub config: Config,
    /// The format, which says what they mean.
    pub format: u64,
}

/// The content of `config_snapshot.yaml`: the format, then [`to_yaml`].
pub fn to_snapshot(config: &Config) -> String {
    format!("{FORMAT_KEY}: {SNAPSHOT_FORMAT}\n{}", to_yaml(config))
}

/// Every field in the order of the table. A float is written with the fewest
/// digits that read back to the same bits.
pub fn to_yaml(config: &Config) -> String {
    let mut text = String::new();
    let mut section = "";
    for field in FIELDS {
        let (of, key) = field.path.split_once('.').unwrap_or(("", field.path));
        if of != section {
            section = of;
            writeln!(text, "{section}:").expect(WRITES);
        }
        let indent = if section.is_empty() { "" } else { "  " };
        writeln!(text, "{indent}{key}: {}", value_of(config, field.path)).expect(WRITES);
    }
    text
}

const WRITES: &str = "a String takes any text";

/// Reads what [`to_snapshot`] wrote, in any format: every other key must be
/// there, nothing is filled in.
pub fn from_snapshot(source: &Source) -> Result<Snapshot, Problems> {
    let mut problems = Collector::default();
    let sources = vec![source.clone()];
    let snapshot = read(source, &mut problems);
    let problems = problems.into_sorted(&sources);
    match snapshot {
        Some(snapshot) if problems.is_empty() => Ok(snapshot),
        _ => Err(Problems { problems, sources }),
    }
}

fn read(source: &Source, problems: &mut Collector) -> Option<Snapshot> {
    let root = tree::parse(source, 0..source.text.len(), problems)?;
    let mut checker = Checker::new(source, problems);
    checker.root(&root);
    let checked = checker.checked;
    let at = |path: &str| checked.places.get(path).cloned().unwrap_or(0..0);
    let missing = |path: &&str| !checked.values.contains_key(path) && !checked.failed.contains(path);
    for path in FIELDS.iter().map(|field| field.path).filter(missing) {
        let message = format!("`{path}` is missing; a snapshot holds every key");
        problems.push(|| source.problem(at(path.split('.').next().unwrap_or(path)), path, message));
    }
    if checked.values.get("threads") == Some(&Value::Count(0)) {
        problems.push(|| source.problem(at("threads"), "threads", "a snapshot holds the number of threads"));
    }
    if let Some(Value::SeedCount(_)) = checked.values.get("seeds") {
        problems.push(|| source.problem(at("seeds"), "seeds", "a snapshot holds the list of seeds"));
    }
    if !problems.is_empty() {
        return None;
    }
    let none = BTreeMap::new();
    let layers = Layers { layers: vec![&checked.values], chosen: 1, added_kwargs: &none };
    relations::check(&Settled { layers: &layers, failed: &checked.failed }, &mut |path, _, message, hint| {
        // What a user is only warned of can't come from `to_yaml`.
        problems.push(|| Problem {
            severity: Severity::Error,
            hint,
            ..source.problem(at(path), path, message)
        });
    });
    let format = checked.format.unwrap_or(1);
    problems.is_empty().then(|| Snapshot { config: resolve::config(&layers, 1), format })
}

fn value_of(config: &Config, path: &str) -> String {
    let Config { env, algo, policy, checkpoint, eval, .. } = config;
    match path {
        "run_name" => text(&config.run_name),
        "seed" => config.seed.to_string(),
        "seeds" => list(config.seeds.iter().map(u64::to_string)),
        "threads" => config.threads.to_string(),
        "device" => text(&config.device),
        "env.id" => text(&env.id),
        "env.num_envs" => env.num_envs.to_string(),
        "env.kwargs" => kwargs(&env.kwargs),
        "env.max_episode_steps" => or_null(env.max_episode_steps.map(|n| n.to_string())),
        "env.wrappers" => list(env.wrappers.iter().map(wrapper)),
        "env.normalize_observations" => env.normalize_observations.to_string(),
        "env.normalize_rewards" => env.normalize_rewards.to_string(),
        "algo.name" => "ppo".to_owned(),
        "algo.total_timesteps" => algo.total_timesteps.to_string(),
        "algo.rollout_steps" => algo.rollout_steps.to_string(),
        "algo.batch_size" => algo.batch_size.to_string(),
        "algo.update_epochs" => algo.update_epochs.to_string(),
        "algo.learning_rate" => schedule(algo.learning_rate),
        "algo.clip_range" => schedule(algo.clip_range),
        "algo.gamma" => yaml_number(algo.gamma),
        "algo.gae_lambda" => yaml_number(algo.gae_lambda),
        "algo.entropy_coef" => yaml_number(algo.entropy_coef),
        "algo.value_coef" => yaml_number(algo.value_coef),
        "algo.max_grad_norm" => or_null(algo.max_grad_norm.map(yaml_number)),
        "algo.target_kl" => or_null(algo.target_kl.map(yaml_number)),
        "algo.normalize_advantages" => algo.normalize_advantages.to_string(),
        "algo.clip_value" => or_null(algo.clip_value.map(yaml_number)),
        "algo.adam_epsilon" => yaml_number(algo.adam_epsilon),
        "policy.type" => "mlp".to_owned(),
        "policy.hidden_sizes" => list(policy.hidden_sizes.iter().map(usize::to_string)),
        "policy.activation" => match policy.activation {
            ActivationName::Tanh => "tanh".to_owned(),
            ActivationName::Relu => "relu".to_owned(),
            ActivationName::Elu => "elu".to_owned(),
            ActivationName::Gelu => "gelu".to_owned(),
        },
        "policy.shared_network" => policy.shared_network.to_string(),
        "policy.log_std_init" => yaml_number(policy.log_std_init),
        "policy.use_sde" => policy.use_sde.to_string(),
        "policy.sde_sample_freq" => or_null(policy.sde_sample_freq.map(|n| n.to_string())),
        "checkpoint.save_every" => checkpoint.save_every.to_string(),
        "checkpoint.keep" => or_null(checkpoint.keep.map(|n| n.to_string())),
        "eval.every" => eval.every.to_string(),
        "eval.episodes" => eval.episodes.to_string(),
        "eval.deterministic" => eval.deterministic.to_string(),
        "eval.seed" => eval.seed.to_string(),
        _ => unreachable!("the table of fields and this match are tested to agree: {path}"),
    }
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| "null".to_owned())
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn schedule(schedule: Schedule) -> String {
    match schedule {
        Schedule::Constant(value) => yaml_number(value),
        Schedule::Linear { from, to, .. } => {
            format!("{{schedule: linear, from: {}, to: {}}}", yaml_number(from), yaml_number(to))
        }
    }
}

fn wrapper(wrapper: &WrapperConfig) -> String {
    match wrapper {
        WrapperConfig::ScaleReward { factor } => {
            format!("scale_reward: {{factor: {}}}", yaml_number(*factor))
        }
        WrapperConfig::FreezeObservation { dimensions: None } => "freeze_observation".to_owned(),
        WrapperConfig::FreezeObservation { dimensions: Some(held) } => {
            format!("freeze_observation: {{dimensions: {}}}", list(held.iter().map(usize::to_string)))
        }
        WrapperConfig::TruncationAsTermination {} => "truncation_as_termination".to_owned(),
    }
}

fn kwargs(kwargs: &BTreeMap<String, Kwarg>) -> String {
    let value = |kwarg: &Kwarg| match kwarg {
        Kwarg::Bool(flag) => flag.to_string(),
        Kwarg::Integer(integer) => integer.to_string(),
        Kwarg::Number(value) => yaml_number(*value),
        Kwarg::Text(value) => text(value),
    };
    let entries: Vec<String> =
        kwargs.iter().map(|(name, kwarg)| format!("{name}: {}", value(kwarg))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// Plain where that is surely text, otherwise in double quotes with everything
/// unusual escaped.
fn text(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && Scalar::of(text, true) == Scalar::Text;
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ if character.is_alphanumeric() => quoted.push(character),
            _ => write!(quoted, "\\U{:08X}", u32::from(character)).expect(WRITES),
        }
    }
    quoted.push('"');
    quoted
}
