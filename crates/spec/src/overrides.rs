//! `--set key=value`: checked like the file, and recorded.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use crate::document::build::{Doubtful, build};
use crate::document::span_tree::{SpanTree, shorten};
use crate::layers::Assignment;
use crate::problem::Collector;
use crate::source::{OVERRIDES_NAME, Source};
use crate::tree;

/// A value that was set from outside the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Override {
    /// Dotted key.
    pub key: String,
    /// The value as it was written.
    pub value: String,
}

/// The overrides as one text, a line each, so that places can be shown in it.
pub(crate) fn source(overrides: &[String]) -> Source {
    let lines: Vec<String> = overrides.iter().map(|text| text.replace(['\n', '\r'], " ")).collect();
    Source::new(OVERRIDES_NAME, lines.join("\n"))
}

/// Reads every line of `source`.
pub(crate) fn read(source: &Source, problems: &mut Collector) -> (Vec<Assignment>, Vec<Override>) {
    let (mut assignments, mut recorded) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    let mut start = 0;
    // No overrides are an empty text, which has no lines.
    for line in source.text.split_inclusive('\n') {
        let line_start = start;
        start += line.len();
        let line = line.trim_end_matches('\n');
        let mut error = |span: Range<usize>, path: &str, message: String, hint: &str| {
            problems.push(|| source.problem(span, path, message).with_hint(hint));
        };
        let Some((key, value)) = line.split_once('=') else {
            let message = format!("`{}` is not of the form key=value", shorten(line));
            error(line_start..line_start + line.len(), "", message, "--set algo.learning_rate=1e-3");
            continue;
        };
        let key_start = line_start + (key.len() - key.trim_start().len());
        let value_start = line_start + key.len() + 1;
        let key = key.trim();
        let key_span = key_start..key_start + key.len();
        if !seen.insert(key) {
            error(key_span, key, format!("`{}` is set twice", shorten(key)), "keep one of the two");
            continue;
        }
        if value.trim().is_empty() {
            let hint = format!("--set {}=null, or a value", shorten(key));
            error(key_span, key, format!("`{}` is set to an empty value", shorten(key)), &hint);
            continue;
        }
        if let Some(node) = tree::parse(source, value_start..value_start + value.len(), problems) {
            let (value_read, at) = build(source, key, &node, Doubtful::Accepted, problems);
            let place = SpanTree { key: Some(key_span), ..at };
            assignments.push(Assignment { path: key.to_owned(), value: value_read, place });
            recorded.push(Override { key: key.to_owned(), value: value.trim().to_owned() });
        }
    }
    (assignments, recorded)
}
