//! JSON: the value at a pointer, found without building the document.
//!
//! A key that appears twice on the way is reported: which of the two counts would be up to the program that reads it.
//! `NaN`, `Infinity` and `-Infinity`, which Python writes although JSON has none, are read as these numbers.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{MOST_POINTS, Reading, Series, Trouble, quoted, series_for, unread};

/// The longest document that is read.
const LONGEST: u64 = 64 << 20;

/// What is at a place of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// `null`.
    Null,
    /// A number, possibly NaN or infinite.
    Number(f64),
    /// An array of numbers; `null` in it is NaN.
    Numbers(Vec<f64>),
    /// Something else, described.
    Other(String),
    /// The key, which appears twice in one object.
    Twice(String),
}

/// Reads the numbers at some pointers (RFC 6901) of one document.
pub fn read(source: &mut dyn Read, pointers: &[&str]) -> Vec<Reading> {
    let mut bytes = Vec::new();
    let whole = source.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| unread(&error));
    let whole = whole.and_then(|_| match bytes.len() as u64 > LONGEST {
        true => Err(Trouble::unreadable(format!("it is longer than {} MiB", LONGEST >> 20))),
        false => Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)),
    });
    let mut all = series_for(pointers);
    for (pointer, series) in pointers.iter().zip(&mut all) {
        match &whole {
            Ok(bytes) => take(bytes, pointer, series),
            Err(trouble) => series.fail(trouble.clone()),
        }
    }
    all.into_iter().zip(pointers).map(|(series, pointer)| series.finish(|| absent(pointer))).collect()
}

fn absent(pointer: &str) -> String {
    format!("no value at {pointer}")
}

fn take(bytes: &[u8], pointer: &str, series: &mut Series) {
    match at_pointer(bytes, pointer) {
        Err(why) => series.fail(Trouble::unreadable(format!("it is not JSON: {why}"))),
        Ok(Found::Absent) => {}
        Ok(Found::Null) => series.fail(Trouble::missing(format!("{pointer} is null"))),
        Ok(Found::Number(value)) => series.push(None, value),
        Ok(Found::Numbers(values)) => values.into_iter().for_each(|value| series.push(None, value)),
        Ok(Found::Other(what)) => {
            series.fail(Trouble::unreadable(format!("{pointer} is {what}, not a number")));
        }
        Ok(Found::Twice(key)) => series.fail(twice(&key)),
    }
}

pub(super) fn twice(key: &str) -> Trouble {
    Trouble::ambiguous(format!("the key {} appears twice in one object", quoted(key)))
}

/// What is at a JSON pointer. The error says where the document is invalid.
pub(super) fn at_pointer(bytes: &[u8], pointer: &str) -> Result<Found, String> {
    let parts: Vec<String> =
        pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let path: Vec<&str> = parts.iter().map(String::as_str).collect();
    find(bytes, &path)
}

/// What is at a path of keys and indices. The error says where the document is invalid.
pub fn find(bytes: &[u8], path: &[&str]) -> Result<Found, String> {
    // Skipped parts of a document are not checked otherwise.
    std::str::from_utf8(bytes).map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))?;
    parse(bytes, path).or_else(|error| match with_quoted_constants(bytes) {
        Some(quoted) => parse(&quoted, path).map_err(|error| error.to_string()),
        None => Err(error.to_string()),
    })
}

fn parse(bytes: &[u8], path: &[&str]) -> serde_json::Result<Found> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let found = Follow { path }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

/// The document with Python's constants as texts; `None` if it has none outside of texts.
fn with_quoted_constants(bytes: &[u8]) -> Option<Vec<u8>> {
    const CONSTANTS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let (mut out, mut at, mut in_text, mut changed) = (Vec::with_capacity(bytes.len()), 0, false, false);
    while let Some(byte) = bytes.get(at) {
        let constant = CONSTANTS.iter().find(|constant| !in_text && bytes[at..].starts_with(constant));
        if let Some(constant) = constant {
            out.push(b'"');
            out.extend_from_slice(constant);
            out.push(b'"');
            at += constant.len();
            changed = true;
            continue;
        }
        out.push(*byte);
        at += 1;
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if in_text => {
                out.extend(bytes.get(at));
                at += 1;
            }
            _ => {}
        }
    }
    changed.then_some(out)
}

/// The number that programs mean by a text, where JSON or a table has none.
pub(super) fn constant(text: &str) -> Option<f64> {
    match text {
        "NaN" | "nan" => Some(f64::NAN),
        "Infinity" | "inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Follows a path through a document while it is parsed; what is beside the path is skipped.
struct Follow<'p> {
    path: &'p [&'p str],
}

impl Follow<'_> {
    fn here(&self, found: Found) -> Found {
        if self.path.is_empty() { found } else { Found::Absent }
    }
}

impl<'de> DeserializeSeed<'de> for Follow<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Follow<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(self.here(Found::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Found, E> {
        Ok(self.here(Found::Other(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Found, E> {
        Ok(self.here(Found::Number(value as f64)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Found, E> {
        Ok(self.here(Found::Number(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Found, E> {
        Ok(self.here(Found::Number(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Found, E> {
        Ok(self.here(constant(value).map_or_else(|| Found::Other(quoted(value)), Found::Number)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let Some((first, rest)) = self.path.split_first() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Found::Other("an object".to_owned()));
        };
        let mut found = None;
        let mut is_twice = false;
        while let Some(key) = map.next_key::<String>()? {
            if key != *first {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            is_twice |= found.is_some();
            found = Some(map.next_value_seed(Follow { path: rest })?);
        }
        if is_twice {
            return Ok(Found::Twice((*first).to_owned()));
        }
        Ok(found.unwrap_or(Found::Absent))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Found, A::Error> {
        let Some((first, rest)) = self.path.split_first() else { return numbers(items) };
        let wanted: Option<usize> = first.parse().ok();
        let (mut index, mut found) = (0, Found::Absent);
        loop {
            let more = if Some(index) == wanted {
                items.next_element_seed(Follow { path: rest })?.map(|item| found = item)
            } else {
                items.next_element::<IgnoredAny>()?.map(drop)
            };
            if more.is_none() {
                return Ok(found);
            }
            index += 1;
        }
    }
}

fn numbers<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Found, A::Error> {
    let mut values = Vec::new();
    let mut other = None;
    while let Some(item) = items.next_element_seed(Follow { path: &[] })? {
        match item {
            // One more than can be kept is enough to say so.
            _ if values.len() > MOST_POINTS => {}
            Found::Number(value) => values.push(value),
            Found::Null => values.push(f64::NAN),
            Found::Other(what) => other = other.or(Some(what)),
            _ => other = other.or(Some("an array".to_owned())),
        }
    }
    Ok(match other {
        Some(what) => Found::Other(format!("an array with {what}")),
        None => Found::Numbers(values),
    })
}
