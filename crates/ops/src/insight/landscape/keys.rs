//! Which keys are drawn, and the axis of each: its values in order, on the scale that suits them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rlxp_spec::Config;
use rlxp_types::text::rounded;
use serde::Serialize;

use super::sample::Sample;
use super::{ALL, View};
use crate::failure::{Failure, Outcome};
use crate::insight::config_keys::{NOT_TRAINING, short, training_keys};
use crate::insight::run_data::fold::UNTRAINED;
use crate::select::condition::Key;

/// Panels and axes that stay readable in one picture.
const MOST_PANELS: usize = 12;
const MOST_AXES: usize = 9;
/// From this ratio of the largest to the smallest number on, a scale is logarithmic.
const LOGARITHMIC_FROM: f64 = 20.0;
/// Numbers that are summarised one by one; more are summarised in ranges.
const MOST_VALUES: usize = 16;
/// Ranges that many numbers are summarised in.
const RANGES: usize = 8;
/// The value of a key that a config lacks.
const NOT_SET: &str = "null";

/// A config as dotted keys with their values.
pub(super) type Settings = BTreeMap<String, String>;

/// Everything in a config that changes what is trained; arguments of the environment are keys of their own.
pub(super) fn settings(config: &Config) -> Settings {
    let mut settings: Settings = training_keys(config).into_iter().collect();
    settings.remove("env.kwargs");
    for (name, value) in &config.env.kwargs {
        let value = serde_json::to_value(value).expect("an argument is plain data");
        settings.insert(format!("env.kwargs.{name}"), short(&value));
    }
    settings
}

/// The value of a key.
pub(super) fn value_of<'s>(settings: &'s Settings, key: &str) -> &'s str {
    settings.get(key).map_or(NOT_SET, String::as_str)
}

/// The keys that are drawn, and those that are not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DrawnKeys {
    pub(super) keys: Vec<String>,
    /// Further keys that differ and were not asked for.
    pub(super) pooled: Vec<String>,
    /// Of them, keys that had no room.
    pub(super) without_room: usize,
}

/// Fails for keys that no config has, before anything is read.
pub(super) fn check(view: &View) -> Outcome<()> {
    let named: Vec<&String> = match view {
        View::Against(keys) | View::Parallel(keys) => keys.iter().collect(),
        View::Heatmap(keys) => keys.iter().collect(),
    };
    for text in &named {
        if text.as_str() == ALL {
            let message =
                format!("{ALL:?} means every key that differs; it can't be combined with other keys");
            return Err(Failure::usage("bad_key", message));
        }
        if !Key::parse(text)?.is_config() {
            let message = format!("{text:?} is a column of `rlx ls`; expected a config key");
            return Err(Failure::usage("bad_key", message).hint("config keys: rlx config schema"));
        }
    }
    let twice = (1..named.len()).find(|at| named[..*at].contains(&named[*at]));
    if let Some(at) = twice {
        return Err(Failure::usage("bad_key", format!("{:?} is named twice", named[at])));
    }
    Ok(())
}

/// The keys to draw: those that were named, or all that differ.
pub(super) fn drawn(view: &View, sample: &Sample) -> Outcome<DrawnKeys> {
    let differing = differing(&sample.settings);
    let (named, most) = match view {
        View::Against(keys) => (keys.clone(), MOST_PANELS),
        View::Parallel(keys) => (keys.clone(), MOST_AXES),
        View::Heatmap(keys) => (keys.to_vec(), usize::MAX),
    };
    for key in &named {
        if sample.settings.iter().all(|settings| !settings.contains_key(key)) {
            let message = if NOT_TRAINING.contains(&key.as_str()) {
                format!("{key} can't be drawn: it changes no result, or names the seeds")
            } else {
                format!("no run has the config key {key}")
            };
            return Err(Failure::usage("unknown_key", message).hint("rlx config schema"));
        }
    }
    let is_named = !named.is_empty();
    let mut keys = if is_named { named } else { differing.clone() };
    if keys.is_empty() {
        let what = if sample.settings.len() == 1 {
            "only one run has a score"
        } else {
            "all runs have the same config"
        };
        let message = format!("{what}, so no key differs");
        return Err(Failure::usage("nothing_differs", message)
            .hint("name a key, such as --against algo.learning_rate"));
    }
    let without_room = keys.len().saturating_sub(most);
    if is_named && without_room > 0 {
        let message = format!("{} keys are too many for one picture: it has room for {most}", keys.len());
        return Err(Failure::usage("too_many_keys", message));
    }
    keys.truncate(most);
    let pooled = differing.into_iter().filter(|key| !keys.contains(key)).collect();
    Ok(DrawnKeys { keys, pooled, without_room })
}

/// The keys of which two runs have different values, without those that change no byte of a training.
fn differing(all: &[Rc<Settings>]) -> Vec<String> {
    let keys: BTreeSet<&String> = all.iter().flat_map(|settings| settings.keys()).collect();
    let differs = |key: &str| all.iter().any(|settings| value_of(settings, key) != value_of(&all[0], key));
    let kept = keys.into_iter().filter(|key| !UNTRAINED.contains(&key.as_str()) && differs(key));
    kept.cloned().collect()
}

/// How the values of a key become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyScale {
    Linear,
    Logarithmic,
    /// Words, lists and schedules, side by side.
    Categories,
}

/// A value of a key, or a range of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyValue {
    /// As the config writes it, or `LOW–HIGH`.
    pub value: String,
    /// The number; the middle of a range.
    pub number: Option<f64>,
    /// The ends of a range.
    pub range: Option<(f64, f64)>,
}

/// The axis of a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyAxis {
    pub key: String,
    pub scale: KeyScale,
    /// In order.
    pub values: Vec<KeyValue>,
}

/// The axis of a key that has these values. With `ranges`, many numbers are summarised in a few ranges.
pub(super) fn axis<'s>(key: &str, values: impl Iterator<Item = &'s str>, ranges: bool) -> KeyAxis {
    let mut texts: Vec<&str> = values.collect::<BTreeSet<_>>().into_iter().collect();
    let numbers: Option<Vec<f64>> = texts.iter().map(|text| number(text)).collect();
    let Some(mut numbers) = numbers else {
        // By the numbers in them, so that [8, 8] is before [64, 64] and a number before a larger one.
        texts.sort_by(|a, b| {
            let order = numbers_in(a).partial_cmp(&numbers_in(b)).unwrap_or(std::cmp::Ordering::Equal);
            order.then_with(|| a.cmp(b))
        });
        let value = |text: &str| KeyValue { value: text.to_owned(), number: number(text), range: None };
        let values = texts.into_iter().map(value).collect();
        return KeyAxis { key: key.to_owned(), scale: KeyScale::Categories, values };
    };
    texts.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
    numbers.sort_by(f64::total_cmp);
    let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
    let logarithmic = low > 0.0 && high / low > LOGARITHMIC_FROM;
    let scale = if logarithmic { KeyScale::Logarithmic } else { KeyScale::Linear };
    let single = |(text, number): (&&str, &f64)| KeyValue {
        value: (*text).to_owned(),
        number: Some(*number),
        range: None,
    };
    let values = if ranges && numbers.len() > MOST_VALUES {
        equal_ranges(low, high, scale)
    } else {
        texts.iter().zip(&numbers).map(single).collect()
    };
    KeyAxis { key: key.to_owned(), scale, values }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn numbers_in(text: &str) -> Vec<f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '-' | '+');
    text.split(|c| !is_part(c)).filter_map(number).collect()
}

/// Ranges of the same width on the scale.
fn equal_ranges(low: f64, high: f64, scale: KeyScale) -> Vec<KeyValue> {
    let at = |part: f64| match scale {
        KeyScale::Logarithmic => low * (high / low).powf(part),
        _ => low + (high - low) * part,
    };
    let edge = |index: usize| match index {
        0 => low,
        RANGES => high,
        inside => at(inside as f64 / RANGES as f64),
    };
    let range = |index: usize| {
        let (from, to) = (edge(index), edge(index + 1));
        KeyValue {
            value: format!("{}–{}", edge_text(from), edge_text(to)),
            number: Some(at((index as f64 + 0.5) / RANGES as f64)),
            range: Some((from, to)),
        }
    };
    (0..RANGES).map(range).collect()
}

/// The end of a range in two digits: `0.25`, `2.7e-5`.
pub(super) fn edge_text(value: f64) -> String {
    let value = rounded(value, 2);
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:e}") } else { value.to_string() }
}

impl KeyAxis {
    /// The index of the value, or of the range, that a setting belongs to.
    pub(super) fn index(&self, text: &str) -> Option<usize> {
        let is_range = self.values.first().is_some_and(|value| value.range.is_some());
        if !is_range {
            return self.values.iter().position(|value| value.value == text);
        }
        let number = number(text)?;
        // An edge belongs to the range above it, and the last edge to the last range.
        let above = self.values.iter().rposition(|value| value.range.is_some_and(|(from, _)| number >= from));
        above.or(Some(0))
    }

    /// Where a setting is: its number on a scale, its index among categories.
    pub(super) fn place(&self, text: &str) -> f64 {
        match self.scale {
            KeyScale::Categories => self.index(text).map_or(f64::NAN, |index| index as f64),
            _ => number(text).unwrap_or(f64::NAN),
        }
    }

    pub(super) fn has_ranges(&self) -> bool {
        self.values.iter().any(|value| value.range.is_some())
    }
}

/// Part of a file's name: the last parts of the keys, or how many there are.
pub(super) fn file_name(keys: &[KeyAxis]) -> String {
    if keys.len() > 3 {
        return format!("{}_keys", keys.len());
    }
    let last = |axis: &KeyAxis| axis.key.rsplit('.').next().unwrap_or(&axis.key).to_owned();
    keys.iter().map(last).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> KeyAxis {
        axis("algo.x", values.iter().copied(), true)
    }

    fn texts(axis: &KeyAxis) -> Vec<&str> {
        axis.values.iter().map(|value| value.value.as_str()).collect()
    }

    #[test]
    fn wide_positive_ranges_are_logarithmic() {
        for (values, scale) in [
            (&["0.0001", "0.003"][..], KeyScale::Logarithmic),
            (&["1", "20"], KeyScale::Linear),
            (&["1", "20.5"], KeyScale::Logarithmic),
            (&["0", "1000"], KeyScale::Linear),
            (&["-1", "100"], KeyScale::Linear),
            (&["0.99"], KeyScale::Linear),
            (&["1e-5", "null"], KeyScale::Categories),
            (&["true", "false"], KeyScale::Categories),
            (&["0.001→0", "0.003→0"], KeyScale::Categories),
            (&["NaN", "1"], KeyScale::Categories),
        ] {
            assert_eq!(of(values).scale, scale, "{values:?}");
        }
    }

    #[test]
    fn values_are_in_order_and_once() {
        assert_eq!(texts(&of(&["0.01", "1e-5", "0.001", "0.01"])), ["1e-5", "0.001", "0.01"]);
        assert_eq!(texts(&of(&["[64, 64]", "[8, 8]", "[128]"])), ["[8, 8]", "[64, 64]", "[128]"]);
        assert_eq!(texts(&of(&["tanh", "relu"])), ["relu", "tanh"]);
        assert_eq!(texts(&of(&["0.02", "null", "0.003"])), ["null", "0.003", "0.02"]);
        assert_eq!(texts(&of(&["0.003→0", "0.001→0"])), ["0.001→0", "0.003→0"]);
    }

    #[test]
    fn places_are_numbers_or_positions() {
        let rates = of(&["0.0001", "0.003"]);
        assert_eq!((rates.place("0.003"), rates.index("0.003")), (0.003, Some(1)));
        let words = of(&["tanh", "relu"]);
        assert_eq!((words.place("tanh"), words.index("elu")), (1.0, None));
    }

    #[test]
    fn many_numbers_are_summarised_in_ranges() {
        let texts: Vec<String> =
            (0..100).map(|i| (1e-5 * 10f64.powf(f64::from(i) / 24.75)).to_string()).collect();
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        let rates = of(&all);
        assert_eq!((rates.scale, rates.values.len()), (KeyScale::Logarithmic, RANGES));
        let mut counts = [0; RANGES];
        for text in &all {
            let index = rates.index(text).unwrap();
            let (from, to) = rates.values[index].range.unwrap();
            let number: f64 = text.parse().unwrap();
            assert!(number >= from && number <= to, "{text} in {from} to {to}");
            counts[index] += 1;
        }
        assert!(counts.iter().all(|count| (11..=14).contains(count)), "{counts:?}");
        assert_eq!(rates.values[0].value, "1e-5–3.2e-5");
        assert_eq!([0.25, 2.71e-5, 0.0, 123.4].map(edge_text), ["0.25", "2.7e-5", "0", "120"]);
        assert_eq!(rates.place(all[3]), all[3].parse::<f64>().unwrap());
        assert_eq!(axis("algo.x", all.iter().copied(), false).values.len(), 100);
    }

    #[test]
    fn wrong_keys_say_what_is_right() {
        let error =
            |keys: &[&str]| check(&View::Against(keys.iter().map(|key| (*key).to_owned()).collect())).err();
        assert!(error(&["algo.gamma", "env.kwargs.map_name"]).is_none());
        assert_eq!(error(&["algo.gama"]).unwrap().hints, ["did you mean algo.gamma?"]);
        assert_eq!(error(&["learning_rate"]).unwrap().hints, ["did you mean algo.learning_rate?"]);
        assert_eq!(error(&["score"]).unwrap().code, "bad_key");
        assert!(error(&["algo.gamma", "algo.gamma"]).unwrap().message.contains("named twice"));
        assert!(error(&["algo.gamma", "all"]).is_some());
    }

    #[test]
    fn keys_that_differ_are_found() {
        let run = |pairs: &[(&str, &str)]| {
            Rc::new(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        let all: [Rc<Settings>; 2] = [
            run(&[("algo.gamma", "0.9"), ("algo.lambda", "1"), ("checkpoint.keep", "3")]),
            run(&[
                ("algo.gamma", "0.99"),
                ("algo.lambda", "1"),
                ("checkpoint.keep", "5"),
                ("env.kwargs.x", "1"),
            ]),
        ];
        assert_eq!(differing(&all), ["algo.gamma", "env.kwargs.x"]);
        assert_eq!(differing(&all[..1]), Vec::<String>::new());
    }
}
