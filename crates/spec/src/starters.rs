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
