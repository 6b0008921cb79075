//! `rlx rm`

use clap::Args;
use rlxp_ops::runs::{remove, to_remove};
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::Exit;
use serde_json::json;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx rm ppo_cartpole_001 --yes
  rlx rm @last --yes --json";

/// Remove runs for good
///
/// Asks before it does. Without a terminal to ask on, --yes is needed. A run
/// that is being trained is not removed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Rm {
    /// The runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Don't ask
    #[arg(short, long)]
    yes: bool,
}

impl Rm {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let runs = to_remove(context, &self.runs)?;
        let names: Vec<String> = runs.iter().map(|run| run.name()).collect();
        if !self.yes {
            let question = format!("remove {} for good?", names.join(", "));
            match screen.ask(&question) {
                Some(true) => {}
                Some(false) => return Err(Failure::refused("not_confirmed", "nothing was removed")),
                None => {
                    return Err(Failure::refused(
                        "confirmation_needed",
                        format!("there is no terminal to ask whether {} may go", names.join(", ")),
                    )
                    .hint(format!("rlx rm {} --yes", names.join(" "))));
                }
            }
        }
        let removed = remove(context, &runs)?;
        if screen.is_json() {
            screen.json("rlx.removed/1", &json!({ "removed": removed }));
        } else {
            screen.answer(format!("removed {}", removed.join(", ")));
        }
        Ok(Exit::Yes)
    }
}
