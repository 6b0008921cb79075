//! Other notations of what a schema allows, brought into the one that types read.
//!
//! In a config `1e6` is a whole number, a mapping may be left empty, and a
//! name that needs no arguments may be alone.

use serde_json::{Map, Number, Value};

use crate::document::schema::{all_types, alternatives, resolve, words};

/// Above 2^53 an f64 no longer says which whole number was meant.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Rewrites `value` as `schema`, a part of `root`, has it. What fits nothing stays, for the check to find.
pub(crate) fn coerce(root: &Value, schema: &Value, value: &mut Value) {
    let schema = resolve(root, schema);
    let types = all_types(root, schema);
    let allows = |name: &str| types.contains(&name);
    let branches = || alternatives(schema).into_iter().flatten().map(|branch| resolve(root, branch));
    match value {
        Value::Null if allows("object") && allows("null") => *value = Value::Object(Map::new()),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if allows("integer") && !allows("number") && float.fract() == 0.0 {
                // Larger ones are out of any range, and must be found to be.
                let whole = if float.abs() <= EXACT { float as i64 } else { i64::MAX };
                *number = Number::from(whole);
            } else if float == 0.0 && !allows("string") {
                // -0.0 would be written and compared as a separate value.
                *value = Value::from(0.0);
            }
        }
        Value::String(word) => {
            let has_arguments =
                |branch: &Value| branch.get("properties").is_some_and(|own| own.get(&*word).is_some());
            let alone = branches()
                .any(|branch| words(root, branch).is_some_and(|words| words.contains(&word.as_str())));
            if alone && branches().any(has_arguments) {
                *value = Value::Object(Map::from_iter([(word.clone(), Value::Object(Map::new()))]));
            }
        }
        Value::Array(items) => {
            for schema in std::iter::once(schema).chain(branches()).filter_map(|schema| schema.get("items")) {
                items.iter_mut().for_each(|item| coerce(root, schema, item));
            }
        }
        Value::Object(entries) => {
            for schema in std::iter::once(schema).chain(branches()) {
                for (key, value) in entries.iter_mut() {
                    let own = schema.get("properties").and_then(|properties| properties.get(key));
                    if let Some(schema) = own.or_else(|| schema.get("additionalProperties")) {
                        coerce(root, schema, value);
                    }
                }
            }
        }
        _ => {}
    }
}
