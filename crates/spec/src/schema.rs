//! JSON Schema of what a user may write.
//!
//! Shape and descriptions come from the types of [`Config`], ranges from the
//! table of fields, so an editor completes and checks by the same rules as
//! `load`. What only `load` can see (relations between keys, environments,
//! seeds that are given twice in other notations) is not in it.

use serde_json::{Map, Value as Json, json};

use crate::config::Config;
use crate::fields::{self, Bounds, FIELDS, Field, Rule, SECTIONS};
use crate::snapshot::{FORMAT_KEY, SNAPSHOT_FORMAT};

/// The schema of a config file.
pub fn schema() -> Json {
    let mut root = schemars::schema_for!(Config).to_value();
    // There is one algorithm and one kind of network, so their keys are those of the section.
    for (section, tag) in [("algo", "name"), ("policy", "type")] {
        let definition = definition(&mut root, section);
        let (section, mut only) = (definition["description"].take(), definition["oneOf"][0].take());
        only["properties"][tag]["description"] = only["description"].take();
        only["description"] = section;
        *definition = only;
    }
    root["title"] = json!("rlx config");
    root["required"] = json!(["env"]);
    for section in SECTIONS {
        let section = definition(&mut root, section);
        section["type"] = json!(["object", "null"]);
        section.as_object_mut().map(|section| section.remove("required"));
    }
    definition(&mut root, "env")["type"] = json!("object");
    definition(&mut root, "env")["required"] = json!(["id"]);
    for field in FIELDS {
        let (section, key) = field.path.split_once('.').unwrap_or(("", field.path));
        let holder = if section.is_empty() { &mut root } else { definition(&mut root, section) };
        let property = &mut holder["properties"][key];
        // A choice of words keeps its reference: the words have descriptions of their own.
        if let Some(mut rule) = rule_of(field) {
            rule.insert("description".to_owned(), property["description"].take());
            *property = Json::Object(rule);
        }
    }
    root["properties"][FORMAT_KEY] = json!({
        "description": "Format of a run's config_snapshot.yaml, written by rlx; leave it out of a config.",
        "type": "integer", "minimum": 1, "maximum": SNAPSHOT_FORMAT,
    });
    // What the rules above have replaced.
    for unused in ["Kwarg", "LinearTag", "Schedule", "WrapperConfig"] {
        root["$defs"].as_object_mut().map(|definitions| definitions.remove(unused));
    }
    root
}

fn definition<'a>(root: &'a mut Json, section: &str) -> &'a mut Json {
    let name = match section {
        "env" => "EnvConfig",
        "algo" => "AlgoConfig",
        "policy" => "PolicyConfig",
        "checkpoint" => "CheckpointConfig",
        _ => "EvalConfig",
    };
    &mut root["$defs"][name]
}

fn rule_of(field: &Field) -> Option<Map<String, Json>> {
    let or_null = |name: &str| if field.nullable { json!([name, "null"]) } else { json!(name) };
    let rule = match field.rule {
        Rule::Word(_) => return None,
        Rule::RunName => json!({
            "type": "string", "minLength": 1, "maxLength": 100, "pattern": r"^[^.\-\s/\\][^\s/\\]*$",
        }),
        Rule::Text => json!({"type": "string", "minLength": 1, "maxLength": fields::MAX_TEXT}),
        Rule::Flag => json!({"type": "boolean"}),
        Rule::Count(low, high) => json!({"type": or_null("integer"), "minimum": low, "maximum": high}),
        Rule::Number(bounds) => number(bounds, or_null("number")),
        Rule::Schedule(bounds) => {
            let end = number(Bounds { closed: true, ..bounds }, json!("number"));
            json!({"oneOf": [
                number(bounds, json!("number")),
                {
                    "type": "object",
                    "properties": {"schedule": {"const": "linear"}, "from": end, "to": end},
                    "required": ["schedule", "from", "to"],
                    "additionalProperties": false,
                },
            ]})
        }
        Rule::Sizes => json!({
            "type": "array", "minItems": 1, "maxItems": fields::MAX_LAYERS,
            "items": {"type": "integer", "minimum": 1, "maximum": fields::MAX_WIDTH},
        }),
        Rule::Seeds => json!({"oneOf": [
            {"type": "integer", "minimum": 1, "maximum": fields::MAX_SEEDS},
            {
                "type": "array", "minItems": 1, "maxItems": fields::MAX_SEEDS, "uniqueItems": true,
                "items": {"type": "integer", "minimum": 0, "maximum": fields::MAX_SEED},
            },
        ]}),
        Rule::Kwargs => json!({
            "type": ["object", "null"],
            "maxProperties": fields::MAX_KWARGS,
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
            "additionalProperties": {"type": ["boolean", "number", "string"]},
        }),
        Rule::Wrappers => json!({
            "type": "array", "maxItems": fields::MAX_WRAPPERS, "items": {"anyOf": wrappers()},
        }),
    };
    match rule {
        Json::Object(rule) => Some(rule),
        _ => None,
    }
}

fn number(bounds: Bounds, kind: Json) -> Json {
    let low = if bounds.closed { "minimum" } else { "exclusiveMinimum" };
    json!({"type": kind, low: bounds.low, "maximum": bounds.high})
}

fn wrappers() -> Vec<Json> {
    let with = |name: &str, arguments: Json| {
        json!({
            "type": "object", "properties": {name: arguments}, "required": [name], "additionalProperties": false,
        })
    };
    // A wrapper that needs no argument may stand there by its name alone.
    let plain: Vec<&str> = fields::WRAPPERS.iter().copied().filter(|name| *name != "scale_reward").collect();
    let spelled_out = fields::WRAPPERS.iter().map(|name| {
        let arguments = match *name {
            "scale_reward" => json!({
                "type": "object",
                "properties": {"factor": number(fields::SCALE, json!("number"))},
                "required": ["factor"],
                "additionalProperties": false,
            }),
            "freeze_observation" => json!({
                "type": ["object", "null"],
                "properties": {"dimensions": {
                    "description": "Which numbers of the observation are held; null holds all of them.",
                    "type": ["array", "null"],
                    "minItems": 1,
                    "maxItems": fields::MAX_DIMENSIONS,
                    "uniqueItems": true,
                    "items": {"type": "integer", "minimum": 0, "maximum": fields::MAX_DIMENSIONS - 1},
                }},
                "additionalProperties": false,
            }),
            _ => json!({"type": ["object", "null"], "additionalProperties": false}),
        };
        with(name, arguments)
    });
    std::iter::once(json!({"enum": plain})).chain(spelled_out).collect()
}
