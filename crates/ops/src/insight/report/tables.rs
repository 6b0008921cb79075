//! The tables of a report.

use rlxp_types::text::{grouped, report_number};

use crate::failure::Outcome;
use crate::insight::compare::{CompareReport, how_read};
use crate::insight::plot::NO_INTERVAL;
use crate::insight::run_data::{Group, RunData, SeedState};
use crate::training::seed_ranges::seed_ranges;

use super::MOST_CARDS;
use super::cards::word_of;
use super::page::RunTable;
use crate::html::Table;

/// Most runs in one table; more are collapsed by group.
const MOST_FLAT: usize = 12;
/// Most rows of evaluations.
const MOST_SEEDS: usize = 60;
/// Most runs whose configs are shown.
const MOST_CONFIGS: usize = 40;

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), report_number)
}

/// One row per group: its scores and the verdict about it.
pub(super) fn groups(report: &CompareReport) -> Table {
    let has_other_names = report.groups.iter().any(|group| group.also.is_some());
    let names = if has_other_names { &["", "group", "also"][..] } else { &["", "group"] };
    let numbers = ["runs", "seeds", "failed", "IQM", "lowest", "highest", "compared with A"];
    let mut table = Table::new(&[names, &numbers].concat());
    for group in &report.groups {
        let failed =
            group.seeds.iter().filter(|seed| seed.score.is_none() && seed.state != SeedState::Unfinished);
        let comparison = report.comparisons.iter().find(|comparison| comparison.group == group.group);
        let mut row = vec![group.group.clone(), group.label.clone()];
        row.extend(has_other_names.then(|| group.also.clone().unwrap_or_default()));
        row.extend([
            group.runs.len().to_string(),
            group.seeds.len().to_string(),
            failed.count().to_string(),
            optional(group.iqm),
            if group.seeds.len() == 1 { NO_INTERVAL.to_owned() } else { optional(group.lowest) },
            if group.seeds.len() == 1 { String::new() } else { optional(group.highest) },
            comparison.map_or_else(|| "reference".to_owned(), |one| word_of(one).to_lowercase()),
        ]);
        table.row(row);
    }
    table
}

/// Every run with its seeds: in one table, or in a collapsed table per group where there are many.
pub(super) fn runs(groups: &[Group], labels: &[String]) -> Vec<RunTable> {
    let head = ["group", "run", "status", "environment", "seeds", "steps", "rlx", "commit", "created"];
    let all: usize = groups.iter().map(|group| group.runs.len()).sum();
    if all <= MOST_FLAT {
        let mut table = Table::new(&head);
        for (group, label) in groups.iter().zip(labels) {
            group.runs.iter().for_each(|run| table.row([label.clone()].into_iter().chain(run_cells(run))));
        }
        return vec![RunTable { group: None, table }];
    }
    let of_group = |(group, label): (&Group, &String)| {
        let mut table = Table::new(&head[1..]);
        group.runs.iter().for_each(|run| table.row(run_cells(run)));
        let runs =
            if group.runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", group.runs.len()) };
        RunTable { group: Some(format!("{label}: {runs}")), table }
    };
    groups.iter().zip(labels).map(of_group).collect()
}

fn run_cells(run: &RunData) -> [String; 8] {
    let commit = run.metadata.git.as_ref().map_or_else(String::new, |git| {
        let commit = git.commit.as_deref().unwrap_or("none");
        let dirty = if git.dirty { " + changes" } else { "" };
        format!("{}{dirty}", commit.get(..10).unwrap_or(commit))
    });
    [
        run.name.clone(),
        run.status.to_string(),
        run.config.env.id.clone(),
        seed_ranges(run.seeds.iter().map(|seed| seed.seed)),
        grouped(run.metadata.total_steps),
        run.metadata.versions.rlx.clone(),
        commit,
        run.metadata.created.clone(),
    ]
}

/// Last, best and later evaluations of every seed, of the first groups where there are many.
pub(super) fn evaluations(groups: &[Group], labels: &[String], left_out: &mut Vec<String>) -> Outcome<Table> {
    let mut table = Table::new(&[
        "group",
        "run",
        "seed",
        "training",
        "last evaluation",
        "deviation",
        "at step",
        "best evaluation",
        "at step",
        "on new episodes",
    ]);
    let seeds: usize = groups.iter().map(|group| group.seeds().count()).sum();
    let shown = if seeds <= MOST_SEEDS { groups.len() } else { groups.len().min(MOST_CARDS + 1) };
    let mut rows = 0;
    for (group, label) in groups.iter().zip(labels).take(shown) {
        for (run, seed) in group.seeds() {
            if rows == MOST_SEEDS {
                break;
            }
            rows += 1;
            let all = seed.evaluations()?;
            let during: Vec<_> =
                all.iter().filter(|(name, _)| name.starts_with("step_")).map(|(_, one)| one).collect();
            let last = during.last();
            let best = during.iter().rev().max_by(|a, b| a.mean_return.total_cmp(&b.mean_return));
            let later = all.iter().rev().find(|(name, one)| !name.starts_with("step_") && one.step.is_some());
            let step = |step: Option<u64>| step.map_or_else(|| "–".to_owned(), grouped);
            let state = match seed.state {
                SeedState::Finished if run.stopped_early(seed).is_some() => "stopped early (--stop-at)",
                SeedState::Finished => "finished",
                SeedState::Failed => "failed",
                SeedState::Unfinished => "unfinished",
            };
            table.row([
                label.clone(),
                run.name.clone(),
                seed.seed.to_string(),
                state.to_owned(),
                optional(last.map(|one| one.mean_return)),
                optional(last.map(|one| one.deviation)),
                step(last.and_then(|one| one.step)),
                optional(best.map(|one| one.mean_return)),
                step(best.and_then(|one| one.step)),
                later.map_or_else(
                    || "–".to_owned(),
                    |(_, one)| format!("{} (step {})", report_number(one.mean_return), step(one.step)),
                ),
            ]);
        }
    }
    if rows < seeds {
        left_out.push(format!("evaluations of {rows} of {seeds} seeds: those of the first groups"));
    }
    Ok(table)
}

/// Metrics of the first groups at common steps, and how they were read.
pub(super) fn aligned(report: &CompareReport) -> Option<(Table, Vec<String>)> {
    let places = report.metrics.first()?.steps.len();
    let mut head = vec!["metric".to_owned(), "group".to_owned()];
    // Each metric is logged at its own steps, so a column is the same share of them, not the same step.
    head.extend((1..=places).map(|place| format!("at {}%", 100 * place / places)));
    head.push("of the shared steps".to_owned());
    let mut table = Table { head, rows: Vec::new() };
    for metric in report.metrics.iter().filter(|metric| metric.steps.len() == places) {
        for group in metric.groups.iter().take(MOST_CARDS + 1) {
            let mut row = vec![metric.metric.clone(), group.group.clone()];
            row.extend(group.values.iter().map(|value| optional(*value)));
            row.push(metric.steps.iter().map(|step| grouped(*step)).collect::<Vec<_>>().join(" · "));
            table.rows.push(row);
        }
    }
    Some((table, how_read(&report.metrics, &(0..places).collect::<Vec<_>>())))
}

/// The config of each run of the first groups, those that equal an earlier one left out.
pub(super) fn configs(groups: &[Group]) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for run in groups.iter().take(MOST_CARDS + 1).flat_map(|group| &group.runs).take(MOST_CONFIGS) {
        let yaml = rlxp_spec::to_yaml(&run.config);
        if !shown.iter().any(|(_, earlier)| *earlier == yaml) {
            shown.push((run.name.clone(), yaml));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let shown = [0.0, 0.001_234_5, 12.345, 500.0, -1234.56, 1.5e9, f64::NAN].map(report_number);
        assert_eq!(shown, ["0", "0.0012", "12.35", "500.0", "-1234.6", "1.500e9", "NaN"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
