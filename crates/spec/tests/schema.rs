//! The committed JSON Schema is the one that the program gives.

use rlxp_spec::{known_keys, schema};
use serde_json::Value;

const COMMITTED: &str = include_str!("../../../docs/reference/config.schema.json");

#[test]
fn the_committed_schema_is_current() {
    let current = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    assert!(
        current == COMMITTED,
        "write it anew: cargo run -p rlxp-spec --example print_schema > docs/reference/config.schema.json"
    );
}

/// Every dotted key of a schema, sections followed through their references.
fn keys(root: &Value, node: &Value, prefix: &str) -> Vec<String> {
    let node = match node["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).expect("a definition that exists"),
        None => node,
    };
    let Some(properties) = node["properties"].as_object() else {
        return vec![prefix.trim_end_matches('.').to_owned()];
    };
    properties.iter().flat_map(|(key, value)| keys(root, value, &format!("{prefix}{key}."))).collect()
}

#[test]
fn the_schema_has_exactly_the_known_keys_each_described() {
    let schema = schema();
    let mut of_schema = keys(&schema, &schema, "");
    let mut known = known_keys();
    // Written by rlx into snapshots, which are configs too, and set by no user.
    known.push("snapshot".to_owned());
    of_schema.sort();
    known.sort();
    assert_eq!(of_schema, known);
    for key in known {
        let pointer = key.split('.').fold(&schema, |node, part| {
            let property = &node["properties"][part];
            match (node["properties"].is_null(), property["$ref"].as_str()) {
                (false, Some(reference)) if property["description"].is_null() || !key.ends_with(part) => {
                    schema.pointer(reference.trim_start_matches('#')).unwrap()
                }
                _ => property,
            }
        });
        assert!(pointer["description"].is_string(), "{key}");
    }
}
