//! JSON values as YAML that people like to read and edit.

use rlxp_types::text::yaml_number;
use serde_json::Value;

use crate::document::build::{Doubtful, meaning};

/// Longest key that YAML takes before its colon, with room for escapes.
const LONGEST_KEY: usize = 1000;

/// `value` as one YAML document in block style. Text is quoted only if it would otherwise be read as something else,
/// and multi-line text is written as a block. [`Document::read`](crate::document::Document::read) returns the same
/// value.
pub fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    if is_block(value) {
        block(value, 0, false, &mut text);
    } else {
        leaf(value, 0, &mut text);
    }
    text
}

/// `value` on one line, valid anywhere in a YAML text.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) && !text.contains(['[', ']', ',']) => text.clone(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", inline(&Value::from(key.as_str())), inline(value))
            };
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Number(number) => number_text(number),
        Value::Bool(flag) => flag.to_string(),
        Value::Null => "null".to_owned(),
    }
}

fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => yaml_number(float),
        None => number.to_string(),
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        _ => false,
    }
}

/// `inline` says that the first line has begun already, after a dash.
fn block(value: &Value, indent: usize, inline: bool, text: &mut String) {
    let mut inline = inline;
    let mut margin = |text: &mut String| {
        if !std::mem::take(&mut inline) {
            text.extend(std::iter::repeat_n(' ', indent));
        }
    };
    match value {
        Value::Array(items) => {
            for item in items {
                margin(text);
                text.push_str("- ");
                if is_block(item) {
                    block(item, indent + 2, true, text);
                } else {
                    leaf(item, indent, text);
                }
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                margin(text);
                let key = scalar(key);
                if key.len() > LONGEST_KEY {
                    text.push_str("? ");
                    text.push_str(&key);
                    text.push('\n');
                    margin(text);
                } else {
                    text.push_str(&key);
                }
                text.push(':');
                if is_block(item) {
                    text.push('\n');
                    block(item, indent + 2, false, text);
                } else {
                    text.push(' ');
                    leaf(item, indent, text);
                }
            }
        }
        _ => {}
    }
}

fn leaf(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::String(content) if has_own_lines(content) => return lines(content, indent + 2, text),
        Value::String(content) => text.push_str(&scalar(content)),
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Array(_) => text.push_str("[]"),
        Value::Object(_) => text.push_str("{}"),
        Value::Null => text.push_str("null"),
    }
    text.push('\n');
}

/// Whether a text of several lines can be written unquoted. Margins and lines
/// of blanks would change what YAML takes for the indentation.
fn has_own_lines(text: &str) -> bool {
    let stands = |line: &str| line.is_empty() || (!line.trim().is_empty() && line.chars().all(is_printable));
    text.contains('\n') && !text.starts_with([' ', '\n']) && text.split('\n').all(stands)
}

fn lines(content: &str, indent: usize, text: &mut String) {
    let body = content.trim_end_matches('\n');
    text.push_str(match content.len() - body.len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    // What `|+` keeps are the line breaks after the first.
    let kept = content.strip_suffix('\n').unwrap_or(content);
    for line in kept.split('\n') {
        if !line.is_empty() {
            text.extend(std::iter::repeat_n(' ', indent));
            text.push_str(line);
        }
        text.push('\n');
    }
}

/// A text on one line: plain where every reader takes it for that text,
/// otherwise in double quotes.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_printable(character) => quoted.push(character),
            _ => quoted.push_str(&format!("\\U{:08X}", u32::from(character))),
        }
    }
    quoted.push('"');
    quoted
}

fn is_printable(character: char) -> bool {
    let unescaped = || character.escape_debug().eq(std::iter::once(character));
    matches!(character, ' '..='~') || character.is_alphanumeric() || unescaped()
}

fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let begins = first.is_alphabetic() || matches!(first, '_' | '/') || is_amount(text);
    let allowed = |c: char| c.is_alphanumeric() || " _-./,;:+*=<>()[]'%$@!?^~&|".contains(c);
    let lower = text.to_lowercase();
    let is_word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&lower.as_str());
    begins
        && !is_word
        && text.chars().all(allowed)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && meaning(text, true, Doubtful::Refused).is_ok_and(|value| value.is_string())
}

/// A number with a unit, such as `2h` or `500MB`.
fn is_amount(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    !text.starts_with('0') && !unit.is_empty() && unit.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Source;
    use crate::document::Document;

    fn check(value: &Value, expected: &str) {
        let text = to_yaml(value);
        assert_eq!(text, expected);
        let read =
            Document::read(Source::new("d.yaml", text)).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(read.value(), value);
    }

    #[test]
    fn a_document_is_pleasant_to_read() {
        let value = json!({
            "hypothesis": "More entropy, less collapse (see `notes`)",
            "note": "Two lines:\n  the second.\n",
            "open": "a\n\nb",
            "tail": "a\n\n\n",
            "changes": [{"key": "algo.gamma", "from": 0.99, "to": 1}, [[1, "1"], []], {}],
            "wall clock": "2h",
            "url": "https://example.org/a",
            "yes": "no",
            "limits": {"lr": 1e-7, "steps": 1_000_000, "none": null, "on": true},
        });
        check(
            &value,
            r#"hypothesis: "More entropy, less collapse (see `notes`)"
note: |
  Two lines:
    the second.
open: |-
  a

  b
tail: |+
  a


changes:
  - key: algo.gamma
    from: 0.99
    to: 1
  - - - 1
      - "1"
    - []
  - {}
wall clock: 2h
url: https://example.org/a
"yes": "no"
limits:
  lr: 1.0e-7
  steps: 1000000
  none: null
  "on": true
"#,
        );
    }

    #[test]
    fn a_single_value_is_a_document_too() {
        check(&json!(null), "null\n");
        check(&json!([]), "[]\n");
        check(&json!("a\nb"), "|-\n  a\n  b\n");
        check(&json!(" a\nb"), "\" a\\nb\"\n");
        check(&json!("\u{7}é\u{2028}"), "\"\\U00000007é\\U00002028\"\n");
    }

    #[test]
    fn a_long_key_stands_on_a_line_of_its_own() {
        let key = "k".repeat(2000);
        check(
            &json!({key.clone(): {"a": 1}, "b": [{key.clone(): 2}]}),
            &format!("? {key}\n:\n  a: 1\nb:\n  - ? {key}\n    : 2\n"),
        );
    }
}
