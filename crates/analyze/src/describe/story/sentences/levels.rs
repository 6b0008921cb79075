//! What the score reached and lost again.

use rlxp_types::text::{grouped, number};

use super::super::tell::SeedStory;
use super::super::{Statement, Topic};
use super::{Teller, ends};
use crate::statistics::aggregate::median;
use crate::statistics::course::Reach;
use crate::statistics::selection::expected_maximum;

impl Teller<'_> {
    pub(super) fn best(&self) -> Option<Statement> {
        let pairs: Vec<_> =
            self.story.seeds.iter().filter_map(|seed| Some((seed.best?, seed.last?, seed.points))).collect();
        let differences: Vec<f64> = pairs.iter().map(|(best, last, _)| best.value - last.value).collect();
        let best: Vec<f64> = pairs.iter().map(|(best, ..)| best.value).collect();
        let last: Vec<f64> = pairs.iter().map(|(_, last, _)| last.value).collect();
        let at: Vec<f64> = pairs.iter().map(|(best, ..)| best.step as f64).collect();
        let (first_step, last_step) = ends(&at);
        let points = pairs.iter().map(|(.., points)| *points).max()?;
        let (best, last, difference) = (median(&best), median(&last), median(&differences));
        let point = self.point();
        let what = match pairs.len() {
            1 => format!("The best {point} is {} at step {}", number(best), grouped(first_step as u64)),
            seeds => format!(
                "The median best {point} over {seeds} seeds is {} (at steps {} to {})",
                number(best),
                grouped(first_step as u64),
                grouped(last_step as u64)
            ),
        };
        let noises: Vec<f64> = self.story.seeds.iter().filter_map(|seed| seed.best_noise).collect();
        let noise = median(&noises);
        let luck = self.noise.unwrap_or(f64::NAN) * expected_maximum(points.min(100_000) as u32);
        let is_last = pairs.iter().all(|(best, last, _)| best.step == last.step);
        let compared = if is_last {
            ", and it is the last one".to_owned()
        } else if difference <= 0.0 {
            "; the last one is as good".to_owned()
        } else if noise.is_nan() {
            format!("; the last one is lower by {}, with unknown noise", number(difference))
        } else if difference <= luck.max(2.0 * noise) {
            format!(
                "; the last one, {}, is lower by {}, which the best of {points} equally good ones would \
                 gain by luck (noise ±{})",
                number(last),
                number(difference),
                number(noise)
            )
        } else {
            format!(
                "; the last one, {}, is lower by {}, which is more than noise (±{})",
                number(last),
                number(difference),
                number(noise)
            )
        };
        Some(
            self.statement(Topic::Best, (first_step as u64, self.span.1), format!("{what}{compared}."))
                .with([("best", best), ("last", last), ("difference", difference), ("noise", noise)]),
        )
    }

    pub(super) fn gains(&self) -> Option<Statement> {
        let of = |pick: fn(&SeedStory) -> Option<Reach>| -> Vec<Reach> {
            self.story.seeds.iter().filter_map(pick).collect()
        };
        let (half, most) = (of(|seed| seed.half), of(|seed| seed.nine_tenths));
        if half.is_empty() || most.is_empty() {
            return None;
        }
        let middle = |reached: &[Reach]| {
            let at: Vec<f64> = reached.iter().map(|reach| reach.step as f64).collect();
            let levels: Vec<f64> = reached.iter().map(|reach| reach.level).collect();
            (median(&at), median(&levels), ends(&at))
        };
        let ((half_at, half_level, half_ends), (most_at, most_level, most_ends)) =
            (middle(&half), middle(&most));
        let range = |(first, last): (f64, f64)| {
            if half.len() == 1 {
                return String::new();
            }
            format!(" ({} to {})", grouped(first as u64), grouped(last as u64))
        };
        let whose =
            if half.len() == 1 { String::new() } else { format!("; medians of {} seeds", half.len()) };
        let text = format!(
            "Half of the final gain (to {}) was reached at step {}{}, 90% (to {}) at step {}{}{whose}.",
            number(half_level),
            grouped(half_at as u64),
            range(half_ends),
            number(most_level),
            grouped(most_at as u64),
            range(most_ends)
        );
        Some(self.statement(Topic::Reach, (half_ends.0 as u64, most_ends.1 as u64), text).with([
            ("half_step", half_at),
            ("half_level", half_level),
            ("nine_tenths_step", most_at),
            ("nine_tenths_level", most_level),
        ]))
    }

    pub(super) fn threshold(&self) -> Option<Statement> {
        let level = self.subject.threshold?;
        let all = self.story.seeds.len();
        let reached: Vec<Reach> = self.story.seeds.iter().filter_map(|seed| seed.threshold).collect();
        let held = reached.iter().filter(|reach| reach.held).count();
        let values = [("level", level), ("seeds", reached.len() as f64), ("held", held as f64)];
        if reached.is_empty() {
            let highest = self.story.seeds.iter().filter_map(|seed| seed.best).map(|best| best.value);
            let highest = highest.fold(f64::NEG_INFINITY, f64::max);
            let text = format!(
                "The environment's threshold, {}, was not reached; the highest {} is {}.",
                number(level),
                self.point(),
                number(highest)
            );
            return Some(
                self.statement(Topic::Reach, self.span, text).with(values).with([("highest", highest)]),
            );
        }
        let at: Vec<f64> = reached.iter().map(|reach| reach.step as f64).collect();
        let (first, last) = ends(&at);
        let text = if all == 1 {
            let kept = if held == 1 {
                "and the score stayed above it"
            } else {
                "but the score fell below \
                                                                                it again"
            };
            format!(
                "The environment's threshold, {}, was reached at step {}, {kept}.",
                number(level),
                grouped(first as u64)
            )
        } else {
            let kept = if held == 0 { "none".to_owned() } else { held.to_string() };
            format!(
                "The environment's threshold, {}, was reached by {} of {all} seeds, at median step {} ({} \
                 to {}); {kept} stayed above it.",
                number(level),
                reached.len(),
                grouped(median(&at) as u64),
                grouped(first as u64),
                grouped(last as u64)
            )
        };
        let span = (first as u64, self.span.1);
        Some(self.statement(Topic::Reach, span, text).with(values).with([("step", median(&at))]))
    }

    pub(super) fn stability(&self) -> Option<Statement> {
        let point = self.point();
        let deepest = self
            .story
            .seeds
            .iter()
            .filter_map(|seed| Some((seed, seed.drawdown?)))
            .reduce(|deep, next| if next.1.depth > deep.1.depth { next } else { deep });
        let Some((seed, fall)) = deepest else {
            let text = format!("It never decreased from one {point} to the next.");
            let enough = self.story.seeds.iter().any(|seed| seed.points > 1);
            return enough.then(|| self.statement(Topic::Stability, self.span, text).with([("depth", 0.0)]));
        };
        let noise = seed.fall_noise.unwrap_or(f64::NAN);
        let whose = if self.seeds.len() > 1 { format!(" ({})", seed.label) } else { String::new() };
        let way = format!(
            "from {} at step {} to {} at step {}",
            number(fall.peak),
            grouped(fall.from_step),
            number(fall.trough),
            grouped(fall.to_step)
        );
        // The largest of many differences is about three standard deviations by chance.
        let text = if fall.depth <= 3.0 * noise {
            format!(
                "The largest drop{whose}, {way}, is within noise (±{}) for this many points.",
                number(noise)
            )
        } else {
            let back = match fall.recovered {
                Some(at) => format!("it recovered by step {}", grouped(at)),
                None => "it never recovered".to_owned(),
            };
            format!("The largest drop{whose} is {}, {way}; {back}.", number(fall.depth))
        };
        Some(self.statement(Topic::Stability, (fall.from_step, fall.to_step), text).with([
            ("depth", fall.depth),
            ("peak", fall.peak),
            ("trough", fall.trough),
            ("noise", noise),
        ]))
    }
}
