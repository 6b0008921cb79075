//! Axes: the range they show, ticks at round numbers, and labels that are
//! short and never the same twice. Any range gives an axis, also none at all.

use rlxp_types::text::{trimmed, typeset};

/// How values become places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far.
    #[default]
    Linear,
    /// Equal ratios are equally far; only values above zero have a place.
    Logarithmic,
}

/// A round number on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    /// How it is written.
    pub label: String,
}

/// The range that an axis shows, and its ticks within.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// How values become places.
    pub scale: Scale,
    /// Round numbers from low to high.
    pub ticks: Vec<Tick>,
}

/// Numbers beyond this are drawn at the edge: their differences would overflow.
const LARGEST: f64 = 1e300;
/// Numbers below this are negligible.
const SMALLEST: f64 = 1e-300;

impl Axis {
    /// An axis over `low` to `high` with about `wanted` ticks; its ends are the
    /// ends of the range.
    pub fn tight(low: f64, high: f64, wanted: usize) -> Self {
        let (low, high) = usable(low, high);
        // A range may hold no multiple of a large step, but always some of a smaller one.
        let tries =
            [1, 2, 4, 8].map(|times| Step::for_span(high - low, wanted.max(2) * times).between(low, high));
        let ticks = tries.into_iter().find(|ticks| ticks.len() >= 2).unwrap_or_default();
        Self { low, high, scale: Scale::Linear, ticks: labelled(&ticks) }
    }

    /// An axis over at least `low` to `high` with about `wanted` ticks, that
    /// begins and ends with a tick.
    pub fn rounded(low: f64, high: f64, wanted: usize, scale: Scale) -> Self {
        match scale {
            Scale::Linear => {
                let (low, high) = usable(low, high);
                let step = Step::for_span(high - low, wanted);
                let ticks = step.around(low, high);
                let (first, last) = (ticks[0].value, ticks[ticks.len() - 1].value);
                let (low, high) = (low.min(first), high.max(last));
                Self { low, high, scale, ticks: labelled(&ticks) }
            }
            Scale::Logarithmic => logarithmic(low, high, wanted),
        }
    }

    /// How far along the axis a value is: 0 at its beginning, 1 at its end,
    /// outside them beyond. NaN for what has no place.
    pub fn part(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value.clamp(-LARGEST, LARGEST) - self.low) / (self.high - self.low),
            Scale::Logarithmic if value > 0.0 => {
                (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
            }
            Scale::Logarithmic => f64::NAN,
        }
    }
}

/// A range with some length.
fn usable(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = (low.clamp(-LARGEST, LARGEST), high.clamp(-LARGEST, LARGEST));
    if !low.is_finite() || !high.is_finite() || low > high {
        return (0.0, 1.0);
    }
    let size = low.abs().max(high.abs());
    if size < SMALLEST {
        return (-1.0, 1.0);
    }
    // Labels can't tell apart what differs in the tenth digit only.
    if high - low < size * 1e-9 { (low - size * 0.1, high + size * 0.1) } else { (low, high) }
}

/// The distance between ticks: `digit` · 10^`exponent`.
#[derive(Clone, Copy, Debug)]
struct Step {
    digit: f64,
    exponent: i32,
}

/// A tick before it has a label: as many steps from zero.
#[derive(Clone, Copy, Debug)]
struct TickValue {
    value: f64,
    exponent: i32,
}

impl Step {
    fn for_span(span: f64, wanted: usize) -> Self {
        let raw = span / wanted.max(1) as f64;
        let exponent = raw.log10().floor() as i32;
        let digit = raw / power(exponent);
        // The next round digit, so that there are never more ticks than wanted; a
        // hair of tolerance, because the quotient of round numbers is seldom round.
        match digit - 1e-9 {
            small if small <= 1.0 => Self { digit: 1.0, exponent },
            small if small <= 2.0 => Self { digit: 2.0, exponent },
            small if small <= 5.0 => Self { digit: 5.0, exponent },
            _ => Self { digit: 1.0, exponent: exponent + 1 },
        }
    }

    /// The multiple of the step, as close to its decimal digits as a number can be.
    fn multiple(self, count: f64) -> TickValue {
        let value = if self.exponent < 0 {
            count * self.digit / power(-self.exponent)
        } else {
            count * self.digit * power(self.exponent)
        };
        TickValue { value: if value == 0.0 { 0.0 } else { value }, exponent: self.exponent }
    }

    fn between(self, low: f64, high: f64) -> Vec<TickValue> {
        let size = self.multiple(1.0).value;
        // A hair of tolerance, so that an end on a tick keeps its tick.
        let (first, last) = ((low / size - 1e-9).ceil(), (high / size + 1e-9).floor());
        let count = (last - first + 1.0).max(0.0) as usize;
        (0..count).map(|index| self.multiple(first + index as f64)).collect()
    }

    fn around(self, low: f64, high: f64) -> Vec<TickValue> {
        let size = self.multiple(1.0).value;
        let (first, last) = ((low / size + 1e-9).floor(), (high / size - 1e-9).ceil());
        let count = (last - first).max(1.0) as usize;
        (0..=count).map(|index| self.multiple(first + index as f64)).collect()
    }
}

fn power(exponent: i32) -> f64 {
    // Exact for every power that a number can hold exactly, unlike powi.
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}

fn logarithmic(low: f64, high: f64, wanted: usize) -> Axis {
    let (low, high) = if low > 0.0 && low <= high && high.is_finite() { (low, high) } else { (1.0, 10.0) };
    let (low, high) = (low.clamp(SMALLEST, LARGEST), high.clamp(SMALLEST, LARGEST));
    let (low, high) = if high / low < 1.01 { (low / 1.5, high * 1.5) } else { (low, high) };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (last - first).max(1) as usize;
    let digits: &[f64] = match decades {
        1 => &[1.0, 2.0, 3.0, 5.0],
        few if few * 3 <= wanted + 2 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let stride = if digits.len() > 1 { 1 } else { decades.div_ceil(wanted.max(1)) };
    let mut ticks: Vec<TickValue> = (first..=last + stride as i32)
        .step_by(stride)
        .flat_map(|exponent| {
            digits.iter().map(move |digit| TickValue { value: digit * power(exponent), exponent })
        })
        .filter(|tick| tick.value.is_finite())
        .collect();
    // One tick at or below the range, one at or above it, nothing further out.
    let begin = ticks.iter().rposition(|tick| tick.value <= low * (1.0 + 1e-12)).unwrap_or(0);
    let end = ticks.iter().position(|tick| tick.value >= high * (1.0 - 1e-12)).unwrap_or(ticks.len() - 1);
    ticks.truncate(end + 1);
    ticks.drain(..begin.min(end));
    let (low, high) = (low.min(ticks[0].value), high.max(ticks[ticks.len() - 1].value));
    // Each has a step of its own: the power of ten it is a multiple of.
    let ticks = ticks.iter().map(|tick| Tick { value: tick.value, label: label(*tick, tick.value) });
    Axis { low, high, scale: Scale::Logarithmic, ticks: ticks.collect() }
}

fn labelled(places: &[TickValue]) -> Vec<Tick> {
    let largest = places.iter().map(|place| place.value.abs()).fold(0.0, f64::max);
    places.iter().map(|place| Tick { value: place.value, label: label(*place, largest) }).collect()
}

/// A tick's text, with as many digits as its step has. `largest` is the
/// largest number on the axis: thousands are cut short only where there are
/// tens of them.
fn label(place: TickValue, largest: f64) -> String {
    const UNITS: [(f64, i32, &str); 4] = [(1e12, 12, "T"), (1e9, 9, "G"), (1e6, 6, "M"), (1e3, 3, "k")];
    let TickValue { value, exponent } = place;
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    if size == 0.0 {
        return "0".to_owned();
    }
    if largest >= 1e15 || exponent < -5 {
        let digits = (size.log10().floor() as i32 - exponent).clamp(0, 15) as usize;
        let text = format!("{size:.digits$e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{sign}{}e{}", trimmed(digits), typeset(power));
    }
    if largest >= 1e4
        && let Some((unit, zeros, letter)) = UNITS.iter().find(|(unit, ..)| size >= *unit)
    {
        let digits = (zeros - exponent).max(0) as usize;
        return format!("{sign}{}{letter}", trimmed(&format!("{:.digits$}", size / unit)));
    }
    let digits = (-exponent).max(0) as usize;
    format!("{sign}{size:.digits$}")
}

/// A number in a sentence: four digits, thousands cut short.
pub fn short_number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor() as i32 - 3;
    let unit = power(exponent);
    let rounded = if unit.is_normal() { (value / unit).round() * unit } else { value };
    let text = label(TickValue { value: rounded, exponent }, rounded.abs());
    if text.contains(['e', 'k', 'M', 'G', 'T']) { text } else { trimmed(&text).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_read_well() {
        let check = |low: f64, high: f64, expect: &[&str]| {
            assert_eq!(labels(&Axis::tight(low, high, 5)), expect, "{low} to {high}");
        };
        check(0.0, 100_000.0, &["0", "20k", "40k", "60k", "80k", "100k"]);
        check(0.0, 1_500_000.0, &["0", "500k", "1M", "1.5M"]);
        check(0.0, 500.0, &["0", "100", "200", "300", "400", "500"]);
        check(0.0, 1.0, &["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        check(-1500.0, -100.0, &["−1500", "−1000", "−500"]);
        check(1024.0, 98_000.0, &["20k", "40k", "60k", "80k"]);
        check(0.0, 2e-7, &["0", "5e−8", "1e−7", "1.5e−7", "2e−7"]);
        check(0.0, 3e18, &["0", "1e18", "2e18", "3e18"]);
        check(0.000_9, 0.001_1, &["0.00090", "0.00095", "0.00100", "0.00105", "0.00110"]);
    }

    #[test]
    fn rounded_axes_begin_and_end_with_a_tick() {
        let axis = Axis::rounded(19.3, 487.0, 5, Scale::Linear);
        assert_eq!((axis.low, axis.high), (0.0, 500.0));
        let axis = Axis::rounded(0.002, 37.0, 6, Scale::Logarithmic);
        assert_eq!(labels(&axis), ["0.001", "0.01", "0.1", "1", "10", "100"]);
        let axis = Axis::rounded(12.0, 45.0, 6, Scale::Logarithmic);
        assert_eq!(labels(&axis), ["10", "20", "30", "50"]);
    }

    #[test]
    fn a_range_without_length_gets_some() {
        for (low, high) in [(3.0, 3.0), (0.0, 0.0), (f64::NAN, 1.0), (5.0, -5.0), (1e-310, 1e-310)] {
            let axis = Axis::rounded(low, high, 5, Scale::Linear);
            assert!(axis.low < axis.high && axis.ticks.len() >= 2, "{low} {high} {axis:?}");
        }
        let axis = Axis::tight(7.0, 7.0, 5);
        assert!((axis.part(7.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn numbers_in_sentences_are_short() {
        let numbers = [0.0, 475.0, -110.0, 0.7, 123_456.0, 1e6, 0.000_123_44, 2e-9, f64::NAN];
        let shown = ["0", "475", "−110", "0.7", "123.5k", "1M", "1.234e−4", "2e−9", "NaN"];
        assert_eq!(numbers.map(short_number), shown);
    }

    fn any_number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -1e6..1e6f64,
            2 => -1.0..1.0f64,
            2 => proptest::num::f64::ANY,
            1 => Just(0.0),
            1 => (-300i32..300).prop_map(|exponent| 10f64.powi(exponent)),
        ]
    }

    fn check(axis: &Axis, wanted: usize) -> Result<(), TestCaseError> {
        prop_assert!(axis.low.is_finite() && axis.high.is_finite() && axis.low < axis.high, "{:?}", axis);
        prop_assert!(axis.ticks.len() <= 3 * wanted + 6, "{:?}", axis);
        for pair in axis.ticks.windows(2) {
            prop_assert!(pair[0].value < pair[1].value, "{:?}", axis);
            prop_assert!(pair[0].label != pair[1].label, "{:?}", axis);
        }
        for tick in &axis.ticks {
            let part = axis.part(tick.value);
            prop_assert!((-1e-6..=1.0 + 1e-6).contains(&part), "{:?}", axis);
            prop_assert!(!tick.label.is_empty() && tick.label.chars().count() <= 24, "{:?}", axis);
            // The label is the number, up to the digits that a step has.
            let plain = tick.label.replace('−', "-");
            let (digits, unit) = match plain.chars().last() {
                Some('k') => (&plain[..plain.len() - 1], 1e3),
                Some('M') => (&plain[..plain.len() - 1], 1e6),
                Some('G') => (&plain[..plain.len() - 1], 1e9),
                Some('T') => (&plain[..plain.len() - 1], 1e12),
                _ => (plain.as_str(), 1.0),
            };
            let read: f64 = digits.parse::<f64>().unwrap() * unit;
            let tolerance = tick.value.abs() * 1e-9 + (axis.high - axis.low) * 1e-3;
            prop_assert!((read - tick.value).abs() <= tolerance, "{} {:?}", read, axis);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_range_has_an_axis(a in any_number(), b in any_number(), wanted in 1usize..12) {
            let (low, high) = if a <= b { (a, b) } else { (b, a) };
            let tight = Axis::tight(low, high, wanted);
            check(&tight, wanted)?;
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let axis = Axis::rounded(low, high, wanted, scale);
                check(&axis, wanted)?;
                prop_assert!(axis.ticks.len() >= 2, "{:?}", axis);
                let covers = low.is_finite() && high.is_finite() && low.abs().max(high.abs()) <= LARGEST
                    && (scale == Scale::Linear || low >= SMALLEST);
                if covers {
                    let hair = (axis.high - axis.low) * 1e-6;
                    prop_assert!(axis.low <= low + hair && axis.high >= high - hair, "{:?}", axis);
                    if low.abs().max(high.abs()) >= SMALLEST {
                        prop_assert!(axis.part(low) >= -1e-6 && axis.part(high) <= 1.0 + 1e-6);
                    }
                }
            }
        }

        #[test]
        fn any_number_can_be_said(value in any_number()) {
            let said = short_number(value);
            prop_assert!(!said.is_empty() && said.chars().count() <= 14, "{}", said);
        }
    }
}
