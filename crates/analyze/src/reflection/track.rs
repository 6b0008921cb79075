//! One series of one run, made comparable: finite points in the order of their steps.

use rlxp_types::Point;

use crate::statistics::aggregate::{mean, median};
use crate::statistics::rank_correlation::rank_correlation;
use crate::statistics::trend::theil_sen;

/// A normal deviation is this many median absolute deviations.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Most points for a slope or a correlation; longer series are reduced to this many blocks of neighbours.
const MOST_POINTS: usize = 200;
/// The share of a run that counts as its beginning or its end.
pub(super) const END_SHARE: f64 = 0.2;

/// The finite points of a series, by step.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    points: Vec<(f64, f64)>,
    /// How many points were NaN or infinite.
    pub(super) non_finite: usize,
}

impl Track {
    /// Points without steps are numbered in the order in which they were written. Of several points with one step,
    /// the one that was written last counts.
    pub(super) fn new(written: &[Point]) -> Self {
        let numbered = written.iter().enumerate();
        let mut points: Vec<(f64, f64)> =
            numbered.map(|(index, point)| (point.step.unwrap_or(index as f64), point.value)).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut single: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        for point in points {
            match single.last_mut() {
                Some(last) if last.0 == point.0 => *last = point,
                _ => single.push(point),
            }
        }
        let all = single.len();
        single.retain(|(_, value)| value.is_finite());
        Self { non_finite: all - single.len(), points: single }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn values(&self) -> Vec<f64> {
        self.points.iter().map(|(_, value)| *value).collect()
    }

    /// Mean size of its values.
    pub(super) fn size(&self) -> f64 {
        mean(&self.points.iter().map(|(_, value)| value.abs()).collect::<Vec<_>>())
    }

    /// The points of a share of the covered steps, given by its ends from 0 to 1.
    pub(super) fn part(&self, from: f64, to: f64) -> Self {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return Self::default();
        };
        let at = |share: f64| first.0 + (last.0 - first.0) * share;
        let inside = |point: &&(f64, f64)| point.0 >= at(from) && point.0 <= at(to);
        Self { points: self.points.iter().filter(inside).copied().collect(), non_finite: 0 }
    }

    /// Its value at evenly spaced places, from the first to the last.
    pub(super) fn sample(&self, count: usize) -> Vec<f64> {
        if self.is_empty() {
            return Vec::new();
        }
        let last = self.len() - 1;
        (0..count).map(|place| self.points[place * last / (count - 1).max(1)].1).collect()
    }

    /// The largest distance between two values, relative to the mean.
    pub(super) fn relative_range(&self) -> f64 {
        let values = self.values();
        let (low, high) = ends(&values);
        (high - low) / mean(&values).abs().max(1e-8)
    }

    /// From when on, as a share of the covered steps, it is at its largest value, and for which share of the points
    /// from then on; `None` where its largest value isn't positive.
    pub(super) fn time_at_top(&self, near: f64) -> Option<(f64, f64)> {
        let (_, most) = ends(&self.values());
        let (first, last) = (self.points.first()?.0, self.points.last()?.0);
        if most <= 0.0 || last <= first {
            return None;
        }
        let begin = self.points.iter().position(|(_, value)| *value > near * most)?;
        let since = &self.points[begin..];
        let at_top = since.iter().filter(|(_, value)| *value > near * most).count();
        Some(((since[0].0 - first) / (last - first), at_top as f64 / since.len() as f64))
    }

    /// The change along the line through its points, and the noise around that line.
    pub(super) fn rise(&self) -> Option<(f64, f64)> {
        let blocks = self.len().min(MOST_POINTS);
        let reduced: Vec<(f64, f64)> = (0..blocks)
            .map(|block| {
                let part = &self.points[block * self.len() / blocks..(block + 1) * self.len() / blocks];
                let (steps, values): (Vec<f64>, Vec<f64>) = part.iter().copied().unzip();
                (mean(&steps), median(&values))
            })
            .collect();
        let line = theil_sen(&reduced)?;
        let residuals: Vec<f64> =
            self.points.iter().map(|(step, value)| value - line.intercept - line.slope * step).collect();
        let middle = median(&residuals);
        let distances: Vec<f64> = residuals.iter().map(|residual| (residual - middle).abs()).collect();
        let (first, last) = (self.points.first()?.0, self.points.last()?.0);
        let (change, noise) = (line.slope * (last - first), MAD_TO_SIGMA * median(&distances));
        (change.is_finite() && noise.is_finite()).then_some((change, noise))
    }

    /// The last value at or before a step.
    fn at(&self, step: f64) -> Option<f64> {
        let index = self.points.partition_point(|point| point.0 <= step).checked_sub(1)?;
        Some(self.points[index].1)
    }

    /// Its points at the steps of another series, beside the other's. The sparser of the two sets the pace.
    fn paired(&self, other: &Self) -> Vec<(f64, f64)> {
        let (sparse, dense, swapped) =
            if self.len() <= other.len() { (self, other, false) } else { (other, self, true) };
        let pairs = sparse.points.iter().filter_map(|(step, value)| Some((*value, dense.at(*step)?)));
        pairs.map(|(one, other)| if swapped { (other, one) } else { (one, other) }).collect()
    }

    /// Spearman's correlation with another series; `None` with fewer than `least` common points, or where one of them
    /// is constant.
    pub(super) fn correlation(&self, other: &Self, least: usize) -> Option<f64> {
        let pairs = self.paired(other);
        if pairs.len() < least {
            return None;
        }
        let (one, other): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        rank_correlation(&one, &other).filter(|value| value.is_finite())
    }
}

/// The sum of several series at the steps of the sparsest; empty where one has no points.
pub(super) fn sum(tracks: &[&Track]) -> Track {
    let Some(sparse) = tracks.iter().min_by_key(|track| track.len()) else { return Track::default() };
    let total = |step: f64| tracks.iter().map(|track| track.at(step)).sum::<Option<f64>>();
    let points = sparse.points.iter().filter_map(|(step, _)| Some((*step, total(*step)?)));
    Track { points: points.filter(|(_, value)| value.is_finite()).collect(), non_finite: 0 }
}

pub(super) fn ends(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(values: &[f64]) -> Track {
        Track::new(&values.iter().map(|value| Point { step: None, value: *value }).collect::<Vec<_>>())
    }

    #[test]
    fn points_are_sorted_once_per_step_and_finite() {
        let point = |step: f64, value: f64| Point { step: Some(step), value };
        let track = Track::new(&[
            point(3.0, 30.0),
            point(1.0, 10.0),
            point(2.0, f64::NAN),
            point(3.0, 31.0),
            point(4.0, f64::INFINITY),
        ]);
        assert_eq!(track.points, [(1.0, 10.0), (3.0, 31.0)]);
        assert_eq!(track.non_finite, 2);
        assert_eq!(Track::new(&[]).part(0.0, 1.0).points, []);
    }

    #[test]
    fn samples_reach_both_ends() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let sample = track(&values).sample(10);
        assert_eq!((sample[0], sample[9], sample.len()), (0.0, 99.0, 10));
        assert_eq!(track(&[7.0]).sample(10), [7.0; 10]);
        assert_eq!(track(&[]).sample(10), Vec::<f64>::new());
    }

    #[test]
    fn series_of_different_lengths_meet_at_the_sparser_steps() {
        let point = |step: u32, value: f64| Point { step: Some(f64::from(step)), value };
        let dense = Track::new(&(0..100).map(|step| point(step, f64::from(step))).collect::<Vec<_>>());
        let sparse = Track::new(&(0..10).map(|step| point(step * 10, -f64::from(step))).collect::<Vec<_>>());
        assert_eq!(dense.correlation(&sparse, 5), Some(-1.0));
        assert_eq!(sparse.correlation(&dense, 5), Some(-1.0));
        assert_eq!(sparse.correlation(&dense, 11), None);
        assert_eq!(sum(&[&dense, &sparse]).values()[9], 81.0);
        assert!(sum(&[&dense, &Track::default()]).is_empty());
    }

    #[test]
    fn the_top_counts_from_when_it_is_reached() {
        let mut values = vec![0.0, 0.5];
        values.extend([1.0; 18]);
        let (from, share) = track(&values).time_at_top(0.98).unwrap();
        assert!((from - 2.0 / 19.0).abs() < 1e-12 && share == 1.0);
        assert_eq!(track(&[-1.0, -0.5, 0.0]).time_at_top(0.98), None);
    }
}
