//! `rlx completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use rlxp_ops::Outcome;
use rlxp_types::Exit;
use serde_json::json;

use crate::arguments::Arguments;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx completions bash > rlx.bash
  rlx completions zsh > _rlx
  rlx completions fish > rlx.fish";

/// Print a shell's completion script
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, screen: &Screen) -> Outcome<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "rlx", &mut script);
        let script = String::from_utf8(script).expect("completion scripts are made of UTF-8 text");
        if screen.is_json() {
            let answer = json!({ "shell": self.shell.to_string(), "script": script });
            screen.json("rlx.completions/1", &answer);
        } else {
            screen.answer(script);
        }
        Ok(Exit::Yes)
    }
}
