//! The options of a comparison, and their validation.

use serde::{Deserialize, Serialize};

use super::scored::FailureScore;

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
    /// The power behind `seeds_needed`.
    pub power: f64,
    /// Bootstrap resamples of the descriptive interval; 0 leaves it out.
    pub resamples: usize,
    /// Simulated experiments behind `seeds_needed`; 0 leaves it out, except
    /// for the fewest that a verdict needs.
    pub repetitions: usize,
    /// Seed of the resamples and simulations.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            direction: Direction::Higher,
            paired: false,
            alpha: 0.025,
            minimum_effect: MinimumEffect::Spreads(0.2),
            failure_score: None,
            failure_limit: None,
            guardrail_alpha: 0.05,
            power: 0.8,
            resamples: 10_000,
            repetitions: 400,
            seed: 0,
        }
    }
}

/// Beyond this, squares of differences overflow.
const LARGEST_SCORE: f64 = 1e150;

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
    pub(super) fn problems(&self, a: &[f64], b: &[f64], guardrails: &[Guardrail]) -> Vec<String> {
        let mut problems = Vec::new();
        let (n_a, n_b) = (a.len(), b.len());
        if let Some(score) = a.iter().chain(b).find(|score| score.is_finite() && score.abs() > LARGEST_SCORE)
        {
            problems.push(format!("a score is {score:e}; differences beyond 1e150 can't be computed"));
        }
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

    /// The size in the scores' unit; `None` if it is given in spreads and the
    /// spread is zero.
    pub(super) fn size(self, spread: f64, iqm_a: f64) -> Option<f64> {
        let in_spreads = |spreads: f64| (spread > 0.0 || spreads == 0.0).then_some(spreads * spread);
        match self {
            Self::Absolute(size) => Some(size),
            Self::Spreads(spreads) => in_spreads(spreads),
            Self::SpreadsOrFraction { spreads, fraction } => {
                let part = fraction * if iqm_a.is_nan() { 0.0 } else { iqm_a.abs() };
                Some(in_spreads(spreads)?.max(part))
            }
        }
    }
}
