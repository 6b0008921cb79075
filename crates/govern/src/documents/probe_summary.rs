//! `audits/probe-<candidate>.json`: where a trained policy keeps working while one parameter of the environment varies.
//! Written by rlx only; the ledger has the digest of every such file.

use std::collections::BTreeMap;
use std::fmt;

use rlxp_types::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Slug;

/// A probe summary with what it was computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSummary {
    /// Format of this file: `rlxp.probe_summary/1`
    pub schema: ProbeSummarySchema,
    /// The study's id, from its first record
    pub study_id: String,
    /// The task
    pub task: Slug,
    /// The study
    pub study: Slug,
    /// The probe that was summarized
    pub candidate: Slug,
    /// All probes of this parameter on the same policies, this one included
    pub probes: Vec<Slug>,
    /// Whose trained policies were probed
    pub reference: Slug,
    /// The parameter's dotted key
    pub key: String,
    /// Its agreed range
    pub agreed: ProbeRange,
    /// The runs that were read, by key
    pub runs: BTreeMap<String, ProbedRun>,
    /// The result
    pub summary: ProbeResult,
    /// What a reader should know before the range is used
    pub notes: Vec<String>,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProbeSummarySchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.probe_summary/1")]
    V1,
}

/// A run that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbedRun {
    /// The parameter's value
    pub value: f64,
    /// The run whose policy was probed
    pub trained: String,
    /// Episodes in which the policy succeeded
    pub successes: u64,
    /// Episodes
    pub episodes: u64,
    /// Why it counts as failed in every episode, where it does
    pub failed: Option<String>,
    /// The digest of the list of its files; null if it left none
    #[schemars(with = "Option<String>")]
    pub manifest: Option<Digest>,
}

/// Where it works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeResult {
    /// The value that training uses
    pub nominal: f64,
    /// The success rate there
    pub nominal_rate: f64,
    /// The success rate that is asked for
    pub asked: f64,
    /// What was counted, by value
    pub grid: Vec<ProbedValue>,
    /// The feasible range around the nominal value; null if not even that is feasible
    pub range: Option<ProbeRange>,
    /// Values that are not feasible between feasible ones
    pub holes: Vec<f64>,
    /// Feasible values that are cut off from the nominal one
    pub cut_off: Vec<f64>,
    /// Values to try next
    pub next: Vec<f64>,
    /// The range that is proposed for training
    pub proposed: Option<ProbeRange>,
    /// The largest loss of success rate over the grid
    pub sensitivity: f64,
}

/// One value of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbedValue {
    /// The value
    pub value: f64,
    /// Episodes in which the policy succeeded
    pub successes: u64,
    /// Episodes
    pub episodes: u64,
    /// The lower end of the success rate's 90% interval
    pub low: f64,
    /// The upper end
    pub high: f64,
    /// Whether it works there
    pub status: Feasibility,
}

/// Whether it works at a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feasibility {
    /// The success rate is shown to be high enough
    Feasible,
    /// The success rate is shown to be too low
    Infeasible,
    /// Neither is shown
    Uncertain,
}

/// A range including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeRange {
    /// The lowest value
    pub from: f64,
    /// The highest value
    pub to: f64,
}

super::contract::as_written!(Feasibility);
