//! From a checked value to a type, with every rule that the type has beyond
//! its schema.
//!
//! A derived reader stops at the first value that a type refuses. Where the
//! schema gives an example for that value, the example takes its place and
//! reading continues, so that later problems are found as well.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::document::schema::{alternatives, resolve, target, types};
use crate::document::span_tree::{of_item, of_key};

/// As many refusals as a report shows.
const MOST: usize = 200;

/// What a type says about a value that its schema allows.
pub(crate) struct Refusal {
    pub(crate) path: String,
    pub(crate) message: String,
}

/// Reads a value that follows `schema`, the schema of `T`.
pub(crate) fn typed<T: DeserializeOwned + JsonSchema>(
    value: &Value,
    schema: &Value,
) -> Result<T, Vec<Refusal>> {
    let error = match serde_path_to_error::deserialize(value) {
        Ok(typed) => return Ok(typed),
        Err(error) => error,
    };
    let mut refusals = Vec::new();
    let (mut value, mut error) = (value.clone(), error);
    for _ in 0..MOST {
        let path = steps(error.path());
        refusals.push(refusal(&path, error.inner()));
        let replaced = find(&mut value, &path).zip(example(schema, &path));
        // An example that is refused itself would come back for ever.
        let Some((refused, example)) = replaced.filter(|(refused, example)| *refused != *example) else {
            break;
        };
        *refused = example.clone();
        match serde_path_to_error::deserialize::<_, T>(&value) {
            Ok(_) => break,
            Err(next) => error = next,
        }
    }
    Err(refusals)
}

enum Step {
    Item(usize),
    Key(String),
}

/// The way to a value, as far as serde could follow it.
fn steps(path: &Path) -> Vec<Step> {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(Step::Item(*index)),
        Segment::Map { key } | Segment::Enum { variant: key } => Some(Step::Key(key.clone())),
        Segment::Unknown => None,
    };
    path.iter().map_while(step).collect()
}

fn refusal(path: &[Step], error: &serde_json::Error) -> Refusal {
    let path = path.iter().fold(String::new(), |path, step| match step {
        Step::Item(index) => of_item(&path, *index),
        Step::Key(key) => of_key(&path, key),
    });
    let message = if path.is_empty() { error.to_string() } else { format!("`{path}`: {error}") };
    Refusal { path, message }
}

fn find<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Item(index) => value.get_mut(*index),
        Step::Key(key) => value.get_mut(key),
    })
}

/// The first example in the schema for the value at `path`.
fn example<'a>(root: &'a Value, path: &[Step]) -> Option<&'a Value> {
    let schema = path.iter().try_fold(root, |schema, step| child(root, schema, step))?;
    let own = |schema: &'a Value| schema.get("examples")?.as_array()?.first();
    own(schema).or_else(|| own(value_of(root, schema)))
}

fn child<'a>(root: &'a Value, schema: &'a Value, step: &Step) -> Option<&'a Value> {
    let schema = value_of(root, schema);
    let own = match step {
        Step::Item(index) => {
            schema.get("prefixItems").and_then(|items| items.get(index)).or_else(|| schema.get("items"))
        }
        Step::Key(key) => schema
            .get("properties")
            .and_then(|properties| properties.get(key))
            .or_else(|| schema.get("additionalProperties")),
    };
    let referred = || target(root, schema).and_then(|schema| child(root, schema, step));
    let of_branch = || alternatives(schema)?.iter().find_map(|branch| child(root, branch, step));
    own.filter(|schema| schema.is_object()).or_else(referred).or_else(of_branch)
}

/// A schema behind its references, and behind the choice to leave it out.
fn value_of<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = resolve(root, schema);
    let mut given = alternatives(schema).into_iter().flatten().filter(|branch| types(branch) != ["null"]);
    match (given.next(), given.next()) {
        (Some(only), None) => resolve(root, only),
        _ => schema,
    }
}
