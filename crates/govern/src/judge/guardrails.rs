//! Metrics beside the primary one: guardrails, which must be shown not to have suffered, and rollback metrics, which undo
//! what was accepted when its audit shows that they have.

use rlxp_analyze::statistics::shift::hodges_lehmann;

use super::sets::Set;
use crate::documents::{Direction, FEWEST_SEEDS, Guardrail};
use crate::ledger::event::GuardrailLook;

/// A guardrail as non-inferiority: the one-sided bound of the difference, wrong with probability `alpha` at most, must
/// not be below what is allowed.
///
/// A judged seed without a value counts as worse than every other; a seed of the reference without one is left out, which
/// can only make it harder to show that nothing was lost.
pub(super) fn look(
    guardrail: &Guardrail,
    reference: &Set<'_>,
    judged: &Set<'_>,
    alpha: f64,
) -> GuardrailLook {
    let name = guardrail.metric.name.clone();
    let allowed = guardrail.allowed_regression;
    let sign = match guardrail.metric.direction {
        Direction::Higher => 1.0,
        Direction::Lower => -1.0,
    };
    let turned = |values: Vec<Option<f64>>| -> Vec<Option<f64>> {
        values.into_iter().map(|value| value.map(|value| sign * value)).collect()
    };
    let reference: Vec<f64> = turned(reference.metric(&name)).into_iter().flatten().collect();
    let judged = turned(judged.metric(&name));
    let missing = worse_than_all(&reference, &judged, allowed);
    let judged: Vec<f64> = judged.into_iter().map(|value| value.unwrap_or(missing)).collect();
    let is_enough = reference.len().min(judged.len()) as u64 >= FEWEST_SEEDS;
    let shift = hodges_lehmann(&judged, &reference, alpha).filter(|_| is_enough);
    let bound = shift.and_then(|shift| shift.low);
    let slack = 1e-9 * allowed.abs();
    GuardrailLook {
        name,
        allowed,
        difference: shift.map(|shift| shift.value + 0.0),
        bound: bound.map(|bound| bound + 0.0),
        holds: bound.is_some_and(|bound| bound >= -allowed - slack),
    }
}

/// Whether a rollback metric fell further than is allowed, by the estimate.
pub(super) fn has_fallen(look: &GuardrailLook) -> bool {
    look.difference.is_some_and(|difference| difference < -look.allowed)
}

/// A value that is worse than every other by more than is allowed.
fn worse_than_all(reference: &[f64], judged: &[Option<f64>], allowed: f64) -> f64 {
    let all = || reference.iter().copied().chain(judged.iter().copied().flatten());
    let worst = all().fold(f64::INFINITY, f64::min);
    let best = all().fold(f64::NEG_INFINITY, f64::max);
    if worst > best {
        return 0.0;
    }
    worst - (best - worst) - allowed.abs() - 1.0
}
