//! `rlx init`

use clap::{Args, ValueEnum};
use rlxp_ops::training::init::{Template, init};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::format::counted;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx init demo
  rlx init walker --template gymnasium
  rlx init .    # turn the current folder into a project; existing files are kept";

/// Create a project with starter configs
///
/// The project gets folders for configs, runs and your own code. In an existing
/// folder only what is missing is added; no existing file is changed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Init {
    /// Project folder to create
    name: String,
    /// What to start from
    #[arg(long, value_enum, default_value_t)]
    template: TemplateName,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum TemplateName {
    /// Starter configs of the built-in environments
    #[default]
    Native,
    /// A Gymnasium environment of your own in envs/, and starter configs of LunarLander, HalfCheetah and others
    Gymnasium,
}

impl Init {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let template = match self.template {
            TemplateName::Native => Template::Native,
            TemplateName::Gymnasium => Template::Gymnasium,
        };
        let report = init(context, &self.name, template)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let written = counted(report.written.len(), "file");
        match report.kept.len() {
            0 => {
                let configs = counted(report.configs.len(), "starter config");
                screen.line(format!("created {} with {configs}", self.name));
            }
            kept if report.written.is_empty() => {
                screen.line(format!("{} is complete already: kept {}", self.name, counted(kept, "file")));
            }
            kept => {
                let kept = counted(kept, "existing file");
                screen.line(format!("added {written} to {}, kept {kept}", self.name));
            }
        }
        let name = shell_word(&self.name);
        screen.hint(&match self.template {
            TemplateName::Native => format!("cd {name} && rlx train configs/ppo_cartpole.yaml"),
            TemplateName::Gymnasium => {
                format!("cd {name} && rlx python setup && rlx train configs/ppo_corridor.yaml")
            }
        });
        Ok(Exit::Yes)
    }
}
