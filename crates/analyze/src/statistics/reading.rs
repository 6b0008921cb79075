//! From the points of a metric to its one value, as it was declared: the window, the aggregation and the range.
//!
//! A metric without a value has none for a reason. NaN, an infinite or an impossible value among the points that
//! count is never left out: leaving it out would turn a failure into a result.

use rlxp_types::Point;

use super::aggregate;

/// How points become one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    pub aggregation: Aggregation,
    /// How many of the last points count; all, if there is no number.
    pub window: Option<u64>,
    /// The lowest possible value.
    pub lowest: Option<f64>,
    /// The highest possible value.
    pub highest: Option<f64>,
}

/// How many values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    Mean,
    Median,
    Iqm,
    Last,
    Min,
    Max,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Always finite.
    pub value: f64,
    /// How many points it was computed from.
    pub points: usize,
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoValue {
    /// There are no points.
    Empty,
    /// A point that counts, or the result, is NaN or infinite.
    NotFinite,
    /// This point that counts is outside the declared range.
    OutOfRange(f64),
}

/// The value of a metric with these points, in the order in which they were written. Where they have steps, the last
/// points are those with the highest steps; of several with the same step, the one that was written last.
pub fn value(points: &[Point], rule: &Rule) -> Result<Value, NoValue> {
    let counted = window(points, rule.window);
    if counted.is_empty() {
        return Err(NoValue::Empty);
    }
    if counted.iter().any(|value| !value.is_finite()) {
        return Err(NoValue::NotFinite);
    }
    let lowest = rule.lowest.unwrap_or(f64::NEG_INFINITY);
    let highest = rule.highest.unwrap_or(f64::INFINITY);
    if let Some(outside) = counted.iter().find(|value| **value < lowest || **value > highest) {
        return Err(NoValue::OutOfRange(*outside));
    }
    let least = counted.iter().copied().fold(f64::INFINITY, f64::min);
    let most = counted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let value = match rule.aggregation {
        Aggregation::Mean => aggregate::mean(&counted),
        Aggregation::Median => aggregate::median(&counted),
        Aggregation::Iqm => aggregate::iqm(&counted),
        Aggregation::Last => counted[counted.len() - 1],
        Aggregation::Min => least,
        Aggregation::Max => most,
    };
    if !value.is_finite() {
        return Err(NoValue::NotFinite);
    }
    // Rounding must not lead out of the declared range.
    Ok(Value { value: value.clamp(least, most), points: counted.len() })
}

/// The values that count, in the order of their steps.
fn window(points: &[Point], window: Option<u64>) -> Vec<f64> {
    let length = window.and_then(|window| usize::try_from(window).ok()).unwrap_or(points.len());
    let last = |count: usize| count.saturating_sub(length);
    let step = |point: &Point| point.step.unwrap_or(f64::NEG_INFINITY);
    if points.is_sorted_by(|a, b| step(a) <= step(b)) {
        return points[last(points.len())..].iter().map(|point| point.value).collect();
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| step(a).total_cmp(&step(b)));
    sorted[last(sorted.len())..].iter().map(|point| point.value).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULE: Rule = Rule { aggregation: Aggregation::Mean, window: None, lowest: None, highest: None };

    fn written(values: &[f64]) -> Vec<Point> {
        values.iter().map(|value| Point { step: None, value: *value }).collect()
    }

    fn computed(values: &[f64], rule: Rule) -> Result<f64, NoValue> {
        value(&written(values), &rule).map(|value| value.value)
    }

    #[test]
    fn each_aggregation_over_the_window() {
        let values = [100.0, 1.0, 2.0, 9.0, 4.0];
        for (aggregation, expected) in [
            (Aggregation::Mean, 4.0),
            (Aggregation::Median, 3.0),
            (Aggregation::Iqm, 3.0),
            (Aggregation::Last, 4.0),
            (Aggregation::Min, 1.0),
            (Aggregation::Max, 9.0),
        ] {
            let rule = Rule { aggregation, window: Some(4), ..RULE };
            assert_eq!(computed(&values, rule), Ok(expected), "{aggregation:?}");
        }
        assert_eq!(value(&written(&values), &Rule { window: Some(9), ..RULE }).unwrap().points, 5);
    }

    #[test]
    fn what_is_not_a_value_is_said() {
        assert_eq!(computed(&[], RULE), Err(NoValue::Empty));
        assert_eq!(computed(&[1.0], Rule { window: Some(0), ..RULE }), Err(NoValue::Empty));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(computed(&[1.0, bad, 2.0], RULE), Err(NoValue::NotFinite));
            // Before the window it doesn't count.
            assert_eq!(computed(&[bad, 2.0], Rule { window: Some(1), ..RULE }), Ok(2.0));
        }
        // Sums that overflow are reported, single values of this size are fine.
        assert_eq!(computed(&[1e308, 1e308], RULE), Err(NoValue::NotFinite));
        assert_eq!(computed(&[1e308], RULE), Ok(1e308));
        let share = Rule { lowest: Some(0.0), highest: Some(1.0), ..RULE };
        assert_eq!(computed(&[0.0, 1.0], share), Ok(0.5));
        assert_eq!(computed(&[0.5, 1.5, 0.5], share), Err(NoValue::OutOfRange(1.5)));
        assert_eq!(computed(&[-0.1], share), Err(NoValue::OutOfRange(-0.1)));
    }

    fn rules() -> impl Strategy<Value = Rule> {
        let aggregations = prop::sample::select(vec![
            Aggregation::Mean,
            Aggregation::Median,
            Aggregation::Iqm,
            Aggregation::Last,
            Aggregation::Min,
            Aggregation::Max,
        ]);
        (aggregations, prop::option::of(1..60_u64)).prop_map(|(aggregation, window)| Rule {
            aggregation,
            window,
            ..RULE
        })
    }

    proptest! {
        /// Ten thousand steps out of order are the same as in order.
        #[test]
        fn the_order_of_writing_is_irrelevant_where_there_are_steps(
            values in prop::collection::vec(-1e6..1e6, 1..200),
            shuffle in any::<u64>(),
            rule in rules(),
        ) {
            let ordered: Vec<Point> = values
                .iter()
                .enumerate()
                .map(|(step, value)| Point { step: Some(step as f64), value: *value })
                .collect();
            let mut shuffled = ordered.clone();
            shuffled.sort_by_key(|point| {
                (point.step.unwrap() as u64 ^ shuffle).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
            });
            prop_assert_eq!(value(&shuffled, &rule), value(&ordered, &rule));
        }

        /// The value lies among the points that count, and what is before the window has no influence.
        #[test]
        fn a_value_lies_within_its_window(
            before in prop::collection::vec(prop::num::f64::ANY, 0..50),
            counted in prop::collection::vec(-1e300..1e300, 1..50),
            rule in rules(),
        ) {
            let rule = Rule { window: Some(counted.len() as u64), ..rule };
            let all: Vec<f64> = before.iter().chain(&counted).copied().collect();
            let found = value(&written(&all), &rule);
            prop_assert_eq!(found, value(&written(&counted), &rule));
            if let Ok(found) = found {
                let least = counted.iter().copied().fold(f64::INFINITY, f64::min);
                let most = counted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(least <= found.value && found.value <= most);
                prop_assert_eq!(found.points, counted.len());
            }
        }

        /// One bad point among those that count, wherever it is, leaves no number.
        #[test]
        fn a_bad_point_is_never_left_out(
            mut values in prop::collection::vec(0.0..1.0, 1..50),
            place in any::<prop::sample::Index>(),
            bad in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5, -0.5]),
            rule in rules(),
        ) {
            let place = place.index(values.len());
            values[place] = bad;
            let rule = Rule { window: None, lowest: Some(0.0), highest: Some(1.0), ..rule };
            let expected = if bad.is_finite() { NoValue::OutOfRange(bad) } else { NoValue::NotFinite };
            prop_assert_eq!(value(&written(&values), &rule), Err(expected));
        }
    }
}
