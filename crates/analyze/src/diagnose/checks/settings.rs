//! Settings that are the probable cause of a poor return: the reward's sign
//! (F43), the discount (F44), a value function without effect (F45), the
//! network's size (F46) and wrappers (F47); `unusual` has F48 and F49.
//!
//! A setting alone is not a fault: each of these rules needs a return that is
//! short of what counts as learned, and none compares with a starter, so that
//! they say the same about an environment that rlx doesn't know.

use rlxp_types::text::four_digits;
use serde_json::Value;

use super::super::check::{Check, Found, Hit, Missing, SeedView};
use super::super::curve::{finite, over_last, span, values};
use super::super::outcome::{Citation, Severity};
use crate::statistics::aggregate::{mean, median};

/// Evaluations that are a run's last return where it has too few for a curve.
const LAST_EVALUATIONS: usize = 3;

/// The return at the end, where it is short of what counts as learned.
pub(super) struct Short {
    citation: Citation,
    sentence: String,
}

/// `None` where the return is fine.
pub(super) fn short(check: &Check<'_>, seed: &SeedView<'_>) -> Result<Option<Short>, Missing> {
    let reading = &seed.reading;
    let (metric, level, from, to, over) = match &reading.curve {
        Some(curve) => {
            if reading.at_target == Some(true) || reading.improved == Some(true) {
                return Ok(None);
            }
            let (from, to) = span(curve.end_points());
            (curve.metric, curve.end(), from, to, curve.over_last())
        }
        None => {
            let evaluations = &seed.data.evaluations;
            let last = &evaluations[evaluations.len().saturating_sub(LAST_EVALUATIONS)..];
            let (Some(first), Some(end)) = (last.first(), last.last()) else {
                return Err(Missing::Data("the run has no evaluation".to_owned()));
            };
            let level = mean(&last.iter().map(|evaluation| evaluation.mean).collect::<Vec<_>>());
            let metric = "eval.mean_return";
            (metric, level, first.step, end.step, over_last(metric, last.len()))
        }
    };
    let bound = check.evidence.learned_from(check.rules);
    if reading.curve.is_none() {
        match bound {
            None => return Err(Missing::Data("no return that counts as learned is known".to_owned())),
            Some(bound) if level >= bound => return Ok(None),
            Some(_) => {}
        }
    }
    let sentence = match bound {
        Some(bound) if level < bound => {
            format!("{metric} ends at {} {over}, short of {}", four_digits(level), four_digits(bound))
        }
        _ => format!("{metric} ends at {} {over}, far below its best", four_digits(level)),
    };
    let citation = Citation {
        metric: metric.to_owned(),
        seed: Some(seed.data.seed),
        from_step: from,
        to_step: to,
        value: level,
        threshold: bound,
    };
    Ok(Some(Short { citation, sentence }))
}

/// The return at the end, where it was learned and still misses a known target.
pub(super) fn misses_target(check: &Check<'_>, seed: &SeedView<'_>) -> Option<Short> {
    let target = check.evidence.environment.reward_threshold?;
    let curve = seed.reading.curve.as_ref().filter(|_| seed.reading.at_target == Some(false))?;
    let (from_step, to_step) = span(curve.end_points());
    let sentence = format!(
        "{} ends at {} {}, short of the target {}",
        curve.metric,
        four_digits(curve.end()),
        curve.over_last(),
        four_digits(target)
    );
    let citation = Citation {
        metric: curve.metric.to_owned(),
        seed: Some(seed.data.seed),
        from_step,
        to_step,
        value: curve.end(),
        threshold: Some(target),
    };
    Some(Short { citation, sentence })
}

/// Rules about settings need them.
pub(super) fn known(check: &Check<'_>) -> Result<(), Missing> {
    if check.evidence.settings.values.is_empty() {
        return Err(Missing::Data("the config is unknown".to_owned()));
    }
    Ok(())
}

/// A key's number, or the larger end of its schedule.
pub(super) fn number(check: &Check<'_>, key: &str) -> Option<f64> {
    match check.evidence.settings.values.get(key)? {
        Value::Object(parts) => Some(parts.get("from")?.as_f64()?.max(parts.get("to")?.as_f64()?)),
        value => value.as_f64(),
    }
}

/// A hit that names `key`; `strength` is how far it is beyond its bound.
pub(super) fn blame(
    severity: Severity,
    key: &str,
    what: String,
    short: &Short,
    strength: f64,
    value: f64,
    bound: f64,
) -> Hit {
    let citation = Citation {
        metric: format!("config.{key}"),
        seed: None,
        from_step: 0,
        to_step: short.citation.to_step,
        value,
        threshold: Some(bound),
    };
    let sentence = format!("{what}, and {}", short.sentence);
    Hit::new(severity, sentence, citation).with(short.citation.clone()).strong(strength).naming(key)
}

/// F43: training rewards have the opposite sign of what evaluations count.
pub(super) fn sign(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [factor_bound] = check.rule.values(["factor"]);
    known(check)?;
    let factor = check.evidence.settings.reward_factor;
    if factor >= factor_bound {
        return Ok(Vec::new());
    }
    let Some(short) = short(check, seed)? else { return Ok(Vec::new()) };
    let what = format!(
        "training multiplies rewards by {} (below {}), so it minimises what evaluations count",
        four_digits(factor),
        four_digits(factor_bound)
    );
    Ok(vec![blame(Severity::Error, "env.wrappers", what, &short, 10.0, factor, factor_bound)])
}

/// F44: the discount looks far less ahead than an episode lasts.
pub(super) fn discount(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [times, least] = check.rule.values(["times", "least"]);
    let Some(gamma) = check.evidence.settings.gamma else {
        return Err(Missing::Data("gamma is unknown".to_owned()));
    };
    let lengths = seed.data.series.get("train.mean_length").map(finite).unwrap_or_default();
    let typical = median(&values(&lengths));
    let cap = check.evidence.environment.step_cap.map(|cap| cap as f64);
    let Some(length) = cap.into_iter().chain(typical.is_finite().then_some(typical)).reduce(f64::max) else {
        return Err(Missing::Data("the length of episodes is unknown".to_owned()));
    };
    let ahead = if gamma < 1.0 { 1.0 / (1.0 - gamma) } else { f64::INFINITY };
    // An episode of a few steps needs no foresight.
    if length < least || ahead * times >= length {
        return Ok(Vec::new());
    }
    let Some(short) = short(check, seed)? else { return Ok(Vec::new()) };
    let what = format!(
        "gamma {} looks {} steps ahead where episodes last up to {} (more than {} times as long)",
        four_digits(gamma),
        four_digits(ahead),
        four_digits(length),
        four_digits(times)
    );
    let strength = length / (ahead * times);
    Ok(vec![blame(Severity::Error, "algo.gamma", what, &short, strength, ahead, length / times)])
}

/// F45: the value function can't learn, or its estimates have no influence.
pub(super) fn no_value(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [weight, reach] = check.rule.values(["weight", "reach"]);
    known(check)?;
    let mut hits = Vec::new();
    let coefficient = number(check, "algo.value_coef").filter(|coefficient| *coefficient < weight);
    let clip = number(check, "algo.clip_value").and_then(|clip| {
        // Values move by at most the clip range per update, from about zero to the returns' size.
        let targets = check.points(seed, "train.return_target_p99").ok()?;
        let size = median(&values(&targets));
        let furthest = clip * targets.len() as f64;
        (furthest < reach * size).then_some((clip, furthest, size))
    });
    let whole_returns = check.evidence.settings.gamma.is_some_and(|gamma| gamma >= 1.0)
        && number(check, "algo.gae_lambda").is_some_and(|lambda| lambda >= 1.0);
    if coefficient.is_none() && clip.is_none() && !whole_returns {
        return Ok(Vec::new());
    }
    let Some(short) = short(check, seed)? else { return Ok(Vec::new()) };
    if let Some(coefficient) = coefficient {
        let what = format!(
            "value_coef is {} (below {}), so the value function is hardly trained",
            four_digits(coefficient),
            four_digits(weight)
        );
        hits.push(blame(Severity::Error, "algo.value_coef", what, &short, 10.0, coefficient, weight));
    }
    if let Some((clip, furthest, size)) = clip {
        let what = format!(
            "clip_value {} lets values move by {} over the run, while returns are as large as {}",
            four_digits(clip),
            four_digits(furthest),
            four_digits(size)
        );
        hits.push(blame(
            Severity::Error,
            "algo.clip_value",
            what,
            &short,
            reach * size / furthest,
            furthest,
            reach * size,
        ));
    }
    if whole_returns {
        let what = "gamma and gae_lambda are both 1, so advantages are whole undiscounted returns and the \
                    value function has hardly any effect"
            .to_owned();
        hits.push(
            blame(Severity::Warning, "algo.gae_lambda", what, &short, 1.0, 1.0, 1.0).naming("algo.gamma"),
        );
    }
    Ok(hits)
}

/// Units of each hidden layer.
pub(super) fn layers(check: &Check<'_>) -> Option<Vec<f64>> {
    let layers = check.evidence.settings.values.get("policy.hidden_sizes")?.as_array()?;
    let layers: Vec<f64> = layers.iter().filter_map(Value::as_f64).collect();
    (!layers.is_empty()).then_some(layers)
}

/// F46: a hidden layer too narrow to represent a policy.
pub(super) fn narrow(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [width] = check.rule.values(["width"]);
    let Some(layers) = layers(check) else {
        return Err(Missing::Data("the network's size is unknown".to_owned()));
    };
    let narrowest = layers.iter().copied().fold(f64::INFINITY, f64::min);
    if narrowest >= width {
        return Ok(Vec::new());
    }
    let Some(short) = short(check, seed)? else { return Ok(Vec::new()) };
    let what = format!(
        "the narrowest hidden layer has {} units (fewer than {})",
        four_digits(narrowest),
        four_digits(width)
    );
    Ok(vec![blame(Severity::Error, "policy.hidden_sizes", what, &short, width / narrowest, narrowest, width)])
}

/// F47: a wrapper changes what training sees or is rewarded for.
pub(super) fn wrapper(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [large, small] = check.rule.values(["large", "small"]);
    let Some(wrappers) = check.evidence.settings.values.get("env.wrappers").and_then(Value::as_array) else {
        return Err(Missing::Data("the wrappers are unknown".to_owned()));
    };
    let factor = check.evidence.settings.reward_factor;
    let mut found: Vec<(String, f64, f64, f64)> = Vec::new();
    for wrapper in wrappers {
        let name = match wrapper {
            Value::String(name) => name.as_str(),
            Value::Object(parts) => parts.keys().next().map_or("", String::as_str),
            _ => "",
        };
        match name {
            "freeze_observation" => {
                found.push((
                    "the wrapper freeze_observation hides what changes during an episode".to_owned(),
                    5.0,
                    1.0,
                    0.0,
                ));
            }
            "truncation_as_termination" => {
                found.push((
                    "the wrapper truncation_as_termination reports time limits as ends".to_owned(),
                    2.0,
                    1.0,
                    0.0,
                ));
            }
            "scale_reward" if !check.evidence.settings.normalize_rewards || factor == 0.0 => {
                let size = factor.abs();
                if size > large || size < small {
                    let bound = if size > large { large } else { small };
                    let off = (size / bound).max(bound / size.max(1e-12));
                    let what = format!(
                        "the wrapper scale_reward multiplies rewards by {} (usual: {} to {})",
                        four_digits(factor),
                        four_digits(small),
                        four_digits(large)
                    );
                    found.push((what, off, size, bound));
                }
            }
            _ => {}
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let Some(short) = short(check, seed)? else { return Ok(Vec::new()) };
    Ok(found
        .into_iter()
        .map(|(what, off, value, bound)| {
            blame(Severity::Warning, "env.wrappers", what, &short, off, value, bound)
        })
        .collect())
}
