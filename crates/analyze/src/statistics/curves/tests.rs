//! Curves of several seeds as one, on small examples.

use super::*;
use crate::statistics::aggregate::Scores;
use crate::statistics::bootstrap::{Method, Plan, bootstrap_iqm};
use proptest::prelude::*;

fn seed(points: &[(f64, f64)]) -> SeedCurve {
    SeedCurve { points: points.to_vec(), failed: false }
}

fn failed(points: &[(f64, f64)]) -> SeedCurve {
    SeedCurve { points: points.to_vec(), failed: true }
}

/// x, value, low, high, seeds of every point.
type Row = (f64, Option<f64>, Option<f64>, Option<f64>, usize);

fn check(seeds: &[SeedCurve], options: &Options, band: Band, expect: &[Row]) {
    let curve = aggregate(seeds, options);
    let rows: Vec<Row> = curve.points.iter().map(|p| (p.x, p.value, p.low, p.high, p.seeds)).collect();
    assert_eq!(rows, expect);
    assert_eq!(curve.band, band);
}

#[test]
fn three_seeds_have_their_mean_and_their_range() {
    // Of three values the interquartile mean cuts none: (1 + 2 + 6) / 3 = 3.
    check(
        &[
            seed(&[(0.0, 1.0), (10.0, 4.0)]),
            seed(&[(0.0, 2.0), (10.0, 4.0)]),
            seed(&[(0.0, 6.0), (10.0, 1.0)]),
        ],
        &Options::default(),
        Band::Range,
        &[(0.0, Some(3.0), Some(1.0), Some(6.0), 3), (10.0, Some(3.0), Some(1.0), Some(4.0), 3)],
    );
}

#[test]
fn one_seed_is_itself_without_a_band() {
    check(
        &[seed(&[(0.0, 1.0), (5.0, f64::NAN), (10.0, 4.0)])],
        &Options::default(),
        Band::None,
        &[(0.0, Some(1.0), None, None, 1), (5.0, None, None, None, 0), (10.0, Some(4.0), None, None, 1)],
    );
}

#[test]
fn five_seeds_have_the_interval_that_the_bootstrap_gives() {
    let values = [3.0, 1.0, 4.0, 1.5, 9.0];
    let seeds: Vec<SeedCurve> = values.iter().map(|v| seed(&[(1.0, *v), (2.0, v * v)])).collect();
    let curve = aggregate(&seeds, &Options::default());
    assert_eq!(curve.band, Band::Bootstrap);
    // One value is cut at each end: (1.5 + 3 + 4) / 3.
    assert!((curve.points[0].value.unwrap() - 8.5 / 3.0).abs() < 1e-12);
    let plan = Plan { method: Method::Percentile, confidence: 0.95, resamples: 1000, seed: 0 };
    for (point, values) in curve.points.iter().zip([values, values.map(|v| v * v)]) {
        let expected = bootstrap_iqm(&Scores::single(&values), &plan);
        assert!((point.low.unwrap() - expected.low).abs() < 1e-12);
        assert!((point.high.unwrap() - expected.high).abs() < 1e-12);
    }
}

#[test]
fn seeds_are_smoothed_before_they_are_put_together() {
    let options = Options { smooth: 2, ..Options::default() };
    check(
        &[seed(&[(0.0, 0.0), (1.0, 4.0), (2.0, 8.0)]), seed(&[(0.0, 2.0), (1.0, 2.0), (2.0, 2.0)])],
        &options,
        Band::Range,
        &[
            (0.0, Some(1.0), Some(0.0), Some(2.0), 2),
            (1.0, Some(2.0), Some(2.0), Some(2.0), 2),
            (2.0, Some(4.0), Some(2.0), Some(6.0), 2),
        ],
    );
}

#[test]
fn the_curve_ends_with_the_shortest_seed_that_did_not_fail() {
    check(
        &[
            seed(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]),
            seed(&[(0.0, 3.0), (1.0, 3.0)]),
            failed(&[(0.0, 8.0)]),
        ],
        &Options::default(),
        Band::Range,
        &[(0.0, Some(4.0), Some(1.0), Some(8.0), 3), (1.0, Some(2.0), Some(1.0), Some(3.0), 2)],
    );
}

#[test]
fn seeds_at_other_places_meet_on_straight_lines() {
    check(
        &[seed(&[(0.0, 0.0), (10.0, 10.0)]), seed(&[(2.0, 4.0), (6.0, 4.0), (12.0, 4.0)])],
        &Options::default(),
        Band::Range,
        &[(2.0, Some(3.0), Some(2.0), Some(4.0), 2), (10.0, Some(7.0), Some(4.0), Some(10.0), 2)],
    );
}

#[test]
fn a_gap_of_a_living_seed_is_a_gap_of_the_curve() {
    let gap = f64::INFINITY;
    let curve = aggregate(
        &[
            seed(&[(0.0, 1.0), (1.0, gap), (2.0, 1.0)]),
            seed(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]),
            failed(&[(0.0, 1.0), (1.0, 1.0), (2.0, gap)]),
        ],
        &Options::default(),
    );
    let values: Vec<_> = curve.points.iter().map(|point| (point.value, point.seeds)).collect();
    assert_eq!(values, [(Some(1.0), 3), (None, 0), (Some(1.0), 2)]);
    assert_eq!(curve.not_finite, 2);
}

#[test]
fn when_all_seeds_failed_each_counts_while_it_lived() {
    check(
        &[failed(&[(0.0, 1.0), (1.0, 2.0)]), failed(&[(0.0, 3.0)])],
        &Options::default(),
        Band::Range,
        &[(0.0, Some(2.0), Some(1.0), Some(3.0), 2), (1.0, Some(2.0), Some(2.0), Some(2.0), 1)],
    );
}

#[test]
fn nothing_gives_nothing() {
    for seeds in [&[][..], &[seed(&[])], &[seed(&[(0.0, f64::NAN)])], &[seed(&[(f64::NAN, 0.0)])]] {
        let curve = aggregate(seeds, &Options::default());
        assert_eq!((curve.points.len(), curve.band, curve.seeds), (0, Band::None, 0));
    }
    let apart = [seed(&[(0.0, 1.0), (1.0, 1.0)]), seed(&[(2.0, 1.0)])];
    assert!(aggregate(&apart, &Options::default()).points.is_empty());
}

#[test]
fn long_curves_are_thinned_and_say_so() {
    let long: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), f64::from(i))).collect();
    let curve = aggregate(&[seed(&long)], &Options { places: 10, ..Options::default() });
    assert_eq!((curve.points.len(), curve.thinned_from), (10, Some(1000)));
    assert_eq!((curve.points[0].x, curve.points[9].x), (0.0, 999.0));
    assert_eq!(curve.curves[0].len(), 1000);
}

#[test]
fn points_are_put_in_order_and_the_last_of_a_step_counts() {
    let curve = aggregate(&[seed(&[(5.0, 1.0), (0.0, 2.0), (5.0, 3.0)])], &Options::default());
    assert_eq!(curve.curves[0], [(0.0, 2.0), (5.0, 3.0)]);
}

proptest! {
    #[test]
    fn smoothing_is_the_mean_of_the_window(
        values in proptest::collection::vec(prop_oneof![8 => -1e3..1e3f64, 1 => Just(f64::NAN)], 0..60),
        window in 0usize..12,
    ) {
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, v)| (x as f64, *v)).collect();
        for (index, (x, smoothed)) in smooth(&points, window).into_iter().enumerate() {
            prop_assert_eq!(x, index as f64);
            if !values[index].is_finite() {
                prop_assert!(!smoothed.is_finite());
                continue;
            }
            let from = (index + 1).saturating_sub(window.max(1));
            let kept: Vec<f64> = values[from..=index].iter().copied().filter(|v| v.is_finite()).collect();
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            prop_assert!((smoothed - mean).abs() < 1e-9, "{smoothed} {mean}");
        }
    }

    #[test]
    fn bands_hold_their_curve_and_stay_within_the_seeds(
        seeds in proptest::collection::vec(proptest::collection::vec(-1e3..1e3f64, 1..20), 1..9),
    ) {
        let seeds: Vec<SeedCurve> = seeds.iter()
            .map(|values| seed(&values.iter().enumerate().map(|(x, v)| (x as f64, *v)).collect::<Vec<_>>()))
            .collect();
        let curve = aggregate(&seeds, &Options { resamples: 100, ..Options::default() });
        prop_assert!(!curve.points.is_empty());
        for point in &curve.points {
            let value = point.value.unwrap();
            let at: Vec<f64> = seeds.iter().map(|s| s.points[point.x as usize].1).collect();
            let low = at.iter().copied().reduce(f64::min).unwrap();
            let high = at.iter().copied().reduce(f64::max).unwrap();
            prop_assert!(low - 1e-9 <= value && value <= high + 1e-9);
            prop_assert_eq!(point.low.is_some(), seeds.len() > 1);
            if let (Some(from), Some(to)) = (point.low, point.high) {
                prop_assert!(low - 1e-9 <= from && from <= to && to <= high + 1e-9);
            }
        }
    }
}
