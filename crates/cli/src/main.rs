//! `rlx` on the command line: parse → context → command → exit code.
//!
//! The verbs are in `rlxp-ops`; this crate only turns arguments into requests
//! and reports into text or JSON. Stdout is the answer, stderr everything else.

mod arguments;
mod chart;
mod commands;
mod complete;
mod defect;
mod format;
mod paragraph;
mod progress;
mod screen;
mod summary;
mod table;

use std::process::ExitCode;

use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use arguments::{Arguments, Parsed};
use screen::Screen;

fn main() -> ExitCode {
    // The helper that keeps a run apart is started for every step and must have a single thread: no parser, no context.
    if std::env::args_os().nth(1).is_some_and(|word| word == "__confine") {
        return ExitCode::from(rlxp_ops::studies::launch::confine());
    }
    complete::answer_shell();
    defect::report_panics();
    rlxp_ops::below::survive_file_size_limit();
    let (arguments, screen) = match Arguments::from_command_line() {
        Parsed::Command(arguments) => {
            let screen = Screen::new(&arguments.global);
            (arguments, screen)
        }
        Parsed::Answered(exit) => return ExitCode::from(exit.code()),
    };
    let exit = defect::guarded(&screen, || run(&arguments, &screen));
    ExitCode::from(screen.verdict(exit).code())
}

fn run(arguments: &Arguments, screen: &Screen) -> Outcome<Exit> {
    let context = Context::real(arguments.global.root.clone())?;
    arguments.command.run(&context, screen)
}
