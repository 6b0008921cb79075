//! State-dependent exploration (gSDE, Raffin et al. 2021): the noise is a
//! linear function of the last hidden layer, so that it is the same for the
//! same state as long as its matrix is kept.
//!
//! The variance of element j is Σ_i latent_i²·std_ij² + 1e-6. The latent
//! features are read as constants: no gradient flows through the variance.
//!
//! Parameters are [features, size]. Inside, matrices are transposed, so that
//! sums over features run along contiguous memory, eight at a time in a fixed
//! order.

use super::gaussian::HALF_LN_TAU;
use crate::math::{self, vectorised};

const SMALLEST_VARIANCE: f32 = 1e-6;
const LANES: usize = 8;

/// Σ a·b·c, in eight lanes that are added in pairs.
#[inline(always)]
fn sum_of_products(a: &[f32], b: &[f32], c: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (a, rest_a) = a.as_chunks::<LANES>();
    let (b, rest_b) = b.as_chunks::<LANES>();
    let (c, rest_c) = c.as_chunks::<LANES>();
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane] * c[lane];
        }
    }
    for (((lane, a), b), c) in lanes.iter_mut().zip(rest_a).zip(rest_b).zip(rest_c) {
        *lane += a * b * c;
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// exp(times·log_std), one row of features per action element.
#[inline(always)]
fn transposed_exp(size: usize, log_std: &[f32], times: f32) -> Vec<f32> {
    let features = log_std.len() / size;
    let mut turned = vec![0.0; log_std.len()];
    for (element, row) in turned.chunks_exact_mut(features.max(1)).enumerate() {
        for (feature, value) in row.iter_mut().enumerate() {
            *value = times * log_std[feature * size + element];
        }
    }
    turned.iter_mut().for_each(|value| *value = math::exp(*value));
    turned
}

/// The variance of every action element of every row; `squares` from `transposed_exp`.
#[inline(always)]
fn variances(size: usize, squares: &[f32], latent: &[f32], rows: usize) -> Vec<f32> {
    let features = squares.len() / size;
    let mut variances = vec![0.0; rows * size];
    for (row, variances) in variances.chunks_exact_mut(size).enumerate() {
        let latent = &latent[row * features..][..features];
        for (element, variance) in variances.iter_mut().enumerate() {
            let squares = &squares[element * features..][..features];
            *variance = sum_of_products(latent, latent, squares) + SMALLEST_VARIANCE;
        }
    }
    variances
}

/// The deviation of every action element of one row.
pub(super) fn deviations(size: usize, log_std: &[f32], latent: &[f32]) -> Vec<f32> {
    let squares = transposed_exp(size, log_std, 2.0);
    variances(size, &squares, latent, 1).into_iter().map(f32::sqrt).collect()
}

vectorised! {
    /// Noise is one row of features per action element.
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
        let std = transposed_exp(size, log_std, 1.0);
        for row in 0..rows {
            let latent = &latent[row * features..][..features];
            let noise = &noise[row * std.len()..][..std.len()];
            for element in 0..size {
                let own = element * features..(element + 1) * features;
                let at = row * size + element;
                actions[at] = policy[at] + sum_of_products(latent, &std[own.clone()], &noise[own]);
            }
        }
        log_prob_and_entropy(size, log_std, policy, latent, actions, rows, log_probs, None);
    }
}

/// One body for `sample` and `evaluate`, so that both give the same bits.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
fn log_prob_and_entropy(
    size: usize,
    log_std: &[f32],
    policy: &[f32],
    latent: &[f32],
    actions: &[f32],
    rows: usize,
    log_probs: &mut [f32],
    entropies: Option<&mut [f32]>,
) {
    let squares = transposed_exp(size, log_std, 2.0);
    let variances = variances(size, &squares, latent, rows);
    let mut log_deviations = vec![0.0; rows * size];
    let mut densities = vec![0.0; rows * size];
    let (policy, actions) = (&policy[..rows * size], &actions[..rows * size]);
    for at in 0..rows * size {
        let difference = actions[at] - policy[at];
        let log_deviation = 0.5 * math::ln(variances[at]);
        densities[at] = 0.5 * difference * difference / variances[at] + (log_deviation + HALF_LN_TAU);
        log_deviations[at] = log_deviation;
    }
    for (log_prob, densities) in log_probs[..rows].iter_mut().zip(densities.chunks_exact(size)) {
        *log_prob = densities.iter().fold(0.0, |sum, density| sum - density);
    }
    for (entropy, of_row) in entropies.into_iter().flatten().zip(log_deviations.chunks_exact(size)) {
        *entropy = of_row.iter().map(|log_deviation| log_deviation + (0.5 + HALF_LN_TAU)).sum();
    }
}

vectorised! {
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
        log_prob_and_entropy(size, log_std, policy, latent, actions, rows, log_probs, Some(entropies));
    }
}

vectorised! {
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
        let squares = transposed_exp(size, log_std, 2.0);
        let variances = variances(size, &squares, latent, rows);
        // Σ over rows of latent²·dL/d(variance), before the factor 2·std².
        let mut sums = vec![0.0; log_std.len()];
        for row in 0..rows {
            let latent = &latent[row * features..][..features];
            for element in 0..size {
                let at = row * size + element;
                let inverse = 1.0 / variances[at];
                let difference = actions[at] - policy[at];
                d_policy[at] = d_log_probs[row] * difference * inverse;
                let excess = difference * difference * inverse - 1.0;
                let d_variance = 0.5 * inverse * (d_log_probs[row] * excess + d_entropies[row]);
                let sums = &mut sums[element * features..][..features];
                sums.iter_mut().zip(latent).for_each(|(sum, feature)| *sum += feature * feature * d_variance);
            }
        }
        for (element, sums) in sums.chunks_exact(features.max(1)).enumerate() {
            for (feature, sum) in sums.iter().enumerate() {
                d_log_std[feature * size + element] += 2.0 * squares[element * features + feature] * sum;
            }
        }
    }
}
