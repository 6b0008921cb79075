//! The fast path through a line of metrics: bytes exactly as the writer writes them, with names that were seen
//! before. Anything else, however slightly it differs, is left to the JSON parser, which alone decides what is
//! damaged.
//!
//! What this accepts, the parser accepts too, with the same values; the property tests of damaged files compare the
//! two.

use super::record::number_of_text;

/// A position in a line. Every method that returns `None` leaves the line to the parser.
pub(super) struct Scan<'l> {
    bytes: &'l [u8],
    at: usize,
}

/// A value, parsed as far as it matters.
pub(super) enum Scanned<'l> {
    /// A number.
    Number(Digits<'l>),
    /// A text in quotes without escapes, or a word such as `true`.
    Other(&'l [u8]),
}

/// The text of a number, by JSON's grammar.
pub(super) struct Digits<'l> {
    text: &'l [u8],
    /// Where the digits before the point end.
    whole: usize,
    /// Whether a power of ten follows.
    power: bool,
}

impl<'l> Scan<'l> {
    pub(super) fn new(bytes: &'l [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Skips `expected`.
    #[inline(always)]
    pub(super) fn skip(&mut self, expected: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(expected).then(|| self.at += expected.len())
    }

    /// Skips a key.
    #[inline(always)]
    pub(super) fn skip_key(&mut self, key: &Key) -> Option<()> {
        let Some(here) = self.bytes[self.at..].first_chunk::<32>() else { return self.skip(&key.text) };
        let here = words(here);
        let other = ((here[0] ^ key.words[0]) & key.masks[0]) | ((here[1] ^ key.words[1]) & key.masks[1]);
        (other == 0).then(|| self.at += key.text.len())
    }

    /// The next byte.
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Whether this is the end of the line.
    pub(super) fn at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// A whole number as the writer writes it.
    pub(super) fn count(&mut self) -> Option<u64> {
        let begin = self.at;
        self.digits();
        let digits = &self.bytes[begin..self.at];
        // Nineteen digits always fit.
        if digits.is_empty() || digits.len() > 19 || (digits[0] == b'0' && digits.len() > 1) {
            return None;
        }
        Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
    }

    /// A text in quotes, without escapes and of plain letters.
    pub(super) fn text(&mut self) -> Option<&'l [u8]> {
        self.skip(b"\"")?;
        let begin = self.at;
        let rest = &self.bytes[begin..];
        let end = rest.iter().position(|byte| !matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~'))?;
        self.at += end;
        self.skip(b"\"")?;
        Some(&rest[..end])
    }

    /// Any value that is not a list or an object.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Option<Scanned<'l>> {
        match self.bytes.get(self.at)? {
            b'-' | b'0'..=b'9' => self.number().map(Scanned::Number),
            b'"' => self.text().map(Scanned::Other),
            b't' => self.skip(b"true").map(|()| Scanned::Other(b"true")),
            b'f' => self.skip(b"false").map(|()| Scanned::Other(b"false")),
            b'n' => self.skip(b"null").map(|()| Scanned::Other(b"null")),
            _ => None,
        }
    }

    #[inline(always)]
    fn number(&mut self) -> Option<Digits<'l>> {
        let begin = self.at;
        self.at += usize::from(self.bytes[self.at] == b'-');
        match self.bytes.get(self.at)? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        let whole = self.at - begin;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        let power = matches!(self.bytes.get(self.at), Some(b'e' | b'E'));
        if power {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Some(Digits { text: &self.bytes[begin..self.at], whole, power })
    }

    #[inline(always)]
    fn some_digits(&mut self) -> Option<()> {
        let begin = self.at;
        self.digits();
        (self.at > begin).then_some(())
    }

    /// Skips digits. Numbers have around sixteen, sometimes more, sometimes fewer: up to twenty-three are counted
    /// without a branch that could be mispredicted.
    #[inline(always)]
    fn digits(&mut self) {
        while let Some(bytes) = self.bytes[self.at..].first_chunk::<32>() {
            let (first, second) = bytes.split_at(16);
            let of =
                |half: &[u8]| others(u128::from_le_bytes(half.try_into().expect("half of 32 bytes is 16")));
            let (first, second) = (of(first), of(second));
            let in_second = 16 + second.trailing_zeros() / 8;
            let count = if first == 0 { in_second } else { first.trailing_zeros() / 8 };
            self.at += count as usize;
            if count < 32 {
                return;
            }
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

/// Zero in each byte that is a digit, up to and including the first that is not; beyond that, a byte may be anything.
#[inline(always)]
fn others(bytes: u128) -> u128 {
    const UPPER: u128 = u128::from_ne_bytes([0xf0; 16]);
    const DIGIT: u128 = u128::from_ne_bytes([0x30; 16]);
    const SIX: u128 = u128::from_ne_bytes([0x06; 16]);
    // A digit has 3 as its upper half, and still has it with 6 added. A carry from one byte into the next comes from
    // a byte that is not a digit.
    ((bytes & UPPER) ^ DIGIT) | ((bytes.wrapping_add(SIX) & UPPER) ^ DIGIT)
}

impl Scanned<'_> {
    /// The value as a number: `Some(None)` if it is not one, and `None` if the parser has to decide.
    pub(super) fn number(&self) -> Option<Option<f64>> {
        match self {
            // Beyond the largest number, the parser decides.
            Self::Number(digits) => digits.float().filter(|value| value.is_finite()).map(Some),
            Self::Other(text) => Some(std::str::from_utf8(text).ok().and_then(number_of_text)),
        }
    }
}

/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Digits<'_> {
    /// The number, rounded to the nearest.
    #[inline(always)]
    fn float(&self) -> Option<f64> {
        self.plain().or_else(|| std::str::from_utf8(self.text).ok()?.parse().ok())
    }

    /// A decimal whose digits and power of ten are floats themselves: dividing them rounds once, so the result is
    /// exact to the last bit.
    #[inline(always)]
    fn plain(&self) -> Option<f64> {
        let (whole, fraction) = self.text.split_at(self.whole);
        let fraction = fraction.get(1..).unwrap_or_default();
        let negative = whole[0] == b'-';
        // Nineteen digits always fit.
        if self.power || whole.len() + fraction.len() > 19 {
            return None;
        }
        let mantissa = decimal(decimal(0, &whole[usize::from(negative)..]), fraction);
        if mantissa > 1 << 53 {
            return None;
        }
        let value = mantissa as f64 / POWERS[fraction.len()];
        Some(if negative { -value } else { value })
    }
}

/// Appends the digits to those of `value`, eight at a time.
#[inline(always)]
fn decimal(mut value: u64, digits: &[u8]) -> u64 {
    let (words, rest) = digits.as_chunks::<8>();
    for word in words {
        // Neighbours become pairs, pairs become fours, fours become the eight.
        let ones = u64::from_le_bytes(*word) & 0x0f0f_0f0f_0f0f_0f0f;
        let pairs = (ones.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
        value = value.wrapping_mul(100_000_000).wrapping_add(fours.wrapping_mul(42_949_672_960_001) >> 32);
    }
    rest.iter().fold(value, |value, digit| value.wrapping_mul(10).wrapping_add(u64::from(digit & 0x0f)))
}

/// A short text that is searched often: padded, so that it is compared in two words whatever its length.
pub(super) struct Key {
    text: Vec<u8>,
    words: [u128; 2],
    masks: [u128; 2],
}

impl Key {
    /// The key of a value called `name`, as it appears in a line; `None` if the name needs escapes or is too long.
    pub(super) fn for_name(name: &str) -> Option<Self> {
        let plain = name.bytes().all(|byte| !matches!(byte, b'"' | b'\\' | ..=0x1f));
        let text = format!("\"{name}\":").into_bytes();
        let mut padded = [0; 32];
        padded.get_mut(..text.len()).filter(|_| plain)?.copy_from_slice(&text);
        let masks = std::array::from_fn(|word| {
            let bytes = text.len().saturating_sub(16 * word).min(16);
            if bytes == 16 { u128::MAX } else { (1 << (8 * bytes)) - 1 }
        });
        Some(Self { text, words: words(&padded), masks })
    }
}

#[inline(always)]
fn words(bytes: &[u8; 32]) -> [u128; 2] {
    std::array::from_fn(|word| {
        u128::from_le_bytes(bytes[16 * word..16 * (word + 1)].try_into().expect("half of 32 bytes is 16"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<f64> {
        let mut scan = Scan::new(text.as_bytes());
        let value = scan.value()?;
        scan.at_end().then(|| value.number())??
    }

    #[test]
    fn numbers_are_those_of_the_parser() {
        for text in [
            "0",
            "-0",
            "-0.0",
            "7",
            "0.1",
            "123456789",
            "1234567.12345678",
            "12345678.1",
            "0.8374628374628374",
            "1e5",
            "1.5E-7",
            "2.5e+3",
            "1.7976931348623157e308",
            "5e-324",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "9007199254740992",
            "9007199254740993",
            "0.9007199254740992",
            "0.9007199254740993",
            "-0.12345678901234567",
            "123456789012345678.9",
            "0.0000000000000000001",
            "1234567890123456789",
        ] {
            let parsed: f64 = serde_json::from_str(text).unwrap();
            assert_eq!(number(text).map(f64::to_bits), Some(parsed.to_bits()), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_left_to_the_parser() {
        for text in [
            "",
            "-",
            "00",
            "01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "1e999",
            "0x1",
            "1_0",
            "--1",
            "1:",
            "1/",
            "12345678/",
            "1234567:",
            "123456789/",
            "[1]",
            "{}",
            "nul",
            "tru",
            "\"a\\n\"",
            "\"ä\"",
            "\"a",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        assert!(number("\"NaN\"").unwrap().is_nan());
        assert_eq!(number("\"-inf\""), Some(f64::NEG_INFINITY));
    }

    #[test]
    fn only_the_very_key_is_passed() {
        let name = "observation_least_deviation!!";
        for length in 0..=name.len() {
            let key = Key::for_name(&name[..length]).unwrap();
            for padding in [0, 40] {
                let line = [format!("\"{}\":", &name[..length]).into_bytes(), vec![b'x'; padding]].concat();
                let mut scan = Scan::new(&line);
                assert!(scan.skip_key(&key).is_some() && scan.at == length + 3);
                for place in 0..length + 3 {
                    let mut other = line.clone();
                    other[place] ^= 1;
                    assert!(Scan::new(&other).skip_key(&key).is_none(), "{length} {place}");
                }
            }
        }
        assert!(Key::for_name("a name that is longer than any name is").is_none());
        assert!(
            Key::for_name("a\"b").is_none()
                && Key::for_name("a\\b").is_none()
                && Key::for_name("a\nb").is_none()
        );
    }

    #[test]
    fn digits_are_counted_however_many_there_are() {
        for count in 1..70 {
            for behind in ["", ",", "/", ":", "e", "\u{ff}"] {
                for padding in [0, 40] {
                    let line = format!("{}{behind}{}", "7".repeat(count), "x".repeat(padding));
                    let mut scan = Scan::new(line.as_bytes());
                    scan.digits();
                    assert_eq!(scan.at, count, "{line}");
                }
            }
        }
    }

    #[test]
    fn whole_numbers_have_no_leading_zero_and_fit() {
        let count = |text: &str| Scan::new(text.as_bytes()).count();
        assert_eq!(
            [count("0"), count("42,"), count("9999999999999999999")],
            [Some(0), Some(42), Some(9_999_999_999_999_999_999)]
        );
        assert_eq!([count(""), count("042"), count("-1"), count("18446744073709551615")], [None; 4]);
    }
}
