//! State-dependent exploration (gSDE, Raffin et al. 2021): the noise is a
//! linear function of the last hidden layer, so that it is the same for the
//! same state as long as its matrix is kept.
//!
//! The variance of element j is Σ_i latent_i²·std_ij² + 1e-6. The latent
//! features are read as constants: no gradient flows through the variance.

use super::gaussian::HALF_LN_TAU;
use crate::math;

const SMALLEST_VARIANCE: f32 = 1e-6;

/// Squared deviations of the matrix.
fn squares(log_std: &[f32]) -> Vec<f32> {
    log_std.iter().map(|log_std| math::exp(2.0 * log_std)).collect()
}

/// The variance of every action element of one row.
fn variances(squares: &[f32], latent: &[f32], variances: &mut [f32]) {
    let size = variances.len();
    variances.fill(SMALLEST_VARIANCE);
    for (feature, squares) in latent.iter().zip(squares.chunks_exact(size)) {
        let square = feature * feature;
        for (variance, &std) in variances.iter_mut().zip(squares) {
            *variance += square * std;
        }
    }
}

/// The deviation of every action element of one row.
pub(super) fn deviations(size: usize, log_std: &[f32], latent: &[f32]) -> Vec<f32> {
    let mut variance = vec![0.0; size];
    variances(&squares(log_std), latent, &mut variance);
    variance.into_iter().map(f32::sqrt).collect()
}

#[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
pub(super) fn sample(
    size: usize,
    log_std: &[f32],
    policy: &[f32],
    latent: &[f32],
    noise: &[f32],
    rows: usize,
    actions: &mut [f32],
    log_probs: &mut [f32],
) {
    let features = log_std.len() / size;
    let std: Vec<f32> = log_std.iter().copied().map(math::exp).collect();
    for row in 0..rows {
        let action = &mut actions[row * size..][..size];
        action.copy_from_slice(&policy[row * size..][..size]);
        let noise = &noise[row * std.len()..][..std.len()];
        for (feature, &value) in latent[row * features..][..features].iter().enumerate() {
            for (element, action) in action.iter_mut().enumerate() {
                let at = feature * size + element;
                *action += value * (std[at] * noise[at]);
            }
        }
    }
    log_prob_and_entropy(size, log_std, policy, latent, actions, rows, |row, log_prob, _| {
        log_probs[row] = log_prob;
    });
}

fn log_prob_and_entropy(
    size: usize,
    log_std: &[f32],
    policy: &[f32],
    latent: &[f32],
    actions: &[f32],
    rows: usize,
    mut each: impl FnMut(usize, f32, f32),
) {
    let features = log_std.len() / size;
    let squares = squares(log_std);
    let mut variance = vec![0.0; size];
    for row in 0..rows {
        variances(&squares, &latent[row * features..][..features], &mut variance);
        let (mut log_prob, mut entropy) = (0.0, 0.0);
        for (element, &variance) in variance.iter().enumerate() {
            let difference = actions[row * size + element] - policy[row * size + element];
            let log_deviation = 0.5 * math::ln(variance);
            log_prob -= 0.5 * difference * difference / variance + (log_deviation + HALF_LN_TAU);
            entropy += log_deviation + (0.5 + HALF_LN_TAU);
        }
        each(row, log_prob, entropy);
    }
}

#[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
pub(super) fn evaluate(
    size: usize,
    log_std: &[f32],
    policy: &[f32],
    latent: &[f32],
    actions: &[f32],
    rows: usize,
    log_probs: &mut [f32],
    entropies: &mut [f32],
) {
    log_prob_and_entropy(size, log_std, policy, latent, actions, rows, |row, log_prob, entropy| {
        log_probs[row] = log_prob;
        entropies[row] = entropy;
    });
}

#[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
pub(super) fn gradient(
    size: usize,
    log_std: &[f32],
    policy: &[f32],
    latent: &[f32],
    actions: &[f32],
    rows: usize,
    d_log_probs: &[f32],
    d_entropies: &[f32],
    d_policy: &mut [f32],
    d_log_std: &mut [f32],
) {
    let features = log_std.len() / size;
    let squares = squares(log_std);
    let mut variance = vec![0.0; size];
    let mut d_variance = vec![0.0; size];
    // Σ over rows of latent²·dL/d(variance), before the factor 2·std².
    let mut sums = vec![0.0; log_std.len()];
    for row in 0..rows {
        let latent = &latent[row * features..][..features];
        variances(&squares, latent, &mut variance);
        for element in 0..size {
            let at = row * size + element;
            let inverse = 1.0 / variance[element];
            let difference = actions[at] - policy[at];
            d_policy[at] = d_log_probs[row] * difference * inverse;
            let excess = difference * difference * inverse - 1.0;
            d_variance[element] = 0.5 * inverse * (d_log_probs[row] * excess + d_entropies[row]);
        }
        for (feature, sums) in latent.iter().zip(sums.chunks_exact_mut(size)) {
            let square = feature * feature;
            for (sum, d_variance) in sums.iter_mut().zip(&d_variance) {
                *sum += square * d_variance;
            }
        }
    }
    for ((d_log_std, sum), square) in d_log_std.iter_mut().zip(sums).zip(squares) {
        *d_log_std += 2.0 * square * sum;
    }
}
