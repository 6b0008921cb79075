//! The layers of a config: the file, and each `--set` on top of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Map, Value};

use crate::document::check::{At, Finding, findings};
use crate::document::coerce::coerce;
use crate::document::span_tree::{SpanTree, is_within, of_item, of_key, shorten};
use crate::document::{build, words};
use crate::keys::{Chosen, Shape, Tags, at};
use crate::nearest::path_hint;
use crate::problem::{Collector, Problem};
use crate::snapshot::{FORMAT_KEY, SNAPSHOT_FORMAT};
use crate::source::Source;
use crate::tree::{self, Kind};

/// A file as it was written, and where everything is.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) value: Value,
    pub(crate) place: SpanTree,
}

/// The values of one source that are right, by dotted path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) values: BTreeMap<String, Value>,
    /// The keys whose values are wrong, so that later checks leave them alone.
    pub(crate) failed: BTreeSet<String>,
}

/// Reads a whole config. `None` means that there is no mapping, and a problem says why.
pub(crate) fn read(shape: &Shape, source: &Source, problems: &mut Collector) -> Option<File> {
    let root = tree::parse(source, 0..source.text.len(), problems)?;
    let (mut value, place) = build::build(source, "", &root, build::Doubtful::Accepted, problems);
    if value.is_object() {
        coerce(&shape.schema, &shape.schema, &mut value);
        return Some(File { value, place });
    }
    if let Kind::Scalar { text, plain: true } = &root.kind
        && text.is_empty()
    {
        problems.push(|| source.problem(root.span.clone(), "", tree::NOTHING));
    } else if !place.refused {
        let message = format!("a config is a mapping of keys to values; this is {}", words::describe(&value));
        problems.push(|| source.problem(root.span.clone(), "", message).with_hint("env: {id: CartPole-v1}"));
    }
    None
}

impl File {
    /// Checks every key for a config with these choices.
    pub(crate) fn check(&self, chosen: &Chosen<'_>, source: &Source, problems: &mut Collector) -> Layer {
        let root = At { value: &self.value, place: &self.place, path: "" };
        let schema = &chosen.shape.schema;
        let mut found = findings(schema, schema, &source.text, root, Some(chosen));
        found.iter_mut().for_each(|finding| later_format(&self.value, finding));
        let mut wrong: Vec<String> = found.iter().map(|finding| finding.path.clone()).collect();
        refused(&self.value, &self.place, "", &mut wrong);
        let mut layer = Layer::default();
        for key in chosen.shape.keys_with(chosen.tags) {
            if wrong.iter().any(|path| is_within(path, &key.path) || is_within(&key.path, path)) {
                layer.failed.insert(key.path.clone());
            } else if let Some(value) = at(&self.value, &key.path) {
                layer.values.insert(key.path.clone(), value.clone());
            }
        }
        found.into_iter().for_each(|finding| problems.push(|| finding.into_problem(source)));
        layer
    }
}

/// A snapshot that a later rlx wrote may mean something else by the same keys, so it is refused.
fn later_format(file: &Value, finding: &mut Finding) {
    let format = file.get(FORMAT_KEY).and_then(Value::as_u64).filter(|_| finding.path == FORMAT_KEY);
    if let Some(format) = format.filter(|format| *format > SNAPSHOT_FORMAT) {
        finding.message =
            format!("this snapshot has format {format}; this version of rlx supports 1 to {SNAPSHOT_FORMAT}");
        finding.hint = Some("use the version of rlx that wrote it".to_owned());
    }
}

/// The paths of everything that could not be read.
fn refused(value: &Value, place: &SpanTree, path: &str, wrong: &mut Vec<String>) {
    if place.refused {
        wrong.push(path.to_owned());
    }
    match value {
        Value::Object(entries) => entries
            .iter()
            .zip(&place.children)
            .for_each(|((key, value), place)| refused(value, place, &of_key(path, key), wrong)),
        Value::Array(items) => items
            .iter()
            .zip(&place.children)
            .enumerate()
            .for_each(|(index, (value, place))| refused(value, place, &of_item(path, index), wrong)),
        _ => {}
    }
}

/// One `--set`: a key, and a value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) path: String,
    pub(crate) value: Value,
    pub(crate) place: SpanTree,
}

/// All `--set` overrides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assigned {
    pub(crate) layer: Layer,
    /// Entries that were set one by one in a mapping of free keys: its path, key and value.
    pub(crate) entries: Vec<(String, String, Value)>,
}

/// Checks assignments for a config with these choices.
pub(crate) fn check_assigned(
    assignments: &mut [Assignment],
    chosen: &Chosen<'_>,
    source: &Source,
    problems: &mut Collector,
) -> Assigned {
    let root = &chosen.shape.schema;
    let mut assigned = Assigned::default();
    for Assignment { path, value, place } in assignments {
        let key = chosen.shape.keys_with(chosen.tags).find(|key| {
            key.path == *path || key.schema.get("propertyNames").is_some() && is_within(path, &key.path)
        });
        let Some(key) = key else {
            let span = place.key.clone().unwrap_or_default();
            problems.push(|| unknown(path, span, chosen, source));
            continue;
        };
        let mut found = Vec::new();
        if key.path == *path {
            coerce(root, &key.schema, value);
            found = findings(root, &key.schema, &source.text, At { value, place, path }, Some(chosen));
        } else if let Some(name) = path.get(key.path.len() + 1..) {
            // Checked as the only entry of its mapping.
            let mapping = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
            let around = SpanTree { children: vec![place.clone()], ..SpanTree::default() };
            let at = At { value: &mapping, place: &around, path: &key.path };
            found = findings(root, &key.schema, &source.text, at, Some(chosen));
        }
        if !found.is_empty() || place.refused {
            assigned.layer.failed.insert(key.path.clone());
        } else if key.path == *path {
            assigned.layer.values.insert(key.path.clone(), value.clone());
        } else {
            let name = path[key.path.len() + 1..].to_owned();
            assigned.entries.push((key.path.clone(), name, value.clone()));
        }
        found.into_iter().for_each(|finding| problems.push(|| finding.into_problem(source)));
    }
    assigned
}

fn unknown(path: &str, span: Range<usize>, chosen: &Chosen<'_>, source: &Source) -> Problem {
    let message = format!("unknown key `{}`", shorten(path));
    let near = || path_hint(&chosen.paths(), path);
    let hint = chosen.of_other_choice(path).unwrap_or_else(near);
    source.problem(span, &shorten(path), message).with_hint(hint)
}

/// The layers of a config by precedence, the first of which that has a key decides.
pub(crate) struct Layers<'a> {
    pub(crate) chosen: Chosen<'a>,
    pub(crate) assigned: &'a Assigned,
    pub(crate) file: &'a Layer,
    pub(crate) starter: Option<&'a Layer>,
}

impl Layers<'_> {
    /// Whether the user wrote this key.
    pub(crate) fn is_chosen(&self, path: &str) -> bool {
        self.assigned.layer.values.contains_key(path) || self.file.values.contains_key(path)
    }

    /// The keys that the user wrote wrongly, and not rightly anywhere.
    pub(crate) fn failed(&self) -> BTreeSet<String> {
        let overridden = |path: &&String| !self.assigned.layer.values.contains_key(*path);
        let of_file = self.file.failed.iter().filter(overridden);
        of_file.chain(&self.assigned.layer.failed).cloned().collect()
    }

    /// Every key that a layer or a default has.
    pub(crate) fn merged(&self) -> BTreeMap<&str, Value> {
        let mut merged = BTreeMap::new();
        for key in self.chosen.shape.keys_with(self.chosen.tags) {
            // A starter of another algorithm doesn't apply to this one.
            let starter = self.starter.filter(|starter| {
                key.variant.as_ref().is_none_or(|(section, word)| {
                    tags_of(self.chosen.shape, starter).get(section) == Some(word)
                })
            });
            let layers = [Some(&self.assigned.layer), Some(self.file), starter];
            let written = layers.into_iter().flatten().find_map(|layer| layer.values.get(&key.path));
            if let Some(value) = written.or_else(|| key.default()) {
                merged.insert(key.path.as_str(), value.clone());
            }
        }
        for (path, name, value) in &self.assigned.entries {
            if let Some(Value::Object(entries)) = merged.get_mut(path.as_str()) {
                entries.insert(name.clone(), value.clone());
            }
        }
        merged
    }
}

fn tags_of(shape: &Shape, layer: &Layer) -> Tags {
    shape.tags(|path| layer.values.get(path))
}
