//! Which metric is drawn, and the error if there is no such metric.

use std::collections::BTreeSet;

use rlxp_store::MEAN_RETURN;
use rlxp_types::text::shell_word;
use serde::Serialize;

use super::groups::PlottedGroup;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::insight::group_order::is_ranked_by;
use crate::insight::run_data::{load, named};

/// Training metrics that the x axis may count by, and that show when a seed began.
const COUNTERS: [&str; 3] = ["episodes", "policy_loss", "learning_rate"];

/// Which of several kinds a bare name means: evaluations come before training.
const ORDER: [&str; 3] = ["eval", "train", "timing"];

/// One series of a run's metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Kind of its records, such as `eval`.
    pub kind: String,
    /// Its name, such as `mean_return`.
    pub name: String,
}

impl Metric {
    /// Whether it is a return, which can be compared with a reward threshold.
    pub fn is_return(&self) -> bool {
        self.name == MEAN_RETURN && matches!(self.kind.as_str(), "eval" | "train")
    }

    pub(super) fn title(&self) -> String {
        match (self.kind.as_str(), self.is_return()) {
            ("eval", true) => "Evaluation return".to_owned(),
            (_, true) => "Training return".to_owned(),
            ("eval", false) => format!("{} of evaluations", self.name),
            ("train", false) => format!("{} in training", self.name),
            (kind, false) => format!("{} ({kind})", self.name),
        }
    }

    /// Its axis label.
    pub(super) fn label(&self) -> String {
        if self.is_return() { "mean return".to_owned() } else { self.name.clone() }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// Whether drawing `metric` (as the user wrote it), and putting the best group first, needs a series.
pub fn wanted(metric: Option<&str>) -> impl Fn(&str, &str) -> bool + Sync {
    let written = metric.unwrap_or(MEAN_RETURN).to_owned();
    move |kind, name| {
        let exact = written.split_once('/').is_some_and(|(k, n)| (k, n) == (kind, name));
        exact || name == written || (kind == "train" && COUNTERS.contains(&name)) || is_ranked_by(kind, name)
    }
}

/// The metric that `written` means for these runs.
pub(super) fn choose(groups: &[PlottedGroup<'_>], written: Option<&str>) -> Outcome<Metric> {
    let name = written.unwrap_or(MEAN_RETURN);
    let mut candidates: Vec<Metric> = Vec::new();
    if let Some((kind, name)) = name.split_once('/') {
        candidates.push(Metric { kind: kind.to_owned(), name: name.to_owned() });
    }
    let kinds = groups.iter().flat_map(|group| &group.seeds).flat_map(|(_, seed)| seed.metrics.series.keys());
    let others: BTreeSet<&String> = kinds.filter(|kind| !ORDER.contains(&kind.as_str())).collect();
    let kinds = ORDER.iter().map(|kind| (*kind).to_owned()).chain(others.into_iter().cloned());
    candidates.extend(kinds.map(|kind| Metric { kind, name: name.to_owned() }));
    let has = |group: &PlottedGroup<'_>, metric: &Metric| {
        group.seeds.iter().any(|(_, seed)| seed.series(&metric.kind, &metric.name).is_some())
    };
    // One that every group has, before one that only some have.
    let everywhere = candidates.iter().find(|metric| groups.iter().all(|group| has(group, metric)));
    let somewhere = || candidates.iter().find(|metric| groups.iter().any(|group| has(group, metric)));
    everywhere.or_else(somewhere).cloned().ok_or_else(|| {
        Failure::with_kind(FailureKind::MetricUnknown, format!("no run has the metric {name}"))
    })
}

/// Why there is nothing to draw: no records at all, or none of this metric.
pub(super) fn unknown(context: &Context, words: &[String], written: Option<&str>) -> Outcome<Failure> {
    let groups = load(context, words, &|_, _| true)?;
    let runs: BTreeSet<&str> =
        groups.iter().flat_map(|group| &group.runs).map(|run| run.name.as_str()).collect();
    let named = named(&runs.iter().map(|run| (*run).to_owned()).collect::<Vec<_>>());
    let first = runs.first().copied().unwrap_or("@last");
    let seeds = || groups.iter().flat_map(crate::insight::run_data::Group::seeds).map(|(_, seed)| seed);
    let known: BTreeSet<String> = seeds()
        .flat_map(|seed| &seed.metrics.series)
        .flat_map(|(kind, series)| series.keys().map(move |name| format!("{kind}/{name}")))
        .collect();
    let have = if runs.len() == 1 { "has" } else { "have" };
    if known.is_empty() {
        let records: u64 = seeds().map(|seed| seed.metrics.records).sum();
        let why = if records == 0 { "metrics.jsonl is empty" } else { "no record has a number" };
        let message = format!("{named} {have} nothing to plot: {why}");
        return Ok(Failure::usage("no_metrics", message).hint(format!("rlx info {}", shell_word(first))));
    }
    let name = written.unwrap_or(MEAN_RETURN);
    let list = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let failure = Failure::with_kind(
        FailureKind::MetricUnknown,
        format!("{named} {have} no metric {name}; available: {list}"),
    );
    // A bare name is compared with bare names.
    let candidates = known.iter().flat_map(|full| {
        let bare = full.split_once('/').map_or(full.as_str(), |(_, bare)| bare);
        [full.as_str(), bare]
    });
    let near = rlxp_spec::nearest(name, candidates).or_else(|| known.first().map(String::as_str));
    let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    let command = |near: &str| format!("rlx plot {} --metric {}", words.join(" "), shell_word(near));
    Ok(near.into_iter().fold(failure, |failure, near| failure.hint(command(near))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_wanted_by_its_full_name_or_by_its_own() {
        let check = |written: Option<&str>, kind: &str, name: &str, expect: bool| {
            assert_eq!(wanted(written)(kind, name), expect, "{written:?} {kind} {name}");
        };
        check(None, "eval", "mean_return", true);
        check(None, "train", "entropy", false);
        check(Some("entropy"), "train", "entropy", true);
        check(Some("eval/mean_return"), "eval", "mean_return", true);
        check(Some("eval/mean_return"), "train", "deviation", false);
        check(Some("entropy"), "eval", "mean_return", true);
        check(Some("reward/forward"), "train", "reward/forward", true);
        check(Some("entropy"), "train", "episodes", true);
    }

    #[test]
    fn titles_say_what_is_shown() {
        let title = |kind: &str, name: &str| Metric { kind: kind.to_owned(), name: name.to_owned() }.title();
        assert_eq!(title("eval", "mean_return"), "Evaluation return");
        assert_eq!(title("train", "mean_return"), "Training return");
        assert_eq!(title("train", "entropy"), "entropy in training");
        assert_eq!(title("timing", "steps_per_second"), "steps_per_second (timing)");
    }
}
