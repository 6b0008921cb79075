//! `rlx tail`

use std::ops::ControlFlow;

use clap::Args;
use rlxp_ops::below::Record;
use rlxp_ops::insight::tail::{Tailed, tail};
use rlxp_ops::reports::{TailEnd, TailedRecord};
use rlxp_ops::{Context, Outcome};
use rlxp_types::{Exit, RunStatus};

use crate::complete;
use crate::format;
use crate::screen::Screen;

/// Shows a value of a metric.
type Format = fn(f64) -> String;

/// Values of a record that are shown if they exist, and how each is written.
const SHOWN: [(&str, Format); 10] = [
    ("mean_return", format::score),
    ("deviation", format::score),
    ("mean_length", format::score),
    ("episodes", |value| format!("{value:.0}")),
    ("entropy", format::score),
    ("approx_kl", small),
    ("explained_variance", format::score),
    ("policy_loss", small),
    ("steps_per_second", format::rate),
    ("dormant_fraction", format::score),
];

const EXAMPLES: &str = "\
Examples:
  rlx tail @last
  rlx tail @last -n 3 --no-follow
  rlx tail @last --json    # every value of every record";

/// Follow a run's metrics until it ends
///
/// The exit code is that of the training: 0 if it completed, 4 if it failed or was
/// killed, 130 if it was stopped. Ctrl-C ends the following, not the training.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Tail {
    /// The run
    #[arg(add = complete::runs())]
    run: String,
    /// Records to show first, per seed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    lines: usize,
    /// Print the existing records and exit
    #[arg(long)]
    no_follow: bool,
}

impl Tail {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let mut show = |seed: u64, record: &Record| {
            if screen.is_json() {
                screen.json(&TailedRecord::new(seed, record));
            } else {
                screen.line(line(seed, record));
            }
            if screen.is_read() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let follow = !self.no_follow;
        let Tailed { status, reason } = tail(context, &self.run, self.lines, follow, &mut show)?;
        if screen.is_json() {
            screen.json(&TailEnd { status, reason });
        } else {
            let why = reason.map_or(String::new(), |reason| format!(": {reason}"));
            screen.note(&format!("the run is {status}{why}"));
        }
        Ok(if follow { result(status) } else { Exit::Yes })
    }
}

/// The exit code of a training that ended so; one that still runs was only looked at.
fn result(status: RunStatus) -> Exit {
    match status {
        RunStatus::Failed | RunStatus::Lost => Exit::RunFailed,
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Completed | RunStatus::Running | RunStatus::Created | RunStatus::Unknown => Exit::Yes,
    }
}

fn line(seed: u64, record: &Record) -> String {
    let mut text = format!("seed {seed}  {:>12}  {:<6}", format::count(record.step), record.kind);
    for (name, written) in SHOWN {
        if let Some(value) = record.number(name) {
            text.push_str(&format!("  {name} {}", written(value)));
        }
    }
    text
}

fn small(value: f64) -> String {
    format!("{value:.4}")
}
