//! Values of config keys: numbers inside them, and how `--set` writes them.
//!
//! This crate doesn't know the config format, so a value is plain JSON: a
//! schedule is an object with `from` and `to`, as a resolved config has it.

use std::collections::BTreeMap;

use rlxp_types::text::{rounded, yaml_number};
use serde_json::{Number, Value, json};

/// Every key of a resolved config with its value.
pub type Settings = BTreeMap<String, Value>;

/// Steps of one rollout over all environments.
pub(super) fn rollout(settings: &Settings) -> Option<u64> {
    let count = |key: &str| settings.get(key)?.as_u64();
    count("env.num_envs")?.checked_mul(count("algo.rollout_steps")?)
}

/// The number, or the larger end of a schedule.
pub(super) fn top(value: &Value) -> Option<f64> {
    match value {
        Value::Object(parts) => {
            let (from, to) = (parts.get("from")?.as_f64()?, parts.get("to")?.as_f64()?);
            Some(from.max(to))
        }
        value => value.as_f64(),
    }
}

/// `value` with its number, or both ends, put through `change`. What was a
/// whole number stays one.
pub(super) fn mapped(value: &Value, change: impl Fn(f64) -> f64) -> Option<Value> {
    match value {
        Value::Object(parts) => {
            let (from, to) = (parts.get("from")?.as_f64()?, parts.get("to")?.as_f64()?);
            Some(json!({ "schedule": "linear", "from": float(change(from))?, "to": float(change(to))? }))
        }
        Value::Number(number) if number.is_u64() => Some(json!(change(number.as_f64()?).round() as u64)),
        Value::Number(number) => float(change(number.as_f64()?)),
        _ => None,
    }
}

/// A number with three significant digits.
fn float(value: f64) -> Option<Value> {
    Number::from_f64(rounded(value, 3)).map(Value::Number)
}

/// A straight line from `from` to 0.
pub(super) fn fading(from: f64) -> Value {
    json!({ "schedule": "linear", "from": from, "to": 0.0 })
}

/// Whether two values mean the same, whatever kind of number holds them.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_)) => written(a) == written(b),
        _ => a == b || (a.is_number() && b.is_number() && a.as_f64() == b.as_f64()),
    }
}

/// A value as a config writes it on one line.
pub fn written(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => written_float(float),
            _ => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Value::Object(parts) => {
            // The order in which a person reads a schedule.
            let order = |key: &str| ["schedule", "from", "to"].iter().position(|known| *known == key);
            let mut parts: Vec<(&String, &Value)> = parts.iter().collect();
            parts.sort_by_key(|(key, _)| (order(key).unwrap_or(3), key.as_str()));
            let parts: Vec<String> =
                parts.into_iter().map(|(key, value)| format!("{key}: {}", written(value))).collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}

/// As a person writes it: whole numbers without a point.
fn written_float(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 { format!("{value}") } else { yaml_number(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_a_config_takes_them() {
        for (value, text) in [
            (json!(0.001), "0.001"),
            (json!(1e-6), "1.0e-6"),
            (json!(3), "3"),
            (json!(1.0), "1"),
            (json!(null), "null"),
            (
                json!({ "to": 0.0, "from": 0.003, "schedule": "linear" }),
                "{schedule: linear, from: 0.003, to: 0}",
            ),
            (json!([64, 64]), "[64, 64]"),
            (json!([{ "scale_reward": { "factor": 2.0 } }]), "[{scale_reward: {factor: 2}}]"),
        ] {
            assert_eq!(written(&value), text);
        }
    }

    #[test]
    fn numbers_are_changed_within_what_holds_them() {
        assert_eq!(mapped(&json!(0.003), |x| x * 0.1).unwrap(), json!(0.0003));
        assert_eq!(mapped(&json!(10), |x| x * 0.25).unwrap(), json!(3));
        let line = json!({ "schedule": "linear", "from": 0.03, "to": 0.0 });
        assert_eq!(top(&mapped(&line, |x| x * 0.1).unwrap()), Some(0.003));
        assert_eq!(mapped(&json!("text"), |x| x), None);
        assert_eq!(mapped(&json!(1.0), |_| f64::NAN), None);
    }
}
