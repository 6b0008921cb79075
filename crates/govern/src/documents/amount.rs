//! Amounts as people write them: `2h`, `90s`, `1h30m`, `5GiB`. Kept as whole seconds and bytes, so that budgets add
//! up exactly; written back in the largest unit that is exact.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A span of time in whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seconds(pub u64);

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

/// The text is not an amount of this kind.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is not {what}")]
pub struct NotAnAmount {
    text: String,
    what: &'static str,
}

const TIMES: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
const SIZES: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const TIME_WORDS: &str = "a time such as 90s, 30m, 2h or 1h30m";
const SIZE_WORDS: &str = "a size such as 512MiB or 5GiB";

impl FromStr for Seconds {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        parts(text, &TIMES).map(Self).ok_or_else(|| NotAnAmount { text: text.into(), what: TIME_WORDS })
    }
}

impl FromStr for Bytes {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        parts(text, &SIZES).map(Self).ok_or_else(|| NotAnAmount { text: text.into(), what: SIZE_WORDS })
    }
}

/// Numbers with units, each unit smaller than the one before.
fn parts(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (mut rest, mut total, mut next) = (text, 0u64, 0);
    if text == "0" {
        return Some(0);
    }
    while !rest.is_empty() || next == 0 {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let unit = units.iter().skip(next).position(|(name, _)| *name == &rest[..letters])? + next;
        rest = &rest[letters..];
        total = total.checked_add(number.checked_mul(units[unit].1)?)?;
        next = unit + 1;
    }
    Some(total)
}

fn show(amount: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (name, size) = units
        .iter()
        .find(|(_, size)| amount > 0 && amount.is_multiple_of(*size))
        .unwrap_or(&units[units.len() - 1]);
    write!(f, "{}{name}", amount / size)
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, &TIMES, f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, &SIZES, f)
    }
}

macro_rules! as_text {
    ($type:ident, $words:expr, $example:expr) => {
        impl TryFrom<String> for $type {
            type Error = NotAnAmount;

            fn try_from(text: String) -> Result<Self, NotAnAmount> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(amount: $type) -> Self {
                amount.to_string()
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $words, "examples": [$example] })
            }
        }
    };
}

as_text!(Seconds, TIME_WORDS, "2h");
as_text!(Bytes, SIZE_WORDS, "5GiB");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_as_people_write_them() {
        let seconds = |text: &str| text.parse::<Seconds>().map(|amount| amount.0).ok();
        assert_eq!(seconds("1h30m"), Some(5400));
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("2d"), Some(172_800));
        assert_eq!(seconds("0"), Some(0));
        for wrong in ["", "h", "1", "1h1h", "30m1h", "-1h", "1.5h", "1 h", "99999999999999999999d", "1H"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        assert_eq!("5GiB".parse::<Bytes>().unwrap().0, 5 << 30);
        assert!("5GB".parse::<Bytes>().unwrap_err().to_string().contains("5GiB"));
    }

    proptest! {
        #[test]
        fn shown_and_read_again(amount in any::<u64>()) {
            prop_assert_eq!(Seconds(amount).to_string().parse::<Seconds>().unwrap(), Seconds(amount));
            prop_assert_eq!(Bytes(amount).to_string().parse::<Bytes>().unwrap(), Bytes(amount));
        }
    }
}
