//! The gradient of one minibatch: tiles of samples go through forward, loss
//! and backward while their activations stay in cache; large minibatches are
//! cut into fixed shards.

use rlxp_nn::Scratch;

use super::loss::{Coefficients, LossSums, LossWork, Tile, loss_and_gradient};
use crate::parallel;
use crate::policy::{Policy, TILE};
use crate::rollout::Rollout;

/// Samples of a shard. Splitting less than two of these gains nothing: the
/// hand-over costs what the second core saves.
const SHARD: usize = 1024;

/// A shard's gradients and everything needed to compute them.
pub(crate) struct GradientShard {
    pub(crate) gradients: Vec<f32>,
    scratch: Scratch,
    work: LossWork,
    tile: Tile,
    sums: LossSums,
}

impl GradientShard {
    /// As many shards as minibatches of `batch` samples need.
    pub(crate) fn for_batch(policy: &Policy, batch: usize) -> Vec<Self> {
        let rows = TILE.min(batch);
        parallel::split(batch, shard_size(batch))
            .map(|_| Self {
                gradients: vec![0.0; policy.parameters.len()],
                scratch: policy.network.scratch(rows),
                work: LossWork::new(rows, policy.head().outputs()),
                tile: Tile::default(),
                sums: LossSums::default(),
            })
            .collect()
    }

    /// Fills `gradients` and `sums` for these samples.
    fn compute(&mut self, policy: &Policy, rollout: &Rollout, samples: &[u32], minibatch: &Minibatch<'_>) {
        self.gradients.fill(0.0);
        self.sums = LossSums::default();
        policy.network.prepare(&policy.parameters, samples.len(), &mut self.scratch);
        for rows in samples.chunks(TILE) {
            self.tile.gather(rollout, rows, minibatch);
            let observations = &self.tile.observations;
            policy.network.forward_prepared(&policy.parameters, observations, rows.len(), &mut self.scratch);
            let sums = loss_and_gradient(
                policy,
                &self.tile,
                minibatch.size,
                minibatch.coefficients,
                &mut self.scratch,
                &mut self.work,
                policy.network.head_parameters_mut(&mut self.gradients),
            );
            self.sums.add(&sums);
            let Self { scratch, gradients, .. } = self;
            policy.network.backward_prepared(
                &policy.parameters,
                &self.tile.observations,
                rows.len(),
                scratch,
                gradients,
            );
        }
    }
}

/// What all shards of a minibatch share.
struct Minibatch<'a> {
    size: usize,
    coefficients: &'a Coefficients,
    advantage_mean: f32,
    advantage_scale: f32,
}

/// Leaves the minibatch's gradient in `shards[0].gradients`.
pub(crate) fn minibatch_gradient(
    policy: &Policy,
    rollout: &Rollout,
    samples: &[u32],
    coefficients: &Coefficients,
    shards: &mut [GradientShard],
    threads: usize,
) -> LossSums {
    let (advantage_mean, advantage_scale) =
        if coefficients.normalize_advantages { normalization(rollout, samples) } else { (0.0, 1.0) };
    let minibatch = Minibatch { size: samples.len(), coefficients, advantage_mean, advantage_scale };
    let size = shard_size(samples.len());
    let used = samples.len().div_ceil(size);
    parallel::for_each(threads, &mut shards[..used], |index, shard| {
        let end = ((index + 1) * size).min(samples.len());
        shard.compute(policy, rollout, &samples[index * size..end], &minibatch);
    });
    let (first, others) = shards[..used].split_first_mut().expect("a minibatch has a sample");
    let mut sums = first.sums;
    for other in others {
        first.gradients.iter_mut().zip(&other.gradients).for_each(|(sum, part)| *sum += part);
        sums.add(&other.sums);
    }
    sums
}

/// Samples per shard: everything in one unless there are at least two full ones.
fn shard_size(batch: usize) -> usize {
    if batch < 2 * SHARD { batch } else { SHARD }
}

/// Mean and inverse deviation of the minibatch's advantages.
fn normalization(rollout: &Rollout, samples: &[u32]) -> (f32, f32) {
    // A single sample has no spread to divide by.
    if samples.len() < 2 {
        return (0.0, 1.0);
    }
    let advantages = || samples.iter().map(|row| f64::from(rollout.advantages[*row as usize]));
    let mean = advantages().sum::<f64>() / samples.len() as f64;
    let variance = advantages().map(|x| (x - mean).powi(2)).sum::<f64>() / (samples.len() - 1) as f64;
    (mean as f32, (1.0 / (variance.sqrt() + 1e-8)) as f32)
}

impl Tile {
    fn gather(&mut self, rollout: &Rollout, rows: &[u32], minibatch: &Minibatch<'_>) {
        let total = rollout.rewards.len();
        let observation_width = rollout.observations.len() / total;
        let action_width = rollout.actions.len() / total;
        gather_rows(&mut self.observations, &rollout.observations, rows, observation_width);
        gather_rows(&mut self.actions, &rollout.actions, rows, action_width);
        gather_rows(&mut self.log_probs, &rollout.log_probs, rows, 1);
        gather_rows(&mut self.values, &rollout.values, rows, 1);
        gather_rows(&mut self.returns, &rollout.returns, rows, 1);
        gather_rows(&mut self.advantages, &rollout.advantages, rows, 1);
        for advantage in &mut self.advantages {
            *advantage = (*advantage - minibatch.advantage_mean) * minibatch.advantage_scale;
        }
    }
}

fn gather_rows(out: &mut Vec<f32>, from: &[f32], rows: &[u32], width: usize) {
    out.clear();
    for row in rows {
        let start = *row as usize * width;
        out.extend_from_slice(&from[start..start + width]);
    }
}

#[cfg(test)]
mod tests {
    use rlxp_env::Space;
    use rlxp_types::Stream;

    use super::*;

    /// A rollout of random numbers and the policy that it could be of.
    fn setup() -> (Policy, Rollout, Vec<u32>) {
        let config = crate::testing::config("env: {id: CartPole-v1}\npolicy: {hidden_sizes: [8, 8]}");
        let observations = Space::vector(vec![-1.0; 3], vec![1.0; 3]);
        let policy = Policy::new(&config, &observations, &Space::Discrete { n: 2 }, 1);
        let mut stream = Stream::new(9, "test", 0);
        let mut normals = |count: usize| {
            let mut values = vec![0.0; count];
            stream.fill_normal(&mut values);
            values
        };
        let rows = 100;
        let rollout = Rollout {
            observations: normals(rows * 3),
            actions: (0..rows).map(|row| (row % 2) as f32).collect(),
            log_probs: vec![0.5_f32.ln(); rows],
            values: normals(rows),
            rewards: vec![0.0; rows],
            advantages: normals(rows),
            returns: normals(rows),
            ..Rollout::default()
        };
        (policy, rollout, (0..rows as u32).collect())
    }

    fn gradient(policy: &Policy, rollout: &Rollout, samples: &[u32], normalize_advantages: bool) -> Vec<f32> {
        let coefficients = Coefficients {
            clip_range: 0.2,
            clip_value: None,
            entropy: 0.01,
            value: 0.5,
            normalize_advantages,
        };
        let mut shards = GradientShard::for_batch(policy, samples.len());
        minibatch_gradient(policy, rollout, samples, &coefficients, &mut shards, 1);
        shards.swap_remove(0).gradients
    }

    fn distance(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn normalised_advantages_have_no_scale_and_no_offset() {
        let (policy, mut rollout, samples) = setup();
        let before = gradient(&policy, &rollout, &samples, true);
        let raw = gradient(&policy, &rollout, &samples, false);
        rollout.advantages.iter_mut().for_each(|advantage| *advantage = *advantage * 100.0 + 7.0);
        assert!(distance(&before, &gradient(&policy, &rollout, &samples, true)) < 1e-4);
        assert!(distance(&raw, &gradient(&policy, &rollout, &samples, false)) > 0.1);
    }

    #[test]
    fn a_minibatch_is_the_mean_of_its_samples() {
        let (policy, rollout, samples) = setup();
        let whole = gradient(&policy, &rollout, &samples, false);
        let (first, second) = samples.split_at(70);
        let parts = [gradient(&policy, &rollout, first, false), gradient(&policy, &rollout, second, false)];
        let mean: Vec<f32> = parts[0].iter().zip(&parts[1]).map(|(a, b)| 0.7 * a + 0.3 * b).collect();
        assert!(distance(&whole, &mean) < 1e-5);
    }
}
