//! The committed JSON Schema matches the one that the program generates.

use rlxp_spec::document::unsupported;
use rlxp_spec::{known_keys, schema};
use serde_json::Value;

const COMMITTED: &str = include_str!("../../../../docs/reference/config.schema.json");

#[test]
fn the_committed_schema_is_current() {
    let current = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    assert!(
        current == COMMITTED,
        "update it: cargo run -p rlxp-spec --example print_schema > docs/reference/config.schema.json"
    );
}

/// Every dotted key of a schema with its own schema, sections and choices
/// followed through their references.
fn keys(root: &Value, node: &Value, prefix: &str) -> Vec<(String, Value)> {
    let is_section = |node: &Value| node["properties"].is_object();
    let target = match node["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).expect("a definition that exists"),
        None => node,
    };
    let branches: Vec<&Value> = match target["anyOf"].as_array() {
        Some(branches) => branches.iter().collect(),
        None => vec![target],
    };
    let top_level = prefix.matches('.').count() < 2;
    let sections: Vec<&Value> = branches.into_iter().filter(|node| is_section(node) && top_level).collect();
    if sections.is_empty() {
        return vec![(prefix.trim_end_matches('.').to_owned(), node.clone())];
    }
    let entries = sections.iter().flat_map(|section| section["properties"].as_object().into_iter().flatten());
    entries.flat_map(|(key, value)| keys(root, value, &format!("{prefix}{key}."))).collect()
}

#[test]
fn the_schema_has_exactly_the_known_keys_each_described() {
    let schema = schema();
    let of_schema = keys(&schema, &schema, "");
    let mut names: Vec<&str> = of_schema.iter().map(|(key, _)| key.as_str()).collect();
    let mut known = known_keys();
    // Written by rlx into snapshots, which are configs too, and set by no user.
    known.push("snapshot".to_owned());
    names.sort_unstable();
    known.sort();
    assert_eq!(names, known);
    for (key, schema) in &of_schema {
        assert!(schema["description"].is_string(), "{key}");
    }
}

/// Values that no layer has are derived, and there are few of them.
#[test]
fn every_other_key_has_a_default() {
    let schema = schema();
    let mut without: Vec<String> = keys(&schema, &schema, "")
        .into_iter()
        .filter(|(_, schema)| schema.get("default").is_none() && schema.get("const").is_none())
        .map(|(key, _)| key)
        .collect();
    without.sort();
    assert_eq!(without, ["checkpoint.save_every", "env.id", "eval.every", "run_name", "snapshot"]);
}

#[test]
fn every_keyword_is_enforced() {
    assert_eq!(unsupported(&schema()), Vec::<String>::new());
}
