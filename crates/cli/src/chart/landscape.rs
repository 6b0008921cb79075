//! Scores over config keys in the terminal: a strip per value, a grid of numbers, or a list of the best.

use rlxp_ops::insight::landscape::{Cell, Combination, Drawn, KeyAxis, LandscapeReport, Panel, Summary};
use rlxp_types::text::one_line;

use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// Cells of a strip.
const STRIP: usize = 40;
/// Columns of a grid that a terminal has room for.
const MOST_COLUMNS: usize = 10;
/// Combinations that are listed.
const MOST_LISTED: usize = 15;
/// Shades of a cell, from the lowest to the highest score.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// Title, numbers and what they mean.
pub(crate) fn shown(screen: &Screen, report: &LandscapeReport) -> String {
    let dim = |header: &str| screen.styled(Style::Dim, header);
    let mut text = format!("{}\n", screen.styled(Style::Heading, &report.title));
    match &report.drawn {
        Drawn::Against { panels } => {
            let range = range(report.seeds.iter().map(|seed| seed.score));
            for panel in panels {
                text.push_str(&strips(panel, report, range, &dim));
            }
        }
        Drawn::Heatmap { cells } => text.push_str(&grid(cells, &report.keys[0], &report.keys[1], &dim)),
        Drawn::Parallel { combinations } => text.push_str(&list(combinations, &report.keys, &dim)),
    }
    format!("{}\n{}\n", text.trim_end(), one_line(&meaning(report)))
}

/// What the terminal shows differs from the picture's marks.
fn meaning(report: &LandscapeReport) -> String {
    match &report.drawn {
        Drawn::Against { .. } => {
            let line = match report.intervals.as_str() {
                "" => "One seed per value: seed-to-seed variation is unknown.".to_owned(),
                intervals => format!("─: {intervals}."),
            };
            format!("·: a seed. ●: mean of the seeds with that value. ×: a failed seed. {line}")
        }
        Drawn::Heatmap { .. } => {
            "Mean of the seeds, and how many they are; the fuller the box, the higher. -: no run.".to_owned()
        }
        Drawn::Parallel { .. } => {
            "Mean of the seeds with these values. The best of many is partly luck; `rlx compare` gives a verdict."
                .to_owned()
        }
    }
}

fn range(scores: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = scores
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)));
    super::with_height(low, high)
}

fn interval(summary: &Summary) -> String {
    match summary.low.zip(summary.high) {
        Some((low, high)) => format!("{} to {}", format::score(low), format::score(high)),
        None if summary.seeds == 1 => "1 seed".to_owned(),
        None => "-".to_owned(),
    }
}

fn seeds(summary: &Summary) -> String {
    match summary.failed {
        0 => summary.seeds.to_string(),
        failed => format!("{} ({failed} failed)", summary.seeds),
    }
}

/// A table of a key's values, each with its seeds on a strip.
fn strips(
    panel: &Panel,
    report: &LandscapeReport,
    (low, high): (f64, f64),
    dim: &dyn Fn(&str) -> String,
) -> String {
    let ends = (format::score(low), format::score(high));
    let between = STRIP.saturating_sub(ends.0.chars().count() + ends.1.chars().count());
    let scale = format!("{}{}{}", ends.0, " ".repeat(between), ends.1);
    let mut table = Table::new([
        (panel.key.as_str(), Align::Right),
        ("seeds", Align::Right),
        ("mean", Align::Right),
        ("interval or range", Align::Left),
        (scale.as_str(), Align::Left),
    ]);
    for value in &panel.values {
        let summary = &value.summary;
        let is_own = |text: &str| match value.value.range {
            None => text == value.value.value,
            Some((from, to)) => text.parse::<f64>().is_ok_and(|number| number >= from && number <= to),
        };
        let own = report.seeds.iter().filter(|seed| is_own(&seed.settings[&panel.key]));
        let marks: Vec<(f64, bool)> = own.map(|seed| (seed.score, seed.failed)).collect();
        table.row([
            value.value.value.clone(),
            seeds(summary),
            format::score_or_dash(summary.mean),
            interval(summary),
            strip(summary, &marks, (low, high)),
        ]);
    }
    format!("\n{}", table.render("  ", dim))
}

/// Seeds as dots, the interval as a line above them, then failed seeds as crosses and the mean.
fn strip(summary: &Summary, seeds: &[(f64, bool)], (low, high): (f64, f64)) -> String {
    let mut cells = vec![' '; STRIP];
    let at = |score: f64| {
        let part = ((score / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)).clamp(0.0, 1.0);
        (part * (STRIP - 1) as f64).round() as usize
    };
    seeds.iter().for_each(|(score, _)| cells[at(*score)] = '·');
    if let Some((from, to)) = summary.low.zip(summary.high) {
        cells[at(from)..=at(to)].fill('─');
    }
    let failed = seeds.iter().filter(|(_, failed)| *failed);
    failed.for_each(|(score, _)| cells[at(*score)] = '×');
    if let Some(mean) = summary.mean {
        cells[at(mean)] = '●';
    }
    cells.into_iter().collect()
}

/// The cells as a table, the highest row first as in the picture.
fn grid(cells: &[Cell], x: &KeyAxis, y: &KeyAxis, dim: &dyn Fn(&str) -> String) -> String {
    let columns = x.values.len();
    let means = cells.iter().filter_map(|cell| cell.summary.mean);
    let (low, high) = range(means);
    let corner = format!("{} ↑  {} →", y.key, x.key);
    let shown = columns.min(MOST_COLUMNS);
    let names = x.values.iter().take(shown).map(|value| (value.value.as_str(), Align::Right));
    let mut table = Table::new([(corner.as_str(), Align::Right)].into_iter().chain(names));
    for (row, value) in cells.chunks(columns.max(1)).zip(&y.values).rev() {
        let numbers = row.iter().take(shown).map(|cell| match cell.summary.mean {
            None => "-".to_owned(),
            Some(mean) => {
                let part = (mean / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
                let shade = SHADES[((part * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
                format!("{shade} {} ({})", format::score(mean), cell.summary.seeds)
            }
        });
        table.row([value.value.clone()].into_iter().chain(numbers));
    }
    let mut text = table.render("  ", dim);
    if columns > shown {
        text.push_str(&format!("  {} more columns are only in the image and in --json.\n", columns - shown));
    }
    text
}

/// The best combinations.
fn list(combinations: &[Combination], keys: &[KeyAxis], dim: &dyn Fn(&str) -> String) -> String {
    let columns = keys.iter().map(|axis| (axis.key.as_str(), Align::Right));
    let numbers = [("seeds", Align::Right), ("mean", Align::Right), ("interval or range", Align::Left)];
    let mut table = Table::new(columns.chain(numbers));
    for one in combinations.iter().take(MOST_LISTED) {
        let values = keys.iter().map(|axis| one.settings[&axis.key].clone());
        let summary = &one.summary;
        let numbers = [seeds(summary), format::score_or_dash(summary.mean), interval(summary)];
        table.row(values.chain(numbers));
    }
    let mut text = table.render("  ", dim);
    match combinations.len().saturating_sub(MOST_LISTED) {
        0 => {}
        more => text.push_str(&format!("  {more} more with a lower mean; the image shows all.\n")),
    }
    text
}

#[cfg(test)]
mod tests {
    use rlxp_ops::below::Band;

    use super::*;

    fn summary(mean: f64, ends: Option<(f64, f64)>, seeds: usize) -> Summary {
        Summary {
            seeds,
            failed: 0,
            mean: Some(mean),
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
            interval: if ends.is_some() { Band::Range } else { Band::None },
        }
    }

    #[test]
    fn strips_show_seeds_interval_and_mean() {
        let seeds = [(0.0, true), (50.0, false), (100.0, false)];
        let drawn = strip(&summary(50.0, Some((0.0, 100.0)), 3), &seeds, (0.0, 100.0));
        assert_eq!(drawn.chars().count(), STRIP);
        assert_eq!(drawn, format!("×{}●{}", "─".repeat(19), "─".repeat(19)));
        let single = strip(&summary(0.0, None, 1), &[(0.0, false)], (-1.0, 1.0));
        assert_eq!(single.trim(), "●");
        let outside =
            strip(&summary(50.0, Some((40.0, 60.0)), 5), &[(0.0, false), (55.0, false)], (0.0, 100.0));
        assert_eq!((outside.chars().next(), outside.matches('·').count()), (Some('·'), 1));
    }

    #[test]
    fn one_seed_is_said_in_words() {
        assert_eq!(interval(&summary(3.0, None, 1)), "1 seed");
        assert_eq!(interval(&summary(3.0, Some((1.0, 5.0)), 2)), "1.00 to 5.00");
        let failed = Summary { failed: 1, ..summary(3.0, None, 2) };
        assert_eq!(seeds(&failed), "2 (1 failed)");
    }

    #[test]
    fn equal_scores_have_a_range() {
        assert_eq!(range([5.0, 5.0].into_iter()), (4.0, 6.0));
        assert_eq!(range([1.0, 3.0].into_iter()), (1.0, 3.0));
    }
}
