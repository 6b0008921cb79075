//! The keys of proximal policy optimisation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Schedule;

/// Proximal policy optimisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PpoConfig {
    /// Environment steps in all; rounds up to a whole rollout.
    pub total_timesteps: u64,
    /// Steps per environment between updates.
    pub rollout_steps: usize,
    /// Samples of one gradient step.
    pub batch_size: usize,
    /// Passes over each rollout.
    pub update_epochs: usize,
    /// Adam's step size.
    pub learning_rate: Schedule,
    /// How far the policy ratio may move.
    pub clip_range: Schedule,
    /// Discount.
    pub gamma: f64,
    /// Bias against variance of the advantage.
    pub gae_lambda: f64,
    /// Weight of the entropy bonus.
    pub entropy_coef: f64,
    /// Weight of the value loss.
    pub value_coef: f64,
    /// Global gradient norm cap; null for none.
    pub max_grad_norm: Option<f64>,
    /// Ends an update's epochs when approx_kl passes 1.5 times this; null for never.
    pub target_kl: Option<f64>,
    /// Normalise advantages per minibatch.
    pub normalize_advantages: bool,
    /// Clip range of the value function; null for none.
    pub clip_value: Option<f64>,
    /// Adam's epsilon.
    pub adam_epsilon: f64,
}
