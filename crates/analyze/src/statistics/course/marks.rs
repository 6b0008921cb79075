//! Single events of a course: where it left its start, when it reached a
//! level and how far it fell back.

use serde::Serialize;

use super::{Course, differ, mean_of};
use crate::statistics::aggregate::median;

/// Noises that a value must lie above its start to have left it.
const LEAVES: f64 = 2.0;

/// Where a course left the noise of its start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Onset {
    pub step: u64,
    /// The course there, smoothed over three points.
    pub value: f64,
    pub start: f64,
    /// How far above its start it had to come.
    pub margin: f64,
}

/// A level that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reach {
    pub level: f64,
    /// First step at or above it.
    pub step: u64,
    /// Whether it never went below again.
    pub held: bool,
}

/// The largest fall from a peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawdown {
    /// Where the peak is.
    pub from_step: u64,
    pub peak: f64,
    /// Where the lowest point after it is.
    pub to_step: u64,
    /// The lowest point after it.
    pub trough: f64,
    /// How far it fell.
    pub depth: f64,
    /// First step after that at which it was back at the peak.
    pub recovered: Option<u64>,
}

/// The level that a course starts from: the mean of the first twentieth of its
/// points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Start {
    pub value: f64,
    /// How far above it a later point must lie to have left it.
    pub margin: f64,
}

/// Where a course starts; `noise` is that of one point there. None without points.
pub fn start(course: &Course, noise: f64) -> Option<Start> {
    let points = course.points();
    let head = head(points.len());
    (!points.is_empty()).then(|| Start {
        value: mean_of(&points[..head]),
        // Both sides of the difference are noisy. A course without noise still
        // has to move by a visible part of its range.
        margin: (LEAVES * noise * (1.0 + 1.0 / head as f64).sqrt()).max(0.01 * course.range()),
    })
}

fn head(points: usize) -> usize {
    (points / 20).max(1)
}

/// Where the course, smoothed by the median of three, first stays above its
/// start by more than the margin and visibly for two points in a row. None when
/// that never happens.
pub fn onset(course: &Course, noise: f64) -> Option<Onset> {
    let Start { value: start, margin } = start(course, noise)?;
    let points = course.points();
    let smooth = |at: usize| {
        let around = &points[at.saturating_sub(1)..(at + 2).min(points.len())];
        median(&around.iter().map(|(_, value)| *value).collect::<Vec<_>>())
    };
    let left = |at: usize| smooth(at) > start + margin && differ(smooth(at), start);
    let mut later = head(points.len())..points.len();
    let found = later.find(|at| left(*at) && (*at + 1 == points.len() || left(at + 1)))?;
    Some(Onset { step: points[found].0, value: smooth(found), start, margin })
}

/// When the course first came to `level`.
pub fn reach(course: &Course, level: f64) -> Option<Reach> {
    let first = course.points().iter().position(|(_, value)| *value >= level)?;
    let held = course.points()[first..].iter().all(|(_, value)| *value >= level);
    Some(Reach { level, step: course.points()[first].0, held })
}

/// The largest fall from a peak; none when it never falls.
pub fn drawdown(course: &Course) -> Option<Drawdown> {
    let mut peak = course.first()?;
    let mut found: Option<Drawdown> = None;
    for (step, value) in course.points().iter().copied() {
        if value > peak.1 {
            peak = (step, value);
        }
        let depth = peak.1 - value;
        if depth > found.map_or(0.0, |found| found.depth) {
            let (from_step, peak) = peak;
            found = Some(Drawdown { from_step, peak, to_step: step, trough: value, depth, recovered: None });
        }
    }
    let mut found = found?;
    let after = course.points().iter().find(|(step, value)| *step > found.to_step && *value >= found.peak);
    found.recovered = after.map(|(step, _)| *step);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(values: &[f64]) -> Course {
        Course::new(values.iter().enumerate().map(|(at, value)| (100 * (at as u64 + 1), *value)))
    }

    #[test]
    fn learning_begins_when_the_start_is_left_for_good() {
        let found = onset(&course(&[10.0, 11.0, 9.0, 10.0, 30.0, 50.0, 60.0]), 1.0).unwrap();
        // Median of (10, 30, 50) at step 500; margin 2·√2.
        assert_eq!((found.step, found.value, found.start), (500, 30.0, 10.0));
        assert!((found.margin - 8.0_f64.sqrt()).abs() < 1e-12);
        // One spike is smoothed away, a flat course never leaves.
        assert_eq!(onset(&course(&[10.0, 11.0, 90.0, 10.0, 9.0, 10.0]), 1.0), None);
        assert_eq!(onset(&course(&[10.0; 9]), 0.0), None);
        assert_eq!(onset(&course(&[10.0, 9.0, 5.0, 1.0]), 0.5), None);
        assert_eq!(onset(&course(&[]), 0.5), None);
        assert_eq!(onset(&course(&[1.0]), 0.5), None);
        // Two points suffice if they are far enough apart: the median of two is their mean.
        assert_eq!(onset(&course(&[0.0, 10.0]), 1.0).map(|found| found.step), Some(200));
        assert_eq!(onset(&course(&[0.0, 10.0]), 5.0), None);
    }

    #[test]
    fn levels_are_reached_and_held_or_not() {
        let found = course(&[0.0, 5.0, 4.0, 6.0, 7.0]);
        assert_eq!(reach(&found, 5.0), Some(Reach { level: 5.0, step: 200, held: false }));
        assert_eq!(reach(&found, 6.0), Some(Reach { level: 6.0, step: 400, held: true }));
        assert_eq!(reach(&found, 8.0), None);
        assert_eq!(reach(&course(&[f64::NAN]), 0.0), None);
    }

    #[test]
    fn the_largest_fall_counts_and_whether_it_came_back() {
        let found = drawdown(&course(&[1.0, 10.0, 8.0, 12.0, 5.0, 11.0, 12.0, 11.0])).unwrap();
        assert_eq!((found.from_step, found.peak, found.to_step, found.trough), (400, 12.0, 500, 5.0));
        assert_eq!((found.depth, found.recovered), (7.0, Some(700)));
        assert_eq!(drawdown(&course(&[5.0, 1.0])).unwrap().recovered, None);
        assert_eq!(drawdown(&course(&[1.0, 2.0, 2.0])), None);
        assert_eq!(drawdown(&course(&[])), None);
    }
}
