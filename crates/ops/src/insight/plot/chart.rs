//! From seeds to a chart: curves, marks, references, and the sentence that
//! says what line and band are.

use std::collections::BTreeSet;

use rlxp_analyze::curves::{BOOTSTRAP_SEEDS, Band, GroupCurve, Options, SeedCurve, aggregate};
use rlxp_draw::chart::{LineChart, Reference, Scale, SeriesBand, short_number};

use super::groups::{PlottedGroup, PlottedGroups};
use super::metric::Metric;
use super::notes;
use super::x_unit;
use super::{Figure, PlotGroup, PlotOptions, PlotReport, XAxis};
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::SeedState;
use crate::training::envs::reward_threshold;

/// Most seeds that are drawn as thin lines.
const MOST_THIN_LINES: usize = 150;

/// What a legend says instead of a number of seeds.
pub const NO_INTERVAL: &str = "1 seed: no interval";

/// A group with the curves of its seeds.
pub(super) struct Drawn<'m> {
    pub(super) group: PlottedGroup<'m>,
    /// Of the seeds that have the metric, in their order.
    pub(super) curves: Vec<SeedCurve>,
    /// Seeds that lack the metric, or what x is counted by.
    pub(super) without: Vec<u64>,
}

pub(super) fn draw(plotted: PlottedGroups<'_>, metric: Metric, options: &PlotOptions) -> Outcome<Figure> {
    let PlottedGroups { groups: plotted, best_of, notes: mut said } = plotted;
    said.extend(notes::of_runs(&plotted, options.x));
    let environments: BTreeSet<String> =
        plotted.iter().flat_map(|group| &group.runs).map(|run| run.config.env.id.clone()).collect();
    let references = references(&plotted, &metric, options);
    let mut drawn: Vec<Drawn<'_>> =
        plotted.into_iter().map(|group| collect(group, &metric, options.x)).collect();
    let xs = drawn.iter().flat_map(|one| &one.curves).flat_map(|curve| &curve.points).map(|(x, _)| *x);
    let unit = x_unit::unit(options.x, xs.filter(|x| x.is_finite()).fold(0.0, f64::max));
    for point in drawn.iter_mut().flat_map(|one| &mut one.curves).flat_map(|curve| &mut curve.points) {
        point.0 /= unit.divisor;
    }
    let settings = Options { smooth: options.smooth.max(1), ..Options::default() };
    let (mut series, mut groups) = (Vec::new(), Vec::new());
    // Hundreds of thin lines show nothing but their number.
    let with_seeds = drawn.iter().map(|one| one.curves.len()).sum::<usize>() <= MOST_THIN_LINES;
    for one in &drawn {
        let curve = aggregate(&one.curves, &settings);
        said.extend(notes::of_curve(one, &curve, &metric, &unit, options));
        if curve.seeds > 0 {
            let (picture, group) = pictured(one, curve, with_seeds);
            series.push(picture);
            groups.push(group);
        }
    }
    if groups.is_empty() {
        let message = format!("{metric} has no finite values: {}", said.join(" "));
        return Err(Failure::usage("nothing_to_draw", message).hint("rlx ls"));
    }
    if options.log_y && !series.iter().any(|one| one.line.iter().any(|(_, y)| *y > 0.0)) {
        let message = format!("no value of {metric} is above zero, so a logarithmic axis can't show it");
        return Err(Failure::usage("not_logarithmic", message).hint("drop --log-y"));
    }
    let title = options.title.clone().unwrap_or_else(|| title(&metric, &environments));
    let meaning = meaning(&groups, options.smooth, with_seeds);
    let chart = LineChart {
        title: title.clone(),
        caption: meaning.clone(),
        x_label: unit.label.clone(),
        y_label: metric.label(),
        y_scale: if options.log_y { Scale::Logarithmic } else { Scale::Linear },
        series,
        references,
        notes: said.clone(),
        width: options.width,
        height: options.height,
    };
    let report = PlotReport {
        title,
        y_label: metric.label(),
        metric,
        x: options.x,
        x_label: unit.label,
        x_unit: unit.unit,
        smooth: options.smooth.max(1),
        meaning,
        groups,
        best_of,
        notes: said,
        written: None,
        not_written: None,
    };
    Ok(Figure { chart, report })
}

fn collect<'m>(group: PlottedGroup<'m>, metric: &Metric, x: XAxis) -> Drawn<'m> {
    let (mut curves, mut without) = (Vec::new(), Vec::new());
    for (_, seed) in &group.seeds {
        let series = seed.series(&metric.kind, &metric.name);
        match series.and_then(|series| x_unit::points(x, seed, series)) {
            Some(points) => curves.push(SeedCurve { points, failed: seed.state == SeedState::Failed }),
            None => without.push(seed.seed),
        }
    }
    Drawn { group, curves, without }
}

/// A curve for the picture and for the report.
fn pictured(one: &Drawn<'_>, curve: GroupCurve, with_seeds: bool) -> (SeriesBand, PlotGroup) {
    let last = |points: &[(f64, f64)]| points.iter().rev().copied().find(|(_, value)| value.is_finite());
    let ended = one.curves.iter().zip(&curve.curves).filter(|(seed, _)| seed.failed);
    let crosses: Vec<(f64, f64)> = ended.filter_map(|(_, points)| last(points)).collect();
    let detail = match (curve.seeds, crosses.len()) {
        (1, 0) => NO_INTERVAL.to_owned(),
        (seeds, 0) => format!("n = {seeds}"),
        (seeds, failed) => format!("n = {seeds}, {failed} failed"),
    };
    let group = PlotGroup {
        label: one.group.label.clone(),
        also: one.group.also.clone(),
        runs: one.group.runs.iter().map(|run| run.name.clone()).collect(),
        seeds: curve.seeds,
        failed: crosses.len(),
        band: curve.band,
        points: curve.points,
    };
    let points = &group.points;
    let band = points.iter().map(|p| (p.x, p.low.unwrap_or(f64::NAN), p.high.unwrap_or(f64::NAN)));
    let series = SeriesBand {
        label: one.group.short.clone(),
        also: group.also.clone().unwrap_or_default(),
        detail,
        line: points.iter().map(|point| (point.x, point.value.unwrap_or(f64::NAN))).collect(),
        band: if curve.band == Band::None { Vec::new() } else { band.collect() },
        // One seed is its own line.
        faint: if curve.seeds > 1 && with_seeds { curve.curves } else { Vec::new() },
        crosses,
    };
    (series, group)
}

fn title(metric: &Metric, environments: &BTreeSet<String>) -> String {
    let names: Vec<&str> = environments.iter().map(String::as_str).collect();
    let place = if names.len() <= 3 { names.join(", ") } else { format!("{} environments", names.len()) };
    format!("{}, {place}", metric.title())
}

/// What line, band and thin lines are.
fn meaning(groups: &[PlotGroup], smooth: usize, with_seeds: bool) -> String {
    let kinds = |band: Band| groups.iter().any(|group| group.band == band);
    let interval = "95% bootstrap interval of the IQM, descriptive";
    let range = "lowest to highest seed";
    let shown = match (kinds(Band::Bootstrap), kinds(Band::Range)) {
        (true, false) => format!("Band: {interval}. "),
        (false, true) => format!("Band: {range} (an interval needs {BOOTSTRAP_SEEDS} seeds). "),
        (true, true) => {
            format!("Band: {interval}; {range} where a group has fewer than {BOOTSTRAP_SEEDS} seeds. ")
        }
        (false, false) => "One seed: seed-to-seed variation is unknown. ".to_owned(),
    };
    let line = match (kinds(Band::Bootstrap) || kinds(Band::Range), with_seeds) {
        (true, true) => "Line: interquartile mean (IQM) over seeds; thin: single seeds. ",
        (true, false) => "Line: interquartile mean (IQM) over seeds. ",
        (false, _) => "",
    };
    let smoothed = match smooth {
        0 | 1 => "Not smoothed.".to_owned(),
        points => format!("Smoothed over {points} points per seed before aggregating."),
    };
    format!("{line}{shown}{smoothed}")
}

/// The values that the user named, and the return that counts as solved where
/// all runs share an environment as the catalogue has it.
fn references(plotted: &[PlottedGroup<'_>], metric: &Metric, options: &PlotOptions) -> Vec<Reference> {
    let named = options.baselines.iter().map(|(name, value)| Reference {
        value: *value,
        label: format!("{name}: {}", short_number(*value)),
        pinned: true,
    });
    let mut references: Vec<Reference> = named.collect();
    let mut runs = plotted.iter().flat_map(|group| &group.runs);
    let shared =
        runs.clone().next().map(|run| &run.config.env).filter(|first| {
            runs.all(|run| run.config.env.id == first.id && run.config.env.wrappers.is_empty())
        });
    let threshold = shared.filter(|_| metric.is_return()).and_then(reward_threshold);
    references.extend(threshold.map(|value| Reference {
        value,
        label: format!("solved at {}", short_number(value)),
        pinned: false,
    }));
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(band: Band) -> PlotGroup {
        let (label, also, runs, points) = (String::new(), None, Vec::new(), Vec::new());
        PlotGroup { label, also, runs, seeds: 1, failed: 0, band, points }
    }

    #[test]
    fn the_meaning_of_the_band_is_said() {
        let said = |bands: &[Band], smooth| {
            meaning(&bands.iter().map(|band| group(*band)).collect::<Vec<_>>(), smooth, true)
        };
        assert!(said(&[Band::Bootstrap], 1).contains("95% bootstrap interval of the IQM, descriptive"));
        assert!(said(&[Band::Range], 1).contains("lowest to highest seed"));
        assert!(!said(&[Band::Range], 1).contains("95%"));
        let both = said(&[Band::Range, Band::Bootstrap, Band::None], 5);
        assert!(both.contains("95%") && both.contains("fewer than 5 seeds"), "{both}");
        assert!(both.ends_with("Smoothed over 5 points per seed before aggregating."));
        assert!(said(&[Band::None], 1).starts_with("One seed"));
    }

    #[test]
    fn titles_name_up_to_three_environments() {
        let metric = Metric { kind: "eval".to_owned(), name: "mean_return".to_owned() };
        let of = |ids: &[&str]| title(&metric, &ids.iter().map(|id| (*id).to_owned()).collect());
        assert_eq!(of(&["CartPole-v1"]), "Evaluation return, CartPole-v1");
        assert_eq!(of(&["A", "B", "C", "D"]), "Evaluation return, 4 environments");
    }
}
