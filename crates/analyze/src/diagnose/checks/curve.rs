//! The learning curve: flat (F16), collapsed (F17), oscillating (F18), or below
//! random or zero actions (F24).

use rlxp_types::text::{self, four_digits};

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, steps};
use super::super::curve::{Curve, Point, finite, longest_stretch, rise, span, values, within};
use super::super::outcome::Severity;
use crate::statistics::aggregate::{mean, median, variance};

/// Share of the way from the ground to the target, or to the best, that the noise may be: a change that can't be
/// distinguished from more than that is unknown, not flat.
const MOST_NOISE: f64 = 0.2;
/// Differences below this share of the values are rounding errors.
pub(super) const ROUNDING: f64 = 1e-9;

/// F16: the return has stopped rising.
pub(super) fn plateau(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [share, slope_noise, slope_errors, best_noise, faded] =
        check.rule.values(["share", "slope_noise", "slope_errors", "best_noise", "faded"]);
    let curve = check.curve(seed)?;
    let (first, last) = curve.span();
    let length = check.budget(share);
    if ((last - first) as f64) < length {
        return Err(Missing::Data(format!(
            "the return covers {} of the budget; {} is needed",
            percent((last - first) as f64 / check.budget(1.0).max(1.0)),
            percent(share)
        )));
    }
    let window = within(&curve.points, last as f64 - length, f64::INFINITY);
    let Some((up, noise)) = rise(window) else {
        return Err(Missing::Data(format!("{} has one point in the last {}", curve.metric, percent(share))));
    };
    let behind = curve.best() - curve.end();
    // The standard deviation of the rise of a line through n points of pure noise.
    let by_chance = (12.0 / window.len() as f64).sqrt();
    let flat = noise * slope_noise.max(slope_errors * by_chance);
    let reading = &seed.reading;
    let rounding = ROUNDING * curve.best().abs().max(curve.end().abs());
    // A return that was never good has no best to fall behind, only a lucky evaluation.
    let fallen = reading.was_good && behind > (best_noise * noise.max(curve.noise)).max(rounding);
    if up.abs() > flat.max(rounding) || fallen || flat > most_noise(check, seed, curve) {
        return Ok(Vec::new());
    }
    let at_the_top = check.evidence.environment.return_range.is_some_and(|(_, top)| curve.end() >= top);
    let fine = reading.at_target == Some(true) || at_the_top;
    let untold = reading.at_target.is_none() && reading.improved == Some(true);
    let (severity, remark) = match check.evidence.environment.reward_threshold {
        Some(target) if fine && !at_the_top && curve.end() < target => {
            (Severity::Info, format!("close to the target {}", four_digits(target)))
        }
        _ if fine => (Severity::Info, "at its target".to_owned()),
        // A schedule that has ended stops every return, good or not.
        Some(target) if reading.improved == Some(true) && has_faded(seed, faded) => (
            Severity::Info,
            format!("short of the target {}, with the learning rate faded out", four_digits(target)),
        ),
        Some(target) => (Severity::Warning, format!("short of the target {}", four_digits(target))),
        None if untold => (Severity::Info, "no target is known".to_owned()),
        None => (Severity::Warning, "no better than at the start".to_owned()),
    };
    let sentence = format!(
        "{} is flat at {} on average ({remark}): it changes by {} over {}, within the {} expected from noise",
        curve.metric,
        four_digits(mean(&values(window))),
        four_digits(up),
        steps(window),
        four_digits(flat),
    );
    let citation = cite(seed, curve.metric, window, up, flat);
    Ok(vec![Hit::new(severity, sentence, citation).strong(1.0).fine(fine)])
}

/// The largest noise with which a return can be called flat.
fn most_noise(check: &Check<'_>, seed: &SeedView<'_>, curve: &Curve) -> f64 {
    let values = values(&curve.points);
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let ground = seed.reading.ground;
    let top = check.evidence.environment.reward_threshold.into_iter().chain([curve.best()]);
    let way = top.reduce(f64::max).map_or(0.0, |top| MOST_NOISE * (top - ground));
    // Without a target and without progress, the noise is all there is.
    let known = seed.reading.was_good || check.evidence.environment.reward_threshold.is_some();
    if known && way > 0.0 { way } else { high - low }
}

/// Whether the learning rate ends below this share of its largest value.
fn has_faded(seed: &SeedView<'_>, share: f64) -> bool {
    let rates = seed.data.series.get("train.learning_rate").map(finite).unwrap_or_default();
    let largest = rates.iter().fold(0.0_f64, |largest, point| largest.max(point.1));
    rates.last().is_some_and(|(_, last)| *last < share * largest)
}

/// F17: the return fell far below its best and stayed there.
pub(super) fn collapse(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [fall, noise_times, lasting] = check.rule.values(["fall", "noise_times", "lasting"]);
    let curve = check.curve(seed)?;
    // A return that never rose can't collapse: a lucky first evaluation is not a rise.
    if !seed.reading.was_good {
        return Ok(Vec::new());
    }
    let (fallen, since, bound, best) = fallen(curve, seed.reading.ground, fall, noise_times);
    let (from, to) = span(&fallen);
    if fallen.len() < 2 || (to.saturating_sub(since) as f64) < check.budget(lasting) {
        return Ok(Vec::new());
    }
    // One lucky point is not a recovery: the end of the run counts.
    let last = curve.span().1;
    let end = within(&curve.points, last as f64 - check.budget(lasting), f64::INFINITY);
    let recovered = to < last && median(&values(end)) >= bound;
    let level = mean(&values(&fallen));
    let outcome = match (recovered, to < last) {
        (true, _) => "; it recovered",
        (false, true) => " and is low again at the end",
        (false, false) => " and stays below it",
    };
    let sentence = format!(
        "{} ({}) drops from its best of {} to {} on average (below {}) at {}{}",
        curve.metric,
        curve.mean_of(),
        four_digits(best),
        four_digits(level),
        four_digits(bound),
        text::steps(from, to),
        outcome,
    );
    let severity = if recovered { Severity::Info } else { Severity::Error };
    let strength = (best - level) / (best - bound);
    let hit = Hit::new(severity, sentence, cite(seed, curve.metric, &fallen, level, bound)).kind(outcome);
    let meaning =
        recovered.then_some("The policy was good, got much worse and recovered: updates are unstable.");
    Ok(vec![hit.strong(strength).meaning(meaning)])
}

/// The longest stretch below the best so far by the given share of the gain above the ground
/// level; the last step before it; the bound and the best at its end.
fn fallen(curve: &Curve, ground: f64, fall: f64, noise_times: f64) -> (Vec<Point>, u64, f64, f64) {
    let mut best = f64::NEG_INFINITY;
    let bounds: Vec<(f64, f64)> = curve
        .smoothed
        .iter()
        .map(|value| {
            best = best.max(*value);
            (best - (fall * (best - ground)).max(noise_times * curve.noise), best)
        })
        .collect();
    // One bad point drags its neighbours' mean down with it; the point itself must be low too.
    let low: Vec<Point> = curve
        .smoothed
        .iter()
        .zip(&curve.points)
        .zip(&bounds)
        .enumerate()
        .map(|(index, ((smoothed, (_, value)), (bound, _)))| (index as u64, smoothed.max(*value) - bound))
        .collect();
    let stretch = longest_stretch(&low, |(_, distance)| *distance < 0.0);
    let points: Vec<Point> = stretch
        .iter()
        .map(|(index, _)| (curve.points[*index as usize].0, curve.smoothed[*index as usize]))
        .collect();
    let (bound, best) = stretch.last().map_or((f64::NAN, f64::NAN), |(index, _)| bounds[*index as usize]);
    let begin = stretch.first().map_or(0, |(index, _)| *index as usize);
    (points, curve.points[begin.saturating_sub(1)].0, bound, best)
}

/// F18: the return oscillates.
pub(super) fn unstable(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [share, variation, drop, drawdowns] = check.rule.values(["share", "variation", "drop", "drawdowns"]);
    let curve = check.curve(seed)?;
    let mut hits = Vec::new();
    let (_, last) = curve.span();
    let window = within(&curve.points, last as f64 * (1.0 - share), f64::INFINITY);
    let gained = curve.best() - curve.first();
    if let Some(line) = super::super::curve::line(window)
        && window.len() >= 3
    {
        let residuals: Vec<f64> =
            window.iter().map(|(step, value)| value - line.intercept - line.slope * *step as f64).collect();
        // A mean near zero makes any noise look large, so what was gained counts too.
        let scale = mean(&values(window)).abs().max(gained);
        let relative = variance(&residuals).sqrt() / scale;
        if scale > 0.0 && relative > variation {
            let sentence = format!(
                "{} varies by {} of its magnitude (more than {}) around its trend at {}",
                curve.metric,
                percent(relative),
                percent(variation),
                steps(window),
            );
            hits.push(Hit::new(
                Severity::Warning,
                sentence,
                cite(seed, curve.metric, window, relative, variation),
            ));
        }
    }
    let falls = count_drawdowns(&curve.smoothed, drop * gained, curve.noise);
    if gained > 0.0 && falls as f64 >= drawdowns {
        let sentence = format!(
            "{} drops {falls} times by more than {} of the gain ({} times or more) at {}",
            curve.metric,
            percent(drop),
            four_digits(drawdowns),
            steps(&curve.points),
        );
        let citation = cite(seed, curve.metric, &curve.points, falls as f64, drawdowns);
        hits.push(Hit::new(Severity::Warning, sentence, citation));
    }
    Ok(hits)
}

/// Falls from a peak by more than `depth` and the noise, each counted once
/// until half of it has been won back.
fn count_drawdowns(values: &[f64], depth: f64, noise: f64) -> usize {
    let depth = depth.max(2.0 * noise);
    let (mut peak, mut trough, mut falling, mut count) = (f64::NEG_INFINITY, f64::INFINITY, false, 0);
    for value in values {
        if falling {
            trough = trough.min(*value);
            if *value > trough + (peak - trough) / 2.0 {
                (falling, peak) = (false, *value);
            }
        } else if peak - value > depth {
            (falling, trough) = (true, *value);
            count += 1;
        } else {
            peak = peak.max(*value);
        }
    }
    count
}

/// F24: random or zero actions score higher.
pub(super) fn below_baseline(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [after, errors, least] = check.rule.values(["after", "errors", "least"]);
    let Some(baseline) = check.evidence.best_baseline() else {
        return Err(Missing::Data("no baseline (random or zero actions) was evaluated".to_owned()));
    };
    let curve = check.curve(seed)?;
    let (_, last) = curve.span();
    if (last as f64) < check.budget(after) {
        return Err(Missing::Data(format!("less than {} of the budget is used", percent(after))));
    }
    let (last, level) = (curve.end_points(), curve.end());
    // Both sides are means of few episodes.
    let of_run = seed.data.evaluations.last().map_or(0.0, |evaluation| evaluation.standard_error());
    // Zero actions can score exactly 0 every time; slightly below that is as good.
    let margin =
        (errors * baseline.standard_error().hypot(of_run)).max(least * check.evidence.baseline_size());
    let bound = baseline.mean - margin;
    if level >= bound {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "{} ends at {} {} ({}), below {}: {} actions score {} over {} episodes, less a margin of {}",
        curve.metric,
        four_digits(level),
        curve.over_last(),
        steps(last),
        four_digits(bound),
        baseline.name,
        four_digits(baseline.mean),
        baseline.episodes,
        four_digits(margin),
    );
    let strength = 1.0 + (bound - level) / bound.abs().max(margin).max(1e-9);
    Ok(vec![
        Hit::new(Severity::Error, sentence, cite(seed, curve.metric, last, level, bound)).strong(strength),
    ])
}
