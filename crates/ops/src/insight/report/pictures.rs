//! The charts of a report.

use rlxp_draw::chart::{LOOKS, ScoreChart, ScoreGroup};
use rlxp_store::MEAN_RETURN;

use crate::insight::compare::{CompareReport, GroupReport};
use crate::insight::plot::{GroupBy, NO_INTERVAL, PlotOptions, figure};
use crate::insight::run_data::Group;

use super::page::Picture;

/// Metrics that get a chart, in order; a run that lacks one has no such chart.
const CHARTS: [(&str, &str); 3] = [("eval", MEAN_RETURN), ("train", MEAN_RETURN), ("train", "entropy")];

/// Learning curves, and one dot per seed for the scores that were judged.
pub(super) fn pictures(
    groups: &[Group],
    by_config: bool,
    comparison: Option<&CompareReport>,
    left_out: &mut Vec<String>,
) -> Vec<Picture> {
    let mut pictures = Vec::new();
    // The labels of the first chart's groups, so that the scores have the same order and colours.
    let mut order: Vec<String> = Vec::new();
    for (kind, name) in CHARTS {
        let metric = format!("{kind}/{name}");
        let options = PlotOptions {
            metric: Some(metric.clone()),
            group_by: if by_config { GroupBy::Config } else { GroupBy::Word },
            width: 960.0,
            height: 460.0,
            ..PlotOptions::default()
        };
        match figure(groups, &options) {
            // The chart itself explains lines and bands.
            Ok(made) => {
                if order.is_empty() {
                    order = made.report.groups.iter().map(|group| group.label.clone()).collect();
                }
                pictures.push(Picture { scene: made.chart.to_scene(), caption: made.report.notes.join(" ") });
            }
            Err(failure) => left_out.push(format!("no chart of {metric}: {}", failure.message)),
        }
    }
    if let Some(report) = comparison {
        pictures.insert(pictures.len().min(1), score_picture(report, &order));
    }
    pictures
}

fn score_picture(report: &CompareReport, order: &[String]) -> Picture {
    let group = |group: &&GroupReport| {
        let scores: Vec<f64> = group.seeds.iter().filter_map(|seed| seed.score).collect();
        let failed = group.seeds.len() - scores.len();
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        ScoreGroup {
            label: group.label.clone(),
            detail: match group.seeds.len() {
                1 => NO_INTERVAL.to_owned(),
                seeds => format!("{seeds} seeds"),
            },
            // A failed seed has no score: its cross is drawn at the lowest one.
            failed: vec![if lowest.is_finite() { lowest } else { 0.0 }; failed],
            scores,
            value: group.iqm,
            interval: None,
        }
    };
    let place =
        |group: &GroupReport| order.iter().position(|label| *label == group.label).unwrap_or(order.len());
    let mut groups: Vec<&GroupReport> = report.groups.iter().collect();
    groups.sort_by_key(|group| place(group));
    let all = groups.len();
    groups.truncate(LOOKS);
    let chart = ScoreChart {
        title: "Score of each seed".to_owned(),
        caption: report.score.what.clone(),
        label: report.score.metric.clone(),
        groups: groups.iter().map(group).collect(),
        references: Vec::new(),
        notes: Vec::new(),
        width: 960.0,
        height: 0.0,
    };
    let mut caption =
        "One dot per seed; the mark is the interquartile mean; a cross is a seed that failed.".to_owned();
    if all > LOOKS {
        caption.push_str(&format!(" The best {LOOKS} of {all} groups."));
    }
    Picture { scene: chart.to_scene(), caption }
}

/// Whether a chart shows a series.
pub(super) fn is_drawn(kind: &str, name: &str) -> bool {
    CHARTS.contains(&(kind, name))
}
