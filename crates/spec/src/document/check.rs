//! Walks a value along a JSON Schema and finds everything that differs.
//!
//! It knows the keywords that `schemars` writes for types of ours, no more;
//! [`unsupported`](super::unsupported) lists the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Map, Value};

use crate::document::schema::{all_types, alternatives, description, expected, is_of, target, types, words};
use crate::document::span_tree::{SpanTree, of_item, of_key, shorten};
use crate::document::words::{describe, name, range, rewritten, within, written};
use crate::keys::Chosen;
use crate::nearest::nearest;
use crate::problem::Problem;
use crate::source::Source;

/// Something that is wrong, before its line and column are looked up.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) span: Range<usize>,
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The hint only says what the value is for; a more specific one may replace it.
    pub(crate) described: bool,
}

impl Finding {
    fn new(span: Range<usize>, path: &str, message: String, hint: Option<String>) -> Self {
        Self { span, path: path.to_owned(), message, hint, described: false }
    }

    pub(crate) fn into_problem(self, source: &Source) -> Problem {
        Problem { hint: self.hint, ..source.problem(self.span, &self.path, self.message) }
    }
}

/// A value being checked, with its position and path.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) value: &'a Value,
    pub(crate) place: &'a SpanTree,
    pub(crate) path: &'a str,
}

/// More than a report shows, so that a hostile file can't produce an endless report.
const MOST: usize = 250;

/// Everything in which the value at `at` differs from `schema`, a part of
/// `root`, in the order of the text.
pub(crate) fn findings(
    root: &Value,
    schema: &Value,
    text: &str,
    at: At<'_>,
    guide: Option<&Chosen<'_>>,
) -> Vec<Finding> {
    let mut check = Check { root, text, guide, found: Vec::new() };
    check.visit(schema, at);
    // Before those beyond the limit of a report are left out.
    check.found.sort_by_key(|finding| finding.span.start);
    check.found
}

pub(crate) struct Check<'a> {
    pub(crate) root: &'a Value,
    pub(crate) text: &'a str,
    /// What a config knows beyond its schema.
    pub(crate) guide: Option<&'a Chosen<'a>>,
    pub(crate) found: Vec<Finding>,
}

impl<'a> Check<'a> {
    pub(crate) fn visit(&mut self, schema: &'a Value, at: At<'_>) {
        if at.place.refused {
            return;
        }
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
                format!("{} is not allowed here", name(at.path)),
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
        self.word(schema, at);
        match at.value {
            Value::Object(entries) => self.mapping(schema, entries, at),
            Value::Array(items) => self.list(schema, items, at),
            Value::Number(_) => self.number(schema, at),
            Value::String(text) => self.text(schema, text, at),
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
        let is_word = words(self.root, schema).is_some();
        let other = || rewritten(&all_types(self.root, schema), at.value).filter(|_| !is_word);
        let keys = || {
            let keys = schema.get("properties").filter(|_| schema.get("required").is_none())?.as_object()?;
            let keys: Vec<&str> = keys.keys().map(String::as_str).collect();
            Some(format!("keys of {}: {}", name(at.path), keys.join(", ")))
        };
        self.report(at, message, form.or_else(other).or_else(keys));
    }

    fn text(&mut self, schema: &Value, text: &str, at: At<'_>) {
        let before = self.found.len();
        self.length(schema, text.chars().count(), ["minLength", "maxLength"], "characters", at);
        let refusal = schema.get("format").and_then(Value::as_str).and_then(|format| refusal(format, text));
        if let Some(message) = refusal.filter(|_| self.found.len() == before) {
            self.report(at, message, None);
        }
    }

    fn word(&mut self, schema: &'a Value, at: At<'_>) {
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

    /// `at` has a value that is not one of `words`.
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
        let mut misspelt = BTreeSet::new();
        for ((key, value), place) in entries.iter().zip(&at.place.children) {
            let path = of_key(at.path, key);
            let child = At { value, place, path: &path };
            if let Some(names) = schema.get("propertyNames") {
                let key = Value::String(key.clone());
                let at_key = SpanTree { value: place.key.clone().unwrap_or_default(), ..SpanTree::default() };
                let before = self.found.len();
                self.visit(names, At { value: &key, place: &at_key, path: &path });
                if self.found.len() > before {
                    continue;
                }
            }
            match (own.and_then(|own| own.get(key)), schema.get("additionalProperties")) {
                (Some(schema), _) => self.visit(schema, child),
                (None, Some(Value::Bool(false))) => {
                    let keys: Vec<&str> = own.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                    misspelt.extend(self.unknown_key(key, &keys, at, child));
                }
                (None, Some(schema)) => self.visit(schema, child),
                (None, None) => {}
            }
        }
        self.length(schema, entries.len(), ["minProperties", "maxProperties"], "entries", at);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !entries.contains_key(*key)) {
            // A misspelt key is one mistake, and reported already.
            if misspelt.contains(key) {
                continue;
            }
            let hint = own.and_then(|own| own.get(key)).map(|schema| {
                description(self.root, schema)
                    .unwrap_or_else(|| format!("write `{key}:` and {}", expected(self.root, schema)))
            });
            self.missing_key(key, hint, at);
        }
    }

    /// Gives the one of `keys` that was probably meant.
    pub(crate) fn unknown_key<'k>(
        &mut self,
        key: &str,
        keys: &[&'k str],
        at: At<'_>,
        child: At<'_>,
    ) -> Option<&'k str> {
        let (guide, mut near) = (self.guide, None);
        self.push(|| {
            near = nearest(key, keys.iter().copied());
            let guided = guide.and_then(|guide| guide.instead_of(at.path, key));
            let hint = guided.unwrap_or_else(|| match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if keys.is_empty() => "no keys are allowed here".to_owned(),
                None => format!("valid keys here: {}", keys.join(", ")),
            });
            let message = format!("unknown key `{}`{}", shorten(key), within(at.path));
            let span = child.place.key.clone().unwrap_or_else(|| child.place.value.clone());
            Finding::new(span, child.path, message, Some(hint))
        });
        near
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
            Some("uint32") => (None, Some(Value::from(u32::MAX))),
            Some("int64" | "int") => (None, Some(Value::from(i64::MAX))),
            _ => (None, None),
        };
        let bound = |keyword: &str, other: Option<Value>| schema.get(keyword).cloned().or(other);
        let (least, most) = (bound("minimum", lowest), bound("maximum", highest));
        let (above, below) = (bound("exclusiveMinimum", None), bound("exclusiveMaximum", None));
        let holds = |bound: &Option<Value>, fits: &dyn Fn(&Value) -> bool| bound.as_ref().is_none_or(fits);
        let fits = holds(&least, &|least| !is_less(at.value, least))
            && holds(&most, &|most| !is_less(most, at.value))
            && holds(&above, &|above| is_less(above, at.value))
            && holds(&below, &|below| is_less(at.value, below));
        if !fits {
            let range = range(least.as_ref(), above.as_ref(), most.as_ref(), below.as_ref());
            let message = format!("{} must be {range}; this is {}", name(at.path), written(self.text, at));
            self.report(at, message, None);
        }
    }
}

/// Why a text doesn't have one of our formats. `pattern` tells editors the same.
fn refusal(format: &str, text: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match format {
        "run-name" => rlxp_types::RunName::parse(text).err().map(|error| error.to_string()),
        "line" if text.chars().any(char::is_control) => {
            Some("the text has a line break or a control character".to_owned())
        }
        "argument-name"
            if text.len() > 64
                || !text.chars().all(is_word)
                || text.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            Some(format!("`{}` can't name an argument: use letters, digits and _", shorten(text)))
        }
        _ => None,
    }
}

/// The formats that [`refusal`] knows.
pub(crate) const FORMATS: &[&str] = &["run-name", "line", "argument-name"];

fn is_less(left: &Value, right: &Value) -> bool {
    let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left < right,
        _ => left.as_f64() < right.as_f64(),
    }
}
