//! `rlx queue`

use clap::{Args, Subcommand};
use rlxp_ops::studies::queue::{QueueReport, plan, show};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::study::Which;
use crate::screen::Screen;
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx queue show
  rlx queue show --json";

const PLAN_EXAMPLES: &str = "\
Examples:
  rlx queue show && echo 'after a candidate is validated: rlx queue plan'";

/// Plan which candidate and phase to run next, without starting anything
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Queue {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Record the queue in the ledger as the plan
    #[command(after_long_help = PLAN_EXAMPLES)]
    Plan(Which),
    /// Show the queue derived from the ledger
    #[command(after_long_help = EXAMPLES)]
    Show(Which),
}

impl Queue {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = match &self.verb {
            Verb::Plan(which) => plan(context, which.selector())?,
            Verb::Show(which) => show(context, which.selector())?,
        };
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.answer(text(&report));
        }
        Ok(Exit::Yes)
    }
}

fn text(report: &QueueReport) -> String {
    if report.queue.jobs.is_empty() {
        return format!("{}: the queue is empty: no validated candidates", report.study);
    }
    let columns =
        [("candidate", Align::Left), ("phase", Align::Left), ("runs", Align::Right), ("seeds", Align::Left)];
    let more = [("status", Align::Left), ("continues when", Align::Left)];
    let mut table = Table::new(columns.into_iter().chain(more));
    for job in &report.queue.jobs {
        let seeds: Vec<String> = job.seeds.iter().map(u64::to_string).collect();
        let seeds =
            if seeds.is_empty() { format!("{} pool, drawn at launch", job.role) } else { seeds.join(" ") };
        let cells = [job.candidate.to_string(), job.phase.to_string(), job.runs.to_string(), seeds];
        table.row(cells.into_iter().chain([job.stand.to_string(), job.promotion.to_owned()]));
    }
    let record = if report.on_record { "recorded" } else { "not recorded" };
    let summary = format!("{} in parallel; plan {}, {record}", report.queue.parallel, report.digest.short());
    format!("{}{summary}", table.render("", str::to_owned))
}
