//! The verdicts: each group against A at the level of its look, shared out among them by Holm's procedure when there
//! are several.

use std::collections::BTreeMap;

use rlxp_analyze::describe::verdict::{Described, Names};
use rlxp_analyze::multiplicity::holm;
use rlxp_analyze::verdict::{Answer, MinimumEffect, Options, Question, Verdict, verdict};
use rlxp_types::text::significant;

use super::CompareRequest;
use super::comparable::{Differing, Incomparable};
use super::failed::failure_limit;
use super::groups::ComparedGroup;
use super::judgement::{Holm, Judgement, NoVerdict, Numbers, Unjudged};
use super::looks::{Descriptive, Look, Place, Role, counts, level, seeds_planned};
use super::score::{Score, SeedScore};
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::SeedState;
use crate::insight::run_data::counting::Part;
use crate::insight::run_data::fold::{Member, shared};
use crate::training::seed_ranges::seed_ranges;

/// From this many comparisons on, intervals and seeds needed are simulated more coarsely.
const MANY: usize = 20;

/// A group against A.
pub(super) struct Pair<'p> {
    pub(super) a: &'p ComparedGroup<'p>,
    pub(super) b: &'p ComparedGroup<'p>,
    pub(super) a_scores: &'p [SeedScore],
    pub(super) b_scores: &'p [SeedScore],
    pub(super) differences: Vec<Incomparable>,
}

/// A pair's result.
pub(super) struct Judged {
    pub(super) judgement: Judgement,
    pub(super) holm: Option<Holm>,
    pub(super) look: Option<Look>,
}

/// Judges every pair as the look that its place says; one with a refusal gets that instead.
pub(super) fn judge(
    request: &CompareRequest,
    score: &Score,
    pairs: &[Pair<'_>],
    refusals: &[Option<Unjudged>],
    places: &[Place],
) -> Outcome<Vec<Judged>> {
    let scores: Vec<PairScores<'_>> =
        pairs.iter().map(|pair| PairScores::new(score, pair, request.paired)).collect::<Outcome<_>>()?;
    let claims = |index: &usize| refusals[*index].is_none() && places[*index].descriptive().is_none();
    let claiming: Vec<usize> = (0..pairs.len()).filter(claims).collect();
    // Pairs at different levels share the smallest, so that none is judged at more than its own.
    let alpha = claiming.iter().map(|index| places[*index].level()).fold(level(1), f64::min);
    let minimum_effect =
        request.minimum_effect.map_or(Options::default().minimum_effect, MinimumEffect::Absolute);
    let (resamples, repetitions) = if pairs.len() > MANY {
        (1_000, 200)
    } else {
        (Options::default().resamples, Options::default().repetitions)
    };
    let (direction, paired) = (score.direction, request.paired);
    let options =
        Options { direction, paired, minimum_effect, alpha, resamples, repetitions, ..Options::default() };
    let quick = Options { resamples: 0, repetitions: 0, ..options.clone() };
    let mut p = Vec::new();
    for index in &claiming {
        let found = scores[*index].verdict(&quick)?;
        p.push(found.p_better.min(found.p_worse));
    }
    let mut shares = shares(&p, alpha).into_iter();
    let mut judged = Vec::new();
    for (((pair, scores), refusal), place) in pairs.iter().zip(&scores).zip(refusals).zip(places) {
        judged.push(match (refusal, place.descriptive()) {
            (Some(none), _) => {
                Judged { judgement: Judgement::Unjudged(none.clone()), holm: None, look: None }
            }
            (None, Some(why)) => {
                let options = Options { alpha: place.level(), ..options.clone() };
                described(pair, scores, place, why, &options)?
            }
            (None, None) => {
                let (mut level, mut holm) =
                    shares.next().expect("every pair that may claim something has a share");
                // A repeated look keeps its level, even if other groups are compared this time.
                if let Role::Again { level: recorded, .. } = place.role {
                    level = recorded.unwrap_or(place.level());
                    holm = holm.filter(|holm| holm.level == level);
                }
                let options = Options { alpha: level, ..options.clone() };
                looked_at(request, pair, scores, place, holm, &options)?
            }
        });
    }
    Ok(judged)
}

/// A verdict at a look.
fn looked_at(
    request: &CompareRequest,
    pair: &Pair<'_>,
    scores: &PairScores<'_>,
    place: &Place,
    holm: Option<Holm>,
    options: &Options,
) -> Outcome<Judged> {
    let found = scores.verdict(options)?;
    let number = place.number().unwrap_or(1);
    let counted = counts(&found);
    let (seeds_planned, on_record) = match place.role {
        Role::Again { seeds_planned, .. } => (seeds_planned, true),
        _ if counted => (seeds_planned(&found, number, place.planned), false),
        _ => (None, false),
    };
    let undecided = found.verdict == Answer::CannotTell;
    let mut said = describe(found, scores, pair);
    said.statements.push(format!(
        "Look {number} of {}: each direction is tested at level {}.",
        place.planned,
        significant(options.alpha)
    ));
    match (counted, undecided, seeds_planned) {
        (false, ..) => {
            said.statements.push("With too few seeds for a verdict, it does not count as a look.".to_owned());
        }
        (true, true, Some(seeds)) => {
            said.statements.push(format!("The next look is planned with {seeds} seeds per group."));
        }
        (true, true, None) if number >= place.planned => said
            .statements
            .push("It was the last planned look: with more seeds, numbers will be descriptive.".to_owned()),
        _ => {}
    }
    if counted && !on_record && !request.record {
        said.statements.push("This look is not recorded; `rlx compare` records it.".to_owned());
    }
    if let Some(holm) = &holm {
        said.statements.push(share_sentence(holm));
    }
    let look = Look {
        number: Some(number),
        planned: place.planned,
        level: place.level(),
        recorded: on_record,
        seeds_planned,
    };
    Ok(Judged { judgement: Judgement::Judged(Box::new(said)), holm, look: Some(look) })
}

/// Numbers without a look.
fn described(
    pair: &Pair<'_>,
    scores: &PairScores<'_>,
    place: &Place,
    why: Descriptive,
    options: &Options,
) -> Outcome<Judged> {
    let numbers = Verdict {
        verdict: Answer::CannotTell,
        reason: None,
        basis: None,
        veto: None,
        seeds_needed: why.missing(),
        seeds_needed_for: None,
        ..scores.verdict(&Options { repetitions: 0, ..options.clone() })?
    };
    let mut described = describe(numbers, scores, pair);
    described.statements.push(why.sentence());
    let look = Look {
        number: None,
        planned: place.planned,
        level: place.level(),
        recorded: false,
        seeds_planned: match why {
            Descriptive::PlanNotReached { planned, .. } => Some(planned),
            _ => None,
        },
    };
    let judgement = Judgement::Descriptive(Box::new(Numbers { described, why }));
    Ok(Judged { judgement, holm: None, look: Some(look) })
}

/// The level of each p value, and how it came about where there are several.
fn shares(p: &[f64], level: f64) -> Vec<(f64, Option<Holm>)> {
    let levels = holm_levels(p, level);
    let each = p.iter().zip(levels).zip(holm(p));
    each.map(|((p_own, level), adjusted_p)| {
        let holm = Holm { comparisons: p.len(), level, p: *p_own, adjusted_p };
        (level, (p.len() > 1).then_some(holm))
    })
    .collect()
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
    // Equal p values are judged alike, at the strictest of their levels: two groups may be the same trainings.
    (0..p.len())
        .map(|index| {
            let equal = (0..p.len()).filter(|other| p[*other] == p[index]);
            equal.map(|other| levels[other]).fold(f64::INFINITY, f64::min)
        })
        .collect()
}

/// Scores in the order in which they are compared.
struct PairScores<'p> {
    a: Vec<f64>,
    b: Vec<f64>,
    failure_limit: Option<f64>,
    names: Names<'p>,
}

impl<'p> PairScores<'p> {
    fn new(score: &Score, pair: &'p Pair<'_>, paired: bool) -> Outcome<Self> {
        let names = Names { a: &pair.a.id, b: &pair.b.id };
        let failure_limit = failure_limit(score, [(pair.a, pair.a_scores), (pair.b, pair.b_scores)]);
        let values = |scores: &[SeedScore]| scores.iter().map(|score| score.value).collect::<Vec<f64>>();
        if !paired {
            return Ok(Self { a: values(pair.a_scores), b: values(pair.b_scores), failure_limit, names });
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
        let (a, b) = (of_a.into_values().collect(), of_b.into_values().collect());
        Ok(Self { a, b, failure_limit, names })
    }

    fn verdict(&self, options: &Options) -> Outcome<Verdict> {
        let options = Options { failure_limit: self.failure_limit, ..options.clone() };
        verdict(Question { a: &self.a, b: &self.b, guardrails: &[] }, &options)
            .map_err(|invalid| Failure::usage("no_question", invalid.to_string()))
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

/// Why a pair gets no verdict.
pub(super) fn refusal(request: &CompareRequest, score: &Score, pair: &Pair<'_>) -> Option<Unjudged> {
    let none = |reason, statements| Some(Unjudged { verdict: None, reason, seeds_needed: None, statements });
    let id = &pair.b.id;
    let sentences = || pair.differences.iter().map(|difference| format!("{}.", difference.sentence(id)));
    // Half a training is not a result, however much it is wanted.
    let unfinished = |difference: &Incomparable| difference.key == Differing::Unfinished;
    if pair.differences.iter().any(unfinished) && (request.force || pair.differences.iter().all(unfinished)) {
        let mut statements = vec![format!("No verdict: A or {id} is unfinished.")];
        statements.extend(sentences());
        return none(NoVerdict::Unfinished, statements);
    }
    if !pair.differences.is_empty() && !request.force {
        let mut statements = vec![format!("No verdict: A and {id} are not comparable.")];
        statements.extend(sentences());
        return none(NoVerdict::NotComparable, statements);
    }
    let shared = shared_trainings(pair);
    if shared > 0 {
        let trainings =
            if shared == 1 { "1 training is".to_owned() } else { format!("{shared} trainings are") };
        return none(
            NoVerdict::SharedTrainings,
            vec![format!("No verdict: {trainings} in both A and {id}, which are not independent then.")],
        );
    }
    let continued = continued_trainings(pair);
    if continued > 0 && !request.paired {
        let seeds = if continued == 1 { "1 seed".to_owned() } else { format!("{continued} seeds") };
        let why = format!(
            "No verdict: A and {id} have the beginning of {seeds} in common and are not independent."
        );
        let instead = "`--paired` compares them seed by seed.".to_owned();
        return none(NoVerdict::SharedTrainings, vec![why, instead]);
    }
    let mut statements = Vec::new();
    for (group, scores) in [(pair.a, pair.a_scores), (pair.b, pair.b_scores)] {
        // A missing score does not mean that the training failed.
        let finished = |member: &Member<'_>| member.seed.state == SeedState::Finished;
        for (member, _) in
            group.members.iter().zip(scores).filter(|(it, score)| finished(it) && score.missing)
        {
            statements.push(format!(
                "Seed {} of {} ({}) finished, but its record has no {}.",
                member.seed.seed, member.run.name, group.id, score.metric
            ));
        }
    }
    if statements.is_empty() {
        return None;
    }
    statements.insert(0, "No verdict: scores are missing.".to_owned());
    none(NoVerdict::MissingScores, statements)
}

/// Trainings that both groups of a pair count, wherever their records are.
fn shared_trainings(pair: &Pair<'_>) -> usize {
    shared(&pair.a.members, &pair.b.members)
}

/// Seeds of which one group has a run and the other its extension, or both have extensions of one run: what happened in
/// one happened in the other.
fn continued_trainings(pair: &Pair<'_>) -> usize {
    let a: Vec<Part<'_>> = pair.a.members.iter().map(|it| Part::new(it.run, it.seed)).collect();
    let related = |member: &&Member<'_>| {
        let own = Part::new(member.run, member.seed);
        a.iter().any(|other| own.is_related(other))
    };
    pair.b.members.iter().filter(related).count()
}

/// A verdict in sentences.
fn describe(found: Verdict, scores: &PairScores<'_>, pair: &Pair<'_>) -> Described {
    let mut said = Described::new(found, scores.names);
    if continued_trainings(pair) > 0 {
        said.only_paired();
    }
    say_forced(&mut said, pair);
    said
}

/// Says what a forced verdict ignores.
fn say_forced(said: &mut Described, pair: &Pair<'_>) {
    if pair.differences.is_empty() {
        return;
    }
    let list: Vec<String> =
        pair.differences.iter().map(|difference| difference.sentence(&pair.b.id)).collect();
    let forced = format!("Forced, although the groups are not comparable: {}.", list.join("; "));
    said.statements.insert(1, forced);
}

fn share_sentence(holm: &Holm) -> String {
    let level = if holm.level < 1e-3 { format!("{:.1e}", holm.level) } else { format!("{:.4}", holm.level) };
    format!(
        "One of {} comparisons with A: each direction is tested at level {level}, corrected for multiple comparisons \
         (Holm; adjusted p = {:.4}).",
        holm.comparisons, holm.adjusted_p
    )
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
