//! Describes a run's values of one metric and what they mean, with the same
//! claims as the story of its score.

use serde::Serialize;

use rlxp_types::text::{grouped, number, steps};

use super::{Direction, Entry, Expectation};
use crate::describe::story::phase::{claims, clause, directed};
use crate::describe::story::{
    Claim, Course, Glance, LEAST_CHANGE, Over, Phase, PhaseKind, Relation, Statement, Statistic, Topic,
    differ, phases, words,
};

/// A metric of a run, read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// A summary of the values; `None` when none is finite.
    pub glance: Option<Glance>,
    /// Rises, falls and plateaus.
    pub phases: Vec<Phase>,
    /// Share of the points inside the expected bounds, if there are bounds.
    pub inside: Option<f64>,
    pub statements: Vec<Statement>,
}

/// Most phases that a sentence lists.
const MOST_PHASES: usize = 5;

/// A metric's curve while its sentences are written.
struct Reader<'a> {
    entry: &'a Entry,
    name: &'a str,
    seeds: &'a [u64],
    course: &'a Course,
    glance: Glance,
    phases: &'a [Phase],
}

/// Reads the values of a metric. `name` is the logged name (`mean_3`), `seeds`
/// those that `course` was made of.
pub fn read(
    entry: &Entry,
    name: &str,
    course: &Course,
    expected: Option<&Expectation>,
    seeds: &[u64],
) -> Reading {
    let found = directed(phases(course), course);
    let Some(glance) = course.glance() else {
        let text = match course.not_finite() {
            0 => "No values.".to_owned(),
            1 => "The only value is NaN or infinite: training diverged.".to_owned(),
            count => format!("All {count} values are NaN or infinite: training diverged."),
        };
        let claim = Claim::new(Over::Curve, Statistic::NotFinite, (0, 0), course.not_finite() as f64);
        let told = Statement::new(Topic::Unknown, (&entry.kind, name), (0, 0), seeds, text).claiming([claim]);
        return Reading { glance: None, phases: found, inside: None, statements: vec![told] };
    };
    let reader = Reader { entry, name, seeds, course, glance, phases: &found };
    let mut told = Vec::new();
    told.extend(reader.not_finite());
    told.push(reader.values());
    told.extend(reader.meaning());
    told.extend(expected.and_then(|expected| reader.share(expected)));
    let bounds = expected.and_then(|expected| reader.bounds(expected));
    let inside = bounds.as_ref().map(|(share, _)| *share);
    told.extend(bounds.map(|(_, statement)| statement));
    Reading { glance: Some(glance), phases: found, inside, statements: told }
}

impl Reader<'_> {
    fn span(&self) -> (u64, u64) {
        (self.glance.from_step, self.glance.to_step)
    }

    fn claim(&self, statistic: Statistic, value: f64) -> Claim {
        Claim::new(Over::Curve, statistic, self.span(), value)
    }

    fn statement(&self, topic: Topic, claims: impl IntoIterator<Item = Claim>, text: String) -> Statement {
        let place = (self.entry.kind.as_str(), self.name);
        Statement::new(topic, place, self.span(), self.seeds, text).claiming(claims)
    }

    fn not_finite(&self) -> Option<Statement> {
        let count = self.glance.not_finite;
        let values = if count == 1 { "value is" } else { "values are" };
        let claim = self.claim(Statistic::NotFinite, count as f64);
        let text = format!("{count} {values} NaN or infinite and left out.");
        (count > 0).then(|| self.statement(Topic::Unknown, [claim], text))
    }

    /// Both ends, the extremes and the phases.
    fn values(&self) -> Statement {
        let glance = &self.glance;
        let (from, to) = self.span();
        let (first, last) = (self.course.first(), self.course.last());
        let (first, last) = (first.map_or(f64::NAN, |point| point.1), last.map_or(f64::NAN, |point| point.1));
        let mut told = vec![
            self.claim(Statistic::First, first),
            self.claim(Statistic::Last, last),
            self.claim(Statistic::Lowest, glance.lowest),
            self.claim(Statistic::LowestStep, glance.lowest_step as f64),
            self.claim(Statistic::Highest, glance.highest),
            self.claim(Statistic::HighestStep, glance.highest_step as f64),
        ];
        if !differ(glance.lowest, glance.highest) {
            let text = if from == to {
                format!("{} at step {}.", number(first), grouped(from))
            } else {
                format!("{} from step {} to {}.", number(first), grouped(from), grouped(to))
            };
            return self.statement(Topic::Result, told, text);
        }
        let mut text = format!(
            "From {} at step {} to {} at step {}; lowest {} at step {}, highest {} at step {}.",
            number(first),
            grouped(from),
            number(last),
            grouped(to),
            number(glance.lowest),
            grouped(glance.lowest_step),
            number(glance.highest),
            grouped(glance.highest_step)
        );
        if self.phases.len() > 1 {
            let shown = &self.phases[..self.phases.len().min(MOST_PHASES)];
            told.extend(shown.iter().flat_map(|phase| claims(phase, self.course.range())));
            let more = self.phases.len() - shown.len();
            let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
            let list = shown.iter().map(clause).collect::<Vec<_>>().join(", ");
            text.push_str(&format!(" {}{rest}.", words::capital(&list)));
        }
        self.statement(Topic::Result, told, text)
    }

    /// What its change means; `None` where that is unknown or nothing changed.
    fn meaning(&self) -> Option<Statement> {
        let (start, end) = (self.glance.start, self.glance.end);
        if !differ(self.glance.lowest, self.glance.highest) {
            return None;
        }
        // Two or three points can't be distinguished from noise.
        let noise = self.glance.noise?;
        let change = end - start;
        let claims = [self.claim(Statistic::Start, start), self.claim(Statistic::End, end)];
        let moved = self.phases.iter().any(|phase| matches!(phase.kind, PhaseKind::Rise | PhaseKind::Fall));
        if !self.phases.is_empty() && !moved {
            return Some(self.statement(Topic::Policy, claims, "No clear trend.".to_owned()));
        }
        let least = LEAST_CHANGE * self.course.range();
        let (first, last) = (self.course.first()?.1, self.course.last()?.1);
        let by_noise = 2.0 * std::f64::consts::SQRT_2 * noise;
        if change.abs() <= least || !differ(start, end) {
            let whole = last - first;
            if whole.abs() > least.max(by_noise) && differ(first, last) {
                // The level of the first tenth hides a change within it; one at the very end may be a single value.
                return ((start - first).abs() > (end - last).abs()).then(|| self.early(first, last));
            }
            let distance = self.claim(Statistic::Change, change.abs());
            let near = distance.is(Relation::AtMost, least.max(change.abs()));
            let text = "It ends about where it started.".to_owned();
            return Some(self.statement(Topic::Policy, [near], text));
        }
        // Both ends are noisy; a single phase has been checked against noise already.
        if change.abs() <= by_noise && self.phases.len() != 1 {
            return None;
        }
        let (way, means, relation) = self.direction(change);
        // The first and the last value are shown too, and may lie the other way round.
        let levels = if (last - first) * change < 0.0 && differ(first, last) {
            let (start, end) = (number(start), number(end));
            format!(" from {start} to {end}, the medians of the first and the last tenth of its points")
        } else {
            String::new()
        };
        let claims = [claims[0], claims[1].is(relation, start)];
        Some(self.statement(Topic::Policy, claims, format!("{way}{levels}; {means}.")))
    }

    /// A change that is over within the first tenth of the points.
    fn early(&self, first: f64, last: f64) -> Statement {
        let (way, means, relation) = self.direction(last - first);
        let claims =
            [self.claim(Statistic::First, first), self.claim(Statistic::Last, last).is(relation, first)];
        let text = format!("{way} within the first tenth of its points; {means}.");
        self.statement(Topic::Policy, claims, text)
    }

    /// Words for a change: `Decreased (worse)` and `low values mean: ...`, and how its end compares with its start.
    fn direction(&self, change: f64) -> (String, String, Relation) {
        let (way, towards, means, relation) = if change > 0.0 {
            ("Increased", "high", &self.entry.high, Relation::Above)
        } else {
            ("Decreased", "low", &self.entry.low, Relation::Below)
        };
        let good = match (self.entry.direction, change > 0.0) {
            (Direction::Higher, true) | (Direction::Lower, false) => " (better)",
            (Direction::Higher, false) | (Direction::Lower, true) => " (worse)",
            (Direction::Neither, _) => "",
        };
        // The dictionary describes values, not changes: a small one may be far from there.
        (format!("{way}{good}"), format!("{towards} values mean: {means}"), relation)
    }

    /// The last value as a share of a whole.
    fn share(&self, expected: &Expectation) -> Option<Statement> {
        let whole = expected.whole.as_ref()?;
        let share = self.course.last()?.1 / whole.value;
        let claim = self.claim(Statistic::Share, share).within(None, Some(whole.value));
        let text = format!("It ends at {}% of {}.", number((100.0 * share).round()), whole.name);
        share.is_finite().then(|| self.statement(Topic::Result, [claim], text))
    }

    /// How much of the curve is inside the bounds, and where the rest is.
    fn bounds(&self, expected: &Expectation) -> Option<(f64, Statement)> {
        let (low, high) = (expected.low, expected.high);
        let range = match (low, high) {
            (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
            (Some(low), None) => format!("{} or more", number(low)),
            (None, Some(high)) => format!("{} or less", number(high)),
            (None, None) => return None,
        };
        // How far a value is outside; one that rounds to a bound is inside.
        let far = |value: f64| {
            let below = low.filter(|low| value < *low && differ(value, *low)).map_or(0.0, |low| low - value);
            let above = high.filter(|high| value > *high && differ(value, *high));
            below.max(above.map_or(0.0, |high| value - high))
        };
        let points = self.course.points();
        let out: Vec<(u64, f64)> = points.iter().copied().filter(|(_, value)| far(*value) > 0.0).collect();
        let inside = points.len() - out.len();
        let share = inside as f64 / points.len() as f64;
        let claims = [
            self.claim(Statistic::Inside, inside as f64).within(low, high),
            self.claim(Statistic::Points, points.len() as f64),
        ];
        let worst =
            out.iter().copied().reduce(|worst, next| if far(next.1) > far(worst.1) { next } else { worst });
        let Some((worst_step, worst)) = worst else {
            let text = format!("All {} points are in the expected range: {range}.", points.len());
            return Some((share, self.statement(Topic::Phase, claims, text)));
        };
        let (from, to) = (out[0].0, out[out.len() - 1].0);
        let little =
            expected.unless.as_ref().map_or(String::new(), |when| format!("; this matters little {when}"));
        let are = if out.len() == 1 { "is" } else { "are" };
        let text = format!(
            "{} of {} points {are} outside the expected range ({range}), at {}; the farthest is {} at step \
             {}{little}.",
            out.len(),
            points.len(),
            steps(from, to),
            number(worst),
            grouped(worst_step)
        );
        let at = Claim::new(Over::Curve, Statistic::First, (worst_step, worst_step), worst);
        let bound = match low.filter(|low| worst < *low) {
            Some(low) => at.is(Relation::Below, low),
            None => at.is(Relation::Above, high.unwrap_or(f64::NAN)),
        };
        let told = Statement { from_step: from, to_step: to, ..self.statement(Topic::Phase, claims, text) };
        Some((share, told.claiming([bound])))
    }
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
        assert!(said.contains("Decreased; low values mean: the policy is nearly deterministic"), "{said}");
        assert!(said.contains("All 20 points are in the expected range: 0.035 to 0.694."), "{said}");
        assert_eq!(found.inside, Some(1.0));
        // 0.12 of ln 2.
        assert!(said.contains("It ends at 17% of the maximum."), "{said}");
    }

    #[test]
    fn values_outside_their_bounds_are_counted_and_placed() {
        let found = entropy([0.6, 0.9, 0.6, 2.0, 0.6, 0.6]);
        assert!((found.inside.unwrap() - 4.0 / 6.0).abs() < 1e-12);
        let said = texts(&found);
        assert!(said.contains("2 of 6 points") && said.contains("at steps 1,000 to 3,000"), "{said}");
        assert!(said.contains("the farthest is 2 at step 3,000"), "{said}");
    }

    #[test]
    fn a_collapse_within_the_first_values_is_not_where_it_started() {
        let found = entropy((0..40).map(|at| if at == 0 { 0.011 } else { 1.43e-36 }));
        let said = texts(&found);
        assert!(!said.contains("where it started"), "{said}");
        assert!(said.contains("Decreased within the first tenth of its points"), "{said}");
        assert!(said.contains("40 of 40 points are outside the expected range"), "{said}");
        assert!(said.contains("this matters little once the return has risen"), "{said}");
    }

    #[test]
    fn a_change_against_the_shown_ends_names_its_levels() {
        let values = (0..40).map(|at| match at {
            0 => -2.92e-4,
            1..=8 => 0.412 - 0.03 * f64::from(at),
            _ => 0.0,
        });
        let course = Course::new(values.enumerate().map(|(at, value)| (1000 * at as u64, value)));
        let entry = entry("train", "explained_variance").unwrap();
        let said = texts(&read(entry, "explained_variance", &course, None, &[0]));
        assert!(said.contains("From -2.92e-4 at step 0 to 0"), "{said}");
        assert!(said.contains("Decreased (worse) from 0.337 to 0, the medians of the first"), "{said}");
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
        assert!(texts(&noisy).contains("No clear trend"), "{}", texts(&noisy));
    }
}
