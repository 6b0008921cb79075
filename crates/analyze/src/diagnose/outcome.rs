//! The answer of a rule: a finding with its evidence, or why there isn't one.

use serde::{Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Probably costs performance.
    Warning,
    /// Something is broken, or learning does not happen.
    Error,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One number that a finding is based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Citation {
    /// The metric, as `kind.name`.
    pub metric: String,
    /// Training seed; `None` if the number comes from several.
    pub seed: Option<u64>,
    /// First step that the value is taken from.
    pub from_step: u64,
    /// Last step.
    pub to_step: u64,
    /// The value; the texts `NaN`, `inf` and `-inf` for what JSON can't represent.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// The threshold it was compared with.
    #[serde(serialize_with = "maybe_number")]
    pub threshold: Option<f64>,
}

fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        value if value.is_finite() => serializer.serialize_f64(*value),
        value if value.is_nan() => serializer.serialize_str("NaN"),
        value => serializer.serialize_str(if *value > 0.0 { "inf" } else { "-inf" }),
    }
}

fn maybe_number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Something that would have made a finding milder or void.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Considered {
    pub exclusion: String,
    /// Whether it held in the cited seed; `None` where only a person can tell.
    pub holds: Option<bool>,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its rank, from 1.
    pub rank: usize,
    pub severity: Severity,
    /// The observation, with metric, steps, value and threshold.
    pub sentence: String,
    /// What it means, for readers who are new to it.
    pub meaning: String,
    pub seeds_showing: usize,
    /// Number of seeds that could be judged.
    pub seeds_judged: usize,
    /// The numbers it is based on.
    pub evidence: Vec<Citation>,
    /// What would have excluded it.
    pub exclusions: Vec<Considered>,
    /// Rules whose findings may be the cause of this one.
    pub explained_by: Vec<String>,
    /// How far beyond its threshold, as a ratio of at least 1.
    #[serde(serialize_with = "number")]
    pub strength: f64,
    /// A command to continue with.
    pub next: Option<String>,
    /// Config keys that it names as the probable cause, the most probable first.
    pub keys: Vec<String>,
    /// Ids of suggestions that address it.
    pub suggestions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Answer {
    Finding(Box<Finding>),
    Clear {
        /// What was seen but is excused, if anything.
        note: Option<String>,
    },
    /// The run lacks what the rule needs.
    NotEnoughData {
        lacking: String,
    },
    /// The rule is about something that this run doesn't have.
    DoesNotApply {
        why: String,
    },
}

/// A rule and its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleOutcome {
    /// The rule's id.
    pub rule: String,
    pub title: String,
    #[serde(flatten)]
    pub answer: Answer,
}

impl RuleOutcome {
    /// The finding, if there is one.
    pub fn finding(&self) -> Option<&Finding> {
        match &self.answer {
            Answer::Finding(finding) => Some(finding),
            _ => None,
        }
    }
}
