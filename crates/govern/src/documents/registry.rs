//! `.rlxp/registry.yaml`: lists tasks and studies, and names the pair that commands use by default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StudyName;

/// The studies of a repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// Format of this file: `rlxp.registry/1`
    pub schema: RegistrySchema,
    /// The pair that commands use by default
    #[serde(default)]
    pub active: Option<StudyName>,
    /// All of them
    #[serde(default)]
    pub studies: Vec<StudyName>,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RegistrySchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.registry/1")]
    V1,
}
