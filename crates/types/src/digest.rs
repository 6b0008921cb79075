//! Content digests: blake3, written as 64 lower-case hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The blake3 digest of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Debug, thiserror::Error)]
#[error("not a digest of 64 hexadecimal digits: {0:?}")]
pub struct NotADigest(String);

impl Digest {
    /// What stands where there is nothing to take a digest of.
    pub const ZERO: Self = Self([0; 32]);

    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of `parts` one after another.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// A digest from its raw bytes, as an incremental hasher gives them.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first 12 digits: enough to recognise, short enough to read.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).expect("hexadecimal digits are ASCII"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

/// All bits for yes, none for no.
fn mask(is: bool) -> u8 {
    u8::from(is).wrapping_neg()
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Ledgers hold tens of thousands of digests, so nothing here branches on a single digit or looks into a table:
        // both loops become a few instructions on 16 bytes at a time.
        let parse = || {
            let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
            let mut values = [0; 64];
            let mut wrong = 0;
            for (value, byte) in values.iter_mut().zip(digits) {
                let (figure, letter) = (byte.wrapping_sub(b'0'), byte.wrapping_sub(b'a'));
                let (is_figure, is_letter) = (mask(figure < 10), mask(letter < 6));
                *value = figure & is_figure | letter.wrapping_add(10) & is_letter;
                wrong |= !(is_figure | is_letter);
            }
            let mut bytes = [0; 32];
            for (byte, pair) in bytes.iter_mut().zip(values.chunks_exact(2)) {
                *byte = pair[0] << 4 | pair[1];
            }
            (wrong == 0).then_some(Self(bytes))
        };
        parse().ok_or_else(|| NotADigest(text.to_owned()))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl serde::de::Visitor<'_> for Text {
            type Value = Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a digest of 64 hexadecimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let digest = Digest::of(b"rlx");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
        assert!("abc".parse::<Digest>().is_err());
    }

    #[test]
    fn sixty_four_digits_and_nothing_else() {
        let text = Digest::of(b"rlx").to_string();
        for at in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = byte;
                let Ok(changed) = String::from_utf8(bytes) else { continue };
                let is_digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                let parsed = changed.parse::<Digest>();
                assert_eq!(parsed.is_ok(), is_digit, "{changed:?}");
                if let Ok(digest) = parsed {
                    assert_eq!(digest.to_string(), changed);
                }
            }
        }
        assert!(text[1..].parse::<Digest>().is_err());
        assert!(format!("{text}0").parse::<Digest>().is_err());
    }
}
