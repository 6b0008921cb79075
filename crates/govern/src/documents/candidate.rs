//! `candidates/<id>.yaml`: one bounded change and its expected effect. Written by the proposer.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Direction, Operation, Seconds, Slug};

/// One bounded change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Format of this file: `rlxp.candidate/1`
    pub schema: CandidateSchema,
    /// Its name, which is the file's
    pub id: Slug,
    /// The task it belongs to
    pub task: Slug,
    /// The study it belongs to
    pub study: Slug,
    /// Revision number, starting at 1; incremented each time it is resumed after debugging
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub revision: u64,
    /// What kind of change it is
    pub kind: CandidateKind,
    /// Why it should help
    pub hypothesis: String,
    /// What is changed; nothing for baseline, smoke, probe and incumbent
    #[serde(default)]
    pub changes: Vec<Change>,
    /// The expected effect
    #[serde(default)]
    pub expected_effect: Option<ExpectedEffect>,
    /// Evidence: run keys, records as `record:12`, files relative to the study's folder
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Ids of knowledge rules that support it
    #[serde(default)]
    pub knowledge: Vec<String>,
    /// Its phases, in order
    pub phases: Vec<PhasePlan>,
    /// Arguments of the train command; not needed, and no others than its keys give
    #[serde(default)]
    pub arguments: Vec<String>,
    /// What must stay unchanged
    #[serde(default)]
    pub invariants: Vec<String>,
    /// How it is undone
    #[serde(default)]
    pub rollback: Option<String>,
    /// What could go wrong
    #[serde(default)]
    pub risk: Option<String>,
    /// What its kind requires
    #[serde(default)]
    pub requirements: Requirements,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CandidateSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.candidate/1")]
    V1,
}

/// What kind of change a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CandidateKind {
    /// No changes: the reference for all comparisons
    Baseline,
    /// No changes: shows that training works
    Smoke,
    /// No changes: varies one parameter of the environment to see its effect
    Probe,
    /// No changes: the incumbent again, on fresh seeds
    Incumbent,
    /// Hyperparameters of the algorithm
    Hyperparameter,
    /// Weights, scales and schedules of existing rewards
    RewardTuning,
    /// New reward logic
    RewardEngineering,
    /// When an episode ends
    Termination,
    /// Curriculum
    Curriculum,
    /// Generated training environments
    EnvironmentGeneration,
    /// Ranges and schedules of randomisation
    Randomisation,
    /// The policy network
    Policy,
}

impl CandidateKind {
    /// Whether it changes nothing.
    pub fn is_empty_change(self) -> bool {
        matches!(self, Self::Baseline | Self::Smoke | Self::Probe | Self::Incumbent)
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The surface it belongs to
    pub surface: Slug,
    /// What is done
    pub operation: Operation,
    /// The file, relative to the root
    pub path: String,
    /// The dotted key, where a value is changed
    #[serde(default)]
    pub key: Option<String>,
    /// The value before
    #[serde(default)]
    pub from: Option<Value>,
    /// The value after
    #[serde(default)]
    pub to: Option<Value>,
    /// A unified diff of that file, where code is changed
    #[serde(default)]
    pub patch: Option<String>,
}

/// The expected effect of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedEffect {
    /// On which metric
    pub metric: Slug,
    /// Which way
    pub direction: Direction,
    /// How much, in the metric's unit
    #[serde(default)]
    pub size: Option<f64>,
}

/// A phase of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhasePlan {
    /// Which
    pub phase: Phase,
    /// On how many seeds
    #[schemars(range(min = 1))]
    pub seeds: u64,
    /// Time of one run
    pub wall_clock: Seconds,
    /// GPU time of one run; none unless said
    #[serde(default)]
    pub gpu_time: Seconds,
}

/// How far a run goes to show something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It runs at all
    Smoke,
    /// It looks promising on a few seeds
    Short,
    /// It holds on fresh seeds
    Confirm,
    /// The new incumbent again, on fresh seeds
    IncumbentValidation,
}

/// What some kinds of candidates must provide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// Reward changes: the reward reflection that this builds on, relative to the study's folder
    #[serde(default)]
    pub reflection: Option<String>,
    /// Randomisation: the probe summary that this builds on, relative to the study's folder
    #[serde(default)]
    pub probe: Option<String>,
    /// Environment generation: evidence that the new cases can be learned
    #[serde(default)]
    pub learnability: Option<String>,
    /// Environment generation: how they lead from the current failures to the target
    #[serde(default)]
    pub bridge: Option<String>,
    /// Environment generation: how they stay diverse
    #[serde(default)]
    pub diversity: Option<String>,
    /// Environment generation: evidence that the held-out evaluation is unchanged
    #[serde(default)]
    pub held_out: Option<String>,
    /// Probe: the one parameter, and the values it takes
    #[serde(default)]
    pub parameter: Option<ProbeParameter>,
}

/// The parameter that a probe varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeParameter {
    /// Its dotted key
    pub key: String,
    /// The values it takes
    pub values: Vec<f64>,
    /// The value that training uses, around which a range is looked for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<f64>,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Smoke => "smoke",
            Phase::Short => "short",
            Phase::Confirm => "confirm",
            Phase::IncumbentValidation => "incumbent validation",
        })
    }
}

super::contract::as_written!(CandidateKind);

fn first() -> u64 {
    1
}
