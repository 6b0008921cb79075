//! Intervals of a proportion, such as a success rate: Wilson's score interval
//! (1927; close to its nominal coverage on average) and Clopper and Pearson's
//! (1934; never below its nominal coverage).

use crate::distribution::{beta_quantile, normal_quantile};

/// Wilson's interval of `successes` out of `trials`; all of [0, 1] without
/// trials.
pub fn wilson(successes: u64, trials: u64, confidence: f64) -> (f64, f64) {
    wilson_share(successes as f64, trials as f64, confidence)
}

/// Wilson's interval where half successes (ties) count too.
pub(crate) fn wilson_share(successes: f64, trials: f64, confidence: f64) -> (f64, f64) {
    if trials == 0.0 {
        return (0.0, 1.0);
    }
    let z = normal_quantile(0.5 + confidence / 2.0);
    let (share, squared) = (successes / trials, z * z / trials);
    let centre = (share + squared / 2.0) / (1.0 + squared);
    let half = (share * (1.0 - share) * squared + squared * squared / 4.0).sqrt() / (1.0 + squared);
    // At the ends the exact value is 0 or 1; rounding must not leave [0, 1].
    let low = if successes == 0.0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if successes == trials { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// Clopper and Pearson's interval of `successes` out of `trials`; all of
/// [0, 1] without trials.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let (hits, misses) = (successes as f64, trials.saturating_sub(successes) as f64);
    let low = if hits == 0.0 { 0.0 } else { beta_quantile(tail, hits, misses + 1.0) };
    let high = if misses == 0.0 { 1.0 } else { beta_quantile(1.0 - tail, hits + 1.0, misses) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_intervals_have_the_reference_values() {
        for (successes, trials, score, exact) in [
            (0, 20, (0.0, 0.161_125), (0.0, 0.168_433)),
            (18, 20, (0.698_966, 0.972_134), (0.683_017, 0.987_651)),
            (20, 20, (0.838_875, 1.0), (0.831_567, 1.0)),
            (95, 100, (0.888_25, 0.978_456), (0.887_165, 0.983_568)),
        ] {
            for (got, expected) in
                [(wilson(successes, trials, 0.95), score), (clopper_pearson(successes, trials, 0.95), exact)]
            {
                assert!((got.0 - expected.0).abs() < 6e-7, "{successes}/{trials}: {got:?} {expected:?}");
                assert!((got.1 - expected.1).abs() < 6e-7, "{successes}/{trials}: {got:?} {expected:?}");
            }
        }
        assert_eq!(wilson(0, 0, 0.95), (0.0, 1.0));
        assert_eq!(clopper_pearson(0, 0, 0.95), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn intervals_hold_the_share_and_mirror(trials in 1u64..200, part in 0.0..=1.0f64) {
            let successes = (part * trials as f64) as u64;
            let share = successes as f64 / trials as f64;
            for interval in [wilson, clopper_pearson] {
                let (low, high) = interval(successes, trials, 0.95);
                prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
                let (mirror_low, mirror_high) = interval(trials - successes, trials, 0.95);
                prop_assert!((low - (1.0 - mirror_high)).abs() < 1e-9);
                prop_assert!((high - (1.0 - mirror_low)).abs() < 1e-9);
            }
        }
    }
}
