//! The tree of a JSON text with byte spans, in the form that the YAML parser gives.
//!
//! YAML's own reader would do for most of JSON, but not for tabs, which many
//! JSON files are indented with.

use std::ops::Range;

use serde_json::Value;

use crate::tree::{Entry, Kind, Node};

/// The deepest nesting that serde_json itself reads.
const MAX_DEPTH: usize = 128;

/// Reads one JSON value.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    // The parser has checked the grammar; this only finds the positions.
    serde_json::from_str::<Value>(text).map_err(|error| format!("this is not JSON: {error}"))?;
    let mut scanner = Scanner { text, at: 0 };
    scanner.value(0).ok_or_else(|| "this is not JSON".to_owned())
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let first = self.next()?;
        let start = self.at;
        let kind = match first {
            b'{' => {
                let mut entries = Vec::new();
                self.items(b'}', |scanner| {
                    let key = scanner.value(depth + 1)?;
                    scanner.next().filter(|byte| *byte == b':')?;
                    scanner.at += 1;
                    entries.push(Entry { key, value: scanner.value(depth + 1)? });
                    Some(())
                })?;
                Kind::Mapping(entries)
            }
            b'[' => {
                let mut items = Vec::new();
                self.items(b']', |scanner| {
                    items.push(scanner.value(depth + 1)?);
                    Some(())
                })?;
                Kind::Sequence(items)
            }
            b'"' => {
                let text = self.string()?;
                Kind::Scalar { text, plain: false }
            }
            _ => {
                let rest = &self.text[self.at..];
                let ends = |letter: char| !(letter.is_ascii_alphanumeric() || "+-.".contains(letter));
                self.at += rest.find(ends).unwrap_or(rest.len());
                Kind::Scalar { text: self.text[start..self.at].to_owned(), plain: true }
            }
        };
        Some(Node { span: start..self.at, kind })
    }

    /// The items between brackets, separated by commas.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.next()? != end {
            loop {
                item(self)?;
                match self.next()? {
                    b',' => self.at += 1,
                    byte if byte == end => break,
                    _ => return None,
                }
            }
        }
        self.at += 1;
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let span: Range<usize> = self.at..self.at + 1 + length(&self.text[self.at + 1..])?;
        self.at = span.end;
        serde_json::from_str(&self.text[span]).ok()
    }

    /// Peeks at the next non-blank byte.
    fn next(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.text.as_bytes().get(self.at).copied()
    }
}

/// How far a string goes, its closing quote included.
fn length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes()
        .position(|byte| {
            let closes = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            closes
        })
        .map(|at| at + 1)
}
