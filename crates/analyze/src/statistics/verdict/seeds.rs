//! How many more seeds would settle a comparison that can't tell yet, by
//! simulating the same comparison with more of them.

use super::difference::Difference;
use super::options::{MinimumEffect, Options};
use super::scored::{Scored, close_pairs, spread};
use super::{FEWEST_SEEDS, GuardrailResult};
use crate::statistics::aggregate::median;
use crate::statistics::verdict::power::{Design, FEWEST_PILOT_RUNS, Returns, Simulation, power, seeds_for};

/// A difference that was seen is planned for when it is this many times the
/// smallest that counts; closer to it, no number of seeds is likely to settle.
const CLEARLY_ABOVE: f64 = 1.5;

/// Otherwise this many times the smallest that counts is planned for.
const WORTH_FINDING: f64 = 2.0;

/// More seeds per group, and the difference that they find.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MoreSeeds {
    pub(super) seeds: Option<u64>,
    /// In the scores' unit.
    pub(super) effect: Option<f64>,
}

impl MoreSeeds {
    pub(super) const NONE: Self = Self { seeds: None, effect: None };

    pub(super) fn at_least(seeds: u64) -> Self {
        Self { seeds: Some(seeds), effect: None }
    }
}

/// Seeds that find the difference as seen, or twice the smallest that counts
/// if what was seen is hardly above that. None, with the difference, if as
/// many seeds as there are would probably have found it: then it is smaller.
pub(super) fn to_settle(scored: &Scored, difference: Difference, least: f64, options: &Options) -> MoreSeeds {
    let seen = difference.typical.abs().max(difference.mean.abs());
    let effect = if seen >= CLEARLY_ABOVE * least { seen } else { WORTH_FINDING * least };
    if options.repetitions == 0 || effect <= 0.0 {
        return MoreSeeds::NONE;
    }
    // Runs at a ceiling don't look like these, shifted: a few of them say nothing about how many it takes.
    if effect == seen && !options.paired && mostly_equal(scored) {
        return MoreSeeds::NONE;
    }
    let now = scored.n_a().min(scored.n_b());
    let residuals = residuals(scored, options.paired);
    let scale = spread(&[&residuals]);
    let pilot = residuals.len() >= FEWEST_PILOT_RUNS && now >= FEWEST_SEEDS && scale > 0.0;
    let (returns, unit) = if pilot {
        (Returns::Pilot(&residuals), 1.0)
    } else {
        (Returns::Gaussian, if scale > 0.0 { scale } else { scored.spread })
    };
    if unit <= 0.0 {
        return MoreSeeds::NONE;
    }
    let design = Design {
        paired: options.paired,
        alpha: options.alpha,
        looks: 1,
        minimum_effect: MinimumEffect::Absolute(least / unit),
    };
    let simulation = Simulation { repetitions: options.repetitions, seed: options.seed };
    let effect_shown = Some(effect);
    if power(&design, returns, effect / unit, now, simulation) >= options.power {
        return MoreSeeds { seeds: None, effect: effect_shown };
    }
    match seeds_for(&design, returns, effect / unit, options.power, simulation) {
        Ok(seeds) => MoreSeeds { seeds: Some(seeds.saturating_sub(now).max(1)), effect: effect_shown },
        Err(_) => MoreSeeds { seeds: None, effect: effect_shown },
    }
}

/// Whether most pairs of runs of a group score the same.
fn mostly_equal(scored: &Scored) -> bool {
    let pairs = |runs: usize| runs as u64 * (runs as u64).saturating_sub(1) / 2;
    let same = close_pairs(&scored.a, 0.0) + close_pairs(&scored.b, 0.0);
    2 * same > pairs(scored.a.len()) + pairs(scored.b.len())
}

/// The runs around the centre of their group, or the differences around theirs.
fn residuals(scored: &Scored, paired: bool) -> Vec<f64> {
    let around = |values: &[f64]| -> Vec<f64> {
        let centre = median(values);
        values.iter().map(|value| value - centre).collect()
    };
    if paired {
        return around(&scored.differences());
    }
    [around(&scored.a), around(&scored.b)].concat()
}

/// How many times more seeds a guardrail needs to hold at its present estimate,
/// as its interval shrinks with their root; `None` if it never will.
pub(super) fn growth((low, gain): (f64, f64), margin: f64) -> Option<f64> {
    let room = gain + margin;
    (room > 0.0).then(|| ((gain - low) / room).powi(2).max(1.0))
}

/// Seeds until all guardrails would hold; none if one never will.
pub(super) fn for_guardrails(guardrails: &[GuardrailResult], reversed: bool, now: u64) -> MoreSeeds {
    let growths = guardrails.iter().map(|guardrail| guardrail.growth[usize::from(reversed)]);
    let times = growths.into_iter().try_fold(1.0, |most: f64, one| Some(most.max(one?)));
    let more = |times: f64| ((times * now as f64).ceil() as u64).saturating_sub(now).max(1);
    MoreSeeds { seeds: times.map(more), effect: None }
}
