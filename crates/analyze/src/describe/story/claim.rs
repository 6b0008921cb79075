//! What a sentence says, in a form that can be checked against the run's own
//! files: which points, which statistic of them, its value, and what it is
//! compared with. Sentences are written from claims; a test recomputes every
//! claim from the points.

use serde::Serialize;

/// Whose points a claim is about, and how several seeds become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The only seed's points, or the interquartile mean of several seeds.
    Curve,
    /// The points of one seed, given by its place in the list of seeds.
    Seed(usize),
    /// Interquartile mean of the seeds' values.
    Iqm,
    /// Their median; of steps rounded down.
    Median,
    Lowest,
    Highest,
    /// The number of seeds for which the comparison holds, or without one, that
    /// have a value.
    Count,
}

/// A number computed from the points between two steps, both included. Points
/// are finite, in the order of their steps, and the last of equal steps counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Value of the first point.
    First,
    FirstStep,
    /// Value of the last point.
    Last,
    /// The same of a seed that did not fail.
    FinishedLast,
    LastStep,
    Lowest,
    /// Where the lowest value first is.
    LowestStep,
    Highest,
    /// Where the highest value first is.
    HighestStep,
    Mean,
    /// Mean of the first twentieth of the points, at least one.
    Initial,
    /// Median of the first tenth of the points, at least one.
    Start,
    /// Median of the last tenth.
    End,
    /// Distance between `start` and `end`.
    Change,
    /// `end` minus `start` per 10,000 steps from the first to the last point.
    Rate,
    /// Distance between the lowest and the highest value without the lowest and
    /// the highest tenth of the points.
    CoreSpread,
    /// Number of points.
    Points,
    /// Number of points from the claim's `low` to its `high`, as far as readers
    /// see a difference.
    Inside,
    /// Number of values that are NaN or infinite.
    NotFinite,
    /// Deviation of one point from its neighbours by chance, or the standard
    /// error of its episodes if that is larger.
    Noise,
    /// The largest distance from a point down to a later one.
    Drop,
    /// The first step at which the claim's `low` is reached.
    ReachStep,
    /// The lowest value from that step on.
    LowestSinceReach,
    /// The first step at which a share, the claim's `low`, of the seed's final
    /// gain is reached. The gain starts at the claim's `high`, the score of a
    /// random policy, or without one at the first point.
    GainStep,
    /// Where learning began: the first of two points that, smoothed over three,
    /// are above the start by more than its noise.
    OnsetStep,
    /// Median of the point at the claim's step and its two neighbours.
    Smoothed,
    /// The last value; a failed seed's is worse than that of every other.
    Final,
    /// Lower end of the 95% interval of the interquartile mean of `final`.
    FinalLow,
    /// Upper end.
    FinalHigh,
    /// Median of `finished_last` over the seeds other than this one.
    LastOfOthers,
    /// `last` as a share of the claim's `high`.
    Share,
    /// Seconds that a seed took.
    Seconds,
    /// Sum over all seeds and points as a share of the seconds that they took.
    TimeShare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub relation: Relation,
    pub than: f64,
}

/// One thing that a sentence says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Claim {
    pub over: Over,
    pub statistic: Statistic,
    /// First step whose points count.
    pub from_step: u64,
    /// Last step whose points count.
    pub to_step: u64,
    /// NaN, null in JSON, where only the comparison is claimed.
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<Comparison>,
    /// Lower bound or level that the statistic is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper bound that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Claim {
    pub fn new(over: Over, statistic: Statistic, (from_step, to_step): (u64, u64), value: f64) -> Self {
        Self { over, statistic, from_step, to_step, value, is: None, low: None, high: None }
    }

    #[must_use]
    pub fn is(self, relation: Relation, than: f64) -> Self {
        Self { is: Some(Comparison { relation, than }), ..self }
    }

    /// The bounds that the statistic is about.
    #[must_use]
    pub fn within(self, low: Option<f64>, high: Option<f64>) -> Self {
        Self { low, high, ..self }
    }
}

impl Comparison {
    /// Whether a value is what is claimed of it.
    pub fn holds(&self, value: f64) -> bool {
        match self.relation {
            Relation::Above => value > self.than,
            Relation::AtLeast => value >= self.than,
            Relation::Below => value < self.than,
            Relation::AtMost => value <= self.than,
        }
    }
}
