//! Rank tests: Mann and Whitney's U for two independent groups, Wilcoxon's
//! signed rank for pairs. Both exact, given the midranks, by counting every
//! arrangement with dynamic programming; ties are handled exactly too. Only
//! beyond [`EXACT_PAIRS`] or [`EXACT_DIFFERENCES`] the normal approximation
//! with tie and continuity correction takes over.

use serde::Serialize;

use crate::statistics::distribution::normal_cdf;
use crate::statistics::t_test::Alternative;

/// Mann–Whitney is exact up to this product of the group sizes (50 × 50).
pub const EXACT_PAIRS: usize = 2_500;

/// Wilcoxon's signed rank is exact up to this many differences.
pub const EXACT_DIFFERENCES: usize = 200;

/// A rank test: the statistic and what it says in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankTest {
    /// U of the first group (wins plus half the ties), or the rank sum of the
    /// positive differences.
    pub statistic: f64,
    /// p value of "the first group is larger".
    pub p_greater: f64,
    /// p value of "the first group is smaller".
    pub p_less: f64,
    /// Whether every arrangement was counted.
    pub exact: bool,
}

impl RankTest {
    /// The p value; two-sided is twice the smaller side, at most 1.
    pub fn p(&self, alternative: Alternative) -> f64 {
        match alternative {
            Alternative::Greater => self.p_greater,
            Alternative::Less => self.p_less,
            Alternative::TwoSided => (2.0 * self.p_greater.min(self.p_less)).min(1.0),
        }
    }
}

/// Mann and Whitney's test of `x` against `y`. `None` when either is empty or
/// holds a NaN.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Option<RankTest> {
    let ranks = TwoSampleRanks::new(x, y)?;
    Some(if x.len() * y.len() <= EXACT_PAIRS { ranks.exact() } else { ranks.approximate() })
}

/// Mann and Whitney's test by the normal approximation, whatever the sizes.
pub fn mann_whitney_approximate(x: &[f64], y: &[f64]) -> Option<RankTest> {
    Some(TwoSampleRanks::new(x, y)?.approximate())
}

/// Wilcoxon's signed rank test of "the differences are symmetric about zero".
/// Differences whose size is at most `tolerance` are zero and left out; sizes
/// that differ by no more than that are tied. `None` when nothing is left.
pub fn wilcoxon_signed_rank(differences: &[f64], tolerance: f64) -> Option<RankTest> {
    let SignedRanks { doubled, observed } = SignedRanks::new(differences, tolerance)?;
    let count = doubled.len();
    let (p_greater, p_less) = if count <= EXACT_DIFFERENCES {
        tails(&all_sums(&doubled), observed)
    } else {
        let squares: f64 = doubled.iter().map(|rank| (*rank as f64 / 2.0).powi(2)).sum();
        normal_tails(observed as f64 / 2.0, (count * (count + 1)) as f64 / 4.0, (squares / 4.0).sqrt())
    };
    let exact = count <= EXACT_DIFFERENCES;
    Some(RankTest { statistic: observed as f64 / 2.0, p_greater, p_less, exact })
}

/// The rank sum of the positive differences, as [`wilcoxon_signed_rank`] has it.
pub(crate) fn signed_rank_sum(differences: &[f64]) -> Option<f64> {
    SignedRanks::new(differences, 0.0).map(|ranks| ranks.observed as f64 / 2.0)
}

struct SignedRanks {
    /// Twice the midranks of the sizes, in rising order.
    doubled: Vec<usize>,
    /// Twice the rank sum of the positive differences.
    observed: usize,
}

impl SignedRanks {
    fn new(differences: &[f64], tolerance: f64) -> Option<Self> {
        if differences.iter().any(|difference| difference.is_nan()) {
            return None;
        }
        let kept = differences.iter().copied().filter(|difference| difference.abs() > tolerance);
        let mut by_size: Vec<(f64, bool)> =
            kept.map(|difference| (difference.abs(), difference > 0.0)).collect();
        if by_size.is_empty() {
            return None;
        }
        by_size.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let sizes: Vec<f64> = by_size.iter().map(|(size, _)| *size).collect();
        let doubled = doubled_midranks(&sizes, tolerance);
        let positive = doubled.iter().zip(&by_size).filter(|(_, (_, positive))| *positive);
        let observed = positive.map(|(rank, _)| *rank).sum();
        Some(Self { doubled, observed })
    }
}

/// The tolerance for [`wilcoxon_signed_rank`] of the differences of these
/// scores: what rounding can do to the difference of two of them.
pub fn rounding_tolerance(x: &[f64], y: &[f64]) -> f64 {
    16.0 * f64::EPSILON * x.iter().chain(y).fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

struct TwoSampleRanks {
    /// Twice the midranks of all values in rising order, whole numbers.
    doubled: Vec<usize>,
    /// Twice the rank sum of `x`.
    observed: usize,
    nx: usize,
    ny: usize,
}

impl TwoSampleRanks {
    fn new(x: &[f64], y: &[f64]) -> Option<Self> {
        if x.is_empty() || y.is_empty() || x.iter().chain(y).any(|value| value.is_nan()) {
            return None;
        }
        let mut pool: Vec<(f64, bool)> = x.iter().map(|value| (*value, true)).collect();
        pool.extend(y.iter().map(|value| (*value, false)));
        pool.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let values: Vec<f64> = pool.iter().map(|(value, _)| *value).collect();
        let doubled = doubled_midranks(&values, 0.0);
        let observed = doubled.iter().zip(&pool).filter(|(_, (_, of_x))| *of_x).map(|(rank, _)| *rank).sum();
        Some(Self { doubled, observed, nx: x.len(), ny: y.len() })
    }

    fn u(&self) -> f64 {
        (self.observed as f64 - (self.nx * (self.nx + 1)) as f64) / 2.0
    }

    fn exact(&self) -> RankTest {
        // Choosing the smaller group's places is the same question, cheaper.
        let (p_greater, p_less) = if self.nx <= self.ny {
            tails(&subset_sums(&self.doubled, self.nx), self.observed)
        } else {
            let total: usize = self.doubled.iter().sum();
            let (less, greater) = tails(&subset_sums(&self.doubled, self.ny), total - self.observed);
            (greater, less)
        };
        RankTest { statistic: self.u(), p_greater, p_less, exact: true }
    }

    fn approximate(&self) -> RankTest {
        let (nx, ny, n) = (self.nx as f64, self.ny as f64, self.doubled.len() as f64);
        let ties: f64 = self
            .doubled
            .chunk_by(|left, right| left == right)
            .map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64)
            .sum();
        let variance = nx * ny / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)));
        let (p_greater, p_less) = normal_tails(self.u(), nx * ny / 2.0, variance.sqrt());
        RankTest { statistic: self.u(), p_greater, p_less, exact: false }
    }
}

/// Twice the midrank of each of the values, which are in rising order.
fn doubled_midranks(sorted: &[f64], tolerance: f64) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|left, right| right - left <= tolerance || left == right) {
        let first = ranks.len() + 1;
        let last = ranks.len() + tied.len();
        ranks.extend(std::iter::repeat_n(first + last, tied.len()));
    }
    ranks
}

/// How many ways `chosen` of the ranks add up to each sum. Counts are
/// floating point: exact up to 2^53, right to 15 digits beyond.
pub(crate) fn subset_sums(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let largest: usize = ranks.iter().rev().take(chosen).sum();
    let width = largest + 1;
    let mut counts = vec![0.0; (chosen + 1) * width];
    counts[0] = 1.0;
    let mut reached = 0;
    for (seen, rank) in ranks.iter().enumerate() {
        reached = (reached + rank).min(largest);
        for size in (1..=chosen.min(seen + 1)).rev() {
            let (smaller, own) = counts.split_at_mut(size * width);
            let from = &smaller[(size - 1) * width..];
            let top = (reached + 1).saturating_sub(*rank);
            for (to, add) in own[*rank..width].iter_mut().zip(&from[..top]) {
                *to += add;
            }
        }
    }
    counts.split_off(chosen * width)
}

/// In how many arrangements of two groups without ties one wins each number of
/// pairs: the coefficients of the Gaussian binomial, one member of the smaller
/// group after the other. Far fewer steps than [`subset_sums`].
pub(crate) fn win_counts(nx: usize, ny: usize) -> Vec<f64> {
    let (smaller, larger) = (nx.min(ny), nx.max(ny));
    let pairs = smaller * larger;
    // The upper half mirrors the lower; computed, it would lose its digits to differences of large numbers.
    let half = pairs / 2;
    let mut counts = vec![0.0; pairs + 1];
    counts[0] = 1.0;
    for member in 1..=smaller {
        // Times 1 - q^(larger + member), ...
        for wins in (larger + member..=half).rev() {
            counts[wins] -= counts[wins - larger - member];
        }
        // ... divided by 1 - q^member.
        for wins in member..=half {
            counts[wins] += counts[wins - member];
        }
    }
    for wins in 0..=half {
        counts[pairs - wins] = counts[wins];
    }
    counts
}

/// How many subsets of the ranks, of any size, add up to each sum.
pub(crate) fn all_sums(ranks: &[usize]) -> Vec<f64> {
    let mut counts = vec![0.0; ranks.iter().sum::<usize>() + 1];
    counts[0] = 1.0;
    let mut reached = 0;
    for rank in ranks {
        for sum in (0..=reached).rev() {
            counts[sum + rank] += counts[sum];
        }
        reached += rank;
    }
    counts
}

/// The shares of the counts at or above, and at or below, what was observed.
fn tails(counts: &[f64], observed: usize) -> (f64, f64) {
    let total: f64 = counts.iter().sum();
    let above: f64 = counts[observed..].iter().sum();
    let below: f64 = counts[..=observed].iter().sum();
    (above / total, below / total)
}

fn normal_tails(statistic: f64, mean: f64, deviation: f64) -> (f64, f64) {
    if deviation == 0.0 {
        return (1.0, 1.0);
    }
    let side = |distance: f64| normal_cdf(-(distance - 0.5) / deviation).min(1.0);
    (side(statistic - mean), side(mean - statistic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::aggregate::pairwise_wins;
    use proptest::prelude::*;

    const A: [f64; 5] = [10.0, 12.0, 9.0, 11.0, 13.0];
    const B: [f64; 5] = [8.0, 9.0, 7.0, 10.0, 9.0];

    #[test]
    fn wins_without_ties_are_counted_both_ways() {
        for (nx, ny) in [(1, 1), (5, 5), (3, 12), (12, 3), (20, 25), (50, 50)] {
            let ranks: Vec<usize> = (1..=nx + ny).collect();
            let smaller = nx.min(ny);
            let sums = subset_sums(&ranks, smaller);
            let (counted, expected) = (win_counts(nx, ny), &sums[smaller * (smaller + 1) / 2..]);
            assert_eq!(counted.len(), expected.len());
            // Whole numbers up to 2^53 are exact.
            let tolerance = if expected.iter().sum::<f64>() < 9e15 { 0.0 } else { 1e-12 };
            for (counted, expected) in counted.iter().zip(expected) {
                assert!(
                    (counted - expected).abs() <= tolerance * expected,
                    "{nx}, {ny}: {counted} {expected}"
                );
            }
        }
    }

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-13, "got {got}, expected {expected}");
    }

    #[test]
    fn mann_whitney_has_the_reference_values() {
        let test = mann_whitney_approximate(&A, &B).unwrap();
        assert_eq!(test.statistic, 22.5);
        close(test.p_greater, 0.021_939_003_945_206_877);
        close(crate::statistics::aggregate::probability_of_improvement(&A, &B), 0.9);

        let x = [1.1, 2.3, 5.2, 8.1, 9.7];
        let y = [0.4, 1.0, 2.0, 3.3, 6.1, 7.2];
        let test = mann_whitney(&x, &y).unwrap();
        assert_eq!((test.statistic, test.exact), (21.0, true));
        close(test.p_greater, 0.164_502_164_502_164_48);
        close(test.p_less, 0.876_623_376_623_376_6);
        close(test.p(Alternative::TwoSided), 0.329_004_329_004_328_97);
    }

    #[test]
    fn wilcoxon_has_the_reference_values() {
        let differences: Vec<f64> = A.iter().zip(&B).map(|(a, b)| a - b).collect();
        let test = wilcoxon_signed_rank(&differences, 0.0).unwrap();
        assert_eq!((test.statistic, test.p_greater), (15.0, 0.03125));
        let test = wilcoxon_signed_rank(&[0.5, -0.2, 1.3, 2.2, -0.7, 0.9, 1.1, 3.0], 0.0).unwrap();
        assert_eq!((test.statistic, test.p_greater, test.p_less), (32.0, 0.027_343_75, 0.980_468_75));
    }

    #[test]
    fn three_against_three_can_never_reject() {
        let test = mann_whitney(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        close(test.p(Alternative::TwoSided), 0.1);
    }

    #[test]
    fn approximation_takes_over_smoothly() {
        let x: Vec<f64> = (0..50).map(|i| f64::from(i * 137 % 1100)).collect();
        let y: Vec<f64> = (0..50).map(|i| f64::from(i * 211 % 950)).collect();
        let exact = mann_whitney(&x, &y).unwrap();
        let approximate = mann_whitney_approximate(&x, &y).unwrap();
        assert!(exact.exact);
        assert!((exact.p_greater - approximate.p_greater).abs() < 0.002, "{exact:?} {approximate:?}");
        let more: Vec<f64> = (0..51).map(|i| f64::from(i * 211 % 950)).collect();
        assert!(!mann_whitney(&x, &more).unwrap().exact);
        let many: Vec<f64> = (0..201).map(|i| f64::from(i * 7919 % 613) - 280.5).collect();
        let approximate = wilcoxon_signed_rank(&many, 0.0).unwrap();
        let exact = wilcoxon_signed_rank(&many[..200], 0.0).unwrap();
        assert!(!approximate.exact && exact.exact);
        assert!((exact.p_greater - approximate.p_greater).abs() < 0.05);
    }

    #[test]
    fn nothing_to_rank_has_no_test() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
        assert_eq!(wilcoxon_signed_rank(&[0.0, 0.0], 0.0), None);
        let same = mann_whitney(&[2.0; 5], &[2.0; 5]).unwrap();
        assert_eq!((same.p_greater, same.p_less), (1.0, 1.0));
        let same = mann_whitney(&[2.0; 60], &[2.0; 60]).unwrap();
        assert_eq!((same.p_greater, same.p_less), (1.0, 1.0));
    }

    /// p values by walking through every arrangement.
    fn enumerated(x: &[f64], y: &[f64]) -> (f64, f64) {
        let pool: Vec<f64> = x.iter().chain(y).copied().collect();
        let observed = pairwise_wins(x, y);
        let (mut above, mut below, mut total) = (0.0, 0.0, 0.0);
        for mask in 0u32..1 << pool.len() {
            if mask.count_ones() as usize != x.len() {
                continue;
            }
            let pick = |inside: bool| -> Vec<f64> {
                let chosen = pool.iter().enumerate().filter(|(i, _)| (mask >> i & 1 == 1) == inside);
                chosen.map(|(_, value)| *value).collect()
            };
            let u = pairwise_wins(&pick(true), &pick(false));
            total += 1.0;
            above += f64::from(u >= observed);
            below += f64::from(u <= observed);
        }
        (above / total, below / total)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn counting_equals_enumeration_with_ties(
            x in proptest::collection::vec(0i32..6, 1..6),
            y in proptest::collection::vec(0i32..6, 1..6),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            let test = mann_whitney(&x, &y).unwrap();
            let (above, below) = enumerated(&x, &y);
            prop_assert!((test.p_greater - above).abs() < 1e-12, "{} {above}", test.p_greater);
            prop_assert!((test.p_less - below).abs() < 1e-12);
        }

        #[test]
        fn signed_ranks_equal_enumeration_with_ties(
            sizes in proptest::collection::vec(-5i32..6, 1..9),
        ) {
            let differences: Vec<f64> = sizes.into_iter().filter(|d| *d != 0).map(f64::from).collect();
            prop_assume!(!differences.is_empty());
            let test = wilcoxon_signed_rank(&differences, 0.0).unwrap();
            let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
            let (mut above, mut total) = (0.0, 0.0);
            for mask in 0u32..1 << sizes.len() {
                let flipped: Vec<f64> = sizes.iter().enumerate()
                    .map(|(i, size)| if mask >> i & 1 == 1 { *size } else { -size }).collect();
                let statistic = wilcoxon_signed_rank(&flipped, 0.0).unwrap().statistic;
                total += 1.0;
                above += f64::from(statistic >= test.statistic);
            }
            prop_assert!((test.p_greater - above / total).abs() < 1e-12);
        }

        #[test]
        fn swapping_the_groups_swaps_the_tails(
            x in proptest::collection::vec(0i32..9, 1..12),
            y in proptest::collection::vec(0i32..9, 1..12),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            let (forth, back) = (mann_whitney(&x, &y).unwrap(), mann_whitney(&y, &x).unwrap());
            prop_assert!((forth.p_greater - back.p_less).abs() < 1e-12);
            prop_assert!((forth.p_less - back.p_greater).abs() < 1e-12);
        }
    }
}
