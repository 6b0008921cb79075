//! Evidence that may be looked at after every run and stopped at any time:
//! two e-processes over paired differences. When nothing improved, the chance
//! that one ever reaches 1/α is at most α (Ville's inequality), however often
//! somebody looks. The price is about half as many runs again.

use crate::distribution::normal_cdf;
use crate::special::{beta_regularized, ln_beta};

/// Evidence from wins alone, against "a win is at most as likely as a loss":
/// the uniform mixture over win rates from ½ to 1. Ties are left out of
/// `trials`: given that a pair differs, the claim about wins is the same.
pub fn sign_evidence(wins: u64, trials: u64) -> f64 {
    let (won, lost) = (wins as f64, trials.saturating_sub(wins) as f64);
    let above_half = 1.0 - beta_regularized(won + 1.0, lost + 1.0, 0.5);
    let log = (trials as f64 + 1.0) * std::f64::consts::LN_2 + ln_beta(won + 1.0, lost + 1.0);
    log.exp() * above_half
}

/// Evidence from the sizes too, against "differences are symmetric about zero
/// or less" (the self-normalised process of de la Peña): a half-normal mixture
/// with `prior` as its inverse variance. Differences must have been scaled by
/// a constant that was fixed before they were seen.
pub fn symmetric_evidence(differences: &[f64], prior: f64) -> f64 {
    let sum: f64 = differences.iter().sum();
    let scale = prior + differences.iter().map(|difference| difference * difference).sum::<f64>();
    2.0 * (prior / scale).sqrt() * (sum * sum / (2.0 * scale)).exp() * normal_cdf(sum / scale.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlxp_types::Stream;

    #[test]
    fn the_sign_process_has_the_reference_values() {
        for (wins, trials, expected) in [
            (5, 5, 10.5),
            (6, 6, 18.142_857),
            (7, 7, 31.875),
            (8, 8, 56.777_778),
            (7, 8, 6.972_222),
            (8, 9, 11.255_556),
            (9, 10, 18.509_091),
            (12, 15, 8.906_456),
            (15, 20, 6.355_521),
            (10, 20, 0.270_260),
        ] {
            let got = sign_evidence(wins, trials);
            assert!((got - expected).abs() < 6e-7, "{wins}/{trials}: got {got}, expected {expected}");
        }
        assert!((sign_evidence(0, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_symmetric_process_has_the_reference_values() {
        let alternating: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        for (differences, expected) in [
            (&[1.0; 5][..], 6.422_272),
            (&[1.0; 10], 56.733_726),
            (&[0.5, 1.2, -0.3, 0.8, 0.9, 1.1], 4.183_088),
            (&alternating, 0.301_511),
        ] {
            let got = symmetric_evidence(differences, 1.0);
            assert!((got - expected).abs() < 6e-7, "got {got}, expected {expected}");
        }
        assert!((symmetric_evidence(&[], 1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn evidence_is_a_fair_game_when_nothing_improved() {
        // The expected value after one more fair coin is the value before.
        for (wins, trials) in [(0, 0), (3, 4), (2, 9), (11, 15)] {
            let now = sign_evidence(wins, trials);
            let next = (sign_evidence(wins + 1, trials + 1) + sign_evidence(wins, trials + 1)) / 2.0;
            // The mixture holds p = ½ and more: at ½ it is exactly fair.
            assert!((next - now).abs() < 1e-9 * now.max(1.0), "{wins}/{trials}: {now} then {next}");
        }
    }

    #[test]
    fn peeking_after_every_run_rarely_deceives() {
        let mut stream = Stream::new(5, "test", 0);
        let (campaigns, runs) = (4000, 50);
        let (mut by_sign, mut by_size) = (0, 0);
        for _ in 0..campaigns {
            let (mut differences, mut wins) = (Vec::new(), 0);
            let (mut sign, mut size) = (false, false);
            for trial in 1..=runs {
                let difference = stream.normal_pair().0;
                wins += u64::from(difference > 0.0);
                differences.push(difference);
                sign |= sign_evidence(wins, trial) >= 20.0;
                size |= symmetric_evidence(&differences, 1.0) >= 20.0;
            }
            by_sign += u32::from(sign);
            by_size += u32::from(size);
        }
        let bound = 0.05 * f64::from(campaigns);
        assert!(f64::from(by_sign) <= bound && f64::from(by_size) <= bound, "{by_sign} {by_size}");
        assert!(by_sign > 0, "a test that can't deceive at all was not tried");
    }
}
