//! Describes JSON Schemas as text, and lists the supported keywords.

use serde_json::Value;

use crate::document::check::FORMATS;

/// A part of a schema behind its references, as far as they lead.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    // A reference that leads to itself ends here as well.
    for _ in 0..32 {
        let only_refers = |(key, _): (&String, &Value)| key == "$ref" || is_annotation(key);
        match schema.as_object().filter(|keywords| keywords.iter().all(only_refers)) {
            Some(keywords) if keywords.contains_key("$ref") => match target(root, schema) {
                Some(target) => schema = target,
                None => return schema,
            },
            _ => return schema,
        }
    }
    schema
}

/// What the `$ref` of a schema leads to.
pub(crate) fn target<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}

/// The strings that a schema of nothing but words allows.
pub(crate) fn words<'a>(root: &'a Value, schema: &'a Value) -> Option<Vec<&'a str>> {
    let schema = resolve(root, schema);
    if let Some(word) = schema.get("const") {
        return word.as_str().map(|word| vec![word]);
    }
    if let Some(words) = schema.get("enum") {
        return words.as_array()?.iter().map(Value::as_str).collect();
    }
    let parts: Option<Vec<Vec<&str>>> = alternatives(schema)?.iter().map(|part| words(root, part)).collect();
    parts.map(|parts| parts.concat())
}

/// A type that is written as one of some words.
pub trait Words {
    /// The words; none for a type that is written in another way.
    fn words() -> Vec<String>;
}

impl<T: schemars::JsonSchema> Words for T {
    fn words() -> Vec<String> {
        let schema = schemars::schema_for!(T).to_value();
        words(&schema, &schema).unwrap_or_default().into_iter().map(str::to_owned).collect()
    }
}

/// The branches of a choice.
pub(crate) fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

/// The names of the types that a schema allows; empty for any.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => match schema.get("const") {
            Some(value) => vec![type_name(value)],
            None => Vec::new(),
        },
    }
}

/// The types of a schema and of all its branches.
pub(crate) fn all_types<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolve(root, schema);
    let branches = alternatives(schema).into_iter().flatten();
    types(schema).into_iter().chain(branches.flat_map(|branch| all_types(root, branch))).collect()
}

/// Whether a value is of the type with this name.
pub(crate) fn is_of(value: &Value, name: &str) -> bool {
    type_name(value) == name || (name == "number" && value.is_number())
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Describes what would be valid.
pub(crate) fn expected(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    if let Some(words) = words(root, schema) {
        return match words.as_slice() {
            [word] => format!("`{word}`"),
            _ => format!("one of {}", words.join(", ")),
        };
    }
    if let Some(branches) = alternatives(schema) {
        let mut parts: Vec<String> = branches.iter().map(|branch| expected(root, branch)).collect();
        parts.dedup();
        return parts.join(" or ");
    }
    let required = || {
        let keys = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
        let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
        (1..=3).contains(&keys.len()).then(|| format!(" with {}", keys.join(", ")))
    };
    let parts: Vec<String> = types(schema)
        .iter()
        .map(|name| match *name {
            "null" => "null".to_owned(),
            "boolean" => "true or false".to_owned(),
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "string" => "text".to_owned(),
            "array" => "a list".to_owned(),
            _ => format!("a mapping{}", required().unwrap_or_default()),
        })
        .collect();
    if parts.is_empty() { "something else".to_owned() } else { parts.join(" or ") }
}

/// The first paragraph of a schema's description, on one line.
pub(crate) fn description(root: &Value, schema: &Value) -> Option<String> {
    let own = |schema: &Value| schema.get("description")?.as_str().map(str::to_owned);
    let text = own(schema).or_else(|| own(resolve(root, schema)))?;
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    Some(paragraph.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

/// Says nothing about what is allowed.
fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$schema"
            | "$defs"
    )
}

/// The keywords in `schema` that [`Document::check`](crate::document::Document::check)
/// doesn't know and would therefore not enforce, each with its place in the
/// schema. A test of every type that is read from documents holds this to be
/// empty.
pub fn unsupported(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    search(schema, "#", &mut found);
    found
}

fn search(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        if !schema.is_boolean() {
            found.push(at.to_owned());
        }
        return;
    };
    for (keyword, value) in keywords {
        let at = format!("{at}/{keyword}");
        match keyword.as_str() {
            "properties" | "$defs" => {
                let parts = value.as_object().into_iter().flatten();
                parts.for_each(|(name, part)| search(part, &format!("{at}/{name}"), found));
            }
            "prefixItems" | "anyOf" | "oneOf" | "allOf" => {
                let parts = value.as_array().into_iter().flatten().enumerate();
                parts.for_each(|(index, part)| search(part, &format!("{at}/{index}"), found));
            }
            "items" | "additionalProperties" | "propertyNames" => search(value, &at, found),
            "$ref" | "type" | "required" | "enum" | "const" | "format" | "minItems" | "maxItems"
            | "uniqueItems" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
            | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {}
            // Of a pattern alone we would know nothing.
            "pattern"
                if keywords.get("format").and_then(Value::as_str).is_some_and(|f| FORMATS.contains(&f)) => {}
            keyword if is_annotation(keyword) => {}
            _ => found.push(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_keywords_are_found_wherever_they_stand() {
        let schema = json!({
            "properties": {"pattern": {"type": "string", "pattern": "^a"}},
            "$defs": {"A": {"anyOf": [{"items": {"not": {}}}]}},
            "unevaluatedProperties": false,
        });
        let expected =
            ["#/properties/pattern/pattern", "#/$defs/A/anyOf/0/items/not", "#/unevaluatedProperties"];
        assert_eq!(unsupported(&schema), expected);
    }

    #[test]
    fn a_reference_to_itself_comes_to_an_end() {
        let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
        assert_eq!(expected(&schema, &schema), "something else");
        assert_eq!(resolve(&schema, &json!({"$ref": "#/nowhere"})), &json!({"$ref": "#/nowhere"}));
    }
}
