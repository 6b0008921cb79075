//! The kinds of networks: one variant each, with keys of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PolicyConfig {
    /// Fully connected layers.
    Mlp(MlpConfig),
}

/// Fully connected layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MlpConfig {
    /// Units of each hidden layer.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1, max = 4096)), extend("default" = [64, 64]))]
    pub hidden_sizes: Vec<usize>,
    /// Activation between layers.
    #[schemars(extend("default" = "tanh"))]
    pub activation: ActivationName,
    /// Share the hidden layers between policy and value function.
    #[schemars(extend("default" = false))]
    pub shared_network: bool,
    /// Initial logarithm of the standard deviation of actions (continuous actions).
    #[schemars(range(min = -20.0, max = 5.0), extend("default" = 0.0))]
    pub log_std_init: f64,
    /// State-dependent exploration (continuous actions).
    #[schemars(extend("default" = false))]
    pub use_sde: bool,
    /// Steps between new exploration matrices; null for one per rollout.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("default" = null))]
    pub sde_sample_freq: Option<u64>,
}

/// Activation between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivationName {
    /// Hyperbolic tangent.
    Tanh,
    /// max(0, x).
    Relu,
    /// Exponential linear unit.
    Elu,
    /// Gaussian error linear unit.
    Gelu,
}

impl PolicyConfig {
    /// Steps between new exploration matrices; none for once per rollout.
    pub fn sde_sample_freq(&self) -> Option<u64> {
        match self {
            PolicyConfig::Mlp(mlp) => mlp.sde_sample_freq,
        }
    }
}
