//! Layers of values, the first of which that has a key decides, become the
//! resolved config.

use std::collections::BTreeMap;

use crate::check::Values;
use crate::config::{
    ActivationName, AlgoConfig, CheckpointConfig, Config, EnvConfig, EvalConfig, Kwarg, MlpConfig,
    PolicyConfig, PpoConfig, Schedule, WrapperConfig,
};
use crate::starters;
use crate::values::Value;

/// Values by precedence: overrides, file, starter, general defaults.
pub(crate) struct Layers<'a> {
    pub(crate) layers: Vec<&'a Values>,
    /// How many of them the user wrote.
    pub(crate) chosen: usize,
    /// Keyword arguments that were set one by one.
    pub(crate) added_kwargs: &'a BTreeMap<String, Kwarg>,
}

/// The only device that there is.
pub(crate) const CPU: &str = "cpu";

const HELD: &str = "the general defaults hold every key that is not derived, and a test proves it";

impl Layers<'_> {
    pub(crate) fn value(&self, path: &str) -> Option<&Value> {
        self.layers.iter().find_map(|layer| layer.get(path))
    }

    /// Whether the user wrote this key.
    pub(crate) fn is_chosen(&self, path: &str) -> bool {
        self.layers[..self.chosen].iter().any(|layer| layer.contains_key(path))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        text(&self.layers, path)
    }

    pub(crate) fn count(&self, path: &str) -> u64 {
        self.count_or_null(path).expect(HELD)
    }

    pub(crate) fn flag(&self, path: &str) -> bool {
        match self.value(path) {
            Some(Value::Flag(flag)) => Some(*flag),
            _ => None,
        }
        .expect(HELD)
    }

    fn count_or_null(&self, path: &str) -> Option<u64> {
        match self.value(path) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    fn size(&self, path: &str) -> usize {
        self.size_or_null(path).expect(HELD)
    }

    fn size_or_null(&self, path: &str) -> Option<usize> {
        let count = self.count_or_null(path)?;
        Some(usize::try_from(count).expect("every count of things is capped far below 2^32"))
    }

    fn number_or_null(&self, path: &str) -> Option<f64> {
        match self.value(path) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn number(&self, path: &str) -> f64 {
        self.number_or_null(path).expect(HELD)
    }

    fn schedule(&self, path: &str) -> Schedule {
        match self.value(path) {
            Some(Value::Schedule(schedule)) => Some(*schedule),
            _ => None,
        }
        .expect(HELD)
    }

    fn sizes(&self, path: &str) -> Vec<usize> {
        match self.value(path) {
            Some(Value::Sizes(sizes)) => Some(sizes.clone()),
            _ => None,
        }
        .expect(HELD)
    }

    fn wrappers(&self) -> Vec<WrapperConfig> {
        match self.value("env.wrappers") {
            Some(Value::Wrappers(wrappers)) => wrappers.clone(),
            _ => Vec::new(),
        }
    }

    fn kwargs(&self) -> BTreeMap<String, Kwarg> {
        let mut kwargs = match self.value("env.kwargs") {
            Some(Value::Kwargs(kwargs)) => kwargs.clone(),
            _ => BTreeMap::new(),
        };
        kwargs.extend(self.added_kwargs.iter().map(|(name, value)| (name.clone(), value.clone())));
        kwargs
    }
}

/// The text at `path` in the first layer that has one.
pub(crate) fn text<'v>(layers: &[&'v Values], path: &str) -> Option<&'v str> {
    layers.iter().find_map(|layer| match layer.get(path) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    })
}

/// The resolved config. Every value is already checked, and `env.id` is there.
pub(crate) fn config(layers: &Layers<'_>, cores: usize) -> Config {
    let id = layers.text("env.id").expect("the caller saw it").to_owned();
    let total = layers.count_or_null("algo.total_timesteps").expect("there is a general default");
    let (num_envs, rollout_steps) = (layers.size("env.num_envs"), layers.size("algo.rollout_steps"));
    let seeds = seeds(layers);
    Config {
        run_name: layers.text("run_name").map_or_else(|| starters::run_name(&id), str::to_owned),
        seed: seeds[0],
        seeds,
        threads: match layers.size("threads") {
            0 => cores.clamp(1, 1024),
            threads => threads,
        },
        // Whatever is asked for: the record says where it was computed.
        device: CPU.to_owned(),
        env: EnvConfig {
            id,
            num_envs,
            kwargs: layers.kwargs(),
            max_episode_steps: layers.count_or_null("env.max_episode_steps"),
            wrappers: layers.wrappers(),
            normalize_observations: layers.flag("env.normalize_observations"),
            normalize_rewards: layers.flag("env.normalize_rewards"),
        },
        algo: AlgoConfig::Ppo(PpoConfig {
            total_timesteps: total,
            rollout_steps,
            // A default shrinks to fit; one that the user chose is known to fit.
            batch_size: layers.size("algo.batch_size").min(num_envs * rollout_steps),
            update_epochs: layers.size("algo.update_epochs"),
            learning_rate: layers.schedule("algo.learning_rate"),
            clip_range: layers.schedule("algo.clip_range"),
            gamma: layers.number("algo.gamma"),
            gae_lambda: layers.number("algo.gae_lambda"),
            entropy_coef: layers.number("algo.entropy_coef"),
            value_coef: layers.number("algo.value_coef"),
            max_grad_norm: layers.number_or_null("algo.max_grad_norm"),
            target_kl: layers.number_or_null("algo.target_kl"),
            normalize_advantages: layers.flag("algo.normalize_advantages"),
            clip_value: layers.number_or_null("algo.clip_value"),
            adam_epsilon: layers.number("algo.adam_epsilon"),
        }),
        policy: PolicyConfig::Mlp(MlpConfig {
            hidden_sizes: layers.sizes("policy.hidden_sizes"),
            activation: activation(layers.text("policy.activation").expect(HELD)),
            shared_network: layers.flag("policy.shared_network"),
            log_std_init: layers.number("policy.log_std_init"),
            use_sde: layers.flag("policy.use_sde"),
            sde_sample_freq: layers.count_or_null("policy.sde_sample_freq"),
        }),
        checkpoint: CheckpointConfig {
            save_every: layers.count_or_null("checkpoint.save_every").unwrap_or((total / 10).max(1)),
            keep: layers.size_or_null("checkpoint.keep"),
        },
        eval: EvalConfig {
            every: layers.count_or_null("eval.every").unwrap_or((total / 20).max(1)),
            episodes: layers.size("eval.episodes"),
            deterministic: layers.flag("eval.deterministic"),
            seed: layers.count("eval.seed"),
        },
    }
}

fn seeds(layers: &Layers<'_>) -> Vec<u64> {
    let first = layers.count("seed");
    match layers.value("seeds") {
        Some(Value::SeedList(list)) => list.clone(),
        Some(Value::SeedCount(count)) => (first..first + count).collect(),
        _ => vec![first],
    }
}

fn activation(word: &str) -> ActivationName {
    match word {
        "relu" => ActivationName::Relu,
        "elu" => ActivationName::Elu,
        "gelu" => ActivationName::Gelu,
        _ => ActivationName::Tanh,
    }
}
