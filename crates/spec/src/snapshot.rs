//! The resolved config as `config_snapshot.yaml`, and back, exactly.
//!
//! A snapshot begins with its format, `snapshot: 2`. The number changes when a
//! value gets another meaning, so that a run is always trained by the rules
//! that it was recorded under:
//!
//! | format | first line | what is different |
//! |---|---|---|
//! | 1 | none | `eval.episodes` is what was asked for; where chance plays a part, at least 100 were played |
//! | 2 | `snapshot: 2` | `eval.episodes` is what is played |
//!
//! Only a caller that knows the environments can tell where chance plays a
//! part, so [`from_snapshot`] gives the format and changes nothing. In a config
//! the key has no effect: a snapshot can be trained from like any other file.

use std::fmt::Write;

use rlxp_types::text::yaml_number;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::config::rules::{self, Facts};
use crate::keys::{Chosen, Shape, at};
use crate::layers::{self, Assigned, Layers};
use crate::load::Places;
use crate::problem::{Collector, Problem, Problems, Severity};
use crate::scalar::Scalar;
use crate::source::Source;

/// The key of a snapshot's format.
pub(crate) const FORMAT_KEY: &str = "snapshot";

/// The format that [`to_snapshot`] writes.
pub const SNAPSHOT_FORMAT: u64 = 2;

/// The keys that a snapshot may lack: they then have their default. `env.workers` never changes a result and is never
/// written.
const LEFT_OUT: [&str; 5] = ["env.python", "env.workers", "env.timeout", "env.seed", "env.recreate"];

/// A snapshot as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The values as recorded.
    pub config: Config,
    /// The format, which says what they mean.
    pub format: u64,
}

/// The content of `config_snapshot.yaml`: the format, then [`to_yaml`].
pub fn to_snapshot(config: &Config) -> String {
    format!("{FORMAT_KEY}: {SNAPSHOT_FORMAT}\n{}", to_yaml(config))
}

/// Every field in the order of the types, a section at a time. A float is
/// written with the fewest digits that read back to the same bits.
pub fn to_yaml(config: &Config) -> String {
    let config = serde_json::to_value(config).expect("a config is plain data");
    let (mut text, none) = (String::new(), Map::new());
    for (name, value) in config.as_object().unwrap_or(&none) {
        match value {
            Value::Object(section) => {
                writeln!(text, "{name}:").expect(WRITES);
                for (key, value) in section {
                    let value = match value {
                        Value::Array(items) if key == "wrappers" => names(items),
                        value => inline(value),
                    };
                    writeln!(text, "  {key}: {value}").expect(WRITES);
                }
            }
            _ => writeln!(text, "{name}: {}", inline(value)).expect(WRITES),
        }
    }
    text
}

const WRITES: &str = "a String takes any text";

/// Reads what [`to_snapshot`] wrote, in any format: every other key must be
/// there, nothing is filled in.
pub fn from_snapshot(source: &Source) -> Result<Snapshot, Problems> {
    let mut problems = Collector::default();
    let sources = vec![source.clone()];
    let snapshot = read(source, &sources, &mut problems);
    let problems = problems.into_sorted(&sources);
    match snapshot {
        Some(snapshot) if problems.is_empty() => Ok(snapshot),
        _ => Err(Problems { problems, sources }),
    }
}

fn read(source: &Source, sources: &[Source], problems: &mut Collector) -> Option<Snapshot> {
    let shape = Shape::config();
    let places = Places { file: layers::read(shape, source, problems)?, assignments: Vec::new() };
    let tags = shape.tags(|path| at(&places.file.value, path));
    let chosen = Chosen { shape, tags: &tags };
    let layer = places.file.check(&chosen, source, problems);
    let mut refuse = |path: &str, message: String, hint| {
        let severity = Severity::Error;
        problems.push(|| Problem { severity, hint, ..places.located(sources, path, message) });
    };
    for path in chosen.paths() {
        match layer.values.get(path) {
            // Written only where they differ from their default, as snapshots from before they existed lack them.
            None if LEFT_OUT.contains(&path) => {}
            None if !layer.failed.contains(path) => {
                refuse(path, format!("`{path}` is missing; a snapshot has every key"), None);
            }
            Some(Value::Number(count)) if path == "threads" && count.as_u64() == Some(0) => {
                refuse(path, "a snapshot holds the number of threads".to_owned(), None);
            }
            Some(Value::Number(_)) if path == "seeds" => {
                refuse(path, "a snapshot holds the list of seeds".to_owned(), None);
            }
            _ => {}
        }
    }
    if !problems.is_empty() {
        return None;
    }
    let assigned = Assigned::default();
    let layers = Layers { chosen, assigned: &assigned, file: &layer, starter: None };
    let facts = Facts { failed: &layer.failed, is_chosen: &|_| true };
    // `to_yaml` never writes what a user would only be warned about.
    let mut refuse = |path: &str, _, message: String, hint| {
        let severity = Severity::Error;
        problems.push(|| Problem { severity, hint, ..places.located(sources, path, message) });
    };
    let config = rules::resolve(layers.merged(), &facts, 1, &mut refuse)?;
    let format = places.file.value.get(FORMAT_KEY).and_then(Value::as_u64).unwrap_or(1);
    problems.is_empty().then_some(Snapshot { config, format })
}

/// A value on one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(float) if float.is_f64() => yaml_number(float.as_f64().unwrap_or_default()),
        Value::Number(integer) => integer.to_string(),
        Value::String(content) => text(content),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", text(key), inline(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Names with their arguments, as wrappers are written.
fn names(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(name).collect::<Vec<_>>().join(", "))
}

/// An item of such a list. A name with its arguments needs no braces, and one without arguments is the name alone.
fn name(value: &Value) -> String {
    match value.as_object().filter(|entries| entries.len() == 1).and_then(|entries| entries.iter().next()) {
        Some((name, Value::Object(arguments))) if arguments.is_empty() => name.clone(),
        Some((name, arguments)) => format!("{name}: {}", inline(arguments)),
        None => inline(value),
    }
}

/// Plain where that is surely text, otherwise in double quotes with everything
/// unusual escaped.
fn text(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && Scalar::parse(text, true) == Scalar::Text;
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ if character.is_alphanumeric() => quoted.push(character),
            _ => write!(quoted, "\\U{:08X}", u32::from(character)).expect(WRITES),
        }
    }
    quoted.push('"');
    quoted
}
