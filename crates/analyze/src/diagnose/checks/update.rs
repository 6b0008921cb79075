//! How far one update moves the policy (F03 to F07), and its gradients (F14).

use rlxp_types::text::four_digits;

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, steps};
use super::super::curve::{Point, longest_stretch, repeated, span, trailing_median, values};
use super::super::outcome::Severity;
use crate::statistics::aggregate::median;

const KL: &str = "train.approx_kl";
/// What F03 means where it is about a few updates only.
const SOME_FAR: &str = "Some updates move the policy so far that the collected data no longer represents it. One such \
                        update can undo what was learned before.";
/// What F04 means where the return rises nevertheless, but is not good yet.
const SLOW_RISE: &str = "The updates barely change the policy, and the return rises slowly: the step size is too \
                         small, or gradients hardly reach the policy.";
/// What F04 means where the return is unknown.
const SMALL_STEPS: &str = "The updates barely change the policy: the step size is too small, or gradients don't reach \
                           the policy.";

/// F03: the policy moves too far per update.
pub(super) fn kl_high(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, warning_share, error, repeats, among, gross, negative] =
        check.rule.values(["warning", "warning_share", "error", "repeats", "among", "gross", "negative"]);
    let points = check.points(seed, KL)?;
    let mut hits = Vec::new();
    if let Some(low) = points.iter().find(|point| point.1 < negative) {
        let sentence = format!(
            "{KL} is {} at {}; this estimate can't be negative, so it is computed incorrectly",
            four_digits(low.1),
            steps(&[*low])
        );
        hits.push(
            Hit::new(Severity::Error, sentence, cite(seed, KL, &[*low], low.1, negative))
                .event()
                .inexcusable(),
        );
    }
    let above = |bound: f64| move |point: &Point| point.1 > bound;
    // One extreme update is enough: after it, the policy is a different one.
    let far = repeated(&points, repeats as usize, among as usize, above(error))
        .or_else(|| repeated(&points, 1, 1, above(gross)));
    if let Some(window) = far {
        let high: Vec<Point> = points.iter().copied().filter(above(error)).collect();
        let middle = median(&values(&high));
        let sentence = format!(
            "{KL} is above {} in {} of {} updates ({}{}), first at {}",
            four_digits(error),
            high.len(),
            points.len(),
            if high.len() > 1 { "median of those " } else { "" },
            four_digits(middle),
            steps(window),
        );
        let hit = Hit::new(Severity::Error, sentence, cite(seed, KL, &high, middle, error))
            .meaning((2 * high.len() < points.len()).then_some(SOME_FAR));
        let beyond = repeated(&points, repeats as usize, among as usize, above(gross)).is_some();
        hits.push(if beyond { hit.inexcusable() } else { hit });
    } else {
        let high: Vec<Point> = points.iter().copied().filter(above(warning)).collect();
        let share = high.len() as f64 / points.len() as f64;
        if !high.is_empty() && share > warning_share {
            let largest = high.iter().fold(0.0_f64, |largest, point| largest.max(point.1));
            let sentence = format!(
                "{KL} is above {} in {} of {} updates, at most {}, at {}",
                four_digits(warning),
                high.len(),
                points.len(),
                four_digits(largest),
                steps(&high),
            );
            let hit = Hit::new(Severity::Warning, sentence, cite(seed, KL, &high, largest, warning));
            hits.push(hit.meaning((share < 0.5).then_some(SOME_FAR)));
        }
    }
    Ok(hits)
}

/// F04: the policy hardly moves at all while the return is flat.
pub(super) fn kl_zero(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [low, updates, schedule_share, ever] =
        check.rule.values(["low", "updates", "schedule_share", "ever"]);
    let points = check.points(seed, KL)?;
    // A policy that jumped and then stopped changing is stuck where it landed; larger steps would
    // not help.
    if points.iter().any(|point| point.1 > ever) {
        return Ok(Vec::new());
    }
    let points = check.while_scheduled(seed, points, "train.learning_rate", schedule_share);
    let still = longest_stretch(&points, |point| point.1.abs() < low);
    if (still.len() as f64) < updates {
        return Ok(Vec::new());
    }
    // A return that becomes good meanwhile shows that small updates are enough.
    let (range, noise) = (span(still), check.rules.common("improved_noise"));
    let curve = seed.reading.curve.as_ref();
    let meaning = match curve.and_then(|curve| curve.rose(range, noise)) {
        Some(true) if seed.reading.improved == Some(true) => return Ok(Vec::new()),
        Some(true) if curve.is_some_and(|curve| curve.has_risen(range, noise)) => Some(SLOW_RISE),
        Some(false) => None,
        Some(true) | None => Some(SMALL_STEPS),
    };
    let middle = median(&values(still));
    let sentence = format!(
        "{KL} stays below {} for {} updates in a row (median {}), at {}",
        four_digits(low),
        still.len(),
        four_digits(middle),
        steps(still),
    );
    let hit = Hit::new(Severity::Warning, sentence, cite(seed, KL, still, middle, low));
    Ok(vec![hit.meaning(meaning)])
}

/// F05: target_kl ends most updates early.
pub(super) fn epochs_cut(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [share] = check.rule.values(["share"]);
    let settings = &check.evidence.settings;
    if settings.target_kl.is_none() {
        return Err(Missing::Scope("no target_kl is set".to_owned()));
    }
    let planned = settings
        .update_epochs
        .filter(|epochs| *epochs > 0.0)
        .ok_or_else(|| Missing::Data("the number of epochs is unknown".to_owned()))?;
    let points = check.points(seed, "train.epochs")?;
    let done = median(&values(&points)) / planned;
    if done >= share {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "the median update completes {} of its {} epochs (train.epochs, below {}), at {}",
        percent(done),
        four_digits(planned),
        percent(share),
        steps(&points),
    );
    Ok(vec![Hit::new(Severity::Warning, sentence, cite(seed, "train.epochs", &points, done, share))])
}

/// F06: most samples lie beyond the clip range.
pub(super) fn clipping(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, error, updates, schedule_share] =
        check.rule.values(["warning", "error", "updates", "schedule_share"]);
    let metric = "train.clip_fraction";
    let points = check.points(seed, metric)?;
    let points = check.while_scheduled(seed, points, "train.clip_range", schedule_share);
    for (severity, bound) in [(Severity::Error, error), (Severity::Warning, warning)] {
        let high = longest_stretch(&points, |point| point.1 > bound);
        if high.len() as f64 >= updates {
            let middle = median(&values(high));
            let sentence = format!(
                "{metric} stays above {} for {} updates in a row (median {}), at {}",
                four_digits(bound),
                high.len(),
                four_digits(middle),
                steps(high),
            );
            return Ok(vec![Hit::new(severity, sentence, cite(seed, metric, high, middle, bound))]);
        }
    }
    Ok(Vec::new())
}

/// F07: a KL-adaptive learning rate is at one of its limits.
pub(super) fn step_size_pinned(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [floor, ceiling, share] = check.rule.values(["floor", "ceiling", "share"]);
    if !check.evidence.settings.adaptive_learning_rate {
        return Err(Missing::Scope("the learning rate does not adapt to the KL".to_owned()));
    }
    let metric = "train.learning_rate";
    let points = check.points(seed, metric)?;
    let mut hits = Vec::new();
    // The ends may have been rounded to single precision on their way here.
    for (name, end, is_floor) in [("floor", floor, true), ("ceiling", ceiling, false)] {
        let at = |rate: f64| if is_floor { rate <= end * 1.000_001 } else { rate >= end * 0.999_999 };
        let pinned: Vec<Point> = points.iter().copied().filter(|point| at(point.1)).collect();
        let part = pinned.len() as f64 / points.len() as f64;
        if part > share {
            let sentence = format!(
                "{metric} is at its {name} {} in {} of the updates (more than {}), at {}",
                four_digits(end),
                percent(part),
                percent(share),
                steps(&pinned),
            );
            hits.push(Hit::new(Severity::Warning, sentence, cite(seed, metric, &pinned, part, share)));
        }
    }
    Ok(hits)
}

/// F14: gradients that spike, or that are nearly always clipped.
pub(super) fn gradients(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [times, trailing, clipped_share] = check.rule.values(["times", "trailing", "clipped_share"]);
    let norm = check.points(seed, "train.grad_norm");
    let clipped = check.points(seed, "train.grad_clipped");
    if let (Err(missing), Err(_)) = (&norm, &clipped) {
        return Err(missing.clone());
    }
    let mut hits = Vec::new();
    if let Ok(points) = &norm {
        let before = trailing_median(points, trailing as usize);
        let settled = (trailing as usize / 2).max(3);
        let largest = (settled..points.len())
            .filter(|index| before[*index] > 0.0)
            .map(|index| (index, points[index].1 / before[index]))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, ratio)) = largest.filter(|(_, ratio)| *ratio > times) {
            let point = &points[index..=index];
            let sentence = format!(
                "train.grad_norm jumps to {} at {}, {} times the median of the updates before it (more \
                 than {} times)",
                four_digits(point[0].1),
                steps(point),
                four_digits(ratio),
                four_digits(times),
            );
            let citation = cite(seed, "train.grad_norm", point, point[0].1, times * before[index]);
            hits.push(Hit::new(Severity::Warning, sentence, citation));
        }
    }
    if let Ok(points) = &clipped {
        let share = crate::statistics::aggregate::mean(&values(points));
        if share > clipped_share {
            let sentence = format!(
                "{} of the gradient steps are clipped to max_grad_norm (train.grad_clipped, above {}), at {}",
                percent(share),
                percent(clipped_share),
                steps(points),
            );
            let citation = cite(seed, "train.grad_clipped", points, share, clipped_share);
            hits.push(Hit::new(Severity::Warning, sentence, citation));
        }
    }
    Ok(hits)
}
