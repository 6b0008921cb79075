//! `runbook.yaml`: the commands of this repository, as argument lists, and the inputs and outputs
//! of a run.

use rlxp_types::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bytes, Seconds, Slug};

/// How to run things in this repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Runbook {
    /// Format of this file: `rlxp.runbook/1`
    pub schema: RunbookSchema,
    /// Checks that all requirements are available
    #[serde(default)]
    pub preflight: Option<Step>,
    /// A minimal run that shows that training works
    #[serde(default)]
    pub smoke: Option<Step>,
    /// Trains; has a `{seed}` slot
    pub train: Step,
    /// Evaluates; has a `{seed}` slot, for the run's evaluation seed
    pub eval: Step,
    /// Runs a trained policy with one parameter of the environment set to a value, and writes `probe.json` with its
    /// `episodes` and `successes` to `{run}`; has `{value}` and `{trained}` slots
    #[serde(default)]
    pub probe: Option<Step>,
    /// Stops a run that doesn't end on its own
    #[serde(default)]
    pub cancel: Option<Step>,
    /// Folders that Python imports the project's modules from, relative to the root
    #[serde(default)]
    pub import_roots: Vec<String>,
    /// Files that a run needs although git ignores them; linked read-only
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Further files and folders that steps may read: absolute, or relative to the root of the repository. Nothing else
    /// outside of the run exists for them but the system's folders and their interpreter
    #[serde(default)]
    pub read: Vec<String>,
    /// Files that a run must produce, relative to its folder
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// When a run is stopped
    #[serde(default)]
    pub stop: Option<StopLimits>,
    /// Expected resources of a run
    #[serde(default)]
    pub resources: Option<Resources>,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RunbookSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.runbook/1")]
    V1,
}

/// A command, run without a shell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Program and arguments. `{seed}` becomes the seed, `{run}` the folder that this step may write. In the eval
    /// step `{seed}` is the run's own evaluation seed, `{train_seed}` training's, and `{trained}` the folder that the
    /// training wrote; the probe step has `{key}` and `{value}` beside these
    #[schemars(length(min = 1))]
    pub argv: Vec<String>,
    /// Working directory, relative to the root
    #[serde(default)]
    pub folder: Option<String>,
    /// Names of environment variables passed to it
    #[serde(default)]
    pub environment: Vec<String>,
    /// Whether it has no side effects, so that it can be probed before running is approved
    #[serde(default)]
    pub free_of_side_effects: bool,
    /// Whether a person saw it work
    #[serde(default)]
    pub probed: bool,
}

/// A file that a run needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name, relative to the root
    pub path: String,
    /// The blake3 digest of its content
    #[schemars(with = "String")]
    pub digest: Digest,
}

/// When a run is stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopLimits {
    /// After this long without output or a changed file
    #[serde(default)]
    pub silence: Option<Seconds>,
    /// After more output than this
    #[serde(default)]
    pub output: Option<Bytes>,
}

/// Resources of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Time of one training run
    #[serde(default)]
    pub wall_clock: Option<Seconds>,
    /// Memory of one training run
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// Disk of one training run
    #[serde(default)]
    pub disk: Option<Bytes>,
}

impl Runbook {
    /// Every step with its name.
    pub fn steps(&self) -> impl Iterator<Item = (StepName, &Step)> {
        [
            (StepName::Preflight, self.preflight.as_ref()),
            (StepName::Smoke, self.smoke.as_ref()),
            (StepName::Train, Some(&self.train)),
            (StepName::Eval, Some(&self.eval)),
            (StepName::Probe, self.probe.as_ref()),
            (StepName::Cancel, self.cancel.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, step)| Some((name, step?)))
    }
}

/// A step of the runbook, by the key that it has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepName {
    Preflight,
    Smoke,
    Train,
    Eval,
    Probe,
    Cancel,
}

impl StepName {
    pub const ALL: [StepName; 5] =
        [StepName::Preflight, StepName::Smoke, StepName::Train, StepName::Eval, StepName::Cancel];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Smoke => "smoke",
            Self::Train => "train",
            Self::Eval => "eval",
            Self::Probe => "probe",
            Self::Cancel => "cancel",
        }
    }

    /// Whether it runs a candidate's changes: checks and evaluation run on the code as it was recorded.
    pub fn trains(self) -> bool {
        matches!(self, Self::Train | Self::Smoke)
    }
}

impl std::fmt::Display for StepName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Identifies a study.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyName {
    /// The task
    pub task: Slug,
    /// The study
    pub study: Slug,
}

impl std::fmt::Display for StudyName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.task, self.study)
    }
}
