//! `rlx completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use rlxp_ops::Outcome;
use rlxp_ops::reports::Report;
use rlxp_types::Exit;
use serde::Serialize;

use crate::arguments::Arguments;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx completions bash > rlx.bash
  rlx completions zsh > _rlx
  rlx completions fish > rlx.fish";

/// Print a shell completion script
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
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
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "rlx", &mut script);
        let script = String::from_utf8(script).expect("completion scripts are made of UTF-8 text");
        if screen.is_json() {
            screen.json(&Script { shell: self.shell.to_string(), script });
        } else {
            screen.answer(script);
        }
        Ok(Exit::Yes)
    }
}
