//! Recomputes claims from the raw points, naively and without the code that
//! made them, and reads the numbers back from the sentences.

use std::collections::BTreeMap;

use crate::describe::story::*;
use crate::statistics::course::shown;
use crate::statistics::final_scores::{final_scores, finals};

/// One seed as it was logged: in any order, with steps that repeat and values
/// that are not finite.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) points: Vec<(u64, f64)>,
    /// Standard errors of the points.
    pub(super) errors: Vec<(u64, f64)>,
    pub(super) failed: bool,
}

impl Raw {
    fn clean(&self) -> Vec<(u64, f64)> {
        clean(&self.points)
    }
}

pub(super) fn courses(raws: &[Raw]) -> Vec<SeedCourse> {
    let course = |(seed, raw): (usize, &Raw)| SeedCourse {
        seed: seed as u64,
        label: format!("seed {seed}"),
        course: Course::new(raw.points.iter().copied()),
        errors: Course::new(raw.errors.iter().copied()),
        failed: raw.failed,
    };
    raws.iter().enumerate().map(course).collect()
}

fn clean(points: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let finite = points.iter().copied().filter(|(_, value)| value.is_finite());
    finite.collect::<BTreeMap<u64, f64>>().into_iter().collect()
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        return f64::NAN;
    }
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

fn iqm(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 4;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// The curve that phases are about.
fn curve(raws: &[Raw]) -> Vec<(u64, f64)> {
    let all: Vec<_> = raws.iter().map(Raw::clean).collect();
    if let [one] = all.as_slice() {
        return one.clone();
    }
    let steps = |points: &[(u64, f64)]| points.iter().map(|(step, _)| *step).collect::<Vec<_>>();
    let aligned = all.iter().all(|points| !points.is_empty() && steps(points) == steps(&all[0]));
    if !aligned || raws.iter().any(|raw| raw.failed) || all.is_empty() {
        // Where to read seeds that don't share their steps is tested in `curves`.
        return fold(&courses(raws)).points().to_vec();
    }
    let at = |index: usize| (all[0][index].0, iqm(all.iter().map(|points| points[index].1).collect()));
    (0..all[0].len()).map(at).collect()
}

fn noise(points: &[(u64, f64)]) -> Option<f64> {
    let beside = (1..points.len().saturating_sub(1)).map(|at| {
        let [(x0, y0), (x1, y1), (x2, y2)] = [points[at - 1], points[at], points[at + 1]];
        let share = (x1 - x0) as f64 / (x2 - x0) as f64;
        (y1 - (y0 + (y2 - y0) * share)).abs() / (1.0 + share.powi(2) + (1.0 - share).powi(2)).sqrt()
    });
    let noise = 1.482_602_218_505_602 * middle(beside.collect());
    let size = points.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
    (points.len() >= 4).then_some(if noise > 1e-12 * size { noise } else { 0.0 })
}

/// What a seed's noise is: at its first point, and usually.
fn noises(raw: &Raw) -> (Option<f64>, Option<f64>) {
    let (points, errors) = (raw.clean(), clean(&raw.errors));
    let first = points.first().and_then(|(at, _)| errors.iter().find(|(step, _)| step == at));
    let usual = (!errors.is_empty()).then(|| middle(errors.iter().map(|(_, error)| *error).collect()));
    let own = noise(&points);
    (first.map(|(_, error)| *error).or(own), [own, usual].into_iter().flatten().reduce(f64::max))
}

fn smoothed(points: &[(u64, f64)], at: usize) -> f64 {
    middle(points[at.saturating_sub(1)..(at + 2).min(points.len())].iter().map(|(_, value)| *value).collect())
}

fn initial(points: &[(u64, f64)]) -> Option<f64> {
    let head = &points[..(points.len() / 20).max(1).min(points.len())];
    (!head.is_empty()).then(|| head.iter().map(|(_, value)| value).sum::<f64>() / head.len() as f64)
}

fn onset(raw: &Raw) -> Option<f64> {
    let points = raw.clean();
    let head = (points.len() / 20).max(1);
    let start = initial(&points)?;
    let values = || points.iter().map(|(_, value)| *value);
    let range = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
    let by_noise = 2.0 * noises(raw).0.unwrap_or(0.0) * (1.0 + 1.0 / head as f64).sqrt();
    let above = |at: usize| {
        let value = smoothed(&points, at);
        value > start + by_noise.max(0.01 * range) && shown(value) != shown(start)
    };
    let found = (head..points.len()).find(|at| above(*at) && (at + 1 == points.len() || above(at + 1)));
    found.map(|at| points[at].0 as f64)
}

fn gain_step(raw: &Raw, claim: &Claim) -> Option<f64> {
    let points = raw.clean();
    let from = claim.high.or(points.first().map(|(_, value)| *value))?;
    let gain = points.last()?.1 - from;
    let clear = gain > 2.0 * noises(raw).0.unwrap_or(0.0) && gain > 0.0 && shown(from) != shown(from + gain);
    let level = from + claim.low? * gain;
    points.iter().find(|(_, value)| clear && *value >= level).map(|(step, _)| *step as f64)
}

/// A statistic of points that are in order and finite.
fn of_points(all: &[(u64, f64)], claim: &Claim) -> Option<f64> {
    let points: Vec<(u64, f64)> =
        all.iter().copied().filter(|(step, _)| (claim.from_step..=claim.to_step).contains(step)).collect();
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let (low, high) =
        (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max));
    let tenth = (points.len() / 10).max(1).min(points.len());
    let step_of = |value: f64| points.iter().find(|point| point.1 == value).map(|(step, _)| *step as f64);
    let (start, end) = (middle(values[..tenth].to_vec()), middle(values[values.len() - tenth..].to_vec()));
    let sees = |a: f64, b: f64| shown(a) != shown(b);
    Some(match claim.statistic {
        Statistic::Points => points.len() as f64,
        _ if points.is_empty() => return None,
        Statistic::First => values[0],
        Statistic::FirstStep => points[0].0 as f64,
        Statistic::Last => *values.last()?,
        Statistic::LastStep => points.last()?.0 as f64,
        Statistic::Lowest => low,
        Statistic::LowestStep => step_of(low)?,
        Statistic::Highest => high,
        Statistic::HighestStep => step_of(high)?,
        Statistic::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Statistic::Initial => initial(&points)?,
        Statistic::Start => start,
        Statistic::End => end,
        Statistic::Change => (end - start).abs(),
        Statistic::Rate => 1e4 * (end - start) / (points.last()?.0 - points[0].0) as f64,
        Statistic::CoreSpread => {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let outer = sorted.len() / 10;
            sorted[sorted.len() - 1 - outer] - sorted[outer]
        }
        Statistic::Inside => {
            let below = |value: f64| claim.low.is_some_and(|low| value < low && sees(value, low));
            let above = |value: f64| claim.high.is_some_and(|high| value > high && sees(value, high));
            values.iter().filter(|value| !below(**value) && !above(**value)).count() as f64
        }
        Statistic::Drop => {
            let falls =
                (0..values.len()).flat_map(|a| values[a..].iter().map(|b| values[a] - b).collect::<Vec<_>>());
            falls.fold(0.0, f64::max)
        }
        Statistic::ReachStep => points.iter().find(|(_, value)| *value >= claim.low.unwrap())?.0 as f64,
        Statistic::LowestSinceReach => {
            let first = values.iter().position(|value| *value >= claim.low.unwrap())?;
            values[first..].iter().copied().fold(f64::MAX, f64::min)
        }
        Statistic::Smoothed => smoothed(all, all.iter().position(|(step, _)| *step == claim.from_step)?),
        Statistic::Share => values.last()? / claim.high?,
        other => panic!("{other:?} isn't a statistic of points"),
    })
}

fn of_seed(raws: &[Raw], index: usize, claim: &Claim) -> Option<f64> {
    let raw = &raws[index];
    let last = |raw: &Raw| raw.clean().last().map(|(_, value)| *value).filter(|_| !raw.failed);
    match claim.statistic {
        Statistic::NotFinite => {
            Some(raw.points.iter().filter(|(_, value)| !value.is_finite()).count() as f64)
        }
        Statistic::Noise => noises(raw).1,
        Statistic::OnsetStep => onset(raw),
        Statistic::GainStep => gain_step(raw, claim),
        Statistic::FinishedLast => last(raw),
        Statistic::LastOfOthers => {
            let others = raws.iter().enumerate().filter(|(other, _)| *other != index);
            Some(middle(others.filter_map(|(_, raw)| last(raw)).collect()))
        }
        _ => of_points(&raw.clean(), claim),
    }
}

/// The value that a claim is about.
fn recomputed(raws: &[Raw], claim: &Claim) -> Option<f64> {
    let scores = || -> Vec<f64> {
        let score = |raw: &Raw| raw.clean().last().map_or(f64::NAN, |(_, value)| *value);
        raws.iter().map(|raw| if raw.failed { f64::NAN } else { score(raw) }).collect()
    };
    let seeds = || (0..raws.len()).filter_map(|index| of_seed(raws, index, claim)).collect::<Vec<f64>>();
    let is_step = matches!(
        claim.statistic,
        Statistic::ReachStep | Statistic::OnsetStep | Statistic::GainStep | Statistic::HighestStep
    );
    match (claim.over, claim.statistic) {
        (_, Statistic::Final) => Some(iqm(final_scores(&scores()))),
        (_, Statistic::FinalLow) => finals(&scores())?.low,
        (_, Statistic::FinalHigh) => finals(&scores())?.high,
        (Over::Curve, Statistic::NotFinite) => {
            Some(raws.iter().flat_map(|raw| &raw.points).filter(|(_, value)| !value.is_finite()).count()
                as f64)
        }
        (Over::Curve, _) => of_points(&curve(raws), claim),
        (Over::Seed(index), _) => of_seed(raws, index, claim),
        (Over::Median, _) if is_step => Some(middle(seeds()).floor()),
        (Over::Median, _) => Some(middle(seeds())),
        (Over::Iqm, _) => Some(iqm(seeds())),
        (Over::Lowest, _) => seeds().into_iter().reduce(f64::min),
        (Over::Highest, _) => seeds().into_iter().reduce(f64::max),
        (Over::Count, _) => {
            Some(seeds().iter().filter(|value| claim.is.is_none_or(|is| is.holds(**value))).count() as f64)
        }
    }
}

/// Says what is wrong with a claim.
fn wrong(raws: &[Raw], claim: &Claim) -> Option<String> {
    let Some(found) = recomputed(raws, claim) else { return Some(format!("no value for {claim:?}")) };
    // Sums may be taken in another order.
    let values = raws.iter().flat_map(|raw| &raw.points).map(|(_, value)| value.abs());
    let size = values.filter(|value| value.is_finite()).fold(found.abs(), f64::max);
    let near = (found - claim.value).abs() <= 1e-13 * size;
    if !claim.value.is_nan() && !near && found != claim.value {
        return Some(format!("{found} instead of {claim:?}"));
    }
    let compared = claim.is.filter(|_| claim.over != Over::Count);
    compared.filter(|is| !is.holds(found)).map(|_| format!("{found} isn't as claimed: {claim:?}"))
}

/// Numbers in a text, and whether each follows a `±`.
fn numbers(text: &str) -> Vec<(f64, bool)> {
    let letters: Vec<char> = text.chars().collect();
    let digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if !digit(at) {
            at += 1;
            continue;
        }
        let begin = at;
        while digit(at)
            || (letters.get(at).is_some_and(|c| ",.e".contains(*c)) && digit(at + 1))
            || (letters.get(at) == Some(&'e') && letters.get(at + 1) == Some(&'-') && digit(at + 2))
            || (letters.get(at) == Some(&'-') && letters[at - 1] == 'e' && digit(at + 1))
        {
            at += 1;
        }
        let digits: String = letters[begin..at].iter().filter(|c| **c != ',').collect();
        let before = |back: usize| begin.checked_sub(back).map(|at| letters[at]);
        let sign = if before(1) == Some('-') { -1.0 } else { 1.0 };
        let number = digits.parse::<f64>().unwrap_or_else(|_| panic!("{digits:?} in {text:?}"));
        found.push((sign * number, before(1) == Some('±') || before(2) == Some('±')));
    }
    found
}

/// Checks that every number in a text is one of its claims, as it is shown.
fn check_text(text: &str, statement: &Statement, known: &[f64], noises: &[f64]) {
    let mut plain = text.to_owned();
    for fixed in ["10,000 steps", "95% interval", ", 90%", "at least 5 seeds"] {
        plain = plain.replace(fixed, "");
    }
    for label in (0..20).rev() {
        plain = plain.replace(&format!("eed {label}"), "");
    }
    let mut allowed: Vec<f64> = known.to_vec();
    allowed.extend([statement.from_step as f64, statement.to_step as f64]);
    for claim in &statement.claims {
        let exact = [claim.from_step as f64, claim.to_step as f64, claim.value];
        let mut close = vec![claim.value];
        close.extend([claim.low, claim.high].into_iter().flatten());
        if let Some(is) = claim.is {
            close.extend([is.than, (claim.value - is.than).abs()]);
        }
        if claim.statistic == Statistic::Share {
            close.push((100.0 * claim.value).round());
        }
        if claim.statistic == Statistic::Inside {
            let points = statement.value(Statistic::Points).unwrap_or(f64::NAN);
            allowed.push(points - claim.value);
        }
        allowed.extend(exact);
        allowed.extend(close.into_iter().map(shown));
    }
    for (number, is_noise) in numbers(&plain) {
        let among = |values: &[f64]| values.iter().any(|value| shown(*value) == number || *value == number);
        assert!(among(if is_noise { noises } else { &allowed }), "{number} in {text:?}: {statement:#?}");
    }
}

/// Checks all statements about the same points: every claim holds, every
/// number in a sentence is a claim's, and no two claims contradict each other.
pub(super) fn check(raws: &[Raw], statements: &[Statement], known: &[f64], noises: &[f64]) {
    let mut values: BTreeMap<String, f64> = BTreeMap::new();
    for statement in statements {
        for claim in &statement.claims {
            if let Some(wrong) = wrong(raws, claim) {
                panic!("{:?}: {wrong}", statement.text);
            }
            if claim.over == Over::Count || claim.value.is_nan() {
                continue;
            }
            let Claim { over, statistic, from_step, to_step, low, high, .. } = claim;
            let about = format!("{over:?} {statistic:?} {from_step} {to_step} {low:?} {high:?}");
            let before = *values.entry(about).or_insert(claim.value);
            assert_eq!(before, claim.value, "two values of one thing: {:?}", statement.text);
        }
        let is_state = statement.topic == Topic::Seeds && statement.text.contains("failed");
        assert!(is_state || !statement.claims.is_empty(), "no claim: {:?}", statement.text);
        for text in std::iter::once(&statement.text).chain(&statement.short) {
            check_text(text, statement, known, noises);
        }
    }
}

/// Checks a story as a whole.
pub(super) fn check_story(subject: &Subject, raws: &[Raw]) -> Story {
    let story = tell(subject, &courses(raws));
    let mut known: Vec<f64> = vec![raws.len() as f64];
    let mut noises = Vec::new();
    if let Some(random) = subject.baseline {
        known.extend([shown(random.mean), random.episodes as f64]);
        noises.push(random.standard_error);
        let before = story.seeds.iter().filter(|seed| seed.began_before_first).count();
        known.push(before as f64);
    }
    let points = story.seeds.iter().map(|seed| seed.noise);
    noises.push(middle(points.flatten().collect()));
    noises.push(middle(story.seeds.iter().filter_map(|seed| seed.first_noise).collect()));
    noises.push(middle(story.seeds.iter().filter_map(|seed| seed.best_noise).collect()));
    noises.extend(story.seeds.iter().filter_map(|seed| seed.fall_noise));
    noises.extend(story.seeds.iter().filter_map(|seed| Some(seed.start?.margin)));
    check(raws, &story.statements, &known, &noises);
    check_phases(&story.phases);
    let says = |part: &str| story.statements.iter().any(|statement| statement.text.contains(part));
    let has = |kind: PhaseKind| story.phases.iter().any(|phase| phase.kind == kind);
    assert!(!(says("No learning is visible") && has(PhaseKind::Rise)), "{story:#?}");
    assert!(!(raws.len() == 1 && says("never decreased") && has(PhaseKind::Fall)), "{story:#?}");
    let short = |part: &str| {
        let mut shorts = story.statements.iter().filter_map(|statement| statement.short.as_ref());
        shorts.any(|short| short.contains(part))
    };
    assert!(
        !(short("at or above the environment's") && says("was not reached") && raws.len() == 1),
        "{story:#?}"
    );
    story
}

/// Phases follow each other, differ in what readers see, and keep to their own values.
pub(super) fn check_phases(phases: &[Phase]) {
    for pair in phases.windows(2) {
        assert!(pair[1].from_step >= pair[0].to_step, "{pair:#?}");
    }
    for phase in phases {
        let (from, to) = (shown(phase.from_value), shown(phase.to_value));
        match phase.kind {
            PhaseKind::Rise => assert!(from < to, "{phase:?}"),
            PhaseKind::Fall => assert!(from > to, "{phase:?}"),
            PhaseKind::Plateau | PhaseKind::Unsteady => {}
        }
        let (low, mean, high) = (shown(phase.lowest), shown(phase.mean), shown(phase.highest));
        assert!(low <= mean && mean <= high && low <= from.min(to) && from.max(to) <= high, "{phase:?}");
    }
}
