//! `--set key=value`: checked like the file, and kept on record.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::check::{Checked, Checker, shorten};
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

/// Checks every line of `source`.
pub(crate) fn check(source: &Source, problems: &mut Collector) -> (Checked, Vec<Override>) {
    let mut checker = Checker::new(source, problems);
    let mut recorded: Vec<Override> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut start = 0;
    // No overrides are an empty text, which has no lines.
    for line in source.text.split_inclusive('\n') {
        let line_start = start;
        start += line.len();
        let line = line.trim_end_matches('\n');
        let Some((key, value)) = line.split_once('=') else {
            let message = format!("`{}` is not of the form key=value", shorten(line));
            let hint = Some("--set algo.learning_rate=1e-3".to_owned());
            checker.error(&(line_start..line_start + line.len()), "", message, hint);
            continue;
        };
        let key_start = line_start + (key.len() - key.trim_start().len());
        let value_start = line_start + key.len() + 1;
        let key = key.trim();
        let key_span = key_start..key_start + key.len();
        if !seen.insert(key) {
            let message = format!("`{}` is set twice", shorten(key));
            checker.error(&key_span, key, message, Some("keep one of the two".to_owned()));
            continue;
        }
        let part = value_start..value_start + value.len();
        if value.trim().is_empty() {
            let message = format!("`{}` is set to nothing", shorten(key));
            checker.error(&key_span, key, message, Some(format!("--set {}=null, or a value", shorten(key))));
            continue;
        }
        if let Some(node) = tree::parse(source, part, checker.problems) {
            checker.assign(key, &key_span, &node);
            recorded.push(Override { key: key.to_owned(), value: value.trim().to_owned() });
        }
    }
    (checker.checked, recorded)
}
