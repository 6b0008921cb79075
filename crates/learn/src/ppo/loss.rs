//! The clipped surrogate loss and its gradient with respect to the network's
//! outputs, on one tile of samples.
//!
//! loss = mean(max(−A·r, −A·clip(r, 1−ε, 1+ε))) + c_v·mean((V − R)²) − c_e·mean(H)

use rlxp_nn::Scratch;

use crate::policy::Policy;

/// The loss's constants for one minibatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficients {
    pub(crate) clip_range: f32,
    pub(crate) clip_value: Option<f32>,
    pub(crate) entropy: f32,
    pub(crate) value: f32,
    pub(crate) normalize_advantages: bool,
}

/// Samples of a tile as they were collected; advantages already normalised.
#[derive(Default)]
pub(crate) struct Tile {
    pub(crate) observations: Vec<f32>,
    pub(crate) actions: Vec<f32>,
    pub(crate) log_probs: Vec<f32>,
    pub(crate) values: Vec<f32>,
    pub(crate) advantages: Vec<f32>,
    pub(crate) returns: Vec<f32>,
}

/// Sums over samples, for reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossSums {
    pub(crate) count: f64,
    pub(crate) policy_loss: f64,
    pub(crate) value_loss: f64,
    pub(crate) entropy: f64,
    pub(crate) ratio: f64,
    /// Sum of the k3 estimator (r − 1) − ln r of the KL divergence.
    pub(crate) kl: f64,
    /// Samples whose ratio left the clip range.
    pub(crate) clipped: f64,
}

impl LossSums {
    pub(crate) fn mean_kl(&self) -> f64 {
        self.kl / self.count
    }

    pub(crate) fn add(&mut self, other: &LossSums) {
        self.count += other.count;
        self.policy_loss += other.policy_loss;
        self.value_loss += other.value_loss;
        self.entropy += other.entropy;
        self.ratio += other.ratio;
        self.kl += other.kl;
        self.clipped += other.clipped;
    }
}

/// Room for one tile's distribution and its gradients.
#[derive(Default)]
pub(crate) struct LossWork {
    log_probs: Vec<f32>,
    entropies: Vec<f32>,
    d_log_probs: Vec<f32>,
    d_entropies: Vec<f32>,
    d_policy: Vec<f32>,
}

impl LossWork {
    pub(crate) fn new(rows: usize, outputs: usize) -> Self {
        let row = || vec![0.0; rows];
        Self {
            log_probs: row(),
            entropies: row(),
            d_log_probs: row(),
            d_entropies: row(),
            d_policy: vec![0.0; rows * outputs],
        }
    }
}

/// Computes the loss of a tile whose forward pass `scratch` holds, and leaves
/// its gradient in `scratch.d_policy`, `scratch.d_values` and, added, in
/// `d_head_parameters`. `batch` is the number of samples that the mean is over.
pub(crate) fn loss_and_gradient(
    policy: &Policy,
    tile: &Tile,
    batch: usize,
    coefficients: &Coefficients,
    scratch: &mut Scratch,
    work: &mut LossWork,
    d_head_parameters: &mut [f32],
) -> LossSums {
    let (head, head_parameters) = (policy.head(), policy.head_parameters());
    let rows = tile.log_probs.len();
    let share = 1.0 / batch as f32;
    let outputs = rows * head.outputs();
    let LossWork { log_probs, entropies, d_log_probs, d_entropies, d_policy } = work;
    let (log_probs, entropies) = (&mut log_probs[..rows], &mut entropies[..rows]);
    let (d_log_probs, d_entropies) = (&mut d_log_probs[..rows], &mut d_entropies[..rows]);
    let logits = &scratch.policy[..outputs];
    head.evaluate(head_parameters, logits, scratch.latent(), &tile.actions, rows, log_probs, entropies);

    let mut sums = LossSums { count: rows as f64, ..LossSums::default() };
    for row in 0..rows {
        let advantage = tile.advantages[row];
        let log_ratio = log_probs[row] - tile.log_probs[row];
        let ratio = log_ratio.exp();
        let limited = ratio.clamp(1.0 - coefficients.clip_range, 1.0 + coefficients.clip_range);
        let (free, clipped) = (-advantage * ratio, -advantage * limited);
        // d(−A·r)/d(log π) = −A·r; the clipped branch is constant where it counts.
        d_log_probs[row] = if free >= clipped { free * share } else { 0.0 };
        d_entropies[row] = -coefficients.entropy * share;
        sums.policy_loss += f64::from(free.max(clipped));
        sums.entropy += f64::from(entropies[row]);
        sums.ratio += f64::from(ratio);
        sums.kl += f64::from((ratio - 1.0) - log_ratio);
        sums.clipped += f64::from(u8::from((ratio - 1.0).abs() > coefficients.clip_range));
    }
    head.gradient(
        head_parameters,
        logits,
        scratch.latent(),
        &tile.actions,
        rows,
        d_log_probs,
        d_entropies,
        &mut d_policy[..outputs],
        d_head_parameters,
    );
    scratch.d_policy[..outputs].copy_from_slice(&d_policy[..outputs]);

    for row in 0..rows {
        let (value, target) = (scratch.values[row], tile.returns[row]);
        let (loss, slope) = value_loss(value, tile.values[row], target, coefficients.clip_value);
        scratch.d_values[row] = coefficients.value * slope * share;
        sums.value_loss += f64::from(loss);
    }
    sums
}

/// Squared error and its derivative; with a clip range the larger of the plain
/// and the clipped error.
fn value_loss(value: f32, old: f32, target: f32, clip: Option<f32>) -> (f32, f32) {
    let plain = value - target;
    if let Some(range) = clip {
        let limited = old + (value - old).clamp(-range, range) - target;
        if limited * limited > plain * plain {
            let inside = (value - old).abs() < range;
            return (limited * limited, if inside { 2.0 * limited } else { 0.0 });
        }
    }
    (plain * plain, 2.0 * plain)
}

#[cfg(test)]
mod tests;
