//! Judges the pairs by their looks, and records new looks.

use rlxp_analyze::verdict::FEWEST_SEEDS;
use rlxp_types::text::shell_word;

use super::CompareRequest;
use super::judge::{Judged, Pair, judge, refusal};
use super::judgement::{Judgement, NoVerdict, Unjudged};
use super::looks::{Asked, MOST_LOOKS, OtherPlan, Place, Role, counts, place};
use super::questions::{About, Line, QuestionsFile, Remembered, asked};
use super::score::Score;
use crate::context::Context;
use crate::failure::{Failure, Outcome, describe};
use crate::select::project;

/// The judged pairs, and warnings about their looks.
pub(super) fn judged(
    context: &Context,
    request: &CompareRequest,
    score: &Score,
    pairs: &[Pair<'_>],
) -> Outcome<(Vec<Judged>, Vec<String>)> {
    if let Some(looks) = request.looks.filter(|looks| !(1..=MOST_LOOKS).contains(looks)) {
        let message = format!("--looks is {looks}: it must be between 1 and {MOST_LOOKS}");
        return Err(Failure::usage("out_of_range", message));
    }
    let mut warnings = Vec::new();
    let mut refusals: Vec<Option<Unjudged>> =
        pairs.iter().map(|pair| refusal(request, score, pair)).collect();
    let asked: Vec<Asked> = pairs.iter().map(|pair| asked(request, score, pair)).collect();
    let file = QuestionsFile::of(context, &project(context)?);
    let mut remembered = file.read(&mut warnings).unwrap_or_else(|why| {
        // Without the earlier looks, the level of this one is unknown.
        let none = |refusal: Option<Unjudged>| refusal.or_else(|| Some(looks_unknown(&why)));
        refusals = std::mem::take(&mut refusals).into_iter().map(none).collect();
        Remembered::default()
    });
    // Terminates: another process can only take as many looks as a question has.
    loop {
        let places = places(request, pairs, &refusals, &asked, &remembered)?;
        let mut judged = judge(request, score, pairs, &refusals, &places)?;
        let (lines, new) = new_looks(score, pairs, &asked, &places, &judged);
        if !request.record || lines.is_empty() {
            return Ok((judged, warnings));
        }
        match file.append(&remembered, &lines) {
            Ok(Ok(())) => {
                for index in new {
                    if let Some(look) = &mut judged[index].look {
                        look.recorded = true;
                    }
                }
                return Ok((judged, warnings));
            }
            Ok(Err(now)) => remembered = now,
            Err(error) => {
                warnings.push(format!(
                    "this look is not recorded, so it will not count when the question is asked again: {}",
                    describe(&error)
                ));
                return Ok((judged, warnings));
            }
        }
    }
}

fn looks_unknown(why: &str) -> Unjudged {
    let statements =
        vec!["No verdict: earlier looks at this question can't be read.".to_owned(), format!("{why}.")];
    Unjudged { verdict: None, reason: NoVerdict::LooksUnknown, seeds_needed: None, statements }
}

fn places(
    request: &CompareRequest,
    pairs: &[Pair<'_>],
    refusals: &[Option<Unjudged>],
    asked: &[Asked],
    remembered: &Remembered,
) -> Outcome<Vec<Place>> {
    let mut places = Vec::new();
    let mut others = Vec::new();
    // Two groups of one config are two looks at the same question, one after the other.
    let mut remembered = remembered.clone();
    for (index, (pair, refusal)) in pairs.iter().zip(refusals).enumerate() {
        let (before, asked) = (&asked[..index], &asked[index]);
        if let Some(same) = before.iter().position(|other| other == asked).and_then(|at| places.get(at)) {
            places.push(Place::clone(same));
            continue;
        }
        // A pair without a verdict has no look whose number could differ.
        let looks = request.looks.filter(|_| refusal.is_none());
        match place(remembered.of(asked), asked, looks) {
            Ok(place) => {
                if refusal.is_none() && asked.seeds.iter().all(|seeds| *seeds >= FEWEST_SEEDS) {
                    remembered.take(asked, &place);
                }
                places.push(place);
            }
            Err(OtherPlan { planned }) => others.push((pair, planned)),
        }
    }
    if others.is_empty() {
        return Ok(places);
    }
    let each: Vec<String> = others
        .iter()
        .map(|(pair, planned)| {
            let looks = if *planned == 1 { "1 look".to_owned() } else { format!("{planned} looks") };
            format!("{looks} for A and {}", pair.b.id)
        })
        .collect();
    let message = format!(
        "--looks can't change after the first look, which fixed the level of each; planned are {}",
        each.join(", ")
    );
    let words: Vec<String> = request.words.iter().map(|word| shell_word(word).into_owned()).collect();
    Err(Failure::usage("looks_are_planned", message)
        .hint(format!("drop --looks: rlx compare {}", words.join(" "))))
}

/// The looks that are not recorded yet, and their pairs: two groups may be the same trainings.
fn new_looks(
    score: &Score,
    pairs: &[Pair<'_>],
    asked: &[Asked],
    places: &[Place],
    judged: &[Judged],
) -> (Vec<Line>, Vec<usize>) {
    let (mut lines, mut new): (Vec<Line>, Vec<usize>) = (Vec::new(), Vec::new());
    for (index, one) in judged.iter().enumerate() {
        let (Role::Next { number }, Judgement::Judged(found)) = (places[index].role, &one.judgement) else {
            continue;
        };
        if !counts(&found.verdict) {
            continue;
        }
        if !new.iter().any(|other: &usize| asked[*other] == asked[index]) {
            let seeds_planned = one.look.and_then(|look| look.seeds_planned);
            let about = About::new(&pairs[index], score, found.verdict.verdict);
            let level = one.holm.map(|holm| holm.level);
            let planned = places[index].planned;
            lines.push(Line::new(&asked[index], (number, planned), (seeds_planned, level), about));
        }
        new.push(index);
    }
    (lines, new)
}
