//! What rules compute from a series: its level, its best, its noise, its slope, and for how long something held.
//! Everything ignores NaN and infinite values and takes bounded time, however long the series.

use super::evidence::{Evaluation, Series};
use super::rules::RuleSet;
use crate::statistics::aggregate::{mean, median, median_of_sorted};
use crate::statistics::trend::{Trend, theil_sen};

pub(crate) use crate::statistics::rank_correlation::rank_correlation;

/// A normal deviation is this many median absolute deviations.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Most points for a slope: all pairs of more would take longer than reading the file.
const SLOPE_POINTS: usize = 200;

/// A point: training steps done, and the value.
pub(crate) type Point = (u64, f64);

/// The finite points of a series.
pub(crate) fn finite(series: &Series<'_>) -> Vec<Point> {
    let points = series.steps.iter().copied().zip(series.values.iter().copied());
    points.filter(|(_, value)| value.is_finite()).collect()
}

pub(crate) fn values(points: &[Point]) -> Vec<f64> {
    points.iter().map(|(_, value)| *value).collect()
}

/// First and last step of points; zeros if there are no points.
pub(crate) fn span(points: &[Point]) -> (u64, u64) {
    (points.first().map_or(0, |point| point.0), points.last().map_or(0, |point| point.0))
}

/// The points whose steps are in the range.
pub(crate) fn within(points: &[Point], from: f64, to: f64) -> &[Point] {
    let begin = points.partition_point(|(step, _)| (*step as f64) < from);
    let end = points.partition_point(|(step, _)| *step as f64 <= to);
    &points[begin.min(end)..end]
}

/// The last share of points, but at least `minimum` if there are as many.
pub(crate) fn tail(points: &[Point], share: f64, minimum: usize) -> &[Point] {
    let count = ((points.len() as f64 * share).ceil() as usize).max(minimum).min(points.len());
    &points[points.len() - count..]
}

/// The longest run of consecutive points that all satisfy `holds`.
pub(crate) fn longest_stretch(points: &[Point], holds: impl Fn(&Point) -> bool) -> &[Point] {
    let (mut best, mut begin) = (0..0, 0);
    for (index, point) in points.iter().enumerate() {
        if !holds(point) {
            begin = index + 1;
        } else if index + 1 - begin > best.len() {
            best = begin..index + 1;
        }
    }
    &points[best]
}

/// The first `among` consecutive points of which at least `repeats` satisfy `holds`; all points are considered if
/// there are fewer than `among`.
pub(crate) fn repeated(
    points: &[Point],
    repeats: usize,
    among: usize,
    holds: impl Fn(&Point) -> bool,
) -> Option<&[Point]> {
    let among = among.clamp(1, points.len().max(1));
    points.windows(among).find(|window| window.iter().filter(|point| holds(point)).count() >= repeats.max(1))
}

/// The line through points by Theil and Sen, x in steps.
pub(crate) fn line(points: &[Point]) -> Option<Trend> {
    let blocks = points.len().min(SLOPE_POINTS);
    let reduced: Vec<(f64, f64)> = (0..blocks)
        .map(|block| {
            let part = &points[block * points.len() / blocks..(block + 1) * points.len() / blocks];
            let steps: Vec<f64> = part.iter().map(|(step, _)| *step as f64).collect();
            (mean(&steps), median(&values(part)))
        })
        .collect();
    theil_sen(&reduced)
}

/// The change along the line through points, and the noise around it.
pub(crate) fn rise(points: &[Point]) -> Option<(f64, f64)> {
    let line = line(points)?;
    let (from, to) = span(points);
    let residuals: Vec<f64> =
        points.iter().map(|(step, value)| value - line.intercept - line.slope * *step as f64).collect();
    Some((line.slope * (to as f64 - from as f64), deviation(&residuals)))
}

/// The standard deviation, estimated from the median absolute deviation; 0 if empty.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    MAD_TO_SIGMA * median(&distances)
}

/// The median of up to `count` values before each point; NaN before the first.
pub(crate) fn trailing_median(points: &[Point], count: usize) -> Vec<f64> {
    let mut window: Vec<f64> = Vec::with_capacity(count + 1);
    let mut medians = Vec::with_capacity(points.len());
    for (index, (_, value)) in points.iter().enumerate() {
        medians.push(median_of_sorted(&window));
        let place = window.partition_point(|other| other < value);
        window.insert(place, *value);
        if index >= count {
            let leaving = points[index - count].1;
            window.remove(window.partition_point(|other| *other < leaving));
        }
    }
    medians
}

/// A learning curve and its smoothed form.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// The metric that it shows.
    pub(crate) metric: &'static str,
    /// The finite points.
    pub(crate) points: Vec<Point>,
    /// Mean of the neighbours of each point.
    pub(crate) smoothed: Vec<f64>,
    /// Deviation around the smoothed form.
    pub(crate) noise: f64,
    /// Neighbours on either side that a smoothed value is the mean of.
    reach: usize,
}

impl Curve {
    /// The curve of points; `None` if there are fewer than the rules require for a curve.
    pub(crate) fn new(metric: &'static str, points: Vec<Point>, rules: &RuleSet) -> Option<Self> {
        if points.len() < rules.common("curve_points") as usize || points.is_empty() {
            return None;
        }
        let share = rules.common("smoothing_share");
        let width =
            ((points.len() as f64 * share).round() as usize).max(rules.common("smoothing_points") as usize);
        let reach = width / 2;
        let smoothed = smooth(&values(&points), reach);
        let residuals: Vec<f64> =
            points.iter().zip(&smoothed).map(|((_, value), smoothed)| value - smoothed).collect();
        Some(Self { metric, noise: deviation(&residuals), smoothed, points, reach })
    }

    /// The curve of these evaluations: its noise is at least the standard error of a single evaluation, however
    /// smooth the curve is.
    pub(crate) fn with_noise_of(mut self, evaluations: &[Evaluation]) -> Self {
        let errors: Vec<f64> = evaluations.iter().map(Evaluation::standard_error).collect();
        let usual = median(&errors);
        if usual > self.noise {
            self.noise = usual;
        }
        self
    }

    /// Level at the beginning.
    pub(crate) fn first(&self) -> f64 {
        self.smoothed[0]
    }

    /// Level at the end.
    pub(crate) fn end(&self) -> f64 {
        self.smoothed[self.smoothed.len() - 1]
    }

    /// The points that [`Self::end`] is the mean of.
    pub(crate) fn end_points(&self) -> &[Point] {
        &self.points[self.points.len() - (self.reach + 1).min(self.points.len())..]
    }

    /// What [`Self::end`] is the mean of, for a sentence: `over its last 2 evaluations`.
    pub(crate) fn over_last(&self) -> String {
        over_last(self.metric, self.end_points().len())
    }

    /// What a smoothed value is the mean of, for a sentence: `mean of 3 evaluations`.
    pub(crate) fn mean_of(&self) -> String {
        format!("mean of {} {}", 2 * self.reach + 1, points_of(self.metric))
    }

    /// Whether the return has clearly risen between two steps; `None` if it has fewer than two points there.
    pub(crate) fn rose(&self, (from, to): (u64, u64), noise_times: f64) -> Option<bool> {
        let begin = self.points.partition_point(|(step, _)| *step < from);
        let end = self.points.partition_point(|(step, _)| *step <= to);
        let part = self.smoothed.get(begin..end).filter(|part| part.len() > 1)?;
        Some(part[part.len() - 1] - part[0] > noise_times * self.noise)
    }

    /// Whether a sentence may say that the return has risen between two steps. Stricter than [`Self::rose`], whose
    /// noise is 0 where most values are the same: the difference must exceed the spread of all points, and the line
    /// through them must rise too.
    pub(crate) fn has_risen(&self, range: (u64, u64), noise_times: f64) -> bool {
        let part = within(&self.points, range.0 as f64, range.1 as f64);
        let (from, to) = span(part);
        let begin = self.points.partition_point(|(step, _)| *step < from);
        let smoothed = &self.smoothed[begin..begin + part.len()];
        let residuals: Vec<f64> =
            part.iter().zip(smoothed).map(|((_, value), smoothed)| (value - smoothed).powi(2)).collect();
        let spread = mean(&residuals).sqrt().max(self.noise);
        let line_rises = rise(part).is_some_and(|(up, _)| up > 0.0);
        to > from && line_rises && smoothed[smoothed.len() - 1] - smoothed[0] > noise_times * spread
    }

    /// The best level.
    pub(crate) fn best(&self) -> f64 {
        self.smoothed.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// First and last step.
    pub(crate) fn span(&self) -> (u64, u64) {
        span(&self.points)
    }
}

/// `over its last 2 evaluations`, or points of another metric.
pub(crate) fn over_last(metric: &str, count: usize) -> String {
    match (count, points_of(metric)) {
        (1, points) => format!("at its last {}", points.trim_end_matches('s')),
        (count, points) => format!("over its last {count} {points}"),
    }
}

fn points_of(metric: &str) -> &'static str {
    if metric.starts_with("eval.") { "evaluations" } else { "points" }
}

/// The mean of up to `reach` neighbours on either side.
fn smooth(values: &[f64], reach: usize) -> Vec<f64> {
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push(0.0);
    // Sums of differences to the first value, so that a constant stays exact.
    let base = values[0];
    for value in values {
        sums.push(sums[sums.len() - 1] + (value - base));
    }
    (0..values.len())
        .map(|index| {
            let (from, to) = (index.saturating_sub(reach), (index + reach + 1).min(values.len()));
            base + (sums[to] - sums[from]) / (to - from) as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(values: &[f64]) -> Vec<Point> {
        values.iter().enumerate().map(|(index, value)| (index as u64, *value)).collect()
    }

    #[test]
    fn stretches_and_repeats() {
        let points = numbered(&[1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
        let high = |point: &Point| point.1 > 0.5;
        assert_eq!(span(longest_stretch(&points, high)), (2, 4));
        assert!(longest_stretch(&points, |_| false).is_empty());
        assert_eq!(span(repeated(&points, 3, 4, high).unwrap()), (0, 3));
        assert!(repeated(&points, 5, 5, high).is_none());
        // Fewer points than `among`: all of them are considered.
        assert_eq!(span(repeated(&points, 6, 100, high).unwrap()), (0, 7));
        assert!(repeated(&[], 1, 10, high).is_none());
    }

    #[test]
    fn ranges_of_steps_and_tails() {
        let points = numbered(&[0.0; 10]);
        assert_eq!(span(within(&points, 3.0, 5.0)), (3, 5));
        assert!(within(&points, 5.0, 3.0).is_empty() && within(&points, 50.0, 90.0).is_empty());
        assert_eq!(tail(&points, 0.2, 4).len(), 4);
        assert_eq!(tail(&points, 0.5, 2).len(), 5);
        assert_eq!(tail(&points[..1], 0.2, 10).len(), 1);
    }

    #[test]
    fn trailing_medians_by_hand() {
        let medians = trailing_median(&numbered(&[5.0, 1.0, 3.0, 9.0, 9.0]), 3);
        assert!(medians[0].is_nan());
        assert_eq!(medians[1..], [5.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn a_rise_and_its_noise() {
        let (up, noise) = rise(&numbered(&[0.0, 1.0, 2.0, 3.0])).unwrap();
        assert!((up - 3.0).abs() < 1e-12 && noise.abs() < 1e-12);
        assert_eq!(rise(&numbered(&[1.0])), None);
        let long: Vec<f64> = (0..100_000).map(|x| f64::from(x) * 0.25).collect();
        let (up, _) = rise(&numbered(&long)).unwrap();
        assert!((up - 99_999.0 * 0.25).abs() < 1e-6, "{up}");
    }

    #[test]
    fn a_constant_is_its_own_smoothed_form() {
        let curve = Curve::new("eval.mean_return", numbered(&[0.1; 20]), RuleSet::built_in()).unwrap();
        assert!(curve.smoothed.iter().all(|value| *value == 0.1) && curve.noise == 0.0);
        assert!(Curve::new("eval.mean_return", numbered(&[1.0]), RuleSet::built_in()).is_none());
    }
}
