//! The final scores of several seeds: their interquartile mean with its
//! interval, and the seed that is unlike the others.

use serde::Serialize;

use crate::statistics::aggregate::{Scores, mean, median, variance};
use crate::statistics::bootstrap::{Plan, bootstrap_iqm};
use crate::statistics::course::DEVIATION_OF_MEDIAN;
use crate::statistics::curves::BOOTSTRAP_SEEDS;
use crate::statistics::verdict::{Options, scored_groups};

/// Fewest seeds among which one can be called odd.
const FEWEST_FOR_ODD: usize = 4;
/// Robust deviations from the others that make a seed odd.
const ODD: f64 = 3.5;

/// The final scores of several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Final {
    pub seeds: usize,
    /// Of them failed, scored below every other.
    pub failed: usize,
    /// Interquartile mean.
    pub iqm: f64,
    pub mean: f64,
    /// Lower end of its 95% bootstrap interval, from five seeds on.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    pub lowest: f64,
    pub highest: f64,
    /// Sample deviation, from two seeds on.
    pub deviation: Option<f64>,
}

/// A seed unlike the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OddSeed {
    /// Its place in the list.
    pub index: usize,
    pub score: f64,
    pub median: f64,
    /// Its distance from that, in robust deviations of the others.
    pub deviations: f64,
}

/// Scores in which a failed seed (NaN) is worse than every other.
pub fn final_scores(scores: &[f64]) -> Vec<f64> {
    scored_groups(&[scores], &Options::default()).concat()
}

/// The final scores of several seeds, NaN for a failed one; none when no seed
/// has a score.
pub fn finals(scores: &[f64]) -> Option<Final> {
    let failed = scores.iter().filter(|score| !score.is_finite()).count();
    if failed == scores.len() {
        return None;
    }
    let scored = final_scores(scores);
    let together = Scores::single(&scored);
    let interval = (scored.len() >= BOOTSTRAP_SEEDS)
        .then(|| bootstrap_iqm(&together, &Plan { resamples: 2000, ..Plan::default() }));
    Some(Final {
        seeds: scored.len(),
        failed,
        iqm: together.iqm(),
        mean: mean(&scored),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        lowest: scored.iter().copied().fold(f64::INFINITY, f64::min),
        highest: scored.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        deviation: Some(variance(&scored).sqrt()).filter(|deviation| deviation.is_finite()),
    })
}

/// The seed that lies farthest from the others, if it lies far: more than 3.5
/// robust deviations of the others and more than `noise` three times.
pub fn odd_seed(scores: &[f64], noise: f64) -> Option<OddSeed> {
    if scores.len() < FEWEST_FOR_ODD {
        return None;
    }
    let distance = |index: usize| {
        let others: Vec<f64> =
            scores.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, score)| *score).collect();
        let middle = median(&others);
        let apart: Vec<f64> = others.iter().map(|score| (score - middle).abs()).collect();
        let spread = (DEVIATION_OF_MEDIAN * median(&apart)).max(noise).max(1e-9 * middle.abs()).max(1e-12);
        let score = scores[index];
        OddSeed { index, score, median: middle, deviations: (score - middle) / spread }
    };
    let farthest = (0..scores.len())
        .map(distance)
        .reduce(|far, next| if next.deviations.abs() > far.deviations.abs() { next } else { far })?;
    let far = farthest.deviations.abs() > ODD && (farthest.score - farthest.median).abs() > 3.0 * noise;
    far.then_some(farthest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_seeds_need_others_to_be_odd_among() {
        assert_eq!(odd_seed(&[1.0, 2.0, 90.0], 0.0), None);
        assert_eq!(odd_seed(&[1.0, 2.0, 3.0, 4.0], 0.0), None);
        assert_eq!(odd_seed(&[1.0, 1.0, 1.0, 1.0], 0.0), None);
        assert_eq!(odd_seed(&[1.0, 2.0, 3.0, 90.0], 0.0).map(|odd| (odd.index, odd.median)), Some((3, 2.0)));
        // Not when the noise is as large.
        assert_eq!(odd_seed(&[1.0, 2.0, 3.0, 90.0], 40.0), None);
    }
}
