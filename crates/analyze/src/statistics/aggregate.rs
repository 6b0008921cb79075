//! Aggregates of a matrix of final scores, runs × tasks: mean, median,
//! interquartile mean and probability of improvement, as defined by Agarwal et al. 2021 ("Deep reinforcement
//! learning at the edge of the statistical precipice") and computed by their
//! library rliable, integer cut of the interquartile mean included.

use serde::Serialize;

/// Scores of several runs on one or more tasks. Tasks may have different
/// numbers of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    tasks: Vec<Vec<f64>>,
}

impl Scores {
    /// Scores given as one list of runs per task. Empty tasks are left out:
    /// they say nothing.
    pub fn from_tasks(tasks: Vec<Vec<f64>>) -> Self {
        Self { tasks: tasks.into_iter().filter(|runs| !runs.is_empty()).collect() }
    }

    /// Scores given as one row per run with a column per task. A row that is
    /// shorter than others lacks the last tasks.
    pub fn from_runs(rows: &[Vec<f64>]) -> Self {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let column = |task| rows.iter().filter_map(|row| row.get(task).copied()).collect();
        Self::from_tasks((0..columns).map(column).collect())
    }

    /// The scores of runs on a single task.
    pub fn single(runs: &[f64]) -> Self {
        Self::from_tasks(vec![runs.to_vec()])
    }

    /// The runs' scores, task by task.
    pub fn tasks(&self) -> &[Vec<f64>] {
        &self.tasks
    }

    /// The total number of scores.
    pub fn count(&self) -> usize {
        self.tasks.iter().map(Vec::len).sum()
    }

    fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.tasks.iter().flatten().copied()
    }

    /// The mean over tasks of the mean over runs; NaN without scores.
    pub fn mean(&self) -> f64 {
        mean(&self.task_means())
    }

    /// The median over tasks of the mean over runs; NaN without scores.
    pub fn median(&self) -> f64 {
        median(&self.task_means())
    }

    /// The interquartile mean of all scores together; NaN without scores.
    pub fn iqm(&self) -> f64 {
        iqm(&self.all().collect::<Vec<_>>())
    }

    /// The chance that a run of `self` beats a run of `other`, averaged over
    /// the tasks; ties count half. `None` when the numbers of tasks differ.
    pub fn probability_of_improvement(&self, other: &Self) -> Option<f64> {
        if self.tasks.len() != other.tasks.len() || self.tasks.is_empty() {
            return None;
        }
        let pairs = self.tasks.iter().zip(&other.tasks);
        let chances: Vec<f64> = pairs.map(|(own, others)| probability_of_improvement(own, others)).collect();
        Some(mean(&chances))
    }

    fn task_means(&self) -> Vec<f64> {
        self.tasks.iter().map(|runs| mean(runs)).collect()
    }
}

/// The chance that a value of `x` exceeds one of `y`, ties counted half: ½
/// for identical lists, NaN when either is empty.
pub fn probability_of_improvement(x: &[f64], y: &[f64]) -> f64 {
    pairwise_wins(x, y) / (x.len() as f64 * y.len() as f64)
}

/// How often a value of `x` exceeds one of `y`, ties counted half: U.
pub(crate) fn pairwise_wins(x: &[f64], y: &[f64]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let wins = |value: f64| {
        let below = sorted.partition_point(|other| *other < value);
        let up_to = sorted.partition_point(|other| *other <= value);
        (below + up_to) as f64 / 2.0
    };
    x.iter().map(|value| wins(*value)).sum()
}

/// The arithmetic mean; NaN when empty.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance with n - 1 in the denominator; NaN below two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The median; the mean of the middle two where there are two; NaN when empty.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The median of values in rising order.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// The interquartile mean: the mean of what is left after a quarter of the
/// values, rounded down to a whole number, is cut off at each end.
pub fn iqm(values: &[f64]) -> f64 {
    let mut kept = values.to_vec();
    iqm_in_place(&mut kept)
}

/// `iqm` that reorders its input. Selection finds the cuts in linear time.
pub(crate) fn iqm_in_place(values: &mut [f64]) -> f64 {
    let cut = iqm_cut(values.len());
    if cut > 0 {
        let count = values.len();
        values.select_nth_unstable_by(cut - 1, f64::total_cmp);
        values[cut..].select_nth_unstable_by(count - 2 * cut, f64::total_cmp);
    }
    mean(&values[cut..values.len() - cut])
}

/// How many of `count` values the interquartile mean drops at each end.
pub(crate) fn iqm_cut(count: usize) -> usize {
    count / 4
}

/// The value at fraction `q` of sorted values, on the line between the
/// neighbours (Hyndman and Fan's type 7, NumPy's default).
pub fn percentile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    // Not a weighted sum: equal neighbours must give exactly themselves.
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn x() -> Scores {
        Scores::from_runs(&[vec![1.0, 2.0], vec![2.0, 2.0], vec![1.0, 1.0], vec![2.0, 1.0]])
    }

    fn y() -> Scores {
        Scores::from_runs(&[vec![1.0, 1.0], vec![2.0, 2.0], vec![3.0, 3.0]])
    }

    #[test]
    fn the_values_of_rliables_own_tests_hold() {
        for (scores, expected) in [(x(), 1.5), (y(), 2.0)] {
            assert_eq!(scores.mean(), expected);
            assert_eq!(scores.median(), expected);
            assert_eq!(scores.iqm(), expected);
        }
        assert!((x().probability_of_improvement(&y()).unwrap() - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(x().probability_of_improvement(&x()), Some(0.5));
        assert_eq!(x().probability_of_improvement(&Scores::single(&[1.0])), None);
    }

    #[test]
    fn the_interquartile_mean_cuts_whole_values() {
        let eight = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0];
        let ten: Vec<f64> = (0..10).map(f64::from).collect();
        for (values, expected) in [
            (&[1.0, 2.0, 3.0][..], 2.0),
            (&[1.0, 2.0, 3.0, 4.0], 2.5),
            (&[1.0, 2.0, 3.0, 4.0, 100.0], 3.0),
            (&eight, 3.5),
            (&ten, 4.5),
        ] {
            assert_eq!(iqm(values), expected, "{values:?}");
        }
        let published = [0.81, 0.92, 0.85, 0.40, 0.88, 0.95, 0.79, 0.90, 0.86, 0.91];
        assert!((mean(&published) - 0.827).abs() < 1e-12);
        assert!((iqm(&published) - 0.868_333).abs() < 5e-7);
    }

    #[test]
    fn nothing_is_not_a_number_and_never_a_panic() {
        let none = Scores::from_tasks(vec![vec![], vec![]]);
        assert!(none.mean().is_nan() && none.median().is_nan() && none.iqm().is_nan());
        assert!(variance(&[1.0]).is_nan());
        assert_eq!(none.probability_of_improvement(&none), None);
    }

    #[test]
    fn percentiles_lie_on_the_line_between_neighbours() {
        let sorted = [1.0, 2.0, 4.0];
        assert_eq!(percentile_of_sorted(&sorted, 0.25), 1.5);
        assert_eq!(percentile_of_sorted(&sorted, 0.75), 3.0);
        assert_eq!(percentile_of_sorted(&sorted, 1.0), 4.0);
    }

    proptest! {
        #[test]
        fn the_interquartile_mean_equals_its_definition(
            values in proptest::collection::vec(-1e3..1e3f64, 1..60)
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let cut = values.len() / 4;
            let expected = mean(&sorted[cut..values.len() - cut]);
            prop_assert!((iqm(&values) - expected).abs() < 1e-9);
        }

        #[test]
        fn improvement_and_its_reverse_add_to_one(
            x in proptest::collection::vec(-5i32..5, 1..20),
            y in proptest::collection::vec(-5i32..5, 1..20),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            let forth = probability_of_improvement(&x, &y);
            prop_assert!((forth + probability_of_improvement(&y, &x) - 1.0).abs() < 1e-12);
            let counted = x.iter().flat_map(|a| y.iter().map(move |b| {
                if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 }
            })).sum::<f64>() / (x.len() * y.len()) as f64;
            prop_assert!((forth - counted).abs() < 1e-12);
        }
    }
}
