//! `adapter.yaml`: findings about a repository. Every claim cites a line; a claim whose line has
//! changed is stale.

use rlxp_types::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Findings about a repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// Format of this file: `rlxp.adapter/1`
    pub schema: AdapterSchema,
    /// The RL stack, such as `sb3`, `cleanrl`, `generic`
    pub stack: String,
    /// How overrides reach a run, such as `--set {key}={value}`
    #[serde(default)]
    pub override_syntax: Option<String>,
    /// Findings, each with its location
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AdapterSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.adapter/1")]
    V1,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What it is about
    pub about: ClaimKind,
    /// What was found
    pub value: String,
    /// The file, relative to the root
    pub file: String,
    /// The line, from 1
    #[schemars(range(min = 1))]
    pub line: u64,
    /// The blake3 digest of that line, without its end
    #[schemars(with = "String")]
    pub line_digest: Digest,
    /// Confidence in the claim
    pub confidence: Confidence,
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// The command that trains
    TrainCommand,
    /// The command that evaluates
    EvalCommand,
    /// How configs work
    ConfigSystem,
    /// Where metrics are written, and their x axis
    LogSource,
    /// What starts runs
    Launcher,
    /// A file that computes rewards
    Reward,
    /// A file that ends episodes
    Termination,
    /// A file that defines the curriculum
    Curriculum,
    /// A file that randomises the environment
    Randomisation,
    /// The evaluation code
    Evaluator,
}

/// Confidence in a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Guessed from a name
    Low,
    /// Read in the code
    Medium,
    /// Seen to work
    High,
}
