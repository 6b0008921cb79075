//! What choosing the best does to its score: the expected maximum of equally
//! good candidates (the winner's curse) and empirical-Bayes shrinkage of the
//! gains seen while screening. A screened score is never the improvement; if
//! it must be shown, show it shrunk.

use crate::statistics::aggregate::variance;
use crate::statistics::distribution::{normal_cdf, normal_density};

/// How many standard errors the best of `candidates` equally good ones lies
/// above their common mean, on average.
pub fn expected_maximum(candidates: u32) -> f64 {
    if candidates == 0 {
        return f64::NAN;
    }
    let k = f64::from(candidates);
    let density = |z: f64| k * normal_density(z) * normal_cdf(z).powf(k - 1.0);
    // The integrand dies away at both ends, where the trapezium rule is as
    // good as any and the cheapest.
    let step = 0.125;
    (-72..=72).map(|index| f64::from(index) * step).map(|z| step * z * density(z)).sum()
}

/// The screened gains pulled towards zero by the share of their variance that
/// chance explains: `deviation` is the spread of one run and `runs` how many
/// each candidate and the incumbent had. With fewer than two candidates there
/// is nothing to learn the share from, and the gains come back as zero.
pub fn shrink_gains(gains: &[f64], deviation: f64, runs: u64) -> Vec<f64> {
    let by_chance = 2.0 * deviation * deviation / runs as f64;
    let seen = variance(gains);
    let true_spread = if seen.is_nan() { 0.0 } else { (seen - by_chance).max(0.0) };
    let share = if true_spread > 0.0 { true_spread / (true_spread + by_chance) } else { 0.0 };
    gains.iter().map(|gain| gain * share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_maxima_have_the_reference_values() {
        for (candidates, expected) in [
            (1, 0.0),
            (2, 0.564_190),
            (3, 0.846_284),
            (5, 1.162_964),
            (8, 1.423_600),
            (10, 1.538_753),
            (16, 1.765_991),
            (20, 1.867_475),
            (32, 2.069_669),
            (50, 2.249_074),
            (80, 2.426_774),
            (100, 2.507_594),
        ] {
            let got = expected_maximum(candidates);
            assert!((got - expected).abs() < 6e-7, "{candidates}: got {got}, expected {expected}");
        }
    }

    #[test]
    fn shrinkage_keeps_what_chance_does_not_explain() {
        // Variance of the gains 4, by chance 2 × 1.5² / 3 = 1.5: share 2.5 / 4.
        let shrunk = shrink_gains(&[-2.0, 0.0, 2.0], 1.5, 3);
        assert!((shrunk[2] - 2.0 * 2.5 / 4.0).abs() < 1e-12);
        assert_eq!(shrink_gains(&[0.1, -0.1, 0.2], 1.5, 3), [0.0, 0.0, 0.0]);
        assert_eq!(shrink_gains(&[3.0], 1.0, 3), [0.0]);
        assert_eq!(shrink_gains(&[0.0, 2.0], 0.0, 3), [0.0, 2.0]);
    }
}
