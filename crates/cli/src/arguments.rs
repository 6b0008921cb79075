//! What can be typed: the flags that every command has, and how wrong usage is
//! answered.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, ValueEnum};
use rlxp_ops::Failure;
use rlxp_types::Exit;
use rlxp_types::text::one_line;

use crate::commands::Command;
use crate::screen;

const AFTER_HELP: &str = "\
RUN names runs: a name, a unique prefix of a name or id, or a folder; @last, @last~1 (the run before),
@best:ENV; a pattern such as 'ppo_*'; tag:TAG; where:'algo.gamma>=0.99 and env=CartPole-v1'. A+B is
several runs as one group. RUN:SEED is one seed, RUN:best, RUN:latest, RUN:step_N and
RUN:SEED:CHECKPOINT are checkpoints.

Exit codes: 0 success, 1 negative result, 2 usage or config error, 3 refused, 4 run failed,
70 internal error, 74 storage error, 130 interrupted.

Examples:
  rlx init demo
  rlx train configs/ppo_cartpole.yaml
  rlx eval --run @last
  rlx info @last";

/// Train, evaluate and compare reinforcement-learning policies.
#[derive(Parser)]
#[command(name = "rlx", version, max_term_width = 100, after_long_help = AFTER_HELP)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Args)]
pub(crate) struct Global {
    /// Project folder [default: current folder or nearest parent project]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) root: Option<PathBuf>,
    /// Print JSON: one object, or one per line for commands that stream
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// When to use colour (respects NO_COLOR)
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = "Global options", hide_default_value = true)]
    pub(crate) color: Color,
    /// Print only the result: no progress, notes or hints
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

/// When to use colour.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Only on a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The result of parsing.
pub(crate) enum Parsed {
    Command(Box<Arguments>),
    /// Help, the version or an error has been printed.
    Answered(Exit),
}

impl Arguments {
    pub(crate) fn from_command_line() -> Parsed {
        let given: Vec<OsString> = std::env::args_os().collect();
        let error = match Arguments::try_parse_from(&given) {
            Ok(arguments) => return Parsed::Command(Box::new(arguments)),
            Err(error) => error,
        };
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            return Parsed::Answered(screen::print_parser_message(&error, Exit::Yes));
        }
        let wants_json = given.iter().take_while(|word| *word != "--").any(|word| word == "--json");
        if wants_json {
            let text = error.to_string();
            let message = text.trim().trim_start_matches("error: ");
            screen::print_bare_json(&Failure::usage("usage", message).to_json());
            return Parsed::Answered(Exit::Usage);
        }
        Parsed::Answered(screen::print_parser_message(&in_visible_letters(error, &given), Exit::Usage))
    }
}

/// The same complaint about the same arguments as they are shown: the parser's message repeats
/// them between colours of its own, where they can't be made visible any more.
fn in_visible_letters(error: clap::Error, given: &[OsString]) -> clap::Error {
    let shown: Vec<String> =
        given.iter().map(|word| one_line(&word.to_string_lossy()).into_owned()).collect();
    if shown.iter().zip(given).all(|(shown, given)| given == shown.as_str()) {
        return error;
    }
    match Arguments::try_parse_from(&shown) {
        Err(again) if again.kind() == error.kind() => again,
        // Made visible the arguments mean something else: the message without its colours.
        _ => {
            let text = one_line(error.to_string().trim_end()).replace("\\n", "\n");
            clap::Error::raw(error.kind(), format!("{}\n", text.trim_start_matches("error: ")))
        }
    }
}
