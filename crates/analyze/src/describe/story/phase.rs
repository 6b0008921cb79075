//! A phase of a curve as claims, as a sentence and as a clause.

use rlxp_types::text::{grouped, number, steps};

use super::claim::{Claim, Over, Relation, Statistic};
use crate::statistics::course::{Course, FLAT, LEAST_CHANGE, Phase, PhaseKind, differ};

/// Kendall's tau from which the points of a phase agree on a direction.
const AGREE: f64 = 0.7;
/// Standard errors by which tau must differ from that of points in random order.
const SURE: f64 = 3.0;
/// More points are compared in blocks: all pairs of them would take too long.
const MOST_BLOCKS: usize = 200;

/// Phases, those without a clear trend as rises or falls where their points agree on a direction. Whether a change is
/// noise is decided by the noise of the whole curve; one that is noisy elsewhere can still rise steadily here.
pub(in crate::describe) fn directed(phases: Vec<Phase>, course: &Course) -> Vec<Phase> {
    let directed = |phase: Phase| {
        let change = phase.to_value - phase.from_value;
        let is_large =
            change.abs() > LEAST_CHANGE * course.range() && differ(phase.from_value, phase.to_value);
        if phase.kind != PhaseKind::Unsteady || !is_large || !agree(&phase, course, change.signum()) {
            return phase;
        }
        Phase { kind: if change > 0.0 { PhaseKind::Rise } else { PhaseKind::Fall }, ..phase }
    };
    phases.into_iter().map(directed).collect()
}

/// Whether the points of a phase, taken in pairs, nearly all go in a direction.
fn agree(phase: &Phase, course: &Course, direction: f64) -> bool {
    let inside = |(step, _): &&(u64, f64)| (phase.from_step..=phase.to_step).contains(step);
    let values: Vec<f64> = course.points().iter().filter(inside).map(|(_, value)| *value).collect();
    let blocks: Vec<f64> = values
        .chunks(values.len().div_ceil(MOST_BLOCKS).max(1))
        .map(|block| block.iter().sum::<f64>() / block.len() as f64)
        .collect();
    let n = blocks.len() as f64;
    let later = |(index, value): (usize, &f64)| {
        let steps = blocks[index + 1..].iter().map(|next| (next - value) * direction);
        steps.map(|step| f64::from(step > 0.0) - f64::from(step < 0.0)).sum::<f64>()
    };
    let agreeing: f64 = blocks.iter().enumerate().map(later).sum();
    let error = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    agreeing > SURE * error && agreeing >= AGREE * n * (n - 1.0) / 2.0
}

/// What is claimed of a phase of a curve whose values cover `range`.
pub(in crate::describe) fn claims(phase: &Phase, range: f64) -> Vec<Claim> {
    let claim =
        |statistic, value| Claim::new(Over::Curve, statistic, (phase.from_step, phase.to_step), value);
    let (start, end) = (claim(Statistic::Start, phase.from_value), claim(Statistic::End, phase.to_value));
    let levels = [
        claim(Statistic::Mean, phase.mean),
        claim(Statistic::Lowest, phase.lowest),
        claim(Statistic::Highest, phase.highest),
    ];
    match phase.kind {
        PhaseKind::Rise => vec![start, end.is(Relation::Above, start.value), rate(phase)],
        PhaseKind::Fall => vec![start, end.is(Relation::Below, start.value), rate(phase)],
        PhaseKind::Plateau if differ(phase.lowest, phase.highest) => {
            let change = claim(Statistic::Change, (end.value - start.value).abs());
            let moved = change.is(Relation::AtMost, LEAST_CHANGE * range);
            let within = claim(Statistic::CoreSpread, phase.core_spread).is(Relation::AtMost, FLAT * range);
            [&levels[..], &[moved, within]].concat()
        }
        PhaseKind::Plateau | PhaseKind::Unsteady => levels.to_vec(),
    }
}

fn rate(phase: &Phase) -> Claim {
    let length = phase.to_step - phase.from_step;
    let rate = 1e4 * (phase.to_value - phase.from_value) / length as f64;
    Claim::new(Over::Curve, Statistic::Rate, (phase.from_step, phase.to_step), rate)
}

/// `Rise over steps 5,120 to 15,360, from 167.2 to 500 (325 per 10,000 steps).`
pub(super) fn sentence(phase: &Phase, whose: &str) -> String {
    let over = steps(phase.from_step, phase.to_step);
    let (low, high, mean) = (number(phase.lowest), number(phase.highest), number(phase.mean));
    let way = || {
        let (from, to) = (number(phase.from_value), number(phase.to_value));
        format!("over {over}{whose}, from {from} to {to} ({} per 10,000 steps).", number(rate(phase).value))
    };
    match phase.kind {
        PhaseKind::Rise => format!("Rise {}", way()),
        PhaseKind::Fall => format!("Fall {}", way()),
        PhaseKind::Plateau | PhaseKind::Unsteady if !differ(phase.lowest, phase.highest) => {
            format!("Plateau over {over}{whose}, at {mean}.")
        }
        PhaseKind::Plateau => {
            format!("Plateau over {over}{whose}, around {mean} (between {low} and {high}).")
        }
        PhaseKind::Unsteady => {
            format!("No clear trend over {over}{whose}: between {low} and {high}, {mean} on average.")
        }
    }
}

/// `up to 500 until 15,360`, for a list of phases.
pub(in crate::describe) fn clause(phase: &Phase) -> String {
    let until = grouped(phase.to_step);
    match phase.kind {
        PhaseKind::Rise => format!("up to {} until {until}", number(phase.to_value)),
        PhaseKind::Fall => format!("down to {} until {until}", number(phase.to_value)),
        PhaseKind::Plateau | PhaseKind::Unsteady if !differ(phase.lowest, phase.highest) => {
            format!("at {} until {until}", number(phase.mean))
        }
        PhaseKind::Plateau => format!("around {} until {until}", number(phase.mean)),
        PhaseKind::Unsteady => {
            format!("between {} and {} until {until}", number(phase.lowest), number(phase.highest))
        }
    }
}

/// `Fell from 500 to 9.3 over steps 5,120 to 15,360`, for a paragraph.
pub(super) fn fall_in_short(phase: &Phase) -> String {
    format!(
        "Fell from {} to {} over {}",
        number(phase.from_value),
        number(phase.to_value),
        steps(phase.from_step, phase.to_step)
    )
}
