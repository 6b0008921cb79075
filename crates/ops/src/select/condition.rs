//! Conditions on runs, such as `algo.gamma>=0.99`: a key, a comparison and a value.
//!
//! A key is a column of a listing ([`Column`]) or a config key. Numbers are compared as numbers, `created` and `ended` as
//! times, everything else as text without regard to case, which only `=` and `!=` do. A run that lacks the key fulfils
//! no condition but `!=`.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use rlxp_spec::{known_keys, nearest, value_types};
use rlxp_types::RunStatus;
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
    /// The value as times, from and until, where the key is a time: a day is all its moments.
    times: Option<(Timestamp, Timestamp)>,
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

    /// Why a value can never be one of this key's. A mistyped value would otherwise be different from all of them, and
    /// `!=` would name every run.
    fn refuses(&self, value: &str) -> Option<String> {
        let is_null = value.eq_ignore_ascii_case("null");
        let expected = match self {
            Self::Column(Column::Left) => {
                return Some("`left` is an estimate that changes all the time".to_owned());
            }
            Self::Column(Column::Status) => {
                let words = STATUSES.map(|status| status.to_string());
                let is_one = words.iter().any(|word| word.eq_ignore_ascii_case(value));
                return (!is_one).then(|| format!("expected one of {}", words.join(", ")));
            }
            Self::Column(column) if column.is_number() => Kind::Number,
            Self::Column(_) => Kind::Any,
            Self::Config(key) => kind(key),
        };
        match expected {
            _ if is_null => None,
            Kind::Number => number(value).is_none().then(|| format!("{value:?} is not a number")),
            Kind::Bool => {
                let is_bool = ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word));
                (!is_bool).then(|| format!("expected true or false, not {value:?}"))
            }
            Kind::Any => None,
        }
    }
}

const STATUSES: [RunStatus; 7] = [
    RunStatus::Created,
    RunStatus::Running,
    RunStatus::Completed,
    RunStatus::Interrupted,
    RunStatus::Failed,
    RunStatus::Lost,
    RunStatus::Unknown,
];

/// What values a config key takes.
enum Kind {
    Number,
    Bool,
    Any,
}

/// The kind of a config key by its schema; any value will do where it takes several kinds.
fn kind(key: &str) -> Kind {
    let types = value_types(key);
    let only = |wanted: &[&str]| {
        !types.is_empty() && types.iter().all(|word| word == "null" || wanted.contains(&word.as_str()))
    };
    if only(&["number", "integer"]) {
        Kind::Number
    } else if only(&["boolean"]) {
        Kind::Bool
    } else {
        Kind::Any
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
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
        let at = text.find(['=', '!', '<', '>']).ok_or_else(|| bad("expected a comparison"))?;
        let (key, rest) = (text[..at].trim(), &text[at..]);
        let (symbol, comparison) = COMPARISONS
            .into_iter()
            .find(|(symbol, _)| rest.starts_with(symbol))
            .ok_or_else(|| bad("unknown comparison"))?;
        let value = rest[symbol.len()..].trim();
        if key.is_empty() || value.is_empty() {
            return Err(bad(if key.is_empty() {
                "expected a key before the comparison"
            } else {
                "expected a value after the comparison"
            }));
        }
        if value.starts_with(['=', '<', '>']) {
            return Err(bad("unknown comparison"));
        }
        if value.contains(['=', '<', '>']) {
            return Err(Failure::usage("bad_condition", format!("{text:?} has two comparisons"))
                .hint("join conditions with ` and `: 'algo.gamma>=0.99 and score>300'"));
        }
        let key = Key::parse(key)?;
        let is_time = matches!(key, Key::Column(Column::Created | Column::Ended));
        let times = times(value);
        if is_time && times.is_none() && value != "null" {
            return Err(Failure::usage("bad_condition", format!("{text:?}: {value:?} is not a time")).hint(
                "expected a time in UTC as `rlx ls` prints it, or RFC 3339: 'created>=2026-01-31 15:40'",
            ));
        }
        if let Some(why) = key.refuses(value) {
            return Err(bad(&why));
        }
        let condition = Self { key, comparison, value: value.to_owned(), times: times.filter(|_| is_time) };
        if condition.has_order() && condition.number().is_none() && condition.times.is_none() {
            return Err(bad("only numbers and times can be compared by size"));
        }
        Ok(condition)
    }

    fn has_order(&self) -> bool {
        !matches!(self.comparison, Comparison::Equal | Comparison::NotEqual)
    }

    fn number(&self) -> Option<f64> {
        number(&self.value)
    }

    /// Whether a run whose value is `value` fulfils it. A list fulfils `=` if one of its elements does.
    pub(crate) fn holds(&self, value: Option<&Value>) -> bool {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return match self.comparison {
                Comparison::Equal => self.value.eq_ignore_ascii_case("null"),
                Comparison::NotEqual => !self.value.eq_ignore_ascii_case("null"),
                _ => false,
            };
        };
        let order = match self.times {
            Some((from, until)) => {
                let present = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
                present.map(|present| match present {
                    present if present < from => Ordering::Less,
                    present if present >= until => Ordering::Greater,
                    _ => Ordering::Equal,
                })
            }
            None if self.has_order() => {
                value.as_f64().zip(self.number()).and_then(|(present, wanted)| present.partial_cmp(&wanted))
            }
            None if self.is_equal(value) => Some(Ordering::Equal),
            None => None,
        };
        match self.comparison {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::NotEqual => order != Some(Ordering::Equal),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessOrEqual => order.is_some_and(|order| order != Ordering::Greater),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => order.is_some_and(|order| order != Ordering::Less),
        }
    }

    fn is_equal(&self, value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_f64().is_some_and(|number| self.number() == Some(number)),
            Value::Bool(value) => self.value.eq_ignore_ascii_case(&value.to_string()),
            Value::String(text) => text.to_lowercase() == self.value.to_lowercase(),
            Value::Array(items) => {
                items.iter().any(|item| item.is_string() && self.is_equal(item))
                    || flat(&value.to_string()) == flat(&self.value)
            }
            other => self.is_schedule(other) || flat(&other.to_string()) == flat(&self.value),
        }
    }

    /// Whether the value is written as listings show this schedule, `0.003→0`. Its first value alone does not name it:
    /// a constant learning rate is another setting than one that falls from there.
    fn is_schedule(&self, value: &Value) -> bool {
        let ends = self.value.split_once('→').map(|(from, to)| (number(from.trim()), number(to.trim())));
        let end = |name: &str| value.get(name).and_then(Value::as_f64);
        matches!(ends, Some((Some(from), Some(to))) if (end("from"), end("to")) == (Some(from), Some(to)))
    }
}

/// The moments that a text names, from and until: RFC 3339, or a day, minute or second of UTC as listings print it.
fn times(text: &str) -> Option<(Timestamp, Timestamp)> {
    let utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    let seconds = |from: Timestamp, length: i64| {
        Some((from, from.checked_add(jiff::SignedDuration::from_secs(length)).ok()?))
    };
    if let Ok(moment) = text.parse::<Timestamp>() {
        // As precise as it is written.
        return if text.contains('.') {
            Some((moment, moment.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?))
        } else {
            seconds(moment, 1)
        };
    }
    if text.len() == 10 {
        return seconds(utc(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()))?, 86_400);
    }
    let time = text.parse::<DateTime>().ok()?;
    seconds(utc(time)?, if text.matches(':').count() == 1 { 60 } else { 1 })
}

/// A list or a map however it is spaced and quoted.
fn flat(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'').collect()
}

/// Conditions joined by ` and `.
pub fn conditions(text: &str) -> Outcome<Vec<Condition>> {
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
        let missing = |text: &str| Condition::parse(text).unwrap().holds(Some(&Value::Null));
        assert!(missing("algo.target_kl=null") && missing("algo.target_kl!=0.1") && !missing("score>0"));
    }

    #[test]
    fn a_schedule_is_named_as_it_is_shown() {
        let schedule = json!({"schedule": "linear", "from": 0.003, "to": 0.0});
        for (condition, expected) in [
            ("algo.learning_rate=0.003→0", true),
            ("algo.learning_rate = 3e-3 → 0.0", true),
            ("algo.learning_rate!=0.003→0", false),
            ("algo.learning_rate=0.003→0.001", false),
            ("algo.learning_rate=→", false),
            ("algo.learning_rate=0.003", false),
            ("algo.learning_rate!=0.003", true),
        ] {
            assert_eq!(holds(condition, &schedule), expected, "{condition}");
        }
        assert!(!holds("algo.learning_rate=0.003→0", &json!(0.003)));
        assert!(Condition::parse("algo.learning_rate>0.003→0").is_err());
    }

    #[test]
    fn case_does_not_matter_for_words() {
        assert!(
            holds("eval.deterministic=True", &json!(true))
                && !holds("eval.deterministic!=TRUE", &json!(true))
        );
        assert!(holds("status=Completed", &json!("completed")));
        assert!(Condition::parse("algo.target_kl=NULL").unwrap().holds(Some(&Value::Null)));
        // A learning rate is a number or a schedule.
        assert!(Condition::parse("algo.learning_rate={schedule: linear, from: 0.1, to: 0}").is_ok());
    }

    #[test]
    fn times_are_compared_as_times() {
        let present = json!("2026-11-17T15:40:30.250Z");
        for (condition, expected) in [
            ("created>2026-11-17 15:40", false),
            ("created>=2026-11-17 15:40", true),
            ("created=2026-11-17 15:40", true),
            ("created<2026-11-17 15:41", true),
            ("created>2026-11-17 15:39", true),
            ("created=2026-11-17", true),
            ("created>2026-11-17", false),
            ("created<2026-11-18", true),
            ("created>2026-11-17T15:40:00+02:00", true),
            ("created<2026-11-17T15:41:00-01:00", true),
            ("created>2026-11-17T15:40:30Z", false),
            ("created>2026-11-17T15:40:30.1Z", true),
            ("created!=2026-11-16", true),
        ] {
            assert_eq!(holds(condition, &present), expected, "{condition}");
        }
        for text in ["created>15:40", "ended>17 Nov", "created>yesterday", "created=2026-11", "created>3"] {
            assert_eq!(Condition::parse(text).unwrap_err().code, "bad_condition", "{text}");
        }
        assert!(Condition::parse("ended=null").unwrap().holds(None));
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
        for text in [
            "algo.gamma",
            "=1",
            "algo.gamma=",
            "algo.gamma==1",
            "algo.gamma>big",
            "algo.gamma=>1",
            "algo.gamma>=0.9 or score>3",
            "algo.gamma=0.9, score=3",
            "algo.gamma!=0,99",
            "steps!=1,000",
            "eval.deterministic!=yes",
            "status!=complete",
            "left>0",
            "score!=nan",
        ] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
