//! Reads one value by its rule: type first, then range.

use std::collections::BTreeMap;

use rlxp_types::RunName;

use crate::check::{Checker, describe, shorten};
use crate::config::{Kwarg, Schedule, WrapperConfig};
use crate::fields::{self, Bounds, Field, Rule};
use crate::nearest::nearest;
use crate::scalar::Scalar;
use crate::tree::{Kind, Node};

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
    pub(crate) fn wrong_type(&mut self, path: &str, node: &Node, expected: &str, hint: Option<String>) {
        if !matches!(node.kind, Kind::Refused) {
            let message = format!("`{path}` must be {expected}; this is {}", describe(node));
            self.error(&node.span, path, message, hint);
        }
    }

    /// A scalar as it is meant, with its text; anything else is a wrong type.
    pub(crate) fn scalar<'n>(
        &mut self,
        path: &str,
        node: &'n Node,
        expected: &str,
    ) -> Option<(Scalar, &'n str)> {
        match &node.kind {
            Kind::Scalar { text, plain } => Some((Scalar::of(text, *plain), text)),
            _ => {
                self.wrong_type(path, node, expected, None);
                None
            }
        }
    }

    pub(crate) fn text(&mut self, path: &str, node: &Node) -> Option<String> {
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

    pub(crate) fn word(&mut self, path: &str, node: &Node, words: &[&'static str]) -> Option<String> {
        let text = self.text(path, node)?;
        if words.contains(&text.as_str()) {
            return Some(text);
        }
        let hint = nearest(&text, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
        let message = format!("`{path}` can't be `{}`; valid: {}", shorten(&text), words.join(", "));
        self.error(&node.span, path, message, hint);
        None
    }

    pub(crate) fn flag(&mut self, path: &str, node: &Node) -> Option<bool> {
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

    pub(crate) fn count(&mut self, path: &str, node: &Node, low: u64, high: u64) -> Option<u64> {
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

    pub(crate) fn number(&mut self, path: &str, node: &Node, bounds: Bounds) -> Option<f64> {
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

    pub(crate) fn not_finite<T>(&mut self, path: &str, node: &Node) -> Option<T> {
        self.error(&node.span, path, format!("`{path}` must be a finite number"), None);
        None
    }
}

/// What to write when a number stands in quotes.
fn unquoted(text: &str) -> Option<String> {
    matches!(Scalar::of(text, true), Scalar::Integer(_) | Scalar::Number(_))
        .then(|| format!("write {} without quotes", shorten(text)))
}
