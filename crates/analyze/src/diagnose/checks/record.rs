//! The run as a program: its speed and memory (F36), how old its samples are
//! (F38), and whether its log is complete (F41).

use rlxp_types::text::{four_digits, grouped};

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, series, steps};
use super::super::curve::{Point, finite, line, span, tail, values};
use super::super::outcome::{Citation, Severity};
use crate::statistics::aggregate::median;

/// F36: training gets slower, or memory grows.
pub(super) fn slower(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, error, seconds, first_share, memory, hours] =
        check.rule.values(["warning", "error", "seconds", "first_share", "memory", "hours"]);
    let speeds = speeds(check, seed)?;
    let mut hits = Vec::new();
    let total: f64 = speeds.iter().map(|(_, _, time)| time).sum();
    let grown = memory_growth(seed, hours);
    if total < seconds && grown.is_none() {
        return Err(Missing::Data(format!(
            "training took {} s, too short to judge its speed (at least {} s needed)",
            four_digits(total),
            four_digits(seconds)
        )));
    }
    if total >= seconds {
        let points: Vec<Point> = speeds.iter().map(|(step, speed, _)| (*step, *speed)).collect();
        // The first updates are slowed by cold caches and page faults.
        let skipped = points.len() / 20;
        let count = ((points.len() as f64 * first_share) as usize).max(5).min(points.len() - skipped);
        let (first, last) = (&points[skipped..skipped + count], check.window(&points));
        let (early, late) = (median(&values(first)), median(&values(last)));
        let lost = 1.0 - late / early;
        if lost > warning {
            let (severity, bound) =
                if lost > error { (Severity::Error, error) } else { (Severity::Warning, warning) };
            let sentence = format!(
                "training runs at {} steps per second at {} and at {} at {}: {} slower (more than {}; \
                 timing.collect_seconds and update_seconds)",
                four_digits(early),
                steps(first),
                four_digits(late),
                steps(last),
                percent(lost),
                percent(bound),
            );
            hits.push(Hit::new(severity, sentence, cite(seed, "timing.update_seconds", last, lost, bound)));
        }
    }
    if let Some((points, per_hour)) = grown.filter(|(_, per_hour)| *per_hour > memory) {
        let sentence = format!(
            "timing.resident_bytes grows by {} per hour (more than {}) at {}",
            percent(per_hour),
            percent(memory),
            steps(&points),
        );
        let citation = cite(seed, "timing.resident_bytes", &points, per_hour, memory);
        hits.push(Hit::new(Severity::Warning, sentence, citation));
    }
    Ok(hits)
}

/// Step, steps per second of work, and seconds of work of every update.
fn speeds(check: &Check<'_>, seed: &SeedView<'_>) -> Result<Vec<(u64, f64, f64)>, Missing> {
    let collect = check.points(seed, "timing.collect_seconds")?;
    let update = check.points(seed, "timing.update_seconds")?;
    let mut speeds = Vec::with_capacity(update.len());
    for (pair, (step, updating)) in collect.windows(2).zip(update.iter().skip(1)) {
        let [(before, _), (now, collecting)] = pair else { continue };
        let time = collecting + updating;
        if now == step && now > before && time > 0.0 {
            speeds.push((*now, (now - before) as f64 / time, time));
        }
    }
    if speeds.len() < check.rule.minimum_points {
        return Err(Missing::Data(format!(
            "{} of the {} updates needed have timings",
            speeds.len(),
            check.rule.minimum_points
        )));
    }
    Ok(speeds)
}

/// Relative growth of memory per hour; `None` if less than `hours` are known.
fn memory_growth(seed: &SeedView<'_>, hours: f64) -> Option<(Vec<Point>, f64)> {
    let series = series(seed, "timing.resident_bytes").ok()?;
    let begin = series.walls.first().copied()?;
    let seconds = series.walls.last()? - begin;
    if series.walls.len() != series.values.len() || seconds < hours * 3600.0 {
        return None;
    }
    let by_time: Vec<Point> = series
        .walls
        .iter()
        .zip(series.values.iter())
        .filter(|(wall, value)| wall.is_finite() && value.is_finite() && **wall >= begin)
        .map(|(wall, value)| ((wall - begin) as u64, *value))
        .collect();
    // Memory reserved at the start is not growth.
    let settled = tail(&by_time, 0.8, 2);
    let level = median(&values(settled));
    let per_hour = line(settled)?.slope * 3600.0 / level;
    Some((finite(series), per_hour)).filter(|_| per_hour.is_finite())
}

/// F38: samples wait longer and longer before they are learned from.
pub(super) fn stale(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [growth, noise_times] = check.rule.values(["growth", "noise_times"]);
    if !check.evidence.settings.reuses_samples {
        return Err(Missing::Scope("every sample is used in the next update".to_owned()));
    }
    let metric = "train.sample_age";
    let points = check.points(seed, metric)?;
    let Some((up, noise)) = super::super::curve::rise(&points) else { return Ok(Vec::new()) };
    let first = median(&values(&points[..points.len().div_ceil(5)])).abs().max(1e-12);
    let relative = up / first;
    if relative <= growth || up <= noise_times * noise {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "{metric} grows by {} of its initial value (more than {}) at {}",
        percent(relative),
        percent(growth),
        steps(&points),
    );
    Ok(vec![Hit::new(Severity::Warning, sentence, cite(seed, metric, &points, relative, growth))])
}

/// F41: records that are damaged, duplicated or missing.
pub(super) fn lost(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [damaged, repeated, missing] = check.rule.values(["damaged", "repeated", "missing"]);
    let Some(record) = &seed.data.record else {
        return Err(Missing::Data("the metrics file was not checked".to_owned()));
    };
    if record.records == 0 && record.damage.is_empty() {
        return Err(Missing::Data("the metrics file has no records".to_owned()));
    }
    let last = seed.data.series.values().filter_map(|series| series.steps.last().copied()).max().unwrap_or(0);
    let citation = |metric: &str, value: f64, threshold: f64| Citation {
        metric: metric.to_owned(),
        seed: Some(seed.data.seed),
        from_step: 0,
        to_step: last,
        value,
        threshold: Some(threshold),
    };
    let mut hits = Vec::new();
    let count = record.damage.len() as f64;
    if count >= damaged {
        let sentence = format!(
            "{} of the metrics file's records are damaged or missing up to step {} ({} or more); the first: {}",
            four_digits(count),
            grouped(last),
            four_digits(damaged),
            record.damage[0],
        );
        hits.push(Hit::new(Severity::Warning, sentence, citation("metrics.damage", count, damaged)).event());
    }
    let twice = record.repeated_steps as f64;
    if twice >= repeated {
        let sentence = format!(
            "{} steps occur twice in the metrics up to step {} ({} or more)",
            four_digits(twice),
            grouped(last),
            four_digits(repeated),
        );
        hits.push(
            Hit::new(Severity::Warning, sentence, citation("metrics.repeated_steps", twice, repeated))
                .event(),
        );
    }
    const ALWAYS: [&str; 4] = ["train.policy_loss", "train.value_loss", "train.entropy", "train.approx_kl"];
    let counted = ALWAYS.iter().filter_map(|name| Some((*name, seed.data.series.get(*name)?)));
    let lengths: Vec<(&str, usize, (u64, u64))> =
        counted.map(|(name, series)| (name, series.values.len(), span(&finite(series)))).collect();
    let longest = lengths.iter().map(|(_, length, _)| *length).max().unwrap_or(0);
    if let Some((name, length, _)) = lengths.iter().min_by_key(|(_, length, _)| *length) {
        let gone = (longest - length) as f64;
        if gone >= missing {
            let sentence = format!(
                "{name} is missing in {} of {longest} updates up to step {} ({} or more)",
                four_digits(gone),
                grouped(last),
                four_digits(missing),
            );
            hits.push(Hit::new(Severity::Warning, sentence, citation(name, gone, missing)).event());
        }
    }
    Ok(hits)
}
