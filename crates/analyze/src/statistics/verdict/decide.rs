//! The procedure itself: from two lists of scores to an answer.

use super::chance::{self, can_reach, fewest_seeds};
use super::difference::{Basis, EffectSize, FAILED_SHARE, Veto};
use super::options::{Guardrail, InvalidQuestion, Options};
use super::quick::SortedPair;
use super::scored::{FailureScore, Scored};
use super::seeds::{self, MoreSeeds};
use super::{Answer, FEWEST_SEEDS, GuardrailResult, Interval, Reason, TestKind, Verdict};
use crate::statistics::aggregate::{iqm, mean};
use crate::statistics::bootstrap::{Method, Plan, bootstrap_iqm_difference};
use crate::statistics::rank_test::{mann_whitney, rounding_tolerance, wilcoxon_signed_rank};
use crate::statistics::shift::{Shift, hodges_lehmann, pseudomedian};
use crate::statistics::t_test::{Alternative, paired_t, welch};

/// From this many runs on the descriptive interval is a percentile interval
/// of 1,000 resamples.
const MANY_RUNS: u64 = 1_000;

/// Two groups to compare: is `b` better than `a`? A run that failed or has no
/// score is given as NaN; it is scored, never dropped.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Final scores of A's runs, one per seed.
    pub a: &'a [f64],
    /// Final scores of B's runs, one per seed.
    pub b: &'a [f64],
    /// Other metrics that must not suffer.
    pub guardrails: &'a [Guardrail],
}

/// Answers the question; see the module's page for the procedure.
pub fn verdict(question: Question<'_>, options: &Options) -> Result<Verdict, InvalidQuestion> {
    let problems = options.problems(question.a, question.b, question.guardrails);
    if !problems.is_empty() {
        return Err(InvalidQuestion { problems });
    }
    let alpha = options.alpha;
    let scored = Scored::new(question.a, question.b, options.direction, options.paired, options.failure());
    let evidence = Evidence::new(&scored, options.paired, alpha);
    let minimum_effect = options.minimum_effect.size(scored.spread, iqm(&scored.a));
    let guardrails: Vec<GuardrailResult> =
        question.guardrails.iter().map(|guardrail| guard(guardrail, options)).collect();
    let decision = Decision::new(&scored, &evidence, minimum_effect, &guardrails, options);

    let confidence = 1.0 - 2.0 * alpha;
    let shift = evidence.shift;
    let difference = shift.map(|shift| scored.difference(shift.value));
    let effect_in_spreads = difference.filter(|_| scored.spread > 0.0).map(|difference| {
        let size = if decision.basis == Some(Basis::Mean) { difference.mean } else { difference.typical };
        size / scored.spread + 0.0
    });
    let (low, high) = scored.interval_back(shift.and_then(|s| s.low), shift.and_then(|s| s.high));
    let differences = if options.paired { scored.differences() } else { Vec::new() };
    let probability_of_improvement = if options.paired {
        chance::paired(&differences, rounding_tolerance(&scored.a, &scored.b), confidence)
    } else {
        chance::unpaired(&scored.a, &scored.b, confidence)
    };
    let means = if options.paired { paired_t(&scored.b, &scored.a) } else { welch(&scored.b, &scored.a) };
    Ok(Verdict {
        verdict: decision.answer,
        reason: decision.reason,
        seeds_needed: decision.more.seeds,
        seeds_needed_for: decision.more.effect,
        effect: shift.map(|shift| scored.back(shift.value)),
        mean_difference: difference.map(|difference| scored.back(difference.mean)),
        failed_share_difference: difference.map(|difference| difference.failed_share + 0.0),
        basis: decision.basis,
        veto: decision.veto,
        interval: Interval { low, high, confidence },
        effect_in_spreads,
        effect_size: effect_in_spreads.map(EffectSize::from_spreads),
        spread: scored.spread,
        minimum_effect,
        probability_of_improvement,
        test: if options.paired { TestKind::WilcoxonSignedRank } else { TestKind::MannWhitney },
        exact: evidence.exact,
        alpha,
        p_better: evidence.p_better,
        p_worse: evidence.p_worse,
        p_means: means.map(|test| test.p(Alternative::TwoSided)),
        direction: options.direction,
        paired: options.paired,
        correlation: if options.paired { correlation(&scored.a, &scored.b) } else { None },
        n_a: scored.n_a(),
        n_b: scored.n_b(),
        a: scored.arm_a(),
        b: scored.arm_b(),
        failure_score: scored.failure_score,
        iqm_difference: describe_iqm(&scored, options, confidence),
        guardrails,
    })
}

/// What a planned look decides by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    /// Wins of B over A in standard deviations from even.
    pub z: f64,
    /// By what the difference matters as an improvement.
    pub basis: Option<Basis>,
    pub veto: Option<Veto>,
}

/// By how much B is better than A, in each of the three ways in which a
/// difference can matter; negative where it is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Of the typical score, by Hodges and Lehmann's estimate.
    pub typical: f64,
    /// The interval of the typical gain at the tail that was asked for; an end
    /// is `None` where the runs can't bound it.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Of the mean.
    pub mean: f64,
    /// By how much the share of failed runs is lower.
    pub failed_share: f64,
}

impl Gains {
    /// The gain by which a difference mattered.
    pub fn by(&self, basis: Basis) -> f64 {
        match basis {
            Basis::TypicalScore => self.typical,
            Basis::Mean => self.mean,
            Basis::FailedRuns => self.failed_share,
        }
    }
}

/// By how much B is better than A; each end of the interval is wrong with
/// probability at most `tail`. `None` where one of them has no runs.
pub fn gains(a: &[f64], b: &[f64], options: &Options, tail: f64) -> Option<Gains> {
    let scored = Scored::new(a, b, options.direction, false, options.failure());
    let shift = hodges_lehmann(&scored.b, &scored.a, tail)?;
    let difference = scored.difference(shift.value);
    Some(Gains {
        typical: shift.value,
        low: shift.low,
        high: shift.high,
        mean: difference.mean,
        failed_share: -difference.failed_share + 0.0,
    })
}

/// Weighs whether B is an improvement, for a caller that has bounds of its own.
pub fn weigh(a: &[f64], b: &[f64], options: &Options) -> Weighed {
    let scored = Scored::new(a, b, options.direction, false, options.failure());
    let least = options.minimum_effect.size(scored.spread, iqm(&scored.a));
    let slack = 1e-9 * least.unwrap_or(0.0) + rounding_tolerance(&scored.a, &scored.b);
    let typical = hodges_lehmann(&scored.b, &scored.a, 0.5).map_or(0.0, |shift| shift.value);
    let difference = scored.difference(typical);
    Weighed {
        z: SortedPair { a: &scored.a, b: &scored.b }.z(),
        basis: difference.basis(least, slack),
        veto: difference.veto(slack),
    }
}

/// Typical and mean difference of B and A, in the scores' own sense.
pub(crate) fn effects(a: &[f64], b: &[f64], options: &Options) -> Option<(f64, f64)> {
    let scored = Scored::new(a, b, options.direction, false, options.failure());
    let typical = hodges_lehmann(&scored.b, &scored.a, 0.5)?.value;
    Some((scored.back(typical), scored.back(scored.difference(typical).mean)))
}

/// What the test and the estimate say; more is better.
struct Evidence {
    p_better: f64,
    p_worse: f64,
    exact: bool,
    shift: Option<Shift>,
}

impl Evidence {
    fn new(scored: &Scored, paired: bool, alpha: f64) -> Self {
        let (test, shift) = if paired {
            let differences = scored.differences();
            let tolerance = rounding_tolerance(&scored.a, &scored.b);
            (wilcoxon_signed_rank(&differences, tolerance), pseudomedian(&differences, alpha))
        } else {
            (mann_whitney(&scored.b, &scored.a), hodges_lehmann(&scored.b, &scored.a, alpha))
        };
        match test {
            Some(test) => Self { p_better: test.p_greater, p_worse: test.p_less, exact: test.exact, shift },
            // Nothing to rank, such as pairs without any difference.
            None => Self { p_better: 1.0, p_worse: 1.0, exact: true, shift },
        }
    }
}

struct Decision {
    answer: Answer,
    reason: Option<Reason>,
    basis: Option<Basis>,
    veto: Option<Veto>,
    more: MoreSeeds,
}

impl Decision {
    fn new(
        scored: &Scored,
        evidence: &Evidence,
        least: Option<f64>,
        guardrails: &[GuardrailResult],
        options: &Options,
    ) -> Self {
        let alpha = options.alpha;
        let cannot_tell = |reason, more| Self {
            answer: Answer::CannotTell,
            reason: Some(reason),
            basis: None,
            veto: None,
            more,
        };
        let claim = |answer, basis| Self {
            answer,
            reason: None,
            basis: Some(basis),
            veto: None,
            more: MoreSeeds::NONE,
        };
        let seeds = scored.n_a().min(scored.n_b());
        let enough = seeds >= FEWEST_SEEDS && can_reach(alpha, scored.n_a(), scored.n_b(), options.paired);
        let Some(shift) = evidence.shift.filter(|_| enough) else {
            let fewest = fewest_seeds(alpha, options.paired).max(FEWEST_SEEDS);
            return cannot_tell(
                Reason::TooFewSeeds,
                MoreSeeds::at_least(fewest.saturating_sub(seeds).max(1)),
            );
        };
        // An effect that is exactly the smallest that counts must count in any
        // unit, so rounding is not allowed to decide.
        let slack = 1e-9 * least.unwrap_or(0.0) + rounding_tolerance(&scored.a, &scored.b);
        let difference = scored.difference(shift.value);
        let directions = [
            (Answer::Better, evidence.p_better, difference),
            (Answer::Worse, evidence.p_worse, difference.reversed()),
        ];
        for (answer, p, difference) in directions {
            if p > alpha {
                continue;
            }
            if let Some(veto) = difference.veto(slack) {
                return Self { veto: Some(veto), ..cannot_tell(Reason::MixedEffect, MoreSeeds::NONE) };
            }
            let Some(basis) = difference.basis(least, slack) else { continue };
            let held = |guardrail: &GuardrailResult| match answer {
                Answer::Better => guardrail.held,
                _ => guardrail.held_reversed,
            };
            if guardrails.iter().all(held) {
                return claim(answer, basis);
            }
            let reversed = answer == Answer::Worse;
            return cannot_tell(Reason::NotSeparated, seeds::for_guardrails(guardrails, reversed, seeds));
        }
        let Some(least) = least else {
            let reason = if scored.a == scored.b {
                Reason::NoMeaningfulDifference
            } else {
                Reason::MinimumEffectNeeded
            };
            return cannot_tell(reason, MoreSeeds::NONE);
        };
        let within = |end: Option<f64>| end.is_some_and(|end| end.abs() <= least + slack);
        let same_otherwise =
            difference.mean.abs() < least + slack && difference.failed_share.abs() < FAILED_SHARE - 1e-9;
        if within(shift.low) && within(shift.high) && same_otherwise {
            return cannot_tell(Reason::NoMeaningfulDifference, MoreSeeds::NONE);
        }
        cannot_tell(Reason::NotSeparated, seeds::to_settle(scored, difference, least, options))
    }
}

/// Whether a guardrail is shown not to have suffered, in both directions.
fn guard(guardrail: &Guardrail, options: &Options) -> GuardrailResult {
    let failure = FailureScore { fixed: guardrail.failure_score, limit: None };
    let scored = Scored::new(&guardrail.a, &guardrail.b, guardrail.direction, options.paired, failure);
    let shift = Evidence::new(&scored, options.paired, options.guardrail_alpha).shift;
    // Without spread nothing is worse by less than it.
    let margin = guardrail.margin.size(scored.spread, iqm(&scored.a)).unwrap_or(0.0);
    let gain = shift.map(|shift| shift.value);
    let low = shift.and_then(|shift| shift.low);
    let high = shift.and_then(|shift| shift.high);
    GuardrailResult {
        name: guardrail.name.clone(),
        effect: shift.map(|shift| scored.back(shift.value)),
        worst_case: low,
        margin,
        growth: [low.zip(gain), high.zip(gain).map(|(high, gain)| (-high, -gain))]
            .map(|bound| seeds::growth(bound?, margin)),
        held: low.is_some_and(|low| low >= -margin),
        held_reversed: high.is_some_and(|high| high <= margin),
        violated: high.is_some_and(|high| high < -margin) || low.is_some_and(|low| low > margin),
    }
}

fn describe_iqm(
    scored: &Scored,
    options: &Options,
    confidence: f64,
) -> Option<crate::statistics::bootstrap::Estimate> {
    if options.resamples == 0 || scored.n_a() < 2 || scored.n_b() < 2 {
        return None;
    }
    // With thousands of runs the methods agree, and BCa would take minutes.
    let many = scored.n_a() + scored.n_b() > MANY_RUNS;
    let (method, most) = if many { (Method::Percentile, 1_000) } else { (Method::Bca, usize::MAX) };
    let plan = Plan { method, confidence, resamples: options.resamples.min(most), seed: options.seed };
    let mut estimate = bootstrap_iqm_difference(&scored.a, &scored.b, &plan);
    let (low, high) = scored.interval_back(Some(estimate.low), Some(estimate.high));
    estimate.value = scored.back(estimate.value);
    (estimate.low, estimate.high) = (low?, high?);
    Some(estimate)
}

/// Pearson's correlation of the pairs; `None` without spread in both.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut own_a, mut own_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        both += (a - mean_a) * (b - mean_b);
        own_a += (a - mean_a).powi(2);
        own_b += (b - mean_b).powi(2);
    }
    let scale = (own_a * own_b).sqrt();
    (scale > 0.0).then(|| both / scale)
}
