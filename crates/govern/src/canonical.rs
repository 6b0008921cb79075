//! One text for one value: what digests are taken of.
//!
//! Keys sorted, no spaces, numbers as they were written in kind (`1` and `1.0` differ, `1e-3` and `0.001`
//! don't). A digest covers the explicit values of a file; a default that changes in a later version doesn't
//! affect it.

use rlxp_types::Digest;
use serde::Serialize;
use serde_json::Value;

/// The canonical text of a value.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The digest of a value's canonical text.
pub fn digest(value: &Value) -> Digest {
    Digest::hash(text(value).as_bytes())
}

/// The digest of anything that serialises to plain data.
pub fn digest_of(value: &impl Serialize) -> Digest {
    digest(&plain(value))
}

/// A value of this crate's types as JSON.
pub(crate) fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("these types are plain data with text keys")
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(&fields[key], out);
            }
            out.push('}');
        }
        simple => out.push_str(&simple.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn order_and_spaces_do_not_matter() {
        let one: Value = serde_json::from_str(r#"{ "b": [1, {"z": null, "a": "ü\n"}], "a": 1e-3 }"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a":0.001,"b":[1,{"a":"ü\n","z":null}]}"#).unwrap();
        assert_eq!(text(&one), r#"{"a":0.001,"b":[1,{"a":"ü\n","z":null}]}"#);
        assert_eq!(digest(&one), digest(&other));
    }

    #[test]
    fn kinds_differ() {
        let values =
            [json!(1), json!(1.0), json!("1"), json!(true), json!(null), json!([1]), json!({"1": 1})];
        for (index, one) in values.iter().enumerate() {
            for other in &values[index + 1..] {
                assert_ne!(digest(one), digest(other), "{one} {other}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_text_is_json_of_the_same_value(key in ".*", text_value in ".*", number in any::<f64>(), whole in any::<i64>()) {
            let value = json!({ key: [text_value, if number.is_finite() { number } else { 0.5 }, whole] });
            let back: Value = serde_json::from_str(&text(&value)).unwrap();
            prop_assert_eq!(back, value);
        }
    }
}
