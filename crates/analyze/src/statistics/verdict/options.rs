//! The options of a comparison, and their validation.

use serde::{Deserialize, Serialize};

use super::scored::FailureScore;
use crate::statistics::sequential::Boundary;

/// Whether more or less of a score is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better.
    #[default]
    Higher,
    /// Less is better.
    Lower,
}

impl Direction {
    /// What scores are multiplied with so that more is better.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Self::Higher => 1.0,
            Self::Lower => -1.0,
        }
    }
}

/// The smallest difference that counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MinimumEffect {
    /// In the scores' own unit.
    Absolute(f64),
    /// In spreads: usual distances between two runs of a group.
    Spreads(f64),
    /// The larger of that many spreads and a fraction of A's interquartile
    /// mean. Depends on where the scores have their zero.
    SpreadsOrFraction {
        spreads: f64,
        /// Of the size of A's interquartile mean.
        fraction: f64,
    },
}

/// Which of several planned, equally spaced looks this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// This look, counted from 1.
    pub number: usize,
    pub planned: usize,
    /// How the level is spread over them.
    pub boundary: Boundary,
}

/// Another metric that must not suffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guardrail {
    /// Its name in reports.
    pub name: String,
    /// Scores of A's runs.
    pub a: Vec<f64>,
    /// Scores of B's runs.
    pub b: Vec<f64>,
    /// Whether more or less is better.
    pub direction: Direction,
    /// How much worse is still accepted.
    pub margin: MinimumEffect,
    /// What failed runs are scored with.
    pub failure_score: Option<f64>,
}

/// How to compare. The defaults and their reasons are listed in
/// [`crate::statistics::verdict`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Whether more or less is better.
    pub direction: Direction,
    /// Whether run i of A and run i of B belong together (same seed).
    pub paired: bool,
    /// The chance of a false claim, each way.
    pub alpha: f64,
    /// The smallest effect that counts.
    pub minimum_effect: MinimumEffect,
    /// What failed runs are scored with, in the scores' unit.
    pub failure_score: Option<f64>,
    /// Without `failure_score`: no failed run is scored better than this, such
    /// as the last evaluation before it diverged or the random policy's score.
    pub failure_limit: Option<f64>,
    /// The level at which guardrails are bounded.
    pub guardrail_alpha: f64,
    /// Which planned look this is.
    pub look: Option<Look>,
    /// The power behind `seeds_needed`.
    pub power: f64,
    /// Bootstrap resamples of the descriptive interval; 0 leaves it out.
    pub resamples: usize,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            direction: Direction::Higher,
            paired: false,
            alpha: 0.025,
            minimum_effect: MinimumEffect::Spreads(0.5),
            failure_score: None,
            failure_limit: None,
            guardrail_alpha: 0.05,
            look: None,
            power: 0.8,
            resamples: 10_000,
            seed: 0,
        }
    }
}

/// Every problem with a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidQuestion {
    pub problems: Vec<String>,
}

impl std::fmt::Display for InvalidQuestion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for InvalidQuestion {}

impl Options {
    pub(super) fn failure(&self) -> FailureScore {
        FailureScore { fixed: self.failure_score, limit: self.failure_limit }
    }

    /// Every problem with these options for groups of these sizes.
    pub(super) fn problems(&self, n_a: usize, n_b: usize, guardrails: &[Guardrail]) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, level) in [("alpha", self.alpha), ("guardrail_alpha", self.guardrail_alpha)] {
            if !(level > 0.0 && level < 0.5) {
                problems.push(format!("{name} is {level}; it must be between 0 and 0.5"));
            }
        }
        if !(self.power > 0.0 && self.power < 1.0) {
            problems.push(format!("power is {}; it must be between 0 and 1", self.power));
        }
        if self.failure_limit.is_some_and(|limit| !limit.is_finite()) {
            problems.push("the failure limit must be finite".to_owned());
        }
        let scores = std::iter::once(("", self.minimum_effect, self.failure_score, n_a, n_b));
        let guarded = guardrails.iter().map(|guardrail| {
            let (n_a, n_b) = (guardrail.a.len(), guardrail.b.len());
            (guardrail.name.as_str(), guardrail.margin, guardrail.failure_score, n_a, n_b)
        });
        for (name, least, failure, n_a, n_b) in scores.chain(guarded) {
            let of = if name.is_empty() { String::new() } else { format!(" of guardrail {name}") };
            if !least.sizes().iter().all(|size| size.is_finite() && *size >= 0.0) {
                problems.push(format!("the minimum effect{of} must be finite and not negative"));
            }
            if failure.is_some_and(|score| !score.is_finite()) {
                problems.push(format!("the failure score{of} must be finite"));
            }
            if self.paired && n_a != n_b {
                problems.push(format!(
                    "paired groups must have the same number of scores{of}: {n_a} and \
                                       {n_b}"
                ));
            }
        }
        if let Some(look) = self.look
            && (look.number == 0 || look.number > look.planned || look.planned > 20)
        {
            problems.push(format!("look {} of {} is invalid (at most 20 looks)", look.number, look.planned));
        }
        problems
    }
}

impl MinimumEffect {
    fn sizes(self) -> [f64; 2] {
        match self {
            Self::Absolute(size) | Self::Spreads(size) => [size, 0.0],
            Self::SpreadsOrFraction { spreads, fraction } => [spreads, fraction],
        }
    }

    pub(super) fn size(self, spread: f64, iqm_a: f64) -> f64 {
        match self {
            Self::Absolute(size) => size,
            Self::Spreads(spreads) => spreads * spread,
            Self::SpreadsOrFraction { spreads, fraction } => {
                (spreads * spread).max(fraction * if iqm_a.is_nan() { 0.0 } else { iqm_a.abs() })
            }
        }
    }
}
