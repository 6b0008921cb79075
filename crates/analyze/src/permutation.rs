//! Permutation tests: two groups whose labels are exchanged, on the
//! difference of means or of interquartile means (Fisher; Pitman 1937), and
//! pairs whose signs are flipped. Every arrangement is walked through when
//! there are at most [`EXACT_ARRANGEMENTS`]; otherwise arrangements are drawn
//! and the observed one counts among them, (c + 1) / (B + 1), which keeps the
//! test valid (Phipson and Smyth 2010).

use rlxp_types::Stream;
use serde::Serialize;

use crate::aggregate::{iqm_cut, mean};
use crate::t_test::Alternative;

/// Up to this many arrangements are walked through: 10 against 10 has 184,756,
/// and 20 pairs have 1,048,576.
pub const EXACT_ARRANGEMENTS: u64 = 1 << 20;

/// What is compared between the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The means.
    Mean,
    /// The interquartile means.
    Iqm,
}

/// How many arrangements to draw where they are too many to walk through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// Their number.
    pub count: u64,
    /// What they derive from.
    pub seed: u64,
}

impl Default for Draws {
    fn default() -> Self {
        Self { count: 100_000, seed: 0 }
    }
}

/// A permutation test's answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PermutationTest {
    /// The observed difference.
    pub difference: f64,
    /// The p value.
    pub p: f64,
    /// Arrangements looked at.
    pub arrangements: u64,
    /// Whether these were all there are.
    pub exact: bool,
}

/// Tests the difference of `x` over `y` against every exchange of labels.
/// `None` when either is empty or holds a value that is not finite.
pub fn permutation_test(
    x: &[f64],
    y: &[f64],
    statistic: Statistic,
    alternative: Alternative,
    draws: Draws,
) -> Option<PermutationTest> {
    if x.is_empty() || y.is_empty() || x.iter().chain(y).any(|value| !value.is_finite()) {
        return None;
    }
    // Groups picked from a sorted pool come out sorted, so that trimming is a
    // matter of position.
    let mut pool: Vec<(f64, bool)> = x.iter().map(|value| (*value, true)).collect();
    pool.extend(y.iter().map(|value| (*value, false)));
    pool.sort_by(|left, right| left.0.total_cmp(&right.0));
    let values: Vec<f64> = pool.iter().map(|(value, _)| *value).collect();
    let observed_labels: Vec<bool> = pool.iter().map(|(_, of_x)| *of_x).collect();
    let mut compare = Comparison::new(statistic, x.len(), y.len());
    let difference = compare.difference(&values, &observed_labels);
    let judge = Judge::new(difference, &values, alternative);

    let total = combinations(values.len() as u64, x.len() as u64);
    if let Some(total) = total.filter(|total| *total <= EXACT_ARRANGEMENTS) {
        let mut extreme = 0u64;
        let mut labels = vec![false; values.len()];
        let mut chosen: Vec<usize> = (0..x.len()).collect();
        loop {
            labels.fill(false);
            chosen.iter().for_each(|index| labels[*index] = true);
            extreme += u64::from(judge.as_extreme(compare.difference(&values, &labels)));
            if !next_combination(&mut chosen, values.len()) {
                break;
            }
        }
        return Some(PermutationTest {
            difference,
            p: extreme as f64 / total as f64,
            arrangements: total,
            exact: true,
        });
    }
    let mut stream = Stream::new(draws.seed, "permutation", 0);
    let mut labels = observed_labels;
    let extreme: u64 = (0..draws.count)
        .map(|_| {
            stream.shuffle(&mut labels);
            u64::from(judge.as_extreme(compare.difference(&values, &labels)))
        })
        .sum();
    Some(drawn(difference, extreme, draws.count))
}

/// Tests the mean of paired differences against every flip of their signs.
/// `None` when there are none or one is not finite.
pub fn sign_flip_test(
    differences: &[f64],
    alternative: Alternative,
    draws: Draws,
) -> Option<PermutationTest> {
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let observed: f64 = differences.iter().sum();
    let difference = mean(differences);
    let judge = Judge::new(observed, differences, alternative);
    if differences.len() <= EXACT_ARRANGEMENTS.ilog2() as usize {
        let extreme = flips(differences, 0.0, &judge);
        let total = 1u64 << differences.len();
        return Some(PermutationTest {
            difference,
            p: extreme as f64 / total as f64,
            arrangements: total,
            exact: true,
        });
    }
    let mut stream = Stream::new(draws.seed, "sign_flip", 0);
    let mut extreme = 0;
    for _ in 0..draws.count {
        let mut bits = 0;
        let mut sum = 0.0;
        for (index, value) in differences.iter().enumerate() {
            if index % 32 == 0 {
                bits = stream.next_u32();
            }
            sum += if bits & 1 == 1 { *value } else { -value };
            bits >>= 1;
        }
        extreme += u64::from(judge.as_extreme(sum));
    }
    Some(drawn(difference, extreme, draws.count))
}

fn drawn(difference: f64, extreme: u64, count: u64) -> PermutationTest {
    let p = (extreme + 1) as f64 / (count + 1) as f64;
    PermutationTest { difference, p, arrangements: count, exact: false }
}

/// Counts the sign patterns of `rest` that end up as extreme as observed.
fn flips(rest: &[f64], sum: f64, judge: &Judge) -> u64 {
    match rest.split_first() {
        None => u64::from(judge.as_extreme(sum)),
        Some((first, rest)) => flips(rest, sum + first, judge) + flips(rest, sum - first, judge),
    }
}

/// Decides whether an arrangement is at least as extreme as what was seen.
struct Judge {
    observed: f64,
    /// Sums in another order differ in the last digits; arrangements that are
    /// equal must count as equal.
    slack: f64,
    alternative: Alternative,
}

impl Judge {
    fn new(observed: f64, values: &[f64], alternative: Alternative) -> Self {
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        Self { observed, slack: 1e-13 * largest * values.len() as f64, alternative }
    }

    fn as_extreme(&self, value: f64) -> bool {
        match self.alternative {
            Alternative::Greater => value >= self.observed - self.slack,
            Alternative::Less => value <= self.observed + self.slack,
            Alternative::TwoSided => value.abs() >= self.observed.abs() - self.slack,
        }
    }
}

/// The difference of two groups that are marked in a sorted pool.
struct Comparison {
    x: Trimmed,
    y: Trimmed,
}

struct Trimmed {
    cut: usize,
    end: usize,
}

impl Trimmed {
    fn new(statistic: Statistic, count: usize) -> Self {
        let cut = match statistic {
            Statistic::Mean => 0,
            Statistic::Iqm => iqm_cut(count),
        };
        Self { cut, end: count - cut }
    }
}

impl Comparison {
    fn new(statistic: Statistic, nx: usize, ny: usize) -> Self {
        Self { x: Trimmed::new(statistic, nx), y: Trimmed::new(statistic, ny) }
    }

    fn difference(&mut self, values: &[f64], labels: &[bool]) -> f64 {
        let (mut seen_x, mut seen_y) = (0, 0);
        let (mut sum_x, mut sum_y) = (0.0, 0.0);
        for (value, of_x) in values.iter().zip(labels) {
            let (seen, sum, trimmed) =
                if *of_x { (&mut seen_x, &mut sum_x, &self.x) } else { (&mut seen_y, &mut sum_y, &self.y) };
            if (trimmed.cut..trimmed.end).contains(seen) {
                *sum += value;
            }
            *seen += 1;
        }
        sum_x / (self.x.end - self.x.cut) as f64 - sum_y / (self.y.end - self.y.cut) as f64
    }
}

/// The number of ways to choose; `None` when it doesn't fit.
fn combinations(n: u64, k: u64) -> Option<u64> {
    (0..k.min(n - k)).try_fold(1u64, |ways, i| Some(ways.checked_mul(n - i)? / (i + 1)))
}

/// Moves to the next choice in lexicographic order; false after the last.
fn next_combination(chosen: &mut [usize], n: usize) -> bool {
    let k = chosen.len();
    let Some(place) = (0..k).rev().find(|place| chosen[*place] < n - k + place) else {
        return false;
    };
    chosen[place] += 1;
    for next in place + 1..k {
        chosen[next] = chosen[next - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [10.0, 12.0, 9.0, 11.0, 13.0];
    const B: [f64; 5] = [8.0, 9.0, 7.0, 10.0, 9.0];

    fn test(statistic: Statistic, alternative: Alternative) -> PermutationTest {
        permutation_test(&A, &B, statistic, alternative, Draws::default()).unwrap()
    }

    #[test]
    fn the_reference_values_hold() {
        let means = test(Statistic::Mean, Alternative::Greater);
        assert_eq!((means.p, means.arrangements, means.exact), (7.0 / 252.0, 252, true));
        assert!((means.difference - 2.4).abs() < 1e-12);
        let differences: Vec<f64> = A.iter().zip(&B).map(|(a, b)| a - b).collect();
        let flips = sign_flip_test(&differences, Alternative::Greater, Draws::default()).unwrap();
        assert_eq!((flips.p, flips.exact), (1.0 / 32.0, true));
        assert_eq!(
            sign_flip_test(&differences, Alternative::TwoSided, Draws::default()).unwrap().p,
            2.0 / 32.0
        );
        assert_eq!(sign_flip_test(&differences, Alternative::Less, Draws::default()).unwrap().p, 1.0);
    }

    #[test]
    fn interquartile_means_compare_what_the_definition_says() {
        let got = test(Statistic::Iqm, Alternative::Greater);
        let expected = crate::aggregate::iqm(&A) - crate::aggregate::iqm(&B);
        assert!((got.difference - expected).abs() < 1e-12);
        // The same count from a separate enumeration over bit masks.
        let pool: Vec<f64> = A.iter().chain(&B).copied().collect();
        let mut extreme = 0;
        for mask in (0u32..1 << 10).filter(|mask| mask.count_ones() == 5) {
            let pick =
                |bit| -> Vec<f64> { (0..10).filter(|i| mask >> i & 1 == bit).map(|i| pool[i]).collect() };
            let value = crate::aggregate::iqm(&pick(1)) - crate::aggregate::iqm(&pick(0));
            extreme += i32::from(value >= expected - 1e-9);
        }
        assert_eq!(got.p, f64::from(extreme) / 252.0);
    }

    #[test]
    fn drawing_agrees_with_walking() {
        let x: Vec<f64> = (0..12).map(|i| f64::from(i * 37 % 23)).collect();
        let y: Vec<f64> = (0..12).map(|i| f64::from(i * 29 % 19)).collect();
        let draws = Draws { count: 40_000, seed: 3 };
        for statistic in [Statistic::Mean, Statistic::Iqm] {
            let drawn = permutation_test(&x, &y, statistic, Alternative::Greater, draws).unwrap();
            assert!(!drawn.exact);
            let again = permutation_test(&x, &y, statistic, Alternative::Greater, draws).unwrap();
            assert_eq!(drawn, again);
            let fewer = permutation_test(&x[..9], &y[..9], statistic, Alternative::Greater, draws).unwrap();
            assert!(fewer.exact && fewer.arrangements == 48_620);
        }
        // Twenty-one equal pairs: every sum of signs is binomial.
        let flips = sign_flip_test(&[1.0; 21], Alternative::Greater, draws).unwrap();
        assert_eq!(flips.p, 1.0 / 40_001.0);
        let mut mixed = [1.0; 21];
        mixed[..8].fill(-1.0);
        let drawn = sign_flip_test(&mixed, Alternative::Greater, draws).unwrap();
        // P(at least 13 heads of 21) = 0.1916552...
        assert!((drawn.p - 0.191_655_2).abs() < 0.006, "{}", drawn.p);
    }

    #[test]
    fn order_of_the_runs_does_not_matter_and_ends_do() {
        let mut turned = A;
        turned.reverse();
        let again = permutation_test(&turned, &B, Statistic::Mean, Alternative::Greater, Draws::default());
        assert_eq!(again.unwrap().p, 7.0 / 252.0);
        assert_eq!(sign_flip_test(&[], Alternative::Greater, Draws::default()), None);
        let nan = permutation_test(&[f64::NAN], &B, Statistic::Mean, Alternative::Less, Draws::default());
        assert_eq!(nan, None);
    }
}
