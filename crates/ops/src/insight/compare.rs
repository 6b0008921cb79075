//! `rlx compare`: what changed between runs, and whether it made them better.
//!
//! The first group is the reference A; every further one is judged against
//! it, the best first. Seeds are what is counted: runs of a group fold their seeds, and the
//! same seed trained twice from the same config by the same program is one
//! training, not two. Failed seeds are scored, never dropped, and runs that
//! were measured in different ways get no verdict unless it is forced.
//!
//! | step | module |
//! |---|---|
//! | words and configs to groups of seeds | `groups` |
//! | one score per seed | `score` |
//! | what differs in config and code | `changes`, `code` |
//! | whether scores mean the same in both | `comparable` |
//! | how bad a failed seed is at best | `failed` |
//! | which look at the question this is | `looks`, `remember`, and `questions` for the file |
//! | verdicts, corrected for looks and for their number | `judge`, `judgement` |
//! | curves and metrics at common steps | `align` |
//! | what to train next | `next` |

mod align;
mod changes;
mod code;
mod comparable;
mod failed;
mod groups;
mod judge;
mod judgement;
mod looks;
mod next;
mod questions;
mod remember;
mod report;
mod score;
mod score_files;

pub use crate::insight::run_data::counting::{Continuation, Relation};
pub use crate::insight::run_data::fold::Duplicate;
pub use align::{AlignedGroup, AlignedMetric, GroupCurve, how_read};
pub use changes::{Changes, ConfigChange, SeedSets};
pub use code::{CodeChange, FileChange, FileChanges};
pub use comparable::{Differing, Incomparable};
pub use judgement::{Holm, Judgement, NoVerdict, Numbers, Unjudged};
pub use looks::{Descriptive, Look, MOST_LOOKS, PLANNED_LOOKS};
pub use report::{CompareReport, Comparison, GroupReport, RunReport, SeedReport, TopAnswer};
pub use score::{Score, ScoreKind};
pub(crate) use {failed::limit_among, next::origin, score::last_evaluations};

use rlxp_types::text::shell_word;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::group_order::{BestOf, check_best};
use crate::insight::run_data;
use crate::insight::run_data::{RunData, SeedState, Trainings, load_trainings};

use groups::ComparedGroup;
use judge::Judged;

/// What to compare, and by which score.
#[derive(Clone, Debug, Default)]
pub struct CompareRequest {
    /// Runs, `tag:TAG`, or `A+B`; the first is the reference.
    pub words: Vec<String>,
    /// The reference, if not the first word: one of the words, a run of a group, or another run.
    pub reference: Option<String>,
    /// Show only this many groups, the best, and the reference. Verdicts are corrected for all of them.
    pub best: Option<usize>,
    /// Fold all runs into groups of equal configs instead of one group per word.
    pub by_config: bool,
    /// What a seed's score is.
    pub score: ScoreKind,
    /// Another metric than the return of evaluations: `NAME` or `KIND/NAME`.
    pub metric: Option<String>,
    /// Less is better.
    pub lower: bool,
    /// Compare seed by seed.
    pub paired: bool,
    /// Smallest difference that counts, in the score's unit.
    pub minimum_effect: Option<f64>,
    /// Judge runs that are not comparable.
    pub force: bool,
    /// How many looks the question has; by default what its first look planned, or [`PLANNED_LOOKS`].
    pub looks: Option<usize>,
    /// Count this as a look at the question. A caller that only shows what is known doesn't.
    pub record: bool,
}

pub fn compare(context: &Context, request: &CompareRequest) -> Outcome<CompareReport> {
    let fewest = if request.by_config { 1 } else { 2 };
    let words = groups::words(request);
    if words.len() < fewest {
        let failure = Failure::usage("nothing_to_compare", "expected at least two runs or groups");
        return Err(match words.first() {
            Some(word) => failure.hint(format!("rlx compare {} --group-by config", shell_word(word))),
            None => failure.hint("rlx compare RUN_A RUN_B"),
        });
    }
    check_best(request.best)?;
    let wanted = score::needed_metrics(request)?;
    let mut trainings = load_trainings(context, &words, fewest, &|kind, name| wanted.accepts(kind, name))?;
    trainings.groups = groups::grouped(trainings.groups, request)?;
    trainings.count_once();
    let Trainings { groups: loaded, notes } = trainings;
    let groups: Vec<ComparedGroup<'_>> =
        loaded.iter().enumerate().map(|(index, group)| ComparedGroup::new(index, group)).collect();
    let score = score::decide(request, &groups)?;
    let scored = score::scores(&score, request, &groups)?;
    let (groups, scored, kept) = groups::in_order_of_score(groups, scored, request);
    let (reference, others) = groups.split_first().expect("there are at least two groups");
    let pairs: Vec<judge::Pair<'_>> = others
        .iter()
        .zip(&scored[1..])
        .map(|(group, scores)| judge::Pair {
            a: reference,
            b: group,
            a_scores: &scored[0],
            b_scores: scores,
            differences: comparable::differences(&score, reference, group),
        })
        .collect();
    let (judged, remembering) = remember::judged(context, request, &score, &pairs)?;
    let git = code::Repository::around(context);
    let comparisons: Vec<Comparison> = pairs
        .into_iter()
        .zip(judged)
        .take(kept - 1)
        .map(|(pair, Judged { judgement, holm, look })| Comparison {
            group: pair.b.id.clone(),
            label: pair.b.label.clone(),
            changes: changes::changes(&git, pair.a, pair.b),
            forced: request.force && !pair.differences.is_empty(),
            not_comparable: pair.differences,
            holm,
            look,
            judgement,
        })
        .collect();
    // All were judged, so that choosing the best does not make a verdict more likely.
    let best_of = BestOf::new(kept, groups.len());
    let (groups, scored) = (&groups[..kept], &scored[..kept]);
    let mut warnings = notes;
    warnings.extend(score::warnings(&score, groups, scored));
    warnings.extend(groups::warnings(groups));
    warnings.extend(remembering);
    let nothing_changed = |one: &&Comparison| one.changes.config.is_empty() && one.changes.code.is_empty();
    let same: Vec<&str> = comparisons.iter().filter(nothing_changed).map(|one| one.group.as_str()).collect();
    if !same.is_empty() {
        let which = groups::listed(&same);
        warnings.push(format!("A and {which} have the same config and code: any difference is noise"));
    }
    let next = next::commands(context, groups, &comparisons);
    Ok(CompareReport {
        answer: TopAnswer::from_comparisons(&comparisons),
        metrics: align::metrics(&score, groups),
        curves: align::curves(&score, groups),
        groups: groups.iter().zip(scored).map(|(group, scores)| GroupReport::new(group, scores)).collect(),
        best_of,
        score,
        comparisons,
        warnings,
        next,
    })
}

/// What differs between two runs, without their scores.
pub(crate) fn changes_between(context: &Context, a: RunData, b: RunData) -> Changes {
    let group = |run: RunData| run_data::Group::new(run.name.clone(), vec![run]);
    let (a, b) = (group(a), group(b));
    changes::changes(
        &code::Repository::around(context),
        &ComparedGroup::new(0, &a),
        &ComparedGroup::new(1, &b),
    )
}

/// How a state is called in a sentence.
fn state_word(state: SeedState) -> &'static str {
    match state {
        SeedState::Finished => "finished",
        SeedState::Failed => "failed",
        SeedState::Unfinished => "unfinished",
    }
}
