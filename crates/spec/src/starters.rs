//! Starter configs, one per environment, and the general defaults.
//!
//! They are files that a user gets from `init` and edits; the same files give
//! the defaults of keys that a config leaves out, so that `env: {id: …}` alone
//! trains well.

use std::sync::LazyLock;

use crate::check::{Checker, Values};
use crate::problem::Collector;
use crate::source::Source;
use crate::tree;

/// A config to start from.
#[derive(Clone, Copy, Debug)]
pub struct Starter {
    /// The environment it is for.
    pub env_id: &'static str,
    /// The file's name under `configs/`.
    pub file_name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! starter {
    ($env_id:literal, $file_name:literal) => {
        Starter {
            env_id: $env_id,
            file_name: $file_name,
            text: include_str!(concat!("../starters/", $file_name)),
        }
    };
}

const STARTERS: &[Starter] = &[
    starter!("CartPole-v1", "ppo_cartpole.yaml"),
    starter!("Acrobot-v1", "ppo_acrobot.yaml"),
    starter!("MountainCar-v0", "ppo_mountaincar.yaml"),
    starter!("MountainCarContinuous-v0", "ppo_mountaincarcontinuous.yaml"),
    starter!("Pendulum-v1", "ppo_pendulum.yaml"),
    starter!("FrozenLake-v1", "ppo_frozenlake.yaml"),
    starter!("FrozenLake8x8-v1", "ppo_frozenlake8x8.yaml"),
    starter!("Taxi-v4", "ppo_taxi.yaml"),
    starter!("CliffWalking-v1", "ppo_cliffwalking.yaml"),
    starter!("CliffWalkingSlippery-v1", "ppo_cliffwalkingslippery.yaml"),
    starter!("Blackjack-v1", "ppo_blackjack.yaml"),
];

const ALIASES: &[(&str, &str)] = &[("Taxi-v3", "Taxi-v4")];

/// Every starter, simplest environment first.
pub fn starters() -> &'static [Starter] {
    STARTERS
}

/// What the starter of an environment says about how to train it. What it says
/// about the run itself (its name, seeds, threads) is not taken over.
pub(crate) fn values_for(env_id: &str) -> Option<&'static Values> {
    static VALUES: LazyLock<Vec<Values>> = LazyLock::new(|| {
        let of_environment = |starter: &Starter| {
            let mut values = trusted(starter.file_name, starter.text);
            values.retain(|path, _| path.contains('.') && *path != "env.id");
            values
        };
        STARTERS.iter().map(of_environment).collect()
    });
    let id = ALIASES.iter().find(|(alias, _)| *alias == env_id).map_or(env_id, |(_, id)| *id);
    STARTERS.iter().position(|starter| starter.env_id == id).map(|index| &VALUES[index])
}

/// The defaults of environments without a starter, and of keys that starters leave out.
pub(crate) fn general() -> &'static Values {
    static VALUES: LazyLock<Values> =
        LazyLock::new(|| trusted("defaults.yaml", include_str!("../starters/defaults.yaml")));
    &VALUES
}

/// The values of a file that is part of the program.
fn trusted(name: &str, text: &str) -> Values {
    let source = Source::new(name, text);
    let mut problems = Collector::default();
    let root = tree::parse(&source, 0..text.len(), &mut problems);
    let mut checker = Checker::new(&source, &mut problems);
    checker.root(&root.expect("embedded files are tested to parse"));
    let values = checker.checked.values;
    assert!(problems.is_empty(), "embedded {name}: {problems:?}");
    values
}

/// `ppo_cartpole` for `CartPole-v1`.
pub(crate) fn run_name(env_id: &str) -> String {
    let base = match env_id.rsplit_once("-v") {
        Some((base, version)) if !base.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => env_id,
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = base.chars().take(80).map(safe).collect();
    format!("ppo_{name}")
}
