//! The input of a diagnosis: facts and series of one run, from any trainer.
//! Everything is optional, and a rule reports the data it lacks.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::EndCause;
use serde_json::Value;

use super::rules::RuleSet;

/// A metric over training. Steps increase; `wall` may be empty if unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series<'a> {
    /// Training steps done at each point.
    pub steps: Cow<'a, [u64]>,
    /// Values; NaN and infinities as they were logged.
    pub values: Cow<'a, [f64]>,
    /// Seconds of any clock at each point, or nothing.
    pub walls: Cow<'a, [f64]>,
}

impl<'a> Series<'a> {
    /// A series of its own, without times.
    pub fn new(steps: Vec<u64>, values: Vec<f64>) -> Series<'static> {
        Series { steps: Cow::Owned(steps), values: Cow::Owned(values), walls: Cow::Owned(Vec::new()) }
    }

    /// A borrowed view of a series.
    pub fn borrowed(steps: &'a [u64], values: &'a [f64], walls: &'a [f64]) -> Self {
        Series { steps: Cow::Borrowed(steps), values: Cow::Borrowed(values), walls: Cow::Borrowed(walls) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Actions {
    /// Discrete actions, with the largest entropy of a policy over them.
    Discrete {
        /// In nats: ln n for n choices.
        most_entropy: f64,
    },
    /// Real numbers.
    Continuous,
}

/// What the termination of an episode means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// Something was reached: a short episode is a good one.
    Goal,
    /// Something went wrong: a short episode is a bad one.
    Failure,
}

/// What is known about the environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub id: String,
    pub actions: Option<Actions>,
    /// Whether observations are real numbers; `None` if unknown.
    pub real_observations: Option<bool>,
    /// Names of the observation's components.
    pub observation_names: Vec<String>,
    /// Step cap of an episode.
    pub step_cap: Option<u64>,
    /// Mean return that counts as solved.
    pub reward_threshold: Option<f64>,
    /// Mean return that trained policies are known to reach; used where `reward_threshold` is unknown.
    pub good_return: Option<f64>,
    /// The lowest and the highest return that an episode can have.
    pub return_range: Option<(f64, f64)>,
    /// What a termination means.
    pub termination: Option<Termination>,
    /// Whether episodes of one deterministic policy vary.
    pub stochastic: Option<bool>,
    /// For each observation component, real or discrete, the share of steps within episodes of random
    /// actions at which it did not change at all. Empty if not measured.
    pub still: Vec<f64>,
    /// Steps that `still` was measured over.
    pub still_steps: u64,
}

/// What the config says.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Name of the algorithm, such as `ppo`.
    pub algorithm: String,
    /// Training steps per seed.
    pub total_steps: u64,
    /// Every key of the config with its value; a schedule is an object with `from` and `to`.
    pub values: BTreeMap<String, Value>,
    /// Discount.
    pub gamma: Option<f64>,
    /// Passes over each rollout.
    pub update_epochs: Option<f64>,
    /// Whether epochs end early at a KL, and at which.
    pub target_kl: Option<f64>,
    /// Weight of the entropy bonus.
    pub entropy_coef: Option<f64>,
    /// Whether observations are normalised.
    pub normalize_observations: bool,
    /// Whether rewards are normalised.
    pub normalize_rewards: bool,
    /// What training rewards were multiplied by, apart from normalisation;
    /// evaluations show them without it.
    pub reward_factor: f64,
    /// Whether periodic evaluations take the most likely action.
    pub deterministic_evaluation: Option<bool>,
    /// Whether the step size follows the KL.
    pub adaptive_learning_rate: bool,
    /// Whether samples may be older than the update before (replay, several learners).
    pub reuses_samples: bool,
    /// Whether the checkpoint holds the normaliser, so that it can't be lost.
    pub normalizer_in_checkpoint: bool,
    /// Environment parameters that are meant to be randomised.
    pub randomized: BTreeSet<String>,
    /// Largest value of reward components that have one.
    pub component_maxima: BTreeMap<String, f64>,
    /// Reward components that are the task itself.
    pub task_components: BTreeSet<String>,
    /// Highest level of the curriculum.
    pub curriculum_top: Option<f64>,
}

/// One evaluation with its episodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    pub name: String,
    /// Step of the evaluated policy.
    pub step: u64,
    /// Mean return.
    pub mean: f64,
    /// Sample deviation of the returns.
    pub deviation: f64,
    /// Seeds of the episodes.
    pub seeds: Vec<u64>,
}

impl Evaluation {
    pub fn standard_error(&self) -> f64 {
        self.deviation / (self.seeds.len().max(1) as f64).sqrt()
    }
}

/// The state of the metrics file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordState {
    /// Intact records.
    pub records: u64,
    /// Steps that occur twice within a kind.
    pub repeated_steps: u64,
    /// What was set aside, a sentence each.
    pub damage: Vec<String>,
}

/// Why a training failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What ended it; rules use this.
    pub cause: EndCause,
    /// A description, for sentences.
    pub reason: String,
}

#[derive(Clone, Debug, Default)]
pub struct SeedEvidence<'a> {
    pub seed: u64,
    /// Why it failed, where it did.
    pub failure: Option<Failed>,
    /// Series by `kind.name`, such as `train.approx_kl`. Components of the
    /// reward have the kind `reward`, randomised parameters the kind
    /// `randomization` (their variance over environments), the curriculum
    /// `curriculum.level`, a task metric other than the return `task.metric`.
    pub series: BTreeMap<String, Series<'a>>,
    /// Evaluations during training, by step; the best policy is chosen by them.
    pub evaluations: Vec<Evaluation>,
    /// Evaluations after the fact.
    pub later_evaluations: Vec<Evaluation>,
    /// Step of the best policy.
    pub best_step: Option<u64>,
    /// Steps at which training was continued from a file.
    pub resumed_at: Vec<u64>,
    /// Whether a normaliser was used and its file is missing.
    pub normalizer_missing: bool,
    /// The state of the metrics file; `None` when there is no such file.
    pub record: Option<RecordState>,
}

impl SeedEvidence<'_> {
    /// The description of a training that ended because of NaN or infinite values.
    pub(super) fn diverged(&self) -> Option<&str> {
        let failed = self.failure.as_ref().filter(|failed| failed.cause == EndCause::Diverged);
        failed.map(|failed| failed.reason.as_str())
    }
}

/// The score of an untrained baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// `random` or `zero`.
    pub name: String,
    /// Mean return.
    pub mean: f64,
    /// Sample deviation of the returns.
    pub deviation: f64,
    pub episodes: usize,
}

impl Baseline {
    pub fn standard_error(&self) -> f64 {
        self.deviation / (self.episodes.max(1) as f64).sqrt()
    }
}

/// Everything about one run.
#[derive(Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// What the config says.
    pub settings: Settings,
    pub environment: Environment,
    pub seeds: Vec<SeedEvidence<'a>>,
    /// Baselines in the environment that policies are judged in.
    pub baselines: Vec<Baseline>,
    /// Words for commands to paste, such as `run`; numbers can be scaled there.
    pub words: BTreeMap<String, String>,
}

impl Evidence<'_> {
    /// The best score without learning.
    pub fn best_baseline(&self) -> Option<&Baseline> {
        self.baselines.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))
    }

    /// The return from which a policy counts as having learned: well on its way from the best
    /// untrained baseline to the target, or well above that baseline where no target is known.
    pub(super) fn learned_from(&self, rules: &RuleSet) -> Option<f64> {
        let floor = self.best_baseline()?;
        let target = self.environment.reward_threshold.or(self.environment.good_return);
        let bound = match target {
            Some(target) if target > floor.mean => {
                floor.mean + rules.common("learned_way") * (target - floor.mean)
            }
            Some(_) => return None,
            None => {
                // Near zero, any share of the baseline is small; its own noise counts too.
                let share = rules.common("learned_relative") * floor.mean.abs();
                let noise = rules.common("improved_noise") * floor.standard_error();
                floor.mean + share.max(noise)
            }
        };
        // More than the highest possible return can't be asked for.
        Some(self.environment.return_range.map_or(bound, |(_, top)| bound.min(top)))
    }

    /// The largest magnitude of the baselines, which sets the scale.
    pub fn baseline_size(&self) -> f64 {
        self.baselines.iter().map(|baseline| baseline.mean.abs()).fold(0.0, f64::max)
    }
}
