//! The verdict in sentences that a person can read aloud.

use rlxp_types::text::significant;
use serde::Serialize;

use crate::statistics::verdict::{Answer, Direction, Look, Reason, Verdict};

/// A verdict and what it says in sentences; in JSON they are fields of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Described {
    #[serde(flatten)]
    pub verdict: Verdict,
    /// All of it in sentences, the answer first.
    pub statements: Vec<String>,
}

impl Described {
    /// Puts a verdict into sentences; `look` is the one of the verdict's options.
    pub fn new(verdict: Verdict, names: Names<'_>, look: Option<Look>) -> Self {
        let statements = statements(&verdict, names, look);
        Self { verdict, statements }
    }
}

/// What the sentences of a verdict call its arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The arm that is compared with.
    pub a: &'a str,
    /// The arm in question.
    pub b: &'a str,
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self { a: "A", b: "B" }
    }
}

fn statements(verdict: &Verdict, names: Names<'_>, look: Option<Look>) -> Vec<String> {
    let Names { a, b } = names;
    let mut statements = vec![headline(verdict, names)];
    statements.extend(evidence(verdict, names));
    if let Some(reason) = verdict.reason {
        statements.push(explain(verdict, reason));
    }
    for (name, arm) in [(a, &verdict.a), (b, &verdict.b)] {
        if let (true, Some(score)) = (arm.failed > 0, verdict.failure_score) {
            let runs = if arm.n == 1 { "run" } else { "runs" };
            statements.push(format!(
                "{} of {} {runs} of {name} failed and count with the failure score {}.",
                arm.failed,
                arm.n,
                significant(score)
            ));
        }
    }
    for guardrail in &verdict.guardrails {
        let outcome = if guardrail.held {
            "holds"
        } else if guardrail.violated {
            "shows a difference beyond its margin"
        } else {
            "is not yet shown to hold"
        };
        let effect = guardrail.effect.map_or("unknown".to_owned(), significant);
        statements.push(format!(
            "Guardrail {} {outcome}: {b} - {a} = {effect}, at most {} worse is accepted.",
            guardrail.name,
            significant(guardrail.margin)
        ));
    }
    if let Some(look) = look {
        statements.push(format!(
            "Look {} of {} planned: each direction is judged at {}.",
            look.number,
            look.planned,
            significant(verdict.alpha)
        ));
    }
    if let Some(correlation) = verdict.correlation.filter(|correlation| *correlation < 0.1) {
        statements.push(format!(
            "The pairs hardly go together (correlation {}), so comparing without pairs would probably find more.",
            significant(correlation)
        ));
    }
    statements
}

fn headline(verdict: &Verdict, Names { a, b }: Names<'_>) -> String {
    let seeds = format!("{} seeds of {a} against {} of {b}", verdict.n_a, verdict.n_b);
    match verdict.verdict {
        Answer::Better => format!("{b} is better than {a} ({seeds})."),
        Answer::Worse => format!("{b} is worse than {a} ({seeds})."),
        Answer::CannotTell => format!("Cannot tell whether {b} is better or worse than {a} ({seeds})."),
    }
}

fn evidence(verdict: &Verdict, Names { a, b }: Names<'_>) -> Option<String> {
    let (effect, chance) = (verdict.effect?, verdict.probability_of_improvement?);
    let end = |end: Option<f64>| end.map_or("unbounded".to_owned(), significant);
    let better = match verdict.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    };
    Some(format!(
        "{b} - {a} = {} ({better} is better; {}% interval {} to {}); means {} for {a}, {} for {b}; {b} beats {a} with probability {} ({} to {}); \
         p = {} for better, {} for worse.",
        significant(effect),
        significant(100.0 * verdict.interval.confidence),
        end(verdict.interval.low),
        end(verdict.interval.high),
        verdict.a.mean.map_or("unknown".to_owned(), significant),
        verdict.b.mean.map_or("unknown".to_owned(), significant),
        significant(chance.value),
        significant(chance.low),
        significant(chance.high),
        significant(verdict.p_better),
        significant(verdict.p_worse),
    ))
}

fn explain(verdict: &Verdict, reason: Reason) -> String {
    let seeds =
        |count: u64| if count == 1 { "1 more seed".to_owned() } else { format!("{count} more seeds") };
    match (reason, verdict.seeds_needed) {
        (Reason::TooFewSeeds, needed) => format!(
            "So few seeds can't be told from luck, whatever they score: at least {} per arm are needed.",
            seeds(needed.unwrap_or(1))
        ),
        (Reason::NotSeparated, Some(needed)) => {
            let differ = verdict.p_better.min(verdict.p_worse) <= verdict.alpha;
            let counts = verdict.effect.is_some_and(|effect| effect.abs() >= verdict.minimum_effect);
            let what = match (differ, counts) {
                (true, true) => "The arms differ, but a guardrail is not yet shown to hold",
                (true, false) => "The arms differ, but perhaps by less than what counts",
                (false, _) => "The arms are not separated",
            };
            format!("{what}: about {} per arm would probably settle it.", seeds(needed))
        }
        (Reason::NotSeparated, None) => {
            "A guardrail moved the other way; more seeds won't settle which matters more.".to_owned()
        }
        (Reason::NoMeaningfulDifference, _) => format!(
            "If there is a difference, it is smaller than what counts ({}).",
            significant(verdict.minimum_effect)
        ),
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
        Described::new(found, Names::default(), options.look).statements
    }

    #[test]
    fn the_answer_comes_first_then_its_numbers() {
        let clear = said(&rising(0.0, 5), &rising(5.0, 5), &[], false);
        assert!(clear[0].starts_with("B is better than A (5 seeds of A against 5 of B)"), "{clear:?}");
        let arm = |successes: usize| -> Vec<f64> {
            (0..40).map(|run| f64::from(u8::from(run < successes))).collect()
        };
        let rates = said(&arm(6), &arm(19), &[], false);
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
        assert!(open.iter().any(|line| line.contains("guardrail is not yet shown to hold")), "{open:?}");
        let turned: Vec<f64> = rising(2.5, 12).into_iter().rev().collect();
        let pairs = said(&rising(0.0, 12), &turned, &[], true);
        assert!(pairs.iter().any(|line| line.contains("hardly go together")), "{pairs:?}");
    }

    #[test]
    fn verdict_and_sentences_are_one_json_object() {
        let options = Options { resamples: 0, ..Options::default() };
        let (a, b) = (rising(0.0, 5), rising(5.0, 5));
        let found = verdict(Question { a: &a, b: &b, guardrails: &[] }, &options).unwrap();
        let json = serde_json::to_value(Described::new(found, Names::default(), None)).unwrap();
        assert_eq!(json["verdict"], "better");
        assert_eq!(json["n_a"], 5);
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys.last().unwrap().as_str(), "statements");
        assert!(json["statements"][0].as_str().unwrap().starts_with("B is better"));
    }
}
