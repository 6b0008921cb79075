//! `rlx stats power`: how many seeds a verdict needs, what a number of seeds
//! can show, or how likely it is to be shown.

use rlxp_analyze::power::{
    Design, FEWEST_PILOT_RUNS, NoNumber, Returns, Simulation, detectable_effect, fewest_seeds,
    power as simulated, seeds_for,
};
use rlxp_analyze::verdict::MinimumEffect;
use serde::Serialize;

use super::scores::scores;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// A question about how many seeds are needed.
#[derive(Clone, Debug)]
pub struct PowerRequest {
    /// Difference in standard deviations of the scores.
    pub effect: Option<f64>,
    /// Seeds per group.
    pub seeds: Option<u64>,
    /// Chance to find a difference that is there.
    pub power: f64,
    /// Chance to find one that is not there.
    pub alpha: f64,
    /// Claims in both directions count.
    pub two_sided: bool,
    /// Both groups use the same seeds.
    pub paired: bool,
    /// Planned looks at the runs.
    pub looks: u64,
    /// Smallest effect that counts, in standard deviations.
    pub minimum_effect: Option<f64>,
    /// Pilot runs whose distribution is used instead of a Gaussian.
    pub pilot: Option<Pilot>,
}

/// A file of pilot scores.
#[derive(Clone, Debug)]
pub struct Pilot {
    pub file: String,
    pub column: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerReport {
    /// Difference in standard deviations.
    pub effect: Option<f64>,
    /// The same in the pilot's unit.
    pub difference: Option<f64>,
    /// Seeds per group.
    pub seeds: Option<u64>,
    /// Whether that is the fewest a verdict needs at all.
    pub minimum: bool,
    /// The fewest seeds per group that a verdict needs at all.
    pub fewest_seeds: u64,
    /// Why no number of seeds suffices.
    pub no_number: Option<NoNumber>,
    /// Chance to find the difference with these seeds.
    pub power: f64,
    /// Chance of a false alarm.
    pub alpha: f64,
    pub two_sided: bool,
    pub paired: bool,
    pub looks: u64,
    /// Smallest effect that counts, in standard deviations.
    pub minimum_effect: f64,
    /// Pilot runs, if there were any.
    pub pilot_runs: Option<usize>,
}

/// Seeds for an effect, the smallest effect for some seeds, or the power of both.
pub fn power(context: &Context, request: &PowerRequest) -> Outcome<PowerReport> {
    let default = Design::default();
    let MinimumEffect::Spreads(usual) = default.minimum_effect else {
        unreachable!("the default is in spreads");
    };
    let minimum_effect = request.minimum_effect.unwrap_or(usual);
    check(request, minimum_effect)?;
    let pilot = request.pilot.as_ref().map(|pilot| pilot_runs(context, pilot)).transpose()?;
    let unit = pilot.as_deref().map_or(1.0, |runs| rlxp_analyze::aggregate::variance(runs).sqrt());
    let returns = pilot.as_deref().map_or(Returns::Gaussian, Returns::Pilot);
    let alpha = if request.two_sided { request.alpha / 2.0 } else { request.alpha };
    let least = match request.minimum_effect {
        Some(size) => MinimumEffect::Absolute(size * unit),
        None => default.minimum_effect,
    };
    let design = Design { paired: request.paired, alpha, looks: request.looks, minimum_effect: least };
    let simulation = Simulation::default();
    let mut report = PowerReport {
        effect: request.effect,
        difference: None,
        seeds: request.seeds,
        minimum: false,
        fewest_seeds: fewest_seeds(&design),
        no_number: None,
        power: request.power,
        alpha: request.alpha,
        two_sided: request.two_sided,
        paired: request.paired,
        looks: request.looks,
        minimum_effect,
        pilot_runs: pilot.as_ref().map(Vec::len),
    };
    match (request.effect, request.seeds) {
        (Some(effect), None) => match seeds_for(&design, returns, effect * unit, request.power, simulation) {
            Ok(seeds) => {
                report.seeds = Some(seeds);
                report.minimum = seeds == report.fewest_seeds;
                report.power = simulated(&design, returns, effect * unit, seeds, simulation);
            }
            Err(why) => report.no_number = Some(why),
        },
        (None, Some(seeds)) => {
            let effect = detectable_effect(&design, returns, seeds, request.power, simulation);
            report.effect = effect.map(|effect| effect / unit);
        }
        (Some(effect), Some(seeds)) => {
            report.power = simulated(&design, returns, effect * unit, seeds, simulation);
        }
        (None, None) => {
            return Err(Failure::usage("nothing_asked", "expected --effect, --seeds or both")
                .hint("rlx stats power --effect 1.0"));
        }
    }
    report.difference = report.effect.filter(|_| report.pilot_runs.is_some()).map(|effect| effect * unit);
    Ok(report)
}

/// No run is so far from others, and squares of larger effects lose all digits.
const LARGEST_EFFECT: f64 = 1e6;

/// Beyond, the experiments that fail are too few to count.
const LARGEST_POWER: f64 = 0.999;

fn check(request: &PowerRequest, minimum_effect: f64) -> Outcome<()> {
    let wrong = |message: String| Err(Failure::usage("out_of_range", message));
    for (name, value) in [("--power", request.power), ("--alpha", request.alpha)] {
        if !(value > 0.0 && value < 1.0) {
            return wrong(format!("{name} is {value}: it must be between 0 and 1"));
        }
    }
    if request.power > LARGEST_POWER {
        return wrong(format!("--power is {}: simulations can tell at most {LARGEST_POWER}", request.power));
    }
    if let Some(effect) = request.effect.filter(|effect| !(*effect > 0.0 && *effect <= LARGEST_EFFECT)) {
        return wrong(format!(
            "--effect is {effect:e}: it must be above 0 and at most {LARGEST_EFFECT}, in standard deviations"
        ));
    }
    if request.seeds.is_some_and(|seeds| !(2..=2_000).contains(&seeds)) {
        return wrong("--seeds must be at least 2, as one seed has no variance, and at most 2000".to_owned());
    }
    if !(1..=10).contains(&request.looks) {
        return wrong(format!("--looks is {}: it must be between 1 and 10", request.looks));
    }
    if !(minimum_effect >= 0.0 && minimum_effect.is_finite()) {
        return wrong(format!("--minimum-effect is {minimum_effect}: it must be 0 or more"));
    }
    Ok(())
}

/// The pilot's scores that didn't fail, around zero.
fn pilot_runs(context: &Context, pilot: &Pilot) -> Outcome<Vec<f64>> {
    let all = scores(context, &pilot.file, pilot.column.as_deref())?;
    let finite: Vec<f64> = all.iter().copied().filter(|score| score.is_finite()).collect();
    let bad = |why: String| Failure::usage("bad_scores", format!("{}: {why}", pilot.file));
    if finite.len() < all.len() {
        return Err(bad("a pilot run failed; give it the score that it counts with".to_owned()));
    }
    if finite.len() < FEWEST_PILOT_RUNS {
        let message = format!("{} runs; a pilot needs at least {FEWEST_PILOT_RUNS}", finite.len());
        return Err(bad(message).hint("leave out --pilot to assume Gaussian returns"));
    }
    if finite.iter().all(|score| *score == finite[0]) {
        return Err(bad("all runs have the same score, so nothing can be simulated".to_owned()));
    }
    let deviation = rlxp_analyze::aggregate::variance(&finite).sqrt();
    if !(1e-150..=1e150).contains(&deviation) {
        return Err(bad(format!("the standard deviation is {deviation:e}, too extreme to compute with")));
    }
    Ok(finite)
}
