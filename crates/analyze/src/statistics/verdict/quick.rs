//! The same decision without its evidence, for simulations that make it tens
//! of thousands of times: no estimate is searched for where counting suffices.

use super::MinimumEffect;
use super::difference::Difference;
use super::scored::{NORMAL_DISTANCE, close_pairs, spread};
use crate::statistics::aggregate::{iqm, mean};
use crate::statistics::rank_test::rounding_tolerance;
use crate::statistics::shift::{differences_up_to, median_difference};

/// Two groups in rising order, more is better, no failed runs.
#[derive(Clone, Copy)]
pub(crate) struct SortedPair<'s> {
    pub(crate) a: &'s [f64],
    pub(crate) b: &'s [f64],
}

impl SortedPair<'_> {
    /// In how many pairs b beats a, ties half, twice; and whether a score of one group equals one of the other.
    pub(super) fn doubled_wins(self) -> (u64, bool) {
        let (mut below, mut up_to, mut total, mut ties) = (0, 0, 0, false);
        for value in self.b {
            while below < self.a.len() && self.a[below] < *value {
                below += 1;
            }
            up_to = up_to.max(below);
            while up_to < self.a.len() && self.a[up_to] <= *value {
                up_to += 1;
            }
            total += (below + up_to) as u64;
            ties |= up_to > below;
        }
        (total, ties)
    }

    /// The wins in standard deviations from even, ties accounted for; 0 where
    /// all scores are equal.
    pub(crate) fn z(self) -> f64 {
        let (m, n) = (self.a.len() as f64, self.b.len() as f64);
        let total = m + n;
        let (doubled_wins, across) = self.doubled_wins();
        let variance = m * n / 12.0 * (total + 1.0 - self.ties(across) / (total * (total - 1.0)));
        let distance = doubled_wins as f64 / 2.0 - m * n / 2.0;
        if variance > 0.0 { distance / variance.sqrt() } else { 0.0 }
    }

    /// The sum of t³ - t over groups of t tied scores; `across` says whether the groups have one in common.
    fn ties(self, across: bool) -> f64 {
        let repeats = |group: &[f64]| group.windows(2).any(|pair| pair[0] == pair[1]);
        if !across && !repeats(self.a) && !repeats(self.b) {
            return 0.0;
        }
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while i < self.a.len() || j < self.b.len() {
            let next = match (self.a.get(i), self.b.get(j)) {
                (Some(a), Some(b)) => a.min(*b),
                (Some(a), None) => *a,
                (None, Some(b)) => *b,
                (None, None) => break,
            };
            let start = i + j;
            while i < self.a.len() && self.a[i] == next {
                i += 1;
            }
            while j < self.b.len() && self.b[j] == next {
                j += 1;
            }
            let tied = (i + j - start) as f64;
            sum += tied * tied * tied - tied;
        }
        sum
    }
}

/// Whether a difference matters and nothing speaks against it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    pub(crate) minimum_effect: MinimumEffect,
}

impl Gate {
    /// Whether b may be called better than a, if the test agrees.
    pub(crate) fn admits(self, pair: SortedPair<'_>) -> bool {
        let mean = mean(pair.b) - mean(pair.a);
        let slack = rounding_tolerance(pair.a, pair.b);
        if mean < -slack {
            return false;
        }
        if self.surely_enough(pair, mean) {
            return true;
        }
        let least = self.minimum_effect.size(spread(&[pair.a, pair.b]), iqm(pair.a));
        let slack = slack + 1e-9 * least.unwrap_or(0.0);
        let typical = match least {
            // The median difference reaches the least exactly when fewer than half are below it.
            Some(least) if least > 0.0 && !self.nearly(pair, least - slack) => f64::NEG_INFINITY,
            _ => median_difference(pair.b, pair.a),
        };
        Difference { typical, mean, failed_share: 0.0 }.basis(least, slack).is_some()
    }

    /// A quick yes: the mean reaches the least effect, judged by counting the
    /// runs of a group that are close to each other.
    fn surely_enough(self, pair: SortedPair<'_>, mean: f64) -> bool {
        match self.minimum_effect {
            MinimumEffect::Absolute(least) => mean >= least,
            MinimumEffect::Spreads(spreads) if spreads > 0.0 && mean > 0.0 => {
                let pairs = |n: usize| n as u64 * (n as u64).saturating_sub(1) / 2;
                let all = pairs(pair.a.len()) + pairs(pair.b.len());
                let at = mean / spreads * NORMAL_DISTANCE;
                let (close, same) = (|at: f64| close_pairs(pair.a, at) + close_pairs(pair.b, at), 0.0);
                // With most pairs tied the spread is measured otherwise.
                all > 0 && close(at) > all / 2 && close(same) <= (all - 1) / 2
            }
            _ => false,
        }
    }

    /// Whether the median difference can be at least `at`.
    fn nearly(self, pair: SortedPair<'_>, at: f64) -> bool {
        let pairs = pair.a.len() as u64 * pair.b.len() as u64;
        2 * differences_up_to(pair.b, pair.a, at) <= pairs + 2
    }
}
