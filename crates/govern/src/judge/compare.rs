//! Two sets of seeds against each other: the numbers that a look and the audit of what was accepted decide by.
//!
//! Everything here is a function of the results of the two sets, so that a simulation can take the same decisions
//! without a ledger ([`super::simulate`]).

use rlxp_analyze::statistics::campaign::bounds::{Call, Look};
use rlxp_analyze::statistics::verdict::{
    self, Basis, Gains, MinimumEffect, Options, Veto, Weighed, gains, weigh,
};
use serde::Serialize;

use crate::documents::{self, FEWEST_SEEDS, MetricSpec};
use crate::ledger::event::LookCall;
use crate::score::{self, SeedResult};

/// What a set of seeds differs by from the reference, more being better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Seeds of the reference.
    pub reference_seeds: u64,
    /// Seeds of the judged set.
    pub seeds: u64,
    /// Seeds of the reference that failed.
    pub reference_failed: u64,
    /// Seeds of the judged set that failed.
    pub failed: u64,
    /// The rank statistic, in standard deviations from even.
    pub z: f64,
    /// By what the difference matters.
    pub basis: Option<Basis>,
    /// What speaks against accepting.
    pub veto: Option<Veto>,
    /// The gain of the typical score, by Hodges and Lehmann's estimate; negative if it is worse.
    pub gain: f64,
    /// The interval of that gain; an end is null where the seeds can't bound it.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Nominal coverage of the interval.
    pub confidence: f64,
    /// The gain of the mean.
    pub mean_gain: f64,
    /// By how much the share of failed seeds is lower.
    pub failed_share_gain: f64,
    /// What failed seeds counted for.
    pub failure_score: f64,
}

impl Compared {
    /// Whether the sets are large enough for any claim, and the difference matters without anything against it.
    pub fn is_admitted(&self) -> bool {
        self.seeds.min(self.reference_seeds) >= FEWEST_SEEDS && self.basis.is_some() && self.veto.is_none()
    }

    /// The gain by which the difference mattered.
    pub fn gain_by(&self, basis: Basis) -> f64 {
        match basis {
            Basis::TypicalScore => self.gain,
            Basis::Mean => self.mean_gain,
            Basis::FailedRuns => self.failed_share_gain,
        }
    }
}

/// Compares a set with the reference; `None` where one of them has no seeds, or none that finished while one counts like
/// the best. `alpha` is split between the two ends of the interval.
pub fn compare(
    reference: &[SeedResult],
    judged: &[SeedResult],
    spec: &MetricSpec,
    alpha: f64,
) -> Option<Compared> {
    let failure = score::failure_score(&[reference, judged], spec);
    let options = Options {
        direction: direction(spec.primary.direction),
        minimum_effect: MinimumEffect::Absolute(spec.smallest_effect),
        failure_score: Some(failure),
        resamples: 0,
        repetitions: 0,
        ..Options::default()
    };
    // Failed seeds are marked, so that their share is known.
    let (a, b) = (score::values(reference, spec, f64::NAN)?, score::values(judged, spec, f64::NAN)?);
    let Gains { typical, low, high, mean, failed_share } = gains(&a, &b, &options, alpha / 2.0)?;
    let Weighed { z, basis, veto } = weigh(&a, &b, &options);
    let failed = |set: &[SeedResult]| set.iter().filter(|seed| **seed == SeedResult::Failed).count() as u64;
    Some(Compared {
        reference_seeds: reference.len() as u64,
        seeds: judged.len() as u64,
        reference_failed: failed(reference),
        failed: failed(judged),
        z,
        basis,
        veto,
        gain: typical,
        low,
        high,
        confidence: 1.0 - alpha,
        mean_gain: mean,
        failed_share_gain: failed_share,
        failure_score: failure,
    })
}

/// What a look says. Where a guardrail is not shown to hold, what would be accepted needs more seeds; at the last look it
/// stays undecided.
pub fn call(bound: &Look, compared: &Compared, guardrails_hold: bool) -> LookCall {
    match bound.call(compared.z, compared.is_admitted()) {
        Call::Accept if guardrails_hold => LookCall::Accept,
        Call::Accept if bound.drop.is_some() => LookCall::More,
        Call::Accept | Call::Undecided => LookCall::Undecided,
        Call::Drop => LookCall::Drop,
        Call::More => LookCall::More,
    }
}

/// Whether the interval of a difference ends below the smallest effect: what was dropped is then shown not to be better.
pub fn is_shown_not_better(compared: &Compared, spec: &MetricSpec) -> bool {
    compared.high.is_some_and(|high| high < spec.smallest_effect)
}

/// Whether seeds that had no part in accepting a candidate contradict it: their gain is negative, by what it was
/// accepted by.
pub fn audit_contradicts(audit: &Compared, basis: Basis, spec: &MetricSpec) -> bool {
    audit.gain_by(basis) < -1e-9 * spec.smallest_effect.abs()
}

pub(super) fn direction(of: documents::Direction) -> verdict::Direction {
    match of {
        documents::Direction::Higher => verdict::Direction::Higher,
        documents::Direction::Lower => verdict::Direction::Lower,
    }
}
