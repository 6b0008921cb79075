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
    /// Used where there is nothing to take a digest of.
    pub const ZERO: Self = Self([0; 32]);

    /// The digest of `bytes`.
    pub fn hash(bytes: &[u8]) -> Self {
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

    /// The digest of pieces that come one after another, until one is missing.
    pub fn of_pieces<E>(mut next: impl FnMut() -> Result<Option<Vec<u8>>, E>) -> Result<Self, E> {
        let mut hasher = blake3::Hasher::new();
        while let Some(piece) = next()? {
            hasher.update(&piece);
        }
        Ok(Self(*hasher.finalize().as_bytes()))
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

/// One in each of eight bytes.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The four bytes that eight hexadecimal digits stand for, and for each of the eight whether it is such a digit, as the
/// highest bit of its byte.
fn eight_digits(digits: [u8; 8]) -> ([u8; 4], u64) {
    let all = u64::from_le_bytes(digits);
    // Below 128 nothing is carried from one byte to the next, and a sum reaches 128 where a byte is as large as asked.
    let low = all & (EACH * 0x7f);
    let at_least = |byte: u8| low + EACH * u64::from(0x80 - byte);
    let is_letter = at_least(b'a') & !at_least(b'f' + 1);
    let is_digit = (at_least(b'0') & !at_least(b'9' + 1)) | is_letter;
    let letters = (is_letter >> 7) & EACH;
    let values = (low & (EACH * 0x0f)) + (letters << 3) + letters;
    // Each first digit of two goes before the second, then what is between the bytes goes.
    let pairs = ((values << 4) | (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | (pairs >> 8)) & 0x0000_ffff_0000_ffff;
    let bytes = (fours | (fours >> 16)) as u32;
    (bytes.to_le_bytes(), is_digit & !all)
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Ledgers hold tens of thousands of digests, so eight digits are read at once and nothing branches on one.
        let parse = || {
            let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
            let (eights, _) = digits.as_chunks();
            let mut bytes = [0; 32];
            let mut right = EACH << 7;
            for (four, eight) in bytes.as_chunks_mut().0.iter_mut().zip(eights) {
                let (value, is_right) = eight_digits(*eight);
                *four = value;
                right &= is_right;
            }
            (right == EACH << 7).then_some(Self(bytes))
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
        let digest = Digest::hash(b"rlx");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
        assert!("abc".parse::<Digest>().is_err());
    }

    #[test]
    fn sixty_four_digits_and_nothing_else() {
        let text = Digest::hash(b"rlx").to_string();
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
