//! `rlx study monitor`

use std::ops::ControlFlow;

use clap::Args;
use rlxp_ops::below::{bytes_about, seconds_about};
use rlxp_ops::studies::monitor::{
    Followed, LiveMetric, MonitorReport, MonitoredRun, RuleAnswers, follow, monitor,
};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::number;

use super::{Which, warn};
use crate::format::counted;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study monitor
  rlx study monitor --follow
  rlx study monitor --json
  rlx study monitor ppo-r1-short-3-1 || echo 'no such run'";

/// Watch the runs of a study
///
/// Shows active runs with their progress, silence, resources and time left, the last
/// runs that ended, and the queue. Metrics that the study declares are read from the
/// logs while they are written, and checked for training problems; a rule that lacks
/// data says so. It may recommend a cancel, and never stops a run.
///
/// With --follow it continues until no run is active. Ctrl-C ends the watching, not
/// the runs.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Monitor {
    /// Key of the run [default: all]
    run: Option<String>,
    /// Continue until no run is active
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    which: Which,
}

impl Monitor {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let (study, run) = (self.which.selector(), self.run.as_deref());
        if !self.follow {
            let report = monitor(context, study, run)?;
            if screen.is_json() {
                screen.json(&report);
            } else {
                show(screen, &report, run.is_some());
            }
            return Ok(Exit::Yes);
        }
        let mut last = None;
        let mut drawn = 0;
        let followed = follow(context, study, run, &mut |report, is_new| {
            if screen.is_live() {
                let lines: Vec<String> = report.runs.iter().map(line).collect();
                screen.live_lines(&lines, drawn);
                drawn = lines.len();
            } else if is_new && screen.is_json() {
                screen.json(report);
            } else if is_new {
                report.runs.iter().for_each(|run| screen.line(line(run)));
            }
            last = Some(report.clone());
            if screen.is_read() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if screen.is_live() {
            screen.live_lines(&[], drawn);
        }
        let followed = followed?;
        if let Some(report) = last.filter(|_| screen.is_live()) {
            show(screen, &report, run.is_some());
        }
        Ok(match followed {
            Followed::Over | Followed::Left => Exit::Yes,
            Followed::Interrupted => Exit::Interrupted,
        })
    }
}

fn show(screen: &Screen, report: &MonitorReport, alone: bool) {
    if report.runs.is_empty() {
        screen.line(format!("{}: no runs yet", report.study));
    } else {
        let columns = [
            ("run", Align::Left),
            ("state", Align::Left),
            ("seed", Align::Right),
            ("elapsed", Align::Right),
            ("limit", Align::Right),
            ("silent", Align::Right),
            ("progress", Align::Left),
            ("left", Align::Right),
            ("memory", Align::Right),
        ];
        let mut table = Table::new(columns);
        for run in &report.runs {
            table.row([
                run.key.clone(),
                state(run),
                run.seed.to_string(),
                seconds(run.elapsed),
                if run.limit > 0 { seconds_about(run.limit) } else { String::new() },
                silence(run),
                run.progress.as_ref().map_or_else(String::new, |progress| progress.sentence()),
                seconds(run.time_left.as_ref().map(|left| left.seconds)),
                run.usage.map_or_else(String::new, |usage| bytes_about(usage.memory)),
            ]);
        }
        screen.answer(table.render("", |heading| screen.styled(Style::Heading, heading)).trim_end());
    }
    if report.not_shown > 0 {
        screen.note(&format!("{} not shown", counted(report.not_shown, "older run")));
    }
    for run in &report.runs {
        details(screen, run, alone);
    }
    queue(screen, report);
    warn(screen, &report.warnings);
    if report.active {
        screen.hint("rlx study monitor --follow");
    } else {
        screen.hint("rlx study next");
    }
}

/// What a table has no room for.
fn details(screen: &Screen, run: &MonitoredRun, alone: bool) {
    let key = &run.key;
    if alone && let Some(reason) = &run.reason {
        screen.line(format!("{key}: {reason}"));
    }
    for problem in &run.problems {
        screen.warning(&format!("{key}: {problem}"));
    }
    if alone && !run.metrics.is_empty() {
        let mut table = Table::new([
            ("metric", Align::Left),
            ("last", Align::Right),
            ("step", Align::Right),
            ("points", Align::Right),
            ("from", Align::Left),
        ]);
        run.metrics.iter().for_each(|metric| table.row(metric_row(metric)));
        screen.answer(table.render("  ", |heading| screen.styled(Style::Heading, heading)).trim_end());
    }
    if let Some(rules) = &run.rules {
        show_rules(screen, key, rules, alone);
    }
    if let Some(advice) = &run.advice {
        screen.answer(paragraph(&format!("{key}: consider cancelling: {}", advice.why), 0, "").trim_end());
        screen.hint(&advice.command);
    }
}

fn metric_row(metric: &LiveMetric) -> [String; 5] {
    let last = match (metric.last, metric.points) {
        (Some(last), _) => number(last),
        (None, 0) => String::new(),
        (None, _) => "not finite".to_owned(),
    };
    [
        metric.name.to_string(),
        last,
        metric.step.map_or_else(String::new, number),
        metric.points.to_string(),
        metric.missing.clone().or_else(|| metric.file.clone()).unwrap_or_default(),
    ]
}

fn show_rules(screen: &Screen, key: &str, rules: &RuleAnswers, alone: bool) {
    for found in &rules.findings {
        let text =
            format!("{key}: {} {} ({}): {}", found.severity.word(), found.rule, found.title, found.sentence);
        screen.answer(paragraph(&text, 0, "").trim_end());
    }
    let (clear, lacking) = (rules.clear.len(), rules.lacking.len());
    screen.line(format!(
        "{key}: {} found nothing, {} {} data",
        counted(clear, "rule"),
        counted(lacking, "rule"),
        if lacking == 1 { "lacks" } else { "lack" }
    ));
    if alone {
        for one in &rules.lacking {
            screen.answer(
                paragraph(&format!("{} ({}): {}", one.rule, one.title, one.lacking), 2, "lacks data: ")
                    .trim_end(),
            );
        }
    } else if lacking > 0 {
        screen.hint(&format!("rlx study monitor {key}    # which data"));
    }
}

fn queue(screen: &Screen, report: &MonitorReport) {
    if report.queue.is_empty() {
        return;
    }
    let mut table = Table::new([
        ("queue", Align::Left),
        ("phase", Align::Left),
        ("runs", Align::Right),
        ("status", Align::Left),
    ]);
    for job in &report.queue {
        table.row([job.candidate.to_string(), job.phase.clone(), job.runs.to_string(), job.status.clone()]);
    }
    screen.answer(table.render("", |heading| screen.styled(Style::Heading, heading)).trim_end());
    if report.queue_not_shown > 0 {
        screen.note(&format!("{} not shown", counted(report.queue_not_shown, "phase")));
        screen.hint("rlx queue show");
    }
}

fn state(run: &MonitoredRun) -> String {
    match (run.found, run.step) {
        (Some(found), Some(step)) => format!("{found} ({step})"),
        (Some(found), None) => found.to_owned(),
        (None, _) => run.state.clone(),
    }
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| seconds_about(seconds.max(0.0) as u64))
}

fn silence(run: &MonitoredRun) -> String {
    match (run.silent_for, run.silence_limit) {
        (Some(silent), Some(limit)) => {
            format!("{} of {}", seconds_about(silent as u64), seconds_about(limit))
        }
        (Some(silent), None) => seconds_about(silent as u64),
        (None, _) => String::new(),
    }
}

/// A run on one line.
fn line(run: &MonitoredRun) -> String {
    let mut parts = vec![format!("{} {}", run.key, state(run))];
    parts.extend(run.progress.as_ref().map(|progress| progress.sentence()));
    if let Some(elapsed) = run.elapsed {
        parts.push(format!("{} elapsed", seconds_about(elapsed.max(0.0) as u64)));
    }
    if let Some(left) = &run.time_left {
        parts.push(format!("about {} left", seconds_about(left.seconds as u64)));
    }
    if let Some(found) = run.rules.as_ref().and_then(|rules| rules.findings.first()) {
        parts.push(format!("{} {}", found.severity.word(), found.title));
    }
    parts.extend(run.advice.as_ref().map(|advice| format!("consider: {}", advice.command)));
    parts.join(", ")
}
