//! Describes a run's values of one metric and what they mean.

use serde::Serialize;

use rlxp_types::text::{grouped, number};

use super::{Direction, Entry, Expectation};
use crate::describe::story::{Course, Glance, Phase, PhaseKind, Statement, Topic, phases};

/// A metric of a run, read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// A summary of the values; `None` when none is finite.
    pub glance: Option<Glance>,
    /// Rises, plateaus and falls.
    pub phases: Vec<Phase>,
    /// Share of the points inside the expected bounds, if there are bounds.
    pub inside: Option<f64>,
    pub statements: Vec<Statement>,
}

/// Most phases that a sentence lists.
const MOST_PHASES: usize = 5;

/// Reads the values of a metric. `name` is the logged name (`mean_3`), `seeds`
/// those that `course` was made of.
pub fn read(
    entry: &Entry,
    name: &str,
    course: &Course,
    expected: Option<&Expectation>,
    seeds: &[u64],
) -> Reading {
    let place = (entry.kind.as_str(), name);
    let mut told = Vec::new();
    let found = phases(course);
    let Some(glance) = course.glance() else {
        let text = match course.not_finite() {
            0 => "No values.".to_owned(),
            1 => "The only value is NaN or infinite: training diverged.".to_owned(),
            count => format!("All {count} values are NaN or infinite: training diverged."),
        };
        let statement = Statement::new(Topic::Unknown, place, (0, 0), seeds, text);
        told.push(statement.with([("not_finite", course.not_finite() as f64)]));
        return Reading { glance: None, phases: found, inside: None, statements: told };
    };
    let span = (glance.from_step, glance.to_step);
    if glance.not_finite > 0 {
        let count = glance.not_finite;
        let values = if count == 1 { "value is" } else { "values are" };
        let text = format!("{count} {values} NaN or infinite and left out.");
        let statement = Statement::new(Topic::Unknown, place, span, seeds, text);
        told.push(statement.with([("not_finite", glance.not_finite as f64)]));
    }
    told.push(Statement::new(Topic::Result, place, span, seeds, course_in_words(&glance, &found)).with([
        ("start", glance.start),
        ("end", glance.end),
        ("lowest", glance.lowest),
        ("highest", glance.highest),
    ]));
    if let Some(text) = meaning(entry, &glance, &found) {
        let statement = Statement::new(Topic::Policy, place, span, seeds, text);
        told.push(statement.with([("start", glance.start), ("end", glance.end)]));
    }
    if let Some(whole) = expected.and_then(|expected| expected.whole.as_ref()) {
        let share = glance.end / whole.value;
        let text = format!("It ends at {:.0}% of {}.", 100.0 * share, whole.name);
        let statement = Statement::new(Topic::Result, place, (glance.to_step, glance.to_step), seeds, text);
        told.push(statement.with([("end", glance.end), ("whole", whole.value), ("share", share)]));
    }
    let inside = expected.and_then(|expected| {
        let (share, statement) = bounds(course, expected, place, seeds)?;
        told.push(statement);
        Some(share)
    });
    Reading { glance: Some(glance), phases: found, inside, statements: told }
}

fn course_in_words(glance: &Glance, phases: &[Phase]) -> String {
    if glance.lowest == glance.highest {
        let at = if glance.points == 1 { "at" } else { "from" };
        let until =
            if glance.points == 1 { String::new() } else { format!(" to {}", grouped(glance.to_step)) };
        return format!("{} {at} step {}{until}.", number(glance.lowest), grouped(glance.from_step));
    }
    let mut text = format!(
        "From {} to {} over steps {} to {}; lowest {} at step {}, highest {} at step {}.",
        number(glance.start),
        number(glance.end),
        grouped(glance.from_step),
        grouped(glance.to_step),
        number(glance.lowest),
        grouped(glance.lowest_step),
        number(glance.highest),
        grouped(glance.highest_step)
    );
    if phases.len() > 1 {
        let shown: Vec<String> = phases.iter().take(MOST_PHASES).map(phase_in_words).collect();
        let more = phases.len().saturating_sub(MOST_PHASES);
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        text.push_str(&format!(" {}{rest}.", capital(&shown.join(", "))));
    }
    text
}

fn phase_in_words(phase: &Phase) -> String {
    match phase.kind {
        PhaseKind::Plateau => format!("around {} until {}", number(phase.mean), grouped(phase.to_step)),
        PhaseKind::Rise => format!("up to {} until {}", number(phase.to_value), grouped(phase.to_step)),
        PhaseKind::Fall => format!("down to {} until {}", number(phase.to_value), grouped(phase.to_step)),
    }
}

/// What its change means; `None` when it hardly changed.
fn meaning(entry: &Entry, glance: &Glance, phases: &[Phase]) -> Option<String> {
    let moved = phases.iter().any(|phase| phase.kind != PhaseKind::Plateau);
    let change = glance.end - glance.start;
    if glance.lowest == glance.highest {
        return None;
    }
    // Two or three points can't be distinguished from noise.
    let noise = glance.noise?;
    // Both ends are noisy.
    if change.abs() <= 2.0 * std::f64::consts::SQRT_2 * noise {
        return Some(format!("No change beyond noise (±{}) from start to end.", number(noise)));
    }
    if !phases.is_empty() && !moved {
        return Some("No clear trend.".to_owned());
    }
    let towards = if change > 0.0 { &entry.high } else { &entry.low };
    let good = match (entry.direction, change > 0.0) {
        (Direction::Higher, true) | (Direction::Lower, false) => " (better)",
        (Direction::Higher, false) | (Direction::Lower, true) => " (worse)",
        (Direction::Neither, _) => "",
    };
    let way = if change > 0.0 { "Increased" } else { "Decreased" };
    Some(format!("{way}{good}: {towards}."))
}

/// How much of the course is within the bounds, and on which side most of the rest is.
fn bounds(
    course: &Course,
    expected: &Expectation,
    place: (&str, &str),
    seeds: &[u64],
) -> Option<(f64, Statement)> {
    if expected.low.is_none() && expected.high.is_none() {
        return None;
    }
    let outside = |value: f64| {
        expected.low.is_some_and(|low| value < low) || expected.high.is_some_and(|high| value > high)
    };
    let points = course.points();
    let out: Vec<(u64, f64)> = points.iter().copied().filter(|(_, value)| outside(*value)).collect();
    let share = 1.0 - out.len() as f64 / points.len() as f64;
    let (first, last) = (points.first()?.0, points.last()?.0);
    let range = match (expected.low, expected.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("{} or more", number(low)),
        (None, Some(high)) => format!("{} or less", number(high)),
        (None, None) => String::new(),
    };
    let ends = [("low", expected.low), ("high", expected.high)];
    let ends: Vec<(&'static str, f64)> =
        ends.iter().filter_map(|(name, end)| Some((*name, (*end)?))).collect();
    let (Some((from, _)), Some((to, _))) = (out.first(), out.last()) else {
        let text = format!("All {} points are in the expected range: {range}.", points.len());
        let statement = Statement::new(Topic::Phase, place, (first, last), seeds, text);
        return Some((share, statement.with(ends).with([("inside", share)])));
    };
    let far = |value: f64| {
        let below = expected.low.map_or(0.0, |low| low - value);
        below.max(expected.high.map_or(0.0, |high| value - high))
    };
    let worst =
        out.iter().copied().reduce(|worst, next| if far(next.1) > far(worst.1) { next } else { worst })?;
    let place_of = if from == to {
        format!("at step {}", grouped(*from))
    } else {
        format!("between steps {} and {}", grouped(*from), grouped(*to))
    };
    let little =
        expected.unless.as_ref().map_or(String::new(), |when| format!("; this matters little {when}"));
    let text = format!(
        "{} of {} points are outside the expected range ({range}), {place_of}; the farthest is {} at step \
         {}{little}.",
        out.len(),
        points.len(),
        number(worst.1),
        grouped(worst.0)
    );
    let statement = Statement::new(Topic::Phase, place, (*from, *to), seeds, text);
    Some((share, statement.with(ends).with([("inside", share), ("farthest", worst.1)])))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::here::tests::cart_pole;
    use super::super::{entry, expectation};
    use super::*;

    fn texts(reading: &Reading) -> String {
        reading.statements.iter().map(|statement| statement.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn entropy(values: impl IntoIterator<Item = f64>) -> Reading {
        let course = Course::new(values.into_iter().enumerate().map(|(at, value)| (1000 * at as u64, value)));
        let entry = entry("train", "entropy").unwrap();
        let expected = expectation("train", "entropy", &cart_pole());
        read(entry, "entropy", &course, expected.as_ref(), &[0])
    }

    #[test]
    fn a_falling_entropy_is_read_with_its_numbers() {
        let found = entropy((0..20).map(|at| 0.69 - 0.03 * f64::from(at)));
        let glance = found.glance.unwrap();
        assert!((glance.start - 0.675).abs() < 1e-9 && (glance.end - 0.135).abs() < 1e-9, "{glance:?}");
        let said = texts(&found);
        assert!(said.contains("Decreased: the policy is nearly deterministic"), "{said}");
        assert!(said.contains("All 20 points are in the expected range: 0.694 or less."), "{said}");
        assert_eq!(found.inside, Some(1.0));
        // 0.135 of ln 2.
        assert!(said.contains("It ends at 19% of the maximum."), "{said}");
    }

    #[test]
    fn values_outside_their_bounds_are_counted_and_placed() {
        let found = entropy([0.6, 0.9, 0.6, 2.0, 0.6, 0.6]);
        assert!((found.inside.unwrap() - 4.0 / 6.0).abs() < 1e-12);
        let said = texts(&found);
        assert!(said.contains("2 of 6 points") && said.contains("between steps 1,000 and 3,000"), "{said}");
        assert!(said.contains("the farthest is 2 at step 3,000"), "{said}");
    }

    #[test]
    fn odd_values_are_said_to_be_so() {
        assert!(texts(&entropy([])).contains("No values"));
        assert!(texts(&entropy([f64::NAN, f64::INFINITY])).contains("All 2 values are NaN"));
        assert!(texts(&entropy([0.5, f64::NAN])).contains("1 value is NaN"));
        assert!(texts(&entropy([0.5; 9])).contains("0.5 from step 0 to 8,000."));
        assert!(texts(&entropy([0.5])).contains("0.5 at step 0."));
        // Four points have no phases, but the change exceeds their noise.
        assert!(texts(&entropy([0.6, 0.5, 0.4, 0.3])).contains("Decreased"));
        assert!(!texts(&entropy([0.6, 0.3])).contains("Decreased"));
        let noisy = entropy((0..40).map(|at| 0.5 + 0.01 * f64::from(at * 7 % 5)));
        assert!(texts(&noisy).contains("No change beyond noise"), "{}", texts(&noisy));
    }
}
