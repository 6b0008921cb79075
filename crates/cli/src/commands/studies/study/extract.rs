//! `rlx study extract`

use clap::Args;
use rlxp_ops::below::{RunEnd, word_of};
use rlxp_ops::studies::extract::{ExtractReport, ExtractedRun, MetricValue, Progress, extract};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study extract
  rlx study extract --json
  rlx study extract ppo-r1-short-3-1 || echo 'no such run'";

/// Files are read in a moment up to this size; larger ones show progress.
const LARGE_FILE: u64 = 64 << 20;

/// Read the metrics of ended runs and record them as evidence
///
/// Reads every metric of the approved metric_spec.yaml, as it is declared there, from
/// the files that a run had when it ended. Metrics that decide something are read only
/// from eval/ and eval.log. A metric that is missing, unreadable, NaN, out of range or
/// ambiguous is recorded as such, with the reason. A run is recorded once.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Extract {
    /// Key of the run [default: every ended run whose metrics have not been read]
    run: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Extract {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let mut shown = None;
        let result = extract(context, self.which.selector(), self.run.as_deref(), &mut |progress| {
            show(screen, progress, &mut shown);
        });
        if shown.is_some() {
            screen.live("");
        }
        let report = result?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        if report.runs.is_empty() {
            screen.line("no ended runs without evidence");
        }
        print(screen, &report);
        screen.hint("rlx study next");
        Ok(Exit::Yes)
    }
}

/// Shows how far a large file has been read, whenever a further percent is done.
fn show(screen: &Screen, progress: Progress<'_>, shown: &mut Option<u64>) {
    if progress.length < LARGE_FILE || !screen.is_live() {
        return;
    }
    let percent = progress.read.saturating_mul(100) / progress.length.max(1);
    if *shown != Some(percent) {
        screen.live(&format!("reading {}: {percent}%", progress.file));
        *shown = Some(percent);
    }
}

fn print(screen: &Screen, report: &ExtractReport) {
    for run in &report.runs {
        screen.line(screen.styled(Style::Heading, &run.key));
        screen.line(format!("  {}", about(run)));
        let columns =
            [("metric", Align::Left), ("role", Align::Left), ("value", Align::Right), ("from", Align::Left)];
        let mut table = Table::new(columns);
        for metric in &run.metrics {
            table.row([metric.name.to_string(), word_of(&metric.role), value(metric), from(metric)]);
        }
        screen.answer(table.render("  ", |heading| screen.styled(Style::Heading, heading)));
    }
}

fn about(run: &ExtractedRun) -> String {
    let mut parts = vec![format!("{} of {}, seed {}", run.phase, run.candidate, run.seed)];
    if let Some(end) = run.end.filter(|end| *end != RunEnd::Ok) {
        parts.push(format!("ended as {}", word_of(&end)));
    }
    if run.external {
        parts.push("external: it counts only if a person approves the run".to_owned());
    }
    parts.push(if run.recorded { "recorded" } else { "already recorded" }.to_owned());
    parts.join("; ")
}

fn value(metric: &MetricValue) -> String {
    match (metric.value, metric.reason) {
        (Some(value), _) => match &metric.unit {
            Some(unit) => format!("{value} {unit}"),
            None => value.to_string(),
        },
        (None, Some(reason)) => word_of(&reason).replace('_', " "),
        (None, None) => "missing".to_owned(),
    }
}

fn from(metric: &MetricValue) -> String {
    if let Some(detail) = &metric.detail {
        return detail.clone();
    }
    let points = metric.points.map(|points| crate::format::counted(points, "point"));
    match (&metric.file, points) {
        (Some(file), Some(points)) => format!("{file} ({points})"),
        (Some(file), None) => file.clone(),
        _ => String::new(),
    }
}
