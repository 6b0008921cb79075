//! The metrics of one update.
//!
//! Nothing here takes part in learning. Two numbers describe how well the value function fits: explained variance
//! shows whether it follows the returns, bias whether it is off by a constant, which explained variance can't see.

use rlxp_env::Space;
use rlxp_nn::Head;

use super::Ppo;
use super::loss::LossSums;
use crate::observed;
use crate::rollout::FinishedEpisode;
use crate::signals::{self, Values};

impl Ppo {
    /// The update's numbers; `rewards` are those about rewards before scaling.
    pub(super) fn report(
        &self,
        done: f64,
        learned: &Learned,
        finished: &[FinishedEpisode],
        rewards: Values,
    ) -> Values {
        let rollout = &self.collector.rollout;
        let fit = ValueFit::measure(&rollout.values, &rollout.returns);
        let minibatches = learned.minibatches.max(1) as f64;
        let mut values = vec![
            ("policy_loss", learned.policy_loss / minibatches),
            ("value_loss", learned.value_loss / minibatches),
            ("entropy", learned.entropy / minibatches),
            ("approx_kl", learned.approx_kl / minibatches),
            ("clip_fraction", learned.clip_fraction / minibatches),
            ("grad_norm", learned.grad_norm / minibatches),
            ("learning_rate", self.algo.learning_rate.at(done)),
            ("clip_range", self.algo.clip_range.at(done)),
            ("epochs", learned.epochs as f64),
            ("stopped_by_kl", f64::from(u8::from(learned.stopped_by_kl))),
        ];
        if let Some((explained_variance, bias)) = fit.quality {
            values.push(("explained_variance", explained_variance));
            values.push(("value_bias", bias));
        }
        values.extend([
            ("value_mean", fit.value_mean),
            ("return_target_mean", fit.return_mean),
            ("episodes", self.episodes as f64),
            ("episodes_finished", finished.len() as f64),
        ]);
        if let Some(mean_return) = self.mean_return() {
            let lengths: u64 = self.recent.iter().map(|(_, length)| length).sum();
            values.push(("mean_return", mean_return));
            values.push(("mean_length", lengths as f64 / self.recent.len() as f64));
        }
        let known: Vec<bool> = finished.iter().filter_map(|episode| episode.success).collect();
        if !known.is_empty() {
            let successes = known.iter().filter(|success| **success).count();
            values.push(("success_rate", successes as f64 / known.len() as f64));
        }
        if self.algo.max_grad_norm.is_some() && learned.minibatches > 0 {
            values.push(("grad_clipped", learned.grad_clipped as f64 / minibatches));
        }
        values.extend(rewards);
        if let Some(scaler) = &self.reward_scaler {
            values.push(("reward_scale", f64::from(scaler.scale())));
        }
        values.extend(signals::episodes(finished, self.collector.step_cap()));
        let spread = signals::reset_spread(finished, self.collector.copies(), self.collector.steps());
        values.extend(spread.map(|spread| ("reset_spread", spread)));
        values.extend(signals::values(rollout));
        values.extend(self.action_deviation(learned).map(|deviation| ("action_std", deviation)));
        let saturation = self
            .policy
            .bounds()
            .and_then(|(low, high)| signals::action_saturation(&rollout.actions, low, high));
        values.extend(saturation.map(|share| ("action_saturation", share)));
        values
    }

    /// Mean deviation of a Gaussian policy's actions. Where it depends on the
    /// state, the geometric mean over the samples of the update, which the
    /// entropy Σ ln σ + size·½·ln(2πe) holds.
    fn action_deviation(&self, learned: &Learned) -> Option<f64> {
        match self.policy.head() {
            Head::Categorical { .. } | Head::MultiCategorical { .. } => None,
            Head::Gaussian { size } => {
                let logs = self.policy.head_parameters();
                Some(logs.iter().map(|log| f64::from(*log).exp()).sum::<f64>() / *size as f64)
            }
            Head::StateDependent { size, .. } => (learned.minibatches > 0).then(|| {
                let entropy = learned.entropy / learned.minibatches as f64;
                let of_one = 0.5 * (std::f64::consts::TAU.ln() + 1.0);
                (entropy / *size as f64 - of_one).exp()
            }),
        }
    }

    /// What the observations of the latest rollout look like (dimension by
    /// dimension, before normalisation, where they are real numbers and not too
    /// many), and the share of dormant hidden units. Empty as long as this
    /// learner has collected nothing.
    pub fn observed(&self) -> Vec<(String, f64)> {
        if !self.collector.collected {
            return Vec::new();
        }
        let rollout = &self.collector.rollout;
        let mut values = match self.collector.observation_space() {
            Space::Box { low, .. } if low.len() <= observed::MOST_DIMENSIONS => {
                let normalized = self.policy.normalizer.is_some();
                let raw: Vec<&[f32]> = if normalized {
                    self.collector.raw_observations().collect()
                } else {
                    vec![&rollout.observations]
                };
                let scaled = normalized.then_some(rollout.observations.as_slice());
                observed::dimensions(&raw, scaled, low.len())
            }
            _ => Vec::new(),
        };
        let dormant = observed::dormant_fraction(&self.policy, &rollout.observations);
        values.extend(dormant.map(|share| ("dormant_fraction".to_owned(), share)));
        values
    }
}

/// Sums over the minibatches of one update.
#[derive(Default)]
pub(super) struct Learned {
    pub(super) minibatches: u64,
    pub(super) epochs: u64,
    pub(super) stopped_by_kl: bool,
    /// What stopped being finite, and its value.
    pub(super) diverged: Option<(&'static str, f64)>,
    policy_loss: f64,
    value_loss: f64,
    entropy: f64,
    approx_kl: f64,
    clip_fraction: f64,
    grad_norm: f64,
    grad_clipped: u64,
}

impl Learned {
    pub(super) fn add(&mut self, sums: &LossSums, grad_norm: f64, clipped: bool) {
        self.minibatches += 1;
        self.policy_loss += sums.policy_loss / sums.count;
        self.value_loss += sums.value_loss / sums.count;
        self.entropy += sums.entropy / sums.count;
        self.approx_kl += sums.mean_kl();
        self.clip_fraction += sums.clipped / sums.count;
        self.grad_norm += grad_norm;
        self.grad_clipped += u64::from(clipped);
    }
}

/// Fit of value estimates to returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueFit {
    /// 1 − Var(returns − values) / Var(returns), and mean(values − returns) in deviations of the returns; `None` if
    /// returns are constant.
    pub(crate) quality: Option<(f64, f64)>,
    /// Mean value estimate.
    pub(crate) value_mean: f64,
    pub(crate) return_mean: f64,
}

impl ValueFit {
    pub(crate) fn measure(values: &[f32], returns: &[f32]) -> Self {
        let count = returns.len() as f64;
        let mean = |sum: f64| sum / count;
        let value_mean = mean(values.iter().map(|x| f64::from(*x)).sum());
        let return_mean = mean(returns.iter().map(|x| f64::from(*x)).sum());
        let error = value_mean - return_mean;
        let mut return_variance = 0.0;
        let mut error_variance = 0.0;
        for (value, target) in values.iter().zip(returns) {
            let (value, target) = (f64::from(*value), f64::from(*target));
            return_variance += (target - return_mean).powi(2);
            error_variance += (value - target - error).powi(2);
        }
        let (return_variance, error_variance) = (mean(return_variance), mean(error_variance));
        // NaN is no constant.
        let constant = return_variance <= 1e-12;
        let quality = || (1.0 - error_variance / return_variance, error / return_variance.sqrt());
        Self { quality: (!constant).then(quality), value_mean, return_mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explained_variance_is_blind_to_a_constant_that_bias_sees() {
        let returns = [1.0, 2.0, 3.0, 4.0];
        let (close, _) = ValueFit::measure(&[1.1, 1.9, 3.2, 3.7], &returns).quality.unwrap();
        assert!((close - 0.9705).abs() < 1e-6, "{close}");
        let (shifted, bias) = ValueFit::measure(&[11.1, 11.9, 13.2, 13.7], &returns).quality.unwrap();
        assert!((shifted - 0.9705).abs() < 1e-5, "{shifted}");
        // mean(ŷ − y) = 9.975, std(y) = √1.25.
        assert!((bias - 9.975 / 1.25_f64.sqrt()).abs() < 1e-5, "{bias}");
    }

    #[test]
    fn constant_returns_leave_both_undefined_and_broken_ones_show() {
        assert_eq!(ValueFit::measure(&[1.0, 2.0], &[3.0, 3.0]).quality, None);
        let (explained, bias) = ValueFit::measure(&[1.0, f32::NAN], &[3.0, 4.0]).quality.unwrap();
        assert!(explained.is_nan() && bias.is_nan());
    }
}
