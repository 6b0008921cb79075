//! The reward: whether it agrees with the task (F19), its components (F20 to
//! F22), and whether there is any (F23).

use rlxp_types::text::{four_digits, grouped};

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, series, steps};
use super::super::curve::{Point, finite, rank_correlation, rise, span, values, within};
use super::super::outcome::Severity;
use crate::statistics::aggregate::mean;

/// F19: the training reward and the task metric diverge.
pub(super) fn hacking(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [last_share, weak, gain, loss_noise, trend_noise] =
        check.rule.values(["last_share", "weak", "gain", "loss_noise", "trend_noise"]);
    let reward = finite(series(seed, "train.mean_return")?);
    let (metric, task) = match series(seed, "task.metric") {
        Ok(task) => ("task.metric", finite(task)),
        Err(_) => ("eval.mean_return", finite(series(seed, "eval.mean_return")?)),
    };
    let (_, last) = span(&task);
    let late = within(&task, last as f64 * (1.0 - last_share), f64::INFINITY);
    let pairs: Vec<(u64, f64, f64)> = late
        .iter()
        .filter_map(|(step, task)| {
            let index = reward.partition_point(|point| point.0 <= *step).checked_sub(1)?;
            Some((*step, reward[index].1, *task))
        })
        .collect();
    if pairs.len() < check.rule.minimum_points {
        return Err(Missing::Data(format!(
            "train.mean_return and {metric} share {} of the {} points needed in the last {}",
            pairs.len(),
            check.rule.minimum_points,
            percent(last_share)
        )));
    }
    let rewards: Vec<Point> = pairs.iter().map(|(step, reward, _)| (*step, *reward)).collect();
    let tasks: Vec<Point> = pairs.iter().map(|(step, _, task)| (*step, *task)).collect();
    let Some(correlation) = rank_correlation(&values(&rewards), &values(&tasks)) else {
        return Ok(Vec::new());
    };
    let (Some((reward_up, reward_noise)), Some((task_up, task_noise))) = (rise(&rewards), rise(&tasks))
    else {
        return Ok(Vec::new());
    };
    // Near zero, every change is relatively large; the score of random actions sets the scale.
    let size = check.evidence.baseline_size() * check.evidence.settings.reward_factor.abs();
    let relative = reward_up / mean(&values(&rewards)).abs().max(size).max(1e-12);
    let grows = relative > gain && reward_up > trend_noise * reward_noise;
    // If the training reward doesn't grow, it can't have been gamed.
    if !grows {
        return Ok(Vec::new());
    }
    let same_unit = metric == "eval.mean_return";
    let baseline = if same_unit { check.evidence.baseline_size() } else { 0.0 };
    let task_size = mean(&values(&tasks)).abs().max(baseline);
    let falls = task_up < -loss_noise * task_noise && task_up < -gain * task_size;
    let both = format!(
        "train.mean_return rises by {} while {metric} changes by {} at {}",
        percent(relative),
        four_digits(task_up),
        steps(&tasks),
    );
    if falls && correlation < 0.0 {
        let sentence = format!("{both}; their rank correlation is {} (below 0)", four_digits(correlation));
        let citation = cite(seed, metric, &tasks, correlation, 0.0);
        let strength = 1.0 + correlation.abs();
        return Ok(vec![Hit::new(Severity::Error, sentence, citation).strong(strength)]);
    }
    // Evaluations measure the reward that is trained on; that they don't rise with it is reported by rule F31.
    if correlation < weak && !same_unit {
        let sentence = format!(
            "{both}; their rank correlation is {} (below {})",
            four_digits(correlation),
            four_digits(weak)
        );
        return Ok(vec![Hit::new(
            Severity::Warning,
            sentence,
            cite(seed, metric, &tasks, correlation, weak),
        )]);
    }
    Ok(Vec::new())
}

/// The components of the reward with their points, by name.
fn components<'s>(check: &Check<'_>, seed: &'s SeedView<'_>) -> Result<Vec<(&'s str, Vec<Point>)>, Missing> {
    let all: Vec<(&str, Vec<Point>)> = seed
        .data
        .series
        .iter()
        .filter_map(|(metric, series)| Some((metric.strip_prefix("reward.")?, finite(series))))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    if all.is_empty() {
        return Err(Missing::Scope("reward components are not logged".to_owned()));
    }
    if all.iter().all(|(_, points)| points.len() < check.rule.minimum_points) {
        return Err(Missing::Data(format!(
            "no reward component has at least {} points",
            check.rule.minimum_points
        )));
    }
    Ok(all)
}

/// F20: one component that is not the task dominates the others.
pub(super) fn dominated(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, error] = check.rule.values(["warning", "error"]);
    let all = components(check, seed)?;
    if all.len() < 2 {
        return Err(Missing::Scope("the reward has only one component".to_owned()));
    }
    let sizes: Vec<f64> = all
        .iter()
        .map(|(_, points)| mean(&values(points).iter().map(|x| x.abs()).collect::<Vec<_>>()))
        .collect();
    let total: f64 = sizes.iter().sum();
    let tasks = &check.evidence.settings.task_components;
    let mut hits = Vec::new();
    for ((name, points), size) in all.iter().zip(&sizes) {
        let share = size / total;
        if tasks.contains(*name) || share.is_nan() || share <= warning {
            continue;
        }
        // If the task component is unknown, it may be this one.
        let severe = share > error && !tasks.is_empty();
        let (severity, bound) = if severe { (Severity::Error, error) } else { (Severity::Warning, warning) };
        let metric = format!("reward.{name}");
        let sentence = format!(
            "{metric} makes up {} of the total magnitude of all components (more than {}) at {}",
            percent(share),
            percent(bound),
            steps(points),
        );
        hits.push(Hit::new(severity, sentence, cite(seed, &metric, points, share, bound)));
    }
    Ok(hits)
}

/// F21: a constant component provides no learning signal.
pub(super) fn constant(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [range, floor] = check.rule.values(["range", "floor"]);
    let mut hits = Vec::new();
    for (name, points) in components(check, seed)? {
        if points.len() < check.rule.minimum_points {
            continue;
        }
        let all = values(&points);
        let (low, high) =
            all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        let relative = (high - low) / mean(&all).abs().max(floor);
        if relative < range {
            let metric = format!("reward.{name}");
            let sentence = format!(
                "{metric} changes by {} of its mean (less than {}) over {}",
                percent(relative),
                percent(range),
                steps(&points),
            );
            hits.push(Hit::new(Severity::Warning, sentence, cite(seed, &metric, &points, relative, range)));
        }
    }
    Ok(hits)
}

/// F22: a bounded component is saturated from early on.
pub(super) fn saturated(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [top, time, before] = check.rule.values(["top", "time", "before"]);
    let maxima = &check.evidence.settings.component_maxima;
    let all = components(check, seed)?;
    if maxima.is_empty() {
        return Err(Missing::Data("the largest values of the reward components are unknown".to_owned()));
    }
    let mut hits = Vec::new();
    for (name, points) in all {
        let Some(most) = maxima.get(name).copied().filter(|most| *most > 0.0) else { continue };
        let Some(begin) = points.iter().position(|point| point.1 > top * most) else { continue };
        let since = &points[begin..];
        let share = since.iter().filter(|point| point.1 > top * most).count() as f64 / since.len() as f64;
        if since.len() < check.rule.minimum_points
            || since[0].0 as f64 >= check.budget(before)
            || share <= time
        {
            continue;
        }
        let metric = format!("reward.{name}");
        let sentence = format!(
            "{metric} stays above {} of its largest value {} for {} of {} (more than {}), from before {} \
             of the budget",
            percent(top),
            four_digits(most),
            percent(share),
            steps(since),
            percent(time),
            percent(before),
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(seed, &metric, since, share, time)));
    }
    Ok(hits)
}

/// F23: no episode has an informative reward.
pub(super) fn no_signal(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [share, warning_budget, error_budget] =
        check.rule.values(["share", "warning_budget", "error_budget"]);
    let metric = "train.rewarded_episodes";
    let points = check.points(seed, metric)?;
    let reached = span(&points).1 as f64;
    for (severity, budget) in [(Severity::Error, error_budget), (Severity::Warning, warning_budget)] {
        let early = within(&points, 0.0, check.budget(budget));
        if reached < check.budget(budget) || early.is_empty() {
            continue;
        }
        let most = early.iter().fold(0.0_f64, |most, point| most.max(point.1));
        if most <= share {
            let sentence = format!(
                "{metric} is {} (no more than {}) in the first {} of the budget, at {}",
                four_digits(most),
                four_digits(share),
                percent(budget),
                steps(early),
            );
            let hit = Hit::new(severity, sentence, cite(seed, metric, early, most, share));
            // A good score without a single reward is luck: nothing in this run can have been learned.
            let none_at_all = points.iter().all(|point| point.1 <= share);
            return Ok(vec![if none_at_all {
                hit.strong(10.0).inexcusable()
            } else {
                hit.strong(budget / warning_budget)
            }]);
        }
    }
    if reached < check.budget(warning_budget) {
        return Err(Missing::Data(format!(
            "{metric} ends at step {}; {} is needed",
            grouped(reached as u64),
            grouped(check.budget(warning_budget) as u64)
        )));
    }
    Ok(Vec::new())
}
