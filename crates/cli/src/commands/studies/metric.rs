//! `rlx metric`

use clap::{Args, Subcommand};
use rlxp_ops::studies::metric::{MetricReport, Sample, check};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::one_line;

use super::study::Which;
use crate::screen::Screen;
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx metric check
  rlx metric check --run runs/first    # also read each metric from that run's files";

/// Check that the metrics of a study can be measured
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Metric {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check metric_spec.yaml alone, against the contract, and against the files of a run
    #[command(after_long_help = EXAMPLES)]
    Check(Check),
}

#[derive(Args)]
struct Check {
    /// Key of a run of the study, or a folder with the files of a finished run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Metric {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let Verb::Check(verb) = &self.verb;
        let report = check(context, verb.which.selector(), verb.run.as_deref())?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.answer(text(&report));
            if verb.run.is_none() && report.problems.is_empty() {
                screen.hint("rlx metric check --run RUN    # a run of rlx launch status, or a folder");
            }
        }
        Ok(if report.fine { Exit::Yes } else { Exit::No })
    }
}

fn text(report: &MetricReport) -> String {
    let mut table =
        Table::new(["metric", "role", "better", "value in the run"].map(|name| (name, Align::Left)));
    for line in &report.metrics {
        let better = rlxp_ops::below::direction_word(line.direction).to_owned();
        let read = match &line.sample {
            None => "no run given".to_owned(),
            Some(Sample::Read { file, points, value }) => {
                format!("{value} ({}, {file})", crate::format::counted(*points, "point"))
            }
            Some(Sample::Missing { reason }) => format!("not read: {reason}"),
            Some(Sample::NotEvaluated) => "not read: this smoke run was not evaluated".to_owned(),
        };
        table.row([line.name.clone(), line.role.to_owned(), better, read]);
    }
    let mut text = table.render("", str::to_owned);
    for problem in &report.problems {
        text.push_str(&format!("problem: {}\n", one_line(problem)));
    }
    let (read, all) = (report.read, report.metrics.len());
    let has_run = report.metrics.iter().any(|line| line.sample.is_some());
    text.push_str(&match (report.problems.is_empty(), has_run) {
        (false, _) => "some metrics can't be measured".to_owned(),
        (true, false) => {
            "no problems in the declarations; whether files have these metrics was not checked".to_owned()
        }
        (true, true) if read == all => "all metrics can be measured".to_owned(),
        (true, true) => format!("{read} of {all} metrics were read; the others were not checked"),
    });
    text
}
