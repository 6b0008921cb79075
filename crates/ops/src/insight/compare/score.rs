//! One score per seed: its metric, and how it is computed.

use std::collections::BTreeSet;

use rlxp_analyze::selection::expected_maximum;
use rlxp_analyze::verdict::Direction;
use rlxp_store::{MEAN_RETURN, Series};
use serde::Serialize;

use super::CompareRequest;
use super::align::TABLE;
use super::groups::ComparedGroup;
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::SeedState;
use crate::insight::run_data::fold::Member;
use crate::select::Which;

/// How a seed's score is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreKind {
    /// The last evaluation during training; the mean of the last tenth for metrics of training itself.
    #[default]
    Last,
    /// The best value during training.
    Best,
    /// The mean over the whole curve.
    Area,
    /// `rlx eval` of the latest checkpoint.
    Eval,
    /// `rlx eval` of the best checkpoint.
    EvalBest,
}

/// Where scores come from, which decides what must be equal to compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// Evaluations during training.
    Evaluation,
    /// Metrics of training itself.
    Training,
    /// `rlx eval`, after training.
    Afterwards,
}

/// The score that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// How it is computed.
    pub kind: ScoreKind,
    /// The metric, `KIND/NAME`.
    pub metric: String,
    pub what: String,
    /// Whether more or less is better.
    pub direction: Direction,
    #[serde(rename = "from")]
    pub(super) source: Source,
    #[serde(skip)]
    pub(super) place: (String, String),
}

/// A seed's score; NaN if it failed or has no score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeedScore {
    pub(crate) value: f64,
    /// Why it is NaN.
    pub(crate) why: Option<String>,
    /// Nothing was recorded, which says nothing about the training.
    pub(crate) missing: bool,
}

/// The metrics to load.
pub(super) struct NeededMetrics {
    asked: Option<(Option<String>, String)>,
}

/// The metrics that a request needs, or why it is invalid.
pub(super) fn needed_metrics(request: &CompareRequest) -> Outcome<NeededMetrics> {
    let afterwards = matches!(request.score, ScoreKind::Eval | ScoreKind::EvalBest);
    if afterwards && request.metric.is_some() {
        return Err(Failure::usage(
            "score_conflict",
            "`rlx eval` only measures the return; --metric needs another score",
        )
        .hint("drop --metric, or use --score last"));
    }
    let asked = request.metric.as_deref().map(|text| match text.split_once('/') {
        Some((kind, name)) => (Some(kind.to_owned()), name.to_owned()),
        None => (None, text.to_owned()),
    });
    Ok(NeededMetrics { asked })
}

impl NeededMetrics {
    /// Whether a series is needed.
    pub(super) fn accepts(&self, kind: &str, name: &str) -> bool {
        let in_table = TABLE.contains(&(kind, name));
        let for_scores = kind == "eval" && matches!(name, "deviation" | "episodes");
        let asked = self
            .asked
            .as_ref()
            .is_some_and(|(of, wanted)| wanted == name && of.as_ref().is_none_or(|of| of == kind));
        in_table || for_scores || asked
    }
}

pub(super) fn decide(request: &CompareRequest, groups: &[ComparedGroup<'_>]) -> Outcome<Score> {
    let place = match &request.metric {
        None => ("eval".to_owned(), MEAN_RETURN.to_owned()),
        Some(text) => find_metric(text, groups)?,
    };
    let kind = request.score;
    let source = match (kind, place.0.as_str()) {
        (ScoreKind::Eval | ScoreKind::EvalBest, _) => Source::Afterwards,
        (_, "eval") => Source::Evaluation,
        _ => Source::Training,
    };
    let metric = format!("{}/{}", place.0, place.1);
    let what = match (kind, source) {
        (ScoreKind::Last, Source::Evaluation) => format!("{metric} of the last evaluation"),
        (ScoreKind::Last, _) => format!("mean of the last tenth of {metric}"),
        (ScoreKind::Best, _) => format!("best {metric} during training"),
        (ScoreKind::Area, _) => format!("mean of {metric} over training"),
        (ScoreKind::Eval, _) => "mean return of the latest checkpoint as `rlx eval` measured it".to_owned(),
        (ScoreKind::EvalBest, _) => "mean return of the best checkpoint as `rlx eval` measured it".to_owned(),
    };
    let direction = if request.lower { Direction::Lower } else { Direction::Higher };
    Ok(Score { kind, metric, what, direction, source, place })
}

/// The kind and name of a metric as the user wrote it. A bare name is looked up among evaluations first.
fn find_metric(text: &str, groups: &[ComparedGroup<'_>]) -> Outcome<(String, String)> {
    let members = || groups.iter().flat_map(|group| &group.members);
    let there = |kind: &str, name: &str| members().any(|member| member.seed.series(kind, name).is_some());
    let found = match text.split_once('/') {
        Some((kind, name)) => there(kind, name).then(|| (kind.to_owned(), name.to_owned())),
        None => {
            let logged: BTreeSet<&str> =
                members().flat_map(|member| member.seed.metrics.series.keys().map(String::as_str)).collect();
            let usual = ["eval", "train", rlxp_store::TIMING_KIND];
            let others = logged.into_iter().filter(|kind| !usual.contains(kind));
            let kinds = usual.into_iter().chain(others);
            kinds.into_iter().find(|kind| there(kind, text)).map(|kind| (kind.to_owned(), text.to_owned()))
        }
    };
    found.ok_or_else(|| {
        let failure = Failure::usage("metric_not_found", format!("no seed has the metric {text:?}"));
        let known = known_metrics(groups);
        if known.is_empty() { failure } else { failure.hint(format!("available: {}", known.join(", "))) }
    })
}

/// Every metric of the first seed that has any, read again without a filter.
fn known_metrics(groups: &[ComparedGroup<'_>]) -> Vec<String> {
    let members = groups.iter().flat_map(|group| &group.members);
    let read = members.filter(|member| member.seed.metrics.records > 0).take(1);
    read.filter_map(|member| member.seed.folder.columns(&|_, _| true).ok())
        .flat_map(|columns| columns.series)
        .flat_map(|(kind, names)| names.into_keys().map(move |name| format!("{kind}/{name}")))
        .collect()
}

/// The scores of all groups' members, in their order.
pub(super) fn scores(
    score: &Score,
    request: &CompareRequest,
    groups: &[ComparedGroup<'_>],
) -> Outcome<Vec<Vec<SeedScore>>> {
    if score.source == Source::Afterwards {
        return super::score_files::scores(score.kind, groups);
    }
    let of = |member: &Member<'_>| during_training(score, request.lower, member);
    Ok(groups.iter().map(|group| group.members.iter().map(of).collect()).collect())
}

/// The score that is compared by default, and that of each member: for other views of the same numbers.
pub(crate) fn last_evaluations(members: &[Member<'_>]) -> Outcome<(Score, Vec<SeedScore>)> {
    let request = CompareRequest::default();
    let score = decide(&request, &[])?;
    let scores = members.iter().map(|member| during_training(&score, request.lower, member)).collect();
    Ok((score, scores))
}

fn during_training(score: &Score, lower: bool, member: &Member<'_>) -> SeedScore {
    match lost(member) {
        Some(why) => SeedScore { value: f64::NAN, why: Some(why), missing: false },
        None => from_metrics(score, lower, member),
    }
}

/// Why a member has no score regardless of what it logged.
pub(super) fn lost(member: &Member<'_>) -> Option<String> {
    let failed = member.seed.state == SeedState::Failed;
    failed.then(|| member.seed.reason().unwrap_or("its run ended before it was done").to_owned())
}

fn from_metrics(score: &Score, lower: bool, member: &Member<'_>) -> SeedScore {
    let (kind, name) = (&score.place.0, &score.place.1);
    let Some(series) = member.seed.series(kind, name) else {
        return SeedScore {
            value: f64::NAN,
            why: Some(format!("it has no {}", score.metric)),
            missing: true,
        };
    };
    let value = match score.kind {
        ScoreKind::Best => best(series, lower),
        ScoreKind::Area => area(series),
        _ if score.source == Source::Evaluation => series.last().map_or(f64::NAN, |(_, value)| value),
        _ => last_tenth(series),
    };
    let why = (!value.is_finite()).then(|| format!("its {} is NaN or infinite", score.metric));
    SeedScore { value: if value.is_finite() { value } else { f64::NAN }, why, missing: false }
}

fn best(series: &Series, lower: bool) -> f64 {
    let finite = series.values.iter().copied().filter(|value| value.is_finite());
    finite.reduce(if lower { f64::min } else { f64::max }).unwrap_or(f64::NAN)
}

/// The mean over the steps, with linear interpolation.
fn area(series: &Series) -> f64 {
    let points: Vec<(u64, f64)> = series.points().filter(|(_, value)| value.is_finite()).collect();
    let span: f64 = points.windows(2).map(width).sum();
    if span > 0.0 {
        points.windows(2).map(|pair| width(pair) * (pair[0].1 / 2.0 + pair[1].1 / 2.0)).sum::<f64>() / span
    } else {
        points.last().map_or(f64::NAN, |(_, value)| *value)
    }
}

fn width(pair: &[(u64, f64)]) -> f64 {
    pair[1].0.saturating_sub(pair[0].0) as f64
}

/// The mean of the last tenth of the points; NaN if they contain NaN.
fn last_tenth(series: &Series) -> f64 {
    if series.last().is_none_or(|(_, value)| !value.is_finite()) {
        return f64::NAN;
    }
    let tenth = series.len().div_ceil(10);
    let finite: Vec<f64> =
        series.values[series.len() - tenth..].iter().copied().filter(|value| value.is_finite()).collect();
    rlxp_analyze::aggregate::mean(&finite)
}

/// Caveats about these scores, one sentence each.
pub(super) fn warnings(
    score: &Score,
    groups: &[ComparedGroup<'_>],
    scored: &[Vec<SeedScore>],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if score.kind == ScoreKind::Best {
        warnings.push(inflation(score, groups));
    }
    if score.kind == ScoreKind::EvalBest {
        warnings.push(
            "the best checkpoint was chosen by its evaluations in training; this score is from other episodes"
                .to_owned(),
        );
    }
    for (group, scores) in groups.iter().zip(scored) {
        for (member, score) in group.members.iter().zip(scores) {
            let counted = member.seed.state == SeedState::Finished && !score.missing;
            let (Some(why), true) = (&score.why, counted) else { continue };
            warnings.push(format!(
                "{}: seed {} of {} counts as failed: {why}",
                group.id, member.seed.seed, member.run.name
            ));
        }
        if group.runs.iter().any(|run| run.metadata.extra.contains_key(crate::training::recorded::STOP_AT)) {
            warnings.push(format!(
                "{} has runs that stopped early at a good evaluation (--stop-at), which biases their last score upwards",
                group.id
            ));
        }
    }
    warnings
}

/// How much choosing the best of many noisy evaluations adds to a score.
fn inflation(score: &Score, groups: &[ComparedGroup<'_>]) -> String {
    let general = "the best of many evaluations is partly luck";
    let mut errors = Vec::new();
    let mut counts = Vec::new();
    for member in groups.iter().flat_map(|group| &group.members) {
        let Some(series) = member.seed.series(&score.place.0, &score.place.1) else { continue };
        counts.push(series.len());
        let (Some(deviations), Some(episodes)) =
            (member.seed.series("eval", "deviation"), member.seed.series("eval", "episodes"))
        else {
            continue;
        };
        let pairs = deviations.values.iter().zip(&episodes.values);
        errors.extend(
            pairs
                .map(|(deviation, count)| deviation / count.max(1.0).sqrt())
                .filter(|error| error.is_finite()),
        );
    }
    let most = counts.into_iter().max().unwrap_or(0);
    if errors.is_empty() || score.source != Source::Evaluation || score.place.1 != MEAN_RETURN {
        return format!("{general}: it is the best of {most} values");
    }
    let error = rlxp_analyze::aggregate::median(&errors);
    let gain = expected_maximum(u32::try_from(most).unwrap_or(u32::MAX)) * error;
    format!(
        "{general}: choosing among {most} adds up to about {gain:.3} to a score, so a smaller difference means little; \
         `--score last` is not chosen"
    )
}

/// The checkpoint that a kind of score measures.
pub(super) fn checkpoint_of(kind: ScoreKind) -> Which {
    if kind == ScoreKind::EvalBest { Which::Best } else { Which::Latest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::run_data::testing::series;

    #[test]
    fn curves_become_one_number() {
        let curve = series(&[(0, 0.0), (10, 10.0), (30, 10.0)]);
        assert_eq!(area(&curve), (50.0 + 200.0) / 30.0);
        assert_eq!((best(&curve, false), best(&curve, true)), (10.0, 0.0));
        assert_eq!(last_tenth(&curve), 10.0);
        let long = series(&(0..100).map(|step| (step, step as f64)).collect::<Vec<_>>());
        assert_eq!(last_tenth(&long), (90..100).sum::<u64>() as f64 / 10.0);
    }

    #[test]
    fn odd_curves_have_no_score_or_the_one_they_have() {
        let nan = f64::NAN;
        assert_eq!(area(&series(&[(5, 3.0)])), 3.0);
        assert_eq!(area(&series(&[(5, 3.0), (5, 4.0)])), 4.0);
        assert!(area(&series(&[(5, nan)])).is_nan() && area(&series(&[])).is_nan());
        assert!(best(&series(&[(5, nan), (6, f64::INFINITY)]), false).is_nan());
        assert!(last_tenth(&series(&[(1, 2.0), (2, nan)])).is_nan());
        assert!(last_tenth(&series(&[])).is_nan());
    }
}
