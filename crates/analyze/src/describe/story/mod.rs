//! Describes what happened during training, from its curves alone.
//!
//! A [`Course`] is one metric over the steps, with its phases and single events
//! (`statistics::course`); [`tell`] makes sentences of them for one or several
//! seeds. Every sentence is a [`Statement`] that carries the metric, the steps
//! and the numbers it is based on, so that readers can look them up.
//!
//! A change smaller than the noise of one point is reported as noise, never as
//! an improvement. Nothing here is a test between groups: `verdict` decides.

mod sentences;
mod tell;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use serde::Serialize;

pub use tell::{Baseline, Best, SeedCourse, SeedStory, Story, Subject, fold, tell};

pub use crate::statistics::course::{
    Course, Drawdown, Glance, Onset, Phase, PhaseKind, Reach, Speed, phases,
};
pub use crate::statistics::final_scores::{Final, final_scores, finals};

/// What a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The final result.
    Result,
    /// Against a random policy.
    Baseline,
    /// Where learning began.
    Onset,
    /// How fast it rose.
    Speed,
    /// A rise, a plateau or a fall.
    Phase,
    /// The best evaluation against the last.
    Best,
    /// When levels were reached.
    Reach,
    /// How far it fell back.
    Stability,
    /// How the seeds differ.
    Seeds,
    /// What it cost.
    Efficiency,
    /// How the policy and its value function developed.
    Policy,
    /// What can't be known, and why.
    Unknown,
}

/// A sentence with the numbers it is based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    pub topic: Topic,
    pub text: String,
    /// Kind of the records that hold the metric, such as `eval`.
    pub kind: String,
    pub metric: String,
    /// First step that it is about.
    pub from_step: u64,
    /// Last step that it is about.
    pub to_step: u64,
    /// The numbers in it, by name. NaN and infinities are null in JSON.
    pub values: BTreeMap<&'static str, f64>,
    /// The seeds that it is about.
    pub seeds: Vec<u64>,
}

impl Statement {
    /// A statement about steps `from` to `to` of a metric.
    pub fn new(
        topic: Topic,
        (kind, metric): (&str, &str),
        (from_step, to_step): (u64, u64),
        seeds: &[u64],
        text: impl Into<String>,
    ) -> Self {
        Self {
            topic,
            text: text.into(),
            kind: kind.to_owned(),
            metric: metric.to_owned(),
            from_step,
            to_step,
            values: BTreeMap::new(),
            seeds: seeds.to_vec(),
        }
    }

    #[must_use]
    pub fn with(mut self, values: impl IntoIterator<Item = (&'static str, f64)>) -> Self {
        self.values.extend(values);
        self
    }
}
