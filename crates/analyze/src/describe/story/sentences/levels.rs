//! What the score reached and lost again.

use rlxp_types::text::{grouped, number};

use super::super::claim::{Claim, Over, Relation, Statistic};
use super::super::tell::SeedStory;
use super::super::{Statement, Topic};
use super::{Teller, ends, middle};
use crate::statistics::aggregate::median;
use crate::statistics::course::{Reach, differ};
use crate::statistics::selection::expected_maximum;

impl Teller<'_> {
    pub(super) fn best(&self) -> Option<Statement> {
        let alive = self.alive();
        let pairs: Vec<_> = alive.iter().filter_map(|seed| seed.best.zip(seed.last)).collect();
        let points = alive.iter().map(|seed| seed.points).max()?;
        let best = median(&pairs.iter().map(|(best, _)| best.value).collect::<Vec<_>>());
        let last = median(&pairs.iter().map(|(_, last)| last.value).collect::<Vec<_>>());
        let (_, first_step, last_step) = middle(pairs.iter().map(|(best, _)| best.step));
        let point = self.point();
        let what = match pairs.len() {
            1 => format!("The best {point} is {} at step {}", number(best), grouped(first_step)),
            seeds => format!(
                "The median best {point} over {seeds} seeds is {} (at {})",
                number(best),
                rlxp_types::text::steps(first_step, last_step)
            ),
        };
        let noise = median(&alive.iter().filter_map(|seed| seed.best_noise).collect::<Vec<_>>());
        let luck = self.noise.unwrap_or(f64::NAN) * expected_maximum(points.min(100_000) as u32);
        let difference = best - last;
        let is_last = pairs.iter().all(|(best, last)| best.step == last.step);
        let by_luck = luck.max(2.0 * noise);
        let lower = format!("the last one, {}, is lower by {}", number(last), number(difference));
        let compared = match () {
            () if is_last => ", and it is the last one".to_owned(),
            () if !differ(best, last) => "; the last one is as good".to_owned(),
            () if noise.is_nan() => format!("; {lower}, with unknown noise"),
            () if difference <= by_luck => {
                format!("; {lower}, which noise explains (±{} between two {point}s)", number(noise))
            }
            () => format!("; {lower}, more than noise explains (±{} between two {point}s)", number(noise)),
        };
        let median_last = self.claim(Over::Median, Statistic::Last, last);
        let claims = [
            self.claim(Over::Median, Statistic::Highest, best),
            self.claim(Over::Lowest, Statistic::HighestStep, first_step as f64),
            self.claim(Over::Highest, Statistic::HighestStep, last_step as f64),
            self.claim(Over::Count, Statistic::First, pairs.len() as f64),
            if differ(best, last) { median_last.is(Relation::Below, best) } else { median_last },
        ];
        let text = format!("{what}{compared}.");
        Some(self.statement(Topic::Best, (first_step, self.span.1), claims, text))
    }

    pub(super) fn gains(&self) -> Option<Statement> {
        let mut claims = Vec::new();
        let random = self.subject.baseline.map(|random| random.mean);
        let mut part = |share: f64, pick: fn(&SeedStory) -> Option<Reach>| {
            let reached: Vec<Reach> = self.story.seeds.iter().filter_map(pick).collect();
            let level = reached.first()?.level;
            let (step, first, last) = middle(reached.iter().map(|reach| reach.step));
            let steps = [(Over::Median, step), (Over::Lowest, first), (Over::Highest, last)];
            claims.extend(steps.map(|(over, step)| {
                self.claim(over, Statistic::GainStep, step as f64).within(Some(share), random)
            }));
            if self.seeds.len() > 1 {
                let range = if first == last {
                    String::new()
                } else {
                    format!(" ({} to {})", grouped(first), grouped(last))
                };
                return Some((format!(" was reached by step {}{range}", grouped(step)), reached.len()));
            }
            let reach = self.claim(Over::Seed(0), Statistic::ReachStep, step as f64);
            claims.push(reach.within(Some(level), None));
            Some((format!(" (to {}) was reached by step {}", number(level), grouped(step)), 1))
        };
        let ((half, seeds), (most, _)) = (part(0.5, |seed| seed.half)?, part(0.9, |seed| seed.nine_tenths)?);
        let whose = match (seeds, self.seeds.len()) {
            (_, 1) => String::new(),
            (1, all) => format!("; only 1 of {all} seeds gained clearly"),
            (seeds, all) => format!("; medians of {seeds} of {all} seeds"),
        };
        let text = format!("Half of the final gain{half}, 90%{most}{whose}.");
        let gained = self.claim(Over::Count, Statistic::GainStep, seeds as f64).within(Some(0.5), random);
        Some(self.statement(Topic::Reach, self.span, claims, text).claiming([gained]))
    }

    pub(super) fn threshold(&self) -> Option<Statement> {
        let level = self.subject.threshold?;
        let name = format!("The environment's threshold, {},", number(level));
        let all = self.seeds.len();
        let reached: Vec<Reach> = self.story.seeds.iter().filter_map(|seed| seed.threshold).collect();
        let count =
            self.claim(Over::Count, Statistic::Highest, reached.len() as f64).is(Relation::AtLeast, level);
        if reached.is_empty() {
            let highest: Vec<f64> =
                self.alive().iter().filter_map(|seed| seed.best).map(|best| best.value).collect();
            let (_, highest) = ends(&highest);
            let by = if differ(highest, level) {
                String::new()
            } else {
                format!(", by {}", number(level - highest))
            };
            let text =
                format!("{name} was not reached{by}; the highest {} is {}.", self.point(), number(highest));
            let claim = self.claim(Over::Highest, Statistic::Highest, highest).is(Relation::Below, level);
            return Some(self.statement(Topic::Reach, self.span, [count, claim], text));
        }
        let claim = |over, statistic, value| self.claim(over, statistic, value).within(Some(level), None);
        let (step, first, last) = middle(reached.iter().map(|reach| reach.step));
        let held = reached.iter().filter(|reach| reach.held).count();
        let claims = [
            count,
            claim(Over::Median, Statistic::ReachStep, step as f64),
            claim(Over::Lowest, Statistic::ReachStep, first as f64),
            claim(Over::Highest, Statistic::ReachStep, last as f64),
            claim(Over::Count, Statistic::LowestSinceReach, held as f64).is(Relation::AtLeast, level),
        ];
        let text = if all == 1 {
            let kept = match (held, step == self.span.1) {
                (_, true) => format!("by the last {}", self.point()),
                (1, _) => "and the score never fell below it again".to_owned(),
                _ => "but the score fell below it again".to_owned(),
            };
            format!("{name} was reached at step {}, {kept}.", grouped(step))
        } else {
            let steps = if first == last {
                format!("at step {}", grouped(step))
            } else {
                format!("at median step {} ({} to {})", grouped(step), grouped(first), grouped(last))
            };
            let kept = match (held, reached.len()) {
                (0, 1) => "it fell below it again".to_owned(),
                (1, 1) => "it never fell below it again".to_owned(),
                (0, _) => "all of them fell below it again".to_owned(),
                (held, _) => format!("{held} never fell below it again"),
            };
            format!("{name} was reached by {} of {all} seeds, {steps}; {kept}.", reached.len())
        };
        Some(self.statement(Topic::Reach, (first, self.span.1), claims, text))
    }

    /// The largest drop of any seed.
    pub(super) fn drop(&self) -> Option<Statement> {
        let point = self.point();
        let deepest = self
            .story
            .seeds
            .iter()
            .enumerate()
            .filter_map(|(index, seed)| Some((index, seed, seed.drawdown?)))
            .reduce(|deep, next| if next.2.depth > deep.2.depth { next } else { deep });
        let Some((index, seed, fall)) = deepest else {
            let who = if self.seeds.len() > 1 { "No seed" } else { "The score never" };
            let verb = if self.seeds.len() > 1 { "ever decreased" } else { "decreased" };
            let text = format!("{who} {verb} from one {point} to the next.");
            let enough = self.story.seeds.iter().any(|seed| seed.points > 1);
            let claim = self.claim(Over::Count, Statistic::Drop, 0.0).is(Relation::Above, 0.0);
            return enough.then(|| self.statement(Topic::Stability, self.span, [claim], text));
        };
        let at = |statistic, step, value| Claim::new(Over::Seed(index), statistic, (step, step), value);
        let mut claims = vec![
            self.claim(Over::Highest, Statistic::Drop, fall.depth),
            self.claim(Over::Seed(index), Statistic::Drop, fall.depth),
            at(Statistic::First, fall.from_step, fall.peak),
            at(Statistic::First, fall.to_step, fall.trough),
        ];
        let whose = if self.seeds.len() > 1 { format!(" ({})", seed.label) } else { String::new() };
        let span = (fall.from_step, fall.to_step);
        if !differ(fall.peak, fall.trough) {
            let text =
                format!("The largest drop{whose} is {}, at {}.", number(fall.depth), number(fall.peak));
            return Some(self.statement(Topic::Stability, span, claims, text));
        }
        let noise = seed.fall_noise.unwrap_or(f64::NAN);
        // The largest of many differences is about three standard deviations by chance.
        let luck = if fall.depth <= 3.0 * noise {
            let times = if fall.depth <= noise { "" } else { "three times " };
            format!(
                ", within {times}the noise between two {point}s (±{}), so it may be chance",
                number(noise)
            )
        } else {
            String::new()
        };
        let after = (fall.to_step, self.span.1);
        let back = match fall.recovered {
            Some(step) => {
                claims.push(at(Statistic::First, step, f64::NAN).is(Relation::AtLeast, fall.peak));
                format!("it was made up for by step {}", grouped(step))
            }
            None => {
                let rest = Claim::new(Over::Seed(index), Statistic::Highest, after, f64::NAN);
                claims.push(rest.is(Relation::Below, fall.peak));
                "it was never made up for".to_owned()
            }
        };
        let text = format!(
            "The largest drop{whose} is {}, from {} at step {} to {} at step {}{luck}; {back}.",
            number(fall.depth),
            number(fall.peak),
            grouped(fall.from_step),
            number(fall.trough),
            grouped(fall.to_step)
        );
        Some(self.statement(Topic::Stability, span, claims, text))
    }
}
