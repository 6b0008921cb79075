//! The two groups as they are judged: turned so that more is better, failed
//! runs scored, in an order that doesn't depend on the order of the seeds.

use super::difference::Difference;
use super::{Direction, GroupSummary, Options};
use crate::statistics::aggregate::{iqm, mean, variance};
use crate::statistics::shift::kth;

/// The median distance of two standard normal numbers.
pub(super) const NORMAL_DISTANCE: f64 = 0.953_872_552_408_94;

/// Their mean distance, 2/√π.
const NORMAL_MEAN_DISTANCE: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// What failed runs are scored with, in the scores' own sense.
#[derive(Clone, Copy, Default)]
pub(crate) struct FailureScore {
    /// Exactly this.
    pub(crate) fixed: Option<f64>,
    /// Otherwise at most this, and worse than every finished run.
    pub(crate) limit: Option<f64>,
}

impl FailureScore {
    /// The score with more being better; `worst` is worse than every finished run.
    fn resolve(self, sign: f64, worst: impl FnOnce() -> f64) -> f64 {
        match (self.fixed, self.limit) {
            (Some(score), _) => sign * score,
            (None, Some(limit)) => worst().min(sign * limit),
            (None, None) => worst(),
        }
    }
}

/// Two groups in which more is better and every score is finite.
pub(super) struct Scored {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) failed_a: u64,
    pub(super) failed_b: u64,
    /// In the scores' own sense, where a run failed.
    pub(super) failure_score: Option<f64>,
    pub(super) spread: f64,
    sign: f64,
}

impl Scored {
    pub(super) fn new(
        a: &[f64],
        b: &[f64],
        direction: Direction,
        paired: bool,
        failure: FailureScore,
    ) -> Self {
        let sign = direction.sign();
        let turn = |scores: &[f64]| -> Vec<f64> { scores.iter().map(|score| sign * score).collect() };
        let (mut a, mut b) = (turn(a), turn(b));
        let spread = spread(&[&a, &b]);
        let failed = |group: &[f64]| group.iter().filter(|score| !score.is_finite()).count() as u64;
        let (failed_a, failed_b) = (failed(&a), failed(&b));
        let failure = failure.resolve(sign, || worse_than_all(&[&a, &b], spread));
        for score in a.iter_mut().chain(&mut b).filter(|score| !score.is_finite()) {
            *score = failure;
        }
        if paired {
            let mut pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
            pairs.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)));
            (a, b) = pairs.into_iter().unzip();
        } else {
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
        }
        let failure_score = (failed_a + failed_b > 0).then_some(sign * failure);
        Self { a, b, failed_a, failed_b, failure_score, spread, sign }
    }

    pub(super) fn n_a(&self) -> u64 {
        self.a.len() as u64
    }

    pub(super) fn n_b(&self) -> u64 {
        self.b.len() as u64
    }

    /// B minus A, with its typical difference as estimated.
    pub(super) fn difference(&self, typical: f64) -> Difference {
        let share = |failed: u64, runs: u64| failed as f64 / runs.max(1) as f64;
        let failed_share = share(self.failed_b, self.n_b()) - share(self.failed_a, self.n_a());
        Difference { typical, mean: mean(&self.b) - mean(&self.a), failed_share }
    }

    pub(super) fn differences(&self) -> Vec<f64> {
        self.b.iter().zip(&self.a).map(|(b, a)| b - a).collect()
    }

    /// A number in the scores' own sense again.
    pub(super) fn back(&self, value: f64) -> f64 {
        // Adding zero turns -0 into 0, which reads better.
        self.sign * value + 0.0
    }

    /// An interval in the scores' own sense again.
    pub(super) fn interval_back(&self, low: Option<f64>, high: Option<f64>) -> (Option<f64>, Option<f64>) {
        let (low, high) = (low.map(|end| self.back(end)), high.map(|end| self.back(end)));
        if self.sign < 0.0 { (high, low) } else { (low, high) }
    }

    pub(super) fn arm_a(&self) -> GroupSummary {
        self.group(&self.a, self.failed_a)
    }

    pub(super) fn arm_b(&self) -> GroupSummary {
        self.group(&self.b, self.failed_b)
    }

    fn group(&self, scores: &[f64], failed: u64) -> GroupSummary {
        let finite = |value: f64| value.is_finite().then(|| self.back(value));
        let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (lowest, highest) = self.interval_back(
            Some(low).filter(|low| low.is_finite()),
            Some(high).filter(|high| high.is_finite()),
        );
        let deviation = Some(variance(scores).sqrt()).filter(|deviation| deviation.is_finite());
        let n = scores.len() as u64;
        GroupSummary {
            n,
            failed,
            mean: finite(mean(scores)),
            iqm: finite(iqm(scores)),
            deviation,
            lowest,
            highest,
        }
    }
}

/// Many groups with their failed runs scored alike, in the scores' own sense.
pub(crate) fn scored_groups(groups: &[&[f64]], options: &Options) -> Vec<Vec<f64>> {
    let sign = options.direction.sign();
    let turned: Vec<Vec<f64>> =
        groups.iter().map(|scores| scores.iter().map(|score| sign * score).collect()).collect();
    let turned: Vec<&[f64]> = turned.iter().map(Vec::as_slice).collect();
    let spread = spread(groups);
    let failure = options.failure().resolve(sign, || worse_than_all(&turned, spread)) * sign;
    let scored = |scores: &&[f64]| -> Vec<f64> {
        scores.iter().map(|score| if score.is_finite() { *score } else { failure }).collect()
    };
    groups.iter().map(scored).collect()
}

/// The score below the worst finite one by a spread.
///
/// The distance must not grow when one group moves away from the other, or a
/// group that gets better would be punished more for its failed runs; so it is
/// measured within the groups as long as they have any width.
fn worse_than_all(groups: &[&[f64]], spread: f64) -> f64 {
    let ends = |scores: &mut dyn Iterator<Item = f64>| {
        let finite = scores.filter(|score| score.is_finite());
        finite
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)))
    };
    let (worst, best) = ends(&mut groups.iter().flat_map(|group| group.iter().copied()));
    if worst > best {
        return 0.0;
    }
    let distance = [spread, best - worst].into_iter().find(|distance| *distance > 0.0);
    (worst - distance.unwrap_or(1.0)).max(f64::MIN)
}

/// The median distance between two finite runs of the same group, over all
/// groups, as a standard deviation; the mean distance where most pairs score
/// the same; 0 where no group has two different scores.
pub(super) fn spread(groups: &[&[f64]]) -> f64 {
    let sorted = |group: &&[f64]| {
        let mut finite: Vec<f64> = group.iter().copied().filter(|score| score.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        finite
    };
    let groups: Vec<Vec<f64>> = groups.iter().map(sorted).collect();
    let pairs: u64 =
        groups.iter().map(|group| group.len() as u64 * (group.len() as u64).saturating_sub(1) / 2).sum();
    if pairs == 0 {
        return 0.0;
    }
    let within = |at: f64| groups.iter().map(|group| close_pairs(group, at)).sum();
    let median = (kth(pairs.div_ceil(2), &within) + kth(pairs / 2 + 1, &within)) / 2.0;
    if median > 0.0 {
        return median / NORMAL_DISTANCE;
    }
    let total: f64 = groups.iter().map(|group| distances(group)).sum();
    total / pairs as f64 / NORMAL_MEAN_DISTANCE
}

/// The sum of the distances of all pairs of the rising values.
fn distances(sorted: &[f64]) -> f64 {
    let others = sorted.len().saturating_sub(1) as f64;
    // The i-th value is the larger one of i pairs and the smaller one of the
    // rest. Measured from the first, so that equal values give exactly zero.
    let times = |index: usize| 2.0 * index as f64 - others;
    sorted.iter().enumerate().map(|(index, value)| (value - sorted[0]) * times(index)).sum()
}

/// How many pairs of the rising values are at most `at` apart.
pub(super) fn close_pairs(sorted: &[f64], at: f64) -> u64 {
    let mut first = 0;
    let mut total = 0;
    for (index, value) in sorted.iter().enumerate() {
        while first < index && value - sorted[first] > at {
            first += 1;
        }
        total += (index - first) as u64;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlxp_types::Stream;

    #[test]
    fn the_spread_of_normal_scores_is_their_standard_deviation() {
        let mut stream = Stream::new(2, "test", 0);
        let mut draw =
            |scale: f64| -> Vec<f64> { (0..3000).map(|_| 7.0 + scale * stream.normal_pair().0).collect() };
        let (a, b) = (draw(2.0), draw(2.0));
        assert!((spread(&[&a, &b]) - 2.0).abs() < 0.06, "{}", spread(&[&a, &b]));
        assert_eq!(spread(&[&[1.0], &[]]), 0.0);
        // Pairs of one group only: 1, 2, 3 and none in the other.
        assert_eq!(spread(&[&[0.0, 1.0, 3.0], &[5.0]]), 2.0 / NORMAL_DISTANCE);
        // Most runs the same: the mean distance, 4 pairs of 10 at 1.
        let mostly = spread(&[&[4.0, 4.0, 4.0, 4.0, 5.0]]);
        assert!((mostly - 0.4 / NORMAL_MEAN_DISTANCE).abs() < 1e-12);
        assert_eq!(spread(&[&[0.1; 9], &[0.3; 9]]), 0.0);
    }

    #[test]
    fn failed_runs_are_below_everything_in_either_direction() {
        // One pair in a group, a distance of 1.
        let spread = 1.0 / NORMAL_DISTANCE;
        let scored =
            Scored::new(&[1.0, f64::NAN], &[3.0, 2.0], Direction::Higher, false, FailureScore::default());
        assert_eq!(scored.failure_score, Some(1.0 - spread));
        assert_eq!(scored.a, [1.0 - spread, 1.0]);
        let scored =
            Scored::new(&[1.0, f64::INFINITY], &[3.0, 2.0], Direction::Lower, false, FailureScore::default());
        assert_eq!(scored.failure_score, Some(3.0 + spread));
        assert_eq!((scored.failed_a, scored.failed_b), (1, 0));
        // Without spread: the distance of the groups, then 1.
        for (a, b, expected) in
            [(&[f64::NAN, 4.0, 4.0][..], &[6.0][..], 2.0), (&[f64::NAN], &[4.0, 4.0], 3.0)]
        {
            let scored = Scored::new(a, b, Direction::Higher, false, FailureScore::default());
            assert_eq!(scored.failure_score, Some(expected), "{a:?} {b:?}");
        }
        for (failure, expected) in [
            (FailureScore { fixed: Some(-9.0), limit: Some(-20.0) }, -9.0),
            (FailureScore { fixed: None, limit: Some(-20.0) }, -20.0),
            (FailureScore { fixed: None, limit: Some(20.0) }, 3.0),
        ] {
            let scored = Scored::new(&[f64::NAN], &[4.0], Direction::Higher, false, failure);
            assert_eq!(scored.failure_score, Some(expected));
        }
        let limit = FailureScore { fixed: None, limit: Some(20.0) };
        let scored = Scored::new(&[f64::NAN], &[4.0], Direction::Lower, false, limit);
        assert_eq!(scored.failure_score, Some(20.0));
        let scored = Scored::new(&[f64::NAN], &[f64::NAN], Direction::Higher, false, FailureScore::default());
        assert_eq!(scored.a, scored.b);
    }
}
