//! One or several independent choices over logits.
//!
//! Eight rows go through the logarithm of the softmax together. The largest
//! logit is subtracted first, so nothing overflows.

use super::block::{Block, blocks};
use crate::vector::{Vector, with_vectors};

/// Softmax of one part in eight rows.
struct Softmax<V> {
    /// Largest logit.
    largest: V,
    /// Sum of exp(logit − largest), in the order of the choices.
    sum: V,
    log_sum: V,
    /// Sum of exp(logit − largest)·(logit − largest), for the entropy.
    weighted: V,
}

impl Block<'_> {
    #[inline(always)]
    fn softmax<V: Vector>(&self, offset: usize, n: usize) -> Softmax<V> {
        let mut largest: V = self.column(offset);
        for choice in 1..n {
            largest = largest.larger(self.column(offset + choice));
        }
        let (mut sum, mut weighted) = (V::splat(0.0), V::splat(0.0));
        for choice in 0..n {
            let difference = self.column::<V>(offset + choice).sub(largest);
            let weight = difference.exp();
            sum = sum.add(weight);
            weighted = weighted.add(weight.mul(at_least_weightless(difference)));
        }
        Softmax { largest, sum, log_sum: sum.ln(), weighted }
    }

    /// logit − largest, at least −87.
    #[inline(always)]
    fn shifted<V: Vector>(&self, column: usize, softmax: &Softmax<V>) -> V {
        at_least_weightless(self.column::<V>(column).sub(softmax.largest))
    }
}

/// No less than −87: beyond it a choice has no weight, and infinities would turn
/// that nothing into NaN.
#[inline(always)]
fn at_least_weightless<V: Vector>(difference: V) -> V {
    V::splat(-87.0).larger(difference)
}

/// (number of the part, offset of its logits, number of choices), part by part.
#[inline(always)]
fn offsets(parts: &[usize]) -> impl Iterator<Item = (usize, usize, usize)> {
    parts.iter().enumerate().scan(0, |next, (part, &n)| {
        let offset = *next;
        *next += n;
        Some((part, offset, n))
    })
}

/// log π of the actions in one part: the logit that was taken, less the rest.
#[inline(always)]
fn log_prob<V: Vector>(block: &Block<'_>, softmax: &Softmax<V>, offset: usize, n: usize, actions: V) -> V {
    let mut taken = V::splat(f32::NAN);
    for choice in 0..n {
        taken = V::if_equal(actions, V::splat(choice as f32), block.column(offset + choice), taken);
    }
    taken.sub(softmax.largest).sub(softmax.log_sum)
}

/// H = log_sum − Σ p·(logit − largest).
#[inline(always)]
fn entropy<V: Vector>(softmax: &Softmax<V>) -> V {
    softmax.log_sum.sub(softmax.weighted.div(softmax.sum))
}

with_vectors! {
    /// Draws an action per part and row by inverting the running sum.
    pub(super) fn sample(parts: &[usize], policy: &[f32], noise: &[f32], rows: usize, actions: &mut [f32], log_probs: &mut [f32]) = sample_with
}

#[inline(always)]
fn sample_with<V: Vector>(
    parts: &[usize],
    policy: &[f32],
    noise: &[f32],
    rows: usize,
    actions: &mut [f32],
    log_probs: &mut [f32],
) {
    for (first, block) in blocks(policy, parts.iter().sum(), rows) {
        let uniform = Block { data: &noise[first * parts.len()..], width: parts.len(), rows: block.rows };
        let mut total = V::splat(0.0);
        for (part, offset, n) in offsets(parts) {
            let softmax = block.softmax::<V>(offset, n);
            let target = uniform.column::<V>(part).mul(softmax.sum);
            // The chosen index is the number of running sums that the target
            // has reached. A running sum that is the whole sum is never passed,
            // so rounding can't pick what has no weight.
            let (zero, one) = (V::splat(0.0), V::splat(1.0));
            let (mut running, mut chosen) = (zero, zero);
            for choice in 0..n - 1 {
                running = running.add(block.column::<V>(offset + choice).sub(softmax.largest).exp());
                let passed = V::if_at_most(running, target, one, zero);
                chosen = chosen.add(V::if_at_most(softmax.sum, running, zero, passed));
            }
            uniform.write(chosen, part, &mut actions[first * parts.len()..]);
            total = total.add(log_prob(&block, &softmax, offset, n, chosen));
        }
        log_probs[first..first + block.rows].copy_from_slice(&total.store()[..block.rows]);
    }
}

/// The largest logit of each part; the lowest index among equals.
pub(super) fn mode(parts: &[usize], policy: &[f32], rows: usize, actions: &mut [f32]) {
    let width: usize = parts.iter().sum();
    for row in 0..rows {
        for (part, offset, n) in offsets(parts) {
            let logits = &policy[row * width + offset..][..n];
            let better = |best, choice| if logits[choice] > logits[best] { choice } else { best };
            actions[row * parts.len() + part] = (1..n).fold(0, better) as f32;
        }
    }
}

with_vectors! {
    /// Log-probability and entropy, summed over parts. An action that is no
    /// choice has log-probability NaN.
    pub(super) fn evaluate(parts: &[usize], policy: &[f32], actions: &[f32], rows: usize, log_probs: &mut [f32], entropies: &mut [f32]) = evaluate_with
}

#[inline(always)]
fn evaluate_with<V: Vector>(
    parts: &[usize],
    policy: &[f32],
    actions: &[f32],
    rows: usize,
    log_probs: &mut [f32],
    entropies: &mut [f32],
) {
    for (first, block) in blocks(policy, parts.iter().sum(), rows) {
        let taken = Block { data: &actions[first * parts.len()..], width: parts.len(), rows: block.rows };
        let (mut total, mut total_entropy) = (V::splat(0.0), V::splat(0.0));
        for (part, offset, n) in offsets(parts) {
            let softmax = block.softmax::<V>(offset, n);
            total = total.add(log_prob(&block, &softmax, offset, n, taken.column(part)));
            total_entropy = total_entropy.add(entropy(&softmax));
        }
        log_probs[first..first + block.rows].copy_from_slice(&total.store()[..block.rows]);
        entropies[first..first + block.rows].copy_from_slice(&total_entropy.store()[..block.rows]);
    }
}

with_vectors! {
    /// d log π(a) / d logit_j = [a = j] − p_j and d H / d logit_j = −p_j·(log p_j + H).
    pub(super) fn gradient(parts: &[usize], policy: &[f32], actions: &[f32], rows: usize, d_log_probs: &[f32], d_entropies: &[f32], d_policy: &mut [f32]) = gradient_with
}

#[inline(always)]
fn gradient_with<V: Vector>(
    parts: &[usize],
    policy: &[f32],
    actions: &[f32],
    rows: usize,
    d_log_probs: &[f32],
    d_entropies: &[f32],
    d_policy: &mut [f32],
) {
    let width: usize = parts.iter().sum();
    for (first, block) in blocks(policy, width, rows) {
        let d_log_prob = Block { data: &d_log_probs[first..], width: 1, rows: block.rows }.column::<V>(0);
        let d_entropy = Block { data: &d_entropies[first..], width: 1, rows: block.rows }.column::<V>(0);
        let taken = Block { data: &actions[first * parts.len()..], width: parts.len(), rows: block.rows };
        for (part, offset, n) in offsets(parts) {
            let softmax = block.softmax::<V>(offset, n);
            let entropy = entropy(&softmax);
            let action = taken.column::<V>(part);
            for choice in 0..n {
                let shifted = block.shifted(offset + choice, &softmax);
                let probability = shifted.exp().div(softmax.sum);
                let surprise = shifted.sub(softmax.log_sum).add(entropy);
                let pull = V::if_equal(action, V::splat(choice as f32), d_log_prob, V::splat(0.0));
                let derivative = pull.sub(probability.mul(d_log_prob.add(d_entropy.mul(surprise))));
                block.write(derivative, offset + choice, &mut d_policy[first * width..]);
            }
        }
    }
}
