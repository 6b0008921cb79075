//! The kinds of networks: one variant each, with keys of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The networks, chosen by `type`.
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
    /// Widths of the hidden layers.
    pub hidden_sizes: Vec<usize>,
    /// Activation between layers.
    pub activation: ActivationName,
    /// Policy and value share their hidden layers.
    pub shared_network: bool,
    /// Initial logarithm of the action deviation (continuous actions).
    pub log_std_init: f64,
    /// State-dependent exploration (continuous actions).
    pub use_sde: bool,
    /// Steps between new exploration matrices; null for once per rollout.
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
