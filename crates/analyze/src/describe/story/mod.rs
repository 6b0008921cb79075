//! Describes what happened during training, from its curves alone.
//!
//! A [`Course`] is one metric over the steps, with its phases and single events
//! (`statistics::course`); [`tell`] makes [`Statement`]s of them for one or
//! several seeds, and `metrics::read` for any metric of a run. A statement is a
//! list of [`Claim`]s with two renderings: a sentence for `rlx analyze` and
//! `explain-metrics`, and where it matters for the whole run, a short one for
//! the paragraph of `rlx summarize`. The tests recompute every claim.
//!
//! A change smaller than the noise of one point is reported as noise, never as
//! an improvement. Nothing here is a test between groups: `verdict` decides.

mod claim;
pub(super) mod phase;
mod sentences;
mod tell;
#[cfg(test)]
mod tests;
pub(super) mod words;

use serde::Serialize;

pub use claim::{Claim, Comparison, Over, Relation, Statistic};
pub use tell::{Baseline, Best, SeedCourse, SeedStory, Story, Subject, fold, tell};

pub use crate::statistics::course::{
    Course, Drawdown, Glance, LEAST_CHANGE, Onset, Phase, PhaseKind, Reach, Start, differ, phases,
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

/// A sentence with the claims it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    pub topic: Topic,
    pub text: String,
    /// The same in a paragraph about the whole run, without its full stop; none
    /// where that would lead too far.
    #[serde(skip)]
    pub short: Option<String>,
    /// Kind of the records that hold the metric, such as `eval`.
    pub kind: String,
    pub metric: String,
    /// First step that it is about.
    pub from_step: u64,
    /// Last step that it is about.
    pub to_step: u64,
    /// What it says. NaN and infinities are null in JSON.
    pub claims: Vec<Claim>,
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
            short: None,
            kind: kind.to_owned(),
            metric: metric.to_owned(),
            from_step,
            to_step,
            claims: Vec::new(),
            seeds: seeds.to_vec(),
        }
    }

    #[must_use]
    pub fn claiming(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    #[must_use]
    pub fn in_short(mut self, text: impl Into<String>) -> Self {
        self.short = Some(text.into());
        self
    }

    /// The value that is claimed of a statistic.
    pub fn value(&self, statistic: Statistic) -> Option<f64> {
        self.claims.iter().find(|claim| claim.statistic == statistic).map(|claim| claim.value)
    }
}
