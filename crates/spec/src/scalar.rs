//! What a scalar means: YAML's core words, and numbers as people write them.
//!
//! `1_000_000`, `1e6` and `3e-4` are numbers here although YAML libraries
//! disagree about each of them; quoted text is always text.

/// The meaning of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    /// Written without point or exponent.
    Integer(i128),
    Number(f64),
    /// NaN or infinity, or a number too large to hold.
    NotFinite,
    Text,
}

impl Scalar {
    pub(crate) fn parse(text: &str, plain: bool) -> Self {
        if !plain {
            return Scalar::Text;
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
            "true" | "True" | "TRUE" => return Scalar::Bool(true),
            "false" | "False" | "FALSE" => return Scalar::Bool(false),
            _ => {}
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let word = unsigned.strip_prefix('.').unwrap_or(unsigned).to_ascii_lowercase();
        if matches!(word.as_str(), "nan" | "inf" | "infinity") {
            return Scalar::NotFinite;
        }
        number(text, unsigned)
    }
}

fn number(text: &str, unsigned: &str) -> Scalar {
    // A longer run of digits is not a sensible number, and this bounds the work.
    if unsigned.len() > 64 || !looks_like_number(unsigned) {
        return Scalar::Text;
    }
    let digits = text.replace('_', "");
    if let Ok(integer) = digits.parse::<i128>() {
        return Scalar::Integer(integer);
    }
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Scalar::Number(number),
        Ok(_) => Scalar::NotFinite,
        Err(_) => Scalar::Text,
    }
}

/// Digits with single underscores between them, at most one point, at most one exponent.
fn looks_like_number(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_is_fine = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    exponent_is_fine
        && !(whole.is_empty() && fraction.is_empty())
        && [whole, fraction].iter().all(|part| part.is_empty() || are_digits(part))
}

fn are_digits(part: &str) -> bool {
    part.split('_').all(|run| !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Scalar) {
        assert_eq!(Scalar::parse(text, true), expected, "{text:?}");
    }

    #[test]
    fn numbers_as_people_write_them() {
        check("0", Scalar::Integer(0));
        check("-7", Scalar::Integer(-7));
        check("+7", Scalar::Integer(7));
        check("1_000_000", Scalar::Integer(1_000_000));
        check("007", Scalar::Integer(7));
        check("1e6", Scalar::Number(1e6));
        check("3e-4", Scalar::Number(3e-4));
        check("1E+3", Scalar::Number(1e3));
        check(".5", Scalar::Number(0.5));
        check("1.", Scalar::Number(1.0));
        check("1_0.2_5", Scalar::Number(10.25));
        for text in
            ["1__0", "_1", "1_", "1e", "e5", "1.2.3", "0x10", "1e5_0", "--1", "+", ".", "v1", "4x4", "1 2"]
        {
            check(text, Scalar::Text);
        }
        assert_eq!(Scalar::parse("3e-4", false), Scalar::Text);
        check(&"9".repeat(65), Scalar::Text);
    }

    #[test]
    fn words() {
        for text in ["", "~", "null"] {
            check(text, Scalar::Null);
        }
        check("true", Scalar::Bool(true));
        check("False", Scalar::Bool(false));
        check("yes", Scalar::Text);
        for text in [".nan", "NaN", ".inf", "-.Inf", "inf", "-inf", "Infinity", "1e400", "-1e999"] {
            check(text, Scalar::NotFinite);
        }
    }
}
