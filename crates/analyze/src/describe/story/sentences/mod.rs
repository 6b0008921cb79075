//! The sentences of a story.

mod doubt;
mod levels;

use rlxp_types::text::{grouped, number, steps};

use super::tell::{SeedStory, Story, Subject};
use super::words::list;
use super::{Statement, Topic};
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
    /// Median noise of one point of one seed.
    noise: Option<f64>,
}

pub(super) fn sentences(subject: &Subject, story: &Story, finals: &[f64]) -> Vec<Statement> {
    let firsts = story.seeds.iter().filter_map(|seed| seed.first.map(|point| point.step));
    let lasts = story.seeds.iter().filter_map(|seed| seed.last.map(|point| point.step));
    let noises: Vec<f64> = story.seeds.iter().filter_map(|seed| seed.noise).collect();
    let teller = Teller {
        subject,
        story,
        finals,
        seeds: story.seeds.iter().map(|seed| seed.seed).collect(),
        span: (firsts.min().unwrap_or(0), lasts.max().unwrap_or(0)),
        noise: (!noises.is_empty()).then(|| median(&noises)),
    };
    let mut told = Vec::new();
    if story.seeds.iter().any(|seed| seed.last.is_some()) {
        told.extend(teller.result());
        told.extend(teller.baseline());
        told.push(teller.onset());
        told.extend(teller.speed());
        told.extend(story.phases.iter().map(|phase| teller.phase(phase)));
        told.extend(teller.best());
        told.extend(teller.gains());
        told.extend(teller.threshold());
        told.extend(teller.stability());
        told.extend(teller.seeds());
    }
    told.extend(teller.unknown());
    told
}

impl Teller<'_> {
    fn statement(&self, topic: Topic, span: (u64, u64), text: String) -> Statement {
        Statement::new(topic, (&self.subject.kind, &self.subject.metric), span, &self.seeds, text)
    }

    fn labels(&self) -> Vec<&str> {
        self.story.seeds.iter().map(|seed| seed.label.as_str()).collect()
    }

    /// What a point of the curve is called.
    fn point(&self) -> &'static str {
        if self.subject.kind == "eval" { "evaluation" } else { "point" }
    }

    fn result(&self) -> Option<Statement> {
        let result = self.story.result?;
        let point = self.point();
        let at = grouped(self.span.1);
        let iqm = number(result.iqm);
        let text = match (result.seeds, result.low, result.high) {
            (1, ..) => format!("The last {point}, at step {at}, is {iqm} ({}).", list(&self.labels())),
            (seeds, Some(low), Some(high)) => format!(
                "The last {point} is {iqm} (interquartile mean over {seeds} seeds; 95% interval {} to {}).",
                number(low),
                number(high)
            ),
            (seeds, ..) => format!(
                "The last {point} is {iqm} (interquartile mean over {seeds} seeds, which range from {} to \
                 {}; an interval needs at least 5 seeds).",
                number(result.lowest),
                number(result.highest)
            ),
        };
        let values = [("iqm", result.iqm), ("lowest", result.lowest), ("highest", result.highest)];
        let interval = [("low", result.low), ("high", result.high)];
        let interval = interval.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Some(self.statement(Topic::Result, (self.span.1, self.span.1), text).with(values).with(interval))
    }

    fn baseline(&self) -> Option<Statement> {
        let (random, result) = (self.subject.baseline?, self.story.result?);
        let difference = result.iqm - random.mean;
        let error = random.standard_error.hypot(self.noise.unwrap_or(0.0));
        let compared = if difference.abs() <= 2.0 * error {
            format!("the last {} is no better than random", self.point())
        } else if difference > 0.0 {
            format!("the last {} is better by {}", self.point(), number(difference))
        } else {
            format!("the last {} is worse by {}", self.point(), number(-difference))
        };
        let text = format!(
            "A random policy gets {} ± {} ({} episodes): {compared}.",
            number(random.mean),
            number(random.standard_error),
            random.episodes
        );
        let values = [("random", random.mean), ("standard_error", random.standard_error)];
        Some(
            self.statement(Topic::Baseline, (self.span.1, self.span.1), text)
                .with(values)
                .with([("difference", difference), ("noise", error)]),
        )
    }

    fn onset(&self) -> Statement {
        let point = self.point();
        let alive: Vec<&SeedStory> = self.story.seeds.iter().filter(|seed| seed.first.is_some()).collect();
        let before = alive.iter().filter(|seed| seed.began_before_first).count();
        let firsts: Vec<f64> = alive.iter().filter_map(|seed| seed.first).map(|first| first.value).collect();
        let start = median(&firsts);
        if let (Some(random), true) = (self.subject.baseline, 2 * before > alive.len()) {
            let text = format!(
                "Learning began before the first {point} at step {}: it is already {} there, against {} \
                 for a random policy{}.",
                grouped(self.span.0),
                number(start),
                number(random.mean),
                if before < alive.len() {
                    format!(" ({before} of {} seeds)", alive.len())
                } else {
                    String::new()
                }
            );
            return self.statement(Topic::Onset, (self.span.0, self.span.0), text).with([
                ("start", start),
                ("random", random.mean),
                ("step", self.span.0 as f64),
            ]);
        }
        let found: Vec<_> = alive.iter().filter_map(|seed| seed.onset).collect();
        if found.is_empty() {
            let noise = self.noise.unwrap_or(f64::NAN);
            let margin = if noise.is_nan() { String::new() } else { format!(" (noise ±{})", number(noise)) };
            let text = format!(
                "No learning is visible: over {}, no {point} stayed above the initial {} and its \
                 noise{margin}.",
                steps(self.span.0, self.span.1),
                number(start)
            );
            return self.statement(Topic::Onset, self.span, text).with([("start", start), ("noise", noise)]);
        }
        let at: Vec<f64> = found.iter().map(|onset| onset.step as f64).collect();
        let (first, last) = ends(&at);
        let middle = median(&at);
        let value = median(&found.iter().map(|onset| onset.value).collect::<Vec<_>>());
        let margin = median(&found.iter().map(|onset| onset.margin).collect::<Vec<_>>());
        let range = if first == last {
            "the same in each".to_owned()
        } else {
            format!("from {} to {}", grouped(first as u64), grouped(last as u64))
        };
        let over = match (found.len(), alive.len()) {
            (1, 1) => String::new(),
            (found, all) if found == all => format!(" (median of {all} seeds, {range})"),
            (1, all) => format!(" (the only one of {all} seeds that learned)"),
            (found, all) => format!(" (median of the {found} of {all} seeds that learned, {range})"),
        };
        let text = format!(
            "Learning began at step {}{over}: the smoothed {point} there is {}, more than {} above its \
             initial {}.",
            grouped(middle as u64),
            number(value),
            number(margin),
            number(start)
        );
        self.statement(Topic::Onset, (first as u64, last as u64), text).with([
            ("step", middle),
            ("value", value),
            ("start", start),
            ("margin", margin),
            ("seeds", found.len() as f64),
        ])
    }

    fn speed(&self) -> Option<Statement> {
        let speed = self.story.speed?;
        let range = match (speed.low, speed.high) {
            (Some(low), Some(high)) => format!(" (95% range {} to {})", number(low), number(high)),
            _ => ", too few points for a range".to_owned(),
        };
        let text = format!(
            "The fastest rise was over {}: {} per 10,000 steps{range}.",
            steps(speed.from_step, speed.to_step),
            number(speed.slope)
        );
        let span = (speed.from_step, speed.to_step);
        let ends = [("low", speed.low), ("high", speed.high)];
        let ends = ends.into_iter().filter_map(|(name, end)| Some((name, end?)));
        Some(self.statement(Topic::Speed, span, text).with([("per_10k_steps", speed.slope)]).with(ends))
    }

    fn phase(&self, phase: &Phase) -> Statement {
        let over = steps(phase.from_step, phase.to_step);
        let (from, to) = (number(phase.from_value), number(phase.to_value));
        let text = match phase.kind {
            PhaseKind::Rise => format!("Rise over {over}, from {from} to {to}."),
            PhaseKind::Fall => format!("Fall over {over}, from {from} to {to}."),
            PhaseKind::Plateau if phase.lowest == phase.highest => format!("Plateau over {over}, at {from}."),
            PhaseKind::Plateau => format!(
                "Plateau over {over}, around {} (between {} and {}).",
                number(phase.mean),
                number(phase.lowest),
                number(phase.highest)
            ),
        };
        self.statement(Topic::Phase, (phase.from_step, phase.to_step), text).with([
            ("from", phase.from_value),
            ("to", phase.to_value),
            ("mean", phase.mean),
            ("lowest", phase.lowest),
            ("highest", phase.highest),
        ])
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
