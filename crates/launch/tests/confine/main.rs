//! Steps that try to get out, steps that won't end, and what they are shown.
//!
//! A step is confined by the program that asks for it, started a second time. So this program is its own helper, and
//! its own supervisor to be killed; the tests run one after another from its main thread, as in `rlx`.
#![expect(clippy::disallowed_methods, reason = "the tests look at files and processes themselves")]
#![expect(clippy::disallowed_types, reason = "the supervisor under test is a process too")]
#![expect(
    clippy::unwrap_used,
    reason = "all of this is tests, which clippy can't tell without their harness"
)]
#![expect(clippy::print_stdout, reason = "this is a test program with its own main")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod escapes;
mod levels;
mod stage;
mod tree;

/// A test by name.
type Test = (&'static str, fn());

fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("__confine") => return std::process::ExitCode::from(rlxp_launch::confine::helper()),
        Some("act-as-supervisor") => {
            ends::act_as_supervisor();
            return std::process::ExitCode::SUCCESS;
        }
        // Not a test: how long it takes until a step's program begins.
        Some("measure") => {
            let mut taken: Vec<_> = (0..51).map(|_| levels::time_to_start()).collect();
            taken.sort();
            println!("median {:?}, slowest {:?}", taken[25], taken[50]);
            return std::process::ExitCode::SUCCESS;
        }
        Some("probe-here") => {
            println!("{:?}", rlxp_launch::confine::probe_here());
            return std::process::ExitCode::SUCCESS;
        }
        _ => {}
    }
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let tests = [ends::TESTS, escapes::TESTS, levels::TESTS, tree::TESTS].concat();
    let wanted: Vec<&Test> = tests.iter().filter(|(name, _)| name.contains(&filter)).collect();
    for (name, test) in &wanted {
        println!("test {name} ...");
        test();
    }
    println!("\ntest result: ok. {} passed", wanted.len());
    std::process::ExitCode::SUCCESS
}
