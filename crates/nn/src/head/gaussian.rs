//! Independent normal distributions with one deviation per action element.

use super::block::{Block, blocks};
use crate::math;
use crate::vector::{LANES, Vector, with_vectors};

/// ½·ln(2π).
pub(super) const HALF_LN_TAU: f32 = 0.918_938_5;

with_vectors! {
    /// Means plus deviations times noise.
    pub(super) fn sample(log_std: &[f32], policy: &[f32], noise: &[f32], rows: usize, actions: &mut [f32], log_probs: &mut [f32]) = sample_with
}

#[inline(always)]
fn sample_with<V: Vector>(
    log_std: &[f32],
    policy: &[f32],
    noise: &[f32],
    rows: usize,
    actions: &mut [f32],
    log_probs: &mut [f32],
) {
    let size = log_std.len();
    for (first, means) in blocks(policy, size, rows) {
        let noise = Block { data: &noise[first * size..], ..means };
        for (element, &log_std) in log_std.iter().enumerate() {
            let std = V::splat(math::exp(log_std));
            let drawn = means.column::<V>(element).add(std.mul(noise.column(element)));
            means.write(drawn, element, &mut actions[first * size..]);
        }
    }
    log_prob_with::<V>(log_std, policy, actions, rows, log_probs);
}

/// log π = −Σ (½·z² + ln σ + ½·ln 2π).
#[inline(always)]
fn log_prob_with<V: Vector>(
    log_std: &[f32],
    policy: &[f32],
    actions: &[f32],
    rows: usize,
    log_probs: &mut [f32],
) {
    let size = log_std.len();
    for (first, means) in blocks(policy, size, rows) {
        let taken = Block { data: &actions[first * size..], ..means };
        let mut sum = V::splat(0.0);
        for (element, &log_std) in log_std.iter().enumerate() {
            let z = standardised(&taken, &means, element, V::splat(math::exp(-log_std)));
            let constant = V::splat(log_std + HALF_LN_TAU);
            sum = sum.sub(V::splat(0.5).mul(z).mul(z).add(constant));
        }
        log_probs[first..first + means.rows].copy_from_slice(&sum.store()[..means.rows]);
    }
}

/// How many deviations the actions lie above their means.
#[inline(always)]
fn standardised<V: Vector>(taken: &Block<'_>, means: &Block<'_>, element: usize, inverse: V) -> V {
    taken.column::<V>(element).sub(means.column(element)).mul(inverse)
}

with_vectors! {
    /// The entropy is the same in every row.
    pub(super) fn evaluate(log_std: &[f32], policy: &[f32], actions: &[f32], rows: usize, log_probs: &mut [f32], entropies: &mut [f32]) = evaluate_with
}

#[inline(always)]
fn evaluate_with<V: Vector>(
    log_std: &[f32],
    policy: &[f32],
    actions: &[f32],
    rows: usize,
    log_probs: &mut [f32],
    entropies: &mut [f32],
) {
    log_prob_with::<V>(log_std, policy, actions, rows, log_probs);
    entropies[..rows].fill(log_std.iter().map(|log_std| log_std + (0.5 + HALF_LN_TAU)).sum());
}

with_vectors! {
    /// d log π / d mean = z/σ, d log π / d ln σ = z² − 1 and d H / d ln σ = 1.
    #[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
    pub(super) fn gradient(log_std: &[f32], policy: &[f32], actions: &[f32], rows: usize, d_log_probs: &[f32], d_entropies: &[f32], d_policy: &mut [f32], d_log_std: &mut [f32]) = gradient_with
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "plain slices in, plain slices out")]
fn gradient_with<V: Vector>(
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
    for (element, (&log_std, d_log_std)) in log_std.iter().zip(d_log_std).enumerate() {
        let inverse = V::splat(math::exp(-log_std));
        // Missing rows of the last block have no gradients, so they add nothing.
        let mut sums = V::splat(0.0);
        for (first, means) in blocks(policy, size, rows) {
            let taken = Block { data: &actions[first * size..], ..means };
            let single = |data| Block { data, width: 1, rows: means.rows };
            let d_log_prob = single(&d_log_probs[first..]).column::<V>(0);
            let d_entropy = single(&d_entropies[first..]).column::<V>(0);
            let z = standardised(&taken, &means, element, inverse);
            means.write(d_log_prob.mul(z).mul(inverse), element, &mut d_policy[first * size..]);
            sums = sums.add(d_log_prob.mul(z.mul(z).sub(V::splat(1.0))).add(d_entropy));
        }
        *d_log_std += total(sums.store());
    }
}

/// The lanes added in pairs: the same order whatever the vectors are.
#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
