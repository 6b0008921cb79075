//! How the seeds differ, and what can't be known.

use rlxp_types::text::number;

use super::super::claim::{Over, Relation, Statistic};
use super::super::tell::{SeedStory, Subject};
use super::super::words::{capital, count, list};
use super::super::{Statement, Topic};
use super::Teller;
use crate::statistics::aggregate::median;
use crate::statistics::course::{FEWEST_POINTS, differ};
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
            told.push(self.statement(Topic::Seeds, last, None, text));
        }
        let alive: Vec<(usize, f64)> =
            self.finals.iter().copied().enumerate().filter(|(_, score)| score.is_finite()).collect();
        if alive.len() < 2 {
            return told;
        }
        let extreme = |better: fn(f64, f64) -> bool| {
            alive.iter().copied().reduce(|kept, next| if better(next.1, kept.1) { next } else { kept })
        };
        let (Some(low), Some(high)) = (extreme(|a, b| a < b), extreme(|a, b| a > b)) else { return told };
        let noise = self.noise.unwrap_or(f64::NAN);
        let compared = if differ(low.1, high.1) {
            let (lowest, highest) = (&stories[low.0].label, &stories[high.0].label);
            let (low, high) = (number(low.1), number(high.1));
            format!("the lowest ended at {low} ({lowest}), the highest at {high} ({highest})")
        } else {
            format!("all ended at {}", number(low.1))
        };
        let small = if differ(low.1, high.1) && high.1 - low.1 <= 2.0 * noise {
            format!("; the spread is within the noise of one {} (±{})", self.point(), number(noise))
        } else {
            String::new()
        };
        let of = if failed.is_empty() { "seeds" } else { "finished seeds" };
        let claims = [
            self.claim(Over::Lowest, Statistic::FinishedLast, low.1),
            self.claim(Over::Seed(low.0), Statistic::FinishedLast, low.1),
            self.claim(Over::Highest, Statistic::FinishedLast, high.1),
            self.claim(Over::Seed(high.0), Statistic::FinishedLast, high.1),
            self.claim(Over::Count, Statistic::FinishedLast, alive.len() as f64),
        ];
        let text = format!("Of {} {of}, {compared}{small}.", alive.len());
        told.push(self.statement(Topic::Seeds, last, claims, text));
        let scores: Vec<f64> = alive.iter().map(|(_, score)| *score).collect();
        let odd = odd_seed(&scores, self.noise.unwrap_or(0.0)).filter(|odd| differ(odd.score, odd.median));
        if let Some(odd) = odd {
            let seed = &stories[alive[odd.index].0];
            let over = Over::Seed(alive[odd.index].0);
            let (side, relation) =
                if odd.score < odd.median { ("below", Relation::Below) } else { ("above", Relation::Above) };
            let text = format!(
                "{} is an outlier: it ended at {}, {} {side} the median of the others ({}).",
                capital(&seed.label),
                number(odd.score),
                number((odd.score - odd.median).abs()),
                number(odd.median)
            );
            let claims = [
                self.claim(over, Statistic::FinishedLast, odd.score).is(relation, odd.median),
                self.claim(over, Statistic::LastOfOthers, odd.median),
            ];
            told.push(Statement {
                seeds: vec![seed.seed],
                ..self.statement(Topic::Seeds, last, claims, text)
            });
        }
        told
    }

    pub(super) fn unknown(&self) -> Vec<Statement> {
        let mut told = Vec::new();
        let mut say = |text: String, over: Over, statistic: Statistic, value: f64| {
            let claim = self.claim(over, statistic, value);
            told.push(self.statement(Topic::Unknown, self.span, [claim], text));
        };
        let Subject { kind, metric, .. } = self.subject;
        for (index, seed) in self.story.seeds.iter().enumerate().filter(|(_, seed)| seed.not_finite > 0) {
            let text = format!(
                "{} of {kind} {metric} {} NaN or infinite and left out ({}).",
                count(seed.not_finite, "value"),
                if seed.not_finite == 1 { "is" } else { "are" },
                seed.label
            );
            say(text, Over::Seed(index), Statistic::NotFinite, seed.not_finite as f64);
        }
        let silent = labels(&self.story.seeds, |seed| seed.points == 0);
        if !silent.is_empty() {
            let text = format!("No finite values of {kind} {metric} for {}.", list(&silent));
            say(text, Over::Lowest, Statistic::Points, 0.0);
        }
        let most = self.story.seeds.iter().map(|seed| seed.points).max().unwrap_or(0);
        if (1..FEWEST_POINTS).contains(&most) {
            let text = format!("{} too few to detect phases.", count_are(most));
            say(text, Over::Highest, Statistic::Points, most as f64);
        } else if let (Some(noise), true) = (self.noise, most >= FEWEST_POINTS) {
            let firsts: Vec<f64> = self.story.seeds.iter().filter_map(|seed| seed.first_noise).collect();
            let first = median(&firsts);
            let point = self.point();
            let early = match first {
                first if first > noise => format!(", the first one by ±{}", number(first)),
                _ => String::new(),
            };
            let text = if noise == 0.0 {
                format!("Most {point}s of a seed don't deviate from their neighbours{early}.")
            } else {
                format!(
                    "A seed varies by about ±{} from one {point} to the next{early}; smaller changes are \
                     noise.",
                    number(noise)
                )
            };
            say(text, Over::Median, Statistic::Noise, noise);
        }
        if self.story.seeds.len() == 1 && most > 0 {
            let text = "With one seed, the variation between seeds is unknown.".to_owned();
            say(text, Over::Count, Statistic::First, 1.0);
        }
        if self.story.seeds.is_empty() {
            say("No seeds to describe.".to_owned(), Over::Count, Statistic::First, 0.0);
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
