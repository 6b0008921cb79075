//! Looks and verdicts in sentences, and the words that records have for the parts of a comparison.

use rlxp_analyze::statistics::verdict::{Basis, Veto};

use super::compare::Compared;
use crate::canonical::plain;
use crate::documents::MetricSpec;
use crate::ledger::event::{LookCall, Looked};

/// As it is written in a record.
pub(super) fn basis(basis: Basis) -> String {
    plain(&basis).as_str().unwrap_or_default().to_owned()
}

/// From a record.
pub(super) fn read_basis(word: &str) -> Option<Basis> {
    [Basis::TypicalScore, Basis::Mean, Basis::FailedRuns].into_iter().find(|one| basis(*one) == word)
}

/// As it is written in a record.
pub(super) fn veto(veto: Veto) -> String {
    plain(&veto).as_str().unwrap_or_default().to_owned()
}

/// A number with as many digits as a reader needs.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" || (short == "0" && value != 0.0) { format!("{value:.2e}") } else { short.to_owned() }
}

/// What a look found, as a clause.
pub(super) fn look(looked: &Looked) -> String {
    let Looked { look, looks, seeds, incumbent_seeds, z, accept, .. } = looked;
    let at = format!("look {look} of {looks} compared {seeds} seeds with {incumbent_seeds}");
    let z = format!("z = {z:.2}");
    let failed: Vec<&str> =
        looked.guardrails.iter().filter(|guardrail| !guardrail.holds).map(|one| one.name.as_str()).collect();
    match looked.call {
        LookCall::Accept => format!("{at}: {z} reaches {accept:.2}"),
        LookCall::Drop => format!("{at}: {z} is below {:.2}", looked.drop.unwrap_or_default()),
        _ if looked.z >= *accept && looked.basis.is_none() => {
            format!("{at}: {z} reaches {accept:.2}, but the difference is smaller than what matters")
        }
        _ if looked.z >= *accept && looked.veto.is_some() => {
            let against = match looked.veto.as_deref() {
                Some("failed_runs") => "more seeds fail",
                _ => "the mean is worse",
            };
            format!("{at}: {z} reaches {accept:.2}, but {against}")
        }
        _ if looked.z >= *accept && !failed.is_empty() => {
            format!("{at}: {z} reaches {accept:.2}, but {} is not shown to hold", failed.join(", "))
        }
        LookCall::More => format!("{at}: {z} is below {accept:.2}, so more seeds are needed"),
        LookCall::Undecided => format!("{at}: {z} is below {accept:.2}, and no look is left"),
    }
}

/// Why what was dropped is rejected.
pub(super) fn not_better(compared: &Compared, spec: &MetricSpec) -> String {
    let high = compared.high.map_or_else(|| "unknown".to_owned(), number);
    format!("the gain is at most {high}, less than the {} that matters", number(spec.smallest_effect))
}

/// Why what was dropped is not rejected.
pub(super) fn may_be_better(compared: &Compared) -> String {
    match compared.high {
        Some(high) => format!("the gain may still be as large as {}", number(high)),
        None => "its seeds can't bound the gain".to_owned(),
    }
}

fn by(basis: Basis) -> &'static str {
    match basis {
        Basis::TypicalScore => "typical score",
        Basis::Mean => "mean",
        Basis::FailedRuns => "share of failed seeds",
    }
}

pub(super) fn guardrails_broken(names: &[&str]) -> String {
    format!("not shown to hold over all its seeds, audit seeds included: {}", names.join(", "))
}

pub(super) fn audit_contradicts(audit: &Compared, basis: Basis) -> String {
    let gain = number(audit.gain_by(basis));
    format!(
        "{} audit seeds contradict the look that accepted it: by the {} they gain {gain} over the incumbent",
        audit.seeds,
        by(basis)
    )
}

pub(super) fn accepted(look: &Looked, audit: &Compared, basis: Basis) -> String {
    let gain = number(audit.gain_by(basis));
    format!(
        "look {} of {} found it better by the {}, and {} audit seeds, which had no part in that, gain {gain}",
        look.look,
        look.looks,
        by(basis),
        audit.seeds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_hide_a_difference() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-0.25, "-0.25"),
            (1e-7, "1.00e-7"),
            (-1e-7, "-1.00e-7"),
            (300.0, "300"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
