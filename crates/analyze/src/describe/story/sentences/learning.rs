//! Where learning began.

use rlxp_types::text::{grouped, number, steps};

use super::super::claim::{Claim, Over, Relation, Statistic};
use super::super::tell::{Baseline, SeedStory};
use super::super::{Statement, Topic};
use super::{Teller, middle};
use crate::statistics::aggregate::median;
use crate::statistics::course::{Onset, PhaseKind};

impl Teller<'_> {
    pub(super) fn onset(&self) -> Option<Statement> {
        let alive = self.alive();
        let before = alive.iter().filter(|seed| seed.began_before_first).count();
        if let (Some(random), true) = (self.subject.baseline, 2 * before > alive.len()) {
            return Some(self.before_first(random, &alive, before));
        }
        if before > 0 {
            return Some(self.partly_before_first(&alive, before));
        }
        let found: Vec<Onset> = alive.iter().filter_map(|seed| seed.onset).collect();
        if let ([one], [_]) = (found.as_slice(), alive.as_slice()) {
            let at = (one.step, one.step);
            let over = self.first_alive();
            let claims = [
                self.claim(over, Statistic::OnsetStep, one.step as f64),
                Claim::new(over, Statistic::Smoothed, at, one.value)
                    .is(Relation::Above, one.start + one.margin),
                self.claim(over, Statistic::Initial, one.start),
            ];
            let text = format!(
                "Learning began at step {}: smoothed over three {}s, the score is {} there, above its initial \
                 {} by more than noise (±{}).",
                grouped(one.step),
                self.point(),
                number(one.value),
                number(one.start),
                number(one.margin)
            );
            return Some(self.statement(Topic::Onset, at, claims, text));
        }
        if found.is_empty() {
            return (self.span.0 < self.span.1).then(|| self.nowhere(&alive));
        }
        let (step, first, last) = middle(found.iter().map(|onset| onset.step));
        let range = match (found.len(), first == last) {
            (1, _) => String::new(),
            (_, true) => ", the same in each".to_owned(),
            (_, false) => format!(", from {} to {}", grouped(first), grouped(last)),
        };
        let whose = match (found.len(), alive.len()) {
            (found, all) if found == all => format!("median of {all} seeds{range}"),
            (1, all) => format!("the only one of {all} seeds that learned"),
            (found, all) => format!("median of the {found} of {all} seeds that learned{range}"),
        };
        let claims = [
            self.claim(Over::Median, Statistic::OnsetStep, step as f64),
            self.claim(Over::Lowest, Statistic::OnsetStep, first as f64),
            self.claim(Over::Highest, Statistic::OnsetStep, last as f64),
            self.claim(Over::Count, Statistic::OnsetStep, found.len() as f64),
            self.claim(Over::Count, Statistic::First, alive.len() as f64),
        ];
        let text = format!("Learning began at step {} ({whose}).", grouped(step));
        Some(self.statement(Topic::Onset, (first, last), claims, text))
    }

    /// The seed with points, of which there is one.
    fn first_alive(&self) -> Over {
        Over::Seed(self.story.seeds.iter().position(|seed| seed.first.is_some()).unwrap_or(0))
    }

    fn before_first(&self, random: Baseline, alive: &[&SeedStory], before: usize) -> Statement {
        let firsts: Vec<f64> = alive.iter().filter_map(|seed| seed.first).map(|first| first.value).collect();
        let value = median(&firsts);
        let (_, first, last) = middle(alive.iter().filter_map(|seed| seed.first).map(|first| first.step));
        let claims = [
            self.claim(Over::Median, Statistic::First, value).is(Relation::Above, random.mean),
            self.claim(Over::Lowest, Statistic::FirstStep, first as f64),
            self.claim(Over::Highest, Statistic::FirstStep, last as f64),
            self.claim(Over::Count, Statistic::First, alive.len() as f64),
        ];
        let is = if alive.len() > 1 { "its median is" } else { "it is" };
        let which = if before < alive.len() {
            format!(" in {before} of {} seeds", alive.len())
        } else {
            String::new()
        };
        let text = format!(
            "Learning began before the first {} ({}){which}: {is} already {} there, against {} for a random \
             policy.",
            self.point(),
            steps(first, last),
            number(value),
            number(random.mean)
        );
        self.statement(Topic::Onset, (first, last), claims, text)
    }

    /// Some seeds were better than the random policy from the start: their onset is only known to be earlier than
    /// that, so it has no place in a median.
    fn partly_before_first(&self, alive: &[&SeedStory], before: usize) -> Statement {
        let seeds = || self.story.seeds.iter().enumerate().filter(|(_, seed)| seed.first.is_some());
        let early: Vec<(usize, u64)> = seeds()
            .filter(|(_, seed)| seed.began_before_first)
            .filter_map(|(index, seed)| Some((index, seed.first?.step)))
            .collect();
        let late: Vec<(usize, u64)> = seeds()
            .filter(|(_, seed)| !seed.began_before_first)
            .filter_map(|(index, seed)| Some((index, seed.onset?.step)))
            .collect();
        let of = |steps: &[(usize, u64)]| {
            let (_, first, last) = middle(steps.iter().map(|(_, step)| *step));
            (first, last)
        };
        let ((first, last), others) = (of(&early), alive.len() - before);
        let the_others = if others == 1 { "the other" } else { "the others" };
        let rest = if late.is_empty() {
            format!("{the_others} never clearly left the initial score")
        } else {
            let (first, last) = of(&late);
            let some = if late.len() < others { "some of " } else { "" };
            format!("in {some}{the_others}, it began at {}", steps(first, last))
        };
        let claim = |statistic: Statistic| {
            move |(index, step): &(usize, u64)| self.claim(Over::Seed(*index), statistic, *step as f64)
        };
        let mut claims: Vec<Claim> = early.iter().map(claim(Statistic::FirstStep)).collect();
        claims.extend(late.iter().map(claim(Statistic::OnsetStep)));
        claims.push(self.claim(Over::Count, Statistic::First, alive.len() as f64));
        let text = format!(
            "Learning began before the first {} ({}) in {before} of {} seeds; {rest}.",
            self.point(),
            steps(first, last),
            alive.len()
        );
        let end = late.iter().map(|(_, step)| *step).fold(last, u64::max);
        self.statement(Topic::Onset, (first, end), claims, text)
    }

    fn nowhere(&self, alive: &[&SeedStory]) -> Statement {
        let mut claims = vec![self.claim(Over::Count, Statistic::OnsetStep, 0.0)];
        let rose = self.story.phases.iter().any(|phase| phase.kind == PhaseKind::Rise);
        let lead = if rose { "" } else { "No learning is visible: " };
        let point = self.point();
        let text = match alive {
            [SeedStory { start: Some(start), .. }] => {
                claims.push(self.claim(self.first_alive(), Statistic::Initial, start.value));
                let noise =
                    if start.margin > 0.0 { format!(" (±{})", number(start.margin)) } else { String::new() };
                let value = number(start.value);
                format!(
                    "{lead}no two smoothed {point}s in a row were above the initial {value} by more than noise{noise}"
                )
            }
            _ => format!(
                "{lead}in no seed were two smoothed {point}s in a row above the initial one by more than noise"
            ),
        };
        let text = format!("{} ({}).", super::super::words::capital(&text), steps(self.span.0, self.span.1));
        self.statement(Topic::Onset, self.span, claims, text)
    }
}
