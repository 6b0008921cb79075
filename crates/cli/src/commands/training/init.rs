//! `rlx init`

use clap::Args;
use rlxp_ops::training::init::init;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::format::counted;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx init demo
  rlx init .    # turn the current folder into a project; existing files are kept";

/// Create a project with a starter config for every environment
///
/// The project gets folders for configs, runs and your own code. In an existing
/// folder only what is missing is added; no existing file is changed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Init {
    /// Project folder to create
    name: String,
}

impl Init {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = init(context, &self.name)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let made = if report.kept.is_empty() { "created" } else { "updated" };
        screen.line(format!("{made} {} with {} starter configs", self.name, report.configs.len()));
        if !report.kept.is_empty() {
            screen.note(&format!("kept {}", counted(report.kept.len(), "existing file")));
        }
        screen.hint(&format!("cd {} && rlx train configs/ppo_cartpole.yaml", shell_word(&self.name)));
        Ok(Exit::Yes)
    }
}
