//! The sentences of a story, each written from the claims that it carries.

mod doubt;
mod learning;
mod levels;
mod result;

use super::claim::{Claim, Over, Statistic};
use super::tell::{SeedStory, Story, Subject};
use super::{Statement, Topic, phase};
use crate::statistics::aggregate::median;
use crate::statistics::course::{Phase, PhaseKind};

/// What all sentences share.
struct Teller<'a> {
    subject: &'a Subject,
    story: &'a Story,
    /// Final scores, NaN for failed seeds.
    finals: &'a [f64],
    seeds: Vec<u64>,
    /// First and last step of any seed.
    span: (u64, u64),
    /// Distance from the lowest to the highest value of the curve.
    range: f64,
    /// Median noise of one point of one seed.
    noise: Option<f64>,
}

pub(super) fn sentences(subject: &Subject, story: &Story, finals: &[f64], range: f64) -> Vec<Statement> {
    let firsts = story.seeds.iter().filter_map(|seed| seed.first.map(|point| point.step));
    let lasts = story.seeds.iter().filter_map(|seed| seed.last.map(|point| point.step));
    let noises: Vec<f64> = story.seeds.iter().filter_map(|seed| seed.noise).collect();
    let teller = Teller {
        subject,
        story,
        finals,
        seeds: story.seeds.iter().map(|seed| seed.seed).collect(),
        span: (firsts.min().unwrap_or(0), lasts.max().unwrap_or(0)),
        range,
        noise: (!noises.is_empty()).then(|| median(&noises)),
    };
    let mut told = Vec::new();
    if story.seeds.iter().any(|seed| seed.last.is_some()) {
        told.extend(teller.result());
        told.extend(teller.baseline());
        told.extend(teller.onset());
        told.extend(teller.phases());
        told.extend(teller.gains());
        told.extend(teller.threshold());
        told.extend(teller.best());
        told.extend(teller.drop());
        told.extend(teller.seeds());
    }
    told.extend(teller.unknown());
    told
}

impl Teller<'_> {
    fn statement(
        &self,
        topic: Topic,
        span: (u64, u64),
        claims: impl IntoIterator<Item = Claim>,
        text: String,
    ) -> Statement {
        Statement::new(topic, (&self.subject.kind, &self.subject.metric), span, &self.seeds, text)
            .claiming(claims)
    }

    /// A claim about all points.
    fn claim(&self, over: Over, statistic: Statistic, value: f64) -> Claim {
        Claim::new(over, statistic, self.span, value)
    }

    /// What a point of the curve is called.
    fn point(&self) -> &'static str {
        if self.subject.kind == "eval" { "evaluation" } else { "point" }
    }

    /// Seeds that have points.
    fn alive(&self) -> Vec<&SeedStory> {
        self.story.seeds.iter().filter(|seed| seed.first.is_some()).collect()
    }

    fn phases(&self) -> Vec<Statement> {
        let whose = if self.seeds.len() > 1 { " (interquartile mean)" } else { "" };
        let phases = &self.story.phases;
        let last_fall = phases.iter().rposition(|phase| phase.kind == PhaseKind::Fall);
        let say = |(index, found): (usize, &Phase)| {
            let span = (found.from_step, found.to_step);
            let claims = phase::claims(found, self.range);
            let told = self.statement(Topic::Phase, span, claims, phase::sentence(found, whose));
            if Some(index) == last_fall { told.in_short(phase::fall_in_short(found)) } else { told }
        };
        phases.iter().enumerate().map(say).collect()
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Median, lowest and highest of some steps.
fn middle(steps: impl Iterator<Item = u64>) -> (u64, u64, u64) {
    let steps: Vec<f64> = steps.map(|step| step as f64).collect();
    let (first, last) = ends(&steps);
    (median(&steps) as u64, first as u64, last as u64)
}
