//! Metrics about the observations of the latest rollout, and the share of dormant units. Too expensive for every
//! update, so they are computed on request.

use crate::normalize::LIMIT;
use crate::policy::{Policy, TILE};

/// Most dimensions that get their own metrics.
pub(crate) const MOST_DIMENSIONS: usize = 64;
/// Samples that the activity of hidden units is measured on.
const SAMPLES: usize = 256;
/// A unit is dormant when its mean |output| is at most this share of its
/// layer's mean (Sokar et al. 2023).
const DORMANT: f64 = 0.025;

/// Mean, deviation and extremes of every dimension of raw rows, in pieces; with a normaliser also the share of its
/// outputs that are clipped.
pub(crate) fn dimensions(raw: &[&[f32]], normalized: Option<&[f32]>, width: usize) -> Vec<(String, f64)> {
    let rows = || raw.iter().flat_map(|piece| piece.chunks_exact(width));
    let count = rows().count() as f64;
    if count == 0.0 {
        return Vec::new();
    }
    let mut values = Vec::with_capacity(5 * width);
    for dimension in 0..width {
        let column = || rows().map(|row| row[dimension]);
        let mean = column().map(f64::from).sum::<f64>() / count;
        let variance = column().map(|x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
        values.push((format!("mean_{dimension}"), mean));
        values.push((format!("std_{dimension}"), variance.sqrt()));
        // A NaN shows in the mean; the extremes ignore it.
        values.push((format!("min_{dimension}"), f64::from(column().fold(f32::INFINITY, f32::min))));
        values.push((format!("max_{dimension}"), f64::from(column().fold(f32::NEG_INFINITY, f32::max))));
        if let Some(normalized) = normalized {
            let column = normalized.iter().skip(dimension).step_by(width);
            let clipped = column.filter(|x| x.abs() >= LIMIT).count();
            values.push((format!("clipped_{dimension}"), clipped as f64 / count));
        }
    }
    values
}

/// Share of dormant hidden units of both networks, on a sample of these observations as the network saw them.
pub(crate) fn dormant_fraction(policy: &Policy, observations: &[f32]) -> Option<f64> {
    let width = policy.network.shape().input.width();
    let rows = observations.len() / width.max(1);
    let samples = rows.min(SAMPLES);
    let mut scratch = policy.network.scratch(TILE.min(samples));
    let mut sums: Vec<Vec<f64>> = Vec::new();
    let chosen: Vec<usize> = (0..samples).map(|sample| sample * rows / samples).collect();
    for tile in chosen.chunks(TILE) {
        let gathered: Vec<f32> =
            tile.iter().flat_map(|row| &observations[row * width..(row + 1) * width]).copied().collect();
        policy.network.forward(&policy.parameters, &gathered, tile.len(), &mut scratch);
        let magnitudes = policy.network.hidden_magnitudes(tile.len(), &scratch);
        if sums.is_empty() {
            sums = magnitudes;
            continue;
        }
        for (sum, magnitude) in sums.iter_mut().flatten().zip(magnitudes.into_iter().flatten()) {
            *sum += magnitude;
        }
    }
    share_of_dormant(&sums)
}

/// Of units with these activities, one list per layer.
fn share_of_dormant(layers: &[Vec<f64>]) -> Option<f64> {
    let units: usize = layers.iter().map(Vec::len).sum();
    let dormant: usize = layers
        .iter()
        .map(|layer| {
            let mean = layer.iter().sum::<f64>() / layer.len() as f64;
            layer.iter().filter(|activity| **activity <= DORMANT * mean).count()
        })
        .sum();
    (units > 0).then(|| dormant as f64 / units as f64)
}

#[cfg(test)]
mod tests {
    use rlxp_env::Space;

    use super::*;
    use crate::testing::config;

    #[test]
    fn dimensions_by_hand() {
        let raw: [&[f32]; 2] = [&[1.0, 5.0, 3.0, 5.0], &[1.0, 5.0, -1.0, 5.0]];
        let normalized = [0.0, -10.0, 10.0, 10.0, 0.0, 9.9, 0.0, 0.0];
        let found = dimensions(&raw, Some(&normalized), 2);
        let expected = [
            ("mean_0", 1.0),
            ("std_0", 2.0_f64.sqrt()),
            ("min_0", -1.0),
            ("max_0", 3.0),
            ("clipped_0", 0.25),
            ("mean_1", 5.0),
            ("std_1", 0.0),
            ("min_1", 5.0),
            ("max_1", 5.0),
            ("clipped_1", 0.5),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(dimensions(&raw, None, 2).iter().all(|(name, _)| !name.starts_with("clipped")));
        assert_eq!(dimensions(&[], None, 2), []);
    }

    #[test]
    fn a_silent_unit_is_dormant() {
        // 0.025 of the mean 40 is 1: one unit at that, one above; and a layer that is all zero.
        let layers = [vec![1.0, 1.5, 117.5], vec![0.0, 0.0]];
        assert_eq!(share_of_dormant(&layers), Some(0.6));
        assert_eq!(share_of_dormant(&[]), None);
    }

    #[test]
    fn dormancy_is_measured_in_both_networks() {
        let config = config("env: {id: CartPole-v1}\npolicy: {hidden_sizes: [8], activation: relu}");
        let observations = Space::vector(vec![-1.0; 2], vec![1.0; 2]);
        let mut policy = Policy::new(&config, &observations, &Space::Discrete { n: 2 }, 0);
        // More rows than one tile, and an odd number of them.
        let rows: Vec<f32> = (0..2 * 301).map(|x| (x as f32 * 0.37).sin()).collect();
        assert_eq!(dormant_fraction(&policy, &rows), Some(0.0));
        // With a bias of -100, three of the policy's eight units never activate: 2 × 8 weights, then biases.
        policy.parameters[16..19].fill(-100.0);
        assert_eq!(dormant_fraction(&policy, &rows), Some(3.0 / 16.0));
        assert_eq!(dormant_fraction(&policy, &[]), None);
    }
}
