//! How random the policy is (F08 to F10) and how often its actions are at their
//! bounds (F27).

use rlxp_types::text::four_digits;

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, steps};
use super::super::curve::{Point, longest_stretch, rise, span, values, within};
use super::super::evidence::Actions;
use super::super::outcome::Severity;
use crate::statistics::aggregate::median;

const DEVIATION: &str = "train.action_std";
/// What F09 means where the return has risen.
const RANDOM_BUT_RISEN: &str = "Late in training, the policy still samples its actions almost as randomly as at the \
                                start, although the return has risen: the entropy bonus may be too strong, or the \
                                updates too small.";

/// How random the policy is, where 1 is as random as it can be or, for
/// continuous actions, the larger of its initial std and `usual`: a policy that
/// starts with almost no noise has none left to lose. Returns the metric, its
/// description, and the points.
fn randomness(
    check: &Check<'_>,
    seed: &SeedView<'_>,
    usual: f64,
) -> Result<(&'static str, &'static str, Vec<Point>), Missing> {
    match check.evidence.environment.actions {
        Some(Actions::Discrete { most_entropy }) if most_entropy > 0.0 => {
            let mut points = check.points(seed, "train.entropy")?;
            points.iter_mut().for_each(|point| point.1 /= most_entropy);
            Ok(("train.entropy", "of the entropy of a uniform policy", points))
        }
        Some(Actions::Discrete { .. }) => {
            Err(Missing::Scope("the environment has only one action".to_owned()))
        }
        Some(Actions::Continuous) => {
            let mut points = check.points(seed, DEVIATION)?;
            let initial = points[0].1;
            let (size, of) = if initial >= usual {
                (initial, "of the initial std")
            } else {
                (usual, "of a usual initial std")
            };
            if size <= 0.0 {
                return Err(Missing::Data(format!("{DEVIATION} starts at {}", four_digits(initial))));
            }
            points.iter_mut().for_each(|point| point.1 /= size);
            Ok((DEVIATION, of, points))
        }
        None => Err(Missing::Data("the action space is unknown".to_owned())),
    }
}

/// F08: the policy stopped exploring before it can have learned enough.
pub(super) fn collapsed(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [low, before, updates, usual] = check.rule.values(["low", "before", "updates", "usual"]);
    let (metric, of, points) = randomness(check, seed, usual)?;
    let early = within(&points, 0.0, check.budget(before));
    if (early.len() as f64) < updates {
        return Err(Missing::Data(format!(
            "{metric} has {} points in the first {}",
            early.len(),
            percent(before)
        )));
    }
    let gone = longest_stretch(early, |point| point.1 < low);
    // A policy that was good and certain, and was lost later, had explored enough.
    if (gone.len() as f64) < updates || seed.reading.was_good && seed.reading.improved != Some(true) {
        return Ok(Vec::new());
    }
    let middle = median(&values(gone));
    let sentence = format!(
        "{metric} is {} {of} (below {}) at {}, before {} of the budget is used",
        percent(middle),
        percent(low),
        steps(gone),
        percent(before),
    );
    Ok(vec![Hit::new(Severity::Error, sentence, cite(seed, metric, gone, middle, low))])
}

/// F09: the policy is still close to random.
pub(super) fn stuck(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [high, after] = check.rule.values(["high", "after"]);
    let (metric, of, points) = randomness(check, seed, 0.0)?;
    let late = within(&points, check.budget(after), f64::INFINITY);
    if late.len() < check.rule.minimum_points {
        return Err(Missing::Data(format!(
            "{metric} has {} of the {} points needed after {} of the budget",
            late.len(),
            check.rule.minimum_points,
            percent(after)
        )));
    }
    let middle = median(&values(late));
    if middle <= high {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "{metric} is still {} {of} (above {}) at {}: the policy is close to random",
        percent(middle),
        percent(high),
        steps(late),
    );
    // Between the bound and 1 there is little room, so the distance to 1 counts.
    let strength = (1.0 - high) / (1.0 - middle).max(1e-9);
    let noise = check.rules.common("improved_noise");
    let curve = seed.reading.curve.as_ref();
    let rose = curve.and_then(|curve| curve.rose(curve.span(), noise)) == Some(true);
    let has_risen = rose && curve.is_some_and(|curve| curve.has_risen(curve.span(), noise));
    let has_learned = rose && seed.reading.improved == Some(true);
    let severity = if has_learned { Severity::Warning } else { Severity::Error };
    let hit = Hit::new(severity, sentence, cite(seed, metric, late, middle, high));
    Ok(vec![hit.strong(strength).meaning(has_risen.then_some(RANDOM_BUT_RISEN))])
}

/// F10: exploration noise grows, or an entropy bonus keeps it high.
pub(super) fn deviation_grows(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [over, growth, times, floor, flat_noise, usual] =
        check.rule.values(["over", "growth", "times", "floor", "flat_noise", "usual"]);
    let (_, of, points) = randomness(check, seed, usual)?;
    let mut hits = Vec::new();
    let (_, last) = span(&points);
    let late = within(&points, last as f64 * (1.0 - over), f64::INFINITY);
    if let Some((up, noise)) = rise(late)
        && up > growth
        && up > noise
    {
        let sentence = format!(
            "{DEVIATION} grows by {} {of} (more than {}) at {}",
            percent(up),
            percent(growth),
            steps(late),
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(seed, DEVIATION, late, up, growth)));
    }
    let window = check.window(&points);
    let level = median(&values(window));
    if level > times {
        let sentence = format!(
            "{DEVIATION} is {} {of} (more than {}) at {}",
            percent(level),
            percent(times),
            steps(window),
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(seed, DEVIATION, window, level, times)));
    }
    let bonus = check.evidence.settings.entropy_coef.unwrap_or(0.0);
    if let Some((up, noise)) = rise(late)
        && bonus > 0.0
        && level > floor
        && up.abs() <= flat_noise * noise
    {
        let sentence = format!(
            "{DEVIATION} no longer decreases and is {} {of} (above {}) at {} while entropy_coef is {}",
            percent(level),
            percent(floor),
            steps(late),
            four_digits(bonus),
        );
        hits.push(Hit::new(Severity::Warning, sentence, cite(seed, DEVIATION, late, level, floor)));
    }
    Ok(hits)
}

/// F27: actions are at their bounds.
pub(super) fn saturated(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, error] = check.rule.values(["warning", "error"]);
    let metric = "train.action_saturation";
    let points = check.points(seed, metric)?;
    let window = check.window(&points);
    let share = median(&values(window));
    if share <= warning {
        return Ok(Vec::new());
    }
    let (severity, bound) =
        if share > error { (Severity::Error, error) } else { (Severity::Warning, warning) };
    let sentence = format!(
        "{} of the actions are at a bound ({metric}, above {}) at {}",
        percent(share),
        percent(bound),
        steps(window),
    );
    Ok(vec![Hit::new(severity, sentence, cite(seed, metric, window, share, bound))])
}
