//! The text that a config comes from, and places in it.
//!
//! A problem is worth as much as its place: everything that reads a source
//! speaks in byte offsets, and only here they become lines and columns.

use std::ops::Range;

use crate::problem::{Problem, Problems, Severity};

/// A config file must be smaller than this. A real one has about 2 KB; this is
/// what can be parsed in a few milliseconds, whatever its content.
pub const MAX_BYTES: usize = 256 * 1024;

/// The name under which `--set` overrides are reported.
pub const OVERRIDES_NAME: &str = "--set";

/// A text and the name it is shown under, usually its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path or name shown in messages.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// A source from a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// A source from the bytes of a file: refuses what is too large or not UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Problems> {
        Self::from_bytes_as(name.into(), bytes, "a config")
    }

    /// Like [`from_bytes`](Self::from_bytes), for what messages call `noun`.
    pub(crate) fn from_bytes_as(name: String, bytes: Vec<u8>, noun: &str) -> Result<Self, Problems> {
        if bytes.len() >= MAX_BYTES {
            let problem = Problem::new(Severity::Error, &name, "", too_large(bytes.len(), noun));
            return Err(Problems { problems: vec![problem], sources: Vec::new() });
        }
        String::from_utf8(bytes).map(|text| Self { name: name.clone(), text }).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let source = Source::new(name, String::from_utf8_lossy(bytes));
            // Everything before the first bad byte is unchanged in the lossy text.
            let span = valid..valid + char::REPLACEMENT_CHARACTER.len_utf8();
            let message =
                format!("the file is not UTF-8 text: byte 0x{:02x} is not allowed here", bytes[valid]);
            let problem = source.problem(span, "", message).with_hint("save the file in UTF-8 encoding");
            Problems { problems: vec![problem], sources: vec![source] }
        })
    }

    /// An error about the text in `span`.
    pub(crate) fn problem(&self, span: Range<usize>, path: &str, message: impl Into<String>) -> Problem {
        let (line, column) = self.line_and_column(span.start);
        Problem {
            line,
            column,
            text: self.excerpt(span),
            ..Problem::new(Severity::Error, &self.name, path, message.into())
        }
    }

    /// One-based line and column (in characters) of a byte offset.
    pub(crate) fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(&self.text, offset);
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// The first line of the text in `span`, cut to a readable length and
    /// without anything that could steer a terminal.
    fn excerpt(&self, span: Range<usize>) -> String {
        const MOST: usize = 80;
        let start = floor_boundary(&self.text, span.start);
        let end = floor_boundary(&self.text, span.end).max(start);
        let line = self.text[start..end].lines().next().unwrap_or_default().trim_end_matches(' ');
        let clean = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
        let mut text: String = line.chars().take(MOST).map(clean).collect();
        if line.chars().nth(MOST).is_some() {
            text.push('…');
        }
        text
    }
}

/// The message for a text of `bytes` bytes when that is too large.
pub(crate) fn too_large(bytes: usize, noun: &str) -> String {
    format!("the file has {bytes} bytes; {noun} must be smaller than {MAX_BYTES}")
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}
