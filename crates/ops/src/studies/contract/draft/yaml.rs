//! Pieces of YAML as a person would write them.

use std::fmt::Write;

use rlxp_govern::documents::Extractor;
use rlxp_spec::document::to_yaml;
use serde_json::Value;

pub(super) fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a text can't fail");
}

/// A text on one line, quoted where it must be.
pub(super) fn scalar(text: &str) -> String {
    to_yaml(&Value::from(text)).trim_end().to_owned()
}

pub(super) fn number(value: f64) -> String {
    to_yaml(&Value::from(value)).trim_end().to_owned()
}

pub(super) fn plain(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Items on lines of their own after a colon, or nothing.
pub(super) fn list(items: &[String], indent: usize) -> String {
    if items.is_empty() {
        return " []".to_owned();
    }
    items.iter().map(|item| format!("\n{}- {}", " ".repeat(indent), scalar(item))).collect()
}

/// Items in one line. In brackets more letters have a meaning than elsewhere, so only plain names go unquoted.
pub(super) fn flow(items: &[String]) -> String {
    let shown: Vec<String> = items.iter().map(|item| flow_word(item)).collect();
    format!("[{}]", shown.join(", "))
}

pub(super) fn flow_word(text: &str) -> String {
    let is_plain = text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && scalar(text) == text;
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Where a metric is read from, in one line.
pub(super) fn extractor(source: &Extractor) -> String {
    let value = serde_json::to_value(source).expect("a source is plain data");
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let shown: Vec<String> = fields
        .map(|(key, value)| {
            let text = value.as_str().unwrap_or_default();
            format!("{key}: {}", if key == "format" { text.to_owned() } else { value.to_string() })
        })
        .collect();
    format!("{{{}}}", shown.join(", "))
}
