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
//! No seed is dropped silently. A point exists only where every seed that
//! didn't fail has a value; a failed seed counts until it failed.

mod draws;
mod places;
#[cfg(test)]
mod tests;

use serde::Serialize;

use draws::Draws;
pub use places::smooth;
use places::{in_order, places, span, values_at};

use crate::statistics::aggregate::iqm;

/// Fewest seeds whose bootstrap interval is worth drawing.
pub const BOOTSTRAP_SEEDS: usize = 5;

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
    /// many in total; 0 and 1 leave it unchanged.
    pub smooth: usize,
    /// At most this many places along x.
    pub places: usize,
    /// Nominal coverage of the bootstrap interval.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Seed of its draws.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { smooth: 1, places: 300, confidence: 0.95, resamples: 1000, seed: 0 }
    }
}

/// The kind of band around a curve.
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
