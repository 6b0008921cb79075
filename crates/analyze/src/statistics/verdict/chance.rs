//! The probability of improvement with its interval, and the fewest seeds
//! with which a rank test can reject.
//!
//! Unpaired: the score interval of Newcombe (2006, method 5), which stays
//! inside [0, 1] and has a width even when one group beats the other in every
//! pair. Paired: Wilson's interval of the share of pairs won.

use super::Chance;
use crate::statistics::aggregate::probability_of_improvement;
use crate::statistics::distribution::normal_quantile;
use crate::statistics::numeric::root;
use crate::statistics::proportion::wilson_share;

/// The chance that a value of `b` exceeds one of `a`.
pub(super) fn unpaired(a: &[f64], b: &[f64], confidence: f64) -> Option<Chance> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let value = probability_of_improvement(b, a);
    let (m, n) = (a.len() as f64, b.len() as f64);
    let z = normal_quantile(0.5 + confidence / 2.0);
    let others = (m + n) / 2.0 - 1.0;
    let deviation = |chance: f64| {
        let pairs = 1.0 + others * ((1.0 - chance) / (2.0 - chance) + chance / (1.0 + chance));
        (chance * (1.0 - chance) * pairs / (m * n)).sqrt()
    };
    // At 0 and 1 the deviation vanishes, so the estimate itself would solve
    // the equation there; the end that is wanted lies strictly inside.
    let hair = 1e-12;
    let low = if value <= 0.0 {
        0.0
    } else {
        root(0.0, value.min(1.0 - hair), |at| at + z * deviation(at) - value)
    };
    let high =
        if value >= 1.0 { 1.0 } else { root(value.max(hair), 1.0, |at| at - z * deviation(at) - value) };
    Some(Chance { value, low, high, confidence })
}

/// The share of pairs in which `b` exceeds `a`.
pub(super) fn paired(differences: &[f64], tolerance: f64, confidence: f64) -> Option<Chance> {
    if differences.is_empty() {
        return None;
    }
    let won = |difference: &f64| {
        if *difference > tolerance {
            1.0
        } else if *difference < -tolerance {
            0.0
        } else {
            0.5
        }
    };
    let (wins, pairs) = (differences.iter().map(won).sum::<f64>(), differences.len() as f64);
    let (low, high) = wilson_share(wins, pairs, confidence);
    Some(Chance { value: wins / pairs, low, high, confidence })
}

/// The fewest seeds per group with which the exact test can reach `alpha`.
pub(super) fn fewest_seeds(alpha: f64, paired: bool) -> u64 {
    let mut smallest = 1.0;
    let mut n = 0u64;
    while smallest > alpha {
        n += 1;
        let count = n as f64;
        // One arrangement in 2^n, or in (2n choose n).
        smallest /= if paired { 2.0 } else { 2.0 * (2.0 * count - 1.0) / count };
    }
    n
}

/// Whether the exact test can reach `alpha` with these sizes.
pub(super) fn can_reach(alpha: f64, n_a: u64, n_b: u64, paired: bool) -> bool {
    if paired {
        return n_a >= fewest_seeds(alpha, true);
    }
    let (small, total) = (n_a.min(n_b), n_a + n_b);
    let ways = (0..small).map(|i| (total - i) as f64 / (small - i) as f64).product::<f64>();
    // A small tolerance for the rounding of the product.
    1.0 / ways <= alpha * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::distribution::normal_cdf;
    use rlxp_types::Stream;

    #[test]
    fn intervals_hold_their_chance_and_never_collapse() {
        let chance = unpaired(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.95).unwrap();
        assert_eq!((chance.value, chance.high), (1.0, 1.0));
        assert!(chance.low > 0.3 && chance.low < 0.9, "{chance:?}");
        let mirrored = unpaired(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((mirrored.high - (1.0 - chance.low)).abs() < 1e-12);
        assert_eq!(unpaired(&[], &[1.0], 0.95), None);
        let chance = paired(&[1.0, -1.0, 0.0, 2.0], 0.0, 0.95).unwrap();
        assert_eq!(chance.value, 0.625);
        assert!(chance.low < 0.625 && chance.high > 0.625);
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut stream = Stream::new(8, "test", 0);
        // A shift of one: the true chance is the normal probability of 1/√2.
        let truth = normal_cdf(std::f64::consts::FRAC_1_SQRT_2);
        let rounds = 3000;
        let covered = (0..rounds).filter(|_| {
            let a: Vec<f64> = (0..10).map(|_| stream.normal_pair().0).collect();
            let b: Vec<f64> = (0..10).map(|_| 1.0 + stream.normal_pair().0).collect();
            let chance = unpaired(&a, &b, 0.95).unwrap();
            chance.low <= truth && truth <= chance.high
        });
        let share = covered.count() as f64 / f64::from(rounds);
        assert!((0.93..0.985).contains(&share), "{share}");
    }

    #[test]
    fn the_fewest_seeds_are_those_of_the_smallest_p_value() {
        // 1/70 at four against four, 1/20 at three against three.
        assert_eq!(fewest_seeds(0.025, false), 4);
        assert_eq!(
            (fewest_seeds(0.05, true), fewest_seeds(0.025, true), fewest_seeds(0.01, true)),
            (5, 6, 7)
        );
        assert!(can_reach(0.05, 3, 3, false) && !can_reach(0.049, 3, 3, false));
        assert!(can_reach(1.0 / 252.0, 5, 5, false));
        assert!(!can_reach(0.025, 1, 30, false) && can_reach(0.025, 1, 39, false));
    }
}
