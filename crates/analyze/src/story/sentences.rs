//! The sentences of a story.

use super::marks::Reach;
use super::phases::{FEWEST_POINTS, Phase, PhaseKind};
use super::tell::{SeedStory, Story, Subject, odd_seed, seeds_in_words};
use super::words::{count, list, number, step, steps};
use super::{Statement, Topic};
use crate::aggregate::median;
use crate::selection::expected_maximum;

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

    /// `evaluation` or `training return`, as a person says it.
    fn point(&self) -> &'static str {
        if self.subject.kind == "eval" { "evaluation" } else { "point" }
    }

    fn result(&self) -> Option<Statement> {
        let result = self.story.result?;
        let point = self.point();
        let at = step(self.span.1);
        let iqm = number(result.iqm);
        let text = match (result.seeds, result.low, result.high) {
            (1, ..) => format!("The last {point}, at step {at}, is {iqm} (seed {}).", list(&self.seeds)),
            (seeds, Some(low), Some(high)) => format!(
                "The last {point} is {iqm} by the interquartile mean over {seeds} seeds, 95% interval {} to {}.",
                number(low),
                number(high)
            ),
            (seeds, ..) => format!(
                "The last {point} is {iqm} by the interquartile mean over {seeds} seeds, which lie between {} \
                 and {}; below 5 seeds an interval would be too short to believe.",
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
            format!(
                "the difference, {}, is smaller than twice the noise, ±{}",
                number(difference),
                number(error)
            )
        } else if difference > 0.0 {
            format!("the last {} is better by {}", self.point(), number(difference))
        } else {
            format!("the last {} is worse than that by {}", self.point(), number(-difference))
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
                "Learning began before the first {point} at step {}: there it is {} already, against {} of a \
                 random policy{}.",
                step(self.span.0),
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
                "No learning can be seen: over {} no {point} stayed above the noise of the start, {}{margin}.",
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
        let over = match (found.len(), alive.len()) {
            (1, 1) => String::new(),
            (found, all) if found == all => {
                format!(
                    " in the median of {all} seeds (from {} to {})",
                    step(first as u64),
                    step(last as u64)
                )
            }
            (found, all) => format!(
                " in the median of the {found} of {all} seeds that learned (from {} to {})",
                step(first as u64),
                step(last as u64)
            ),
        };
        let text = format!(
            "Learning began at step {}{over}: there the smoothed {point} is {}, more than {} above its start {}.",
            step(middle as u64),
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
            _ => ", from too few points for a range".to_owned(),
        };
        let text = format!(
            "It rose fastest over {}: by {} per 10,000 steps{range}.",
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

    fn best(&self) -> Option<Statement> {
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
            1 => format!("The best {point} is {} at step {}", number(best), step(first_step as u64)),
            seeds => format!(
                "The best {point} of a seed is {} in the median of {seeds} (at steps {} to {})",
                number(best),
                step(first_step as u64),
                step(last_step as u64)
            ),
        };
        let noises: Vec<f64> = self.story.seeds.iter().filter_map(|seed| seed.best_noise).collect();
        let noise = median(&noises);
        let luck = self.noise.unwrap_or(f64::NAN) * expected_maximum(points.min(100_000) as u32);
        let is_last = pairs.iter().all(|(best, last, _)| best.step == last.step);
        let compared = if is_last {
            ", and it is the last one".to_owned()
        } else if difference <= 0.0 {
            "; the last is as good".to_owned()
        } else if noise.is_nan() {
            format!("; the last is lower by {}, and what of that is noise can't be told", number(difference))
        } else if difference <= luck.max(2.0 * noise) {
            format!(
                "; the last, {}, is lower by {}, which is smaller than what the best of {points} equal ones \
                 gains by luck (noise ±{})",
                number(last),
                number(difference),
                number(noise)
            )
        } else {
            format!(
                "; the last, {}, is lower by {}, which is more than noise (±{})",
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

    fn gains(&self) -> Option<Statement> {
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
            format!(" ({} to {})", step(first as u64), step(last as u64))
        };
        let whose =
            if half.len() == 1 { String::new() } else { format!("; medians of {} seeds", half.len()) };
        let text = format!(
            "Half of the final gain (to {}) was there at step {}{}, nine tenths (to {}) at step {}{}{whose}.",
            number(half_level),
            step(half_at as u64),
            range(half_ends),
            number(most_level),
            step(most_at as u64),
            range(most_ends)
        );
        Some(self.statement(Topic::Reach, (half_ends.0 as u64, most_ends.1 as u64), text).with([
            ("half_step", half_at),
            ("half_level", half_level),
            ("nine_tenths_step", most_at),
            ("nine_tenths_level", most_level),
        ]))
    }

    fn threshold(&self) -> Option<Statement> {
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
            let kept = if held == 1 { "and it never fell below again" } else { "but it fell below again" };
            format!(
                "The environment's threshold, {}, was reached at step {}, {kept}.",
                number(level),
                step(first as u64)
            )
        } else {
            format!(
                "The environment's threshold, {}, was reached by {} of {all} seeds, in the median at step {} \
                 ({} to {}); {held} never fell below again.",
                number(level),
                reached.len(),
                step(median(&at) as u64),
                step(first as u64),
                step(last as u64)
            )
        };
        let span = (first as u64, self.span.1);
        Some(self.statement(Topic::Reach, span, text).with(values).with([("step", median(&at))]))
    }

    fn stability(&self) -> Option<Statement> {
        let point = self.point();
        let deepest = self
            .story
            .seeds
            .iter()
            .filter_map(|seed| Some((seed, seed.drawdown?)))
            .reduce(|deep, next| if next.1.depth > deep.1.depth { next } else { deep });
        let Some((seed, fall)) = deepest else {
            let text = format!("It never fell from one {point} to the next.");
            let enough = self.story.seeds.iter().any(|seed| seed.points > 1);
            return enough.then(|| self.statement(Topic::Stability, self.span, text).with([("depth", 0.0)]));
        };
        let noise = seed.fall_noise.unwrap_or(f64::NAN);
        let whose = if self.seeds.len() > 1 { format!(" (seed {})", seed.seed) } else { String::new() };
        let way = format!(
            "from {} at step {} to {} at step {}",
            number(fall.peak),
            step(fall.from_step),
            number(fall.trough),
            step(fall.to_step)
        );
        // The largest of many differences is some three deviations by chance.
        let text = if fall.depth <= 3.0 * noise {
            format!(
                "The largest fall{whose}, {way}, is no more than noise (±{}) makes between two of many points.",
                number(noise)
            )
        } else {
            let back = match fall.recovered {
                Some(at) => format!("it was back at step {}", step(at)),
                None => "it never came back to that peak".to_owned(),
            };
            format!("The largest fall{whose} is {}, {way}; {back}.", number(fall.depth))
        };
        Some(self.statement(Topic::Stability, (fall.from_step, fall.to_step), text).with([
            ("depth", fall.depth),
            ("peak", fall.peak),
            ("trough", fall.trough),
            ("noise", noise),
        ]))
    }

    fn seeds(&self) -> Vec<Statement> {
        let stories = &self.story.seeds;
        let last = (self.span.1, self.span.1);
        let mut told = Vec::new();
        let failed: Vec<u64> = stories.iter().filter(|seed| seed.failed).map(|seed| seed.seed).collect();
        if !failed.is_empty() {
            let plural = if failed.len() == 1 { "Seed" } else { "Seeds" };
            let how = if failed.len() < stories.len() {
                " and count as worse than every other seed"
            } else {
                ", so there is no final score"
            };
            let text = format!("{plural} {} failed{how}.", list(&failed));
            told.push(self.statement(Topic::Seeds, last, text).with([("failed", failed.len() as f64)]));
        }
        let alive: Vec<(u64, f64)> = self
            .seeds
            .iter()
            .copied()
            .zip(self.finals.iter().copied())
            .filter(|(_, score)| score.is_finite())
            .collect();
        if alive.len() < 2 {
            return told;
        }
        let extreme = |better: fn(f64, f64) -> bool| {
            alive.iter().copied().reduce(|kept, next| if better(next.1, kept.1) { next } else { kept })
        };
        let (Some(low), Some(high)) = (extreme(|a, b| a < b), extreme(|a, b| a > b)) else { return told };
        let spread = high.1 - low.1;
        let noise = self.noise.unwrap_or(f64::NAN);
        let compared = if spread == 0.0 {
            format!("all ended alike, at {}", number(low.1))
        } else {
            format!(
                "the lowest ended at {} (seed {}), the highest at {} (seed {})",
                number(low.1),
                low.0,
                number(high.1),
                high.0
            )
        };
        let small = if spread > 0.0 && spread <= 2.0 * noise {
            format!("; that is no more than the noise of one {} (±{})", self.point(), number(noise))
        } else {
            String::new()
        };
        let text = format!("Of {}, {compared}{small}.", seeds_in_words(stories));
        told.push(self.statement(Topic::Seeds, last, text).with([
            ("lowest", low.1),
            ("highest", high.1),
            ("noise", noise),
        ]));
        let scores: Vec<f64> = alive.iter().map(|(_, score)| *score).collect();
        if let Some(odd) = odd_seed(&scores, self.noise.unwrap_or(0.0)) {
            let seed = alive[odd.index].0;
            let side = if odd.score < odd.median { "below" } else { "above" };
            let text = format!(
                "Seed {seed} is the odd one: it ended at {}, {} {side} the median of the others, {}.",
                number(odd.score),
                number((odd.score - odd.median).abs()),
                number(odd.median)
            );
            let values = [("score", odd.score), ("median", odd.median), ("deviations", odd.deviations)];
            told.push(Statement {
                seeds: vec![seed],
                ..self.statement(Topic::Seeds, last, text).with(values)
            });
        }
        told
    }

    fn unknown(&self) -> Vec<Statement> {
        let mut told = Vec::new();
        let mut say = |text: String, name: &'static str, value: f64| {
            told.push(self.statement(Topic::Unknown, self.span, text).with([(name, value)]));
        };
        let Subject { kind, metric, .. } = self.subject;
        for seed in &self.story.seeds {
            if seed.not_finite > 0 {
                let text = format!(
                    "Seed {}: {} of its points of {kind} {metric} are NaN or infinite and are left out.",
                    seed.seed, seed.not_finite
                );
                say(text, "not_finite", seed.not_finite as f64);
            }
            if seed.points == 0 {
                let text = format!(
                    "Seed {}: there is no finite {kind} {metric}, so nothing can be said of it.",
                    seed.seed
                );
                say(text, "points", 0.0);
            }
        }
        let most = self.story.seeds.iter().map(|seed| seed.points).max().unwrap_or(0);
        if (1..FEWEST_POINTS).contains(&most) {
            let text = format!("{} too few to tell phases or noise apart.", count_are(most));
            say(text, "points", most as f64);
        } else if let (Some(noise), true) = (self.noise, most >= FEWEST_POINTS) {
            let firsts: Vec<f64> = self.story.seeds.iter().filter_map(|seed| seed.first_noise).collect();
            let first = median(&firsts);
            let early =
                if first > noise { format!(", ±{} at the beginning", number(first)) } else { String::new() };
            let text = format!(
                "From one {} to the next a seed wavers by about ±{}{early}; smaller changes mean nothing.",
                self.point(),
                number(noise)
            );
            say(text, "noise", noise);
        }
        if self.story.seeds.len() == 1 && most > 0 {
            let text = "This is one seed: whether another would do the same, and how much of the result is \
                        luck, can't be known."
                .to_owned();
            say(text, "seeds", 1.0);
        }
        if self.story.seeds.is_empty() {
            say("There is no seed to look at.".to_owned(), "seeds", 0.0);
        }
        told
    }
}

fn count_are(points: usize) -> String {
    format!("{} {}", count(points, "point"), if points == 1 { "is" } else { "are" })
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_points_is_grammatical() {
        assert_eq!(count_are(1), "1 point is");
        assert_eq!(count_are(4), "4 points are");
    }
}
