//! The story of a score over one or several seeds.
//!
//! Events are found seed by seed and put together afterwards; phases are those
//! of the interquartile mean over the seeds. The final score of a seed is its
//! last point; a failed seed's is worse than that of any other (the same rule
//! as in `verdict`), never left out.

use serde::Serialize;

use super::Statement;
use super::phase::directed;
use super::sentences::sentences;
use crate::statistics::aggregate::median;
use crate::statistics::course::{
    Course, Drawdown, Onset, Phase, Reach, Start, differ, drawdown, onset, phases, reach, start,
};
use crate::statistics::curves::{Options as CurveOptions, SeedCurve, aggregate};
use crate::statistics::final_scores::{Final, finals};

/// One seed's curve of the score.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedCourse {
    pub seed: u64,
    /// Its label in sentences: `seed 3`, with its run where needed.
    pub label: String,
    /// The score over the steps; more is better.
    pub course: Course,
    /// Standard errors of single points, from their own episodes; may be empty.
    pub errors: Course,
    /// Its training ended before it was done.
    pub failed: bool,
}

/// What is scored, and what it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Kind of the records, such as `eval`.
    pub kind: String,
    pub metric: String,
    /// The level from which the environment counts as solved.
    pub threshold: Option<f64>,
    /// An untrained policy.
    pub baseline: Option<Baseline>,
}

/// The score of a random policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// Mean return.
    pub mean: f64,
    pub standard_error: f64,
    /// Episodes played.
    pub episodes: usize,
}

/// The best point of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Best {
    pub step: u64,
    pub value: f64,
}

/// What is known of one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeedStory {
    pub seed: u64,
    /// Its label in sentences.
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
    /// Noise of one point, as a standard deviation.
    pub noise: Option<f64>,
    /// The same at the first point, where learners vary most.
    pub first_noise: Option<f64>,
    /// The same of the difference between the best point and the last.
    pub best_noise: Option<f64>,
    /// The same of the largest fall.
    pub fall_noise: Option<f64>,
    /// The level that learning has to leave.
    pub start: Option<Start>,
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

/// Everything that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    pub seeds: Vec<SeedStory>,
    /// Phases of the interquartile mean over the seeds.
    pub phases: Vec<Phase>,
    /// The final scores; none when no seed has one.
    pub result: Option<Final>,
    /// The sentences, in the order to read them.
    pub statements: Vec<Statement>,
}

pub fn tell(subject: &Subject, seeds: &[SeedCourse]) -> Story {
    let stories: Vec<SeedStory> = seeds.iter().map(|seed| story_of(subject, seed)).collect();
    let together = fold(seeds);
    let phases = directed(phases(&together), &together);
    let last: Vec<f64> = stories
        .iter()
        .map(|story| story.last.filter(|_| !story.failed).map_or(f64::NAN, |last| last.value))
        .collect();
    let result = finals(&last);
    let mut told = Story { seeds: stories, phases, result, statements: Vec::new() };
    told.statements = sentences(subject, &told, &last, together.range());
    told
}

/// The seeds as one course: their interquartile mean, or the only seed's own
/// points.
pub fn fold(seeds: &[SeedCourse]) -> Course {
    if let [one] = seeds {
        return one.course.clone();
    }
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
        .with_not_finite(seeds.iter().map(|seed| seed.course.not_finite()).sum())
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
    // The noise of the first point itself counts: later ones may vary far more.
    let first_noise = first.and_then(|first| error_at(first.step)).or(course.noise());
    let top = best(course.highest());
    let fall = drawdown(course);
    let scale = first_noise.unwrap_or(0.0);
    let began_before_first = match (subject.baseline, first) {
        (Some(random), Some(first)) => {
            let ahead = first.value - random.mean;
            // A policy that has learned nothing is not quite the random one either.
            let whole = last.map_or(0.0, |last| last.value - random.mean);
            let clearly = ahead > 3.0 * random.standard_error.hypot(scale) && ahead > 0.1 * whole;
            clearly && differ(first.value, random.mean)
        }
        _ => false,
    };
    let from = subject.baseline.map(|random| random.mean).or(first.map(|first| first.value));
    let gain = from.zip(last).map(|(from, last)| (from, last.value - from));
    // A gain within the noise, or that readers don't see, has no half.
    let gain = gain.filter(|(from, gain)| *gain > 2.0 * scale && *gain > 0.0 && differ(*from, from + gain));
    let part = |share: f64| gain.and_then(|(from, gain)| reach(course, from + share * gain));
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
        start: start(course, scale),
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
