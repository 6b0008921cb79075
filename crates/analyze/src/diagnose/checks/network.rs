//! The network and its inputs: dormant units (F15), the scale of observations
//! (F25), and uninformative dimensions (F26).

use rlxp_types::text::{self, four_digits, grouped};

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, steps};
use super::super::curve::{Point, finite, values};
use super::super::outcome::{Citation, Severity};
use crate::statistics::aggregate::median;

/// F15: dead hidden units.
pub(super) fn dormant(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [warning, error] = check.rule.values(["warning", "error"]);
    let metric = "observations.dormant_fraction";
    let points = check.points(seed, metric)?;
    let window = check.window(&points);
    let share = median(&values(window));
    if share <= warning {
        return Ok(Vec::new());
    }
    let (severity, bound) =
        if share > error { (Severity::Error, error) } else { (Severity::Warning, warning) };
    let sentence = format!(
        "{} of the hidden units are dormant ({metric}, above {}) at {}",
        percent(share),
        percent(bound),
        steps(window),
    );
    Ok(vec![Hit::new(severity, sentence, cite(seed, metric, window, share, bound))])
}

/// One component of the observation over the run.
struct Dimension {
    index: usize,
    deviations: Vec<Point>,
    deviation: f64,
    mean: f64,
}

/// All logged components of the observation.
fn dimensions(check: &Check<'_>, seed: &SeedView<'_>) -> Result<Vec<Dimension>, Missing> {
    let mut found = Vec::new();
    for index in 0.. {
        let points = |what: &str| {
            seed.data.series.get(&format!("observations.{what}_{index}")).map(finite).unwrap_or_default()
        };
        let (deviations, means) = (points("std"), points("mean"));
        if deviations.is_empty() {
            break;
        }
        if deviations.len() < check.rule.minimum_points {
            return Err(Missing::Data(format!(
                "observations.std_{index} has {} of the {} points needed",
                deviations.len(),
                check.rule.minimum_points
            )));
        }
        let (deviation, mean) = (median(&values(&deviations)), median(&values(&means)));
        found.push(Dimension { index, deviations, deviation, mean });
    }
    if found.is_empty() {
        return Err(Missing::Data("the run has no observations.std_<i> metrics".to_owned()));
    }
    Ok(found)
}

/// The label of an observation component.
fn name(check: &Check<'_>, index: usize) -> String {
    match check.evidence.environment.observation_names.get(index) {
        Some(name) => format!("observation {index} ({name})"),
        None => format!("observation {index}"),
    }
}

/// F25: observations far from the size that networks learn well with.
pub(super) fn observation_scale(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [mean_bound, low, high, ratio_bound, fixed] =
        check.rule.values(["mean", "low", "high", "ratio", "fixed"]);
    if check.evidence.settings.normalize_observations {
        return Err(Missing::Scope("observations are normalised".to_owned()));
    }
    let all = dimensions(check, seed)?;
    // A dimension that does not vary at all is another rule's.
    let varying: Vec<&Dimension> = all.iter().filter(|dimension| dimension.deviation > fixed).collect();
    let mut hits = Vec::new();
    for dimension in &varying {
        let index = dimension.index;
        let (what, value, bound) = if dimension.deviation > high {
            ("std", dimension.deviation, high)
        } else if dimension.deviation < low {
            ("std", dimension.deviation, low)
        } else if dimension.mean.abs() > mean_bound {
            ("mean", dimension.mean, mean_bound)
        } else {
            continue;
        };
        let metric = format!("observations.{what}_{index}");
        let sentence = format!(
            "{}: {metric} is {} (bound {}) at {}",
            name(check, index),
            four_digits(value),
            four_digits(bound),
            steps(&dimension.deviations),
        );
        hits.push(Hit::new(
            Severity::Error,
            sentence,
            cite(seed, &metric, &dimension.deviations, value, bound),
        ));
    }
    let extreme = |pick: fn(f64, f64) -> bool| {
        varying.iter().copied().reduce(|a, b| if pick(b.deviation, a.deviation) { b } else { a })
    };
    if let (Some(small), Some(large)) = (extreme(|a, b| a < b), extreme(|a, b| a > b)) {
        let ratio = large.deviation / small.deviation;
        if ratio > ratio_bound {
            let metric = format!("observations.std_{}", large.index);
            let sentence = format!(
                "{metric} is {} times observations.std_{} (more than {}) at {}",
                four_digits(ratio),
                small.index,
                four_digits(ratio_bound),
                steps(&large.deviations),
            );
            hits.push(Hit::new(
                Severity::Error,
                sentence,
                cite(seed, &metric, &large.deviations, ratio, ratio_bound),
            ));
        }
    }
    Ok(hits)
}

/// F26: dimensions that never change, or that the normaliser keeps clipping.
pub(super) fn observation_fixed(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [fixed, still_share, clipped_share] = check.rule.values(["fixed", "still_share", "clipped_share"]);
    let environment = &check.evidence.environment;
    // A game of one step has nothing that could change; the same question each time is the task.
    let lengths = seed.data.series.get("train.mean_length").map(finite).unwrap_or_default();
    if median(&values(&lengths)) <= 1.0 {
        return Err(Missing::Scope("episodes last one step".to_owned()));
    }
    let logged = dimensions(check, seed);
    if let (Err(missing), true) = (&logged, environment.still.is_empty()) {
        return Err(missing.clone());
    }
    let logged = logged.unwrap_or_default();
    let mut constant: Vec<(usize, Citation, String)> = Vec::new();
    for dimension in logged.iter().filter(|dimension| dimension.deviation < fixed) {
        let metric = format!("observations.std_{}", dimension.index);
        let citation = cite(seed, &metric, &dimension.deviations, dimension.deviation, fixed);
        let why = format!("{metric} is {} (below {})", four_digits(dimension.deviation), four_digits(fixed));
        constant.push((dimension.index, citation, why));
    }
    for (index, still) in environment.still.iter().enumerate() {
        let known = constant.iter().any(|(other, _, _)| *other == index);
        if known || *still < still_share {
            continue;
        }
        let citation = Citation {
            metric: format!("environment.still_{index}"),
            seed: None,
            from_step: 0,
            to_step: environment.still_steps,
            value: *still,
            threshold: Some(still_share),
        };
        let tried = grouped(environment.still_steps);
        let why = format!(
            "within episodes it doesn't change in {} of {tried} random steps ({} or more)",
            percent(*still),
            percent(still_share)
        );
        constant.push((index, citation, why));
    }
    // One held component of a discrete observation may be the task: a dealer's card, say.
    if environment.real_observations == Some(false) && constant.len() < environment.still.len() {
        constant.clear();
    }
    constant.sort_by_key(|(index, _, _)| *index);
    let mut hits = Vec::new();
    if let Some((index, _, why)) = constant.first() {
        let width = logged.len().max(environment.still.len());
        let which = match constant.len() {
            1 => format!("{} never changes", name(check, *index)),
            all if all == width => "no component of the observation ever changes".to_owned(),
            several => {
                let names: Vec<String> = constant.iter().map(|(index, _, _)| name(check, *index)).collect();
                format!(
                    "{several} of {width} components of the observation never change: {}",
                    names.join(", ")
                )
            }
        };
        let citations: Vec<Citation> = constant.iter().map(|(_, citation, _)| citation.clone()).collect();
        let range = text::steps(citations[0].from_step, citations[0].to_step);
        hits.push(Hit {
            severity: Severity::Warning,
            sentence: format!("{which}: {why}, {range}"),
            strength: constant.len() as f64,
            citations,
            event: false,
            excusable: false,
            keys: Vec::new(),
            fine: false,
            explains: true,
            kind: "",
            meaning: None,
        });
    }
    for dimension in &logged {
        let metric = format!("observations.clipped_{}", dimension.index);
        let points = seed.data.series.get(&metric).map(finite).unwrap_or_default();
        let share = median(&values(&points));
        if share > clipped_share {
            let sentence = format!(
                "{}: {metric} is {} (above {}) at {}",
                name(check, dimension.index),
                percent(share),
                percent(clipped_share),
                steps(&points),
            );
            hits.push(Hit::new(
                Severity::Warning,
                sentence,
                cite(seed, &metric, &points, share, clipped_share),
            ));
        }
    }
    Ok(hits)
}
