//! Numbers as people read them: every table, sentence and picture takes its
//! digits from here, so that a rule about digits exists once.

/// How a kind of text shows numbers.
struct Style {
    /// Sizes from and below which no exponent is needed; zero never needs one.
    plain: (f64, f64),
    /// Digits after the point where there is an exponent.
    with_exponent: usize,
    decimals: Decimals,
    /// Whether zeros after the last digit that counts are left out.
    trim: bool,
    /// Whole numbers with their thousands set apart from this size on.
    grouped_from: f64,
    infinity: &'static str,
}

/// How many digits follow the point.
enum Decimals {
    /// As many as make `digits` that count, at most `most`.
    Significant { digits: i32, most: i32 },
    /// Those of the first size that is reached, otherwise the last number.
    BySize(&'static [(f64, usize)], usize),
}

const PLAIN: Style = Style {
    plain: (0.0, f64::INFINITY),
    with_exponent: 2,
    decimals: Decimals::BySize(&[], 2),
    trim: false,
    grouped_from: f64::INFINITY,
    infinity: "inf",
};

/// A number in a sentence: as many digits as a reader compares, `498.2`,
/// `0.731`, `12,346`.
pub fn number(value: f64) -> String {
    const SIZES: &[(f64, usize)] = &[(99.95, 1), (0.9995, 2), (0.01, 3)];
    let decimals = Decimals::BySize(SIZES, 4);
    let plain = (1e-3, 1e9);
    Style { plain, decimals, trim: true, grouped_from: 9999.5, infinity: "infinity", ..PLAIN }.show(value)
}

/// Four significant digits, for numbers that may be as small as p values:
/// `0.004322`, `95`, `12346`.
pub fn significant(value: f64) -> String {
    let decimals = Decimals::Significant { digits: 4, most: 8 };
    Style { plain: (1e-5, 1e10), with_exponent: 3, decimals, trim: true, ..PLAIN }.show(value)
}

/// A measured value beside its threshold: four digits, at most four of them
/// after the point.
pub fn four_digits(value: f64) -> String {
    const SIZES: &[(f64, usize)] = &[(1000.0, 0), (100.0, 1), (10.0, 2), (1.0, 3)];
    Style { plain: (1e-3, 1e6), decimals: Decimals::BySize(SIZES, 4), trim: true, ..PLAIN }.show(value)
}

/// A value of any metric in a column: four digits, zeros kept so that columns
/// line up.
pub fn measure(value: f64) -> String {
    let decimals = Decimals::Significant { digits: 4, most: 6 };
    Style { plain: (1e-4, 1e7), decimals, ..PLAIN }.show(value)
}

/// A return in a column: as many digits as tell policies apart.
pub fn score(value: f64) -> String {
    // A score is never cut down to a bare 0: it lines up with its neighbours.
    const SIZES: &[(f64, usize)] = &[(100.0, 1), (1.0, 2)];
    let style = Style { decimals: Decimals::BySize(SIZES, 3), ..PLAIN };
    if value == 0.0 { "0.000".to_owned() } else { style.show(value) }
}

/// A value of any metric or score in a report's column.
pub fn report_number(value: f64) -> String {
    const SIZES: &[(f64, usize)] = &[(100.0, 1), (1.0, 2)];
    let decimals = Decimals::BySize(SIZES, 4);
    Style { plain: (1e-4, 1e7), with_exponent: 3, decimals, ..PLAIN }.show(value)
}

impl Style {
    fn show(&self, value: f64) -> String {
        let size = value.abs();
        if value.is_nan() {
            return "NaN".to_owned();
        }
        if size.is_infinite() {
            return format!("{}{}", if value < 0.0 { "-" } else { "" }, self.infinity);
        }
        if size == 0.0 {
            return "0".to_owned();
        }
        if !(self.plain.0..self.plain.1).contains(&size) {
            return format!("{value:.*e}", self.with_exponent);
        }
        if size >= self.grouped_from {
            let sign = if value < 0.0 { "-" } else { "" };
            return format!("{sign}{}", grouped(value.round().abs() as u64));
        }
        let decimals = match self.decimals {
            Decimals::Significant { digits, most } => {
                (digits - 1 - size.log10().floor() as i32).clamp(0, most) as usize
            }
            Decimals::BySize(sizes, otherwise) => {
                sizes.iter().find(|(from, _)| size >= *from).map_or(otherwise, |(_, decimals)| *decimals)
            }
        };
        let text = format!("{value:.decimals$}");
        let text = if self.trim { trimmed(&text) } else { &text };
        // What rounds to nothing has no sign.
        let is_zero = !text.contains(|digit: char| ('1'..='9').contains(&digit));
        text.strip_prefix('-').filter(|_| is_zero).unwrap_or(text).to_owned()
    }
}

/// A count with its thousands set apart: `12,345,678`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,024`, or `1,024 to 20,480`.
pub fn between(low: u64, high: u64) -> String {
    if low == high { grouped(low) } else { format!("{} to {}", grouped(low), grouped(high)) }
}

/// `step 1,024`, or `steps 1,024 to 20,480`.
pub fn steps(from: u64, to: u64) -> String {
    if from == to {
        format!("step {}", grouped(from))
    } else {
        format!("steps {} to {}", grouped(from), grouped(to))
    }
}

/// Decimal digits without the zeros after the last that counts: `1.500` as `1.5`.
pub fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `value` rounded to this many significant digits, as a person would write a setting.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// The fewest digits that read back to the same bits, as every reader of YAML
/// takes them. Those of YAML 1.1 take an exponent only after a point and with
/// its sign, so both are added.
pub fn yaml_number(value: f64) -> String {
    let shortest = format!("{value:?}");
    match shortest.split_once('e') {
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!("{mantissa}{point}e{sign}{exponent}")
        }
        None => shortest,
    }
}

/// Digits with the minus sign that pictures use instead of a hyphen.
pub fn typeset(digits: &str) -> String {
    digits.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shown: fn(f64) -> String, cases: &[(f64, &str)]) {
        for (value, expected) in cases {
            assert_eq!(shown(*value), *expected, "{value:e}");
        }
    }

    #[test]
    fn each_kind_of_text_has_its_digits() {
        check(
            number,
            &[
                (0.0, "0"),
                (500.0, "500"),
                (498.2471, "498.2"),
                (-87.254, "-87.25"),
                (0.7312, "0.731"),
                (0.0051, "0.0051"),
                (1.25e-5, "1.25e-5"),
                (1_234_567.0, "1,234,567"),
                (-12_345.6, "-12,346"),
                (9999.4, "9999.4"),
                (f64::NAN, "NaN"),
                (f64::NEG_INFINITY, "-infinity"),
            ],
        );
        check(
            significant,
            &[
                (0.0, "0"),
                (-0.0, "0"),
                (95.0, "95"),
                (0.004_321_9, "0.004322"),
                (12_345.678, "12346"),
                (-1.5, "-1.5"),
                (1.2e-9, "1.200e-9"),
                (f64::INFINITY, "inf"),
            ],
        );
        check(
            four_digits,
            &[
                (0.0, "0"),
                (0.02, "0.02"),
                (0.12345, "0.1235"),
                (1.5, "1.5"),
                (123.456, "123.5"),
                (54_321.0, "54321"),
                (3.2e7, "3.20e7"),
                (1.2e-5, "1.20e-5"),
                (-0.00001, "-1.00e-5"),
                (f64::NAN, "NaN"),
            ],
        );
        check(
            measure,
            &[
                (0.0, "0"),
                (499.62, "499.6"),
                (12_345.6, "12346"),
                (0.012_345, "0.01235"),
                (-1.5, "-1.500"),
                (3.2e-7, "3.20e-7"),
                (8.1e9, "8.10e9"),
            ],
        );
        check(
            score,
            &[
                (500.0, "500.0"),
                (-87.25, "-87.25"),
                (0.7312, "0.731"),
                (0.0, "0.000"),
                (1e12, "1000000000000.0"),
            ],
        );
        check(
            report_number,
            &[(0.0, "0"), (123.45, "123.5"), (1.5, "1.50"), (0.25, "0.2500"), (5e-5, "5.000e-5")],
        );
    }

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        assert_eq!(score(-0.0001), "0.000");
        assert_eq!(score(-0.0), "0.000");
        assert_eq!(measure(-0.0), "0");
    }

    #[test]
    fn counts_and_steps_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(
            (steps(1024, 1_000_000), steps(7, 7)),
            ("steps 1,024 to 1,000,000".into(), "step 7".into())
        );
    }

    #[test]
    fn digits_are_cut_and_written_to_be_read_back() {
        assert_eq!(["1.500", "100", "2.", "0.0"].map(trimmed), ["1.5", "100", "2", "0"]);
        assert_eq!((rounded(0.000_312_345, 3), rounded(123_456.0, 4)), (0.000_312, 123_500.0));
        assert!(rounded(f64::NAN, 3).is_nan());
        let written = [0.001, 1e-6, 1.5e300, 1.0, -0.1].map(yaml_number);
        assert_eq!(written, ["0.001", "1.0e-6", "1.5e+300", "1.0", "-0.1"]);
        for value in [0.1 + 0.2, 1e-7, f64::MAX, 5e-324] {
            assert_eq!(yaml_number(value).parse::<f64>().unwrap(), value);
        }
        assert_eq!(typeset("-1.5e-7"), "−1.5e−7");
    }
}
