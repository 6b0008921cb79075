//! Is B better than A, or was it luck? The decision procedure for two groups
//! of runs, one score per run.
//!
//! 1. Runs that failed (NaN, infinite or missing scores) get a failure score;
//!    none is ever dropped.
//! 2. An exact rank test looks in both directions, each at its own level:
//!    Mann–Whitney, or Wilcoxon's signed rank for pairs. Rank tests keep their
//!    level at five runs per group whatever the distribution, don't depend on
//!    how bad exactly a failed run is scored, and find the differences that
//!    skewed returns hide from t tests.
//! 3. A claim also needs a difference that matters, by the typical score, the
//!    mean or the share of failed runs, without a lower mean or more failed
//!    runs ([`difference`]), and guardrails that are shown not to have suffered.
//! 4. Without a claim, the reason is given with the number of seeds that would
//!    settle it, by simulating this procedure ([`power`]).
//!    The sentences are `describe::verdict`.
//!
//! | default | value | why |
//! | --- | --- | --- |
//! | fewest seeds per group | 5 | policy: with fewer, one lucky run decides |
//! | `alpha`, each way | 0.025 | one-sided; "better" and "worse" together 5% |
//! | `minimum_effect` | 0.2 spreads | a small effect; half a spread hid real gains: at d = 0.5 its power could not pass one half |
//! | failure score | worst score of both groups minus a spread, at most `failure_limit` | worse than anything seen, in the scores' own unit |
//! | guardrail margin | 0.5 spreads of the guardrail | medium: a guardrail is bounded, not estimated |
//! | `guardrail_alpha` | 0.05 | one-sided 95% bound must stay above the margin |
//! | `power` of seeds needed | 0.8 | customary |
//! | `resamples` | 10,000 | descriptive interval of the IQM difference (BCa) |
//! | `repetitions` | 400 | simulated experiments behind the seeds needed |
//!
//! The **spread** is the median distance between two runs of the same group,
//! over both groups, scaled to equal the standard deviation of normal scores
//! (the mean distance where most runs score the same). A single outlier hardly
//! changes it. Where all runs of each group score the same there is none, and
//! the smallest effect that counts has to be given in the scores' unit.

mod chance;
mod decide;
mod difference;
mod options;
pub mod power;
mod quick;
mod scored;
mod seeds;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use decide::effects;
pub use decide::{Gains, Question, Weighed, gains, verdict, weigh};
pub use difference::{Basis, EffectSize, FAILED_SHARE, Veto};
pub use options::{Direction, Guardrail, InvalidQuestion, MinimumEffect, Options};
pub(crate) use quick::{Gate, SortedPair};
pub(crate) use scored::scored_groups;

use crate::statistics::bootstrap::Estimate;

/// Fewer seeds per group than this never make a claim.
pub const FEWEST_SEEDS: u64 = 5;

/// The answer to "is B better than A?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// The runs don't say.
    CannotTell,
}

/// Why the runs don't say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// With so few seeds, no result could be significant at this level.
    TooFewSeeds,
    /// The groups overlap too much, or a guardrail prevents a claim.
    NotSeparated,
    /// If there is a difference, it is too small to matter.
    NoMeaningfulDifference,
    /// All runs of each group have the same score, so effects can't be measured
    /// in spreads; pass the smallest effect that counts.
    MinimumEffectNeeded,
    /// The typical score speaks for one group, the mean or the failed runs for
    /// the other.
    MixedEffect,
}

/// Which test decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestKind {
    /// Mann and Whitney's U of two independent groups.
    MannWhitney,
    /// Wilcoxon's signed rank of pairs.
    WilcoxonSignedRank,
}

/// An interval; an end is null where the runs can't bound it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Nominal coverage.
    pub confidence: f64,
}

/// The chance that a run of B beats a run of A, ties counted half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Chance {
    /// The estimate.
    pub value: f64,
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Nominal coverage.
    pub confidence: f64,
}

/// One group as it was judged, failed runs scored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Runs.
    pub n: u64,
    /// Runs among them that failed.
    pub failed: u64,
    /// Mean score.
    pub mean: Option<f64>,
    /// Interquartile mean.
    pub iqm: Option<f64>,
    /// Standard deviation, from two runs on.
    pub deviation: Option<f64>,
    /// Lowest score.
    pub lowest: Option<f64>,
    /// Highest score.
    pub highest: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GuardrailResult {
    pub name: String,
    /// B minus A in the guardrail's unit.
    pub effect: Option<f64>,
    /// One-sided bound on how bad it may be, in the direction that counts as
    /// good: negative means B may be worse by that much.
    pub worst_case: Option<f64>,
    /// How much worse was allowed.
    pub margin: f64,
    /// How many times more seeds it needs to hold, for B and for A.
    #[serde(skip)]
    pub(crate) growth: [Option<f64>; 2],
    /// B is shown not to be worse than A by more than the margin.
    pub held: bool,
    /// A is shown not to be worse than B by more than the margin.
    pub held_reversed: bool,
    /// B is shown to be worse than A by more than the margin, or the reverse:
    /// more seeds won't change that.
    pub violated: bool,
}

/// The verdict with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub verdict: Answer,
    /// Why it is `cannot_tell`.
    pub reason: Option<Reason>,
    /// How many more seeds per group would probably settle it; null for an
    /// answer and where seeds can't help.
    pub seeds_needed: Option<u64>,
    /// The difference that so many seeds find with 80% (`power`), in the
    /// scores' unit; null where `seeds_needed` is a minimum or null.
    pub seeds_needed_for: Option<f64>,
    /// B minus A by Hodges and Lehmann's estimate, in the scores' unit.
    pub effect: Option<f64>,
    /// Mean of B minus mean of A.
    pub mean_difference: Option<f64>,
    /// Share of failed runs of B minus that of A.
    pub failed_share_difference: Option<f64>,
    /// By what the difference matters, for an answer.
    pub basis: Option<Basis>,
    /// What spoke against an answer that the test would allow.
    pub veto: Option<Veto>,
    /// The interval of the effect that the test doesn't reject.
    pub interval: Interval,
    /// The effect in spreads, positive when B is better: of the mean where the
    /// answer rests on the mean.
    pub effect_in_spreads: Option<f64>,
    /// How large that is.
    pub effect_size: Option<EffectSize>,
    /// The usual distance between two runs of a group.
    pub spread: f64,
    /// The smallest effect that counts; null without spread.
    pub minimum_effect: Option<f64>,
    /// The chance that a run of B beats one of A (of its own pair, if paired).
    pub probability_of_improvement: Option<Chance>,
    /// Which test decided.
    pub test: TestKind,
    /// Whether it counted every arrangement.
    pub exact: bool,
    /// The level of each direction.
    pub alpha: f64,
    /// p value of "B is better".
    pub p_better: f64,
    /// p value of "B is worse".
    pub p_worse: f64,
    /// Two-sided p of the t test on means (Welch, or paired), for readers who
    /// ask; it decides nothing.
    pub p_means: Option<f64>,
    /// Whether more or less is better.
    pub direction: Direction,
    /// Whether runs were compared pair by pair.
    pub paired: bool,
    /// Correlation of the pairs.
    pub correlation: Option<f64>,
    /// Seeds of A.
    pub n_a: u64,
    /// Seeds of B.
    pub n_b: u64,
    /// A as it was judged.
    pub a: GroupSummary,
    /// B as it was judged.
    pub b: GroupSummary,
    /// What failed runs were scored with, where there were any.
    pub failure_score: Option<f64>,
    /// IQM of B minus IQM of A with a bootstrap interval (BCa; percentile of
    /// 1,000 resamples beyond 1,000 runs), which describes and decides nothing.
    pub iqm_difference: Option<Estimate>,
    pub guardrails: Vec<GuardrailResult>,
}
