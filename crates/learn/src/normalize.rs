//! Running moments: observations are scaled by them, rewards by the deviation
//! of their discounted return.
//!
//! Both change only between rollouts, never within one: the policy that acted
//! and the policy that is updated then see the same numbers, and the order in
//! which shards finish can't matter.

/// Normalised values are kept within this many deviations.
pub(crate) const LIMIT: f32 = 10.0;
/// Keeps a constant input from being divided by zero.
const EPSILON: f64 = 1e-8;

/// Mean and variance of a stream of rows (Chan's parallel update).
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Rows seen.
    pub count: f64,
    /// Mean of each column.
    pub mean: Vec<f64>,
    /// Population variance of each column.
    pub variance: Vec<f64>,
}

impl Moments {
    /// Nothing seen yet: mean 0, variance 1.
    pub fn new(width: usize) -> Self {
        Self { count: 0.0, mean: vec![0.0; width], variance: vec![1.0; width] }
    }

    /// Takes in rows, `width` numbers each.
    pub fn update(&mut self, rows: &[f32]) {
        let width = self.mean.len();
        let count = (rows.len() / width) as f64;
        if count == 0.0 {
            return;
        }
        for column in 0..width {
            let values = || rows[column..].iter().step_by(width).map(|x| f64::from(*x));
            let mean = values().sum::<f64>() / count;
            let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            let total = self.count + count;
            let delta = mean - self.mean[column];
            let old_sum = if self.count > 0.0 { self.variance[column] * self.count } else { 0.0 };
            let spread = delta * delta * self.count * count / total;
            self.mean[column] += delta * count / total;
            self.variance[column] = (old_sum + variance * count + spread) / total;
        }
        self.count += count;
    }
}

/// Scales observations by running moments.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationNormalizer {
    /// What has been seen.
    pub moments: Moments,
    shift: Vec<f32>,
    scale: Vec<f32>,
}

impl ObservationNormalizer {
    /// A normaliser with these moments.
    pub fn new(moments: Moments) -> Self {
        let shift = moments.mean.iter().map(|x| *x as f32).collect();
        let scale = moments.variance.iter().map(|x| (1.0 / (x + EPSILON).sqrt()) as f32).collect();
        Self { moments, shift, scale }
    }

    /// Takes in raw rows; what `apply` does changes from here on.
    pub fn update(&mut self, rows: &[f32]) {
        self.moments.update(rows);
        *self = Self::new(std::mem::replace(&mut self.moments, Moments::new(0)));
    }

    /// Scales raw rows in place.
    pub fn apply(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.shift.len()) {
            for ((value, shift), scale) in row.iter_mut().zip(&self.shift).zip(&self.scale) {
                *value = ((*value - shift) * scale).clamp(-LIMIT, LIMIT);
            }
        }
    }

    /// Turns gradients at scaled rows into gradients at the raw rows that they
    /// were scaled from. A value at the limit no longer answers: zero.
    pub fn chain(&self, raw: &[f32], gradients: &mut [f32]) {
        let width = self.shift.len();
        for (row, gradients) in raw.chunks_exact(width).zip(gradients.chunks_exact_mut(width)) {
            for (column, gradient) in gradients.iter_mut().enumerate() {
                let scaled = (row[column] - self.shift[column]) * self.scale[column];
                *gradient = if scaled.abs() < LIMIT { *gradient * self.scale[column] } else { 0.0 };
            }
        }
    }
}

/// Scales rewards by the deviation of the discounted return.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardScaler {
    /// Moments of the discounted return.
    pub moments: Moments,
    /// Discounted return so far, per copy.
    pub returns: Vec<f64>,
}

impl RewardScaler {
    /// For this many copies of the environment.
    pub fn new(copies: usize) -> Self {
        Self { moments: Moments::new(1), returns: vec![0.0; copies] }
    }

    /// Takes in a copy's rewards in time order; `ended` tells where episodes end.
    pub fn update(&mut self, copy: usize, gamma: f64, rewards: impl Iterator<Item = (f32, bool)>) {
        let mut running = self.returns[copy];
        let mut seen = Vec::new();
        for (reward, ended) in rewards {
            running = running * gamma + f64::from(reward);
            seen.push(running as f32);
            if ended {
                running = 0.0;
            }
        }
        self.returns[copy] = running;
        self.moments.update(&seen);
    }

    /// What rewards are multiplied by.
    pub(crate) fn scale(&self) -> f32 {
        (1.0 / (self.moments.variance[0] + EPSILON).sqrt()) as f32
    }

    /// Scales rewards in place.
    pub fn apply(&self, rewards: &mut [f32]) {
        let scale = self.scale();
        rewards.iter_mut().for_each(|reward| *reward = (*reward * scale).clamp(-LIMIT, LIMIT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_pieces_equal_moments_of_the_whole() {
        let rows: Vec<f32> = (0..60).map(|x| (x as f32 * 0.7).sin() * 3.0 + (x % 2) as f32 * 5.0).collect();
        let mut whole = Moments::new(2);
        whole.update(&rows);
        let mut pieces = Moments::new(2);
        rows.chunks(14).for_each(|piece| pieces.update(piece));
        for column in 0..2 {
            assert!((whole.mean[column] - pieces.mean[column]).abs() < 1e-12);
            assert!((whole.variance[column] - pieces.variance[column]).abs() < 1e-12);
            let values: Vec<f64> = rows[column..].iter().step_by(2).map(|x| f64::from(*x)).collect();
            let mean = values.iter().sum::<f64>() / 30.0;
            assert!((whole.mean[column] - mean).abs() < 1e-9);
        }
        assert_eq!(pieces.count, 30.0);
    }

    #[test]
    fn normalised_observations_have_mean_zero_and_deviation_one() {
        let rows: Vec<f32> = (0..1000).map(|x| (x % 10) as f32 + 100.0).collect();
        let mut normalizer = ObservationNormalizer::new(Moments::new(1));
        normalizer.update(&rows);
        let mut scaled = rows.clone();
        normalizer.apply(&mut scaled);
        let mean = scaled.iter().sum::<f32>() / 1000.0;
        let variance = scaled.iter().map(|x| x * x).sum::<f32>() / 1000.0;
        assert!(mean.abs() < 1e-4 && (variance - 1.0).abs() < 1e-3, "{mean} {variance}");
        let mut far = [1e9];
        normalizer.apply(&mut far);
        assert_eq!(far, [LIMIT]);
    }

    #[test]
    fn a_constant_reward_scales_by_the_spread_of_its_return() {
        let mut scaler = RewardScaler::new(1);
        scaler.update(0, 0.5, [(1.0, false), (1.0, true), (1.0, false)].into_iter());
        // Returns 1, 1.5, 1: variance 1/18.
        assert!((scaler.moments.variance[0] - 1.0 / 18.0).abs() < 1e-7);
        assert_eq!(scaler.returns, [1.0]);
        let mut rewards = [1.0];
        scaler.apply(&mut rewards);
        assert!((rewards[0] - 18.0_f32.sqrt()).abs() < 1e-3);
    }
}
