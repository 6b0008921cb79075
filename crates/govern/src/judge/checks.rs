//! rlx's own facts about the two sets of a comparison. Each check that can't be made fails, so that nothing is accepted on
//! what is not known; only checks that need metrics which the study doesn't declare say that they were not measured.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rlxp_types::Digest;
use serde::Serialize;

use super::sets::Set;
use crate::documents::{Aggregation, CheckpointRule, Direction, Extractor, MetricSpec};
use crate::ledger::state::RunRecord;
use crate::plan::{PROGRAMS, PROTECTED, PROTOCOL};
use crate::seeds::SeedRole;

/// What files say about the runs of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// By the keys of runs.
    pub runs: BTreeMap<String, RunFacts>,
}

/// What the files of a run say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunFacts {
    /// Files of its record that are missing or changed since they were read, each with what is wrong; the list of its
    /// files is one of them.
    pub changed: BTreeMap<String, String>,
    /// The digest of everything that its training left, as paths and digests; `None` if it left nothing.
    pub trained: Option<Digest>,
}

/// Which check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckCode {
    /// A training or evaluation seed is on both sides
    SeedsOverlap,
    /// A planned seed has no result
    SeedsMissing,
    /// There are more seeds than planned, or seeds from outside their pool
    SeedsExtra,
    /// Results were evaluated in different ways
    ProtocolDiffers,
    /// The files of the evaluator differ
    EvaluatorDiffers,
    /// The programs of steps differ
    ProgramsDiffer,
    /// The metric takes the best of several values, while the last checkpoint counts
    BestOfMany,
    /// Runs were allowed to train for different times
    BudgetDiffers,
    /// A file changed or vanished since it was read
    FilesChanged,
    /// Two seeds left the same trained files
    TrainedIdentical,
    /// Whether training reports more reward while the primary metric doesn't improve
    TrainingReward,
}

impl CheckCode {
    /// As it is written in records and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckCode::SeedsOverlap => "seeds_overlap",
            CheckCode::SeedsMissing => "seeds_missing",
            CheckCode::SeedsExtra => "seeds_extra",
            CheckCode::ProtocolDiffers => "protocol_differs",
            CheckCode::EvaluatorDiffers => "evaluator_differs",
            CheckCode::ProgramsDiffer => "programs_differ",
            CheckCode::BestOfMany => "best_of_many",
            CheckCode::BudgetDiffers => "budget_differs",
            CheckCode::FilesChanged => "files_changed",
            CheckCode::TrainedIdentical => "trained_identical",
            CheckCode::TrainingReward => "training_reward",
        }
    }
}

impl fmt::Display for CheckCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A check and what it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub code: CheckCode,
    pub result: CheckResult,
    /// What was found.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Holds,
    /// Nothing is accepted
    Failed,
    /// It needs a metric or a file that the study doesn't have; it blocks nothing
    NotMeasured,
    /// Worth knowing; it blocks nothing
    Noted,
}

/// The comparison that is checked.
pub(super) struct Compare<'c, 's> {
    pub(super) reference: &'c Set<'s>,
    pub(super) judged: &'c Set<'s>,
    /// How many seeds the judged set has to have.
    pub(super) planned: u64,
    pub(super) spec: &'c MetricSpec,
    pub(super) facts: &'c Facts,
    /// The gain of the primary metric, positive if better.
    pub(super) gain: Option<f64>,
}

/// Every check, in the order of their codes.
pub(super) fn checks(compare: &Compare<'_, '_>) -> Vec<Check> {
    let check = |code, problem: Option<String>| match problem {
        Some(detail) => Check { code, result: CheckResult::Failed, detail },
        None => Check { code, result: CheckResult::Holds, detail: String::new() },
    };
    vec![
        check(CheckCode::SeedsOverlap, compare.overlap()),
        check(CheckCode::SeedsMissing, compare.missing()),
        check(CheckCode::SeedsExtra, compare.extra()),
        check(CheckCode::ProtocolDiffers, compare.part_differs(PROTOCOL, "the evaluation protocol")),
        check(CheckCode::EvaluatorDiffers, compare.part_differs(PROTECTED, "the protected files")),
        check(CheckCode::ProgramsDiffer, compare.part_differs(PROGRAMS, "the programs of steps")),
        check(CheckCode::BestOfMany, best_of_many(compare.spec)),
        check(CheckCode::BudgetDiffers, compare.budget_differs()),
        check(CheckCode::FilesChanged, compare.changed()),
        compare.trained_identical(),
        compare.training_reward(),
    ]
}

/// The codes of those that failed.
pub(super) fn failed(checks: &[Check]) -> Vec<String> {
    let failed = checks.iter().filter(|check| check.result == CheckResult::Failed);
    failed.map(|check| check.code.as_str().to_owned()).collect()
}

/// Why the primary metric would be the best of several checkpoints although the last one counts; `None` if it isn't.
pub fn best_of_many(spec: &MetricSpec) -> Option<String> {
    let metric = &spec.primary;
    let takes_best = matches!(
        (metric.direction, metric.aggregation),
        (Direction::Higher, Aggregation::Max) | (Direction::Lower, Aggregation::Min)
    );
    // A series has a value per checkpoint; a JSON file and a line of the log have those of one evaluation.
    let is_series = match &metric.source {
        Extractor::Jsonl { .. }
        | Extractor::Csv { .. }
        | Extractor::Tensorboard { .. }
        | Extractor::Wandb { .. }
        | Extractor::StdoutRegex { .. } => true,
        Extractor::Json { .. } | Extractor::Stdout { .. } => false,
    };
    let counts_last = spec.protocol.checkpoint == CheckpointRule::Last;
    (takes_best && is_series && counts_last && metric.window != Some(1)).then(|| {
        format!(
            "{} is the best of all its values, but protocol.checkpoint is last: set window: 1 or another aggregation",
            metric.name
        )
    })
}

impl Compare<'_, '_> {
    fn both(&self) -> impl Iterator<Item = &RunRecord> {
        self.reference.runs.iter().chain(&self.judged.runs).copied()
    }

    fn overlap(&self) -> Option<String> {
        let training =
            |set: &Set<'_>| -> BTreeSet<u64> { set.runs.iter().map(|run| run.intent.seed).collect() };
        let evaluation = |set: &Set<'_>| -> BTreeSet<u64> {
            set.runs.iter().filter_map(|run| run.intent.evaluation_seed).collect()
        };
        let shared = |one: BTreeSet<u64>, other: BTreeSet<u64>| one.intersection(&other).next().copied();
        let seed = shared(training(self.reference), training(self.judged));
        let evaluated = shared(evaluation(self.reference), evaluation(self.judged));
        seed.map(|seed| format!("training seed {seed} is on both sides"))
            .or_else(|| evaluated.map(|seed| format!("evaluation seed {seed} is on both sides")))
    }

    fn missing(&self) -> Option<String> {
        let (count, planned) = (self.judged.runs.len() as u64, self.planned);
        if count < planned {
            return Some(format!("{} has {count} of {planned} seeds", self.judged.candidate));
        }
        let unevaluated = self.both().find(|run| run.intent.evaluation_seed.is_none());
        unevaluated.map(|run| format!("run {} has no evaluation seed", run.intent.key))
    }

    fn extra(&self) -> Option<String> {
        let (count, planned) = (self.judged.runs.len() as u64, self.planned);
        if count > planned {
            return Some(format!("{} has {count} seeds; {planned} are planned", self.judged.candidate));
        }
        let pools = &self.spec.protocol.seeds;
        let foreign = self.both().find(|run| {
            let evaluation = run
                .intent
                .evaluation_seed
                .is_some_and(|seed| !pools.pool(SeedRole::Evaluation).contains(seed));
            evaluation || !pools.pool(run.intent.role).contains(run.intent.seed)
        });
        foreign.map(|run| format!("run {} has a seed from outside its pool", run.intent.key))
    }

    fn part_differs(&self, part: &str, what: &str) -> Option<String> {
        let of = |set: &Set<'_>| set.record.validated.parts.get(part).copied();
        let (reference, judged) = (of(self.reference), of(self.judged));
        match (reference, judged) {
            (Some(one), Some(other)) if one == other => None,
            (Some(_), Some(_)) => {
                Some(format!("{what} of {} and {} differ", self.reference.candidate, self.judged.candidate))
            }
            _ => Some(format!("{what} were not recorded for both sides")),
        }
    }

    fn budget_differs(&self) -> Option<String> {
        // GPU time is reserved, but no run is stopped by it.
        let limit = |run: &RunRecord| run.intent.reserve.wall_clock;
        let mut runs = self.both();
        let first = runs.next()?;
        let other = runs.find(|run| limit(run) != limit(first))?;
        Some(format!("runs {} and {} could train for different times", first.intent.key, other.intent.key))
    }

    fn changed(&self) -> Option<String> {
        let read = self.both().filter(|run| run.evidence.is_some());
        let mut found = read.filter_map(|run| {
            let key = &run.intent.key;
            let Some(facts) = self.facts.runs.get(key) else {
                return Some(format!("the files of run {key} were not checked"));
            };
            let (file, what) = facts.changed.first_key_value()?;
            Some(format!("run {key}: {file} {what}"))
        });
        found.next()
    }

    fn trained_identical(&self) -> Check {
        let code = CheckCode::TrainedIdentical;
        let mut seen: BTreeMap<Digest, &RunRecord> = BTreeMap::new();
        for run in self.both() {
            let trained = self.facts.runs.get(&run.intent.key).and_then(|facts| facts.trained);
            let Some(trained) = trained else { continue };
            if let Some(first) = seen.insert(trained, run) {
                let (one, other) = (&first.intent.key, &run.intent.key);
                let detail = format!("training of runs {one} and {other} left the same files");
                return Check { code, result: CheckResult::Failed, detail };
            }
        }
        if seen.is_empty() {
            let detail = "training leaves no files".to_owned();
            return Check { code, result: CheckResult::NotMeasured, detail };
        }
        Check { code, result: CheckResult::Holds, detail: String::new() }
    }

    /// Whether a declared metric of the training reward rose while the primary metric didn't.
    fn training_reward(&self) -> Check {
        let code = CheckCode::TrainingReward;
        let is_reward =
            |name: &str| name.contains("train") && (name.contains("reward") || name.contains("return"));
        let declared = self
            .spec
            .metrics_by_role()
            .find(|(role, metric)| !role.decides() && is_reward(metric.name.as_str()));
        let not_measured =
            |detail: &str| Check { code, result: CheckResult::NotMeasured, detail: detail.to_owned() };
        let Some((_, metric)) = declared else {
            return not_measured("no metric of the training reward is declared");
        };
        let of = |set: &Set<'_>| -> Vec<f64> { set.metric(&metric.name).into_iter().flatten().collect() };
        let (reference, judged) = (median(of(self.reference)), median(of(self.judged)));
        let (Some(reference), Some(judged), Some(gain)) = (reference, judged, self.gain) else {
            return not_measured(&format!("{} has no values", metric.name));
        };
        let rose = match metric.direction {
            Direction::Higher => judged > reference,
            Direction::Lower => judged < reference,
        };
        if rose && gain <= 0.0 {
            let detail = format!("{} improved while {} did not", metric.name, self.spec.primary.name);
            return Check { code, result: CheckResult::Noted, detail };
        }
        Check { code, result: CheckResult::Holds, detail: String::new() }
    }
}

/// The middle of some values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => None,
        values if values.len() % 2 == 1 => Some(values[middle]),
        values => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
