//! `audits/reward_reflection-<candidate>.json`: what the components of the reward did over training. Written by rlx only;
//! the ledger has the digest of every such file. The numbers are those of `rlxp-analyze`, field by field.

use std::collections::BTreeMap;
use std::fmt;

use rlxp_types::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Slug;

/// A reward reflection with what it was computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RewardReflection {
    /// Format of this file: `rlxp.reward_reflection/1`
    pub schema: RewardReflectionSchema,
    /// The study's id, from its first record
    pub study_id: String,
    /// The task
    pub task: Slug,
    /// The study
    pub study: Slug,
    /// The candidate whose runs were looked at
    pub candidate: Slug,
    /// The incumbent, or else the baseline, that it is compared with; null if that is the candidate itself
    pub incumbent: Option<Slug>,
    /// Which declared metrics served as reward, task metric and episode length
    pub metrics: ReflectedMetrics,
    /// The digest of the approved declarations that files were read by
    #[schemars(with = "String")]
    pub declared: Digest,
    /// The runs that were read, by key
    pub runs: BTreeMap<String, ReflectedRun>,
    /// The result
    pub reflection: Reflection,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RewardReflectionSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.reward_reflection/1")]
    V1,
}

/// Declared metrics by what they were taken for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReflectedMetrics {
    /// The reward during training; null if it is the sum of the components
    pub reward: Option<Slug>,
    /// The task metric during training
    pub task: Option<Slug>,
    /// The length of episodes during training
    pub length: Option<Slug>,
}

/// A run that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReflectedRun {
    /// Its training seed
    pub seed: u64,
    /// Whether it is one of the incumbent's, which the others are compared with
    pub incumbent: bool,
    /// The digest of the list of its files
    #[schemars(with = "String")]
    pub manifest: Digest,
    /// The files that were read
    #[schemars(with = "BTreeMap<String, String>")]
    pub files: BTreeMap<String, Digest>,
}

/// What the components did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reflection {
    /// Runs that were looked at
    pub runs: u64,
    /// Runs of the incumbent
    pub incumbent_runs: u64,
    /// The components, as declared
    pub components: Vec<ComponentReflection>,
    /// The reward as a whole
    pub reward: RewardAsAWhole,
    /// What rules found, the most severe first
    pub findings: Vec<ReflectionFinding>,
    /// What could not be computed, and why
    pub not_measured: Vec<String>,
}

/// One component over training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentReflection {
    /// Its name
    pub name: String,
    /// Runs in which it could be read
    pub runs: u64,
    /// Runs in which it could not, with the reason
    pub missing: BTreeMap<String, String>,
    /// Values that are NaN or infinite
    pub non_finite: u64,
    /// The median over runs at evenly spaced places
    pub course: Vec<f64>,
    /// Its largest value
    pub max: Option<f64>,
    /// Its mean
    pub mean: Option<f64>,
    /// Its smallest value
    pub min: Option<f64>,
    /// Its part of the magnitude of all components
    pub share: Option<SeedEstimate>,
    /// The same over the last fifth of training
    pub late_share: Option<SeedEstimate>,
    /// Its change along a line through its whole course
    pub change: Option<SeedEstimate>,
    /// How it went in most runs
    pub trend: SeriesTrend,
    /// Runs in which it hardly changes
    pub constant_in: u64,
    /// Runs in which it is always zero
    pub zero_in: u64,
    /// Runs in which it is at its largest value from early on
    pub saturated_in: u64,
    /// Rank correlation with the task metric
    pub with_task: Option<SeedEstimate>,
    /// Rank correlation with the episode length
    pub with_length: Option<SeedEstimate>,
    /// Its share less the incumbent's
    pub share_against_incumbent: Option<SeedEstimate>,
    /// Its mean over the last fifth less the incumbent's
    pub late_mean_against_incumbent: Option<SeedEstimate>,
}

/// The reward as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RewardAsAWhole {
    /// Whether it is the sum of the components
    pub is_sum: bool,
    /// Its change over the last half of training
    pub change: Option<SeedEstimate>,
    /// The change of the task metric over the last half of training
    pub task_change: Option<SeedEstimate>,
    /// The rank correlation of the two over the last half of training
    pub with_task: Option<SeedEstimate>,
}

/// A value over seeds, with a 90% interval where there are enough of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedEstimate {
    /// The estimate
    pub value: f64,
    /// The lower end
    pub low: Option<f64>,
    /// The upper end
    pub high: Option<f64>,
    /// Seeds that it was computed from
    pub seeds: u64,
}

/// How a series went, in most runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesTrend {
    /// Up
    Rises,
    /// Down
    Falls,
    /// Neither
    Flat,
    /// Runs differ
    Mixed,
    /// Too few points
    Unknown,
}

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReflectionFinding {
    /// The rule
    pub rule: String,
    /// How bad it is
    pub severity: FindingSeverity,
    /// The component; null for the reward as a whole
    pub component: Option<String>,
    /// What was found
    pub text: String,
    /// The value
    pub value: f64,
    /// The threshold that it passed
    pub threshold: f64,
    /// Runs that show it
    pub seeds: u64,
    /// Runs with the data
    pub of: u64,
    /// What to try about it
    pub advice: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Worth knowing
    Note,
    /// Probably a problem
    Warning,
    /// A problem
    Error,
}

super::contract::as_written!(SeriesTrend, FindingSeverity);
