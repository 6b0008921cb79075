//! `surface_map.yaml`: what candidates may change, and what they never may.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Slug;

use std::fmt;

/// Surfaces and protected paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurfaceMap {
    /// Format of this file: `rlxp.surface_map/1`
    pub schema: SurfaceMapSchema,
    /// What may be changed
    pub surfaces: Vec<Surface>,
    /// What may never be changed: evaluator, metric code, seeds. Globs from the repository's root;
    /// always includes `.rlxp/**` and `.git/**`
    pub protected: Vec<String>,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SurfaceMapSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.surface_map/1")]
    V1,
}

/// Something that may be changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Its name
    pub id: Slug,
    /// What it is
    pub kind: SurfaceKind,
    /// Files that belong to it: globs from the repository's root (`*` within a name, `**` across
    /// folders)
    pub paths: Vec<String>,
    /// Values that may be set, by dotted key, each with its range
    #[serde(default)]
    pub keys: Vec<SurfaceKey>,
    /// What may be done
    pub operations: Vec<Operation>,
    /// Policy surfaces: files that evaluation takes from the candidate, as globs. Runs of candidates that change one
    /// of them count only once a person approves each run
    #[serde(default)]
    pub evaluation_files: Vec<String>,
}

/// What a surface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SurfaceKind {
    /// The reward
    Reward,
    /// When an episode ends
    Termination,
    /// Curriculum
    Curriculum,
    /// Domain randomisation
    Randomisation,
    /// Hyperparameters of the algorithm
    Hyperparameter,
    /// The policy network
    Policy,
}

/// A value that may be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurfaceKey {
    /// Dotted key, such as `algo.learning_rate`
    pub key: String,
    /// Minimum
    #[serde(default)]
    pub min: Option<f64>,
    /// Maximum
    #[serde(default)]
    pub max: Option<f64>,
    /// Allowed values, if it isn't a number
    #[serde(default)]
    pub values: Vec<serde_json::Value>,
}

/// What may be done to a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Give a key another value
    Set,
    /// Multiply a key's value
    Scale,
    /// Let a key's value follow a schedule
    Schedule,
    /// Add a key or a file
    Add,
    /// Remove a key or a file
    Remove,
    /// Change code
    EditCode,
}

super::contract::as_written!(SurfaceKind, Operation);
