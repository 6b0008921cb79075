//! How the seeds differ, and what can't be known.

use super::super::phases::FEWEST_POINTS;
use super::super::tell::{Subject, odd_seed, seeds_in_words};
use super::super::words::{count, list, number};
use super::super::{Statement, Topic};
use super::Teller;
use crate::aggregate::median;

impl Teller<'_> {
    pub(super) fn seeds(&self) -> Vec<Statement> {
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

    pub(super) fn unknown(&self) -> Vec<Statement> {
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
            let point = self.point();
            let text = if noise == 0.0 {
                let early = match first {
                    first if first > 0.0 => format!("; the first one is off by about ±{}", number(first)),
                    _ => String::new(),
                };
                format!("Most {point}s of a seed lie exactly where their neighbours say{early}.")
            } else {
                let early = match first {
                    first if first > noise => format!(", the first one by ±{}", number(first)),
                    _ => String::new(),
                };
                format!(
                    "From one {point} to the next a seed wavers by about ±{}{early}; smaller changes mean nothing.",
                    number(noise)
                )
            };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_points_is_grammatical() {
        assert_eq!(count_are(1), "1 point is");
        assert_eq!(count_are(4), "4 points are");
    }
}
