//! A config as dotted keys with their values, to show where two differ.

use rlxp_analyze::suggest::Settings;
use rlxp_spec::{Config, Source, known_keys};
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::training::config::{Purpose, check_source};

/// Keys that change no result, or that name the seeds.
pub(crate) const NOT_TRAINING: [&str; 5] = ["run_name", "seed", "seeds", "threads", "device"];

/// A key that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyChange {
    /// Dotted, as `--set` takes it.
    pub key: String,
    /// The value in the starter config, or the default.
    pub usual: String,
    /// The run's value.
    pub value: String,
}

/// Everything in a config that changes what is trained, key by key.
pub(crate) fn training_keys(config: &Config) -> Vec<(String, String)> {
    let value = serde_json::to_value(config).expect("a config is plain data");
    let mut keys = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Object(section) => {
                keys.extend(section.iter().map(|(key, value)| (format!("{name}.{key}"), short(value))));
            }
            single => keys.push((name.clone(), short(single))),
        }
    }
    keys.retain(|(key, _)| !NOT_TRAINING.contains(&key.as_str()));
    keys
}

/// A value in short: schedules as `from→to`, lists and maps on one line.
pub(crate) fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => {
            let text = number.to_string();
            text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
        }
        Value::Array(items) => format!("[{}]", items.iter().map(short).collect::<Vec<_>>().join(", ")),
        // The only kind of schedule is a straight line.
        Value::Object(fields) if fields.contains_key("schedule") => {
            let end = |name: &str| fields.get(name).map_or_else(String::new, short);
            format!("{}→{}", end("from"), end("to"))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}: {}", short(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// Where a config differs from its environment's starter, or from the defaults without a starter. `None` if those
/// can't be resolved, such as for an environment that is unknown here.
pub(crate) fn unusual(context: &Context, config: &Config) -> Option<Vec<KeyChange>> {
    let resolved = |text: String| {
        let source = Source::new("defaults", text);
        check_source(context, source, &[], Purpose::Check).ok().map(|checked| checked.config)
    };
    // Quoted, so that any id is text.
    let id = Value::from(config.env.id.as_str());
    let steps = config.algo.total_timesteps();
    let starter = resolved(format!("env: {{id: {id}}}\n"))?;
    // How often to save and evaluate follows from the length: that of this run, or of the starter for a run that was
    // extended.
    let as_long = resolved(format!("env: {{id: {id}}}\nalgo: {{total_timesteps: {steps}}}\n"))?;
    let mut changes: Vec<KeyChange> = training_keys(config)
        .into_iter()
        .zip(training_keys(&starter).into_iter().zip(training_keys(&as_long)))
        .filter(|(own, (starter, as_long))| own.1 != starter.1 && own.1 != as_long.1)
        .map(|((key, value), ((_, usual), _))| KeyChange { key, usual, value })
        .collect();
    let usual = starter.algo.total_timesteps();
    if usual != steps {
        let (usual, value) = (usual.to_string(), steps.to_string());
        changes.insert(0, KeyChange { key: "algo.total_timesteps".into(), usual, value });
    }
    Some(changes)
}

/// Every key of a resolved config with its value.
pub(crate) fn settings_of(config: &Config) -> Settings {
    let whole = serde_json::to_value(config).expect("a config is plain data");
    let value = |key: &str| key.split('.').try_fold(&whole, |value, part| value.get(part)).cloned();
    known_keys().into_iter().filter_map(|key| value(&key).map(|value| (key, value))).collect()
}
