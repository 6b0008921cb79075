//! `rlx python`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::training::python::{SetupRequest, setup, trust};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx python setup --dry-run    # show what would be run
  rlx python trust /usr/bin/python3";

const SETUP_EXAMPLES: &str = "\
Examples:
  rlx python setup --dry-run
  rlx python setup --with box2d,mujoco --dry-run";

const TRUST_EXAMPLES: &str = "\
Examples:
  rlx python trust /usr/bin/python3";

/// Prepare the Python that runs environments of Gymnasium
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Python {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Create the project's .venv with Gymnasium in it
    ///
    /// Uses uv if it is installed, otherwise python3 with venv and pip. Every installed
    /// version is written to requirements.lock; without --with, an existing
    /// requirements.lock decides the versions.
    #[command(after_long_help = SETUP_EXAMPLES)]
    Setup(Setup),
    /// Allow configs to name an interpreter as env.python
    ///
    /// A config may come from another person, so an interpreter that it names is run
    /// only after you have trusted it once.
    #[command(after_long_help = TRUST_EXAMPLES)]
    Trust(Trust),
}

#[derive(Args)]
struct Setup {
    /// Also install the packages of these environments: atari, box2d, classic-control, minigrid, mujoco, toy-text
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    with: Vec<String>,
    /// Only show the commands
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
struct Trust {
    /// The interpreter
    #[arg(value_name = "PATH")]
    python: PathBuf,
}

impl Python {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.what {
            What::Setup(command) => command.run(context, screen),
            What::Trust(command) => {
                let report = trust(context, &command.python)?;
                if screen.is_json() {
                    screen.json(&report);
                } else {
                    screen.line(format!("configs may use {}", report.python));
                }
                Ok(Exit::Yes)
            }
        }
    }
}

impl Setup {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = SetupRequest { with: self.with.clone(), dry_run: self.dry_run };
        let report = setup(context, &request, &mut |command| screen.note(&format!("running {command}")))?;
        if screen.is_json() {
            screen.json(&report);
        } else if self.dry_run {
            report.commands.iter().for_each(|command| screen.line(command));
        } else {
            screen.line(format!("{} is ready: {} packages", report.python, report.packages.len()));
            screen.line(format!("versions are in {}", report.lock));
        }
        Ok(Exit::Yes)
    }
}
