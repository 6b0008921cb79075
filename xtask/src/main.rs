//! Project tasks: `cargo xtask <task>`.
//!
//! Plain Rust without dependencies, so that the first thing a fresh clone builds is small. This program is a
//! developer tool and not part of the product: it runs cargo, pip and apt and reads files itself.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the product's doors to files and processes don't bind the workshop"
)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command-line program")]

mod bench;
mod mutants;
mod run;
mod setup;
mod suite;
mod tests;

use std::process::ExitCode;

use suite::Mutants;

const USAGE: &str = "\
usage: cargo xtask <task>

  setup              get what the tests need: Python with gymnasium, system packages
  test               set up and run everything: format, lints, tests, mutants whose code or
                     test has changed (--quick leaves them out, --mutants all tries all)
  mutants [TEXT]     break the code on purpose, one change at a time, and require that a
                     test notices; with TEXT only the mutants whose name contains it
  attack             put every command through a corpus of hostile run folders and 200 kills;
                     takes many minutes
  soak               kill training 500 times and a study's loop 200 times
  bench [--no-sb3]   measure speed and memory, write docs/benchmarks.md; installs
                     Stable-Baselines3 to compare with, unless told not to
                     (--only sb3|reference|peak|two_cores|small|looking|governing|extracting|gymnasium measures one group)
  starters [NAME …]  train the starter configs over ten seeds each, write docs/starters.md
  verdicts           how often verdicts are wrong, simulated and over real trainings whose
                     answer is known, write docs/verdicts.md
  study-errors [N]   how often whole studies of equal candidates accept one, over N studies per
                     row (12,000 unless told otherwise); prints a table for docs/verdicts.md
  suggest            follow the first suggestion on poor configs and judge whether it helped,
                     write docs/suggestions.md
  diagnosis          train healthy starters and deliberately broken configs, hold the diagnosis
                     rules against them, write docs/diagnosis.md
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["setup"] => setup::run(),
        ["test"] => suite::run(Mutants::Changed),
        ["test", "--quick"] => suite::run(Mutants::None),
        ["test", "--mutants", "all"] => suite::run(Mutants::All),
        ["mutants"] => mutants::run(""),
        ["mutants", text] if !text.starts_with('-') => mutants::run(text),
        ["attack"] => bench::attack(),
        ["soak"] => bench::soak(),
        ["bench"] => bench::bench(true, None),
        ["bench", "--only", group] => bench::bench(matches!(group, "sb3" | "gymnasium"), Some(group)),
        ["bench", "--no-sb3"] => bench::bench(false, None),
        ["starters", ref names @ ..] => bench::starters(names),
        ["verdicts"] => bench::verdicts(),
        ["study-errors"] => bench::study_errors("12000"),
        ["study-errors", repetitions] => bench::study_errors(repetitions),
        ["suggest"] => bench::suggest(),
        ["diagnosis"] => bench::diagnosis(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("error: unknown task: {}\n\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}
