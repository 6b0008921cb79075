//! Reads one value by its rule: type first, then range.

use std::collections::BTreeMap;

use rlxp_types::RunName;

use crate::check::{Checker, describe, join, shorten};
use crate::config::{Kwarg, LinearTag, Schedule, WrapperConfig};
use crate::fields::{self, Bounds, Field, Rule};
use crate::nearest::nearest;
use crate::scalar::Scalar;
use crate::tree::{Entry, Kind, Node};

/// A value that follows its field's rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Count(u64),
    Number(f64),
    Text(String),
    Schedule(Schedule),
    Sizes(Vec<usize>),
    SeedCount(u64),
    SeedList(Vec<u64>),
    Kwargs(BTreeMap<String, Kwarg>),
    Wrappers(Vec<WrapperConfig>),
}

/// The value of `field`, or nothing after a problem was reported.
pub(crate) fn read(checker: &mut Checker<'_>, field: &Field, node: &Node) -> Option<Value> {
    if let Kind::Refused = node.kind {
        return None;
    }
    let path = field.path;
    if field.nullable
        && let Kind::Scalar { text, plain } = &node.kind
        && Scalar::of(text, *plain) == Scalar::Null
    {
        return Some(Value::Null);
    }
    match field.rule {
        Rule::RunName => {
            let text = checker.text(path, node)?;
            match RunName::parse(&text) {
                Ok(_) => Some(Value::Text(text)),
                Err(error) => {
                    checker.error(&node.span, path, error.to_string(), None);
                    None
                }
            }
        }
        Rule::Text => checker.text(path, node).map(Value::Text),
        Rule::Word(words) => checker.word(path, node, words).map(Value::Text),
        Rule::Flag => checker.flag(path, node).map(Value::Flag),
        Rule::Count(low, high) => checker.count(path, node, low, high).map(Value::Count),
        Rule::Number(bounds) => checker.number(path, node, bounds).map(Value::Number),
        Rule::Schedule(bounds) => checker.schedule(path, node, bounds).map(Value::Schedule),
        Rule::Sizes => {
            let expected = "a list of layer widths such as [64, 64]";
            let items = checker.list(path, node, expected, 1, fields::MAX_LAYERS)?;
            let sizes = checker.counts(path, items, 1, fields::MAX_WIDTH)?;
            Some(Value::Sizes(sizes.into_iter().map(|size| size as usize).collect()))
        }
        Rule::Seeds => checker.seeds(path, node),
        Rule::Kwargs => checker.kwargs(path, node).map(Value::Kwargs),
        Rule::Wrappers => checker.wrappers(path, node).map(Value::Wrappers),
    }
}

impl Checker<'_> {
    fn wrong_type(&mut self, path: &str, node: &Node, expected: &str, hint: Option<String>) {
        if !matches!(node.kind, Kind::Refused) {
            let message = format!("`{path}` must be {expected}; this is {}", describe(node));
            self.error(&node.span, path, message, hint);
        }
    }

    /// A scalar as it is meant, with its text; anything else is a wrong type.
    fn scalar<'n>(&mut self, path: &str, node: &'n Node, expected: &str) -> Option<(Scalar, &'n str)> {
        match &node.kind {
            Kind::Scalar { text, plain } => Some((Scalar::of(text, *plain), text)),
            _ => {
                self.wrong_type(path, node, expected, None);
                None
            }
        }
    }

    fn text(&mut self, path: &str, node: &Node) -> Option<String> {
        let (scalar, text) = self.scalar(path, node, "text")?;
        if scalar != Scalar::Text {
            let hint = (!text.is_empty()).then(|| format!("put it in quotes: \"{}\"", shorten(text)));
            self.wrong_type(path, node, "text", hint);
            return None;
        }
        let why = if text.is_empty() {
            "is empty".to_owned()
        } else if text.len() > fields::MAX_TEXT {
            format!("is longer than {} bytes", fields::MAX_TEXT)
        } else if text.chars().any(char::is_control) {
            "has a line break or a control character".to_owned()
        } else {
            return Some(text.to_owned());
        };
        self.error(&node.span, path, format!("the text of `{path}` {why}"), None);
        None
    }

    fn word(&mut self, path: &str, node: &Node, words: &[&'static str]) -> Option<String> {
        let text = self.text(path, node)?;
        if words.contains(&text.as_str()) {
            return Some(text);
        }
        let hint = nearest(&text, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
        let message = format!("`{path}` can't be `{}`; valid: {}", shorten(&text), words.join(", "));
        self.error(&node.span, path, message, hint);
        None
    }

    fn flag(&mut self, path: &str, node: &Node) -> Option<bool> {
        let expected = "true or false";
        let (scalar, text) = self.scalar(path, node, expected)?;
        if let Scalar::Bool(flag) = scalar {
            return Some(flag);
        }
        let hint = match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "1" | "true" | "y" => Some("write true".to_owned()),
            "no" | "off" | "0" | "false" | "n" => Some("write false".to_owned()),
            _ => None,
        };
        self.wrong_type(path, node, expected, hint);
        None
    }

    fn count(&mut self, path: &str, node: &Node, low: u64, high: u64) -> Option<u64> {
        let expected = "a whole number";
        let (scalar, text) = self.scalar(path, node, expected)?;
        // Above 2^53 an f64 no longer says which whole number was meant.
        let integer = match scalar {
            Scalar::Integer(integer) => integer,
            Scalar::Number(number) if number.fract() == 0.0 && number.abs() <= fields::MAX_SEED as f64 => {
                number as i128
            }
            Scalar::Number(number) if number.fract() != 0.0 => {
                let message = format!("`{path}` must be a whole number; this is {number}");
                self.error(&node.span, path, message, None);
                return None;
            }
            Scalar::Number(_) => i128::MAX,
            Scalar::NotFinite => return self.not_finite(path, node),
            _ => {
                self.wrong_type(path, node, expected, unquoted(text));
                return None;
            }
        };
        match u64::try_from(integer) {
            Ok(count) if (low..=high).contains(&count) => Some(count),
            _ => {
                let message = format!("`{path}` must be {low} to {high}; this is {}", shorten(text));
                self.error(&node.span, path, message, None);
                None
            }
        }
    }

    fn number(&mut self, path: &str, node: &Node, bounds: Bounds) -> Option<f64> {
        let expected = "a number";
        let (scalar, text) = self.scalar(path, node, expected)?;
        let number = match scalar {
            Scalar::Integer(integer) => integer as f64,
            Scalar::Number(number) => number,
            Scalar::NotFinite => return self.not_finite(path, node),
            _ => {
                self.wrong_type(path, node, expected, unquoted(text));
                return None;
            }
        };
        if bounds.hold(number) {
            // -0.0 would be written and compared as something of its own.
            return Some(if number == 0.0 { 0.0 } else { number });
        }
        let message = format!("`{path}` must be {}; this is {}", bounds.describe(), shorten(text));
        self.error(&node.span, path, message, None);
        None
    }

    fn not_finite<T>(&mut self, path: &str, node: &Node) -> Option<T> {
        self.error(&node.span, path, format!("`{path}` must be a finite number"), None);
        None
    }

    fn schedule(&mut self, path: &str, node: &Node, bounds: Bounds) -> Option<Schedule> {
        let expected = "a number or {schedule: linear, from: …, to: …}";
        let Kind::Mapping(entries) = &node.kind else {
            if let Kind::Sequence(_) = node.kind {
                self.wrong_type(path, node, expected, None);
                return None;
            }
            return self.number(path, node, bounds).map(Schedule::Constant);
        };
        let ends = Bounds { closed: true, ..bounds };
        let (mut tag, mut from, mut to, mut complete) = (None, None, None, true);
        for (entry, key) in self.keys(path, entries) {
            let own = join(path, &shorten(key));
            match key {
                "schedule" => tag = Some(self.word(&own, &entry.value, &["linear"]).is_some()),
                "from" => from = Some(self.number(&own, &entry.value, ends)),
                "to" => to = Some(self.number(&own, &entry.value, ends)),
                _ => {
                    complete = false;
                    let hint = nearest(key, ["schedule", "from", "to"]);
                    let hint = hint.map(|near| format!("did you mean `{near}`?"));
                    self.error(
                        &entry.key.span,
                        &own,
                        format!("unknown key `{}` in `{path}`", shorten(key)),
                        hint,
                    );
                }
            }
        }
        for (key, there) in [("schedule", tag.is_some()), ("from", from.is_some()), ("to", to.is_some())] {
            if !there {
                self.error(
                    &node.span,
                    path,
                    format!("`{path}` lacks `{key}`"),
                    Some(format!("`{path}` is {expected}")),
                );
            }
        }
        let (true, true, from, to) = (complete, tag?, from??, to??) else { return None };
        if from == bounds.low && to == bounds.low {
            let message = format!("`{path}` would be {} throughout", bounds.low);
            self.error(&node.span, path, message, None);
            return None;
        }
        Some(Schedule::Linear { schedule: LinearTag::Linear, from, to })
    }

    fn list<'n>(
        &mut self,
        path: &str,
        node: &'n Node,
        expected: &str,
        least: usize,
        most: usize,
    ) -> Option<&'n [Node]> {
        let Kind::Sequence(items) = &node.kind else {
            self.wrong_type(path, node, expected, None);
            return None;
        };
        if (least..=most).contains(&items.len()) {
            return Some(items);
        }
        let message = format!("`{path}` must have {least} to {most} entries; this has {}", items.len());
        self.error(&node.span, path, message, None);
        None
    }

    fn counts(&mut self, path: &str, items: &[Node], low: u64, high: u64) -> Option<Vec<u64>> {
        // Collected first, so that every wrong entry is reported.
        let counts: Vec<Option<u64>> = items
            .iter()
            .enumerate()
            .map(|(i, item)| self.count(&format!("{path}[{i}]"), item, low, high))
            .collect();
        counts.into_iter().collect()
    }

    fn seeds(&mut self, path: &str, node: &Node) -> Option<Value> {
        if let Kind::Scalar { .. } = node.kind {
            return self.count(path, node, 1, fields::MAX_SEEDS as u64).map(Value::SeedCount);
        }
        let items = self.list(path, node, "a count or a list of seeds", 1, fields::MAX_SEEDS)?;
        let seeds = self.counts(path, items, 0, fields::MAX_SEED)?;
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        let mut distinct = true;
        for (i, seed) in seeds.iter().enumerate() {
            if first.insert(*seed, i).is_some() {
                distinct = false;
                let message = format!("seed {seed} stands in `{path}` twice");
                self.error(&items[i].span, &format!("{path}[{i}]"), message, None);
            }
        }
        distinct.then_some(Value::SeedList(seeds))
    }

    fn kwargs(&mut self, path: &str, node: &Node) -> Option<BTreeMap<String, Kwarg>> {
        let entries = match &node.kind {
            Kind::Mapping(entries) if entries.len() <= fields::MAX_KWARGS => entries,
            Kind::Mapping(entries) => {
                let message = format!(
                    "`{path}` has {} entries; at most {} are allowed",
                    entries.len(),
                    fields::MAX_KWARGS
                );
                self.error(&node.span, path, message, None);
                return None;
            }
            Kind::Scalar { text, plain: true } if text.is_empty() => return Some(BTreeMap::new()),
            _ => {
                self.wrong_type(path, node, "a mapping of names to values", None);
                return None;
            }
        };
        let before = self.problems.len();
        let mut kwargs = BTreeMap::new();
        for (entry, key) in self.keys(path, entries) {
            self.checked.places.insert(join(path, key), entry.value.span.clone());
            if let Some(kwarg) = self.kwarg(key, &entry.key.span, &entry.value) {
                kwargs.insert(key.to_owned(), kwarg);
            }
        }
        (self.problems.len() == before).then_some(kwargs)
    }

    /// One keyword argument, whose name stands at `key`.
    pub(crate) fn kwarg(&mut self, name: &str, key: &std::ops::Range<usize>, node: &Node) -> Option<Kwarg> {
        let path = join("env.kwargs", &shorten(name));
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if name.len() > 64 || !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            let message = format!("`{}` can't name an argument: use letters, digits and _", shorten(name));
            self.error(key, &path, message, None);
            return None;
        }
        let expected = "true or false, a number or text";
        let (scalar, _) = self.scalar(&path, node, expected)?;
        match scalar {
            Scalar::Bool(flag) => Some(Kwarg::Bool(flag)),
            Scalar::Integer(integer) => match i64::try_from(integer) {
                Ok(integer) => Some(Kwarg::Integer(integer)),
                Err(_) => {
                    self.error(&node.span, &path, format!("`{path}` does not fit in 64 bits"), None);
                    None
                }
            },
            Scalar::Number(number) => Some(Kwarg::Number(number)),
            Scalar::NotFinite => self.not_finite(&path, node),
            Scalar::Text => self.text(&path, node).map(Kwarg::Text),
            Scalar::Null => {
                self.wrong_type(
                    &path,
                    node,
                    expected,
                    Some("delete the line to keep the default".to_owned()),
                );
                None
            }
        }
    }

    fn wrappers(&mut self, path: &str, node: &Node) -> Option<Vec<WrapperConfig>> {
        let items = self.list(path, node, "a list of wrappers", 0, fields::MAX_WRAPPERS)?;
        let mut wrappers = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let path = format!("{path}[{i}]");
            self.checked.places.insert(path.clone(), item.span.clone());
            wrappers.push(self.wrapper(&path, item));
        }
        wrappers.into_iter().collect()
    }

    fn wrapper(&mut self, path: &str, node: &Node) -> Option<WrapperConfig> {
        let (name, name_node, argument) = match &node.kind {
            Kind::Scalar { .. } => (self.word(path, node, fields::WRAPPERS)?, node, None),
            Kind::Mapping(entries) if entries.len() == 1 => {
                let Entry { key, value } = &entries[0];
                (self.word(path, key, fields::WRAPPERS)?, key, Some(value))
            }
            _ => {
                let hint = format!("one of: {}", fields::WRAPPERS.join(", "));
                self.wrong_type(
                    path,
                    node,
                    "the name of a wrapper, or one name with its arguments",
                    Some(hint),
                );
                return None;
            }
        };
        let arguments = match argument.map(|node| &node.kind) {
            Some(Kind::Mapping(entries)) => self.keys(path, entries),
            Some(Kind::Refused) => return None,
            Some(Kind::Scalar { text, plain: true }) if text.is_empty() => Vec::new(),
            Some(_) => {
                self.wrong_type(
                    path,
                    argument?,
                    "a wrapper with a mapping of arguments",
                    Some(format!("`{name}: {{}}`")),
                );
                return None;
            }
            None => Vec::new(),
        };
        let (mut factor, mut fine) = (None, true);
        for (entry, key) in arguments {
            if name == "scale_reward" && key == "factor" {
                factor = Some(self.number(&join(path, key), &entry.value, fields::SCALE));
            } else {
                fine = false;
                let hint = (name == "scale_reward").then(|| "did you mean `factor`?".to_owned());
                self.error(
                    &entry.key.span,
                    path,
                    format!("`{name}` has no argument `{}`", shorten(key)),
                    hint,
                );
            }
        }
        if !fine {
            return None;
        }
        match name.as_str() {
            "freeze_observation" => Some(WrapperConfig::FreezeObservation {}),
            "truncation_as_termination" => Some(WrapperConfig::TruncationAsTermination {}),
            _ => match factor {
                Some(factor) => factor.map(|factor| WrapperConfig::ScaleReward { factor }),
                None => {
                    let hint = Some("`scale_reward: {factor: 2}`".to_owned());
                    self.error(&name_node.span, path, "`scale_reward` needs a `factor`".to_owned(), hint);
                    None
                }
            },
        }
    }
}

/// What to write when a number stands in quotes.
fn unquoted(text: &str) -> Option<String> {
    matches!(Scalar::of(text, true), Scalar::Integer(_) | Scalar::Number(_))
        .then(|| format!("write {} without quotes", shorten(text)))
}
