//! The value function: whether it explains returns (F11), keeps up with their
//! scale (F12), or runs away (F13).

use rlxp_types::text::four_digits;

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, series, steps};
use super::super::curve::{Point, finite, longest_stretch, span, values, within};
use super::super::outcome::Severity;
use crate::statistics::aggregate::median;

const EXPLAINED: &str = "train.explained_variance";

/// F11: the value function does not predict returns, or is off by a constant.
pub(super) fn explained_variance(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [negative_after, updates, low, low_after, bias, predicted] =
        check.rule.values(["negative_after", "updates", "low", "low_after", "bias", "predicted"]);
    if series(seed, EXPLAINED).is_err() {
        // It is left out exactly where returns don't vary.
        let others = check.points(seed, "train.value_loss")?;
        let level =
            |metric: &str| series(seed, metric).map(|series| median(&values(check.window(&finite(series)))));
        if let (Ok(value), Ok(target)) = (level("train.value_mean"), level("train.return_target_mean"))
            && (value - target).abs() < predicted * target.abs()
        {
            // One return, and it is predicted: there is nothing left to explain.
            return Ok(Vec::new());
        }
        let sentence = format!(
            "{EXPLAINED} is undefined at {}: the returns don't vary, so there is no signal to learn from",
            steps(&others)
        );
        let citation = cite(seed, EXPLAINED, &others, 0.0, 1.0);
        return Ok(vec![Hit::new(Severity::Warning, sentence, citation).strong(1.0)]);
    }
    let points = check.points(seed, EXPLAINED)?;
    let mut hits = Vec::new();
    let late = within(&points, check.budget(negative_after), f64::INFINITY);
    let negative = longest_stretch(late, |point| point.1 < 0.0);
    let settled = within(&points, check.budget(low_after), f64::INFINITY);
    let level = median(&values(settled));
    if negative.len() as f64 >= updates {
        let worst = median(&values(negative));
        let sentence = format!(
            "{EXPLAINED} is below 0 for {} updates in a row (median {}), at {}: worse than a constant",
            negative.len(),
            four_digits(worst),
            steps(negative),
        );
        let strength = negative.len() as f64 / updates;
        hits.push(
            Hit::new(Severity::Error, sentence, cite(seed, EXPLAINED, negative, worst, 0.0)).strong(strength),
        );
    } else if settled.len() >= check.rule.minimum_points && level < low {
        let sentence = format!(
            "{EXPLAINED} has a median of {} (below {}) at {}",
            four_digits(level),
            four_digits(low),
            steps(settled)
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(seed, EXPLAINED, settled, level, low)));
    }
    if let Ok(points) = check.points(seed, "train.value_bias") {
        let window = check.window(&points);
        let off = median(&values(window));
        if off.abs() > bias {
            let sentence = format!(
                "train.value_bias is {} standard deviations of the returns (beyond {}) at {}, which \
                 explained variance doesn't show",
                four_digits(off),
                four_digits(bias),
                steps(window),
            );
            hits.push(Hit::new(
                Severity::Warning,
                sentence,
                cite(seed, "train.value_bias", window, off, bias),
            ));
        }
    }
    Ok(hits)
}

/// F12: value targets are so large that the value function can't keep up.
///
/// The size of targets alone says little: 100 is healthy where an episode earns
/// 500. Large targets hurt when the network, which begins near zero and moves
/// by bounded steps, does not reach them. So both are required: targets beyond
/// the bound, and values that lag far behind.
pub(super) fn scale(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, error, behind, after] = check.rule.values(["warning", "error", "behind", "after"]);
    let targets = check.points(seed, "train.return_target_mean")?;
    let estimates = check.points(seed, "train.value_mean")?;
    // Older runs have no percentile; the mean is the next best.
    let (metric, sizes) = match check.points(seed, "train.return_target_p99") {
        Ok(points) => ("train.return_target_p99", points),
        Err(_) => {
            let sizes = targets.iter().map(|(step, value)| (*step, value.abs())).collect();
            ("train.return_target_mean", sizes)
        }
    };
    let from = check.budget(after);
    let sizes = within(&sizes, from, f64::INFINITY);
    let gaps: Vec<Point> = within(&targets, from, f64::INFINITY)
        .iter()
        .filter_map(|(step, target)| {
            let index = estimates.binary_search_by_key(step, |point| point.0).ok()?;
            (*target != 0.0).then(|| (*step, (target - estimates[index].1).abs() / target.abs()))
        })
        .collect();
    if sizes.len() < check.rule.minimum_points || gaps.is_empty() {
        return Err(Missing::Data(format!("{metric} has {} points after {}", sizes.len(), percent(after))));
    }
    let (mut size, gap) = (median(&values(sizes)), median(&values(&gaps)));
    // Targets beyond any sum of rewards come from the values themselves, which rule F13 covers.
    if let (Ok(largest), Some(horizon)) = (largest_reward(check, seed), horizon(check)) {
        size = size.min(largest * horizon);
    }
    if size <= warning || gap <= behind {
        return Ok(Vec::new());
    }
    let (severity, bound) =
        if size > error { (Severity::Error, error) } else { (Severity::Warning, warning) };
    let sentence = format!(
        "{metric} is {} (beyond {}) at {}, and train.value_mean lags behind it by {} (more than {})",
        four_digits(size),
        four_digits(bound),
        steps(sizes),
        percent(gap),
        percent(behind),
    );
    let hit = Hit::new(severity, sentence, cite(seed, metric, sizes, size, bound));
    Ok(vec![hit.with(cite(seed, "train.value_mean", &gaps, gap, behind))])
}

/// F13: values beyond anything that rewards can add up to.
pub(super) fn explosion(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [times, untrained] = check.rule.values(["times", "untrained"]);
    let metric = "train.value_abs_max";
    let points = check.points(seed, metric)?;
    let largest = largest_reward(check, seed)?;
    check.evidence.settings.gamma.ok_or_else(|| Missing::Data("gamma is unknown".to_owned()))?;
    let Some(horizon) = horizon(check) else {
        return Err(Missing::Scope("without a discount or a step cap, returns are unbounded".to_owned()));
    };
    if largest <= 0.0 {
        return Err(Missing::Data("all rewards were 0".to_owned()));
    }
    // An untrained network's values are about 1, beyond anything that small rewards add up to.
    let bound = (largest * horizon * times).max(untrained);
    let (step, value) =
        points.iter().copied().fold((0, 0.0), |worst, point| if point.1 > worst.1 { point } else { worst });
    if value <= bound {
        return Ok(Vec::new());
    }
    let high: Vec<Point> = points.iter().copied().filter(|point| point.1 > bound).collect();
    let sentence = format!(
        "{metric} reaches {} at step {step}, beyond {}: rewards of at most {} can't add up to that",
        four_digits(value),
        four_digits(bound),
        four_digits(largest),
    );
    debug_assert!(span(&high).0 <= step);
    Ok(vec![Hit::new(Severity::Error, sentence, cite(seed, metric, &high, value, bound))])
}

/// The largest reward in size, as values are learned from it.
fn largest_reward(check: &Check<'_>, seed: &SeedView<'_>) -> Result<f64, Missing> {
    let mut rewards = finite(series(seed, "train.reward_max_abs")?);
    if check.evidence.settings.normalize_rewards {
        // Values are learned from rewards as they are after scaling.
        let scale = finite(series(seed, "train.reward_scale")?);
        rewards = rewards
            .iter()
            .filter_map(|(step, reward)| {
                let index = scale.binary_search_by_key(step, |point| point.0).ok()?;
                Some((*step, reward * scale[index].1))
            })
            .collect();
    }
    Ok(rewards.iter().fold(0.0_f64, |largest, point| largest.max(point.1)))
}

/// Steps that a return sums over; `None` if unbounded.
fn horizon(check: &Check<'_>) -> Option<f64> {
    let gamma = check.evidence.settings.gamma?;
    let discounted = if gamma < 1.0 { 1.0 / (1.0 - gamma) } else { f64::INFINITY };
    let horizon = check.evidence.environment.step_cap.map_or(discounted, |cap| discounted.min(cap as f64));
    horizon.is_finite().then_some(horizon)
}
