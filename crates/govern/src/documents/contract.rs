//! `contract.yaml`: what was agreed. Eight sections, each approved by a person, and the rules around them.

use std::fmt;

use rlxp_types::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::section::Section;
use super::statistics::Statistics;
use super::{Bytes, CandidateKind, Phase, Seconds, Slug};
use crate::gate_words::RefusalCode;

/// What was agreed for one study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Format of this file: `rlxp.contract/1`
    pub schema: ContractSchema,
    /// The goal
    pub task: TaskSection,
    /// How success is measured
    pub metrics: MetricsSection,
    /// What may be changed
    pub scope: ScopeSection,
    /// What may be spent
    pub budget: BudgetSection,
    /// What it runs on
    pub hardware: HardwareSection,
    /// What everything is compared with
    pub baseline: BaselineSection,
    /// How a result is evaluated
    pub evaluation: EvaluationSection,
    /// Which experiments are agreed
    pub experiment: ExperimentSection,
    /// Who starts the next experiment
    pub automation: Automation,
    /// The weakest way of approving that counts
    pub assurance: Assurance,
    /// The least confinement a run must have
    pub confinement: Confinement,
    /// How a claim is judged
    pub statistics: Statistics,
    /// When to stop
    #[serde(default)]
    pub stop_rules: Vec<StopRule>,
    /// Gates that need not hold, each with its reason; approved with the section it belongs to
    #[serde(default)]
    pub exceptions: Vec<Exception>,
}

/// The only format so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ContractSchema {
    /// The first one.
    #[default]
    #[serde(rename = "rlxp.contract/1")]
    V1,
}

/// The goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSection {
    /// The task, as in the registry
    pub id: Slug,
    /// The study, as in the registry
    pub study: Slug,
    /// What should improve, in a sentence or two
    pub mission: String,
    /// What must always hold
    #[serde(default)]
    pub constraints: Vec<String>,
    /// What this study is not about
    #[serde(default)]
    pub non_goals: Vec<String>,
}

/// Names of metrics; `metric_spec.yaml` defines them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSection {
    /// The primary metric, which decides the verdict
    pub primary: Slug,
    /// Metrics that must not get worse
    #[serde(default)]
    pub guardrails: Vec<Slug>,
}

/// What may be changed; `surface_map.yaml` defines the surfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeSection {
    /// Surfaces that candidates may change
    pub surfaces: Vec<Slug>,
    /// Whether a candidate may change only one thing; default: true
    #[serde(default = "yes")]
    pub one_change_at_a_time: bool,
}

/// What may be spent. Reserved when a run is intended, settled when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSection {
    /// Number of runs, counting every seed
    #[schemars(range(min = 1))]
    pub runs: u64,
    /// Total time of all runs
    pub wall_clock: Seconds,
    /// Total GPU time of all runs; default: none
    #[serde(default)]
    pub gpu_time: Seconds,
    /// Total disk space of all runs
    pub disk: Bytes,
    /// Limits of one run
    pub per_run: PerRun,
    /// Runs at the same time; default: 1
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub parallel: u64,
}

/// Limits of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerRun {
    /// Time
    pub wall_clock: Seconds,
    /// Disk
    pub disk: Bytes,
    /// Memory
    pub memory: Bytes,
    /// Processes and threads; default: 256
    #[serde(default = "many")]
    pub processes: u64,
    /// Total CPU time; default: the time limit on all processors
    #[serde(default)]
    pub cpu_time: Option<Seconds>,
}

/// What it runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardwareSection {
    /// Where training runs
    pub device: Device,
    /// GPUs a run may use; default: none
    #[serde(default)]
    pub gpus: u32,
    /// Network access of a run
    pub network: Network,
}

/// The reference for all comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineSection {
    /// The commit that changes start from, as printed by `git rev-parse HEAD`. The evaluator is the one in it; later
    /// commits change nothing. Required in a git repository
    #[serde(default)]
    pub commit: Option<String>,
    /// Without git: the digest of the folder that changes start from, as `rlx contract new` writes it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub snapshot: Option<Digest>,
    /// Description of the baseline: its config and known score
    pub description: String,
}

/// How results are evaluated; `metric_spec.yaml` defines the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSection {
    /// Description of the protocol
    pub description: String,
}

/// The approved experiments: one by one, or in autonomous mode all within an envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSection {
    /// Description of what should be tried
    pub description: String,
    /// What may be tried without further approval; only in autonomous mode
    #[serde(default)]
    pub envelope: Option<Envelope>,
}

/// The limits within which an autonomous study chooses its own experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Kinds of candidates
    pub kinds: Vec<CandidateKind>,
    /// Surfaces they may change
    pub surfaces: Vec<Slug>,
    /// Phases they may go through
    pub phases: Vec<Phase>,
    /// How many candidates at most
    #[schemars(range(min = 1))]
    pub candidates: u64,
}

impl Envelope {
    /// Whether candidates may go through a phase. What is confirmed is also validated as the incumbent: that phase is the
    /// second half of a claim.
    pub fn holds(&self, phase: Phase) -> bool {
        self.phases.contains(&phase)
            || (phase == Phase::IncumbentValidation && self.phases.contains(&Phase::Confirm))
    }
}

/// A reason to stop and hand off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "when", rename_all = "snake_case", deny_unknown_fields)]
pub enum StopRule {
    /// The incumbent's primary metric is as good as this
    TargetReached {
        /// The value to reach
        value: f64,
    },
    /// This many judged candidates in a row were not accepted
    NoImprovement {
        /// How many
        candidates: u64,
    },
    /// This many runs in a row failed
    FailuresInARow {
        /// How many
        runs: u64,
    },
}

/// A waived gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The section whose approval covers it
    pub section: Section,
    /// The code of the waived refusal, as printed by `rlx candidate validate`
    pub code: String,
    /// Why
    pub reason: String,
}

impl Exception {
    /// Whether it is about this refusal, with a reason. A code that this version of rlx doesn't know excepts nothing.
    pub fn excepts(&self, code: RefusalCode) -> bool {
        RefusalCode::from_word(&self.code) == Some(code) && !self.reason.trim().is_empty()
    }
}

/// Who starts the next experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Automation {
    /// A person starts every run
    Manual,
    /// An agent starts runs of candidates that a person approved
    Supervised,
    /// An agent continues within the envelope until a stop rule applies
    Autonomous,
}

/// How strongly an approval proves that a person gave it, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Asked through an agent's client
    Host,
    /// Typed at a terminal
    Terminal,
    /// Signed with a person's SSH key
    Signature,
}

/// How strongly a run is sandboxed, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// Not at all
    None,
    /// Some of the mechanisms
    Partial,
    /// Files, processes, network, memory
    Full,
}

/// Where training runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// CPU only
    Cpu,
    /// GPUs too
    Gpu,
}

/// Network access of a run, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing
    None,
    /// This machine only
    Loopback,
    /// Everything
    Allowed,
}

/// As it is written in the file.
macro_rules! as_written {
    ($($type:ty),*) => {
        $(impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(crate::canonical::plain(self).as_str().unwrap_or_default())
            }
        })*
    };
}
pub(crate) use as_written;

as_written!(Automation, Assurance, Confinement, Device, Network);

fn yes() -> bool {
    true
}

fn one() -> u64 {
    1
}

fn many() -> u64 {
    256
}
