//! `rlx plot`: learning curves of runs and groups of runs, with seed bands.
//!
//! [`figure`] makes a chart and its numbers from loaded runs; [`plot`] loads them, draws, and writes a file.
//! `rlxp_analyze::curves` computes the line and the band, `rlxp_draw::chart` decides how it looks.
//!
//! Each word is one group. If that makes more groups than are distinguishable, runs with the same config are grouped,
//! whatever words named them. The best group comes first. A run that extends another one is drawn with it as one curve.

mod chart;
mod groups;
mod metric;
mod notes;
pub(crate) mod output;
mod x_unit;

use std::collections::BTreeSet;
use std::path::PathBuf;

use rlxp_analyze::curves::{Band, CurvePoint};
use rlxp_draw::chart::LineChart;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{FailureKind, Outcome};
use crate::insight::group_order::{BestOf, check_best};
use crate::insight::run_data::counting::{count_once, counted_once};
use crate::insight::run_data::joined::{Joined, join};
use crate::insight::run_data::{Group, load, named, named_once};

pub use chart::NO_INTERVAL;
pub use metric::{Metric, wanted};
pub use x_unit::XUnit;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum XAxis {
    /// Environment steps.
    #[default]
    Steps,
    /// Wall time since the seed's first record.
    Time,
    /// Episodes that training has finished.
    Episodes,
    /// Updates of the policy.
    Updates,
}

/// Which runs become one curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// Those that one word names; by config when there are too many words.
    #[default]
    Word,
    /// Those with the same config, apart from seeds, threads and name.
    Config,
    /// None: each run is a curve.
    None,
}

/// What is drawn, and how.
#[derive(Clone, Debug)]
pub struct PlotOptions {
    /// `kind/name` or a name; by default the return of evaluations, or of training.
    pub metric: Option<String>,
    pub x: XAxis,
    /// Points that each point of a seed is the mean of; 1 for none.
    pub smooth: usize,
    /// Which runs become one curve.
    pub group_by: GroupBy,
    /// Keep only this many groups, the best.
    pub best: Option<usize>,
    /// The title, instead of one that says metric and environment.
    pub title: Option<String>,
    pub log_y: bool,
    /// Values to hold the curves against, with their names.
    pub baselines: Vec<(String, f64)>,
    /// Width of the picture.
    pub width: f32,
    /// Height of the picture.
    pub height: f32,
}

impl Default for PlotOptions {
    fn default() -> Self {
        Self {
            metric: None,
            x: XAxis::Steps,
            smooth: 1,
            group_by: GroupBy::Word,
            best: None,
            title: None,
            log_y: false,
            baselines: Vec::new(),
            width: 800.0,
            height: 500.0,
        }
    }
}

/// Where the picture goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The run's `plots/`, or the project's `analysis/` for several runs.
    #[default]
    Usual,
    /// This file; its ending says SVG or PNG.
    File(PathBuf),
    Nowhere,
}

#[derive(Clone, Debug, Default)]
pub struct PlotRequest {
    /// Words that name runs and groups, as [`crate::insight::run_data`] reads them.
    pub runs: Vec<String>,
    /// What is drawn.
    pub options: PlotOptions,
    pub target: Target,
    /// Pixels of a PNG for each unit of width and height; 0 for 2.
    pub scale: f32,
    /// Draw extended runs without the runs that they extend.
    pub no_join: bool,
    /// Show the file with the desktop's viewer.
    pub open: bool,
}

/// One curve.
#[derive(Clone, Debug, Serialize)]
pub struct PlotGroup {
    /// What differs from the other groups, or what named it; no two groups have the same.
    pub label: String,
    /// The other way to name it: what was typed, or the config keys in which it differs.
    pub also: Option<String>,
    pub runs: Vec<String>,
    /// Seeds with data.
    pub seeds: usize,
    pub failed: usize,
    pub band: Band,
    /// The curve: interquartile mean and band over x.
    pub points: Vec<CurvePoint>,
}

/// What was drawn.
#[derive(Clone, Debug, Serialize)]
pub struct PlotReport {
    pub title: String,
    pub metric: Metric,
    pub x: XAxis,
    pub x_label: String,
    /// The unit that points are in.
    pub x_unit: &'static str,
    pub y_label: String,
    /// Points that each point of a seed is the mean of.
    pub smooth: usize,
    /// What line, band and thin lines mean.
    pub meaning: String,
    /// The curves, best first by last evaluation.
    pub groups: Vec<PlotGroup>,
    /// How many groups `--best` left out; null if none.
    pub best_of: Option<BestOf>,
    /// What a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// The file that was written.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub written: Option<PathBuf>,
    /// Why the file's usual place could not be written.
    pub not_written: Option<String>,
}

/// A chart with its numbers.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The chart, to be turned into a scene.
    pub chart: LineChart,
    pub report: PlotReport,
}

/// Draws the curves of `request` and writes them to a file.
pub fn plot(context: &Context, request: &PlotRequest) -> Outcome<PlotReport> {
    output::check(request)?;
    check_best(request.options.best)?;
    let wanted = wanted(request.options.metric.as_deref());
    let mut groups = load(context, &request.runs, &wanted)?;
    let notes = one_curve_each(context, &mut groups, request, &wanted)?;
    let figure = match figure_with(&groups, &request.options, notes) {
        Err(failure) if failure.is(FailureKind::MetricUnknown) => {
            return Err(metric::unknown(context, &request.runs, request.options.metric.as_deref())?);
        }
        made => made?,
    };
    let mut report = figure.report;
    output::write(context, request, &groups, &figure.chart, &mut report)?;
    if request.open
        && let Some(path) = &report.written
    {
        crate::show::show(path)?;
    }
    Ok(report)
}

/// Leaves every training in its curve once, with the steps of the runs that it continues; returns a sentence for each
/// thing done.
fn one_curve_each(
    context: &Context,
    groups: &mut Vec<Group>,
    request: &PlotRequest,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<Vec<String>> {
    let mut notes: Vec<String> = named_once(groups, 1).into_iter().collect();
    notes.extend(in_several_curves(groups).filter(|_| request.options.group_by == GroupBy::Word));
    if !request.no_join {
        join(context, groups, wanted)?;
    }
    // By config, and run by run, what was extended has a curve of its own.
    if request.options.group_by == GroupBy::Word {
        groups.iter_mut().for_each(count_once);
        notes.extend(groups.iter().filter_map(|group| counted_once(&group.continued)));
    }
    if !request.no_join {
        let Joined { included, late } = Joined::of(groups);
        notes.extend(included.into_iter().map(|note| format!("{note} (--no-join leaves them out)")));
        notes.extend(late);
    }
    Ok(notes.into_iter().map(|note| format!("{note}.")).collect())
}

/// The runs that several groups have: their curves are not independent of each other.
fn in_several_curves(groups: &[Group]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut shared: Vec<String> = Vec::new();
    for run in groups.iter().flat_map(|group| &group.runs) {
        if !seen.insert(run.run.path().to_owned()) && !shared.contains(&run.name) {
            shared.push(run.name.clone());
        }
    }
    let are = if shared.len() == 1 { "is" } else { "are" };
    (!shared.is_empty()).then(|| format!("{} {are} part of more than one curve", named(&shared)))
}

/// The chart of runs that were loaded with at least the metrics that
/// [`wanted`] names.
pub fn figure(groups: &[Group], options: &PlotOptions) -> Outcome<Figure> {
    figure_with(groups, options, Vec::new())
}

/// The chart with notes about what was done to the runs before.
fn figure_with(groups: &[Group], options: &PlotOptions, mut notes: Vec<String>) -> Outcome<Figure> {
    let mut plotted = groups::plotted(groups, options);
    notes.append(&mut plotted.notes);
    plotted.notes = notes;
    let metric = metric::choose(&plotted.groups, options.metric.as_deref())?;
    chart::draw(plotted, metric, options)
}
