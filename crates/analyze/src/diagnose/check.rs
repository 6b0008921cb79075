//! Inputs and outputs of a rule's code.

use rlxp_types::text::{self, four_digits};

use super::curve::{Curve, Point, finite, span, tail};
use super::evidence::{Evidence, SeedEvidence, Series};
use super::outcome::{Citation, Severity};
use super::rules::{Condition, Rule, RuleSet};

/// Upper bound on a reported strength.
const MOST: f64 = 1e9;

/// A rule at work on a run.
pub(crate) struct Check<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) rules: &'a RuleSet,
    pub(crate) evidence: &'a Evidence<'a>,
}

/// Why a rule has no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Missing {
    /// The run lacks something.
    Data(String),
    /// The rule is about something else.
    Scope(String),
}

/// What a rule saw.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) severity: Severity,
    /// A sentence that names metric, steps, value and threshold.
    pub(crate) sentence: String,
    pub(crate) citations: Vec<Citation>,
    /// At least 1.
    pub(crate) strength: f64,
    /// One seed is enough, regardless of the others.
    pub(crate) event: bool,
    /// Whether the rule's excuses count.
    pub(crate) excusable: bool,
    /// Config keys that are the probable cause.
    pub(crate) keys: Vec<String>,
    /// Worth knowing, but not a problem: nothing causes it and nothing should change because of it.
    pub(crate) fine: bool,
    /// Whether it may be the cause of what other rules find.
    pub(crate) explains: bool,
    /// Seeds are counted together only where their sentences say the same.
    pub(crate) kind: &'static str,
    /// What it means, where the rule's general words would be false.
    pub(crate) meaning: Option<&'static str>,
}

/// A rule's result for one seed, or for all.
pub(crate) type Found = Result<Vec<Hit>, Missing>;

impl Hit {
    /// A hit about one metric over a range of steps.
    pub(crate) fn new(severity: Severity, sentence: String, citation: Citation) -> Self {
        let strength = strength(citation.value, citation.threshold);
        Self {
            severity,
            sentence,
            citations: vec![citation],
            strength,
            event: false,
            excusable: true,
            keys: Vec::new(),
            fine: false,
            explains: true,
            kind: "",
            meaning: None,
        }
    }

    pub(crate) fn event(mut self) -> Self {
        self.event = true;
        self
    }

    pub(crate) fn inexcusable(mut self) -> Self {
        self.excusable = false;
        self
    }

    pub(crate) fn with(mut self, citation: Citation) -> Self {
        self.citations.push(citation);
        self
    }

    pub(crate) fn naming(mut self, key: &str) -> Self {
        self.keys.push(key.to_owned());
        self
    }

    pub(crate) fn fine(mut self, fine: bool) -> Self {
        self.fine = fine;
        self
    }

    /// An observation next to other findings, not their cause.
    pub(crate) fn aside(mut self) -> Self {
        self.explains = false;
        self
    }

    pub(crate) fn kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn meaning(mut self, meaning: impl Into<Option<&'static str>>) -> Self {
        self.meaning = meaning.into();
        self
    }

    pub(crate) fn strong(mut self, strength: f64) -> Self {
        self.strength = bounded(strength);
        self
    }
}

/// How far a value lies beyond its threshold, whichever side that is.
fn strength(value: f64, threshold: Option<f64>) -> f64 {
    let Some(threshold) = threshold else { return 1.0 };
    let (small, large) = (value.abs().min(threshold.abs()), value.abs().max(threshold.abs()));
    bounded(large / small)
}

fn bounded(strength: f64) -> f64 {
    if strength.is_nan() { MOST } else { strength.clamp(1.0, MOST) }
}

/// A seed with its return curve.
pub(crate) struct SeedView<'a> {
    pub(crate) data: &'a SeedEvidence<'a>,
    pub(crate) reading: Reading,
}

/// The return curve of a seed; `None` where there are too few points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) curve: Option<Curve>,
    pub(crate) at_target: Option<bool>,
    pub(crate) improved: Option<bool>,
    pub(crate) improving: Option<bool>,
    /// Whether it was once well above the untrained baseline.
    pub(crate) was_good: bool,
    /// The lower of its initial value and the untrained baseline.
    pub(crate) ground: f64,
    target_known: bool,
}

impl Reading {
    /// Evaluations where there are enough; otherwise the training return, in
    /// the unit of evaluations.
    pub(crate) fn for_seed(seed: &SeedEvidence<'_>, evidence: &Evidence<'_>, rules: &RuleSet) -> Self {
        let points = |metric: &str| seed.series.get(metric).map(finite).unwrap_or_default();
        let evaluated = Curve::new("eval.mean_return", points("eval.mean_return"), rules);
        let curve = evaluated.map(|curve| curve.with_noise_of(&seed.evaluations)).or_else(|| {
            let factor = evidence.settings.reward_factor;
            let mut training = points("train.mean_return");
            if factor != 0.0 && factor.is_finite() {
                training.iter_mut().for_each(|(_, value)| *value /= factor);
            }
            Curve::new("train.mean_return", training, rules)
        });
        let target = evidence.environment.reward_threshold;
        let Some(curve) = curve else { return Self { target_known: target.is_some(), ..Self::default() } };
        let (first, end, best) = (curve.first(), curve.end(), curve.best());
        let floor = evidence.best_baseline().map(|baseline| baseline.mean);
        let learned = |level: f64| match evidence.learned_from(rules) {
            Some(bound) => level >= bound && floor.is_some_and(|floor| level > floor),
            None => level > first && level - first > rules.common("improved_noise") * curve.noise,
        };
        let lowest = floor.map_or(first, |floor| floor.min(first));
        let near_best = end >= best - rules.common("near_best_share") * (best - lowest);
        let improved = near_best && learned(end);
        let window =
            tail(&curve.points, rules.common("window_share"), rules.common("window_points") as usize);
        let improving = super::curve::rise(window)
            .is_some_and(|(rise, noise)| rise > 0.0 && rise > rules.common("rising_noise") * noise);
        let tolerance = rules.common("target_tolerance");
        // A return within its noise of the target has reached it.
        let reachable = target.or(evidence.environment.good_return);
        let at_the_top = evidence.environment.return_range.is_some_and(|(_, top)| end >= top);
        let near = |target: f64| end >= target - (tolerance * target.abs()).max(curve.noise);
        let at_target = if at_the_top { Some(true) } else { reachable.map(near) };
        Self {
            at_target,
            improved: Some(improved),
            improving: Some(improving),
            was_good: learned(best),
            ground: lowest,
            target_known: target.is_some(),
            curve: Some(curve),
        }
    }

    /// Whether a condition holds; `None` when unknown.
    pub(crate) fn holds(&self, condition: Condition) -> Option<bool> {
        match condition {
            Condition::AtTarget => self.at_target,
            Condition::Improved => self.improved,
            Condition::Improving => self.improving,
            Condition::ImprovedWithoutTarget => self.improved.map(|improved| improved && !self.target_known),
        }
    }
}

impl<'a> Check<'a> {
    /// The finite points of a metric, if there are as many as the rule needs.
    pub(crate) fn points(&self, seed: &SeedView<'_>, metric: &str) -> Result<Vec<Point>, Missing> {
        self.enough(metric, finite(series(seed, metric)?))
    }

    /// `points`, if there are as many as the rule needs.
    pub(crate) fn enough(&self, metric: &str, points: Vec<Point>) -> Result<Vec<Point>, Missing> {
        let minimum = self.rule.minimum_points;
        if points.len() < minimum {
            return Err(Missing::Data(format!(
                "{metric} has {} of the {minimum} points needed",
                points.len()
            )));
        }
        Ok(points)
    }

    /// The learning curve.
    pub(crate) fn curve<'s>(&self, seed: &'s SeedView<'_>) -> Result<&'s Curve, Missing> {
        let minimum = (self.rules.common("curve_points") as usize).max(self.rule.minimum_points);
        seed.reading.curve.as_ref().filter(|curve| curve.points.len() >= minimum).ok_or_else(|| {
            Missing::Data(format!(
                "neither eval.mean_return nor train.mean_return has at least {minimum} points"
            ))
        })
    }

    /// The step at which a share of the budget is used up.
    pub(crate) fn budget(&self, share: f64) -> f64 {
        self.evidence.settings.total_steps as f64 * share
    }

    /// The last part of points, as the rules define their window.
    pub(crate) fn window<'p>(&self, points: &'p [Point]) -> &'p [Point] {
        tail(points, self.rules.common("window_share"), self.rules.common("window_points") as usize)
    }

    /// Points without those at which a schedule has nearly faded out: at the
    /// end of it small numbers are meant to be small.
    pub(crate) fn while_scheduled(
        &self,
        seed: &SeedView<'_>,
        points: Vec<Point>,
        schedule: &str,
        share: f64,
    ) -> Vec<Point> {
        let Ok(schedule) = series(seed, schedule) else { return points };
        let schedule = finite(schedule);
        let largest = schedule.iter().fold(0.0_f64, |largest, point| largest.max(point.1.abs()));
        let faded = |step: u64| {
            let after = schedule.partition_point(|point| point.0 <= step);
            after.checked_sub(1).is_some_and(|index| schedule[index].1.abs() < share * largest)
        };
        points.into_iter().filter(|point| !faded(point.0)).collect()
    }
}

/// A metric of a seed, if it was logged at all.
pub(crate) fn series<'s>(seed: &'s SeedView<'_>, metric: &str) -> Result<&'s Series<'s>, Missing> {
    match seed.data.series.get(metric) {
        Some(series) if !series.values.is_empty() => Ok(series),
        _ => Err(Missing::Data(format!("the run has no {metric} metric"))),
    }
}

pub(crate) fn cite(
    seed: &SeedView<'_>,
    metric: &str,
    points: &[Point],
    value: f64,
    threshold: f64,
) -> Citation {
    let (from_step, to_step) = span(points);
    Citation {
        metric: metric.to_owned(),
        seed: Some(seed.data.seed),
        from_step,
        to_step,
        value,
        threshold: Some(threshold),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{}%", four_digits((share * 1000.0).round() / 10.0))
}

/// Steps for a sentence: `steps 1,024 to 20,480`.
pub(crate) fn steps(points: &[Point]) -> String {
    let (from, to) = span(points);
    text::steps(from, to)
}

/// `1 update`, `12 updates`.
pub(crate) fn counted(count: f64, one: &str, many: &str) -> String {
    format!("{} {}", four_digits(count), if count == 1.0 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_well() {
        assert_eq!(percent(0.305), "30.5%");
    }

    #[test]
    fn strength_is_a_ratio_of_at_least_one() {
        assert_eq!(strength(0.1, Some(0.02)), 5.0);
        assert_eq!(strength(0.02, Some(0.1)), 5.0);
        assert_eq!(strength(0.0, Some(0.1)), MOST);
        assert_eq!(strength(f64::NAN, Some(1.0)), MOST.min(strength(f64::NAN, Some(1.0))));
        assert_eq!(strength(3.0, None), 1.0);
    }
}
