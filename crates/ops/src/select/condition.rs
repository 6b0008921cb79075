//! Conditions on runs, such as `algo.gamma>=0.99`: a key, a comparison and a value.
//!
//! A key is a column of a listing ([`Column`]) or a config key. Numbers are compared as numbers, everything else as
//! text without regard to case, which only `=` and `!=` do. A run that lacks the key fulfils no condition but `!=`.

use std::cmp::Ordering;

use rlxp_spec::{known_keys, nearest};
use serde_json::Value;

use super::column::Column;
use crate::failure::{Failure, Outcome};

/// What a condition looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Column(Column),
    /// A key of the config, such as `algo.gamma`.
    Config(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub(crate) key: Key,
    comparison: Comparison,
    value: String,
}

/// Longest first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Key {
    /// A column's name or a config key.
    pub fn parse(text: &str) -> Outcome<Self> {
        if let Some(column) = Column::parse(text) {
            return Ok(Self::Column(column));
        }
        let keys = known_keys();
        if keys.iter().any(|key| key == text) || is_argument(text) {
            return Ok(Self::Config(text.to_owned()));
        }
        let columns = Column::ALL.map(Column::name);
        let names = columns.into_iter().chain(keys.iter().map(String::as_str));
        let failure = Failure::usage("unknown_key", format!("{text:?} is neither a column nor a config key"));
        // `gamma` for `algo.gamma`.
        let whole = keys.iter().find(|key| key.rsplit('.').next() == Some(text)).map(String::as_str);
        Err(match whole.or_else(|| nearest(text, names)) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint(format!("columns: {}; config keys: rlx config schema", columns.join(", "))),
        })
    }

    /// The text that names it.
    pub fn name(&self) -> &str {
        match self {
            Self::Column(column) => column.name(),
            Self::Config(key) => key,
        }
    }

    pub fn is_config(&self) -> bool {
        matches!(self, Self::Config(_))
    }
}

/// Arguments of environments have any name, as `env.kwargs.map_name`.
fn is_argument(text: &str) -> bool {
    text.strip_prefix("env.kwargs.").is_some_and(|name| !name.is_empty())
}

impl Condition {
    /// `KEY=VALUE`, or with `!=`, `<`, `<=`, `>`, `>=`.
    pub fn parse(text: &str) -> Outcome<Self> {
        let bad = |why: &str| {
            Failure::usage("bad_condition", format!("{text:?}: {why}"))
                .hint("expected KEY=VALUE, or with != < <= > >=, such as 'algo.gamma>=0.99'")
        };
        let at = text.find(['=', '!', '<', '>']).ok_or_else(|| bad("there is no comparison"))?;
        let (key, rest) = (text[..at].trim(), &text[at..]);
        let (symbol, comparison) = COMPARISONS
            .into_iter()
            .find(|(symbol, _)| rest.starts_with(symbol))
            .ok_or_else(|| bad("unknown comparison"))?;
        let value = rest[symbol.len()..].trim();
        if key.is_empty() || value.is_empty() {
            return Err(bad(if key.is_empty() { "there is no key" } else { "there is no value" }));
        }
        if value.starts_with(['=', '<', '>']) {
            return Err(bad("unknown comparison"));
        }
        let condition = Self { key: Key::parse(key)?, comparison, value: value.to_owned() };
        if condition.has_order() && condition.number().is_none() && !condition.is_time() {
            return Err(bad("only numbers and times can be compared by size"));
        }
        Ok(condition)
    }

    fn has_order(&self) -> bool {
        !matches!(self.comparison, Comparison::Equal | Comparison::NotEqual)
    }

    fn is_time(&self) -> bool {
        matches!(self.key, Key::Column(Column::Created | Column::Ended))
    }

    fn number(&self) -> Option<f64> {
        self.value.parse::<f64>().ok().filter(|number| number.is_finite())
    }

    /// Whether a run whose value is `value` fulfils it. A list fulfils `=` if one of its elements does.
    pub(crate) fn holds(&self, value: Option<&Value>) -> bool {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return match self.comparison {
                Comparison::Equal => self.value == "null",
                Comparison::NotEqual => self.value != "null",
                _ => false,
            };
        };
        let is_equal = self.is_equal(value);
        match self.comparison {
            Comparison::Equal => is_equal,
            Comparison::NotEqual => !is_equal,
            comparison => {
                let order = match (value.as_f64(), self.number()) {
                    (Some(present), Some(wanted)) => present.partial_cmp(&wanted),
                    _ => value.as_str().filter(|_| self.is_time()).map(|present| present.cmp(&*self.value)),
                };
                order.is_some_and(|order| match comparison {
                    Comparison::Less => order == Ordering::Less,
                    Comparison::LessOrEqual => order != Ordering::Greater,
                    Comparison::Greater => order == Ordering::Greater,
                    _ => order != Ordering::Less,
                })
            }
        }
    }

    fn is_equal(&self, value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_f64().is_some_and(|number| self.number() == Some(number)),
            Value::Bool(value) => self.value == value.to_string(),
            Value::String(text) => text.to_lowercase() == self.value.to_lowercase(),
            Value::Array(items) => {
                items.iter().any(|item| item.is_string() && self.is_equal(item))
                    || flat(&value.to_string()) == flat(&self.value)
            }
            other => flat(&other.to_string()) == flat(&self.value),
        }
    }
}

/// A list or a map however it is spaced and quoted.
fn flat(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'').collect()
}

/// Conditions joined by ` and `.
pub(super) fn conditions(text: &str) -> Outcome<Vec<Condition>> {
    text.split(" and ").map(Condition::parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(condition: &str, value: &Value) -> bool {
        Condition::parse(condition).unwrap().holds(Some(value))
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        for (condition, expected) in [
            ("algo.gamma>=0.99", true),
            ("algo.gamma>0.99", false),
            ("algo.gamma = 0.990", true),
            ("algo.gamma!=0.99", false),
            ("algo.gamma<1e0", true),
            ("algo.gamma<=-1", false),
        ] {
            assert_eq!(holds(condition, &json!(0.99)), expected, "{condition}");
        }
        assert!(!holds("algo.gamma<1", &json!({"schedule": "linear", "from": 0.1, "to": 0})));
    }

    #[test]
    fn text_lists_and_missing_values() {
        assert!(holds("env.id=cartpole-V1", &json!("CartPole-v1")));
        assert!(holds("policy.hidden_sizes=[64,64]", &json!([64, 64])));
        assert!(holds("tags=paper", &json!(["baseline", "paper"])));
        assert!(!holds("tags!=paper", &json!(["baseline", "paper"])));
        assert!(holds("created>2026-01", &json!("2026-02-01T00:00:00Z")));
        let missing = |text: &str| Condition::parse(text).unwrap().holds(Some(&Value::Null));
        assert!(missing("algo.target_kl=null") && missing("algo.target_kl!=0.1") && !missing("score>0"));
    }

    #[test]
    fn wrong_conditions_say_what_is_right() {
        for (text, hint) in [
            ("algo.gama>0.9", "did you mean algo.gamma?"),
            ("gamma>0.9", "did you mean algo.gamma?"),
            ("scor>1", "did you mean score?"),
        ] {
            assert_eq!(Condition::parse(text).unwrap_err().hints, [hint], "{text}");
        }
        for text in ["algo.gamma", "=1", "algo.gamma=", "algo.gamma==1", "algo.gamma>big", "algo.gamma=>1"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
