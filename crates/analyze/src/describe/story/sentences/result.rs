//! The result, and how it compares with a random policy.

use rlxp_types::text::{grouped, number};

use super::super::claim::{Claim, Over, Relation, Statistic};
use super::super::{Statement, Topic};
use super::{Teller, ends};
use crate::statistics::course::differ;
use crate::statistics::final_scores::Final;

impl Teller<'_> {
    pub(super) fn result(&self) -> Option<Statement> {
        let result = self.story.result?;
        let (claims, told, short) = match self.story.seeds.as_slice() {
            [one] => {
                let last = one.last?;
                let claim = Claim::new(Over::Seed(0), Statistic::Last, (last.step, last.step), last.value);
                let text =
                    format!(", at step {}, is {} ({})", grouped(last.step), number(last.value), one.label);
                (vec![claim], text, format!("{} (one seed)", number(last.value)))
            }
            _ => self.over_seeds(&result),
        };
        let (compared, against) = self.against(result.iqm);
        let what = if self.subject.kind == "eval" {
            "Last evaluation"
        } else {
            "Last training return (no evaluations)"
        };
        let text = format!("The last {}{told}.", self.point());
        let told = self.statement(Topic::Result, (self.span.1, self.span.1), claims, text);
        Some(told.claiming(compared).in_short(format!("{what}: {short}{against}")))
    }

    /// Claims about the final scores, and both renderings.
    fn over_seeds(&self, result: &Final) -> (Vec<Claim>, String, String) {
        let seeds = result.seeds;
        let finished: Vec<f64> = self.finals.iter().copied().filter(|score| score.is_finite()).collect();
        let (lowest, highest) = ends(&finished);
        let iqm = number(result.iqm);
        let (low, high) = (number(lowest), number(highest));
        let mut claims = vec![self.claim(Over::Iqm, Statistic::Final, result.iqm)];
        let range = [
            self.claim(Over::Lowest, Statistic::FinishedLast, lowest),
            self.claim(Over::Highest, Statistic::FinishedLast, highest),
        ];
        if result.failed == 0 && !differ(lowest, highest) {
            claims.extend(range);
            let text = format!(" is {iqm} in each of {seeds} seeds");
            return (claims, text, format!("{iqm} in each of {seeds} seeds"));
        }
        let worst = if result.failed > 0 { ", failed ones counted as worst" } else { "" };
        let (told, short) = match (result.low, result.high) {
            (Some(low), Some(high)) => {
                claims.push(self.claim(Over::Iqm, Statistic::FinalLow, low));
                claims.push(self.claim(Over::Iqm, Statistic::FinalHigh, high));
                let interval = format!("95% interval {} to {}", number(low), number(high));
                (format!("{worst}; {interval}"), format!("{worst}, {interval}"))
            }
            _ => {
                claims.extend(range);
                let range = match (finished.len(), result.failed) {
                    (1, _) => format!("{worst}; the finished one ended at {low}"),
                    (_, 0) => format!(", which range from {low} to {high}"),
                    _ => format!("{worst}; the finished ones range from {low} to {high}"),
                };
                (format!("{range}; an interval needs at least 5 seeds"), range)
            }
        };
        let text = format!(" is {iqm} (interquartile mean over {seeds} seeds{told})");
        (claims, text, format!("{iqm} (IQM of {seeds} seeds{short})"))
    }

    /// The final score against the environment's threshold.
    fn against(&self, score: f64) -> (Option<Claim>, String) {
        let Some(level) = self.subject.threshold else { return (None, String::new()) };
        let claim = self.claim(Over::Iqm, Statistic::Final, score);
        let name = format!("the environment's threshold {}", number(level));
        if score >= level {
            return (Some(claim.is(Relation::AtLeast, level)), format!(", at or above {name}"));
        }
        let by = if differ(score, level) { String::new() } else { format!(" by {}", number(level - score)) };
        (Some(claim.is(Relation::Below, level)), format!(", below {name}{by}"))
    }

    pub(super) fn baseline(&self) -> Option<Statement> {
        let (random, result) = (self.subject.baseline?, self.story.result?);
        let difference = result.iqm - random.mean;
        let error = random.standard_error.hypot(self.noise.unwrap_or(0.0));
        let claim = self.claim(Over::Iqm, Statistic::Final, result.iqm);
        let last = format!("the last {}", self.point());
        let clear = difference.abs() > 2.0 * error && differ(result.iqm, random.mean);
        let (claims, compared) = if !clear {
            let within = 2.0 * error.max(difference.abs() / 2.0);
            // On the edge, rounding the sum must not contradict what the difference said.
            let claims = [
                claim.is(Relation::AtMost, (random.mean + within).max(result.iqm)),
                claim.is(Relation::AtLeast, (random.mean - within).min(result.iqm)),
            ];
            (claims.to_vec(), format!("{last}, {}, is not clearly better or worse", number(result.iqm)))
        } else if difference > 0.0 {
            let better = format!("{last} is better by {}", number(difference));
            (vec![claim.is(Relation::Above, random.mean)], better)
        } else {
            (
                vec![claim.is(Relation::Below, random.mean)],
                format!("{last} is worse by {}", number(-difference)),
            )
        };
        let text = format!(
            "A random policy gets {} ± {} ({} episodes): {compared}.",
            number(random.mean),
            number(random.standard_error),
            random.episodes
        );
        Some(self.statement(Topic::Baseline, (self.span.1, self.span.1), claims, text))
    }
}
