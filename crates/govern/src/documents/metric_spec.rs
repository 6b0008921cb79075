//! `metric_spec.yaml`: what is measured, from which files, and the protocol under which two results may be compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Slug;

/// Metrics and the evaluation protocol of one study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// Format of this file: `rlxp.metric_spec/1`
    pub schema: MetricSpecSchema,
    /// The primary metric, which decides the verdict
    pub primary: Metric,
    /// Components of the primary metric
    #[serde(default)]
    pub components: Vec<Metric>,
    /// What must not get worse
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
    /// Metrics that can cause an accepted change to be reverted
    #[serde(default)]
    pub rollback: Vec<Guardrail>,
    /// Metrics that help explain a result; they decide nothing
    #[serde(default)]
    pub diagnostics: Vec<Metric>,
    /// Metrics that are only reported
    #[serde(default)]
    pub scorecard: Vec<Metric>,
    /// The score of a failed run; the worst possible value
    pub failure_score: f64,
    /// The smallest difference in the primary metric that matters
    pub smallest_effect: f64,
    /// How a policy is evaluated
    pub protocol: Protocol,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MetricSpecSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.metric_spec/1")]
    V1,
}

/// One metric and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name
    pub name: Slug,
    /// Where it is read from
    pub source: Extractor,
    /// Which direction is better
    pub direction: Direction,
    /// How many values become one
    pub aggregation: Aggregation,
    /// Number of last points to use; default: all
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub window: Option<u64>,
    /// Its unit
    #[serde(default)]
    pub unit: Option<String>,
    /// The values it can have; a run with another one has none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ValueRange>,
}

/// The values a metric can have, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValueRange {
    /// The lowest; default: no limit
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// The highest; default: no limit
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

/// A metric that must not get worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guardrail {
    /// The metric
    pub metric: Metric,
    /// How much worse it may get, in its own unit
    #[schemars(range(min = 0.0))]
    pub allowed_regression: f64,
}

/// Where a metric is read from: a declaration, never code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "format", rename_all = "snake_case", deny_unknown_fields)]
pub enum Extractor {
    /// A JSON file
    Json {
        /// The file, relative to the run's folder, which has `train/` and `eval/`; `*` matches one
        /// name
        file: String,
        /// JSON pointer to the value, such as `/eval/mean_return`
        pointer: String,
    },
    /// A file of one JSON object per line
    Jsonl {
        /// The file, relative to the run's folder, which has `train/` and `eval/`
        file: String,
        /// JSON pointer to the value in each object
        pointer: String,
        /// JSON pointer to the step in each object
        #[serde(default)]
        step: Option<String>,
    },
    /// A table with a header line
    Csv {
        /// The file, relative to the run's folder, which has `train/` and `eval/`
        file: String,
        /// The column
        column: String,
        /// The column of the step
        #[serde(default)]
        step: Option<String>,
    },
    /// TensorBoard event files
    Tensorboard {
        /// The folder, relative to the run's folder, which has `train/` and `eval/`
        file: String,
        /// The tag
        tag: String,
    },
    /// A line of the log
    Stdout {
        /// The literal text before the value
        before: String,
    },
    /// Lines of the log that match a regular expression
    StdoutRegex {
        /// The expression; the group `value` or else its first group is the value, the group `step` its step
        pattern: String,
    },
    /// A Weights & Biases offline folder
    Wandb {
        /// The folder, relative to the run's folder, which has `train/` and `eval/`
        file: String,
        /// The key
        key: String,
    },
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better
    Higher,
    /// Less is better
    Lower,
}

/// How many values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Their mean
    Mean,
    /// Their median
    Median,
    /// Their interquartile mean
    Iqm,
    /// The last one
    Last,
    /// The lowest
    Min,
    /// The highest
    Max,
}

/// How a policy is evaluated. Two results are compared only when all of this is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Episodes per seed
    #[schemars(range(min = 1))]
    pub episodes: u64,
    /// Whether the policy acts deterministically
    pub deterministic: bool,
    /// Which checkpoint is evaluated
    pub checkpoint: CheckpointRule,
    /// Description of what is evaluated on: environment, version, distribution of situations
    pub environments: String,
    /// Seeds by role
    pub seeds: SeedRoles,
}

/// Which checkpoint is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointRule {
    /// The last one
    Last,
    /// The best by the run's own evaluation, chosen before the final one
    Best,
}

/// Seeds by purpose. Ranges include both ends; confirm, audit and evaluation seeds are drawn when they are
/// needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedRoles {
    /// Seeds of the smoke and short phases
    pub screen: SeedRange,
    /// Pool for confirm seeds
    pub confirm: SeedRange,
    /// Pool for audit seeds
    pub audit: SeedRange,
    /// Pool for the seeds of evaluations, one per run
    pub evaluation: SeedRange,
}

/// A range of seeds, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedRange {
    /// The first
    pub from: u64,
    /// The last
    pub to: u64,
}

impl Extractor {
    /// The file or folder that it reads; the log has no name.
    pub fn file(&self) -> Option<&str> {
        match self {
            Extractor::Json { file, .. }
            | Extractor::Jsonl { file, .. }
            | Extractor::Csv { file, .. }
            | Extractor::Tensorboard { file, .. }
            | Extractor::Wandb { file, .. } => Some(file),
            Extractor::Stdout { .. } | Extractor::StdoutRegex { .. } => None,
        }
    }

    /// Patterns of files, one of which has to match if the metric is to be read; `None` for the log, which always
    /// exists. They may match more than what is read.
    pub fn expected_files(&self) -> Option<Vec<String>> {
        let folder = self.file()?.trim_end_matches('/');
        let below: &[&str] = match self {
            Extractor::Tensorboard { .. } => &["*tfevents*"],
            Extractor::Wandb { .. } => &["run-*.wandb", "*/run-*.wandb", "*/*/run-*.wandb"],
            _ => &[],
        };
        let below = below.iter().map(|name| format!("{folder}/{name}"));
        Some(std::iter::once(folder.to_owned()).chain(below).collect())
    }
}

impl MetricSpec {
    /// Why the primary metric wouldn't come from the evaluation, which alone writes below `eval/`.
    pub fn primary_outside_evaluation(&self) -> Option<String> {
        const OWN: [&str; 4] = ["eval.json", "train.json", "order.json", "end.json"];
        let file = self.primary.source.file().filter(|file| crate::documents::is_answered(file))?;
        if file.starts_with("eval/") || file == "eval" {
            return None;
        }
        let why = if OWN.contains(&file) { "is a file of rlx" } else { "is not written by the evaluation" };
        Some(format!(
            "{file} {why}: the primary metric must be in a file below eval/, such as eval/scores.json"
        ))
    }

    /// Every metric with what it is for.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static str, &Metric)> {
        self.metrics_by_role().map(|(role, metric)| (role.as_str(), metric))
    }

    /// Every metric with its role, the primary one first.
    pub fn metrics_by_role(&self) -> impl Iterator<Item = (Role, &Metric)> {
        [(Role::Primary, &self.primary)]
            .into_iter()
            .chain(self.components.iter().map(|metric| (Role::Component, metric)))
            .chain(self.guardrails.iter().map(|guardrail| (Role::Guardrail, &guardrail.metric)))
            .chain(self.rollback.iter().map(|guardrail| (Role::Rollback, &guardrail.metric)))
            .chain(self.diagnostics.iter().map(|metric| (Role::Diagnostic, metric)))
            .chain(self.scorecard.iter().map(|metric| (Role::Scorecard, metric)))
    }
}

/// What a metric is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Primary,
    Component,
    Guardrail,
    Rollback,
    Diagnostic,
    Scorecard,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Primary => "primary",
            Role::Component => "component",
            Role::Guardrail => "guardrail",
            Role::Rollback => "rollback",
            Role::Diagnostic => "diagnostic",
            Role::Scorecard => "scorecard",
        }
    }

    /// Whether a verdict depends on it. Such a metric is read only from what the evaluation wrote, because training
    /// code may be the candidate's own.
    pub fn decides(self) -> bool {
        match self {
            Role::Primary | Role::Guardrail | Role::Rollback => true,
            Role::Component | Role::Diagnostic | Role::Scorecard => false,
        }
    }
}
