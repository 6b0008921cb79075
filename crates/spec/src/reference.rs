//! `docs/reference/config.md`: every key of a config with its type, default,
//! range and meaning, as the types say.

use std::fmt::Write;

use serde_json::Value;

use crate::document::schema::{alternatives, description, expected, resolve, types};
use crate::document::words;
use crate::keys::{Key, Shape};
use crate::snapshot::inline;

const INTRODUCTION: &str = "# Config

Every key of a config file. A key that a config leaves out takes its value from the [starter config](../starters.md)
of the environment, and otherwise the default below. `rlx config show FILE` prints the result, `rlx config check FILE`
reports every problem, `--set KEY=VALUE` overrides a key, and `rlx config schema` prints the same rules as a JSON Schema
for editors. A test keeps this page equal to the program.
";

const WRITES: &str = "a String takes any text";

/// The page.
pub fn config_reference() -> String {
    let shape = Shape::config();
    let mut page = INTRODUCTION.to_owned();
    let mut heading = None;
    for key in &shape.keys {
        let section = key.path.split_once('.').map_or("", |(section, _)| section);
        let here = (section, key.variant.as_ref().map(|(_, word)| word.as_str()));
        if heading != Some(here) {
            heading = Some(here);
            let title = match here {
                ("", _) => "Top level".to_owned(),
                (section, None) => format!("`{section}`"),
                (section, Some(word)) => {
                    let tag = shape.tags.iter().find(|(own, _, _)| own == section);
                    let tag = tag.map_or("", |(_, tag, _)| tag.as_str());
                    format!("`{section}` with `{tag}: {word}`")
                }
            };
            write!(page, "\n## {title}\n\n").expect(WRITES);
            page.push_str("| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
        }
        page.push_str(&row(&shape.schema, key));
    }
    page.push_str("\n## Values with their own keys\n\n");
    for (title, name) in [("A wrapper in `env.wrappers`", "WrapperConfig"), ("A schedule", "Schedule")] {
        write!(page, "{title}:\n\n{}\n", choices(&shape.schema, &shape.schema["$defs"][name])).expect(WRITES);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn row(root: &Value, key: &Key) -> String {
    let default = match key.default() {
        Some(value) => format!("`{}`", inline(value)),
        None if key.path == "env.id" => "required".to_owned(),
        None => "see meaning".to_owned(),
    };
    let meaning = description(root, &key.schema).unwrap_or_default();
    let (kind, range) = (expected(root, &key.schema), range(root, &key.schema));
    format!("| `{}` | {kind} | {default} | {range} | {meaning} |\n", key.path)
}

/// What a value may be within its type; empty where anything may.
fn range(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    let bound = |keyword: &str| schema.get(keyword);
    let length = |least: &str, most: &str, unit: &str| {
        let words = words::range(bound(least), None, bound(most), None);
        (!words.is_empty()).then(|| format!("{words} {unit}"))
    };
    let mut parts: Vec<String> =
        alternatives(schema).into_iter().flatten().map(|branch| range(root, branch)).collect();
    let (above, below) = (bound("exclusiveMinimum"), bound("exclusiveMaximum"));
    parts.push(words::range(bound("minimum"), above, bound("maximum"), below));
    parts.extend(length("minLength", "maxLength", "characters"));
    parts.extend(length("minProperties", "maxProperties", "entries"));
    let items = length("minItems", "maxItems", "items");
    let each = bound("items").map(|items| range(root, items)).filter(|each| !each.is_empty());
    parts.push(
        [items, each.map(|each| format!("each {each}"))].into_iter().flatten().collect::<Vec<_>>().join(", "),
    );
    parts.retain(|part| !part.is_empty());
    parts.join(" or ")
}

/// A choice between values that have keys of their own, one per line.
fn choices(root: &Value, schema: &Value) -> String {
    let mut text = String::new();
    let branches =
        alternatives(schema).into_iter().flatten().filter(|branch| branch.get("description").is_some());
    for branch in branches {
        let meaning = description(root, branch).unwrap_or_default();
        writeln!(text, "- {}: {meaning}{}", form(root, branch), keys(root, branch)).expect(WRITES);
    }
    text
}

/// How a value of a choice is written.
fn form(root: &Value, schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return expected(root, schema);
    };
    let arguments = |schema: &Value| {
        let own = schema.get("properties").and_then(Value::as_object);
        own.into_iter().flatten().map(|(key, _)| format!("{key}: …")).collect::<Vec<_>>().join(", ")
    };
    let entries = properties.iter().map(|(key, value)| match types(value).contains(&"object") {
        true => format!("{key}: {{{}}}", arguments(value)),
        false => match words_of(root, value) {
            Some(word) => format!("{key}: {word}"),
            None => format!("{key}: …"),
        },
    });
    format!("`{{{}}}`", entries.collect::<Vec<_>>().join(", "))
}

fn words_of(root: &Value, schema: &Value) -> Option<String> {
    let words = crate::document::schema::words(root, schema)?;
    (words.len() == 1).then(|| words[0].to_owned())
}

/// What the keys of a value of a choice mean.
fn keys(root: &Value, schema: &Value) -> String {
    let own = schema.get("properties").and_then(Value::as_object);
    let mut text = String::new();
    for (key, value) in own.into_iter().flatten() {
        let inner = keys(root, value);
        if !inner.is_empty() || types(value).contains(&"object") {
            text.push_str(&inner);
        } else if words_of(root, value).is_none() {
            let (kind, range) = (expected(root, value), range(root, value));
            let range = if range.is_empty() { range } else { format!(", {range}") };
            let meaning = description(root, value).unwrap_or_default();
            write!(text, " `{key}` ({kind}{range}): {meaning}").expect(WRITES);
        }
    }
    text
}
