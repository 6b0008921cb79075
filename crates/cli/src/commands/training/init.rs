//! `rlx init`

use clap::Args;
use rlxp_ops::training::init::init;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx init demo
  rlx init .    # the working folder becomes a project; files that are there stay";

/// Make a project with a starter config for every environment
///
/// The project gets folders for configs, runs and whatever you add. A folder
/// that exists is completed: no file in it is changed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Init {
    /// Folder of the project
    name: String,
}

impl Init {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = init(context, &self.name)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let made = if report.kept.is_empty() { "made" } else { "completed" };
        screen.line(format!("{made} {} with {} starter configs", self.name, report.configs.len()));
        if !report.kept.is_empty() {
            screen.note(&format!("{} files were there before and stay as they are", report.kept.len()));
        }
        screen.hint(&format!("cd {} && rlx train configs/ppo_cartpole.yaml", shell_word(&self.name)));
        Ok(Exit::Yes)
    }
}
