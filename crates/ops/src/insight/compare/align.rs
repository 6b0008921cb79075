//! Metrics of several groups at steps that all of them reach, and their curves.

use rlxp_analyze::aggregate::iqm;
use rlxp_analyze::curves::{Band, CurvePoint, Options, SeedCurve, aggregate};
use rlxp_store::{MEAN_RETURN, Series};
use serde::Serialize;

use super::groups::ComparedGroup;
use super::score::Score;
use crate::insight::run_data::SeedState;
use crate::insight::run_data::fold::Member;

/// What is put side by side.
pub(super) const TABLE: [(&str, &str); 9] = [
    ("eval", MEAN_RETURN),
    ("eval", "mean_length"),
    ("train", MEAN_RETURN),
    ("train", "mean_length"),
    ("train", "entropy"),
    ("train", "approx_kl"),
    ("train", "clip_fraction"),
    ("train", "explained_variance"),
    (rlxp_store::TIMING_KIND, "steps_per_second"),
];

/// Where on the shared range of steps.
const PLACES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// Metrics of training vary from update to update: the mean over this part of the range is taken.
const WINDOW: f64 = 0.1;
/// Points of a curve.
const CURVE_PLACES: usize = 60;

/// A metric of all groups at the same steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlignedMetric {
    /// `KIND/NAME`.
    pub metric: String,
    /// A quarter, a half, three quarters and all of the steps that the groups share.
    pub steps: Vec<u64>,
    /// At which of them a value lies between two evaluations. Metrics of training are never interpolated: they are
    /// means over the tenth of these steps before each.
    pub interpolated: Vec<bool>,
    pub groups: Vec<AlignedGroup>,
}

/// How the values of metrics at common steps were read, a sentence each. `places` are the steps that are shown.
pub fn how_read(metrics: &[AlignedMetric], places: &[usize]) -> Vec<String> {
    let between =
        |metric: &AlignedMetric| places.iter().any(|place| metric.interpolated.get(*place) == Some(&true));
    let mut said = Vec::new();
    if metrics.iter().any(between) {
        said.push("eval: interpolated between the nearest evaluations".to_owned());
    }
    let mut kinds: Vec<&str> =
        metrics.iter().filter_map(|metric| Some(metric.metric.split_once('/')?.0)).collect();
    kinds.retain(|kind| *kind != "eval");
    kinds.dedup();
    if !kinds.is_empty() {
        let share = WINDOW * 100.0;
        said.push(format!("{}: mean over the preceding {share:.0}% of the shared steps", kinds.join(", ")));
    }
    said
}

/// A group's values at those steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlignedGroup {
    /// The group's letter.
    pub group: String,
    /// Interquartile mean over the seeds.
    pub values: Vec<Option<f64>>,
    /// Seeds that have a value there.
    pub seeds: Vec<usize>,
    /// The values minus those of A.
    pub differences: Vec<Option<f64>>,
}

/// A group's curve with a band over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupCurve {
    /// The group's letter.
    pub group: String,
    /// What is drawn, `KIND/NAME`.
    pub metric: String,
    pub band: Band,
    /// The curve by steps; `x` is a step.
    pub points: Vec<CurvePoint>,
}

/// The table's metrics, and the score's, as far as any group has them.
pub(super) fn metrics(score: &Score, groups: &[ComparedGroup<'_>]) -> Vec<AlignedMetric> {
    let own = (score.place.0.as_str(), score.place.1.as_str());
    let extra = (!TABLE.contains(&own)).then_some(own);
    TABLE.into_iter().chain(extra).filter_map(|(kind, name)| metric(kind, name, groups)).collect()
}

fn metric(kind: &str, name: &str, groups: &[ComparedGroup<'_>]) -> Option<AlignedMetric> {
    let with: Vec<(&ComparedGroup<'_>, Vec<&Series>)> = groups
        .iter()
        .map(|group| {
            (
                group,
                group.members.iter().filter_map(|member| member.seed.series(kind, name)).collect::<Vec<_>>(),
            )
        })
        .filter(|(_, series)| !series.is_empty())
        .collect();
    // Each group as far as its longest seed goes, all groups as far as the shortest of them.
    let first = with.iter().filter_map(|(_, all)| all.iter().map(|series| series.steps[0]).min()).max()?;
    let last = with
        .iter()
        .filter_map(|(_, all)| all.iter().filter_map(|series| Some(series.last()?.0)).max())
        .min()?;
    if first > last {
        return None;
    }
    let span = (last - first) as f64;
    let steps: Vec<u64> = PLACES.iter().map(|part| first + (span * part) as u64).collect();
    let window = if kind == "eval" { None } else { Some((span * WINDOW) as u64) };
    let mut aligned: Vec<AlignedGroup> = Vec::new();
    let mut interpolated = vec![false; steps.len()];
    for (group, all) in with {
        let at = |step: u64| -> Vec<f64> {
            all.iter()
                .map(|series| value_at(series, step, window))
                .filter(|value| value.is_finite())
                .collect()
        };
        let found: Vec<Vec<f64>> = steps.iter().map(|step| at(*step)).collect();
        let values: Vec<Option<f64>> =
            found.iter().map(|values| (!values.is_empty()).then(|| iqm(values))).collect();
        let of_a =
            aligned.first().filter(|group| group.group == groups[0].id).map(|group| group.values.clone());
        let differences = match (&of_a, group.id == groups[0].id) {
            (Some(of_a), false) => values.iter().zip(of_a).map(|(own, a)| Some((*own)? - (*a)?)).collect(),
            _ => vec![None; values.len()],
        };
        let seeds = found.iter().map(Vec::len).collect();
        for (step, interpolated) in steps.iter().zip(&mut interpolated) {
            *interpolated |= window.is_none() && all.iter().any(|series| is_between(series, *step));
        }
        aligned.push(AlignedGroup { group: group.id.clone(), values, seeds, differences });
    }
    // Such as the return of training that ended before its first episode did.
    let known = aligned.iter().flat_map(|group| &group.values).any(Option::is_some);
    let metric = format!("{kind}/{name}");
    known.then_some(AlignedMetric { metric, steps, interpolated, groups: aligned })
}

/// Whether a step lies between two evaluations of a seed.
fn is_between(series: &Series, step: u64) -> bool {
    let within = series.steps.first().is_some_and(|first| *first <= step)
        && series.steps.last().is_some_and(|last| step <= *last);
    within && series.steps.binary_search(&step).is_err()
}

/// A seed's value at a step: on the line between two evaluations, or the mean
/// of what was logged within `window` steps before, at least the last of it; NaN beyond its end.
fn value_at(series: &Series, step: u64, window: Option<u64>) -> f64 {
    let after = series.steps.partition_point(|at| *at <= step);
    match window {
        Some(window) => {
            let from = series.steps.partition_point(|at| *at < step.saturating_sub(window));
            // Training that logs more rarely than that has its last record there.
            let within = series.steps.last().is_some_and(|last| step <= *last);
            let from = if within { from.min(after.saturating_sub(1)) } else { from };
            if from >= after {
                return f64::NAN;
            }
            let finite: Vec<f64> =
                series.values[from..after].iter().copied().filter(|value| value.is_finite()).collect();
            rlxp_analyze::aggregate::mean(&finite)
        }
        None => {
            let Some(before) = after.checked_sub(1) else { return f64::NAN };
            let (from, value) = (series.steps[before], series.values[before]);
            if from == step {
                return value;
            }
            let (Some(to), Some(next)) = (series.steps.get(after), series.values.get(after)) else {
                return f64::NAN;
            };
            value + (next - value) * ((step - from) as f64 / (to - from) as f64)
        }
    }
}

/// The curve of each group: the score's metric, or the return where that has no curve.
pub(super) fn curves(score: &Score, groups: &[ComparedGroup<'_>]) -> Vec<GroupCurve> {
    let own = (score.place.0.as_str(), score.place.1.as_str());
    let candidates = [own, ("eval", MEAN_RETURN), ("train", MEAN_RETURN)];
    let has = |group: &ComparedGroup<'_>, (kind, name): (&str, &str)| {
        group.members.iter().any(|member| member.seed.series(kind, name).is_some())
    };
    let everywhere = candidates.iter().copied().find(|place| groups.iter().all(|group| has(group, *place)));
    let Some((kind, name)) = everywhere else { return Vec::new() };
    let options = Options { places: CURVE_PLACES, ..Options::default() };
    let curve = |member: &Member<'_>| SeedCurve {
        points: member.seed.series(kind, name).map_or_else(Vec::new, |series| {
            series.points().map(|(step, value)| (step as f64, value)).collect()
        }),
        failed: member.seed.state == SeedState::Failed,
    };
    groups
        .iter()
        .map(|group| {
            let seeds: Vec<SeedCurve> = group.members.iter().map(curve).collect();
            let folded = aggregate(&seeds, &options);
            GroupCurve {
                group: group.id.clone(),
                metric: format!("{kind}/{name}"),
                band: folded.band,
                points: folded.points,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::run_data::testing::series;

    #[test]
    fn evaluations_lie_on_a_line_and_end_where_they_end() {
        let curve = series(&[(10, 1.0), (20, 3.0)]);
        for (step, expected) in [(10, 1.0), (15, 2.0), (20, 3.0)] {
            assert_eq!(value_at(&curve, step, None), expected);
        }
        assert!(value_at(&curve, 9, None).is_nan() && value_at(&curve, 21, None).is_nan());
        assert_eq!(value_at(&series(&[(5, 1.0), (5, 2.0)]), 5, None), 2.0);
    }

    #[test]
    fn training_metrics_are_means_over_a_window() {
        let curve = series(&[(10, 1.0), (20, 3.0), (30, f64::NAN), (40, 5.0)]);
        assert_eq!(value_at(&curve, 20, Some(10)), 2.0);
        assert_eq!(value_at(&curve, 40, Some(10)), 5.0);
        assert!(value_at(&curve, 60, Some(10)).is_nan());
        assert!(value_at(&curve, 30, Some(5)).is_nan());
        // Records further apart than the window.
        assert_eq!((value_at(&curve, 15, Some(2)), value_at(&curve, 28, Some(5))), (1.0, 3.0));
        assert!(value_at(&curve, 5, Some(2)).is_nan(), "before the first record");
    }

    #[test]
    fn interpolation_is_noticed_and_said() {
        let curve = series(&[(10, 1.0), (20, 3.0)]);
        assert_eq!(
            [5, 10, 15, 20, 25].map(|step| is_between(&curve, step)),
            [false, false, true, false, false]
        );
        let metric = |name: &str, interpolated: [bool; 4]| AlignedMetric {
            metric: name.to_owned(),
            steps: vec![1, 2, 3, 4],
            interpolated: interpolated.to_vec(),
            groups: Vec::new(),
        };
        let metrics = [
            metric("eval/mean_return", [true, false, false, false]),
            metric("train/entropy", [false; 4]),
            metric("train/approx_kl", [false; 4]),
            metric("timing/steps_per_second", [false; 4]),
        ];
        let training = "train, timing: mean over the preceding 10% of the shared steps";
        assert_eq!(how_read(&metrics, &[1, 3]), [training]);
        let all = how_read(&metrics, &[0, 1, 2, 3]);
        assert_eq!(all, ["eval: interpolated between the nearest evaluations", training]);
        assert_eq!(how_read(&metrics[..1], &[3]), Vec::<String>::new());
    }
}
