//! Wilson's score interval of a proportion (1927), such as a success rate.

use crate::statistics::distribution::normal_quantile;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn intervals_have_the_reference_values() {
        for (successes, trials, expected) in [
            (0, 20, (0.0, 0.161_125)),
            (18, 20, (0.698_966, 0.972_134)),
            (20, 20, (0.838_875, 1.0)),
            (95, 100, (0.888_25, 0.978_456)),
        ] {
            let got = wilson(successes, trials, 0.95);
            assert!((got.0 - expected.0).abs() < 6e-7, "{successes}/{trials}: {got:?} {expected:?}");
            assert!((got.1 - expected.1).abs() < 6e-7, "{successes}/{trials}: {got:?} {expected:?}");
        }
        assert_eq!(wilson(0, 0, 0.95), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn intervals_hold_the_share_and_mirror(trials in 1u64..200, part in 0.0..=1.0f64) {
            let successes = (part * trials as f64) as u64;
            let share = successes as f64 / trials as f64;
            let (low, high) = wilson(successes, trials, 0.95);
            prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
            let (mirror_low, mirror_high) = wilson(trials - successes, trials, 0.95);
            prop_assert!((low - (1.0 - mirror_high)).abs() < 1e-9);
            prop_assert!((high - (1.0 - mirror_low)).abs() < 1e-9);
        }
    }
}
