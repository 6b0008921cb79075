//! Describes a verdict in sentences.

use rlxp_types::text::significant;
use serde::Serialize;

use crate::statistics::verdict::{Answer, Basis, Direction, EffectSize, FEWEST_SEEDS, Reason, Verdict, Veto};

/// A verdict and what it says in sentences; in JSON they are fields of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Described {
    #[serde(flatten)]
    pub verdict: Verdict,
    /// All of it in sentences, the answer first.
    pub statements: Vec<String>,
}

impl Described {
    /// Describes a verdict in sentences.
    pub fn new(verdict: Verdict, names: Names<'_>) -> Self {
        let statements = statements(&verdict, names);
        Self { verdict, statements }
    }

    /// Leaves out the advice to compare without pairs, for groups that are not independent.
    pub fn only_paired(&mut self) {
        let advice = unpaired_instead(&self.verdict);
        self.statements.retain(|statement| Some(statement) != advice.as_ref());
    }
}

/// What the sentences of a verdict call its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The reference group.
    pub a: &'a str,
    /// The group in question.
    pub b: &'a str,
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self { a: "A", b: "B" }
    }
}

fn statements(verdict: &Verdict, names: Names<'_>) -> Vec<String> {
    let Names { a, b } = names;
    let mut statements = vec![headline(verdict, names)];
    statements.extend(evidence(verdict, names));
    if let Some(reason) = verdict.reason {
        statements.push(explain(verdict, reason, names));
    }
    for (name, group) in [(a, &verdict.a), (b, &verdict.b)] {
        if let (true, Some(score)) = (group.failed > 0, verdict.failure_score) {
            let runs = if group.n == 1 { "run" } else { "runs" };
            let counts = if group.failed == 1 { "counts" } else { "count" };
            statements.push(format!(
                "{} of {} {runs} of {name} failed and {counts} with the failure score {}.",
                group.failed,
                group.n,
                significant(score)
            ));
        }
    }
    for guardrail in &verdict.guardrails {
        let outcome = if guardrail.held {
            "holds"
        } else if guardrail.violated {
            "is violated"
        } else {
            "has not been shown to hold yet"
        };
        let effect = guardrail.effect.map_or("unknown".to_owned(), significant);
        statements.push(format!(
            "Guardrail {} {outcome}: {b} - {a} = {effect}, at most {} worse is allowed.",
            guardrail.name,
            significant(guardrail.margin)
        ));
    }
    statements.extend(unpaired_instead(verdict));
    statements
}

/// Advice for pairs that have nothing in common.
fn unpaired_instead(verdict: &Verdict) -> Option<String> {
    let correlation = verdict.correlation.filter(|correlation| *correlation < 0.1)?;
    Some(format!(
        "The pairs are barely correlated ({}), so an unpaired comparison would probably be more sensitive.",
        significant(correlation)
    ))
}

fn headline(verdict: &Verdict, Names { a, b }: Names<'_>) -> String {
    let noun = if verdict.n_a == 1 { "seed" } else { "seeds" };
    let seeds = format!("{} {noun} of {a} vs. {} of {b}", verdict.n_a, verdict.n_b);
    let by = match verdict.basis {
        Some(Basis::Mean) => " by its mean",
        Some(Basis::FailedRuns) => " by its failed runs",
        Some(Basis::TypicalScore) | None => "",
    };
    match verdict.verdict {
        Answer::Better => format!("{b} is better than {a}{by} ({seeds})."),
        Answer::Worse => format!("{b} is worse than {a}{by} ({seeds})."),
        Answer::CannotTell => format!("Cannot tell whether {b} is better or worse than {a} ({seeds})."),
    }
}

/// The numbers, each with its estimator.
fn evidence(verdict: &Verdict, Names { a, b }: Names<'_>) -> Option<String> {
    let (effect, chance) = (verdict.effect?, verdict.probability_of_improvement?);
    let interval = match (verdict.interval.low, verdict.interval.high) {
        (None, None) => "no interval (too few seeds)".to_owned(),
        (low, high) => {
            let end = |end: Option<f64>| end.map_or("unbounded".to_owned(), significant);
            let confidence = significant(100.0 * verdict.interval.confidence);
            format!("{confidence}% interval {} to {}", end(low), end(high))
        }
    };
    let better = match verdict.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    };
    let number = |value: Option<f64>| value.map_or("unknown".to_owned(), significant);
    Some(format!(
        "Typical difference {b} - {a} = {} (Hodges-Lehmann; {better} is better; {interval}){}; \
         means {} for {a}, {} for {b} ({b} - {a} = {}); \
         {b} beats {a} with probability {} ({} to {}); p = {} for better, {} for worse.",
        significant(effect),
        size(verdict),
        number(verdict.a.mean),
        number(verdict.b.mean),
        number(verdict.mean_difference),
        significant(chance.value),
        significant(chance.low),
        significant(chance.high),
        significant(verdict.p_better),
        significant(verdict.p_worse),
    ))
}

/// How large the effect is, for an answer.
fn size(verdict: &Verdict) -> String {
    let (Some(size), Some(spreads), true) =
        (verdict.effect_size, verdict.effect_in_spreads, verdict.basis.is_some())
    else {
        return String::new();
    };
    let word = match size {
        EffectSize::Negligible => "negligible",
        EffectSize::Small => "small",
        EffectSize::Medium => "medium",
        EffectSize::Large => "large",
    };
    let of = if verdict.basis == Some(Basis::Mean) { "in the mean, " } else { "" };
    format!(", a {word} effect ({of}{} spreads)", significant(spreads.abs()))
}

fn explain(verdict: &Verdict, reason: Reason, Names { a, b }: Names<'_>) -> String {
    match reason {
        Reason::TooFewSeeds => {
            let needed = verdict.seeds_needed.unwrap_or(1);
            let policy = if verdict.n_a.min(verdict.n_b) < FEWEST_SEEDS {
                format!(" (rlx makes no claim from fewer than {FEWEST_SEEDS} seeds per group)")
            } else {
                String::new()
            };
            format!("Too few seeds for a verdict; train at least {needed} more per group{policy}.")
        }
        Reason::NotSeparated => not_separated(verdict),
        Reason::NoMeaningfulDifference => match verdict.minimum_effect {
            Some(least) => format!("Any difference is smaller than the minimum effect ({}).", significant(least)),
            None => format!("All runs of {a} and {b} have the same score."),
        },
        Reason::MinimumEffectNeeded => format!(
            "All runs of {a} score the same, and so do all runs of {b}: give the smallest difference that counts, in \
             the score's unit (--minimum-effect)."
        ),
        Reason::MixedEffect => match verdict.veto {
            Some(Veto::FailedRuns) => {
                "The typical score and the share of failed runs speak for different groups; more seeds won't settle \
                 which matters more."
                    .to_owned()
            }
            Some(Veto::Mean) | None => {
                "The typical score and the mean speak for different groups, as a few runs score far lower; more seeds \
                 won't settle which matters more."
                    .to_owned()
            }
        },
    }
}

fn not_separated(verdict: &Verdict) -> String {
    let open = verdict.guardrails.iter().any(|guardrail| !guardrail.held || !guardrail.held_reversed);
    let differ = verdict.p_better.min(verdict.p_worse) <= verdict.alpha;
    let what = match (differ, open) {
        (true, true) => "The groups differ, but a guardrail has not been shown to hold yet",
        (true, false) => "The groups differ, but not by enough to matter",
        (false, _) => "The groups are not separated",
    };
    let size = verdict.seeds_needed_for.map(significant);
    match (verdict.seeds_needed, size) {
        (Some(needed), Some(size)) => {
            let seeds = if needed == 1 { "seed" } else { "seeds" };
            format!(
                "{what}; {needed} more {seeds} per group would find a difference of {size} with 80% probability, if \
                 further runs vary like these."
            )
        }
        (Some(needed), None) => {
            let seeds = if needed == 1 { "seed" } else { "seeds" };
            format!("{what}: about {needed} more {seeds} per group would probably settle it.")
        }
        (None, Some(size)) => format!(
            "{what}; a difference of {size} would probably have been found, or takes thousands of seeds, so no \
             reasonable number of seeds will settle this."
        ),
        (None, None) if differ && open => {
            "A guardrail moved in the opposite direction; more seeds won't settle which matters more."
                .to_owned()
        }
        (None, None) => format!("{what}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::verdict::{Guardrail, MinimumEffect, Options, Question, verdict};

    fn rising(from: f64, count: u32) -> Vec<f64> {
        (0..count).map(|i| from + f64::from(i)).collect()
    }

    fn said(a: &[f64], b: &[f64], guardrails: &[Guardrail], paired: bool) -> Vec<String> {
        let options = Options { paired, resamples: 0, ..Options::default() };
        let found = verdict(Question { a, b, guardrails }, &options).unwrap();
        Described::new(found, Names::default()).statements
    }

    #[test]
    fn the_answer_comes_first_then_its_numbers() {
        let clear = said(&rising(0.0, 5), &rising(5.0, 5), &[], false);
        assert!(clear[0].starts_with("B is better than A (5 seeds of A vs. 5 of B)"), "{clear:?}");
        let group = |successes: usize| -> Vec<f64> {
            (0..40).map(|run| f64::from(u8::from(run < successes))).collect()
        };
        let rates = said(&group(6), &group(19), &[], false);
        assert!(rates[1].contains("means 0.15 for A, 0.475 for B"), "{rates:?}");
    }

    #[test]
    fn failed_runs_open_guardrails_and_needless_pairs_are_reported() {
        let nan = f64::NAN;
        let failed = [20.0, 21.0, 22.0, nan, nan, nan, nan, f64::INFINITY];
        let failed = said(&rising(0.0, 8), &failed, &[], false);
        assert!(failed.iter().any(|line| line.starts_with("5 of 8 runs of B failed")), "{failed:?}");
        let guardrail = Guardrail {
            name: "falls".into(),
            a: rising(5.0, 10),
            b: rising(5.5, 10),
            direction: Direction::Lower,
            margin: MinimumEffect::Spreads(0.5),
            failure_score: None,
        };
        let open = said(&rising(0.0, 10), &rising(20.0, 10), &[guardrail], false);
        assert!(
            open.iter().any(|line| line.contains("guardrail has not been shown to hold yet")),
            "{open:?}"
        );
        let turned: Vec<f64> = rising(2.5, 12).into_iter().rev().collect();
        let pairs = said(&rising(0.0, 12), &turned, &[], true);
        assert!(pairs.iter().any(|line| line.contains("barely correlated")), "{pairs:?}");
    }

    #[test]
    fn verdict_and_sentences_are_one_json_object() {
        let options = Options { resamples: 0, ..Options::default() };
        let (a, b) = (rising(0.0, 5), rising(5.0, 5));
        let found = verdict(Question { a: &a, b: &b, guardrails: &[] }, &options).unwrap();
        let json = serde_json::to_value(Described::new(found, Names::default())).unwrap();
        assert_eq!(json["verdict"], "better");
        assert_eq!(json["n_a"], 5);
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys.last().unwrap().as_str(), "statements");
        assert!(json["statements"][0].as_str().unwrap().starts_with("B is better"));
    }
}
