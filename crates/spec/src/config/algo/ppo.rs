//! The keys of proximal policy optimisation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::rules::{Facts, Report};
use crate::config::{EnvConfig, MAX_STEPS, Schedule};
use crate::problem::Severity;

/// Samples of one rollout over all environments; bounds what a config can make
/// the trainer allocate.
const MAX_ROLLOUT: u64 = 100_000_000;

/// Proximal policy optimisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PpoConfig {
    /// Environment steps to train for; rounded up to a whole rollout.
    #[schemars(range(min = 1, max = MAX_STEPS), extend("default" = 100_000))]
    pub total_timesteps: u64,
    /// Steps of each environment between two updates.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 128))]
    pub rollout_steps: usize,
    /// Samples per gradient step, at most one rollout. The default shrinks to fit a smaller rollout.
    #[schemars(range(min = 1, max = MAX_ROLLOUT), extend("default" = 256))]
    pub batch_size: usize,
    /// Passes over each rollout.
    #[schemars(range(min = 1, max = 1000), extend("default" = 4))]
    pub update_epochs: usize,
    /// Adam's learning rate.
    #[schemars(extend("default" = 0.0003))]
    pub learning_rate: Schedule,
    /// How far an update may move the probability ratio of an action from 1.
    #[schemars(extend("default" = 0.2))]
    pub clip_range: Schedule,
    /// Discount factor.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0, "default" = 0.99))]
    pub gamma: f64,
    /// λ of generalised advantage estimation: lower has less variance and more bias.
    #[schemars(range(min = 0.0, max = 1.0), extend("default" = 0.95))]
    pub gae_lambda: f64,
    /// Weight of the entropy bonus.
    #[schemars(range(min = 0.0, max = 10.0), extend("default" = 0.0))]
    pub entropy_coef: f64,
    /// Weight of the value loss.
    #[schemars(range(min = 0.0, max = 100.0), extend("default" = 0.5))]
    pub value_coef: f64,
    /// Largest norm of the whole gradient; null for no limit.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0, "default" = 0.5))]
    pub max_grad_norm: Option<f64>,
    /// End an update early when `approx_kl` passes 1.5 times this; null for never.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0, "default" = null))]
    pub target_kl: Option<f64>,
    /// Normalise the advantages of each batch.
    #[schemars(extend("default" = true))]
    pub normalize_advantages: bool,
    /// Clip range of the value function; null for no clipping.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0, "default" = null))]
    pub clip_value: Option<f64>,
    /// Adam's epsilon.
    #[schemars(range(min = 1e-12, max = 1.0), extend("default" = 1e-5))]
    pub adam_epsilon: f64,
}

impl PpoConfig {
    /// Reports values that don't fit together or to the environment.
    pub(crate) fn check(&self, env: &EnvConfig, facts: &Facts<'_>, report: &mut Report<'_>) {
        if !facts.all_fine(&["env.num_envs", "algo.rollout_steps"]) {
            return;
        }
        let (envs, steps) = (env.num_envs as u64, self.rollout_steps as u64);
        let rollout = envs * steps;
        if rollout > MAX_ROLLOUT {
            let is_chosen = (facts.is_chosen)("algo.rollout_steps");
            let path = if is_chosen { "algo.rollout_steps" } else { "env.num_envs" };
            let message = format!(
                "`env.num_envs` {envs} × `algo.rollout_steps` {steps} is {rollout} samples per rollout; at most {MAX_ROLLOUT}"
            );
            return report(path, Severity::Error, message, None);
        }
        if !facts.all_fine(&["algo.batch_size"]) {
            return;
        }
        let batch = self.batch_size as u64;
        if (facts.is_chosen)("algo.batch_size") && batch > rollout {
            let message = format!(
                "`algo.batch_size` {batch} is larger than a rollout: `env.num_envs` {envs} × `algo.rollout_steps` {steps} = {rollout}"
            );
            report("algo.batch_size", Severity::Error, message, Some(format!("batch_size: {rollout}")));
        } else if facts.all_fine(&["algo.normalize_advantages"])
            && self.normalize_advantages
            && batch.min(rollout) == 1
        {
            let path = if batch == 1 { "algo.batch_size" } else { "algo.rollout_steps" };
            let message = "one sample per batch can't be normalised: its advantage would always be 0";
            let hint = "use a larger batch, or normalize_advantages: false".to_owned();
            report(path, Severity::Error, message.to_owned(), Some(hint));
        }
    }

    /// Each epoch passes over the whole rollout, so samples that don't fill a batch make a smaller one.
    pub(super) fn last_batch(&self, rollout: u64) -> Option<String> {
        let batch = self.batch_size as u64;
        let rest = rollout % batch;
        (rest > 0).then(|| {
            let useless = if rest == 1 && self.normalize_advantages {
                ", whose normalised advantage is always 0"
            } else {
                ""
            };
            let samples = if rest == 1 { "sample" } else { "samples" };
            format!(
                "algo.batch_size {batch} doesn't divide a rollout of {rollout} samples: the last batch of each epoch has {rest} {samples}{useless}"
            )
        })
    }
}
