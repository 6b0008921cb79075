//! Every key of a config, derived from the schema of its type.
//!
//! A config is a mapping of keys and of sections of keys. A section may be a
//! choice, such as `algo`: then a word under its tag (`name`) says which keys
//! the rest of the section has.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::document::choice::{shared_tag, tag_of};
use crate::document::schema::alternatives;
use crate::nearest;
use crate::snapshot::{FORMAT_KEY, SNAPSHOT_FORMAT};

/// A key that holds a value.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted path.
    pub(crate) path: String,
    pub(crate) schema: Value,
    /// The choice that has this key, where only one of a section has: section and word.
    pub(crate) variant: Option<(String, String)>,
}

impl Key {
    /// What a config gets that leaves the key out and whose environment has no starter.
    pub(crate) fn default(&self) -> Option<&Value> {
        self.schema.get("default")
    }
}

/// What a type of configs looks like in a file.
pub(crate) struct Shape {
    /// Its schema. Nothing is required: what a file leaves out another layer has.
    pub(crate) schema: Value,
    /// Every key, in the order of the type.
    pub(crate) keys: Vec<Key>,
    /// Of each section that is a choice: its name, its tag and the words.
    pub(crate) tags: Vec<(String, String, Vec<String>)>,
}

/// The chosen word of each section that is a choice.
pub(crate) type Tags = BTreeMap<String, String>;

impl Shape {
    /// What a [`Config`] looks like in a file.
    pub(crate) fn config() -> &'static Self {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::for_type::<Config>);
        &SHAPE
    }

    /// What a `T` looks like in a file.
    pub(crate) fn for_type<T: JsonSchema>() -> Self {
        let mut shape =
            Self { schema: schemars::schema_for!(T).to_value(), keys: Vec::new(), tags: Vec::new() };
        let top = shape.schema["properties"].as_object().cloned().unwrap_or_default();
        for (name, property) in &top {
            match property["$ref"].as_str().map(|reference| reference.trim_start_matches('#')) {
                Some(pointer) => shape.section(name, pointer),
                None => shape.push(name.clone(), property.clone(), None),
            }
        }
        remove_required(&mut shape.schema);
        shape.schema["title"] = json!("rlx config");
        shape.schema["properties"][FORMAT_KEY] = json!({
            "description": "Format of a run's config_snapshot.yaml, written by rlx; leave it out of a config.",
            "type": "integer", "minimum": 1, "maximum": SNAPSHOT_FORMAT,
        });
        shape
    }

    fn push(&mut self, path: String, schema: Value, variant: Option<(String, String)>) {
        self.keys.push(Key { path, schema, variant });
    }

    /// Takes in the keys of a section, and lets a file leave out any of them.
    fn section(&mut self, name: &str, pointer: &str) {
        let Some(section) = self.schema.pointer_mut(pointer) else { return };
        let mut choices = match alternatives(section) {
            Some(branches) => branches.clone(),
            None => vec![section.clone()],
        };
        choices.iter_mut().for_each(remove_required);
        let is_choice = alternatives(section).is_some();
        let branches: Vec<&Value> = choices.iter().collect();
        let tag = branches.first().and_then(|first| shared_tag(first, &branches)).map(str::to_owned);
        if let (true, Some(tag)) = (is_choice, &tag) {
            for choice in &mut choices {
                choice["properties"][tag]["description"] = choice["description"].clone();
            }
            let mut branches = choices.clone();
            branches.push(json!({"type": "null"}));
            *section = json!({"description": section["description"], "anyOf": branches});
            let words: Vec<String> =
                choices.iter().filter_map(|choice| tag_of(choice, tag)).map(str::to_owned).collect();
            let key = json!({"description": section["description"], "enum": words, "default": words.first()});
            self.push(format!("{name}.{tag}"), key, None);
            self.tags.push((name.to_owned(), tag.clone(), words));
        } else {
            *section = choices[0].clone();
            section["type"] = json!(["object", "null"]);
        }
        for choice in &choices {
            let word = tag.as_ref().filter(|_| is_choice).and_then(|tag| tag_of(choice, tag));
            let variant = word.map(|word| (name.to_owned(), word.to_owned()));
            let own = choice["properties"].as_object().cloned().unwrap_or_default();
            for (key, schema) in
                own.into_iter().filter(|(key, _)| tag.as_ref().filter(|_| is_choice) != Some(key))
            {
                self.push(format!("{name}.{key}"), schema, variant.clone());
            }
        }
    }

    /// The words of the choices; `written` gives what a user wrote at a path. A
    /// missing or unknown choice counts as the first one.
    pub(crate) fn tags<'v>(&self, written: impl Fn(&str) -> Option<&'v Value>) -> Tags {
        let choose = |(section, tag, words): &(String, String, Vec<String>)| {
            let word = written(&format!("{section}.{tag}")).and_then(Value::as_str);
            let word = words.iter().find(|own| word == Some(own.as_str())).or(words.first())?;
            Some((section.clone(), word.clone()))
        };
        self.tags.iter().filter_map(choose).collect()
    }

    /// The keys that a config with these choices has.
    pub(crate) fn keys_with<'a>(&'a self, tags: &'a Tags) -> impl Iterator<Item = &'a Key> {
        self.keys.iter().filter(|key| match &key.variant {
            Some((section, word)) => tags.get(section) == Some(word),
            None => true,
        })
    }

    /// Whether a key of this name is a section at the top level.
    pub(crate) fn is_section(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    }
}

fn remove_required(schema: &mut Value) {
    schema.as_object_mut().map(|keywords| keywords.remove("required"));
}

/// A shape with the choices of one config: what its checks know beyond the schema.
pub(crate) struct Chosen<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) tags: &'a Tags,
}

impl Chosen<'_> {
    /// What to write instead of the unknown `key` of the mapping at `path`.
    pub(crate) fn instead_of(&self, path: &str, key: &str) -> Option<String> {
        let is_here = path.is_empty() || self.shape.is_section(path);
        let other = || self.of_other_choice(&format!("{path}.{key}"));
        is_here.then(|| other().unwrap_or_else(|| nearest::key_hint(&self.paths(), path, key)))
    }

    /// What to choose to have a key that another choice has.
    pub(crate) fn of_other_choice(&self, path: &str) -> Option<String> {
        let (section, word) = self.shape.keys.iter().find(|key| key.path == path)?.variant.as_ref()?;
        let (_, tag, _) = self.shape.tags.iter().find(|(own, _, _)| own == section)?;
        Some(format!("`{path}` is a key of `{section}.{tag}: {word}`"))
    }

    /// The word under the tag of the mapping at `path`, where a file leaves it out.
    pub(crate) fn tag(&self, path: &str) -> Option<&str> {
        self.tags.get(path).map(String::as_str)
    }

    /// The path of every key.
    pub(crate) fn paths(&self) -> Vec<&str> {
        self.shape.keys_with(self.tags).map(|key| key.path.as_str()).collect()
    }
}

/// Every dotted key that `--set` takes.
pub fn known_keys() -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for key in &Shape::config().keys {
        if !known.contains(&key.path) {
            known.push(key.path.clone());
        }
    }
    known
}

/// The JSON types that the values of a dotted key have, in any variant; none for an unknown key.
pub fn value_types(path: &str) -> Vec<String> {
    fn collect(schema: &Value, root: &Value, found: &mut Vec<String>) {
        if let Some(target) =
            schema["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#')))
        {
            return collect(target, root, found);
        }
        match &schema["type"] {
            Value::String(word) => found.push(word.clone()),
            Value::Array(words) => found.extend(words.iter().filter_map(Value::as_str).map(str::to_owned)),
            _ => {}
        }
        if schema.get("enum").is_some() || schema.get("const").is_some() {
            found.push("string".to_owned());
        }
        for list in ["anyOf", "oneOf"] {
            for branch in schema[list].as_array().into_iter().flatten() {
                collect(branch, root, found);
            }
        }
    }
    let shape = Shape::config();
    let mut found = Vec::new();
    for key in shape.keys.iter().filter(|key| key.path == path) {
        collect(&key.schema, &shape.schema, &mut found);
    }
    found
}

/// The JSON Schema of a config file: an editor completes and checks by the same
/// rules as [`load`](crate::load()). What only `load` can see, such as relations
/// between keys, is not in it.
pub fn schema() -> Value {
    let mut schema = Shape::config().schema.clone();
    schema["required"] = json!(["env"]);
    let environment =
        schema["properties"]["env"]["$ref"].as_str().map(|name| name.trim_start_matches('#').to_owned());
    if let Some(env) = environment.and_then(|pointer| schema.pointer_mut(&pointer)) {
        env["type"] = json!("object");
        env["required"] = json!(["id"]);
    }
    schema
}

/// Values by dotted path as one mapping of sections.
pub(crate) fn nested<'a>(values: impl IntoIterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    let mut root = Map::new();
    for (path, value) in values {
        match path.split_once('.') {
            None => drop(root.insert(path.to_owned(), value)),
            Some((section, key)) => {
                let section = root.entry(section).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(section) = section {
                    section.insert(key.to_owned(), value);
                }
            }
        }
    }
    root
}

/// The value at a dotted path of at most one section.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

#[cfg(test)]
mod tests;
