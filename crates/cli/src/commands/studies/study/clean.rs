//! `rlx study clean`

use clap::{ArgGroup, Args};
use rlxp_ops::below::bytes_about;
use rlxp_ops::studies::clean::{CleanRequest, clean};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::{Which, warn};
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study clean --plan
  rlx study clean --execute";

/// Remove files of a study that nothing needs any more
///
/// Looks at the study's folder in your state folder: code that was checked out, copies of
/// inputs, and files that runs wrote. Files that evidence or a verdict was read from, files
/// of runs that may still count, and everything of active runs stay. Removed files are
/// noted in the ledger.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group = ArgGroup::new("what").required(true).args(["plan", "execute"]))]
pub(super) struct Clean {
    #[command(flatten)]
    which: Which,
    /// Only list what could be removed, with sizes and reasons
    #[arg(long)]
    plan: bool,
    /// Remove it
    #[arg(long)]
    execute: bool,
    /// Also remove what verdicts were computed from; the study must be closed, and `rlx verify` can't recompute them
    /// afterwards
    #[arg(long)]
    closed: bool,
}

impl Clean {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = CleanRequest { execute: self.execute, closed: self.closed };
        let report = clean(context, self.which.selector(), request)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let (done, kept) = (bytes_about(report.bytes), bytes_about(report.kept_bytes));
        let count = crate::format::counted(report.removable.len(), "item");
        if report.removable.is_empty() {
            screen.line(format!("nothing to remove; {kept} in {}", report.folder.display()));
            warn(screen, &report.warnings);
            return Ok(Exit::Yes);
        }
        let columns = [("item", Align::Left), ("size", Align::Right), ("why", Align::Left)];
        let mut table = Table::new(columns);
        for one in &report.removable {
            let path = one.path.strip_prefix(&report.folder).unwrap_or(&one.path);
            table.row([path.display().to_string(), bytes_about(one.bytes), one.why.clone()]);
        }
        screen.answer(table.render("", |heading| screen.styled(Style::Heading, heading)));
        let verb = if report.executed { "removed" } else { "would remove" };
        screen.line(format!("{verb} {count} ({done}); {kept} stay in {}", report.folder.display()));
        warn(screen, &report.warnings);
        if !report.executed {
            let closed = if self.closed { " --closed" } else { "" };
            screen.hint(&format!("rlx study clean --execute{closed}"));
        }
        Ok(Exit::Yes)
    }
}
