//! Several seeds' curves on one grid of steps: seeds evaluate at slightly
//! different steps only when one of them was cut short, but nothing here
//! relies on that.

use serde::Serialize;

/// The seeds at one step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandPoint {
    pub step: f64,
    /// Mean over the seeds.
    pub mean: f64,
    /// The lowest seed.
    pub low: f64,
    /// The highest seed.
    pub high: f64,
}

/// Mean, lowest and highest of `curves` at `points` evenly spaced steps, from
/// the first to the last step that every curve reaches. Between two points of
/// a curve lies a straight line. Points that are not finite are left out; a
/// curve without any is left out whole.
pub fn band(curves: &[&[(u64, f64)]], points: usize) -> Vec<BandPoint> {
    let curves: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|curve| {
            let finite = curve.iter().filter(|(_, value)| value.is_finite());
            finite.map(|(step, value)| (*step as f64, *value)).collect::<Vec<_>>()
        })
        .filter(|curve| !curve.is_empty())
        .collect();
    let first = curves.iter().map(|curve| curve[0].0).fold(f64::NEG_INFINITY, f64::max);
    let last = curves.iter().map(|curve| curve[curve.len() - 1].0).fold(f64::INFINITY, f64::min);
    if curves.is_empty() || points == 0 || first > last {
        return Vec::new();
    }
    let steps = if first == last { 1 } else { points.max(2) };
    let spacing = if steps == 1 { 0.0 } else { (last - first) / (steps - 1) as f64 };
    (0..steps).map(|index| at(&curves, first + spacing * index as f64)).collect()
}

fn at(curves: &[Vec<(f64, f64)>], step: f64) -> BandPoint {
    let values: Vec<f64> = curves.iter().map(|curve| interpolate(curve, step)).collect();
    BandPoint {
        step,
        mean: values.iter().sum::<f64>() / values.len() as f64,
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// The curve's value at `step`, constant beyond its ends.
fn interpolate(curve: &[(f64, f64)], step: f64) -> f64 {
    let after = curve.partition_point(|(at, _)| *at < step);
    match (curve.get(after.wrapping_sub(1)), curve.get(after)) {
        (Some((from, a)), Some((to, b))) if to > from => a + (b - a) * (step - from) / (to - from),
        (_, Some((_, value))) | (Some((_, value)), None) => *value,
        (None, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(curves: &[&[(u64, f64)]], points: usize, expect: &[(f64, f64, f64, f64)]) {
        let found: Vec<_> = band(curves, points).iter().map(|p| (p.step, p.mean, p.low, p.high)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn seeds_meet_on_a_grid() {
        check(
            &[&[(0, 0.0), (10, 10.0)], &[(0, 4.0), (10, 4.0)]],
            3,
            &[(0.0, 2.0, 0.0, 4.0), (5.0, 4.5, 4.0, 5.0), (10.0, 7.0, 4.0, 10.0)],
        );
    }

    #[test]
    fn only_steps_that_all_reach_count() {
        check(
            &[&[(0, 1.0), (100, 1.0)], &[(50, 3.0), (60, 3.0)]],
            2,
            &[(50.0, 2.0, 1.0, 3.0), (60.0, 2.0, 1.0, 3.0)],
        );
        check(&[&[(0, 1.0), (10, 1.0)], &[(50, 3.0)]], 2, &[]);
    }

    #[test]
    fn odd_curves_do_no_harm() {
        check(&[], 5, &[]);
        check(&[&[]], 5, &[]);
        check(&[&[(7, 2.0)]], 5, &[(7.0, 2.0, 2.0, 2.0)]);
        check(&[&[(0, f64::NAN), (7, 2.0)], &[]], 5, &[(7.0, 2.0, 2.0, 2.0)]);
        check(&[&[(7, 2.0), (7, 4.0)]], 5, &[(7.0, 2.0, 2.0, 2.0)]);
        check(&[&[(0, 1.0), (10, 2.0)]], 0, &[]);
    }
}
