//! `rlx config`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::below::{schema, to_yaml};
use rlxp_ops::reports::{ConfigCheck, ConfigSchema, ShownConfig};
use rlxp_ops::training::config::{Purpose, check};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx config check configs/ppo_cartpole.yaml
  rlx config show configs/ppo_cartpole.yaml --set env.num_envs=16
  rlx config schema > config.schema.json";

const CHECK_EXAMPLES: &str = "\
Examples:
  rlx config check configs/ppo_cartpole.yaml
  rlx config check configs/ppo_cartpole.yaml --set algo.gamma=0.9 --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  rlx config show configs/ppo_cartpole.yaml
  rlx config show configs/ppo_cartpole.yaml --set seeds=5";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  rlx config schema > config.schema.json";

/// Check a config, or show it with all defaults filled in
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Report every problem in a config with its location
    ///
    /// An unavailable environment is a warning here and an error in `rlx train`. A
    /// device other than the CPU is a warning in both, since training always runs
    /// on the CPU.
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(File),
    /// Print the config that `rlx train` would use
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show(File),
    /// Print the JSON Schema of configs, for editors
    #[command(after_long_help = SCHEMA_EXAMPLES)]
    Schema,
}

#[derive(Args)]
struct File {
    /// The config file
    file: PathBuf,
    /// Override a config value, validated like the file; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::settings())]
    overrides: Vec<String>,
}

impl Config {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.what {
            What::Check(file) => file.check(context, screen),
            What::Show(file) => file.show(context, screen),
            What::Schema => {
                if screen.is_json() {
                    screen.json(&ConfigSchema { json_schema: schema() });
                } else {
                    screen.document(&format!("{:#}", schema()));
                }
                Ok(Exit::Yes)
            }
        }
    }
}

impl File {
    fn check(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let checked = check(context, &self.file, &self.overrides, Purpose::Check)?;
        let warnings = checked.warnings.len();
        if screen.is_json() {
            let file = self.file.to_string_lossy();
            let (warnings, notes) = (&checked.warnings, &checked.notes);
            screen.json(&ConfigCheck { file: &file, valid: true, warnings, notes });
            return Ok(Exit::Yes);
        }
        screen.warnings(&checked.warnings, &checked.sources);
        for note in &checked.notes {
            screen.note(&format!("note: {note}"));
        }
        let with = match warnings {
            0 => String::new(),
            some => format!(" with {}", crate::format::counted(some, "warning")),
        };
        screen.line(format!("{} is valid{with}", self.file.display()));
        Ok(Exit::Yes)
    }

    fn show(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let checked = check(context, &self.file, &self.overrides, Purpose::Check)?;
        if screen.is_json() {
            screen.json(&ShownConfig { config: &checked.config, warnings: &checked.warnings });
            return Ok(Exit::Yes);
        }
        screen.warnings(&checked.warnings, &checked.sources);
        screen.answer(to_yaml(&checked.config));
        Ok(Exit::Yes)
    }
}
