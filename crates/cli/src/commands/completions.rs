//! `rlx completions`

use clap::Args;
use clap_complete::Shell;
use rlxp_ops::Outcome;
use rlxp_ops::reports::Report;
use rlxp_types::Exit;
use serde::Serialize;

use crate::complete;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx completions bash > rlx.bash    # then: source rlx.bash
  rlx completions zsh > _rlx
  rlx completions fish > rlx.fish";

/// Print a shell completion script
///
/// It completes commands, flags, and the names of runs, tags and config keys of the project that you
/// are in. It calls rlx, so it stays valid when rlx is updated.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
    /// Print a script that never calls rlx: it completes commands and flags, and no names
    #[arg(long = "static")]
    is_static: bool,
}

#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

/// Only the command line knows completions, so it also names their schema.
impl Report for Script {
    const SCHEMA: &'static str = "rlx.completions/1";
}

impl Completions {
    pub(crate) fn run(&self, screen: &Screen) -> Outcome<Exit> {
        let script = if self.is_static { complete::static_script } else { complete::script };
        let script = script(self.shell).expect("a script is written to memory, as text");
        if screen.is_json() {
            screen.json(&Script { shell: self.shell.to_string(), script });
        } else {
            screen.answer(script);
        }
        Ok(Exit::Yes)
    }
}
