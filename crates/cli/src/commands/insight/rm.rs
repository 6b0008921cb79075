//! `rlx rm`

use clap::Args;
use rlxp_ops::below::TakeOver;
use rlxp_ops::insight::runs::{Removal, remove, to_remove};
use rlxp_ops::reports::RemovedRuns;
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::complete;
use crate::format;
use crate::screen::Screen;
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx rm ppo_cartpole_001 --yes
  rlx rm @last --yes --json";

/// Permanently remove runs
///
/// Lists the runs with their sizes and asks for confirmation. Without a terminal,
/// --yes is required. Only runs of this project can be removed, and not while they
/// are training.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Rm {
    /// The runs
    #[arg(required = true, value_name = "RUN", add = complete::runs())]
    runs: Vec<String>,
    /// Skip the confirmation
    #[arg(short, long)]
    yes: bool,
    /// Also remove runs whose process may still run, on another machine or in a container
    #[arg(long)]
    force: bool,
}

impl Rm {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let runs = to_remove(context, &self.runs)?;
        let names: Vec<String> = runs.iter().map(|removal| removal.run.clone()).collect();
        listed(&runs).lines().for_each(|line| screen.note(line));
        if !self.yes {
            let question = if let [only] = &names[..] {
                format!("permanently remove {only}?")
            } else {
                format!("permanently remove these {} runs?", names.len())
            };
            match screen.ask(&question) {
                Some(true) => {}
                Some(false) => return Err(Failure::refused("not_confirmed", "nothing was removed")),
                None => {
                    let words: Vec<_> = names.iter().map(|name| shell_word(name)).collect();
                    return Err(Failure::refused(
                        "confirmation_needed",
                        format!("refusing to remove {} without confirmation", names.join(", ")),
                    )
                    .hint(format!("rlx rm {} --yes", words.join(" "))));
                }
            }
        }
        let mut removed: Vec<String> = Vec::new();
        let outcome = remove(context, &runs, TakeOver::forced(self.force), &mut |removal| {
            removed.push(removal.run.clone())
        });
        if screen.is_json() && outcome.is_ok() {
            let bytes: u64 = runs.iter().filter_map(|removal| removal.bytes).sum();
            screen.json(&RemovedRuns { removed: &removed, bytes });
        } else if !screen.is_json() && !removed.is_empty() {
            // Also when the next one failed: these are gone.
            screen.line(format!("removed {}", removed.join(", ")));
        }
        outcome.map(|()| Exit::Yes)
    }
}

/// The runs with their size.
fn listed(runs: &[Removal]) -> String {
    let mut table = Table::new([("run", Align::Left), ("size", Align::Right)]);
    for removal in runs {
        let size = removal.bytes.map_or_else(|| "unknown".to_owned(), format::bytes);
        table.row([removal.run.clone(), size]);
    }
    table.render("", str::to_owned)
}
