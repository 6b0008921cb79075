//! How many runs a verdict needs, and what a number of runs can show: the
//! power of [`crate::statistics::verdict`] itself, with its test, its smallest
//! effect, its fewest seeds and its planned looks.
//!
//! No formula gives the power of a verdict, so it is estimated: many experiments
//! with a known difference are simulated and judged, on Gaussian returns or on
//! resamples of pilot runs. The first n runs of an experiment are the same for
//! every n, so more seeds help smoothly and the search for the fewest is
//! well-behaved; a fixed seed makes the answer the same every time.

mod experiment;

use serde::{Deserialize, Serialize};

use crate::statistics::distribution::{normal_cdf, normal_quantile};
use crate::statistics::verdict::{FEWEST_SEEDS, MinimumEffect};
use experiment::{Experiments, Runs};

/// The search stops at this many seeds per group.
pub const MOST_SEEDS: u64 = 2_000;

/// Pilot runs below this number say too little about their distribution.
pub const FEWEST_PILOT_RUNS: usize = 10;

/// How the planned comparison is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Whether run i of both groups shares a seed; effects are then in
    /// standard deviations of a difference.
    pub paired: bool,
    /// The chance of a false claim in one direction, over all looks.
    pub alpha: f64,
    /// Equally spaced looks at the runs; each spends an equal part of `alpha`.
    pub looks: u64,
    /// The smallest effect that counts, in the returns' unit or in spreads.
    pub minimum_effect: MinimumEffect,
}

impl Default for Design {
    fn default() -> Self {
        Self { paired: false, alpha: 0.025, looks: 1, minimum_effect: MinimumEffect::Spreads(0.2) }
    }
}

/// What the returns look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Returns<'p> {
    /// Normal with standard deviation 1: effects are in standard deviations.
    Gaussian,
    /// Like these runs (of both groups, each around its own centre): effects
    /// are in their unit.
    Pilot(&'p [f64]),
}

/// How often and with which draws is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulation {
    pub repetitions: usize,
    pub seed: u64,
}

impl Default for Simulation {
    fn default() -> Self {
        Self { repetitions: 20_000, seed: 0 }
    }
}

/// Why no number of seeds suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoNumber {
    /// The effect is not above the smallest that counts.
    EffectTooSmall,
    /// It takes more than [`MOST_SEEDS`].
    TooMany,
}

/// The chance that a true `effect` is found with `seeds` seeds per group.
pub fn power(design: &Design, returns: Returns<'_>, effect: f64, seeds: u64, simulation: Simulation) -> f64 {
    let mut runs = Runs::new(design, returns, simulation);
    Experiments::new(design, seeds, simulation.repetitions).found(&mut runs, effect)
}

/// The fewest seeds per group that find `effect` with this power.
pub fn seeds_for(
    design: &Design,
    returns: Returns<'_>,
    effect: f64,
    power: f64,
    simulation: Simulation,
) -> Result<u64, NoNumber> {
    let scale = returns.deviation();
    let least = match design.minimum_effect {
        MinimumEffect::Absolute(size) => size,
        MinimumEffect::Spreads(spreads) | MinimumEffect::SpreadsOrFraction { spreads, .. } => spreads * scale,
    };
    // At the smallest effect that counts every second estimate falls below it.
    if effect.is_nan() || effect <= least {
        return Err(NoNumber::EffectTooSmall);
    }
    let fewest = fewest_seeds(design);
    let mut runs = Runs::new(design, returns, simulation);
    let mut enough = |seeds: u64, repetitions: usize| {
        Experiments::new(design, seeds, repetitions).reaches(&mut runs, power, effect)
    };
    // Rough steps with few repetitions first; the end is searched with all.
    let all = simulation.repetitions;
    let rough = (all / 10).clamp(200, 2_000);
    let mut high = first_guess(design, effect / scale, power).clamp(fewest, MOST_SEEDS);
    while !enough(high, rough) {
        if high >= MOST_SEEDS {
            return Err(NoNumber::TooMany);
        }
        high = (high + high.div_ceil(4)).min(MOST_SEEDS);
    }
    let mut low = (high * 3 / 4).max(fewest - 1);
    while low >= fewest && enough(low, rough) {
        (high, low) = (low, (low * 3 / 4).max(fewest - 1));
    }
    let near = bisect(low, high, |seeds| enough(seeds, rough));
    // The rough answer is off by few seeds: steps away from it grow until both sides are known.
    let (mut low, mut high, mut step) = (near, near, (near / 64).max(1));
    let is_enough = enough(near, all);
    loop {
        if is_enough {
            (low, step) = (high.saturating_sub(step).max(fewest - 1), step * 2);
            if low < fewest || !enough(low, all) {
                break;
            }
            high = low;
        } else {
            if low >= MOST_SEEDS {
                return Err(NoNumber::TooMany);
            }
            (high, step) = ((low + step).min(MOST_SEEDS), step * 2);
            if enough(high, all) {
                break;
            }
            low = high;
        }
    }
    Ok(bisect(low, high, |seeds| enough(seeds, all)))
}

/// The smallest true effect that `seeds` seeds per group find with this power;
/// `None` where none is large enough.
pub fn detectable_effect(
    design: &Design,
    returns: Returns<'_>,
    seeds: u64,
    power: f64,
    simulation: Simulation,
) -> Option<f64> {
    let experiments = Experiments::new(design, seeds, simulation.repetitions);
    let mut runs = Runs::new(design, returns, simulation);
    let scale = returns.deviation();
    let mut high = scale;
    while !experiments.reaches(&mut runs, power, high) {
        high *= 2.0;
        if high > 1e3 * scale {
            return None;
        }
    }
    let mut low = 0.0;
    while high - low > 1e-3 * scale {
        let middle = (low + high) / 2.0;
        *(if experiments.reaches(&mut runs, power, middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// The fewest seeds with which a verdict can be reached at all.
pub fn fewest_seeds(design: &Design) -> u64 {
    let level = design.alpha / design.looks.max(1) as f64;
    (FEWEST_SEEDS..)
        .find(|seeds| experiment::critical(design.paired, *seeds, level).is_some())
        .unwrap_or(FEWEST_SEEDS)
}

impl Returns<'_> {
    /// The standard deviation, in whose unit first guesses are made.
    fn deviation(self) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Pilot(runs) => Some(crate::statistics::aggregate::variance(runs).sqrt())
                .filter(|deviation| *deviation > 0.0)
                .unwrap_or(1.0),
        }
    }
}

/// Noether's formula (1987), which knows the rank test alone.
fn first_guess(design: &Design, effect: f64, power: f64) -> u64 {
    let (scale, share) =
        if design.paired { (std::f64::consts::SQRT_2, 3.0) } else { (std::f64::consts::FRAC_1_SQRT_2, 6.0) };
    let imbalance = normal_cdf(effect * scale) - 0.5;
    let level = design.alpha / design.looks.max(1) as f64;
    let reach = (normal_quantile(1.0 - level) + normal_quantile(power)).powi(2);
    (reach / (share * imbalance * imbalance)).ceil().min(MOST_SEEDS as f64) as u64
}

/// The smallest number above `low` that is enough; `high` is.
fn bisect(mut low: u64, mut high: u64, mut enough: impl FnMut(u64) -> bool) -> u64 {
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        *(if enough(middle) { &mut high } else { &mut low }) = middle;
    }
    high
}

#[cfg(test)]
mod tests;
