//! What several commands report about a run: the state of its seeds and the results of its evaluations.

use rlxp_ops::insight::curve::over_seeds;
use rlxp_ops::insight::run_data::SeedState;
use rlxp_ops::insight::runs::{RunInfo, SeedInfo};
use rlxp_ops::training::eval::{EvalReport, EvalRow};

use crate::chart;
use crate::format;
use crate::progress::mean;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// A table of the seeds: steps, last and best evaluation; the status of each,
/// where they differ.
pub(crate) fn seeds(screen: &Screen, info: &RunInfo) -> String {
    let differ = info.seeds.iter().any(|seed| seed.state != info.seeds[0].state);
    let mut columns = vec![
        ("seed", Align::Right),
        ("steps", Align::Right),
        ("return", Align::Right),
        ("last eval", Align::Right),
        ("best eval", Align::Right),
        ("at step", Align::Right),
        ("checkpoints", Align::Right),
    ];
    columns.extend(differ.then_some(("status", Align::Left)));
    let mut table = Table::new(columns);
    for seed in &info.seeds {
        let mut cells = vec![
            seed.seed.to_string(),
            format::count(seed.steps),
            format::score_or_dash(last(&seed.curve.training)),
            format::score_or_dash(last(&seed.curve.evaluation)),
            format::score_or_dash(seed.best.as_ref().map(|best| best.score)),
            seed.best.as_ref().map_or("-".to_owned(), |best| format::count(best.step)),
            seed.checkpoints.len().to_string(),
        ];
        cells.extend(differ.then(|| match (seed.state, &seed.reason) {
            (SeedState::Finished, _) => "finished".to_owned(),
            (SeedState::Unfinished, _) => "unfinished".to_owned(),
            (SeedState::Failed, Some(reason)) => format!("failed: {reason}"),
            (SeedState::Failed, None) => "failed".to_owned(),
        }));
        table.row(cells);
    }
    if info.seeds.len() > 1 {
        let average = |value: fn(&SeedInfo) -> Option<f64>| {
            format::score_or_dash(mean(info.seeds.iter().filter_map(value)))
        };
        let mut cells = vec![
            "mean".to_owned(),
            String::new(),
            average(|seed| last(&seed.curve.training)),
            average(|seed| last(&seed.curve.evaluation)),
            average(|seed| seed.best.as_ref().map(|best| best.score)),
            String::new(),
            String::new(),
        ];
        cells.extend(differ.then(String::new));
        table.row(cells);
    }
    table.render("  ", |header| screen.styled(Style::Dim, header))
}

/// Early stops that are listed one by one.
const MOST_STOPS: usize = 10;

/// Which seeds stopped early and why; `None` without `--stop-at`.
pub(crate) fn stops(info: &RunInfo) -> Option<String> {
    let wanted = info.stop_at?;
    let stops = info.seeds.iter().filter_map(|seed| Some((seed.seed, seed.stopped_early?)));
    let mut lines: Vec<String> = stops
        .map(|(seed, stop)| {
            format!(
                "seed {seed} stopped early at step {}: evaluation return {} >= {} (--stop-at)",
                format::count(stop.step),
                format::score(stop.score),
                format::score(wanted)
            )
        })
        .collect();
    let more = lines.len().saturating_sub(MOST_STOPS);
    lines.truncate(MOST_STOPS);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    if lines.is_empty() {
        lines.push(format!(
            "no seed stopped early: no evaluation return reached {} (--stop-at)",
            format::score(wanted)
        ));
    }
    Some(lines.join("\n"))
}

fn last(points: &[(u64, f64)]) -> Option<f64> {
    points.last().map(|(_, value)| *value)
}

/// The curve of a run with a line that says what it shows.
pub(crate) fn curve(info: &RunInfo) -> Option<String> {
    let drawn = chart::draw(&over_seeds(info.seeds.iter().map(|seed| &seed.curve)))?;
    let evaluated = info.seeds.iter().all(|seed| !seed.curve.evaluation.is_empty());
    let what = if evaluated { "mean evaluation return" } else { "mean training return" };
    let spread = match info.seeds.len() {
        1 => String::new(),
        several => format!(" over {several} seeds; ░ is the range of the seeds"),
    };
    Some(format!("{what}{spread}\n{drawn}"))
}

/// A table of evaluated policies.
pub(crate) fn evaluation(screen: &Screen, report: &EvalReport) -> String {
    let mut table = Table::new([
        ("policy", Align::Left),
        ("seed", Align::Right),
        ("step", Align::Right),
        ("return", Align::Right),
        ("std", Align::Right),
        ("length", Align::Right),
        ("episodes", Align::Right),
        ("truncated", Align::Right),
    ]);
    let (policies, baselines): (Vec<&EvalRow>, Vec<&EvalRow>) =
        report.rows.iter().partition(|row| row.seed.is_some());
    policies.iter().for_each(|row| table.row(evaluated(row)));
    for policy in ["best", "latest"] {
        let returns: Vec<f64> =
            policies.iter().filter(|row| row.policy == policy).map(|row| row.record.mean_return).collect();
        if returns.len() > 1 {
            let mean = format::score_or_dash(mean(returns.into_iter()));
            let mut cells = vec![policy.to_owned(), "mean".to_owned(), String::new(), mean];
            cells.resize(8, String::new());
            table.row(cells);
        }
    }
    baselines.iter().for_each(|row| table.row(evaluated(row)));
    table.render("  ", |header| screen.styled(Style::Dim, header))
}

fn evaluated(row: &EvalRow) -> [String; 8] {
    [
        row.policy.clone(),
        row.seed.map_or("-".to_owned(), |seed| seed.to_string()),
        row.record.step.map_or("-".to_owned(), format::count),
        format::score(row.record.mean_return),
        format::score(row.record.deviation),
        format!("{:.1}", row.record.mean_length),
        row.record.returns.len().to_string(),
        row.record.truncated.to_string(),
    ]
}
