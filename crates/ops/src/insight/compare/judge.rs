//! The verdicts: each group against A, with the level adjusted by Holm's procedure if there are several.

use std::collections::BTreeMap;

use rlxp_analyze::describe::verdict::{Described, Names};
use rlxp_analyze::multiplicity::holm;
use rlxp_analyze::verdict::{Answer, MinimumEffect, Options, Question, Verdict, verdict};
use serde::Serialize;

use super::CompareRequest;
use super::comparable::Incomparable;
use super::groups::ComparedGroup;
use super::score::{Score, SeedScore};
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::SeedState;
use crate::training::seed_ranges::seed_ranges;

/// From this many comparisons on, descriptive intervals use fewer resamples.
const MANY: usize = 20;

/// A group against A.
pub(super) struct Pair<'p> {
    pub(super) a: &'p ComparedGroup<'p>,
    pub(super) b: &'p ComparedGroup<'p>,
    pub(super) a_scores: &'p [SeedScore],
    pub(super) b_scores: &'p [SeedScore],
    pub(super) differences: Vec<Incomparable>,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// The groups were measured in different ways.
    NotComparable,
    /// A group has no score at all, though its seeds did not fail.
    MissingScores,
}

/// No verdict, with the fields that a verdict would have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unjudged {
    /// Always null.
    pub verdict: Option<Answer>,
    pub reason: NoVerdict,
    /// Always null.
    pub seeds_needed: Option<u64>,
    /// Why, in sentences.
    pub statements: Vec<String>,
}

/// A verdict, or why it is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Judgement {
    Judged(Box<Described>),
    Unjudged(Unjudged),
}

impl Judgement {
    /// The verdict, if there is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Judged(judged) => Some(&judged.verdict),
            Self::Unjudged(_) => None,
        }
    }

    pub fn statements(&self) -> &[String] {
        match self {
            Self::Judged(judged) => &judged.statements,
            Self::Unjudged(none) => &none.statements,
        }
    }
}

/// How the level was adjusted for several comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Holm {
    /// Comparisons that were judged together.
    pub comparisons: usize,
    /// The level at which each direction of this one was judged.
    pub level: f64,
    /// The smaller p value of the two directions.
    pub p: f64,
    /// The same, adjusted: a claim needs it at 0.025 or below.
    pub adjusted_p: f64,
}

pub(super) fn judge(
    request: &CompareRequest,
    score: &Score,
    pairs: &[Pair<'_>],
) -> Outcome<Vec<(Judgement, Option<Holm>)>> {
    let minimum_effect =
        request.minimum_effect.map_or(Options::default().minimum_effect, MinimumEffect::Absolute);
    let options =
        Options { direction: score.direction, paired: request.paired, minimum_effect, ..Options::default() };
    let mut answers: Vec<(Judgement, Option<Holm>)> = Vec::new();
    let mut judged: Vec<(usize, PairScores<'_>)> = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let scores = PairScores::new(pair, request.paired)?;
        match refusal(request, score, pair) {
            Some(none) => answers.push((Judgement::Unjudged(none), None)),
            None => {
                let quick = Options { resamples: 0, ..options.clone() };
                answers.push((Judgement::Judged(Box::new(scores.verdict(&quick)?)), None));
                judged.push((index, scores));
            }
        }
    }
    let p: Vec<f64> = judged
        .iter()
        .filter_map(|(index, _)| answers[*index].0.verdict())
        .map(|verdict| verdict.p_better.min(verdict.p_worse))
        .collect();
    let (levels, adjusted) = (holm_levels(&p, options.alpha), holm(&p));
    let resamples = if judged.len() > MANY { 1_000 } else { options.resamples };
    for (place, (index, scores)) in judged.into_iter().enumerate() {
        let level = levels[place];
        let mut verdict = scores.verdict(&Options { alpha: level, resamples, ..options.clone() })?;
        let shared = (p.len() > 1).then(|| Holm {
            comparisons: p.len(),
            level,
            p: p[place],
            adjusted_p: adjusted[place],
        });
        describe(&mut verdict, &pairs[index], shared.as_ref());
        answers[index] = (Judgement::Judged(Box::new(verdict)), shared);
    }
    Ok(answers)
}

/// The level of each p value in Holm's procedure: the smallest is judged at
/// level / m, the next at level / (m - 1), and so on; after the first that
/// fails none is judged at a higher level than that one was.
fn holm_levels(p: &[f64], level: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| p[*left].total_cmp(&p[*right]));
    let mut levels = vec![level; p.len()];
    let mut stopped = None;
    for (place, index) in order.into_iter().enumerate() {
        let own = stopped.unwrap_or(level / (p.len() - place) as f64);
        levels[index] = own;
        if p[index] > own {
            stopped = Some(own);
        }
    }
    levels
}

/// Scores in the order in which they are compared.
struct PairScores<'p> {
    a: Vec<f64>,
    b: Vec<f64>,
    names: Names<'p>,
}

impl<'p> PairScores<'p> {
    fn new(pair: &'p Pair<'_>, paired: bool) -> Outcome<Self> {
        let names = Names { a: &pair.a.id, b: &pair.b.id };
        let values = |scores: &[SeedScore]| scores.iter().map(|score| score.value).collect::<Vec<f64>>();
        if !paired {
            return Ok(Self { a: values(pair.a_scores), b: values(pair.b_scores), names });
        }
        let of_a = by_seed(pair.a, pair.a_scores)?;
        let of_b = by_seed(pair.b, pair.b_scores)?;
        if !of_a.keys().eq(of_b.keys()) {
            let only = |one: &BTreeMap<u64, f64>, other: &BTreeMap<u64, f64>| {
                let seeds: Vec<u64> = one.keys().copied().filter(|seed| !other.contains_key(seed)).collect();
                if seeds.is_empty() { "none".to_owned() } else { seed_ranges(seeds) }
            };
            let message = format!(
                "--paired needs the same seeds in both groups; only in {}: {}; only in {}: {}",
                pair.a.id,
                only(&of_a, &of_b),
                pair.b.id,
                only(&of_b, &of_a)
            );
            return Err(Failure::usage("seeds_do_not_match", message)
                .hint("drop --paired: groups with different seeds can be compared too"));
        }
        Ok(Self { a: of_a.into_values().collect(), b: of_b.into_values().collect(), names })
    }

    fn verdict(&self, options: &Options) -> Outcome<Described> {
        let judged = verdict(Question { a: &self.a, b: &self.b, guardrails: &[] }, options)
            .map_err(|invalid| Failure::usage("no_question", invalid.to_string()))?;
        Ok(Described::new(judged, self.names))
    }
}

fn by_seed(group: &ComparedGroup<'_>, scores: &[SeedScore]) -> Outcome<BTreeMap<u64, f64>> {
    let mut found = BTreeMap::new();
    for (member, score) in group.members.iter().zip(scores) {
        let seed = member.seed.seed;
        if found.insert(seed, score.value).is_some() {
            let message =
                format!("--paired needs unique seeds; seed {seed} appears more than once in {}", group.id);
            return Err(
                Failure::usage("seeds_do_not_match", message).hint("drop --paired, or compare single runs")
            );
        }
    }
    Ok(found)
}

/// Why a pair gets no verdict, if so.
fn refusal(request: &CompareRequest, score: &Score, pair: &Pair<'_>) -> Option<Unjudged> {
    let none = |reason, statements| Some(Unjudged { verdict: None, reason, seeds_needed: None, statements });
    let id = &pair.b.id;
    if !pair.differences.is_empty() && !request.force {
        let mut statements = vec![format!("No verdict: A and {id} are not comparable.")];
        statements.extend(pair.differences.iter().map(|difference| format!("{}.", difference.sentence(id))));
        return none(NoVerdict::NotComparable, statements);
    }
    for (group, scores) in [(pair.a, pair.a_scores), (pair.b, pair.b_scores)] {
        let alive =
            || group.members.iter().zip(scores).filter(|(member, _)| member.seed.state != SeedState::Failed);
        if alive().count() > 0 && alive().all(|(_, score)| score.value.is_nan()) {
            let first = format!("No verdict: no seed of {} has a score.", group.id);
            return none(NoVerdict::MissingScores, vec![first, format!("The score is the {}.", score.what)]);
        }
    }
    None
}

/// Adds what the groups alone don't say.
fn describe(judged: &mut Described, pair: &Pair<'_>, shared: Option<&Holm>) {
    let id = &pair.b.id;
    if !pair.differences.is_empty() {
        let list: Vec<String> = pair.differences.iter().map(|difference| difference.sentence(id)).collect();
        let forced = format!("Forced, although the groups are not comparable: {}.", list.join("; "));
        judged.statements.insert(1, forced);
    }
    if let Some(shared) = shared {
        let level = if shared.level < 1e-3 {
            format!("{:.1e}", shared.level)
        } else {
            format!("{:.4}", shared.level)
        };
        judged.statements.push(format!(
            "One of {} comparisons with A: each direction is tested at level {level}, corrected for multiple comparisons \
             (Holm; adjusted p = {:.4}).",
            shared.comparisons, shared.adjusted_p
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_holm() {
        for p in [
            vec![0.001, 0.02, 0.3],
            vec![0.02, 0.02, 0.001, 0.005],
            vec![0.01],
            vec![0.009, 0.012, 0.026],
            vec![1.0, 1.0],
        ] {
            let adjusted = holm(&p);
            for ((p, level), adjusted) in p.iter().zip(holm_levels(&p, 0.025)).zip(adjusted) {
                assert_eq!(*p <= level, adjusted <= 0.025, "{p} at {level}, adjusted {adjusted}");
            }
        }
    }
}
