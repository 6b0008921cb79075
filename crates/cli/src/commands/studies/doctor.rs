//! `rlx doctor`

use clap::Args;
use rlxp_ops::studies::doctor::{Finding, doctor};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx doctor
  rlx doctor --json";

/// Check which sandboxing features are available
///
/// Starts no processes: rlx tries the namespaces on itself.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = doctor(context);
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        screen.line(format!("sandboxing of runs: {}", report.level));
        let mut table =
            Table::new([("feature", Align::Left), ("status", Align::Left), ("details", Align::Left)]);
        for Finding { what, is, why } in &report.findings {
            table.row([what.clone(), is.clone(), why.clone()]);
        }
        screen.answer(table.render("  ", str::to_owned).trim_end());
        Ok(Exit::Yes)
    }
}
