//! The procedure itself: from two lists of scores to an answer.

use super::chance::{self, can_reach, fewest_seeds, imbalance_of, seeds_for};
use super::options::{Guardrail, InvalidQuestion, Options};
use super::scored::{FailureScore, Scored, spread};
use super::{Answer, FEWEST_SEEDS, GuardrailResult, Interval, Reason, TestKind, Verdict};
use crate::statistics::aggregate::{iqm, mean, probability_of_improvement};
use crate::statistics::bootstrap::{Method, Plan, bootstrap_iqm_difference};
use crate::statistics::rank_test::{mann_whitney, rounding_tolerance, wilcoxon_signed_rank};
use crate::statistics::sequential::look_levels;
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
    let problems = options.problems(question.a.len(), question.b.len(), question.guardrails);
    if !problems.is_empty() {
        return Err(InvalidQuestion { problems });
    }
    let alpha = match options.look {
        Some(look) => look_levels(look.boundary, look.planned, options.alpha)[look.number - 1],
        None => options.alpha,
    };
    let scored = Scored::new(question.a, question.b, options.direction, options.paired, options.failure());
    let evidence = Evidence::new(&scored, options.paired, alpha);
    let minimum_effect = options.minimum_effect.size(scored.spread, iqm(&scored.a));
    let guardrails: Vec<GuardrailResult> =
        question.guardrails.iter().map(|guardrail| guard(guardrail, options)).collect();
    let decision = Decision::new(&scored, &evidence, minimum_effect, &guardrails, alpha, options);

    let confidence = 1.0 - 2.0 * options.alpha;
    let shift = evidence.shift;
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
        seeds_needed: decision.seeds_needed,
        effect: shift.map(|shift| scored.back(shift.value)),
        interval: Interval { low, high, confidence: 1.0 - 2.0 * alpha },
        effect_in_spreads: shift.filter(|_| scored.spread > 0.0).map(|shift| shift.value / scored.spread),
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
    seeds_needed: Option<u64>,
}

impl Decision {
    fn new(
        scored: &Scored,
        evidence: &Evidence,
        minimum_effect: f64,
        guardrails: &[GuardrailResult],
        alpha: f64,
        options: &Options,
    ) -> Self {
        let cannot_tell =
            |reason, seeds_needed| Self { answer: Answer::CannotTell, reason: Some(reason), seeds_needed };
        let claim = |answer| Self { answer, reason: None, seeds_needed: None };
        let seeds = scored.n_a().min(scored.n_b());
        let enough = seeds >= FEWEST_SEEDS && can_reach(alpha, scored.n_a(), scored.n_b(), options.paired);
        let Some(shift) = evidence.shift.filter(|_| enough) else {
            let fewest = fewest_seeds(alpha, options.paired).max(FEWEST_SEEDS);
            return cannot_tell(Reason::TooFewSeeds, Some(fewest.saturating_sub(seeds).max(1)));
        };
        // An effect that is exactly the smallest that counts must count in any
        // unit, so rounding is not allowed to decide.
        let slack = 1e-9 * minimum_effect + rounding_tolerance(&scored.a, &scored.b);
        let shown_better = evidence.p_better <= alpha && shift.value >= minimum_effect - slack;
        let shown_worse = evidence.p_worse <= alpha && shift.value <= slack - minimum_effect;
        if shown_better && guardrails.iter().all(|guardrail| guardrail.held) {
            return claim(Answer::Better);
        }
        if shown_worse && guardrails.iter().all(|guardrail| guardrail.held_reversed) {
            return claim(Answer::Worse);
        }
        if shown_better || shown_worse {
            let settled = guardrails.iter().any(|guardrail| guardrail.violated);
            let more = (!settled).then(|| seeds_to_settle(scored, minimum_effect, alpha, options) - seeds);
            return cannot_tell(Reason::NotSeparated, more);
        }
        let within = |end: Option<f64>| end.is_some_and(|end| end.abs() <= minimum_effect + slack);
        if within(shift.low) && within(shift.high) {
            return cannot_tell(Reason::NoMeaningfulDifference, None);
        }
        let more = seeds_to_settle(scored, minimum_effect, alpha, options) - seeds;
        cannot_tell(Reason::NotSeparated, Some(more))
    }
}

/// Seeds per group that would probably separate the groups, more than there are:
/// those for the effect as seen or the smallest that counts, whichever is
/// larger; if there are as many already, those for the smallest; then twice
/// as many as now.
fn seeds_to_settle(scored: &Scored, minimum_effect: f64, alpha: f64, options: &Options) -> u64 {
    let now = scored.n_a().min(scored.n_b());
    let (seen, scale) = if options.paired {
        let differences = scored.differences();
        (pairs_above_zero(&differences), spread(&[&differences]))
    } else {
        (probability_of_improvement(&scored.b, &scored.a), scored.spread)
    };
    let least = if scale > 0.0 { imbalance_of(minimum_effect / scale, options.paired) } else { 0.0 };
    let planned = [(seen - 0.5).abs().max(least), least]
        .into_iter()
        .filter(|imbalance| *imbalance > 0.0)
        .map(|imbalance| seeds_for(imbalance, alpha, options.power, options.paired));
    planned.into_iter().find(|seeds| *seeds > now).unwrap_or(2 * now)
}

/// The share of averages of two differences that are positive, ties half.
fn pairs_above_zero(differences: &[f64]) -> f64 {
    let mirrored: Vec<f64> = differences.iter().map(|difference| -difference).collect();
    probability_of_improvement(differences, &mirrored)
}

/// Whether a guardrail is shown not to have suffered, in both directions.
fn guard(guardrail: &Guardrail, options: &Options) -> GuardrailResult {
    let failure = FailureScore { fixed: guardrail.failure_score, limit: None };
    let scored = Scored::new(&guardrail.a, &guardrail.b, guardrail.direction, options.paired, failure);
    let shift = Evidence::new(&scored, options.paired, options.guardrail_alpha).shift;
    let margin = guardrail.margin.size(scored.spread, iqm(&scored.a));
    let low = shift.and_then(|shift| shift.low);
    let high = shift.and_then(|shift| shift.high);
    GuardrailResult {
        name: guardrail.name.clone(),
        effect: shift.map(|shift| scored.back(shift.value)),
        worst_case: low,
        margin,
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
