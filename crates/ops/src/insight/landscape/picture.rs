//! The report as a picture.

use rlxp_draw::Scene;
use rlxp_draw::chart::{
    HeatCell, HeatMap, ParallelChart, ParallelLine, ScoreDot, SettingAxis, SettingChart, SettingMean,
    SettingPanel, Spacing,
};

use super::keys::{KeyAxis, KeyScale, KeyValue, edge_text};
use super::{Cell, Combination, Drawn, LandscapeReport, LandscapeRequest, Panel, ScoredSeed, Summary};

/// The name of the scores beside their axis.
const SCORE: &str = "mean return";

pub(super) fn scene(report: &LandscapeReport, request: &LandscapeRequest) -> Scene {
    let (title, caption, label) = (report.title.clone(), report.meaning.clone(), SCORE.to_owned());
    let (notes, width, height) = (report.notes.clone(), request.width, request.height.unwrap_or(0.0));
    match &report.drawn {
        Drawn::Against { panels } => {
            let panels =
                panels.iter().zip(&report.keys).map(|(panel, axis)| pictured(panel, axis, &report.seeds));
            let panels = panels.collect();
            SettingChart { title, caption, label, panels, notes, width, height }.to_scene()
        }
        Drawn::Heatmap { cells } => {
            let (x, y) = (side_by_side(&report.keys[0]), side_by_side(&report.keys[1]));
            let cells = heat_cells(cells, x.values.len());
            HeatMap { title, caption, label, x, y, cells, notes, width, height }.to_scene()
        }
        Drawn::Parallel { combinations } => {
            let axes = report.keys.iter().map(setting_axis).collect();
            let lines = combinations.iter().filter_map(|one| line(one, &report.keys)).collect();
            ParallelChart { title, caption, label, axes, lines, notes, width, height }.to_scene()
        }
    }
}

fn setting_axis(axis: &KeyAxis) -> SettingAxis {
    let spacing = match axis.scale {
        KeyScale::Linear => Spacing::Linear,
        KeyScale::Logarithmic => Spacing::Logarithmic,
        KeyScale::Categories => Spacing::Even,
    };
    let place = |(index, value): (usize, &KeyValue)| match axis.scale {
        KeyScale::Categories => index as f64,
        _ => value.number.unwrap_or(f64::NAN),
    };
    let values = axis.values.iter().enumerate();
    let values: Vec<(f64, String)> =
        values.map(|(index, value)| (place((index, value)), value.value.clone())).collect();
    let ends = axis
        .values
        .iter()
        .filter_map(|value| value.range.or_else(|| value.number.map(|number| (number, number))));
    let range = ends
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (from, to)| (low.min(from), high.max(to)));
    SettingAxis { label: axis.key.clone(), spacing, values, range, edges: edges(axis) }
}

/// The axis with its values side by side, whatever they are.
fn side_by_side(axis: &KeyAxis) -> SettingAxis {
    let values = axis.values.iter().enumerate().map(|(index, value)| (index as f64, value.value.clone()));
    let (label, values) = (axis.key.clone(), values.collect());
    SettingAxis { label, spacing: Spacing::Even, values, range: (0.0, 0.0), edges: edges(axis) }
}

/// The ends of ranges, where there are ranges.
fn edges(axis: &KeyAxis) -> Vec<(f64, String)> {
    let ranges = || axis.values.iter().filter_map(|value| value.range);
    let ends = ranges().take(1).map(|(from, _)| from).chain(ranges().map(|(_, to)| to));
    ends.map(|end| (end, edge_text(end))).collect()
}

fn pictured(panel: &Panel, axis: &KeyAxis, seeds: &[ScoredSeed]) -> SettingPanel {
    let drawn = setting_axis(axis);
    let dots = seeds.iter().map(|seed| ScoreDot {
        place: axis.place(&seed.settings[&axis.key]),
        score: seed.score,
        failed: seed.failed,
    });
    let means = panel.values.iter().zip(&drawn.values).filter_map(|(value, (place, _))| {
        let Summary { seeds, mean, low, high, .. } = value.summary;
        let seeds = if seeds == 1 { "1 seed".to_owned() } else { format!("n = {seeds}") };
        Some(SettingMean { place: *place, mean: mean?, interval: low.zip(high), seeds })
    });
    SettingPanel { dots: dots.collect(), means: means.collect(), axis: drawn }
}

fn heat_cells(cells: &[Cell], columns: usize) -> Vec<HeatCell> {
    let pictured = cells.iter().enumerate().filter_map(|(index, cell)| {
        let Summary { seeds, failed, mean, .. } = cell.summary;
        let failed = if failed > 0 { format!(", {failed} ×") } else { String::new() };
        let (column, row) = (index % columns, index / columns);
        Some(HeatCell { column, row, score: mean?, detail: format!("n = {seeds}{failed}") })
    });
    pictured.collect()
}

fn line(one: &Combination, keys: &[KeyAxis]) -> Option<ParallelLine> {
    let places = keys.iter().map(|axis| axis.place(&one.settings[&axis.key])).collect();
    Some(ParallelLine { places, score: one.summary.mean? })
}
