//! Steps from a present value within an agreed range.

use serde_json::{Number, Value};

use super::knowledge::Sign;
use super::same;
use crate::documents::SurfaceKey;

/// A value is multiplied or divided by this where its range spans a factor of at least [`WIDE`].
const FACTOR: f64 = 2.0;
/// Ranges that span less are walked in parts of their width.
const WIDE: f64 = 8.0;
/// The part of a narrow range that one step takes.
const PART: f64 = 0.2;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) to: Value,
    pub(super) sign: Sign,
}

/// One step down and one up, each as far as the range allows; all other values where they are listed.
pub(super) fn steps(key: &SurfaceKey, present: &Value) -> Vec<Step> {
    if !key.values.is_empty() {
        let other = key.values.iter().filter(|value| !same(value, present));
        return other.map(|value| Step { to: value.clone(), sign: sign(present, value) }).collect();
    }
    let (Some(now), Some((low, high))) = (present.as_f64(), range(key)) else { return Vec::new() };
    let is_whole = present.is_i64() || present.is_u64();
    let towards = |wanted: f64, sign: Sign| {
        let to = inside(key, wanted, is_whole)?;
        // A range without room in this direction gives no step.
        let goes = to.as_f64().is_some_and(|to| if sign == Sign::Up { to > now } else { to < now });
        goes.then_some(Step { to, sign })
    };
    let is_wide = now > 0.0 && (low <= 0.0 || high / low >= WIDE) && high.is_finite();
    let (down, up) = if is_wide {
        (now / FACTOR, now * FACTOR)
    } else if low.is_finite() && high.is_finite() {
        (now - PART * (high - low), now + PART * (high - low))
    } else {
        let size = if now == 0.0 { 1.0 } else { now.abs() };
        (now - size / FACTOR, now + size)
    };
    [towards(down, Sign::Down), towards(up, Sign::Up)].into_iter().flatten().collect()
}

fn sign(from: &Value, to: &Value) -> Sign {
    match (from.as_f64(), to.as_f64()) {
        (Some(from), Some(to)) if to < from => Sign::Down,
        (Some(_), Some(_)) => Sign::Up,
        _ => Sign::Other,
    }
}

fn range(key: &SurfaceKey) -> Option<(f64, f64)> {
    (key.min.is_some() || key.max.is_some())
        .then(|| (key.min.unwrap_or(f64::NEG_INFINITY), key.max.unwrap_or(f64::INFINITY)))
}

/// A value moved into the agreed range, whole and of three digits where it can be; `None` if no such value is in it.
pub(super) fn inside(key: &SurfaceKey, wanted: f64, is_whole: bool) -> Option<Value> {
    let (low, high) = range(key)?;
    let clamped = wanted.clamp(low, high);
    let number = if is_whole { clamped.round() } else { three_digits(clamped) };
    // Rounding may lead out of the range.
    let number = if number >= low && number <= high { number } else { clamped };
    if is_whole {
        const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
        let whole = number.fract() == 0.0 && number.abs() < LARGEST_EXACT;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        return whole.then(|| Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}

/// Rounded to three significant digits, as a person would write it.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn key(min: Option<f64>, max: Option<f64>) -> SurfaceKey {
        SurfaceKey { key: "k".into(), min, max, values: Vec::new() }
    }

    fn to(key: &SurfaceKey, present: Value) -> Vec<Value> {
        steps(key, &present).into_iter().map(|step| step.to).collect()
    }

    #[test]
    fn wide_ranges_are_doubled_and_halved() {
        assert_eq!(to(&key(Some(1e-5), Some(1e-1)), json!(3e-4)), [json!(1.5e-4), json!(6e-4)]);
        assert_eq!(to(&key(Some(0.01), Some(10.0)), json!(2.0)), [json!(1.0), json!(4.0)]);
        assert_eq!(to(&key(Some(1.0), Some(100.0)), json!(30)), [json!(15), json!(60)]);
    }

    #[test]
    fn narrow_ranges_are_walked_in_parts_and_ends_are_kept() {
        assert_eq!(to(&key(Some(0.9), Some(1.0)), json!(0.95)), [json!(0.93), json!(0.97)]);
        assert_eq!(to(&key(Some(0.05), Some(0.3)), json!(0.3)), [json!(0.25)]);
        assert_eq!(to(&key(Some(1e-5), Some(1e-1)), json!(0.08)), [json!(0.04), json!(0.1)]);
        // One whole number, and nothing else in the range.
        assert_eq!(to(&key(Some(3.0), Some(3.9)), json!(3)), Vec::<Value>::new());
    }

    #[test]
    fn lists_texts_and_missing_ranges() {
        let listed = SurfaceKey { values: vec![json!("tanh"), json!("relu")], ..key(None, None) };
        assert_eq!(to(&listed, json!("tanh")), [json!("relu")]);
        assert_eq!(to(&key(None, None), json!(1.0)), Vec::<Value>::new());
        assert_eq!(to(&key(Some(0.0), Some(1.0)), json!("adam")), Vec::<Value>::new());
        assert_eq!(to(&key(Some(0.0), None), json!(0.0)), [json!(1.0)]);
    }

    proptest! {
        #[test]
        fn steps_stay_in_the_range_and_change_the_value(
            low in -1e3..1e3f64, width in 0.0..1e4f64, at in 0.0..=1.0f64, is_whole: bool,
        ) {
            let high = low + width;
            let now = low + width * at;
            let present = if is_whole { json!(now.round() as i64) } else { json!(now) };
            for step in steps(&key(Some(low), Some(high)), &present) {
                let to = step.to.as_f64().unwrap();
                prop_assert!(to >= low && to <= high && !same(&step.to, &present) || (to - present.as_f64().unwrap()).abs() > 0.0);
                prop_assert_eq!(step.sign == Sign::Up, to > present.as_f64().unwrap());
                prop_assert!(!is_whole || step.to.is_i64());
            }
        }
    }
}
