//! The story of a score over one or several seeds.
//!
//! Events are found seed by seed and put together afterwards; phases are those
//! of the interquartile mean over the seeds. The final score of a seed is its
//! last point; a failed seed's is worse than that of any other (the same rule
//! as in `verdict`), never left out.

use serde::Serialize;

use super::course::{Course, DEVIATION_OF_MEDIAN};
use super::marks::{Drawdown, Onset, Reach, Speed, drawdown, onset, reach, speed};
use super::phases::{Phase, PhaseKind, phases};
use super::sentences::sentences;
use super::{Statement, words};
use crate::aggregate::{Scores, median, variance};
use crate::bootstrap::{Plan, bootstrap_iqm};
use crate::curves::{BOOTSTRAP_SEEDS, Options as CurveOptions, SeedCurve, aggregate};
use crate::verdict::{Options, scored_arms};

/// Fewest seeds among which one can be called odd.
const FEWEST_FOR_ODD: usize = 4;
/// Robust deviations from the others that make a seed odd.
const ODD: f64 = 3.5;

/// One seed's curve of the score.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedCourse {
    /// The seed.
    pub seed: u64,
    /// What to call it in a sentence: `seed 3`, with its run where that is needed.
    pub label: String,
    /// The score over the steps; more is better.
    pub course: Course,
    /// Standard errors of single points, from their own episodes; may be empty.
    pub errors: Course,
    /// Its training ended before it was done.
    pub failed: bool,
}

/// What is scored, and what it can be held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Kind of the records, such as `eval`.
    pub kind: String,
    /// The metric.
    pub metric: String,
    /// The level from which the environment counts as solved.
    pub threshold: Option<f64>,
    /// A policy that has learned nothing.
    pub baseline: Option<Baseline>,
}

/// What a random policy gets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// Mean return.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Episodes played.
    pub episodes: usize,
}

/// The best point of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Its step.
    pub step: u64,
    /// Its value.
    pub value: f64,
}

/// What is known of one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeedStory {
    /// The seed.
    pub seed: u64,
    /// What to call it in a sentence.
    pub label: String,
    /// Its training ended before it was done.
    pub failed: bool,
    /// Points of the score.
    pub points: usize,
    /// Points that were not finite.
    pub not_finite: usize,
    /// The first point.
    pub first: Option<Best>,
    /// The best point, the earliest of equal ones.
    pub best: Option<Best>,
    /// The last point.
    pub last: Option<Best>,
    /// How far one point is off by chance, usually.
    pub noise: Option<f64>,
    /// The same at the first point, where learners vary most.
    pub first_noise: Option<f64>,
    /// The same of the difference between the best point and the last.
    pub best_noise: Option<f64>,
    /// The same of the largest fall.
    pub fall_noise: Option<f64>,
    /// Where learning began.
    pub onset: Option<Onset>,
    /// Whether the first point was already better than the baseline.
    pub began_before_first: bool,
    /// The largest fall from a peak.
    pub drawdown: Option<Drawdown>,
    /// When half, then nine tenths of the final gain, then the threshold, were reached.
    pub half: Option<Reach>,
    /// See `half`.
    pub nine_tenths: Option<Reach>,
    /// See `half`.
    pub threshold: Option<Reach>,
}

/// The final scores of several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Final {
    /// Seeds.
    pub seeds: usize,
    /// Of them failed, scored below every other.
    pub failed: usize,
    /// Interquartile mean.
    pub iqm: f64,
    /// Lower end of its 95% bootstrap interval, from five seeds on.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The lowest score.
    pub lowest: f64,
    /// The highest score.
    pub highest: f64,
    /// Sample deviation, from two seeds on.
    pub deviation: Option<f64>,
}

/// A seed unlike the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OddSeed {
    /// Its place in the list.
    pub index: usize,
    /// Its score.
    pub score: f64,
    /// Median of the others.
    pub median: f64,
    /// Its distance from that, in robust deviations of the others.
    pub deviations: f64,
}

/// Everything that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    /// Seed by seed.
    pub seeds: Vec<SeedStory>,
    /// Phases of the interquartile mean over the seeds.
    pub phases: Vec<Phase>,
    /// The steepest long rise.
    pub speed: Option<Speed>,
    /// The final scores; none when no seed has one.
    pub result: Option<Final>,
    /// The sentences, in the order to read them.
    pub statements: Vec<Statement>,
}

/// Tells the story of `seeds`.
pub fn tell(subject: &Subject, seeds: &[SeedCourse]) -> Story {
    let stories: Vec<SeedStory> = seeds.iter().map(|seed| story_of(subject, seed)).collect();
    let together = fold(seeds);
    let phases = phases(&together);
    let speed = phases
        .iter()
        .filter(|phase| phase.kind == PhaseKind::Rise)
        .max_by(|a, b| (a.to_value - a.from_value).total_cmp(&(b.to_value - b.from_value)))
        .and_then(|phase| speed(&together, phase.from_step, phase.to_step));
    let last: Vec<f64> = stories
        .iter()
        .map(|story| story.last.filter(|_| !story.failed).map_or(f64::NAN, |last| last.value))
        .collect();
    let result = finals(&last);
    let mut told = Story { seeds: stories, phases, speed, result, statements: Vec::new() };
    told.statements = sentences(subject, &told, &last);
    told
}

/// The seeds as one course: their interquartile mean.
pub fn fold(seeds: &[SeedCourse]) -> Course {
    let curves: Vec<SeedCurve> = seeds
        .iter()
        .map(|seed| SeedCurve {
            points: seed.course.points().iter().map(|(step, value)| (*step as f64, *value)).collect(),
            failed: seed.failed,
        })
        .collect();
    // No interval is needed here, so none is drawn.
    let options = CurveOptions { places: 1000, resamples: 1, ..CurveOptions::default() };
    let folded = aggregate(&curves, &options);
    Course::new(folded.points.iter().filter_map(|point| Some((point.x as u64, point.value?))))
}

fn story_of(subject: &Subject, seed: &SeedCourse) -> SeedStory {
    let course = &seed.course;
    let best = |point: Option<(u64, f64)>| point.map(|(step, value)| Best { step, value });
    let (first, last) = (best(course.first()), best(course.last()));
    let usual: Vec<f64> = seed.errors.points().iter().map(|(_, error)| *error).collect();
    let noise = larger(course.noise(), (!usual.is_empty()).then(|| median(&usual)));
    let error_at = |step: u64| {
        let place = seed.errors.points().binary_search_by_key(&step, |(at, _)| *at);
        place.ok().map(|place| seed.errors.points()[place].1)
    };
    let between = |a: u64, b: u64| {
        let errors = error_at(a).zip(error_at(b)).map(|(a, b)| a.hypot(b));
        larger(course.noise().map(|noise| noise * std::f64::consts::SQRT_2), errors)
    };
    // What the first point itself says counts: later ones may waver far more.
    let first_noise = first.and_then(|first| error_at(first.step)).or(course.noise());
    let top = best(course.highest());
    let fall = drawdown(course);
    let scale = first_noise.unwrap_or(0.0);
    let began_before_first = match (subject.baseline, first) {
        (Some(random), Some(first)) => {
            let ahead = first.value - random.mean;
            // A policy that has learned nothing is not quite the random one either.
            let whole = last.map_or(0.0, |last| last.value - random.mean);
            ahead > 3.0 * random.standard_error.hypot(scale) && ahead > 0.1 * whole
        }
        _ => false,
    };
    let start = subject.baseline.map(|random| random.mean).or(first.map(|first| first.value));
    let gain = start.zip(last).map(|(start, last)| (start, last.value - start));
    // A gain within the noise has no half.
    let gain = gain.filter(|(_, gain)| *gain > 2.0 * scale && *gain > 0.0);
    let part = |share: f64| gain.and_then(|(start, gain)| reach(course, start + share * gain));
    SeedStory {
        seed: seed.seed,
        label: seed.label.clone(),
        failed: seed.failed,
        points: course.len(),
        not_finite: course.not_finite(),
        first,
        best: top,
        last,
        noise,
        first_noise,
        best_noise: top.zip(last).and_then(|(top, last)| between(top.step, last.step)),
        fall_noise: fall.and_then(|fall| between(fall.from_step, fall.to_step)),
        onset: onset(course, scale),
        began_before_first,
        drawdown: fall,
        half: part(0.5),
        nine_tenths: part(0.9),
        threshold: subject.threshold.and_then(|level| reach(course, level)),
    }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Scores in which a failed seed (NaN) is worse than every other.
pub fn final_scores(scores: &[f64]) -> Vec<f64> {
    scored_arms(&[scores], &Options::default()).0.concat()
}

/// The final scores of several seeds, NaN for a failed one; none when no seed
/// has a score.
pub fn finals(scores: &[f64]) -> Option<Final> {
    let failed = scores.iter().filter(|score| !score.is_finite()).count();
    if failed == scores.len() {
        return None;
    }
    let scored = final_scores(scores);
    let together = Scores::single(&scored);
    let interval = (scored.len() >= BOOTSTRAP_SEEDS)
        .then(|| bootstrap_iqm(&together, &Plan { resamples: 2000, ..Plan::default() }));
    Some(Final {
        seeds: scored.len(),
        failed,
        iqm: together.iqm(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        lowest: scored.iter().copied().fold(f64::INFINITY, f64::min),
        highest: scored.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        deviation: Some(variance(&scored).sqrt()).filter(|deviation| deviation.is_finite()),
    })
}

/// The seed that lies farthest from the others, if it lies far: more than 3.5
/// robust deviations of the others and more than `noise` three times.
pub fn odd_seed(scores: &[f64], noise: f64) -> Option<OddSeed> {
    if scores.len() < FEWEST_FOR_ODD {
        return None;
    }
    let distance = |index: usize| {
        let others: Vec<f64> =
            scores.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, score)| *score).collect();
        let middle = median(&others);
        let apart: Vec<f64> = others.iter().map(|score| (score - middle).abs()).collect();
        let spread = (DEVIATION_OF_MEDIAN * median(&apart)).max(noise).max(1e-9 * middle.abs()).max(1e-12);
        let score = scores[index];
        OddSeed { index, score, median: middle, deviations: (score - middle) / spread }
    };
    let farthest = (0..scores.len())
        .map(distance)
        .reduce(|far, next| if next.deviations.abs() > far.deviations.abs() { next } else { far })?;
    let far = farthest.deviations.abs() > ODD && (farthest.score - farthest.median).abs() > 3.0 * noise;
    far.then_some(farthest)
}

/// `5 seeds` or `seed 3`.
pub(super) fn seeds_in_words(seeds: &[SeedStory]) -> String {
    match seeds {
        [one] => one.label.clone(),
        several => words::count(several.len(), "seed"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Topic;
    use super::*;

    fn subject() -> Subject {
        Subject { kind: "eval".into(), metric: "mean_return".into(), threshold: None, baseline: None }
    }

    fn seed(seed: u64, values: &[f64]) -> SeedCourse {
        let points = values.iter().enumerate().map(|(at, value)| (1000 * (at as u64 + 1), *value));
        SeedCourse {
            seed,
            label: format!("seed {seed}"),
            course: Course::new(points),
            errors: Course::default(),
            failed: false,
        }
    }

    fn text(story: &Story, topic: Topic) -> String {
        let of = story.statements.iter().filter(|statement| statement.topic == topic);
        of.map(|statement| statement.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn value(story: &Story, topic: Topic, name: &str) -> f64 {
        let of = story.statements.iter().find(|statement| statement.topic == topic);
        of.unwrap_or_else(|| panic!("no {topic:?}")).values[name]
    }

    const RISE: [f64; 20] = [
        0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0,
        100.0, 100.0, 100.0, 100.0,
    ];

    #[test]
    fn a_rise_is_told_with_its_numbers() {
        let told = tell(&Subject { threshold: Some(95.0), ..subject() }, &[seed(7, &RISE)]);
        assert_eq!(value(&told, Topic::Onset, "step"), 2000.0);
        assert!((value(&told, Topic::Speed, "per_10k_steps") - 100.0).abs() < 1e-9);
        let one = &told.seeds[0];
        assert_eq!(one.half, Some(Reach { level: 50.0, step: 6000, held: true }));
        assert_eq!(one.nine_tenths, Some(Reach { level: 90.0, step: 10_000, held: true }));
        assert_eq!(one.threshold, Some(Reach { level: 95.0, step: 11_000, held: true }));
        assert_eq!(one.drawdown, None);
        assert_eq!(told.result.unwrap().iqm, 100.0);
        // One seed: what can't be known is said.
        assert!(text(&told, Topic::Unknown).contains("one seed"), "{}", text(&told, Topic::Unknown));
        for statement in &told.statements {
            assert!(statement.from_step <= statement.to_step && statement.seeds == [7], "{statement:?}");
            assert!(!statement.values.is_empty(), "{statement:?}");
        }
    }

    #[test]
    fn a_flat_curve_has_not_learned_and_says_so() {
        let noisy: Vec<f64> = (0..20).map(|at| 20.0 + f64::from(at * 7 % 5)).collect();
        let told = tell(&subject(), &[seed(0, &noisy)]);
        assert!(text(&told, Topic::Onset).contains("No learning"), "{}", text(&told, Topic::Onset));
        assert_eq!(told.seeds[0].half, None);
        assert!(text(&told, Topic::Best).contains("smaller than"), "{}", text(&told, Topic::Best));
        assert_eq!(told.phases.len(), 1);
    }

    #[test]
    fn a_collapse_is_told() {
        let values = [&RISE[..], &[80.0, 50.0, 20.0, 5.0, 5.0, 5.0, 5.0]].concat();
        let told = tell(&subject(), &[seed(0, &values)]);
        let fall = told.phases.iter().find(|phase| phase.kind == PhaseKind::Fall).unwrap();
        assert!((5.0..20.0).contains(&fall.to_value) && fall.from_value > 80.0, "{fall:?}");
        assert_eq!(value(&told, Topic::Stability, "depth"), 95.0);
        assert!(
            text(&told, Topic::Stability).contains("never came back"),
            "{}",
            text(&told, Topic::Stability)
        );
        assert_eq!(value(&told, Topic::Best, "difference"), 95.0);
    }

    #[test]
    fn the_odd_seed_is_named_and_the_failed_one_scored() {
        let mut seeds: Vec<SeedCourse> =
            (0..5).map(|index| seed(index, &RISE.map(|value| value + index as f64))).collect();
        seeds[3] = seed(3, &RISE.map(|value| value / 10.0));
        let told = tell(&subject(), &seeds);
        assert!(text(&told, Topic::Seeds).contains("Seed 3 is the odd one"), "{}", text(&told, Topic::Seeds));
        let result = told.result.unwrap();
        assert_eq!((result.lowest, result.highest, result.failed), (10.0, 104.0, 0));
        assert_eq!(result.iqm, (100.0 + 101.0 + 102.0) / 3.0);
        assert!(result.low.unwrap() < result.iqm && result.high.unwrap() <= 104.0);
        seeds[3].failed = true;
        let told = tell(&subject(), &seeds);
        let result = told.result.unwrap();
        assert_eq!(result.failed, 1);
        assert!(result.lowest < 100.0, "{result:?}");
        assert!(text(&told, Topic::Seeds).contains("failed"), "{}", text(&told, Topic::Seeds));
    }

    #[test]
    fn a_random_policy_says_where_learning_began() {
        let random = Baseline { mean: -50.0, standard_error: 1.0, episodes: 50 };
        let told = tell(&Subject { baseline: Some(random), ..subject() }, &[seed(0, &RISE)]);
        assert!(text(&told, Topic::Onset).contains("before the first"), "{}", text(&told, Topic::Onset));
        assert_eq!(value(&told, Topic::Baseline, "difference"), 150.0);
        let poor = Baseline { mean: 200.0, ..random };
        let told = tell(&Subject { baseline: Some(poor), ..subject() }, &[seed(0, &RISE)]);
        assert!(text(&told, Topic::Baseline).contains("worse than"), "{}", text(&told, Topic::Baseline));
    }

    #[test]
    fn little_or_nothing_is_said_to_be_so() {
        let none = tell(&subject(), &[seed(0, &[])]);
        assert_eq!(none.result, None);
        assert!(text(&none, Topic::Unknown).contains("There is no finite"), "{:?}", none.statements);
        let broken = tell(&subject(), &[seed(0, &[f64::NAN; 6])]);
        assert!(
            text(&broken, Topic::Unknown).contains("6 points of eval mean_return are NaN"),
            "{:?}",
            broken.statements
        );
        let two = tell(&subject(), &[seed(0, &[1.0, 2.0])]);
        assert!(text(&two, Topic::Unknown).contains("2 points are too few"), "{:?}", two.statements);
        assert!(tell(&subject(), &[]).statements.iter().all(|statement| statement.topic == Topic::Unknown));
        let all_failed = tell(&subject(), &[SeedCourse { failed: true, ..seed(1, &[1.0, 2.0]) }]);
        assert_eq!(all_failed.result, None);
    }

    #[test]
    fn a_curve_at_its_ceiling_has_the_noise_of_its_episodes() {
        // Almost all points are alike, so only their episodes know of noise.
        let mut values = [100.0; 20];
        values[..4].copy_from_slice(&[10.0, 60.0, 45.0, 90.0]);
        let mut one = seed(0, &values);
        one.errors = Course::new((1..=20).map(|at| (1000 * at, if at <= 4 { 9.0 } else { 0.0 })));
        let told = tell(&subject(), &[one]);
        let found = &told.seeds[0];
        assert_eq!((found.noise, found.first_noise), (Some(0.0), Some(9.0)));
        // From 60 to 45 is 15 deep, and 9·√2 off by chance.
        assert_eq!(found.fall_noise, Some(162.0_f64.sqrt()));
        assert!(
            text(&told, Topic::Stability).contains("no more than noise"),
            "{}",
            text(&told, Topic::Stability)
        );
        assert!(text(&told, Topic::Unknown).contains("±9"), "{}", text(&told, Topic::Unknown));
    }

    #[test]
    fn odd_seeds_need_others_to_be_odd_among() {
        assert_eq!(odd_seed(&[1.0, 2.0, 90.0], 0.0), None);
        assert_eq!(odd_seed(&[1.0, 2.0, 3.0, 4.0], 0.0), None);
        assert_eq!(odd_seed(&[1.0, 1.0, 1.0, 1.0], 0.0), None);
        assert_eq!(odd_seed(&[1.0, 2.0, 3.0, 90.0], 0.0).map(|odd| (odd.index, odd.median)), Some((3, 2.0)));
        // Not when the noise is as large.
        assert_eq!(odd_seed(&[1.0, 2.0, 3.0, 90.0], 40.0), None);
    }
}
