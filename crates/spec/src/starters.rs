//! Starter configs, one per environment.
//!
//! They are files that a user gets from `init` and edits; the same files give
//! the defaults of keys that a config leaves out, so that `env: {id: …}` alone
//! trains well.

use std::sync::LazyLock;

use crate::keys::{Chosen, Shape, at};
use crate::layers::{self, Layer};
use crate::problem::Collector;
use crate::source::Source;

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
            file_name: base_name($file_name),
            text: include_str!(concat!("../starters/", $file_name)),
        }
    };
}

/// What follows the last slash.
const fn base_name(path: &'static str) -> &'static str {
    let bytes = path.as_bytes();
    let mut at = bytes.len();
    while at > 0 && bytes[at - 1] != b'/' {
        at -= 1;
    }
    path.split_at(at).1
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

const GYMNASIUM: &[Starter] = &[
    starter!("corridor:Corridor", "gymnasium/ppo_corridor.yaml"),
    starter!("LunarLander-v3", "gymnasium/ppo_lunarlander.yaml"),
    starter!("BipedalWalker-v3", "gymnasium/ppo_bipedalwalker.yaml"),
    starter!("HalfCheetah-v5", "gymnasium/ppo_halfcheetah.yaml"),
    starter!("Hopper-v5", "gymnasium/ppo_hopper.yaml"),
    starter!("minigrid:MiniGrid-Empty-Random-5x5-v0", "gymnasium/ppo_minigrid_empty.yaml"),
];

/// An environment of Python to start from.
pub const GYMNASIUM_CLASS: &str = include_str!("../starters/gymnasium/corridor.py");
/// The README of that project.
pub const GYMNASIUM_README: &str = include_str!("../starters/gymnasium/README.md");

const ALIASES: &[(&str, &str)] = &[("Taxi-v3", "Taxi-v4")];

/// Every starter, simplest environment first.
pub fn starters() -> &'static [Starter] {
    STARTERS
}

/// Starters for environments of Python, the one of [`GYMNASIUM_CLASS`] first.
pub fn gymnasium_starters() -> &'static [Starter] {
    GYMNASIUM
}

/// The training settings of an environment's starter. What it says about the
/// run itself (its name, seeds, threads) is not taken over.
pub(crate) fn layer_for(env_id: &str) -> Option<&'static Layer> {
    static LAYERS: LazyLock<Vec<Layer>> = LazyLock::new(|| STARTERS.iter().map(layer).collect());
    let id = ALIASES.iter().find(|(alias, _)| *alias == env_id).map_or(env_id, |(_, id)| *id);
    STARTERS.iter().position(|starter| starter.env_id == id).map(|index| &LAYERS[index])
}

fn layer(starter: &Starter) -> Layer {
    let (shape, source) = (Shape::config(), Source::new(starter.file_name, starter.text));
    let mut problems = Collector::default();
    let file = layers::read(shape, &source, &mut problems).expect("embedded files are tested to be read");
    let tags = shape.tags(|path| at(&file.value, path));
    let mut layer = file.check(&Chosen { shape, tags: &tags }, &source, &mut problems);
    assert!(problems.is_empty(), "embedded {}: {problems:?}", starter.file_name);
    layer.values.retain(|path, _| path.contains('.') && path != "env.id");
    layer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starters_for_python_are_valid_and_named_after_their_file() {
        for starter in GYMNASIUM {
            let found = layer(starter);
            assert!(!found.values.is_empty(), "{}", starter.file_name);
            let name = starter.file_name.strip_suffix(".yaml").expect("a YAML file");
            assert!(starter.text.contains(&format!("\nrun_name: {name}\n")), "{name}");
            assert!(starter.text.contains(starter.env_id), "{name}");
        }
    }
}
