//! NaN or infinite values, and spikes (F01, F02).

use rlxp_types::text::four_digits;

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, steps};
use super::super::curve::{Point, deviation, finite, trailing_median, values};
use super::super::outcome::{Citation, Severity};
use crate::statistics::aggregate::median;

/// F01: anything logged that is not finite, or training that ended because of it.
pub(super) fn not_finite(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [occurrences] = check.rule.values(["occurrences"]);
    let mut broken: Vec<(&str, Vec<Point>)> = Vec::new();
    for (metric, series) in &seed.data.series {
        if check.rule.ignores.contains(metric) {
            continue;
        }
        let points: Vec<Point> = series
            .steps
            .iter()
            .copied()
            .zip(series.values.iter().copied())
            .filter(|(_, value)| !value.is_finite())
            .collect();
        if !points.is_empty() {
            broken.push((metric, points));
        }
    }
    // What broke first is nearest to the cause.
    broken.sort_by_key(|(_, points)| points[0].0);
    let total: usize = broken.iter().map(|(_, points)| points.len()).sum();
    let diverged = seed.data.diverged();
    if (total as f64) < occurrences && diverged.is_none() {
        if seed.data.series.is_empty() {
            return Err(Missing::Data("the run has no metrics".to_owned()));
        }
        return Ok(Vec::new());
    }
    let citations: Vec<Citation> =
        broken.iter().map(|(metric, points)| cite(seed, metric, points, points[0].1, occurrences)).collect();
    let mut sentence = String::new();
    if let Some((metric, points)) = broken.first() {
        sentence = format!("{metric} is {} at {}", four_digits(points[0].1), steps(points));
        if broken.len() > 1 {
            let others: Vec<&str> = broken[1..].iter().map(|(metric, _)| *metric).take(4).collect();
            sentence.push_str(&format!(", and so are {}", others.join(", ")));
        }
    }
    if let Some(reason) = diverged {
        let joined = if sentence.is_empty() { "" } else { "; " };
        sentence.push_str(&format!("{joined}training ended with \"{reason}\""));
    }
    let hit = Hit {
        severity: Severity::Error,
        sentence,
        citations,
        strength: 1e9,
        event: true,
        excusable: false,
        keys: Vec::new(),
        fine: false,
        explains: true,
        kind: "",
        meaning: None,
    };
    Ok(vec![hit])
}

/// F02: the value loss or a reward component jumps far above its previous values.
pub(super) fn spike(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [times, overall, noise_times, trailing, near_failure] =
        check.rule.values(["times", "overall", "noise_times", "trailing", "near_failure"]);
    let components = seed.data.series.iter().filter(|(metric, _)| metric.starts_with("reward."));
    let mut looked = Vec::new();
    if let Ok(points) = check.points(seed, "train.value_loss") {
        looked.push(("train.value_loss", points));
    }
    looked.extend(
        components
            .map(|(metric, series)| (metric.as_str(), finite(series)))
            .filter(|(_, points)| points.len() >= check.rule.minimum_points),
    );
    if looked.is_empty() {
        return Err(check.points(seed, "train.value_loss").expect_err("it was too short above"));
    }
    let first_broken = first_not_finite(check, seed);
    let mut hits = Vec::new();
    for (metric, points) in looked {
        let before = trailing_median(&points, trailing as usize);
        let all = values(&points);
        let typical = median(&all.iter().map(|value| value.abs()).collect::<Vec<_>>());
        let noise = deviation(&all);
        let settled = (trailing as usize / 2).max(3);
        let jump = |index: usize| {
            let (_, value) = points[index];
            let bound = (times * before[index].abs()).max(overall * typical);
            let ratio = value.abs() / bound;
            let away = metric.starts_with("reward.")
                && noise > 0.0
                && (value - before[index]).abs() > noise_times * noise;
            (ratio > 1.0 && bound > 0.0 || away).then_some((index, ratio.max(1.0), bound))
        };
        let largest = (settled..points.len()).filter_map(jump).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((index, ratio, bound)) = largest else { continue };
        let point = &points[index..=index];
        // Iterations are counted in points of this very metric.
        let fatal = first_broken.is_some_and(|step| {
            let until = points.partition_point(|point| point.0 < step);
            until >= index && (until - index) as f64 <= near_failure
        });
        let sentence = format!(
            "{metric} jumps to {} at {}, {} times the median of the {} updates before it (more than {} \
             times is a spike)",
            four_digits(point[0].1),
            steps(point),
            four_digits(point[0].1.abs() / before[index].abs()),
            four_digits(trailing),
            four_digits(times),
        );
        let severity = if fatal { Severity::Error } else { Severity::Warning };
        let hit = Hit::new(severity, sentence, cite(seed, metric, point, point[0].1, bound)).strong(ratio);
        hits.push(if fatal { hit.event().inexcusable() } else { hit });
    }
    Ok(hits)
}

/// The step at which something was first not finite, or training failed for it.
fn first_not_finite(check: &Check<'_>, seed: &SeedView<'_>) -> Option<u64> {
    let ignored = |metric: &String| check.rule.ignores.contains(metric);
    let broken = seed.data.series.iter().filter(|(metric, _)| !ignored(metric)).filter_map(|(_, series)| {
        let index = series.values.iter().position(|value| !value.is_finite())?;
        series.steps.get(index).copied()
    });
    let last = || seed.data.series.values().filter_map(|series| series.steps.last().copied()).max();
    broken.min().or_else(|| seed.data.diverged().and_then(|_| last()))
}
