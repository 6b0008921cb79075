//! The tables of a report.

use rlxp_types::text::{grouped, report_number};

use crate::failure::Outcome;
use crate::insight::compare::CompareReport;
use crate::insight::run_data::{Group, SeedState};

use super::html::Table;

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), report_number)
}

/// Every run with its seeds.
pub(super) fn runs(groups: &[Group]) -> Table {
    let mut table =
        Table::new(&["group", "run", "status", "environment", "seeds", "steps", "rlx", "commit", "created"]);
    for group in groups {
        for run in &group.runs {
            let seeds: Vec<String> = run.seeds.iter().map(|seed| seed.seed.to_string()).collect();
            let commit = run.metadata.git.as_ref().map_or_else(String::new, |git| {
                let commit = git.commit.as_deref().unwrap_or("none");
                let dirty = if git.dirty { " + changes" } else { "" };
                format!("{}{dirty}", commit.get(..10).unwrap_or(commit))
            });
            table.row([
                group.label.clone(),
                run.name.clone(),
                run.status.to_string(),
                run.config.env.id.clone(),
                seeds.join(" "),
                grouped(run.metadata.total_steps),
                run.metadata.versions.rlx.clone(),
                commit,
                run.metadata.created.clone(),
            ]);
        }
    }
    table
}

/// Last, best and later evaluations of every seed.
pub(super) fn evaluations(groups: &[Group]) -> Outcome<Table> {
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
    for group in groups {
        for (run, seed) in group.seeds() {
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
                group.label.clone(),
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
    Ok(table)
}

/// Metrics of all groups at common steps.
pub(super) fn aligned(report: &CompareReport) -> Option<Table> {
    let steps = &report.metrics.first()?.steps;
    let mut head = vec!["metric".to_owned(), "group".to_owned()];
    head.extend(steps.iter().map(|step| format!("at {}", grouped(*step))));
    let mut table = Table { head, rows: Vec::new() };
    for metric in report.metrics.iter().filter(|metric| metric.steps.len() == steps.len()) {
        for group in &metric.groups {
            let mut row = vec![metric.metric.clone(), group.group.clone()];
            row.extend(group.values.iter().map(|value| optional(*value)));
            table.rows.push(row);
        }
    }
    Some(table)
}

/// The config of each run, those that equal an earlier one left out.
pub(super) fn configs(groups: &[Group]) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for run in groups.iter().flat_map(|group| &group.runs) {
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
