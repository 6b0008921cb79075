//! The stratified bootstrap: runs are drawn again with replacement, within
//! each task, and an interval is read off the statistic's distribution.
//! Percentile and basic intervals as in Davison and Hinkley 1997; BCa after
//! Efron 1987, with the acceleration from the jackknife in every stratum.
//!
//! These intervals describe; they don't decide. Below about twenty runs the
//! percentile interval is too short to be a test (it rejects up to four times
//! as often as it says), which is why `verdict` uses exact tests.

use rlxp_types::Stream;
use serde::Serialize;

use crate::statistics::aggregate::{Scores, iqm_cut, percentile_of_sorted};
use crate::statistics::distribution::{normal_cdf, normal_quantile};

/// How an interval is read off the bootstrap distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The distribution's own percentiles.
    Percentile,
    /// The percentiles mirrored at the estimate.
    Basic,
    /// Percentiles corrected for bias and for a spread that changes with the
    /// value (bias-corrected and accelerated).
    Bca,
}

/// How to resample, and the coverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How the interval is read off.
    pub method: Method,
    /// Its nominal coverage, such as 0.95.
    pub confidence: f64,
    /// How many resamples are drawn.
    pub resamples: usize,
    /// Seed of the draws: same seed, same interval.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { method: Method::Percentile, confidence: 0.95, resamples: 10_000, seed: 0 }
    }
}

/// An estimate with its bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The statistic of the scores themselves.
    pub value: f64,
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Nominal coverage.
    pub confidence: f64,
}

/// The interval of any statistic of the scores, which sees the resampled runs
/// task by task and may reorder them.
pub fn bootstrap(
    scores: &Scores,
    plan: &Plan,
    mut statistic: impl FnMut(&mut [Vec<f64>]) -> f64,
) -> Estimate {
    let mut drawn = scores.tasks().to_vec();
    let mut stream = stream(plan.seed);
    let mut distribution = Vec::with_capacity(plan.resamples);
    for _ in 0..plan.resamples {
        for (runs, original) in drawn.iter_mut().zip(scores.tasks()) {
            runs.clear();
            runs.extend((0..original.len()).map(|_| original[draw(&mut stream, original.len())]));
        }
        distribution.push(statistic(&mut drawn));
    }
    finish(scores, plan, distribution, statistic)
}

/// The interval of the interquartile mean, drawn exactly as [`bootstrap`]
/// does but several times faster.
pub fn bootstrap_iqm(scores: &Scores, plan: &Plan) -> Estimate {
    let distribution = iqm_distribution(scores, plan);
    finish(scores, plan, distribution, |tasks| {
        crate::statistics::aggregate::iqm(&tasks.iter().flatten().copied().collect::<Vec<_>>())
    })
}

/// The interval of the difference IQM(`b`) - IQM(`a`) of two groups of runs.
pub fn bootstrap_iqm_difference(a: &[f64], b: &[f64], plan: &Plan) -> Estimate {
    let both = Scores::from_tasks(vec![a.to_vec(), b.to_vec()]);
    bootstrap(&both, plan, |groups| match groups {
        [a, b] => {
            crate::statistics::aggregate::iqm_in_place(b) - crate::statistics::aggregate::iqm_in_place(a)
        }
        _ => f64::NAN,
    })
}

/// The statistic's values over the resamples. Since a resample only repeats
/// values that are known in advance, they are ranked once, each draw adds to
/// a count, and one walk over the counts replaces sorting.
fn iqm_distribution(scores: &Scores, plan: &Plan) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = scores.tasks().iter().flatten().copied().zip(0..).collect();
    order.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut rank = vec![0; order.len()];
    for (position, (_, index)) in order.iter().enumerate() {
        rank[*index] = position;
    }
    let mut strata: Vec<&[usize]> = Vec::new();
    let mut rest = rank.as_slice();
    for runs in scores.tasks() {
        let (own, others) = rest.split_at(runs.len());
        strata.push(own);
        rest = others;
    }
    let cut = iqm_cut(order.len()) as u32;
    let kept = order.len() as u32 - 2 * cut;
    let mut counts = vec![0u32; order.len()];
    let mut stream = stream(plan.seed);
    let mut distribution = Vec::with_capacity(plan.resamples);
    for _ in 0..plan.resamples {
        for ranks in &strata {
            for _ in 0..ranks.len() {
                counts[ranks[draw(&mut stream, ranks.len())]] += 1;
            }
        }
        let (mut skip, mut left, mut sum) = (cut, kept, 0.0);
        for (count, (value, _)) in counts.iter_mut().zip(&order) {
            let skipped = skip.min(*count);
            let taken = (*count - skipped).min(left);
            skip -= skipped;
            left -= taken;
            sum += value * f64::from(taken);
            *count = 0;
        }
        distribution.push(sum / f64::from(kept));
    }
    distribution
}

fn stream(seed: u64) -> Stream {
    Stream::new(seed, "bootstrap", 0)
}

#[inline]
fn draw(stream: &mut Stream, count: usize) -> usize {
    stream.below(count as u32) as usize
}

fn finish(
    scores: &Scores,
    plan: &Plan,
    mut distribution: Vec<f64>,
    mut statistic: impl FnMut(&mut [Vec<f64>]) -> f64,
) -> Estimate {
    let value = statistic(&mut scores.tasks().to_vec());
    if distribution.is_empty() {
        return Estimate { value, low: f64::NAN, high: f64::NAN, confidence: plan.confidence };
    }
    let tail = (1.0 - plan.confidence) / 2.0;
    let (low, high) = match plan.method {
        Method::Percentile | Method::Basic => (tail, 1.0 - tail),
        Method::Bca => {
            let bias = bias_correction(&distribution, value);
            let acceleration = acceleration(scores, statistic);
            (corrected(tail, bias, acceleration), corrected(1.0 - tail, bias, acceleration))
        }
    };
    distribution.sort_unstable_by(f64::total_cmp);
    let (low, high) = (percentile_of_sorted(&distribution, low), percentile_of_sorted(&distribution, high));
    let (low, high) = match plan.method {
        Method::Basic => (2.0 * value - high, 2.0 * value - low),
        Method::Percentile | Method::Bca => (low, high),
    };
    Estimate { value, low, high, confidence: plan.confidence }
}

/// The normal quantile of the share of resamples below the estimate.
fn bias_correction(distribution: &[f64], value: f64) -> f64 {
    let below = distribution.iter().filter(|drawn| **drawn < value).count() as f64;
    let equal = distribution.iter().filter(|drawn| **drawn == value).count() as f64;
    let share = (below + 0.5 * equal) / distribution.len() as f64;
    // A share of 0 or 1 would send the interval to infinity; half a resample
    // is the closest that these draws can tell apart.
    let edge = 0.5 / distribution.len() as f64;
    normal_quantile(share.clamp(edge, 1.0 - edge))
}

/// A sixth of the skewness of the statistic's influence values.
fn acceleration(scores: &Scores, mut statistic: impl FnMut(&mut [Vec<f64>]) -> f64) -> f64 {
    let (mut squares, mut cubes) = (0.0, 0.0);
    for task in 0..scores.tasks().len() {
        let count = scores.tasks()[task].len();
        if count < 2 {
            continue;
        }
        let without: Vec<f64> = (0..count)
            .map(|run| {
                let mut left = scores.tasks().to_vec();
                left[task].remove(run);
                statistic(&mut left)
            })
            .collect();
        let centre = crate::statistics::aggregate::mean(&without);
        for value in without {
            // Influence of one run, in the units of its own task's size.
            let influence = (count - 1) as f64 * (centre - value) / count as f64;
            squares += influence * influence;
            cubes += influence * influence * influence;
        }
    }
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

fn corrected(tail: f64, bias: f64, acceleration: f64) -> f64 {
    let shifted = bias + normal_quantile(tail);
    normal_cdf(bias + shifted / (1.0 - acceleration * shifted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::aggregate::{iqm, mean};

    const PUBLISHED: [f64; 10] = [0.81, 0.92, 0.85, 0.40, 0.88, 0.95, 0.79, 0.90, 0.86, 0.91];

    fn task_mean(tasks: &mut [Vec<f64>]) -> f64 {
        mean(&tasks[0])
    }

    #[test]
    fn all_27_resamples_of_three_values_give_the_exact_interval() {
        let values = [1.0, 2.0, 6.0];
        let mut means = Vec::new();
        for index in 0..27 {
            means.push((values[index % 3] + values[index / 3 % 3] + values[index / 9]) / 3.0);
        }
        means.sort_by(f64::total_cmp);
        assert!((percentile_of_sorted(&means, 0.025) - 1.216_666_7).abs() < 1e-7);
        assert!((percentile_of_sorted(&means, 0.975) - 5.133_333_3).abs() < 1e-7);
    }

    #[test]
    fn intervals_of_the_published_sample_hold_to_the_digits_given() {
        let scores = Scores::single(&PUBLISHED);
        let plan = |method| Plan { method, resamples: 200_000, seed: 1, ..Plan::default() };
        for (method, low, high) in
            [(Method::Percentile, 0.722, 0.897), (Method::Bca, 0.666, 0.886), (Method::Basic, 0.757, 0.932)]
        {
            let got = bootstrap(&scores, &plan(method), task_mean);
            assert!((got.value - 0.827).abs() < 1e-12);
            assert!((got.low - low).abs() < 1.5e-3, "{method:?} low {}", got.low);
            assert!((got.high - high).abs() < 1.5e-3, "{method:?} high {}", got.high);
        }
        let got = bootstrap_iqm(&scores, &plan(Method::Percentile));
        assert!((got.low - 0.7633).abs() < 1.5e-3 && (got.high - 0.9067).abs() < 1.5e-3, "{got:?}");
    }

    #[test]
    fn counting_and_selecting_see_the_same_resamples() {
        let scores = Scores::from_tasks(vec![
            vec![1.0, 5.0, 2.0, 2.0, 9.0],
            vec![0.0, -3.0, 4.0],
            vec![7.0, 7.5, 1.0, 1.0],
        ]);
        for method in [Method::Percentile, Method::Basic, Method::Bca] {
            let plan = Plan { method, resamples: 500, seed: 9, ..Plan::default() };
            let slow =
                bootstrap(&scores, &plan, |tasks| iqm(&tasks.iter().flatten().copied().collect::<Vec<_>>()));
            let fast = bootstrap_iqm(&scores, &plan);
            assert!((slow.low - fast.low).abs() < 1e-12 && (slow.high - fast.high).abs() < 1e-12);
        }
    }

    #[test]
    fn runs_are_drawn_within_their_own_task() {
        // Tasks without any spread leave nothing to chance, however far apart.
        let scores = Scores::from_tasks(vec![vec![1.0; 4], vec![100.0; 4]]);
        let got = bootstrap(&scores, &Plan::default(), |tasks| mean(&tasks.concat()));
        assert_eq!((got.low, got.high), (50.5, 50.5));
    }

    #[test]
    fn the_seed_decides() {
        let interval = |seed| {
            let plan = Plan { seed, resamples: 300, ..Plan::default() };
            bootstrap_iqm(&Scores::single(&PUBLISHED), &plan)
        };
        assert_eq!(interval(4), interval(4));
        assert_ne!(interval(4), interval(5));
    }

    #[test]
    fn differences_mirror_when_every_value_does() {
        let (a, b) = ([1.0, 2.0, 3.0, 5.0, 8.0], [2.0, 4.0, 4.5, 6.0, 9.0]);
        let plan = Plan::default();
        let forth = bootstrap_iqm_difference(&a, &b, &plan);
        let back = bootstrap_iqm_difference(&a.map(|x| -x), &b.map(|x| -x), &plan);
        assert!((forth.value + back.value).abs() < 1e-12);
        assert!((forth.low + back.high).abs() < 1e-9 && (forth.high + back.low).abs() < 1e-9);
    }
}
