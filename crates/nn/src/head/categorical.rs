//! One or several independent choices over logits.
//!
//! Eight rows go through the logarithm of the softmax together. The largest
//! logit is subtracted first, so nothing overflows.

use crate::math::{self, LANES, Lanes, vectorised};

/// Softmax of one part in eight rows.
struct Softmax {
    /// Largest logit.
    largest: Lanes,
    /// Sum of exp(logit − largest), in the order of the choices.
    sum: Lanes,
    /// Logarithm of that sum.
    log_sum: Lanes,
}

/// Eight rows of policy outputs, of which the last may be missing.
struct Block<'a> {
    policy: &'a [f32],
    width: usize,
    first_row: usize,
    rows: usize,
}

impl Block<'_> {
    /// Logit `column` of each row; missing rows read as zero.
    #[inline(always)]
    fn column(&self, column: usize) -> Lanes {
        let mut lanes = [0.0; LANES];
        let start = self.first_row * self.width;
        if self.rows == LANES {
            let policy = &self.policy[start..start + LANES * self.width];
            for (lane, value) in lanes.iter_mut().enumerate() {
                *value = policy[lane * self.width + column];
            }
        } else {
            for (lane, value) in lanes.iter_mut().take(self.rows).enumerate() {
                *value = self.policy[start + lane * self.width + column];
            }
        }
        lanes
    }

    #[inline(always)]
    fn softmax(&self, offset: usize, n: usize) -> Softmax {
        let mut largest = self.column(offset);
        for choice in 1..n {
            let logits = self.column(offset + choice);
            for lane in 0..LANES {
                largest[lane] = if logits[lane] > largest[lane] { logits[lane] } else { largest[lane] };
            }
        }
        let mut sum = [0.0; LANES];
        for choice in 0..n {
            let logits = self.column(offset + choice);
            for lane in 0..LANES {
                sum[lane] += math::exp(logits[lane] - largest[lane]);
            }
        }
        Softmax { largest, sum, log_sum: sum.map(math::ln) }
    }
}

/// Calls `each` with every block of eight rows.
#[inline(always)]
fn for_blocks(policy: &[f32], width: usize, rows: usize, mut each: impl FnMut(&Block<'_>)) {
    for first_row in (0..rows).step_by(LANES) {
        each(&Block { policy, width, first_row, rows: LANES.min(rows - first_row) });
    }
}

/// Calls `each` with (part, offset of its logits, number of choices).
#[inline(always)]
fn for_parts(parts: &[usize], mut each: impl FnMut(usize, usize, usize)) {
    let mut offset = 0;
    for (part, &n) in parts.iter().enumerate() {
        each(part, offset, n);
        offset += n;
    }
}

/// The logit of the action that was taken, per row.
#[inline(always)]
fn taken(block: &Block<'_>, offset: usize, n: usize, actions: &[f32], parts: usize, part: usize) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (lane, value) in lanes.iter_mut().take(block.rows).enumerate() {
        let row = block.first_row + lane;
        let action = actions[row * parts + part] as usize;
        assert!(action < n, "action {action} of {n} choices");
        *value = block.policy[row * block.width + offset + action];
    }
    lanes
}

vectorised! {
    pub(super) fn sample(parts: &[usize], policy: &[f32], noise: &[f32], rows: usize, actions: &mut [f32], log_probs: &mut [f32]) {
        let width = parts.iter().sum();
        for_blocks(policy, width, rows, |block| {
            let mut totals = [0.0; LANES];
            for_parts(parts, |part, offset, n| {
                let softmax = block.softmax(offset, n);
                let mut target = [0.0; LANES];
                for lane in 0..block.rows {
                    target[lane] = noise[(block.first_row + lane) * parts.len() + part] * softmax.sum[lane];
                }
                // The chosen index is the number of running sums that the
                // target has reached; the last choice takes what rounding leaves.
                let mut reached = [0.0_f32; LANES];
                let mut running = [0.0_f32; LANES];
                for choice in 0..n - 1 {
                    let logits = block.column(offset + choice);
                    for lane in 0..LANES {
                        running[lane] += math::exp(logits[lane] - softmax.largest[lane]);
                        reached[lane] += if running[lane] <= target[lane] { 1.0 } else { 0.0 };
                    }
                }
                for lane in 0..block.rows {
                    actions[(block.first_row + lane) * parts.len() + part] = reached[lane];
                }
                let logits = taken(block, offset, n, actions, parts.len(), part);
                for lane in 0..LANES {
                    totals[lane] += (logits[lane] - softmax.largest[lane]) - softmax.log_sum[lane];
                }
            });
            log_probs[block.first_row..block.first_row + block.rows].copy_from_slice(&totals[..block.rows]);
        });
    }
}

pub(super) fn mode(parts: &[usize], policy: &[f32], rows: usize, actions: &mut [f32]) {
    let width: usize = parts.iter().sum();
    for row in 0..rows {
        for_parts(parts, |part, offset, n| {
            let logits = &policy[row * width + offset..][..n];
            let best =
                (1..n).fold(0, |best, choice| if logits[choice] > logits[best] { choice } else { best });
            actions[row * parts.len() + part] = best as f32;
        });
    }
}

vectorised! {
    pub(super) fn evaluate(parts: &[usize], policy: &[f32], actions: &[f32], rows: usize, log_probs: &mut [f32], entropies: &mut [f32]) {
        let width = parts.iter().sum();
        for_blocks(policy, width, rows, |block| {
            let mut totals = [0.0; LANES];
            let mut entropy = [0.0; LANES];
            for_parts(parts, |part, offset, n| {
                let softmax = block.softmax(offset, n);
                let logits = taken(block, offset, n, actions, parts.len(), part);
                let part_entropy = entropy_of(block, &softmax, offset, n);
                for lane in 0..LANES {
                    totals[lane] += (logits[lane] - softmax.largest[lane]) - softmax.log_sum[lane];
                    entropy[lane] += part_entropy[lane];
                }
            });
            log_probs[block.first_row..block.first_row + block.rows].copy_from_slice(&totals[..block.rows]);
            entropies[block.first_row..block.first_row + block.rows].copy_from_slice(&entropy[..block.rows]);
        });
    }
}

/// H = log_sum − Σ p·(logit − largest).
#[inline(always)]
fn entropy_of(block: &Block<'_>, softmax: &Softmax, offset: usize, n: usize) -> Lanes {
    let mut weighted = [0.0; LANES];
    for choice in 0..n {
        let logits = block.column(offset + choice);
        for lane in 0..LANES {
            let shifted = logits[lane] - softmax.largest[lane];
            weighted[lane] += math::exp(shifted) * shifted;
        }
    }
    let mut entropy = [0.0; LANES];
    for lane in 0..LANES {
        entropy[lane] = softmax.log_sum[lane] - weighted[lane] / softmax.sum[lane];
    }
    entropy
}

vectorised! {
    pub(super) fn gradient(parts: &[usize], policy: &[f32], actions: &[f32], rows: usize, d_log_probs: &[f32], d_entropies: &[f32], d_policy: &mut [f32]) {
        let width: usize = parts.iter().sum();
        for_blocks(policy, width, rows, |block| {
            let mut d_log_prob = [0.0; LANES];
            let mut d_entropy = [0.0; LANES];
            let range = block.first_row..block.first_row + block.rows;
            d_log_prob[..block.rows].copy_from_slice(&d_log_probs[range.clone()]);
            d_entropy[..block.rows].copy_from_slice(&d_entropies[range]);
            for_parts(parts, |part, offset, n| {
                let softmax = block.softmax(offset, n);
                let entropy = entropy_of(block, &softmax, offset, n);
                for choice in 0..n {
                    // d log π(a) / d logit_j = [a = j] − p_j
                    // d H / d logit_j = −p_j·(log p_j + H)
                    let logits = block.column(offset + choice);
                    let mut derivative = [0.0; LANES];
                    for lane in 0..LANES {
                        let shifted = logits[lane] - softmax.largest[lane];
                        let probability = math::exp(shifted) / softmax.sum[lane];
                        let log_probability = shifted - softmax.log_sum[lane];
                        derivative[lane] = -probability
                            * (d_log_prob[lane] + d_entropy[lane] * (log_probability + entropy[lane]));
                    }
                    for lane in 0..block.rows {
                        d_policy[(block.first_row + lane) * width + offset + choice] = derivative[lane];
                    }
                }
                for (lane, d_log_prob) in d_log_prob.iter().take(block.rows).enumerate() {
                    let row = block.first_row + lane;
                    let action = actions[row * parts.len() + part] as usize;
                    assert!(action < n, "action {action} of {n} choices");
                    d_policy[row * width + offset + action] += d_log_prob;
                }
            });
        });
    }
}
