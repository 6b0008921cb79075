//! From the tree of a YAML text to JSON values and their locations.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use crate::document::span_tree::{SpanTree, of_item, of_key, shorten};
use crate::problem::{Collector, Problem};
use crate::scalar::Scalar;
use crate::source::Source;
use crate::tree::{Entry, Kind, Node};

/// The value at `node`, which is at `path`. Invalid values are reported and become null.
pub(crate) fn build(
    source: &Source,
    path: &str,
    node: &Node,
    doubtful: Doubtful,
    problems: &mut Collector,
) -> (Value, SpanTree) {
    Builder { source, doubtful, problems }.value(path, node)
}

/// How to treat plain text that YAML parsers disagree about, such as `yes` and `012`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubtful {
    /// A digest covers the document, so every parser must read it the same way.
    Refused,
    /// The type of the key decides.
    Accepted,
}

struct Builder<'a> {
    source: &'a Source,
    doubtful: Doubtful,
    problems: &'a mut Collector,
}

impl Builder<'_> {
    fn value(&mut self, path: &str, node: &Node) -> (Value, SpanTree) {
        let mut place = SpanTree { value: node.span.clone(), ..SpanTree::default() };
        let value = match &node.kind {
            Kind::Refused => {
                place.refused = true;
                Value::Null
            }
            Kind::Scalar { text, plain } => match meaning(text, *plain, self.doubtful) {
                Ok(value) => value,
                Err((message, hint)) => {
                    // A config's key has a type, which decides whether text is allowed.
                    match self.doubtful {
                        Doubtful::Refused => self.error(node, path, message, Some(hint)),
                        Doubtful::Accepted => self.error(node, path, format!("`{path}`: {message}"), None),
                    }
                    place.refused = true;
                    Value::Null
                }
            },
            Kind::Sequence(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let (value, at) = self.value(&of_item(path, index), item);
                    values.push(value);
                    place.children.push(at);
                }
                Value::Array(values)
            }
            Kind::Mapping(entries) => {
                let mut values = Map::with_capacity(entries.len());
                for (entry, key) in self.keys(path, entries) {
                    let child = of_key(path, key);
                    if let (Kind::Scalar { plain: true, .. }, "") = (&entry.key.kind, key) {
                        self.error(&entry.key, &child, "a value without a key".to_owned(), None);
                    }
                    let (value, at) = self.value(&child, &entry.value);
                    values.insert(key.to_owned(), value);
                    place.children.push(SpanTree { key: Some(entry.key.span.clone()), ..at });
                }
                Value::Object(values)
            }
        };
        (value, place)
    }

    /// The entries of a mapping with their keys as text; reports keys that are not text and duplicate keys.
    fn keys<'n>(&mut self, path: &str, entries: &'n [Entry]) -> Vec<(&'n Entry, &'n str)> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut kept = Vec::new();
        for entry in entries {
            match &entry.key.kind {
                Kind::Scalar { text, .. } => match seen.get(text.as_str()) {
                    Some(first) => {
                        let (first, source) = (*first, self.source);
                        self.problems.push(|| {
                            let (line, _) = source.line_and_column(first);
                            let message =
                                format!("duplicate key `{}`; it is already on line {line}", shorten(text));
                            source
                                .problem(entry.key.span.clone(), &of_key(path, text), message)
                                .with_hint("delete one of the two")
                        });
                    }
                    None => {
                        seen.insert(text, entry.key.span.start);
                        kept.push((entry, text.as_str()));
                    }
                },
                Kind::Refused => {}
                _ => self.error(&entry.key, path, "a key must be plain text".to_owned(), None),
            }
        }
        kept
    }

    fn error(&mut self, node: &Node, path: &str, message: String, hint: Option<String>) {
        let source = self.source;
        self.problems.push(|| Problem { hint, ..source.problem(node.span.clone(), path, message) });
    }
}

/// The value of a scalar, or why it is refused and what to write instead.
pub(crate) fn meaning(text: &str, plain: bool, doubtful: Doubtful) -> Result<Value, (String, String)> {
    let shown = shorten(text);
    let refuse = doubtful == Doubtful::Refused;
    let or_text = |instead: &str| format!("write {instead}, or \"{shown}\" if it is text");
    match Scalar::parse(text, plain) {
        Scalar::Null => Ok(Value::Null),
        Scalar::Bool(flag) => Ok(Value::Bool(flag)),
        Scalar::Integer(_) | Scalar::Number(_) if refuse && has_leading_zero(text) => {
            let message =
                format!("`{shown}` starts with a zero, which some YAML parsers read as an octal number");
            Err((message, or_text("it without the zero")))
        }
        Scalar::Integer(integer) => {
            let signed = i64::try_from(integer).ok().map(Number::from);
            // A config's whole numbers are signed, and read back as such.
            let unsigned = || u64::try_from(integer).ok().filter(|_| refuse).map(Number::from);
            signed.or_else(unsigned).map(Value::Number).ok_or_else(|| {
                let message = format!("`{shown}` is too large for a whole number");
                (message, or_text("it with an exponent"))
            })
        }
        Scalar::Number(number) => Ok(Number::from_f64(number).map_or(Value::Null, Value::Number)),
        Scalar::NotFinite => Err((format!("`{shown}` is not a finite number"), or_text("a finite number"))),
        Scalar::Text if plain && refuse => match other_meaning(text) {
            Some((what, instead)) => Err((
                format!("`{shown}` is {what} to some YAML parsers and text to others"),
                or_text(instead),
            )),
            None => Ok(Value::String(text.to_owned())),
        },
        Scalar::Text => Ok(Value::String(text.to_owned())),
    }
}

/// `012`, but neither `0` nor `0.5`.
fn has_leading_zero(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.strip_prefix('0').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '_'))
}

/// How other parsers read a plain text, and what to write if that is intended.
fn other_meaning(text: &str) -> Option<(&'static str, &'static str)> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some(("true", "true")),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some(("false", "false")),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.strip_prefix('0')?;
    let (base, digits) = (digits.chars().next()?, digits.get(1..)?);
    let radix = match base {
        'x' | 'X' => 16,
        'o' | 'O' => 8,
        'b' | 'B' => 2,
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.chars().all(|c| c == '_' || c.is_digit(radix));
    is_number.then_some(("a number", "it as a decimal number"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars() {
        for (text, expected) in [
            ("true", json!(true)),
            ("False", json!(false)),
            ("", json!(null)),
            ("~", json!(null)),
            ("null", json!(null)),
            ("0", json!(0)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1_000", json!(1000)),
            ("0.5", json!(0.5)),
            ("1e-3", json!(1e-3)),
            ("3e-4", json!(3e-4)),
            ("2h", json!("2h")),
            ("2026-01-31", json!("2026-01-31")),
            ("1:30", json!("1:30")),
            ("v1.2.3", json!("v1.2.3")),
            ("nobody", json!("nobody")),
            ("0é", json!("0é")),
        ] {
            assert_eq!(meaning(text, true, Doubtful::Refused), Ok(expected), "{text}");
            assert_eq!(meaning(text, false, Doubtful::Refused), Ok(json!(text)));
        }
    }

    #[test]
    fn what_readers_disagree_about_is_refused() {
        for text in [
            "yes",
            "No",
            "ON",
            "off",
            "0x10",
            "-0xff",
            "0o17",
            "0b1",
            "012",
            "-007",
            "00.5",
            ".nan",
            "-.inf",
            "1e999",
            "18446744073709551616",
        ] {
            let (message, hint) = meaning(text, true, Doubtful::Refused).expect_err(text);
            assert!(message.contains(text) && hint.contains(&format!("\"{text}\"")), "{message} {hint}");
            assert_eq!(meaning(text, false, Doubtful::Refused), Ok(json!(text)));
        }
    }
}
