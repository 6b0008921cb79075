//! Keyword arguments of an environment, checked against its catalogue entry.
//!
//! Reading never stops at a problem: it records it, continues with a default,
//! and the caller reports everything at the end.

use std::collections::BTreeMap;

use rlxp_spec::config::Kwarg;

use crate::catalogue::{EnvInfo, KwargKind};
use crate::source::Problem;

pub(crate) struct Kwargs<'a> {
    given: &'a BTreeMap<String, Kwarg>,
    info: &'static EnvInfo,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Kwargs<'a> {
    /// Notes unknown names and wrong types at once.
    pub(crate) fn new(info: &'static EnvInfo, given: &'a BTreeMap<String, Kwarg>) -> Self {
        let mut kwargs = Self { given, info, problems: Vec::new() };
        for (name, value) in given {
            match info.kwargs.iter().find(|known| known.name == name) {
                None => kwargs.unknown(name),
                Some(known) => {
                    if let Some(wanted) = mismatch(known.kind, value) {
                        kwargs.problem(
                            name,
                            format!("{name} of {} must be {wanted}, not {}", info.id, show(value)),
                        );
                    }
                }
            }
        }
        kwargs
    }

    pub(crate) fn problem(&mut self, name: &str, message: String) {
        self.problems.push(Problem { path: format!("env.kwargs.{name}"), message, nearest: None });
    }

    fn unknown(&mut self, name: &str) {
        let known = self.info.kwargs.iter().map(|kwarg| kwarg.name);
        let nearest = known
            .clone()
            .map(|known| (strsim::normalized_levenshtein(name, known), known))
            .filter(|(likeness, _)| *likeness >= 0.4)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known.to_owned());
        let list = known.collect::<Vec<_>>().join(", ");
        let message = if list.is_empty() {
            format!("{} takes no arguments, so {name:?} can't be set", self.info.id)
        } else {
            format!("{} has no argument {name:?}; valid: {list}", self.info.id)
        };
        self.problems.push(Problem { path: format!("env.kwargs.{name}"), message, nearest });
    }

    pub(crate) fn bool(&self, name: &str, default: bool) -> bool {
        match self.given.get(name) {
            Some(Kwarg::Bool(value)) => *value,
            _ => default,
        }
    }

    pub(crate) fn number(&self, name: &str, default: f64) -> f64 {
        match self.given.get(name) {
            Some(Kwarg::Integer(value)) => *value as f64,
            Some(Kwarg::Number(value)) if value.is_finite() => *value,
            _ => default,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        match self.given.get(name) {
            Some(Kwarg::Text(value)) => Some(value),
            _ => None,
        }
    }
}

/// What would have been right, where the value is not.
fn mismatch(kind: KwargKind, value: &Kwarg) -> Option<&'static str> {
    let number = match value {
        Kwarg::Integer(value) => Some(*value as f64),
        Kwarg::Number(value) => Some(*value),
        Kwarg::Bool(_) | Kwarg::Text(_) | Kwarg::List(_) | Kwarg::Table(_) => None,
    };
    match kind {
        KwargKind::Bool => (!matches!(value, Kwarg::Bool(_))).then_some("true or false"),
        KwargKind::Number => (!number.is_some_and(f64::is_finite)).then_some("a finite number"),
        KwargKind::Probability => {
            (!number.is_some_and(|value| (0.0..=1.0).contains(&value))).then_some("a number from 0 to 1")
        }
        KwargKind::Text => (!matches!(value, Kwarg::Text(_))).then_some("a text"),
    }
}

fn show(value: &Kwarg) -> String {
    match value {
        Kwarg::Bool(value) => value.to_string(),
        Kwarg::Integer(value) => value.to_string(),
        Kwarg::Number(value) => value.to_string(),
        Kwarg::Text(value) => format!("{value:?}"),
        Kwarg::List(_) => "a list".to_owned(),
        Kwarg::Table(_) => "a mapping".to_owned(),
    }
}
