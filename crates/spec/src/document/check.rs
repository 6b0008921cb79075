//! Walks a value along a JSON Schema and finds everything that differs.
//!
//! It knows the keywords that `schemars` writes for types of ours, no more;
//! [`unsupported`](super::unsupported) lists the rest.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::check::shorten;
use crate::document::place::{Place, of_item, of_key};
use crate::document::schema::{alternatives, description, expected, is_of, target, types};
use crate::nearest::nearest;
use crate::scalar::Scalar;

/// Something that is wrong, before its line and column are looked up.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) span: Range<usize>,
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The hint only says what the value is for: who knows better may replace it.
    pub(crate) described: bool,
}

impl Finding {
    fn new(span: Range<usize>, path: &str, message: String, hint: Option<String>) -> Self {
        Self { span, path: path.to_owned(), message, hint, described: false }
    }
}

/// A value under inspection, where it stands and how it is called.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) value: &'a Value,
    pub(crate) place: &'a Place,
    pub(crate) path: &'a str,
}

/// More than a report shows, so that a hostile file can't cost more words than anybody reads.
const MOST: usize = 1000;

/// Everything that differs, mappings before what they lack.
pub(crate) fn findings(root: &Value, text: &str, at: At<'_>) -> Vec<Finding> {
    let mut check = Check { root, text, found: Vec::new() };
    check.visit(root, at);
    check.found
}

pub(crate) struct Check<'a> {
    pub(crate) root: &'a Value,
    pub(crate) text: &'a str,
    pub(crate) found: Vec<Finding>,
}

impl<'a> Check<'a> {
    pub(crate) fn visit(&mut self, schema: &'a Value, at: At<'_>) {
        let before = self.found.len();
        self.keywords(schema, at);
        // A key's own description comes after that of its type, and says more.
        for finding in self.found[before..].iter_mut().filter(|finding| finding.path == at.path) {
            if finding.hint.is_none() || finding.described {
                finding.hint = description(self.root, schema).or(finding.hint.take());
                finding.described = true;
            }
        }
    }

    fn keywords(&mut self, schema: &'a Value, at: At<'_>) {
        if schema.as_bool() == Some(false) {
            return self.report(
                at,
                format!("{} can't stand here", name(at.path)),
                Some("delete it".to_owned()),
            );
        }
        let allowed = types(schema);
        if !allowed.is_empty() && !allowed.iter().any(|name| is_of(at.value, name)) {
            return self.wrong_type(schema, at);
        }
        if let Some(target) = target(self.root, schema) {
            self.visit(target, at);
        }
        self.words(schema, at);
        match at.value {
            Value::Object(entries) => self.mapping(schema, entries, at),
            Value::Array(items) => self.list(schema, items, at),
            Value::Number(_) => self.number(schema, at),
            Value::String(text) => {
                self.length(schema, text.chars().count(), ["minLength", "maxLength"], "characters", at)
            }
            _ => {}
        }
        let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
        parts.for_each(|part| self.visit(part, at));
        if let Some(branches) = alternatives(schema) {
            self.choose(schema, branches, at);
        }
    }

    /// Takes a closure because the nearest word costs something to find.
    fn push(&mut self, finding: impl FnOnce() -> Finding) {
        if self.found.len() < MOST {
            self.found.push(finding());
        }
    }

    pub(crate) fn report(&mut self, at: At<'_>, message: String, hint: Option<String>) {
        let span = at.place.span(self.text);
        self.push(|| Finding::new(span, at.path, message, hint));
    }

    pub(crate) fn wrong_type(&mut self, schema: &Value, at: At<'_>) {
        let expected = expected(self.root, schema);
        let message = format!("{} must be {expected}; this is {}", name(at.path), describe(at.value));
        // A named type of text, such as an amount, has a form that quotes alone don't give.
        let named = |name: &Value| std::ptr::eq(name, schema);
        let is_named =
            self.root.get("$defs").and_then(Value::as_object).is_some_and(|all| all.values().any(named));
        let form = description(self.root, schema).filter(|_| is_named && types(schema) == ["string"]);
        self.report(at, message, form.or_else(|| rewritten(schema, at.value)));
    }

    fn words(&mut self, schema: &'a Value, at: At<'_>) {
        let allowed: Vec<&Value> = match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
            (Some(value), _) => vec![value],
            (None, Some(values)) => values.iter().collect(),
            (None, None) => return,
        };
        if !allowed.contains(&at.value) {
            let words: Vec<String> = allowed
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .collect();
            self.not_among(&words.iter().map(String::as_str).collect::<Vec<_>>(), at);
        }
    }

    /// `at` holds something that is none of `words`.
    pub(crate) fn not_among(&mut self, words: &[&str], at: At<'_>) {
        let span = at.place.span(self.text);
        self.push(|| {
            let written = match at.value {
                Value::String(text) => shorten(text),
                Value::Number(number) => number.to_string(),
                other => describe(other),
            };
            let hint = nearest(&written, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
            let message = format!("{} can't be `{written}`; valid: {}", name(at.path), words.join(", "));
            Finding::new(span, at.path, message, hint)
        });
    }

    fn mapping(&mut self, schema: &'a Value, entries: &Map<String, Value>, at: At<'_>) {
        let own = schema.get("properties").and_then(Value::as_object);
        for ((key, value), place) in entries.iter().zip(&at.place.children) {
            let path = of_key(at.path, key);
            let child = At { value, place, path: &path };
            if let Some(names) = schema.get("propertyNames") {
                let key = Value::String(key.clone());
                let at_key =
                    Place { key: None, value: place.key.clone().unwrap_or_default(), children: Vec::new() };
                self.visit(names, At { value: &key, place: &at_key, path: &path });
            }
            match (own.and_then(|own| own.get(key)), schema.get("additionalProperties")) {
                (Some(schema), _) => self.visit(schema, child),
                (None, Some(Value::Bool(false))) => {
                    let keys: Vec<&str> = own.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                    self.unknown_key(key, &keys, at, child);
                }
                (None, Some(schema)) => self.visit(schema, child),
                (None, None) => {}
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !entries.contains_key(*key)) {
            let hint = own.and_then(|own| own.get(key)).map(|schema| {
                description(self.root, schema)
                    .unwrap_or_else(|| format!("write `{key}:` and {}", expected(self.root, schema)))
            });
            self.missing_key(key, hint, at);
        }
    }

    pub(crate) fn unknown_key(&mut self, key: &str, keys: &[&str], at: At<'_>, child: At<'_>) {
        self.push(|| {
            let hint = match nearest(key, keys.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if keys.is_empty() => "no key is allowed here".to_owned(),
                None => format!("valid keys here: {}", keys.join(", ")),
            };
            let message = format!("unknown key `{}`{}", shorten(key), within(at.path));
            let span = child.place.key.clone().unwrap_or_else(|| child.place.value.clone());
            Finding::new(span, child.path, message, Some(hint))
        });
    }

    pub(crate) fn missing_key(&mut self, key: &str, hint: Option<String>, at: At<'_>) {
        let span = match &at.place.key {
            Some(key) => key.clone(),
            None => at.place.value.start..at.place.value.start,
        };
        let message = format!("`{key}` is missing{}", within(at.path));
        self.push(|| Finding::new(span, &of_key(at.path, key), message, hint));
    }

    fn list(&mut self, schema: &'a Value, items: &[Value], at: At<'_>) {
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut seen = BTreeMap::new();
        let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        for (index, (value, place)) in items.iter().zip(&at.place.children).enumerate() {
            let path = of_item(at.path, index);
            let child = At { value, place, path: &path };
            if let Some(schema) = first.get(index).or_else(|| schema.get("items")) {
                self.visit(schema, child);
            }
            if unique && let Some(before) = seen.insert(value.to_string(), index) {
                let message = format!("{} is the same as {}", name(&path), name(&of_item(at.path, before)));
                self.report(child, message, Some("delete one of the two".to_owned()));
            }
        }
        self.length(schema, items.len(), ["minItems", "maxItems"], "items", at);
    }

    /// `keywords` are those of the least and the most.
    fn length(&mut self, schema: &Value, length: usize, keywords: [&str; 2], unit: &str, at: At<'_>) {
        let [least, most] = keywords.map(|keyword| schema.get(keyword).and_then(Value::as_u64));
        let length = length as u64;
        if least.unwrap_or(0) <= length && length <= most.unwrap_or(u64::MAX) {
            return;
        }
        let range = match (least, most) {
            (Some(least), Some(most)) if least == most => format!("exactly {least}"),
            (Some(1), None) => "at least one".to_owned(),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, most) => format!("at most {}", most.unwrap_or_default()),
        };
        let unit =
            if range.ends_with("one") || range.ends_with(" 1") { unit.trim_end_matches('s') } else { unit };
        let message = match length {
            0 => format!("{} is empty; it must have {range} {unit}", name(at.path)),
            _ => format!("{} must have {range} {unit}; this has {length}", name(at.path)),
        };
        self.report(at, message, None);
    }

    fn number(&mut self, schema: &Value, at: At<'_>) {
        let (lowest, highest) = match schema.get("format").and_then(Value::as_str) {
            Some("int32") => (Some(Value::from(i32::MIN)), Some(Value::from(i32::MAX))),
            Some("uint32") => (Some(Value::from(0)), Some(Value::from(u32::MAX))),
            Some("int64" | "int") => (None, Some(Value::from(i64::MAX))),
            _ => (None, None),
        };
        let bound = |keyword: &str, other: Option<Value>| schema.get(keyword).cloned().or(other);
        let limits = [
            (bound("minimum", lowest), "at least", false, true),
            (bound("maximum", highest), "at most", true, true),
            (bound("exclusiveMinimum", None), "more than", false, false),
            (bound("exclusiveMaximum", None), "less than", true, false),
        ];
        for (bound, words, upper, closed) in limits {
            let Some(bound) = bound else { continue };
            let (low, high) = if upper { (at.value, &bound) } else { (&bound, at.value) };
            if !(is_less(low, high) || (closed && !is_less(high, low))) {
                let message = format!("{} must be {words} {bound}; this is {}", name(at.path), at.value);
                return self.report(at, message, None);
            }
        }
    }
}

fn is_less(left: &Value, right: &Value) -> bool {
    let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left < right,
        _ => left.as_f64() < right.as_f64(),
    }
}

/// How a message calls the value at a path.
pub(crate) fn name(path: &str) -> String {
    if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") }
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in `{path}`") }
}

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
fn rewritten(schema: &Value, value: &Value) -> Option<String> {
    let wants = |name: &str| types(schema).contains(&name);
    match value {
        Value::String(text) if wants("integer") || wants("number") => {
            let number = Scalar::of(text, true);
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
        Value::Number(_) | Value::Bool(_) if wants("string") => {
            Some(format!("put it in quotes: \"{value}\""))
        }
        Value::Array(_) | Value::Object(_) | Value::Null => None,
        _ if wants("array") => Some("put it in brackets: [...]".to_owned()),
        _ => None,
    }
}
