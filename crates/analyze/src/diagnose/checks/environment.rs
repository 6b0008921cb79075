//! How episodes run and end (F28 to F30), whether copies of the environment run
//! in lockstep (F37), and what should vary between them (F40, F42).

use rlxp_types::text::four_digits;

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, series, steps};
use super::super::curve::{finite, longest_stretch, rise, span, values, within};
use super::super::evidence::Termination;
use super::super::outcome::Severity;
use crate::statistics::aggregate::median;

/// F28: a time limit is treated as termination.
pub(super) fn truncation(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [share_bound, episodes, value_share, least_value] =
        check.rule.values(["share", "episodes", "value_share", "least_value"]);
    if check.evidence.environment.step_cap.is_none() {
        return Err(Missing::Scope("episodes have no step cap".to_owned()));
    }
    let at_limit = check.points(seed, "train.episodes_at_limit")?;
    let ended = check.points(seed, "train.terminated_at_limit")?;
    let sum = |points: &[(u64, f64)]| values(points).iter().sum::<f64>();
    let (all, wrong) = (sum(&at_limit), sum(&ended));
    if all < episodes {
        return Err(Missing::Data(format!(
            "{} of the {} episodes needed reached the step cap",
            four_digits(all),
            four_digits(episodes)
        )));
    }
    let share = wrong / all;
    if share >= share_bound {
        let metric = "train.terminated_at_limit";
        let sentence = format!(
            "{} of {} episodes that reached the step cap were reported as terminated ({metric}, {} or \
             more) at {}",
            four_digits(wrong),
            four_digits(all),
            percent(share_bound),
            steps(&ended),
        );
        let hit = Hit::new(Severity::Error, sentence, cite(seed, metric, &ended, share, share_bound));
        return Ok(vec![hit.inexcusable()]);
    }
    // A learner that observes the time may have learned that no reward follows the limit.
    let (Ok(last), Ok(level)) =
        (check.points(seed, "train.value_at_limit"), check.points(seed, "train.value_mean"))
    else {
        return Ok(Vec::new());
    };
    let window = check.window(&last);
    let (at_end, usual) = (median(&values(window)), median(&values(check.window(&level))));
    if usual.abs() >= least_value && (at_end / usual).abs() < value_share {
        let metric = "train.value_at_limit";
        let sentence = format!(
            "{metric} is {} while train.value_mean is {} (below {} of it) at {}",
            four_digits(at_end),
            four_digits(usual),
            percent(value_share),
            steps(window),
        );
        let citation = cite(seed, metric, window, at_end, value_share * usual);
        return Ok(vec![Hit::new(Severity::Warning, sentence, citation)]);
    }
    Ok(Vec::new())
}

/// F29: the policy ends episodes early to avoid negative rewards.
pub(super) fn suicide(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [trend_noise, shortening] = check.rule.values(["trend_noise", "shortening"]);
    if check.evidence.environment.termination == Some(Termination::Goal) {
        return Err(Missing::Scope("a terminated episode has reached its goal".to_owned()));
    }
    let lengths = check.points(seed, "train.mean_length")?;
    let returns = check.points(seed, "train.mean_return")?;
    let reward = median(&values(&finite(series(seed, "train.reward_mean")?)));
    let (Some((length_up, length_noise)), Some((return_up, return_noise))) = (rise(&lengths), rise(&returns))
    else {
        return Ok(Vec::new());
    };
    let relative = -length_up / lengths[0].1.abs().max(1.0);
    let shorter = relative > shortening && -length_up > trend_noise * length_noise;
    let richer = return_up > 0.0 && return_up > trend_noise * return_noise;
    if !(shorter && richer && reward < 0.0) {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "train.mean_length drops by {} (more than {}) while train.mean_return rises by {} and the reward \
         per step is {}, at {}",
        percent(relative),
        percent(shortening),
        four_digits(return_up),
        four_digits(reward),
        steps(&lengths),
    );
    Ok(vec![Hit::new(
        Severity::Error,
        sentence,
        cite(seed, "train.mean_length", &lengths, relative, shortening),
    )])
}

/// F30: episodes run into the cap without progress.
pub(super) fn stuck(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [share_bound, progress_bound] = check.rule.values(["share", "progress"]);
    let Some(cap) = check.evidence.environment.step_cap else {
        return Err(Missing::Scope("episodes have no step cap".to_owned()));
    };
    if check.evidence.environment.termination == Some(Termination::Failure) {
        return Err(Missing::Scope("an episode that reaches the cap did not fail".to_owned()));
    }
    let at_limit = check.points(seed, "train.episodes_at_limit")?;
    // Where nothing is to be reached, every episode may end at its cap by design.
    let Some(target) = check.evidence.environment.reward_threshold else {
        return Err(Missing::Scope("no target return is known".to_owned()));
    };
    let finished = check.points(seed, "train.episodes_finished")?;
    let curve = check.curve(seed)?;
    let window = check.window(&at_limit);
    let (from, to) = span(window);
    let sum = |points: &[(u64, f64)]| values(points).iter().sum::<f64>();
    let (limited, all) = (sum(window), sum(within(&finished, from as f64, to as f64)));
    if all < 1.0 {
        return Err(Missing::Data("no episode ended at the end of the run".to_owned()));
    }
    let share = limited / all;
    // A first evaluation that is already better than random is progress too.
    let ground = seed.reading.ground;
    let progress = if target > ground { (curve.end() - ground) / (target - ground) } else { 1.0 };
    if share <= share_bound || progress >= progress_bound {
        return Ok(Vec::new());
    }
    let metric = "train.episodes_at_limit";
    let sentence = format!(
        "{} of the episodes run into the cap of {cap} steps ({metric}, more than {}) at {}, and the return \
         has covered {} of the way from {} to its target {} (less than {})",
        percent(share),
        percent(share_bound),
        steps(window),
        percent(progress.max(0.0)),
        four_digits(ground),
        four_digits(target),
        percent(progress_bound),
    );
    Ok(vec![Hit::new(Severity::Warning, sentence, cite(seed, metric, window, share, share_bound))])
}

/// F37: copies of the environment end their episodes together.
pub(super) fn in_step(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [spread, budget, whole] = check.rule.values(["spread", "budget", "whole"]);
    let metric = "train.reset_spread";
    let points = finite(series(seed, metric)?);
    let early = within(&points, 0.0, check.budget(budget));
    if early.len() < check.rule.minimum_points {
        return Err(Missing::Data(format!(
            "{metric} has {} of the {} points needed in the first {} of the budget",
            early.len(),
            check.rule.minimum_points,
            percent(budget)
        )));
    }
    let level = median(&values(early));
    if level >= spread || times_of_ends(seed, early) >= whole {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "{metric} is {} (below {}) at {}: episodes of all copies end at the same time",
        four_digits(level),
        four_digits(spread),
        steps(early),
    );
    Ok(vec![Hit::new(Severity::Warning, sentence, cite(seed, metric, early, level, spread))])
}

/// At how many distinct times of a rollout episodes end: for copies in lockstep,
/// two or more mean that a rollout contains a whole episode.
fn times_of_ends(seed: &SeedView<'_>, spread: &[(u64, f64)]) -> f64 {
    let Ok(finished) = series(seed, "train.episodes_finished").map(finite) else { return 0.0 };
    let moments: Vec<f64> = spread
        .iter()
        .filter_map(|(step, spread)| {
            let index = finished.binary_search_by_key(step, |point| point.0).ok()?;
            Some(finished[index].1.powf(*spread))
        })
        .collect();
    if moments.is_empty() { 0.0 } else { median(&moments) }
}

/// F40: a parameter that is meant to vary over environments does not.
pub(super) fn not_randomized(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [variance] = check.rule.values(["variance"]);
    let meant = &check.evidence.settings.randomized;
    if meant.is_empty() {
        return Err(Missing::Scope("no parameter of the environment is randomised".to_owned()));
    }
    let (mut hits, mut seen) = (Vec::new(), 0);
    for parameter in meant {
        let metric = format!("randomization.{parameter}");
        let Some(points) = seed.data.series.get(&metric).map(finite) else { continue };
        if points.len() < check.rule.minimum_points {
            continue;
        }
        seen += 1;
        let largest = points.iter().fold(0.0_f64, |largest, point| largest.max(point.1.abs()));
        if largest <= variance {
            let sentence = format!(
                "{metric}, its variance over environments, is {} (no more than {}) at {} although it \
                 should be randomised",
                four_digits(largest),
                four_digits(variance),
                steps(&points),
            );
            hits.push(
                Hit::new(Severity::Error, sentence, cite(seed, &metric, &points, largest, variance)).event(),
            );
        }
    }
    if seen == 0 {
        return Err(Missing::Data(
            "the run has no randomization.* metrics for the parameters that should vary".to_owned(),
        ));
    }
    Ok(hits)
}

/// F42: a curriculum that is stuck, or that was finished immediately.
pub(super) fn curriculum(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [stalled, level_noise, early] = check.rule.values(["stalled", "level_noise", "early"]);
    let metric = "curriculum.level";
    if series(seed, metric).is_err() {
        return Err(Missing::Scope("no curriculum".to_owned()));
    }
    let points = check.points(seed, metric)?;
    let top = check
        .evidence
        .settings
        .curriculum_top
        .ok_or_else(|| Missing::Data("the highest level of the curriculum is unknown".to_owned()))?;
    let at_top = |value: f64| value >= top - level_noise * top.abs();
    let (_, last) = span(&points);
    let end = points[points.len() - 1].1;
    let flat = longest_stretch(&points, |point| (point.1 - end).abs() <= level_noise * top.abs());
    let until_end = flat.last().map(|point| point.0) == Some(last);
    let length = (span(flat).1 - span(flat).0) as f64;
    if until_end && !at_top(end) && length >= check.budget(stalled) {
        let sentence = format!(
            "{metric} stays at {} of {} for {} of the budget ({} or more), at {}",
            four_digits(end),
            four_digits(top),
            percent(length / check.budget(1.0)),
            percent(stalled),
            steps(flat),
        );
        let citation = cite(seed, metric, flat, length / check.budget(1.0), stalled);
        return Ok(vec![Hit::new(Severity::Warning, sentence, citation)]);
    }
    let first_top = points.iter().find(|point| at_top(point.1));
    if let Some(reached) = first_top.filter(|point| (point.0 as f64) < check.budget(early)) {
        let share = reached.0 as f64 / check.budget(1.0);
        let sentence = format!(
            "{metric} is at its maximum {} after {} of the budget (before {}), at {}",
            four_digits(top),
            percent(share),
            percent(early),
            steps(&[*reached]),
        );
        return Ok(vec![Hit::new(
            Severity::Warning,
            sentence,
            cite(seed, metric, &[*reached], share, early),
        )]);
    }
    Ok(Vec::new())
}
