//! Numbers as sentences show them.

/// A value with as many digits as a reader compares.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "infinity"
        } else {
            "-infinity"
        }
        .to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    if size >= 9999.5 {
        let whole = value.round();
        let digits = step(whole.abs() as u64);
        return if whole < 0.0 { format!("-{digits}") } else { digits };
    }
    let decimals = match size {
        _ if size >= 99.95 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.01 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    short.to_owned()
}

/// A step with its thousands apart: `12,345,678`.
pub fn step(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `steps 1,024 to 2,048`, or `step 1,024`.
pub(super) fn steps(from: u64, to: u64) -> String {
    if from == to { format!("step {}", step(from)) } else { format!("steps {} to {}", step(from), step(to)) }
}

/// `1 seed`, `5 seeds`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// With a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `3`, `3 and 4`, `3, 4 and 7`; of many the first few.
pub(super) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<String> = items.iter().take(SHOWN).map(T::to_string).collect();
    if items.len() > SHOWN {
        return format!("{} and {} more", shown.join(", "), items.len() - SHOWN);
    }
    match shown.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => shown.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        for (value, expected) in [
            (0.0, "0"),
            (500.0, "500"),
            (498.2471, "498.2"),
            (-87.254, "-87.25"),
            (0.7312, "0.731"),
            (0.0051, "0.0051"),
            (1.25e-5, "1.25e-5"),
            (1_234_567.0, "1,234,567"),
            (-12_345.6, "-12,346"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-infinity"),
        ] {
            assert_eq!(number(value), expected);
        }
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[3, 4, 7]), "3, 4 and 7");
        assert_eq!(list(&[0, 1, 2, 3, 4, 5, 6, 7]), "0, 1, 2, 3, 4, 5 and 2 more");
        assert_eq!(steps(5, 5), "step 5");
        assert_eq!(count(1, "seed"), "1 seed");
    }
}
