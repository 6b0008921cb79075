//! What a reader of the picture must know: everything that is missing, was
//! left out, or ends early, a sentence each.

use std::collections::BTreeSet;

use rlxp_analyze::curves::{BOOTSTRAP_SEEDS, Band, GroupCurve};
use rlxp_draw::chart::short_number;

use super::chart::Drawn;
use super::groups::PlottedGroup;
use super::metric::Metric;
use super::x_unit::{self, XUnit};
use super::{PlotOptions, XAxis};
use crate::insight::run_data::named;

pub(super) fn of_runs(groups: &[PlottedGroup<'_>], x: XAxis) -> Vec<String> {
    let mut notes = Vec::new();
    let mut seen = BTreeSet::new();
    let runs = || groups.iter().flat_map(|group| &group.runs);
    for run in runs().filter(|run| seen.insert(run.run.path().to_owned())) {
        notes.extend(run.notes.iter().map(|note| format!("{}: {note}.", run.name)));
    }
    let environments: BTreeSet<&str> = runs().map(|run| run.config.env.id.as_str()).collect();
    if environments.len() > 1 {
        let names: Vec<String> = environments.iter().map(|id| (*id).to_owned()).collect();
        notes.push(format!("The runs use different environments: {}.", named(&names)));
    }
    let resumed: BTreeSet<String> = runs()
        .filter(|run| x == XAxis::Time && x_unit::was_resumed(run))
        .map(|run| run.name.clone())
        .collect();
    if !resumed.is_empty() {
        let names: Vec<String> = resumed.into_iter().collect();
        notes.push(format!("Wall-clock time includes the pauses of resumed runs: {}.", named(&names)));
    }
    notes
}

pub(super) fn of_curve(
    one: &Drawn<'_>,
    curve: &GroupCurve,
    metric: &Metric,
    unit: &XUnit,
    options: &PlotOptions,
) -> Vec<String> {
    let mut notes = Vec::new();
    let label = &one.group.label;
    if !one.without.is_empty() {
        let what = if options.x == XAxis::Steps || one.lacks_metric(metric) {
            format!("no {metric}")
        } else {
            format!("nothing to count {} by", unit.unit)
        };
        let whose = match one.without.len() == one.group.seeds.len() {
            true if one.group.seeds.len() == 1 => "it has".to_owned(),
            true => "no seed can be plotted; they have".to_owned(),
            false => seeds_have(&one.without),
        };
        notes.push(format!("{label}: {whose} {what}."));
    }
    if curve.not_finite > 0 {
        let (values, are) = if curve.not_finite == 1 { ("value", "is") } else { ("values", "are") };
        notes.push(format!("{label}: {} {values} {are} NaN or infinite and left as gaps.", curve.not_finite));
    }
    if options.log_y {
        let below = curve.curves.iter().flatten().filter(|(_, value)| *value <= 0.0).count();
        if below > 0 {
            notes.push(format!(
                "{label}: {below} values at or below zero can't be shown on a logarithmic axis."
            ));
        }
    }
    notes.extend(of_failures(one, curve, unit));
    notes.extend(of_the_end(one, curve, unit));
    if let Some(all) = curve.thinned_from {
        notes.push(format!("{label}: the line is drawn at {} of {all} points.", curve.points.len()));
    }
    notes
}

fn of_failures(one: &Drawn<'_>, curve: &GroupCurve, unit: &XUnit) -> Vec<String> {
    let label = &one.group.label;
    let pairs = one.curves.iter().zip(&curve.curves).filter(|(seed, _)| seed.failed);
    let ends: Vec<f64> = pairs.filter_map(|(_, points)| points.last().map(|(x, _)| *x)).collect();
    let mut notes = Vec::new();
    let at = |x: f64| format!("{} {}", short_number(x), unit.unit);
    match (ends.as_slice(), curve.seeds) {
        ([], _) => {}
        ([end], 1) => notes.push(format!("{label}: it failed at {} (×).", at(*end))),
        ([end], _) => notes.push(format!(
            "{label}: one seed failed at {} (×); from there on the line is over the others.",
            at(*end)
        )),
        (several, _) => notes.push(format!(
            "{label}: {} seeds failed (×), the first at {}; each counts until it failed.",
            several.len(),
            at(several.iter().copied().fold(f64::INFINITY, f64::min))
        )),
    }
    let few = |seeds: usize| seeds > 0 && seeds < BOOTSTRAP_SEEDS;
    if curve.band == Band::Bootstrap && curve.points.iter().any(|point| few(point.seeds)) {
        notes.push(format!("{label}: no band where fewer than {BOOTSTRAP_SEEDS} seeds remain."));
    }
    notes
}

/// Where the line ends before its seeds do.
fn of_the_end(one: &Drawn<'_>, curve: &GroupCurve, unit: &XUnit) -> Option<String> {
    let label = &one.group.label;
    let last = |points: &[(f64, f64)]| points.iter().rev().find(|(_, y)| y.is_finite()).map(|(x, _)| *x);
    let reached = curve.curves.iter().filter_map(|points| last(points)).fold(f64::NEG_INFINITY, f64::max);
    let Some(end) = curve.points.last().map(|point| point.x) else {
        let several = "its seeds share no points, so there is no line";
        return (curve.seeds > 0).then(|| format!("{label}: {several}."));
    };
    // Seeds never take quite the same time or number of episodes.
    let slack = if matches!(unit.axis, XAxis::Steps | XAxis::Updates) { 0.0 } else { 0.02 * reached };
    (end + slack < reached).then(|| {
        format!(
            "{label}: the line ends at {} {}, with its shortest seed; the longest ends at {}.",
            short_number(end),
            unit.unit,
            short_number(reached)
        )
    })
}

fn seeds_have(seeds: &[u64]) -> String {
    let shown: Vec<String> = seeds.iter().take(5).map(u64::to_string).collect();
    match seeds.len() {
        1 => format!("seed {} has", shown[0]),
        few if few <= 5 => format!("seeds {} have", shown.join(", ")),
        many => format!("seeds {} and {} more have", shown.join(", "), many - 5),
    }
}

impl Drawn<'_> {
    fn lacks_metric(&self, metric: &Metric) -> bool {
        let lacks = |seed: &u64| {
            let of_seed = self.group.seeds.iter().find(|(_, own)| own.seed == *seed);
            of_seed.is_some_and(|(_, own)| own.series(&metric.kind, &metric.name).is_none())
        };
        self.without.iter().any(lacks)
    }
}
