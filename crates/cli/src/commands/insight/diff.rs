//! `rlx diff`

use clap::Args;
use rlxp_ops::insight::diff::{DiffRequest, diff};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::changed::changed;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx diff ppo_cartpole_001 ppo_cartpole_002
  rlx diff @last~1 @last
  rlx diff @last~1 @last --json";

/// Show what changed between two runs
///
/// Config keys, code, versions, machine and seeds that differ from the first run to the
/// second. Names and threads, which change no result, are left out. No scores are read;
/// `rlx compare` says whether the change was an improvement.
///
/// With --exit-code: 0 if nothing differs, 1 if anything does.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The run to start from
    #[arg(value_name = "RUN_A")]
    a: String,
    /// The run to compare it with
    #[arg(value_name = "RUN_B")]
    b: String,
    /// Exit with 1 if the runs differ
    #[arg(long)]
    exit_code: bool,
}

impl Diff {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = diff(context, &DiffRequest { a: self.a.clone(), b: self.b.clone() })?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.answer(changed(screen, &report.changes, (&report.a, &report.b)));
        }
        Ok(if self.exit_code && !report.same { Exit::No } else { Exit::Yes })
    }
}
