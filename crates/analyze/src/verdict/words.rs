//! The verdict in sentences that a person can read aloud.

use super::{Answer, Direction, Look, Names, Reason, Verdict};

/// All sentences, the answer first.
pub(super) fn statements(verdict: &Verdict, names: Names<'_>, look: Option<Look>) -> Vec<String> {
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
                number(score)
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
        let effect = guardrail.effect.map_or("unknown".to_owned(), number);
        statements.push(format!(
            "Guardrail {} {outcome}: {b} - {a} = {effect}, at most {} worse is accepted.",
            guardrail.name,
            number(guardrail.margin)
        ));
    }
    if let Some(look) = look {
        statements.push(format!(
            "Look {} of {} planned: each direction is judged at {}.",
            look.number,
            look.planned,
            number(verdict.alpha)
        ));
    }
    if let Some(correlation) = verdict.correlation.filter(|correlation| *correlation < 0.1) {
        statements.push(format!(
            "The pairs hardly go together (correlation {}), so comparing without pairs would probably find more.",
            number(correlation)
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
    let end = |end: Option<f64>| end.map_or("unbounded".to_owned(), number);
    let better = match verdict.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    };
    Some(format!(
        "{b} - {a} = {} ({better} is better; {}% interval {} to {}); means {} for {a}, {} for {b}; {b} beats {a} with probability {} ({} to {}); \
         p = {} for better, {} for worse.",
        number(effect),
        number(100.0 * verdict.interval.confidence),
        end(verdict.interval.low),
        end(verdict.interval.high),
        verdict.a.mean.map_or("unknown".to_owned(), number),
        verdict.b.mean.map_or("unknown".to_owned(), number),
        number(chance.value),
        number(chance.low),
        number(chance.high),
        number(verdict.p_better),
        number(verdict.p_worse),
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
            number(verdict.minimum_effect)
        ),
    }
}

/// Four significant digits, without trailing zeros.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{}", value + 0.0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..=9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (95.0, "95"),
            (0.004_321_9, "0.004322"),
            (12_345.678, "12346"),
            (-1.5, "-1.5"),
            (1.2e-9, "1.200e-9"),
        ] {
            assert_eq!(number(value), expected);
        }
    }
}
