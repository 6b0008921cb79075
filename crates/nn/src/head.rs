//! Action distributions: what the policy's outputs mean, how actions are drawn
//! from them, and the gradients of log-probability and entropy.
//!
//! `sample` and `evaluate` compute a log-probability with the same operations
//! on the same row, so equal policy outputs give equal bits: the probability
//! ratio of an unchanged policy is exactly one.

mod block;
mod categorical;
mod gaussian;
mod state_dependent;

/// The action distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// One choice among `n`; outputs are logits.
    Categorical {
        /// Number of choices.
        n: usize,
    },
    /// Several independent choices; outputs are the logits of all parts in turn.
    MultiCategorical {
        /// Number of choices of each part.
        nvec: Vec<usize>,
    },
    /// Independent normal distributions; outputs are means, and the head's own
    /// parameters are the logarithms of the deviations, the same in every state.
    Gaussian {
        /// Number of action elements.
        size: usize,
    },
    /// Normal distributions whose deviation depends on the state through a
    /// matrix (gSDE); outputs are means, the head's own parameters are the
    /// matrix of log-deviations, `latent` rows of `size`.
    StateDependent {
        /// Width of the last hidden layer.
        latent: usize,
        /// Number of action elements.
        size: usize,
    },
}

/// The randomness that drawing one action takes, in floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Uniform numbers in [0, 1).
    Uniform(usize),
    /// Standard normal numbers.
    Normal(usize),
}

impl Head {
    /// Outputs of the policy network.
    pub fn outputs(&self) -> usize {
        match self {
            Head::Categorical { n } => *n,
            Head::MultiCategorical { nvec } => nvec.iter().sum(),
            Head::Gaussian { size } | Head::StateDependent { size, .. } => *size,
        }
    }

    /// Floats in one action row.
    pub fn action_width(&self) -> usize {
        match self {
            Head::Categorical { .. } => 1,
            Head::MultiCategorical { nvec } => nvec.len(),
            Head::Gaussian { size } | Head::StateDependent { size, .. } => *size,
        }
    }

    /// Parameters of the head itself, beside the network.
    pub fn parameter_count(&self) -> usize {
        match self {
            Head::Categorical { .. } | Head::MultiCategorical { .. } => 0,
            Head::Gaussian { size } => *size,
            Head::StateDependent { latent, size } => latent * size,
        }
    }

    /// The randomness that `sample` wants per row.
    pub fn noise(&self) -> Noise {
        match self {
            Head::Categorical { .. } => Noise::Uniform(1),
            Head::MultiCategorical { nvec } => Noise::Uniform(nvec.len()),
            Head::Gaussian { size } => Noise::Normal(*size),
            Head::StateDependent { latent, size } => Noise::Normal(latent * size),
        }
    }

    /// Draws one action per row and says how likely it was. `latent` is only
    /// read by a state-dependent head.
    #[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
    pub fn sample(
        &self,
        head_parameters: &[f32],
        policy: &[f32],
        latent: &[f32],
        noise: &[f32],
        rows: usize,
        actions: &mut [f32],
        log_probs: &mut [f32],
    ) {
        match self {
            Head::Categorical { n } => categorical::sample(&[*n], policy, noise, rows, actions, log_probs),
            Head::MultiCategorical { nvec } => {
                categorical::sample(nvec, policy, noise, rows, actions, log_probs);
            }
            Head::Gaussian { .. } => {
                gaussian::sample(head_parameters, policy, noise, rows, actions, log_probs);
            }
            Head::StateDependent { size, .. } => {
                state_dependent::sample(
                    *size,
                    head_parameters,
                    policy,
                    latent,
                    noise,
                    rows,
                    actions,
                    log_probs,
                );
            }
        }
    }

    /// The most likely action of each row; among equal logits the lowest index.
    pub fn mode(&self, policy: &[f32], rows: usize, actions: &mut [f32]) {
        match self {
            Head::Categorical { n } => categorical::mode(&[*n], policy, rows, actions),
            Head::MultiCategorical { nvec } => categorical::mode(nvec, policy, rows, actions),
            Head::Gaussian { size } | Head::StateDependent { size, .. } => {
                actions[..rows * size].copy_from_slice(&policy[..rows * size]);
            }
        }
    }

    /// Standard deviation of each action element of one row; empty for discrete actions. `latent` is that row's.
    pub fn deviations(&self, head_parameters: &[f32], latent: &[f32]) -> Vec<f32> {
        match self {
            Head::Categorical { .. } | Head::MultiCategorical { .. } => Vec::new(),
            Head::Gaussian { .. } => head_parameters.iter().copied().map(crate::math::exp).collect(),
            Head::StateDependent { size, .. } => state_dependent::deviations(*size, head_parameters, latent),
        }
    }

    /// Log-probability of each row's action, and the entropy of its distribution.
    #[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
    pub fn evaluate(
        &self,
        head_parameters: &[f32],
        policy: &[f32],
        latent: &[f32],
        actions: &[f32],
        rows: usize,
        log_probs: &mut [f32],
        entropies: &mut [f32],
    ) {
        match self {
            Head::Categorical { n } => {
                categorical::evaluate(&[*n], policy, actions, rows, log_probs, entropies);
            }
            Head::MultiCategorical { nvec } => {
                categorical::evaluate(nvec, policy, actions, rows, log_probs, entropies);
            }
            Head::Gaussian { .. } => {
                gaussian::evaluate(head_parameters, policy, actions, rows, log_probs, entropies);
            }
            Head::StateDependent { size, .. } => {
                state_dependent::evaluate(
                    *size,
                    head_parameters,
                    policy,
                    latent,
                    actions,
                    rows,
                    log_probs,
                    entropies,
                );
            }
        }
    }

    /// Turns dL/d(log-probability) and dL/d(entropy) of each row into
    /// dL/d(policy outputs), which it overwrites, and dL/d(head parameters),
    /// to which it adds. The latent features of a state-dependent head get no
    /// gradient through the deviation.
    #[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
    pub fn gradient(
        &self,
        head_parameters: &[f32],
        policy: &[f32],
        latent: &[f32],
        actions: &[f32],
        rows: usize,
        d_log_probs: &[f32],
        d_entropies: &[f32],
        d_policy: &mut [f32],
        d_head_parameters: &mut [f32],
    ) {
        match self {
            Head::Categorical { n } => {
                categorical::gradient(&[*n], policy, actions, rows, d_log_probs, d_entropies, d_policy);
            }
            Head::MultiCategorical { nvec } => {
                categorical::gradient(nvec, policy, actions, rows, d_log_probs, d_entropies, d_policy);
            }
            Head::Gaussian { .. } => gaussian::gradient(
                head_parameters,
                policy,
                actions,
                rows,
                d_log_probs,
                d_entropies,
                d_policy,
                d_head_parameters,
            ),
            Head::StateDependent { size, .. } => state_dependent::gradient(
                *size,
                head_parameters,
                policy,
                latent,
                actions,
                rows,
                d_log_probs,
                d_entropies,
                d_policy,
                d_head_parameters,
            ),
        }
    }
}
