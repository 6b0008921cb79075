//! Learning curves of several seeds as one: each seed is smoothed by itself,
//! all are brought onto common places along x, and every place gets the
//! interquartile mean over the seeds with a band around it.
//!
//! What the band is depends on what the seeds can carry. From five seeds on it
//! is the percentile bootstrap interval of the interquartile mean; whole seeds
//! are drawn again, the same ones at every place. Below five such an interval
//! is far too short (of three seeds it misses about four times as often as it
//! says), so the band is simply the lowest and the highest seed. Neither is a
//! test: `verdict` decides.
//!
//! Nobody is left out in silence. A value stands only where every seed that
//! didn't fail has one; a failed seed counts for as long as it lived.

use rlxp_types::Stream;
use serde::Serialize;

use crate::aggregate::{iqm, iqm_cut, percentile_of_sorted};

/// Fewest seeds whose bootstrap interval is worth drawing.
pub const BOOTSTRAP_SEEDS: usize = 5;

/// One seed's curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeedCurve {
    /// Points of x and value. Values that are not finite are gaps.
    pub points: Vec<(f64, f64)>,
    /// Its training ended before it was done.
    pub failed: bool,
}

/// How curves are put together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Each value becomes the mean of itself and the values before it, this
    /// many in all; 0 and 1 leave it alone.
    pub smooth: usize,
    /// At most this many places along x.
    pub places: usize,
    /// Nominal coverage of the bootstrap interval.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// What its draws derive from.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { smooth: 1, places: 300, confidence: 0.95, resamples: 1000, seed: 0 }
    }
}

/// What the band of a curve is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// There is none: one seed has no spread.
    None,
    /// The lowest and the highest seed.
    Range,
    /// The percentile bootstrap interval of the interquartile mean.
    Bootstrap,
}

/// The seeds at one place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The place.
    pub x: f64,
    /// Interquartile mean over the seeds; none where a seed has a gap.
    pub value: Option<f64>,
    /// Lower end of the band.
    pub low: Option<f64>,
    /// Upper end of the band.
    pub high: Option<f64>,
    /// Seeds that it is made of.
    pub seeds: usize,
}

/// Several seeds as one curve.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupCurve {
    /// The curve, by x.
    pub points: Vec<CurvePoint>,
    /// What its band is.
    pub band: Band,
    /// Seeds with at least one finite value.
    pub seeds: usize,
    /// Each seed's own curve, cleaned and smoothed, in the order given.
    pub curves: Vec<Vec<(f64, f64)>>,
    /// Values that were not finite, over all seeds.
    pub not_finite: usize,
    /// The places that all seeds share, where there are more than were used.
    pub thinned_from: Option<usize>,
}

/// One curve of many.
pub fn aggregate(seeds: &[SeedCurve], options: &Options) -> GroupCurve {
    let mut not_finite = 0;
    let curves: Vec<Vec<(f64, f64)>> = seeds
        .iter()
        .map(|seed| {
            let points = in_order(&seed.points);
            not_finite += points.iter().filter(|(_, value)| !value.is_finite()).count();
            smooth(&points, options.smooth)
        })
        .collect();
    let spans: Vec<Option<(f64, f64)>> = curves.iter().map(|curve| span(curve)).collect();
    let count = spans.iter().flatten().count();
    let band = match count {
        0 | 1 => Band::None,
        few if few < BOOTSTRAP_SEEDS => Band::Range,
        _ => Band::Bootstrap,
    };
    // Seeds that must have a value wherever the curve has one.
    let required: Vec<bool> =
        seeds.iter().zip(&spans).map(|(seed, span)| span.is_some() && !seed.failed).collect();
    let (places, thinned_from) = places(&curves, &spans, &required, options.places.max(2));
    let columns: Vec<Vec<f64>> = curves.iter().map(|curve| values_at(curve, &places)).collect();
    let mut draws = Draws::new(options);
    let points = (0..places.len())
        .map(|place| {
            let column = || columns.iter().map(|values| values[place]);
            let whole = column().zip(&required).all(|(value, required)| value.is_finite() || !required);
            let values: Vec<f64> = column().filter(|value| value.is_finite()).collect();
            if !whole || values.is_empty() {
                return CurvePoint { x: places[place], value: None, low: None, high: None, seeds: 0 };
            }
            let (low, high) = match band {
                Band::Range => {
                    (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max))
                }
                Band::Bootstrap if values.len() >= BOOTSTRAP_SEEDS => draws.interval(&values),
                Band::None | Band::Bootstrap => (None, None),
            };
            CurvePoint { x: places[place], value: Some(iqm(&values)), low, high, seeds: values.len() }
        })
        .collect();
    GroupCurve { points, band, seeds: count, curves, not_finite, thinned_from }
}

/// Each value becomes the mean of itself and the values before it, `window` in
/// all, fewer at the beginning. Gaps stay gaps and count for nobody.
pub fn smooth(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    if window <= 1 {
        return points.to_vec();
    }
    // Blocks as long as the window: it covers the end of one and the beginning
    // of the next. Nothing is ever subtracted, so a large value leaves no
    // rounding behind once it is out of the window.
    let of = |index: usize| {
        let value = points[index].1;
        if value.is_finite() { (value, 1.0) } else { (0.0, 0.0) }
    };
    let add = |(sum, count): (f64, f64), (value, one): (f64, f64)| (sum + value, count + one);
    let mut to_block_end = vec![(0.0, 0.0); points.len()];
    for index in (0..points.len()).rev() {
        let starts_block = (index + 1) % window == 0 || index + 1 == points.len();
        let after = if starts_block { (0.0, 0.0) } else { to_block_end[index + 1] };
        to_block_end[index] = add(of(index), after);
    }
    let mut from_block_start = (0.0, 0.0);
    (0..points.len())
        .map(|index| {
            from_block_start = if index % window == 0 { of(index) } else { add(from_block_start, of(index)) };
            let (x, value) = points[index];
            let begin = (index + 1).saturating_sub(window);
            let (sum, count) = if begin / window == index / window {
                from_block_start
            } else {
                add(to_block_end[begin], from_block_start)
            };
            (x, if value.is_finite() { sum / count } else { value })
        })
        .collect()
}

/// The points by rising x; of several at one x the last; none without an x.
fn in_order(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut ordered: Vec<(f64, f64)> = points.iter().copied().filter(|(x, _)| x.is_finite()).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(ordered.len());
    for point in ordered {
        match kept.last_mut() {
            Some(last) if last.0 == point.0 => *last = point,
            _ => kept.push(point),
        }
    }
    kept
}

/// First and last x with a finite value.
fn span(curve: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mut finite = curve.iter().filter(|(_, value)| value.is_finite()).map(|(x, _)| *x);
    let first = finite.next()?;
    Some((first, finite.next_back().unwrap_or(first)))
}

/// Where the seeds are compared: at their own places when they share them, or
/// else evenly over what all of them cover.
fn places(
    curves: &[Vec<(f64, f64)>],
    spans: &[Option<(f64, f64)>],
    required: &[bool],
    limit: usize,
) -> (Vec<f64>, Option<usize>) {
    // When every seed failed, each counts for as long as it lived.
    let all_failed = !required.contains(&true);
    let counts = |index: usize| (required[index] || all_failed) && spans[index].is_some();
    let members: Vec<usize> = (0..curves.len()).filter(|index| counts(*index)).collect();
    let ends = members.iter().filter_map(|index| spans[*index]);
    let common = ends
        .reduce(|a, b| if all_failed { (a.0.min(b.0), a.1.max(b.1)) } else { (a.0.max(b.0), a.1.min(b.1)) });
    let Some((first, last)) = common.filter(|(first, last)| first <= last) else {
        return (Vec::new(), None);
    };
    let within = |index: usize| {
        let points = curves[index].iter().map(|(x, _)| *x);
        points.filter(move |x| (first..=last).contains(x)).collect::<Vec<f64>>()
    };
    let own: Vec<Vec<f64>> = members.iter().map(|index| within(*index)).collect();
    let longest = own.iter().max_by_key(|places| places.len()).expect("there is at least one member");
    let shared = own.iter().all(|places| places == longest || (all_failed && longest.starts_with(places)));
    if shared && longest.len() <= limit {
        return (longest.clone(), None);
    }
    if shared {
        let pick = |place: usize| longest[place * (longest.len() - 1) / (limit - 1)];
        return ((0..limit).map(pick).collect(), Some(longest.len()));
    }
    if first == last {
        return (vec![first], None);
    }
    let count = longest.len().clamp(2, limit);
    let place = |index: usize| {
        if index + 1 == count { last } else { first + (last - first) * index as f64 / (count - 1) as f64 }
    };
    ((0..count).map(place).collect(), None)
}

/// The curve's values at rising places; NaN outside it and beside its gaps.
/// Between two points lies a straight line.
fn values_at(curve: &[(f64, f64)], places: &[f64]) -> Vec<f64> {
    let mut next = 0;
    places
        .iter()
        .map(|place| {
            while next < curve.len() && curve[next].0 < *place {
                next += 1;
            }
            match (next.checked_sub(1).map(|before| curve[before]), curve.get(next)) {
                (_, Some((x, value))) if x == place => *value,
                (Some((from, a)), Some((to, b))) => a + (b - a) * ((place - from) / (to - from)),
                _ => f64::NAN,
            }
        })
        .collect()
}

/// Resamples of seeds, drawn once for each number of seeds and used at every
/// place, so that the band is one of whole curves.
struct Draws<'o> {
    options: &'o Options,
    /// By number of seeds: how often each seed is in each resample.
    counts: Vec<(usize, Vec<u16>)>,
    distribution: Vec<f64>,
}

impl<'o> Draws<'o> {
    fn new(options: &'o Options) -> Self {
        Self { options, counts: Vec::new(), distribution: Vec::new() }
    }

    fn interval(&mut self, values: &[f64]) -> (Option<f64>, Option<f64>) {
        let seeds = values.len();
        if !self.counts.iter().any(|(of, _)| *of == seeds) {
            let drawn = draw(seeds, self.options);
            self.counts.push((seeds, drawn));
        }
        let (_, counts) = self.counts.iter().find(|(of, _)| *of == seeds).expect("it has just been drawn");
        let mut order: Vec<usize> = (0..seeds).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let cut = iqm_cut(seeds);
        let kept = seeds - 2 * cut;
        self.distribution.clear();
        for resample in counts.chunks_exact(seeds) {
            let (mut skip, mut left, mut sum) = (cut, kept, 0.0);
            for index in &order {
                let count = usize::from(resample[*index]);
                let skipped = skip.min(count);
                let taken = (count - skipped).min(left);
                skip -= skipped;
                left -= taken;
                sum += values[*index] * taken as f64;
            }
            self.distribution.push(sum / kept as f64);
        }
        self.distribution.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.options.confidence) / 2.0;
        let at = |q| Some(percentile_of_sorted(&self.distribution, q)).filter(|end| end.is_finite());
        (at(tail), at(1.0 - tail))
    }
}

fn draw(seeds: usize, options: &Options) -> Vec<u16> {
    let mut counts = vec![0; seeds * options.resamples];
    let mut stream = Stream::new(options.seed, "bootstrap", 0);
    for resample in counts.chunks_exact_mut(seeds) {
        for _ in 0..seeds {
            resample[stream.below(seeds as u32) as usize] += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Scores;
    use crate::bootstrap::{Method, Plan, bootstrap_iqm};
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
}
