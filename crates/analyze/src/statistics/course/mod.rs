//! One metric over the steps: only finite points, in the order of their steps.
//! [`phases`] cuts it into rises, falls and plateaus; [`marks`] finds single
//! events, such as where learning began or how far it fell back.

mod marks;
mod phases;

use serde::Serialize;

use rlxp_types::text::number;

pub use marks::{Drawdown, Onset, Reach, Start, drawdown, onset, reach, start};
pub use phases::{FEWEST_POINTS, FLAT, LEAST_CHANGE, Phase, PhaseKind, phases};

use crate::statistics::aggregate::{mean, median};

/// From the median distance to a standard deviation, for normal noise.
pub(super) const DEVIATION_OF_MEDIAN: f64 = 1.482_602_218_505_602;

/// A value as sentences show it, rounded.
pub fn shown(value: f64) -> f64 {
    number(value).replace(',', "").parse().unwrap_or(value)
}

/// Whether a reader sees a difference between two values; one that disappears
/// in rounding is none.
pub fn differ(a: f64, b: f64) -> bool {
    a != b && shown(a) != shown(b)
}

/// A tenth of so many points, at least one.
pub(super) fn tenth(points: usize) -> usize {
    (points / 10).max(1)
}

/// Medians of the first and of the last tenth of the points.
pub(super) fn levels(points: &[(u64, f64)]) -> (f64, f64) {
    let tenth = tenth(points.len());
    let middle = |part: &[(u64, f64)]| median(&part.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    (middle(&points[..tenth]), middle(&points[points.len() - tenth..]))
}

/// The mean value of some points.
pub(super) fn mean_of(points: &[(u64, f64)]) -> f64 {
    mean(&points.iter().map(|(_, value)| *value).collect::<Vec<_>>())
}

/// A metric's points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    points: Vec<(u64, f64)>,
    not_finite: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Glance {
    pub points: usize,
    /// Points that were NaN or infinite; no other number counts them.
    pub not_finite: usize,
    /// First step.
    pub from_step: u64,
    /// Last step.
    pub to_step: u64,
    /// Median of the first tenth of the points.
    pub start: f64,
    /// Median of the last tenth.
    pub end: f64,
    pub lowest: f64,
    pub lowest_step: u64,
    pub highest: f64,
    pub highest_step: u64,
    /// How far one point lies from its neighbours by chance, as a deviation;
    /// none below four points.
    pub noise: Option<f64>,
}

impl Course {
    /// The course through these points. Of several points at a step the last
    /// one counts; what is not finite is counted and left out.
    pub fn new(points: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let mut kept: Vec<(u64, f64)> = points.into_iter().collect();
        let before = kept.len();
        kept.retain(|(_, value)| value.is_finite());
        let not_finite = before - kept.len();
        kept.sort_by_key(|(step, _)| *step);
        let mut unique: Vec<(u64, f64)> = Vec::with_capacity(kept.len());
        for point in kept {
            match unique.last_mut() {
                Some(last) if last.0 == point.0 => *last = point,
                _ => unique.push(point),
            }
        }
        Self { points: unique, not_finite }
    }

    /// The same points, of which so many more were not finite.
    #[must_use]
    pub fn with_not_finite(self, not_finite: usize) -> Self {
        Self { not_finite: self.not_finite + not_finite, ..self }
    }

    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Points that were not finite.
    pub fn not_finite(&self) -> usize {
        self.not_finite
    }

    /// The first point.
    pub fn first(&self) -> Option<(u64, f64)> {
        self.points.first().copied()
    }

    /// The last point.
    pub fn last(&self) -> Option<(u64, f64)> {
        self.points.last().copied()
    }

    /// The highest point, the earliest of equal ones.
    pub fn highest(&self) -> Option<(u64, f64)> {
        self.points.iter().copied().reduce(|best, point| if point.1 > best.1 { point } else { best })
    }

    /// The lowest point, the earliest of equal ones.
    pub fn lowest(&self) -> Option<(u64, f64)> {
        self.points.iter().copied().reduce(|worst, point| if point.1 < worst.1 { point } else { worst })
    }

    /// Distance from the lowest to the highest value.
    pub fn range(&self) -> f64 {
        match (self.lowest(), self.highest()) {
            (Some((_, low)), Some((_, high))) => high - low,
            _ => 0.0,
        }
    }

    /// How far a point lies beside the line between its two neighbours, as the
    /// deviation of one point. A trend adds nothing to it, and neither do a few
    /// wild points, since the median distance counts. None below four points.
    pub fn noise(&self) -> Option<f64> {
        if self.points.len() < 4 {
            return None;
        }
        let beside: Vec<f64> = self
            .points
            .windows(3)
            .map(|around| {
                let [(x0, y0), (x1, y1), (x2, y2)] = [around[0], around[1], around[2]];
                let share = (x1 - x0) as f64 / (x2 - x0) as f64;
                let distance = y1 - (y0 + (y2 - y0) * share);
                // What the three points' own noise makes of the distance.
                distance.abs() / (1.0 + share * share + (1.0 - share) * (1.0 - share)).sqrt()
            })
            .collect();
        let noise = DEVIATION_OF_MEDIAN * median(&beside);
        // Rounding errors are not noise.
        let size = self.points.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
        Some(if noise > 1e-12 * size { noise } else { 0.0 })
    }

    /// At most `most` points, each the mean of a block of neighbours.
    pub(super) fn blocks(&self, most: usize) -> Vec<Block> {
        let count = self.points.len().min(most);
        let edge = |block: usize| block * self.points.len() / count.max(1);
        let block = |index: usize| {
            let (begin, end) = (edge(index), edge(index + 1) - 1);
            let points = &self.points[begin..=end];
            Block { begin, end, from: points[0].0, to: points[points.len() - 1].0, value: mean_of(points) }
        };
        (0..count).map(block).collect()
    }

    /// The course at a glance; nothing without a finite point.
    pub fn glance(&self) -> Option<Glance> {
        let ((from_step, _), (to_step, _)) = (self.first()?, self.last()?);
        let ((lowest_step, lowest), (highest_step, highest)) = (self.lowest()?, self.highest()?);
        let (start, end) = levels(&self.points);
        Some(Glance {
            points: self.points.len(),
            not_finite: self.not_finite,
            from_step,
            to_step,
            start,
            end,
            lowest,
            lowest_step,
            highest,
            highest_step,
            noise: self.noise(),
        })
    }
}

/// Neighbours as one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Block {
    /// First and last point.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// Their steps.
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) value: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlxp_types::Stream;

    #[test]
    fn only_finite_points_in_order_count() {
        let course = Course::new([(30, 3.0), (10, 1.0), (20, f64::NAN), (10, 1.5), (40, f64::INFINITY)]);
        assert_eq!(course.points(), [(10, 1.5), (30, 3.0)]);
        assert_eq!(course.not_finite(), 2);
        assert_eq!(Course::new([]).glance(), None);
        assert_eq!(Course::new([(1, f64::NAN)]).glance(), None);
    }

    #[test]
    fn the_noise_of_a_line_is_zero_and_that_of_noise_is_its_deviation() {
        let line = Course::new((0..50).map(|at| (at * 100, 3.0 * at as f64)));
        assert!(line.noise().unwrap() < 1e-12);
        let mut stream = Stream::new(3, "test", 0);
        let noisy = Course::new((0..4000).map(|at| (at, 0.5 * at as f64 + 2.0 * stream.normal_pair().0)));
        let noise = noisy.noise().unwrap();
        assert!((noise - 2.0).abs() < 0.15, "{noise}");
        assert_eq!(Course::new([(1, 1.0), (2, 5.0), (3, 2.0)]).noise(), None);
    }

    #[test]
    fn a_glance_has_ends_and_extremes() {
        let glance =
            Course::new((0..20).map(|at| (at, if at == 7 { -5.0 } else { at as f64 }))).glance().unwrap();
        assert_eq!((glance.start, glance.end), (0.5, 18.5));
        assert_eq!((glance.lowest, glance.lowest_step), (-5.0, 7));
        assert_eq!((glance.highest, glance.highest_step), (19.0, 19));
    }

    #[test]
    fn differences_are_those_that_a_reader_sees() {
        assert!(differ(499.9, 500.0) && differ(0.0, 1e-300) && differ(-0.5, 0.5));
        assert!(!differ(499.96, 500.0) && !differ(1e9, 1e9 + 5.0) && !differ(-0.0, 0.0));
        // The same number, written in two ways.
        assert!(!differ(9.9999e-4, 0.001));
        assert_eq!(shown(12_345.6), 12_346.0);
    }

    #[test]
    fn blocks_keep_their_steps_and_means() {
        let blocks = Course::new((0..6).map(|at| (10 * at, at as f64))).blocks(3);
        assert_eq!(blocks[1], Block { begin: 2, end: 3, from: 20, to: 30, value: 2.5 });
        assert_eq!(blocks.len(), 3);
        assert!(Course::default().blocks(3).is_empty());
    }
}
