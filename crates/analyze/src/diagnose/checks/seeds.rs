//! Seeds compared with each other: how far apart they end (F33), and whether
//! two of them are the same training (F39).

use rlxp_types::text::{self, four_digits};

use super::super::check::{Check, Found, Hit, Missing, SeedView, percent};
use super::super::outcome::{Citation, Severity};
use super::curve::ROUNDING;
use crate::statistics::aggregate::{mean, median, percentile_of_sorted};

/// F33: results vary widely across seeds.
pub(super) fn spread(check: &Check<'_>, seeds: &[SeedView<'_>]) -> Found {
    let [relative, sarle, bimodal_spread, errors] =
        check.rule.values(["relative", "sarle", "bimodal_spread", "errors"]);
    if seeds.len() < 2 {
        return Err(Missing::Scope("the run has one seed".to_owned()));
    }
    let mut hits = Vec::new();
    let failed: Vec<u64> = seeds.iter().filter(|s| s.data.failure.is_some()).map(|s| s.data.seed).collect();
    let ends: Vec<(u64, f64, &str, u64)> = seeds
        .iter()
        .filter_map(|seed| {
            let curve = seed.reading.curve.as_ref()?;
            Some((seed.data.seed, curve.end(), curve.metric, curve.span().1))
        })
        .collect();
    let cite = |metric: &str, seed: Option<u64>, value: f64, threshold: Option<f64>| {
        let (from_step, to_step) = (
            ends.iter().map(|end| end.3).min().unwrap_or(0),
            ends.iter().map(|end| end.3).max().unwrap_or(0),
        );
        Citation { metric: metric.to_owned(), seed, from_step, to_step, value, threshold }
    };
    if !failed.is_empty() && failed.len() < seeds.len() {
        let names: Vec<String> = failed.iter().map(u64::to_string).collect();
        let sentence =
            format!("{} of {} seeds failed (seed {})", failed.len(), seeds.len(), names.join(", "));
        let citation = cite("failed_seeds", failed.first().copied(), failed.len() as f64, Some(1.0));
        hits.push(Hit::new(Severity::Error, sentence, citation).event());
    }
    if ends.len() < check.rule.minimum_points {
        return if hits.is_empty() {
            Err(Missing::Data(format!(
                "{} of the {} seeds needed have a return curve",
                ends.len(),
                check.rule.minimum_points
            )))
        } else {
            Ok(hits)
        };
    }
    let metric = ends[0].2;
    let mut sorted: Vec<f64> = ends.iter().map(|end| end.1).collect();
    sorted.sort_by(f64::total_cmp);
    let random = check.evidence.baselines.iter().find(|baseline| baseline.name == "random");
    let middle = median(&sorted);
    // A median near zero makes any spread look large; the way from random counts too.
    let scale = middle.abs().max(random.map_or(0.0, |random| (middle - random.mean).abs())).max(1e-12);
    let quartiles = percentile_of_sorted(&sorted, 0.75) - percentile_of_sorted(&sorted, 0.25);
    let apart = quartiles / scale;
    let range =
        text::steps(ends.iter().map(|e| e.3).min().unwrap_or(0), ends.iter().map(|e| e.3).max().unwrap_or(0));
    if apart > relative {
        let sentence = format!(
            "the interquartile range of {} seeds is {} of their median ({metric} {} to {}; more than {}) \
             at {range}",
            ends.len(),
            percent(apart),
            four_digits(percentile_of_sorted(&sorted, 0.25)),
            four_digits(percentile_of_sorted(&sorted, 0.75)),
            percent(relative),
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(metric, None, apart, Some(relative))));
    }
    if let Some(two_groups) = sarle_coefficient(&sorted)
        && two_groups > sarle
        && apart > bimodal_spread
    {
        let sentence = format!(
            "the final scores of {} seeds fall into two clusters ({metric}, bimodality {} above {}) at \
             {range}",
            ends.len(),
            four_digits(two_groups),
            four_digits(sarle),
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(metric, None, two_groups, Some(sarle))));
    }
    if let Some(random) = random {
        let bound = random.mean - errors * random.deviation / (random.episodes.max(1) as f64).sqrt();
        // Means of equal returns differ in their last digit, which is not below.
        let below = bound - ROUNDING * bound.abs();
        let low: Vec<&(u64, f64, &str, u64)> = ends.iter().filter(|end| end.1 < below).collect();
        if let Some(worst) = low.iter().min_by(|a, b| a.1.total_cmp(&b.1))
            && low.len() < ends.len()
        {
            let sentence = format!(
                "{} of {} seeds {} below random actions (seed {} at {}, {metric}, below {}) at {range}",
                low.len(),
                ends.len(),
                if low.len() == 1 { "ends" } else { "end" },
                worst.0,
                four_digits(worst.1),
                four_digits(bound),
            );
            hits.push(Hit::new(Severity::Error, sentence, cite(metric, Some(worst.0), worst.1, Some(bound))));
        }
    }
    Ok(hits)
}

/// (skewness² + 1) / kurtosis: 5/9 for the uniform distribution, more for two groups.
fn sarle_coefficient(values: &[f64]) -> Option<f64> {
    let centre = mean(values);
    let moment = |power: i32| mean(&values.iter().map(|x| (x - centre).powi(power)).collect::<Vec<_>>());
    let second = moment(2);
    if values.len() < 5 || second <= 0.0 {
        return None;
    }
    let (skewness, kurtosis) = (moment(3) / second.powf(1.5), moment(4) / second.powi(2));
    Some((skewness * skewness + 1.0) / kurtosis)
}

/// F39: two seeds that log the same numbers are one training.
pub(super) fn duplicates(check: &Check<'_>, seeds: &[SeedView<'_>]) -> Found {
    let [records] = check.rule.values(["records"]);
    if seeds.len() < 2 {
        return Err(Missing::Scope("the run has one seed".to_owned()));
    }
    const METRICS: [&str; 2] = ["train.policy_loss", "train.value_loss"];
    let beginning = |seed: &SeedView<'_>| -> Option<Vec<u64>> {
        let mut bits = Vec::new();
        for metric in METRICS {
            let series = seed.data.series.get(metric)?;
            let count = series.values.len().min(records as usize);
            if count < check.rule.minimum_points {
                return None;
            }
            bits.extend(series.values[..count].iter().map(|value| value.to_bits()));
        }
        Some(bits)
    };
    let mut known: Vec<(Vec<u64>, u64, u64)> = seeds
        .iter()
        .filter_map(|seed| {
            let last =
                seed.data.series.get(METRICS[0])?.steps.iter().take(records as usize).next_back().copied()?;
            Some((beginning(seed)?, seed.data.seed, last))
        })
        .collect();
    if known.len() < 2 {
        return Err(Missing::Data(format!(
            "fewer than two seeds have {} points of {}",
            check.rule.minimum_points,
            METRICS.join(" and ")
        )));
    }
    known.sort();
    let mut hits = Vec::new();
    for same in known.chunk_by(|a, b| a.0 == b.0 && a.1 != b.1).filter(|same| same.len() > 1) {
        let names: Vec<String> = same.iter().map(|(_, seed, _)| seed.to_string()).collect();
        let count = same[0].0.len() / METRICS.len();
        let sentence = format!(
            "seeds {} log exactly the same first {count} values of {} at {}",
            names.join(" and "),
            METRICS.join(" and "),
            text::steps(0, same[0].2),
        );
        let citation = Citation {
            metric: METRICS[0].to_owned(),
            seed: Some(same[0].1),
            from_step: 0,
            to_step: same[0].2,
            value: count as f64,
            threshold: Some(check.rule.minimum_points as f64),
        };
        hits.push(Hit::new(Severity::Error, sentence, citation).event().inexcusable());
    }
    Ok(hits)
}
