//! How messages call values, places and ranges.

use serde_json::Value;

use crate::document::check::At;
use crate::document::span_tree::shorten;
use crate::scalar::Scalar;

/// How a message calls the value at a path.
pub(crate) fn name(path: &str) -> String {
    if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

pub(crate) fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in `{path}`") }
}

/// Describes the value.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing (null)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) if number.is_f64() => format!("the number {number}"),
        Value::Number(number) => format!("the whole number {number}"),
        Value::String(text) => format!("the text \"{}\"", shorten(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

/// What to write where the same thing was meant in another type.
pub(crate) fn rewritten(types: &[&str], value: &Value) -> Option<String> {
    let wants = |name: &str| types.contains(&name);
    match value {
        Value::String(text) if wants("integer") || wants("number") => {
            let number = Scalar::parse(text, true);
            matches!(number, Scalar::Integer(_) | Scalar::Number(_))
                .then(|| format!("write {} without quotes", shorten(text)))
        }
        Value::String(text) if wants("boolean") => match text.to_lowercase().as_str() {
            "yes" | "on" | "true" | "y" => Some("write true".to_owned()),
            "no" | "off" | "false" | "n" => Some("write false".to_owned()),
            _ => None,
        },
        // Beyond 2^53 an f64 no longer says which whole number was meant.
        Value::Number(number) if wants("integer") => number
            .as_f64()
            .filter(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0)
            .map(|number| format!("write {}", number as i64)),
        Value::Number(number) if wants("boolean") => match number.as_u64() {
            Some(0) => Some("write false".to_owned()),
            Some(1) => Some("write true".to_owned()),
            _ => None,
        },
        Value::Number(_) | Value::Bool(_) if wants("string") => {
            Some(format!("put it in quotes: \"{value}\""))
        }
        Value::Array(_) | Value::Object(_) | Value::Null => None,
        _ if wants("array") => Some("put it in brackets: [...]".to_owned()),
        _ => None,
    }
}

/// What is written for a single value, as the author wrote it.
pub(crate) fn written(text: &str, at: At<'_>) -> String {
    let source = text.get(at.place.value.clone()).filter(|source| !source.is_empty());
    source.map_or_else(|| at.value.to_string(), shorten)
}

/// The numbers between bounds: at least, above, at most, below.
pub(crate) fn range(
    least: Option<&Value>,
    above: Option<&Value>,
    most: Option<&Value>,
    below: Option<&Value>,
) -> String {
    if let (Some(least), Some(most)) = (least, most) {
        return format!("{} to {}", plain(least), plain(most));
    }
    let bounds = [(least, "at least"), (above, "above"), (most, "at most"), (below, "below")];
    let words =
        bounds.iter().filter_map(|(bound, words)| bound.map(|bound| format!("{words} {}", plain(bound))));
    words.collect::<Vec<_>>().join(" and ")
}

/// A number without a redundant `.0`.
pub(crate) fn plain(number: &Value) -> String {
    match number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0 && value.abs() < 1e15) {
        Some(value) => format!("{value:.0}"),
        None => number.to_string(),
    }
}
