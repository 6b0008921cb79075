//! How the seeds differ, and what can't be known.

use rlxp_types::text::number;

use super::super::tell::{SeedStory, Subject, seeds_in_words};
use super::super::words::{capital, count, list};
use super::super::{Statement, Topic};
use super::Teller;
use crate::statistics::aggregate::median;
use crate::statistics::course::FEWEST_POINTS;
use crate::statistics::final_scores::odd_seed;

impl Teller<'_> {
    pub(super) fn seeds(&self) -> Vec<Statement> {
        let stories = &self.story.seeds;
        let last = (self.span.1, self.span.1);
        let mut told = Vec::new();
        let failed = labels(stories, |seed| seed.failed);
        if !failed.is_empty() {
            let how = match failed.len() {
                all if all == stories.len() => ", so no final score is available",
                1 => " and ranks below every other seed",
                _ => " and rank below every other seed",
            };
            let text = format!("{} failed{how}.", capital(&list(&failed)));
            told.push(self.statement(Topic::Seeds, last, text).with([("failed", failed.len() as f64)]));
        }
        let alive: Vec<(&SeedStory, f64)> =
            stories.iter().zip(self.finals.iter().copied()).filter(|(_, score)| score.is_finite()).collect();
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
            format!("all ended at {}", number(low.1))
        } else {
            format!(
                "the lowest ended at {} ({}), the highest at {} ({})",
                number(low.1),
                low.0.label,
                number(high.1),
                high.0.label
            )
        };
        let small = if spread > 0.0 && spread <= 2.0 * noise {
            format!("; the spread is within the noise of one {} (±{})", self.point(), number(noise))
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
                "{} is an outlier: it ended at {}, {} {side} the median of the others ({}).",
                capital(&seed.label),
                number(odd.score),
                number((odd.score - odd.median).abs()),
                number(odd.median)
            );
            let values = [("score", odd.score), ("median", odd.median), ("deviations", odd.deviations)];
            told.push(Statement {
                seeds: vec![seed.seed],
                ..self.statement(Topic::Seeds, last, text).with(values)
            });
        }
        told
    }

    pub(super) fn unknown(&self) -> Vec<Statement> {
        let mut told = Vec::new();
        let mut say = |text: String, name: &'static str, value: f64| {
            told.push(self.statement(Topic::Unknown, self.span, text).with([(name, value)]));
        };
        let Subject { kind, metric, .. } = self.subject;
        let broken: usize = self.story.seeds.iter().map(|seed| seed.not_finite).sum();
        if broken > 0 {
            let whose = labels(&self.story.seeds, |seed| seed.not_finite > 0);
            let text = format!(
                "{} of {kind} {metric} {} NaN or infinite and left out ({}).",
                count(broken, "value"),
                if broken == 1 { "is" } else { "are" },
                list(&whose)
            );
            say(text, "not_finite", broken as f64);
        }
        let silent = labels(&self.story.seeds, |seed| seed.points == 0);
        if !silent.is_empty() {
            let text = format!("No finite values of {kind} {metric} for {}.", list(&silent));
            say(text, "points", 0.0);
        }
        let most = self.story.seeds.iter().map(|seed| seed.points).max().unwrap_or(0);
        if (1..FEWEST_POINTS).contains(&most) {
            let text = format!("{} too few to detect phases or estimate noise.", count_are(most));
            say(text, "points", most as f64);
        } else if let (Some(noise), true) = (self.noise, most >= FEWEST_POINTS) {
            let firsts: Vec<f64> = self.story.seeds.iter().filter_map(|seed| seed.first_noise).collect();
            let first = median(&firsts);
            let point = self.point();
            let text = if noise == 0.0 {
                let early = match first {
                    first if first > 0.0 => format!("; the first one by about ±{}", number(first)),
                    _ => String::new(),
                };
                format!("Most {point}s of a seed don't deviate from their neighbours{early}.")
            } else {
                let early = match first {
                    first if first > noise => format!(", the first one by ±{}", number(first)),
                    _ => String::new(),
                };
                format!(
                    "A seed varies by about ±{} from one {point} to the next{early}; smaller changes are \
                     noise.",
                    number(noise)
                )
            };
            say(text, "noise", noise);
        }
        if self.story.seeds.len() == 1 && most > 0 {
            let text = "With one seed, the variation between seeds is unknown.".to_owned();
            say(text, "seeds", 1.0);
        }
        if self.story.seeds.is_empty() {
            say("No seeds to describe.".to_owned(), "seeds", 0.0);
        }
        told
    }
}

fn labels(seeds: &[SeedStory], wanted: fn(&SeedStory) -> bool) -> Vec<&str> {
    seeds.iter().filter(|seed| wanted(seed)).map(|seed| seed.label.as_str()).collect()
}

fn count_are(points: usize) -> String {
    format!("{} {}", count(points, "point"), if points == 1 { "is" } else { "are" })
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
