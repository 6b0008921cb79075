//! `rlx tail`

use std::ops::ControlFlow;

use clap::Args;
use rlxp_ops::below::Record;
use rlxp_ops::insight::tail::tail;
use rlxp_ops::reports::{TailEnd, TailedRecord};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::format;
use crate::screen::Screen;

/// Values of a record that are shown if they exist.
const SHOWN: [&str; 10] = [
    "mean_return",
    "deviation",
    "mean_length",
    "episodes",
    "entropy",
    "approx_kl",
    "explained_variance",
    "policy_loss",
    "steps_per_second",
    "dormant_fraction",
];

const EXAMPLES: &str = "\
Examples:
  rlx tail @last
  rlx tail @last -n 3 --no-follow
  rlx tail @last --json    # every value of every record";

/// Follow a run's metrics until it ends
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Tail {
    /// The run
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
        let status = tail(context, &self.run, self.lines, !self.no_follow, &mut show)?;
        if screen.is_json() {
            screen.json(&TailEnd { status });
        } else {
            screen.note(&format!("the run is {status}"));
        }
        Ok(Exit::Yes)
    }
}

fn line(seed: u64, record: &Record) -> String {
    let mut text = format!("seed {seed}  {:>12}  {:<6}", format::count(record.step), record.kind);
    for name in SHOWN {
        if let Some(value) = record.number(name) {
            text.push_str(&format!("  {name} {}", short(name, value)));
        }
    }
    text
}

fn short(name: &str, value: f64) -> String {
    match name {
        "episodes" => format!("{value:.0}"),
        "steps_per_second" => format::rate(value),
        "approx_kl" | "policy_loss" => format!("{value:.4}"),
        _ => format::score(value),
    }
}
