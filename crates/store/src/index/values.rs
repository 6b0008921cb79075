//! The values of a run's config as the index keeps them: one line per key, so that a listing of ten thousand runs finds
//! the few that it shows without parsing the others. What the keys mean is known where they are made.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;
use serde_json::{Map, Value};

/// The values of a config by dotted key: `key`, or `section.key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValues {
    /// `\nKEY\tJSON` for each value. JSON has neither tabs nor newlines outside of escapes.
    text: String,
}

impl ConfigValues {
    /// The values of a config, nested as in its file.
    pub fn new(config: &Map<String, Value>) -> Self {
        let mut text = String::new();
        let mut line = |key: &str, value: &Value| {
            debug_assert!(!key.contains(['\n', '\t']), "keys are names");
            text.extend(["\n", key, "\t", &value.to_string()]);
        };
        for (name, value) in config {
            match value {
                Value::Object(section) if !section.is_empty() => {
                    section.iter().for_each(|(key, value)| line(&format!("{name}.{key}"), value));
                }
                single => line(name, single),
            }
        }
        Self { text }
    }

    pub(super) fn from_text(text: String) -> Self {
        Self { text }
    }

    pub(super) fn as_text(&self) -> &str {
        &self.text
    }

    /// The value of a dotted key, also one inside of a value, such as `env.kwargs.map_name`.
    pub fn get(&self, key: &str) -> Option<Value> {
        let mut end = key.len();
        loop {
            if let Some(json) = self.line(&key[..end]) {
                let value: Value = serde_json::from_str(json).ok()?;
                let mut inside = key[end..].split('.').skip(1);
                return inside.try_fold(value, |mut value, part| Some(value.get_mut(part)?.take()));
            }
            end = key[..end].rfind('.')?;
        }
    }

    /// The JSON of a key that has a line of its own.
    fn line(&self, key: &str) -> Option<&str> {
        let begin = format!("\n{key}\t");
        let at = memmem::find(self.text.as_bytes(), begin.as_bytes())? + begin.len();
        let rest = &self.text[at..];
        Some(rest.split_once('\n').map_or(rest, |(json, _)| json))
    }

    /// Each key with its JSON, in the order of the config.
    fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.split('\n').filter_map(|line| line.split_once('\t'))
    }

    /// The config as the text of a JSON object, nested as in its file.
    pub fn to_json(&self) -> String {
        let mut json = "{".to_owned();
        let mut open: Option<&str> = None;
        for (key, value) in self.lines() {
            let (section, name) =
                key.split_once('.').map_or((None, key), |(section, name)| (Some(section), name));
            if open.is_some() && section != open {
                json.push('}');
            }
            if !json.ends_with('{') {
                json.push(',');
            }
            if let Some(section) = section.filter(|_| section != open) {
                json.extend([&Value::from(section).to_string(), ":{"]);
            }
            open = section;
            json.extend([&Value::from(name).to_string(), ":", value]);
        }
        json.push_str(if open.is_some() { "}}" } else { "}" });
        json
    }

    /// The keys whose values differ between configs, in the order of the first config, each with the number of its
    /// values. A key that some configs don't have differs.
    pub fn differing<'a>(configs: impl IntoIterator<Item = &'a Self>) -> Vec<(String, usize)> {
        let configs: Vec<&Self> = configs.into_iter().collect();
        differing(&configs)
    }
}

/// Not generic, so that it is compiled here, where code is optimised.
fn differing(configs: &[&ConfigValues]) -> Vec<(String, usize)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut keys: Vec<(&str, BTreeSet<&str>, usize)> = Vec::new();
    for config in configs {
        for (key, value) in config.lines() {
            let place = *places.entry(key).or_insert_with(|| {
                keys.push((key, BTreeSet::new(), 0));
                keys.len() - 1
            });
            let (_, values, count) = &mut keys[place];
            values.insert(value);
            *count += 1;
        }
    }
    let kinds = keys.into_iter().map(|(key, values, count)| {
        let missing = usize::from(count < configs.len());
        (key.to_owned(), values.len() + missing)
    });
    kinds.filter(|(_, kinds)| *kinds > 1).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(config: Value) -> ConfigValues {
        let Value::Object(config) = config else { panic!("a config is a map") };
        ConfigValues::new(&config)
    }

    fn config() -> Value {
        json!({
            "run_name": "a\tb\nalgo.gamma\t0.5",
            "env": {"id": "CartPole-v1", "kwargs": {"map_name": "4x4", "deep": {"er": [1, 2]}}, "wrappers": []},
            "seeds": [0, 1],
            "algo": {"gamma": 0.99, "target_kl": null, "lr": {"schedule": "linear", "from": 0.1, "to": 0}},
            "nothing": {},
        })
    }

    #[test]
    fn values_are_found_by_their_keys() {
        let values = values(config());
        for (key, expected) in [
            ("run_name", json!("a\tb\nalgo.gamma\t0.5")),
            ("algo.gamma", json!(0.99)),
            ("algo.target_kl", Value::Null),
            ("env.kwargs.map_name", json!("4x4")),
            ("env.kwargs.deep.er", json!([1, 2])),
            ("seeds", json!([0, 1])),
            ("nothing", json!({})),
        ] {
            assert_eq!(values.get(key), Some(expected), "{key}");
        }
        for key in ["gamma", "algo", "algo.gam", "env.kwargs.other", "algo.gamma.x", "", "."] {
            assert_eq!(values.get(key), None, "{key}");
        }
    }

    #[test]
    fn the_config_comes_back_as_it_was() {
        for config in [config(), json!({}), json!({"a": 1}), json!({"a": {"b": 1}, "c": {"d": 2}})] {
            let json = values(config.clone()).to_json();
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), config, "{json}");
        }
    }

    #[test]
    fn keys_that_differ_are_counted() {
        let all = [
            values(json!({"algo": {"gamma": 0.9, "same": 1, "lr": 1}, "n": 1})),
            values(json!({"algo": {"gamma": 0.9, "same": 1, "lr": 2}, "n": 1})),
            values(json!({"algo": {"gamma": 0.8, "same": 1, "lr": 3, "own": 1}, "n": 1})),
        ];
        let expected = [("algo.gamma".to_owned(), 2), ("algo.lr".to_owned(), 3), ("algo.own".to_owned(), 2)];
        assert_eq!(ConfigValues::differing(&all), expected);
        assert_eq!(ConfigValues::differing(&all[..1]), []);
    }
}
