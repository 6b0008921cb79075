//! Steps that try to escape, steps that won't end, and what they can see.
//!
//! A step is confined by the program that asks for it, started a second time. So this program is its own helper, and
//! its own supervisor to be killed; each test runs from the main thread of a process, as in `rlx`.
#![expect(clippy::disallowed_methods, reason = "the tests look at files and processes themselves")]
#![expect(clippy::disallowed_types, reason = "the supervisor under test is a process too")]
#![expect(
    clippy::unwrap_used,
    reason = "all of this is tests, which clippy can't tell without their harness"
)]
#![expect(clippy::print_stdout, reason = "this is a test program with its own main")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/each.rs"]
mod each;
mod ends;
mod escapes;
mod levels;
mod stage;
mod tree;

use std::process::ExitCode;

use each::{Group, Test};

const GROUPS: [Group; 4] = [
    Group { prefix: "", tests: ends::TESTS, variables: &[] },
    Group { prefix: "", tests: escapes::TESTS, variables: &[] },
    Group { prefix: "", tests: levels::TESTS, variables: &[] },
    Group { prefix: "", tests: tree::TESTS, variables: &[] },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["__confine", ..] => return ExitCode::from(rlxp_launch::confine::helper()),
        [each::ONE, name] => return each::run_one(&GROUPS, name),
        ["act-as-supervisor"] => ends::act_as_supervisor(),
        // Not a test: how long it takes until a step's program begins.
        ["measure"] => {
            let mut taken: Vec<_> = (0..51).map(|_| levels::time_to_start()).collect();
            taken.sort();
            println!("median {:?}, slowest {:?}", taken[25], taken[50]);
        }
        ["probe-here"] => println!("{:?}", rlxp_launch::confine::probe_here()),
        _ => return each::run_all(&GROUPS),
    }
    ExitCode::SUCCESS
}
