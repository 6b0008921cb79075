//! `contract.yaml`: what was agreed. Eight sections, each approved by a person, and the rules around them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::section::Section;
use super::{Bytes, CandidateKind, Phase, Seconds, Slug};

/// What was agreed for one study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Format of this file: `rlxp.contract/1`
    pub schema: ContractSchema,
    /// What is to be achieved
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

/// What is to be achieved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSection {
    /// The task, as in the registry
    pub id: Slug,
    /// The study, as in the registry
    pub study: Slug,
    /// What should get better, in a sentence or two
    pub mission: String,
    /// What must hold all the time
    #[serde(default)]
    pub constraints: Vec<String>,
    /// What this study is not about
    #[serde(default)]
    pub non_goals: Vec<String>,
}

/// Names of metrics; what they are stands in `metric_spec.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSection {
    /// The metric that decides
    pub primary: Slug,
    /// Metrics that must not get worse
    #[serde(default)]
    pub guardrails: Vec<Slug>,
}

/// What may be changed; the surfaces stand in `surface_map.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeSection {
    /// Surfaces that candidates may change
    pub surfaces: Vec<Slug>,
    /// Whether a candidate changes one thing only; yes unless said otherwise
    #[serde(default = "yes")]
    pub one_change_at_a_time: bool,
}

/// What may be spent. Reserved when a run is intended, settled when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSection {
    /// Runs, every seed counted
    #[schemars(range(min = 1))]
    pub runs: u64,
    /// Time of all runs together
    pub wall_clock: Seconds,
    /// GPU time of all runs together; none unless said
    #[serde(default)]
    pub gpu_time: Seconds,
    /// What all runs together may leave on the disk
    pub disk: Bytes,
    /// The most one run may take
    pub per_run: PerRun,
    /// Runs at the same time; one unless said
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub parallel: u64,
}

/// The most one run may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerRun {
    /// Time
    pub wall_clock: Seconds,
    /// Disk
    pub disk: Bytes,
    /// Memory
    pub memory: Bytes,
    /// Processes and threads; 256 unless said
    #[serde(default = "many")]
    pub processes: u64,
    /// Time of all processors together; as much as all of them can give within its time unless said
    #[serde(default)]
    pub cpu_time: Option<Seconds>,
}

/// What it runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardwareSection {
    /// Where training runs
    pub device: Device,
    /// GPUs a run may use; none unless said
    #[serde(default)]
    pub gpus: u32,
    /// What a run may reach
    pub network: Network,
}

/// What everything is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineSection {
    /// The commit that changes start from, forty hexadecimal digits; the working tree's own when left out
    #[serde(default)]
    pub commit: Option<String>,
    /// The baseline in words: which config, which known score
    pub description: String,
}

/// How a result is evaluated; the protocol stands in `metric_spec.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSection {
    /// The protocol in words
    pub description: String,
}

/// Which experiments are agreed: one by one, or in autonomous mode all within an envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSection {
    /// What is to be tried, in words
    pub description: String,
    /// What may be tried without asking again; only in autonomous mode
    #[serde(default)]
    pub envelope: Option<Envelope>,
}

/// The limits within which an autonomous study chooses for itself.
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

/// How a claim is judged. The procedure is in `docs/statistics.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// Chance of a false claim over the whole study, one-sided
    #[schemars(range(min = 0.0001, max = 0.2))]
    pub alpha: f64,
    /// Seeds in the short phase
    #[schemars(range(min = 1))]
    pub screen_seeds: u64,
    /// Fresh seeds per group in the confirm phase
    #[schemars(range(min = 5))]
    pub confirm_seeds: u64,
    /// Planned looks at the confirm phase
    #[schemars(range(min = 1, max = 10))]
    pub looks: u64,
    /// Candidates that may be confirmed in this study
    #[schemars(range(min = 1))]
    pub maximum_confirms: u64,
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

/// A gate that need not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The section it is approved with
    pub section: Section,
    /// The code of the refusal that is excepted, as `rlx candidate validate` prints it
    pub code: String,
    /// Why
    pub reason: String,
}

/// Who starts the next experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Automation {
    /// A person starts every run
    Manual,
    /// An agent starts runs of candidates that a person approved
    Supervised,
    /// An agent goes on within the envelope until a stop rule
    Autonomous,
}

/// How surely a person gave an approval; the order is the strength.
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

/// How much a run is kept apart; the order is the strength.
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
    /// Processors only
    Cpu,
    /// GPUs too
    Gpu,
}

/// What a run may reach; the order is how far.
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
