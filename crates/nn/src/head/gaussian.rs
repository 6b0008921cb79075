//! Independent normal distributions with one deviation per action element.

use crate::math;

/// ½·ln(2π).
pub(super) const HALF_LN_TAU: f32 = 0.918_938_5;

pub(super) fn sample(
    log_std: &[f32],
    policy: &[f32],
    noise: &[f32],
    rows: usize,
    actions: &mut [f32],
    log_probs: &mut [f32],
) {
    let size = log_std.len();
    for (element, &log_std) in log_std.iter().enumerate() {
        let std = math::exp(log_std);
        for row in 0..rows {
            let at = row * size + element;
            actions[at] = policy[at] + std * noise[at];
        }
    }
    log_prob(log_std, policy, actions, rows, log_probs);
}

fn log_prob(log_std: &[f32], policy: &[f32], actions: &[f32], rows: usize, log_probs: &mut [f32]) {
    let size = log_std.len();
    log_probs[..rows].fill(0.0);
    for (element, &log_std) in log_std.iter().enumerate() {
        let inverse = math::exp(-log_std);
        for (row, log_prob) in log_probs[..rows].iter_mut().enumerate() {
            let at = row * size + element;
            let z = (actions[at] - policy[at]) * inverse;
            *log_prob -= 0.5 * z * z + (log_std + HALF_LN_TAU);
        }
    }
}

pub(super) fn evaluate(
    log_std: &[f32],
    policy: &[f32],
    actions: &[f32],
    rows: usize,
    log_probs: &mut [f32],
    entropies: &mut [f32],
) {
    log_prob(log_std, policy, actions, rows, log_probs);
    entropies[..rows].fill(log_std.iter().map(|log_std| log_std + (0.5 + HALF_LN_TAU)).sum());
}

#[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
pub(super) fn gradient(
    log_std: &[f32],
    policy: &[f32],
    actions: &[f32],
    rows: usize,
    d_log_probs: &[f32],
    d_entropies: &[f32],
    d_policy: &mut [f32],
    d_log_std: &mut [f32],
) {
    let size = log_std.len();
    for (element, &log_std) in log_std.iter().enumerate() {
        let inverse = math::exp(-log_std);
        let mut sum = 0.0;
        for row in 0..rows {
            let at = row * size + element;
            let z = (actions[at] - policy[at]) * inverse;
            d_policy[at] = d_log_probs[row] * z * inverse;
            sum += d_log_probs[row] * (z * z - 1.0) + d_entropies[row];
        }
        d_log_std[element] += sum;
    }
}
