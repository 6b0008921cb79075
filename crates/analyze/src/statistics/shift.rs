//! By how much one group lies above another: Hodges and Lehmann's estimate
//! (the median of all pairwise differences, or of all Walsh averages for
//! pairs) with the interval that the exact rank test would not reject. So
//! without ties the interval excludes zero exactly when the test rejects.
//!
//! Pairwise values are never stored: the k-th smallest is found by halving
//! the floating point numbers and counting, which needs no memory and n steps
//! per halving.

use serde::Serialize;

use crate::statistics::distribution::normal_quantile;
use crate::statistics::rank_test::{EXACT_DIFFERENCES, EXACT_PAIRS, all_sums, win_counts};

/// A shift with its interval. An end is `None` where the data can't bound it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// The estimate.
    pub value: f64,
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Nominal coverage of the two ends together.
    pub confidence: f64,
}

/// How far `x` lies above `y`; each end of the interval is wrong with
/// probability at most `tail`. `None` when either is empty.
pub fn hodges_lehmann(x: &[f64], y: &[f64], tail: f64) -> Option<Shift> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let (x, y) = (sorted(x), sorted(y));
    let pairs = x.len() as u64 * y.len() as u64;
    let count = |at: f64| differences_up_to(&x, &y, at);
    Some(shift(pairs, unpaired_depth(x.len(), y.len(), tail), tail, count))
}

/// The centre alone of all differences x - y, both rising and not empty.
pub(crate) fn median_difference(x: &[f64], y: &[f64]) -> f64 {
    centre(x.len() as u64 * y.len() as u64, &|at| differences_up_to(x, y, at))
}

/// The centre of paired differences; `None` when there are none.
pub fn pseudomedian(differences: &[f64], tail: f64) -> Option<Shift> {
    if differences.is_empty() {
        return None;
    }
    let differences = sorted(differences);
    let n = differences.len() as u64;
    let count = |at: f64| walsh_averages_up_to(&differences, at);
    Some(shift(n * (n + 1) / 2, paired_depth(differences.len(), tail), tail, count))
}

fn shift(pairs: u64, depth: u64, tail: f64, count: impl Fn(f64) -> u64) -> Shift {
    let at = |rank: u64| kth(rank, &count);
    let value = centre(pairs, &count);
    let low = (depth > 0).then(|| at(depth));
    let high = (depth > 0).then(|| at(pairs + 1 - depth));
    Shift { value, low, high, confidence: 1.0 - 2.0 * tail }
}

/// The median of `pairs` numbers, of which `count` says how many are at most so large.
fn centre(pairs: u64, count: &impl Fn(f64) -> u64) -> f64 {
    let lower = kth(pairs.div_ceil(2), count);
    if pairs % 2 == 1 { lower } else { (lower + kth(pairs / 2 + 1, count)) / 2.0 }
}

/// The largest k for which P(U ≤ k - 1) ≤ `tail`: the lower end is the k-th
/// smallest difference, and 0 means that no difference bounds it.
pub(crate) fn unpaired_depth(nx: usize, ny: usize, tail: f64) -> u64 {
    let pairs = nx * ny;
    if pairs > EXACT_PAIRS {
        let (nx, ny) = (nx as f64, ny as f64);
        return normal_depth(nx * ny / 2.0, (nx * ny * (nx + ny + 1.0) / 12.0).sqrt(), tail);
    }
    depth(&win_counts(nx, ny), tail)
}

pub(crate) fn paired_depth(count: usize, tail: f64) -> u64 {
    if count > EXACT_DIFFERENCES {
        let n = count as f64;
        return normal_depth(n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt(), tail);
    }
    depth(&all_sums(&(1..=count).collect::<Vec<_>>()), tail)
}

fn depth(counts: &[f64], tail: f64) -> u64 {
    let total: f64 = counts.iter().sum();
    let mut below = 0.0;
    let within = counts.iter().take_while(|count| {
        below += **count;
        // The same division as in the test, so that both decide alike.
        below / total <= tail
    });
    within.count() as u64
}

fn normal_depth(mean: f64, deviation: f64, tail: f64) -> u64 {
    (mean + 0.5 + deviation * normal_quantile(tail)).floor().max(0.0) as u64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// How many differences x - y are at most `at`. Rounding keeps the order, so
/// a staircase walk counts them in one pass.
pub(crate) fn differences_up_to(x: &[f64], y: &[f64], at: f64) -> u64 {
    let mut first = y.len();
    let mut total = 0;
    // As x falls, ever more of the largest y keep the difference small.
    for value in x.iter().rev() {
        while first > 0 && value - y[first - 1] <= at {
            first -= 1;
        }
        total += (y.len() - first) as u64;
    }
    total
}

/// How many averages of two values (each also with itself) are at most `at`.
fn walsh_averages_up_to(sorted: &[f64], at: f64) -> u64 {
    let mut end = 0;
    let (mut ordered, mut own) = (0, 0);
    for value in sorted.iter().rev() {
        while end < sorted.len() && (value + sorted[end]) / 2.0 <= at {
            end += 1;
        }
        ordered += end as u64;
        own += u64::from(*value <= at);
    }
    (ordered + own) / 2
}

/// The smallest number up to which at least `rank` values lie.
pub(crate) fn kth(rank: u64, count: &impl Fn(f64) -> u64) -> f64 {
    let (mut low, mut high) = (order(f64::MIN), order(f64::MAX));
    while low < high {
        let middle = low + (high - low) / 2;
        if count(number(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    number(low)
}

/// A whole number that orders like the floating point number.
fn order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn number(order: u64) -> f64 {
    f64::from_bits(if order >> 63 == 1 { order & !(1 << 63) } else { !order })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::aggregate::median;
    use crate::statistics::rank_test::{mann_whitney, wilcoxon_signed_rank};
    use proptest::prelude::*;

    #[test]
    fn the_shift_of_a_small_example() {
        // All 25 differences of these groups, by hand: the median is 2.
        let a = [10.0, 12.0, 9.0, 11.0, 13.0];
        let b = [8.0, 9.0, 7.0, 10.0, 9.0];
        let shift = hodges_lehmann(&a, &b, 0.025).unwrap();
        assert_eq!(shift.value, 2.0);
        // At five against five P(U <= 2) = 4/252 <= .025 < P(U <= 3), so depth 3.
        assert_eq!((shift.low, shift.high), (Some(0.0), Some(5.0)));
        let paired: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        assert_eq!(pseudomedian(&paired, 0.025).unwrap().low, None, "five pairs bound nothing at .025");
        assert_eq!(pseudomedian(&paired, 0.05).unwrap().low, Some(1.0));
    }

    #[test]
    fn few_runs_bound_nothing() {
        let shift = hodges_lehmann(&[1.0, 2.0, 3.0], &[0.0, 0.5, 0.7], 0.025).unwrap();
        assert_eq!((shift.low, shift.high), (None, None));
        assert_eq!(hodges_lehmann(&[], &[1.0], 0.025), None);
        assert_eq!(pseudomedian(&[], 0.025), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn the_interval_excludes_zero_exactly_when_the_test_rejects(
            x in proptest::collection::vec(-3.0..5.0f64, 2..14),
            y in proptest::collection::vec(-4.0..4.0f64, 2..14),
        ) {
            for tail in [0.025, 0.05, 0.2] {
                let shift = hodges_lehmann(&x, &y, tail).unwrap();
                let test = mann_whitney(&x, &y).unwrap();
                prop_assert_eq!(shift.low.is_some_and(|low| low > 0.0), test.p_greater <= tail);
                prop_assert_eq!(shift.high.is_some_and(|high| high < 0.0), test.p_less <= tail);
                let shift = pseudomedian(&x, tail).unwrap();
                let test = wilcoxon_signed_rank(&x, 0.0).unwrap();
                prop_assert_eq!(shift.low.is_some_and(|low| low > 0.0), test.p_greater <= tail);
                prop_assert_eq!(shift.high.is_some_and(|high| high < 0.0), test.p_less <= tail);
            }
        }

        #[test]
        fn counting_finds_the_same_medians_as_listing(
            x in proptest::collection::vec(-9i32..9, 1..12),
            y in proptest::collection::vec(-9i32..9, 1..12),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            let listed: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| x - y)).collect();
            prop_assert_eq!(hodges_lehmann(&x, &y, 0.1).unwrap().value, median(&listed));
            let mut walsh = Vec::new();
            for i in 0..x.len() {
                walsh.extend((i..x.len()).map(|j| (x[i] + x[j]) / 2.0));
            }
            prop_assert_eq!(pseudomedian(&x, 0.1).unwrap().value, median(&walsh));
        }
    }
}
