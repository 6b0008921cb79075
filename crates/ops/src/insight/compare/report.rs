//! The answer: groups, comparisons, curves and metrics as plain data.

use rlxp_analyze::aggregate::iqm;
use rlxp_analyze::verdict::Answer;
use rlxp_types::RunStatus;
use serde::Serialize;

use super::align::{AlignedMetric, GroupCurve};
use super::changes::Changes;
use super::comparable::Incomparable;
use super::groups::ComparedGroup;
use super::judgement::{Holm, Judgement};
use super::looks::Look;
use super::score::{Score, SeedScore};
use crate::insight::group_order::BestOf;
use crate::insight::run_data::SeedState;
use crate::insight::run_data::counting::Continuation;
use crate::insight::run_data::fold::Duplicate;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareReport {
    /// The verdict, if only two groups are compared.
    #[serde(flatten)]
    pub answer: TopAnswer,
    /// How scores were computed.
    pub score: Score,
    /// The groups: the reference, then the others, best first.
    pub groups: Vec<GroupReport>,
    /// How many groups `--best` left out; null if none.
    pub best_of: Option<BestOf>,
    /// Every further group against the first.
    pub comparisons: Vec<Comparison>,
    /// Metrics at steps that the groups share.
    pub metrics: Vec<AlignedMetric>,
    /// Curves, one per group.
    pub curves: Vec<GroupCurve>,
    /// Caveats, one sentence each.
    pub warnings: Vec<String>,
    /// Commands to continue with.
    pub next: Vec<String>,
}

/// The verdict in the same fields as in `rlx stats compare`; all null if there are several comparisons.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TopAnswer {
    /// `better`, `worse` or `cannot_tell`; null without a verdict.
    pub verdict: Option<Answer>,
    /// Why it is not `better` or `worse`.
    pub reason: Option<String>,
    /// How many more seeds per group would probably give a verdict.
    pub seeds_needed: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupReport {
    /// A, B, C, …
    pub group: String,
    /// What differs from the other groups, or what named it; no two groups have the same.
    pub label: String,
    /// The other way to name it: what was typed, or the config keys in which it differs.
    pub also: Option<String>,
    /// Its environment, or its first run's.
    pub env: String,
    pub runs: Vec<RunReport>,
    /// Its seeds, each training once.
    pub seeds: Vec<SeedReport>,
    /// Interquartile mean of the available scores.
    pub iqm: Option<f64>,
    /// Lowest score.
    pub lowest: Option<f64>,
    /// Highest score.
    pub highest: Option<f64>,
    /// Trainings that are recorded twice and count once.
    pub duplicates: Vec<Duplicate>,
    /// Seeds that are not counted here because another run of the group continues them.
    pub continued: Vec<Continuation>,
}

/// A run of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    pub name: String,
    pub status: RunStatus,
    /// Steps that each seed is trained for.
    pub total_steps: u64,
    /// Problems of its record.
    pub notes: Vec<String>,
}

/// A seed of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeedReport {
    pub run: String,
    pub seed: u64,
    /// The state of its training.
    pub state: SeedState,
    /// Its last step.
    pub steps: u64,
    /// Its score; null when it counts as failed.
    pub score: Option<f64>,
    /// Why it has no score.
    pub why: Option<String>,
}

/// A group against A.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The group's letter.
    pub group: String,
    pub label: String,
    /// The verdict with its basis, or why it is missing.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// What differs in how the groups were measured.
    pub not_comparable: Vec<Incomparable>,
    /// Whether it was judged anyway.
    pub forced: bool,
    /// How the level was adjusted, if there are several comparisons.
    pub holm: Option<Holm>,
    /// Which look at the question this is; null without a verdict.
    pub look: Option<Look>,
    pub changes: Changes,
}

impl TopAnswer {
    pub(super) fn from_comparisons(comparisons: &[Comparison]) -> Self {
        let [only] = comparisons else { return Self::default() };
        match &only.judgement {
            Judgement::Judged(judged) => Self {
                verdict: Some(judged.verdict.verdict),
                reason: judged.verdict.reason.map(word),
                seeds_needed: judged.verdict.seeds_needed,
            },
            Judgement::Descriptive(numbers) => Self {
                verdict: Some(numbers.described.verdict.verdict),
                reason: Some(numbers.why.as_str().to_owned()),
                seeds_needed: numbers.described.verdict.seeds_needed,
            },
            Judgement::Unjudged(none) => {
                Self { verdict: None, reason: Some(word(none.reason)), seeds_needed: None }
            }
        }
    }
}

/// The word that an enum has in JSON.
fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("a word is plain data");
    value.as_str().unwrap_or_default().to_owned()
}

impl GroupReport {
    pub(super) fn new(group: &ComparedGroup<'_>, scores: &[SeedScore]) -> Self {
        let finite: Vec<f64> =
            scores.iter().map(|score| score.value).filter(|value| value.is_finite()).collect();
        let seeds = group.members.iter().zip(scores).map(|(member, score)| SeedReport {
            run: member.run.name.clone(),
            seed: member.seed.seed,
            state: member.seed.state,
            steps: member.seed.metrics.last_step,
            score: score.value.is_finite().then_some(score.value),
            why: score.why.clone(),
        });
        let runs = group.runs.iter().map(|run| RunReport {
            name: run.name.clone(),
            status: run.status,
            total_steps: run.metadata.total_steps,
            notes: run.notes.clone(),
        });
        Self {
            group: group.id.clone(),
            label: group.label.clone(),
            also: group.also.clone(),
            env: group.runs[0].config.env.id.clone(),
            runs: runs.collect(),
            seeds: seeds.collect(),
            iqm: (!finite.is_empty()).then(|| iqm(&finite)),
            lowest: finite.iter().copied().reduce(f64::min),
            highest: finite.iter().copied().reduce(f64::max),
            duplicates: group.duplicates.clone(),
            continued: group.continued.to_vec(),
        }
    }
}
