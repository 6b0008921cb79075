//! The slope of a series by Theil (1950) and Sen (1968): the median of the
//! slopes between all pairs of points. Almost a third of the points may be
//! wild without moving it.

use serde::Serialize;

use crate::statistics::aggregate::{mean, median};

/// Up to this many points every pair is used; longer series are first reduced
/// to this many blocks of neighbours, each at its mean position and median.
pub const MOST_POINTS: usize = 1_000;

/// A straight line through a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Change per unit of x.
    pub slope: f64,
    /// The line's value at x = 0.
    pub intercept: f64,
}

/// The Theil–Sen line through `points`, (x, y). Points that are not finite
/// are left out; `None` unless two differ in x.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Trend> {
    let mut points: Vec<(f64, f64)> =
        points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    if points.len() > MOST_POINTS {
        points = blocks(&points);
    }
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (index, (x, y)) in points.iter().enumerate() {
        slopes.extend(
            points[index + 1..]
                .iter()
                .filter(|(later, _)| later > x)
                .map(|(later, value)| (value - y) / (later - x)),
        );
    }
    if slopes.is_empty() {
        return None;
    }
    let slope = middle(&mut slopes);
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    Some(Trend { slope, intercept: median(&y) - slope * median(&x) })
}

/// The median by selection: there are half a million slopes.
fn middle(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *upper;
    if even { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0 } else { upper }
}

fn blocks(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let edge = |block: usize| block * points.len() / MOST_POINTS;
    let reduce = |block: usize| {
        let (x, y): (Vec<f64>, Vec<f64>) = points[edge(block)..edge(block + 1)].iter().copied().unzip();
        (mean(&x), median(&y))
    };
    (0..MOST_POINTS).map(reduce).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect()
    }

    #[test]
    fn the_line_has_the_reference_values() {
        let trend = theil_sen(&numbered(&[1.0, 3.0, 2.0, 5.0, 4.0, 8.0])).unwrap();
        assert_eq!(trend, Trend { slope: 1.25, intercept: 0.375 });
    }

    #[test]
    fn wild_points_and_long_series_keep_the_slope() {
        let mut values: Vec<f64> = (0..20).map(|x| 3.0 * f64::from(x) + 1.0).collect();
        values[3] = 1e9;
        values[11] = -1e9;
        assert!((theil_sen(&numbered(&values)).unwrap().slope - 3.0).abs() < 1e-12);
        let long: Vec<f64> = (0..25_000).map(|x| 0.5 * f64::from(x)).collect();
        assert!((theil_sen(&numbered(&long)).unwrap().slope - 0.5).abs() < 1e-9);
    }

    #[test]
    fn no_line_without_two_places() {
        assert_eq!(theil_sen(&[]), None);
        assert_eq!(theil_sen(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(theil_sen(&[(1.0, 2.0), (2.0, f64::NAN)]), None);
    }

    proptest! {
        #[test]
        fn adding_a_line_adds_its_slope(
            values in proptest::collection::vec(-100.0..100.0f64, 2..40),
            slope in -5.0..5.0f64,
        ) {
            let tilted: Vec<f64> = values.iter().enumerate().map(|(x, y)| y + slope * x as f64).collect();
            let (flat, tilted) = (theil_sen(&numbered(&values)).unwrap(), theil_sen(&numbered(&tilted)).unwrap());
            prop_assert!((tilted.slope - flat.slope - slope).abs() < 1e-9);
        }
    }
}
