//! Processes, git and sandboxing from outside.
//!
//! Has its own main, because most of these tests run this program a second time: as the helper that sandboxes a step
//! (`__confine`, which a library can only find in the program that uses it), as a supervisor to be killed, as a program
//! that misbehaves. Each test runs on the main thread of its own process, as commands do in `rlx`: namespaces and the
//! signal of a parent's death depend on it.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests start processes and look at files from outside"
)]
#![expect(
    clippy::unwrap_used,
    reason = "all of this is tests, which clippy can't tell without their harness"
)]
#![expect(clippy::print_stdout, reason = "this program has its own main")]

mod common;
mod confine;
mod git;
mod git_write;
mod harness;
mod orphans;
mod signals;
mod supervise;
mod worker;

use std::process::ExitCode;

use harness::{Group, ONE};

const GROUPS: &[Group] = &[
    Group { module: "confine::ends", tests: confine::ends::TESTS, variables: &[] },
    Group { module: "confine::escapes", tests: confine::escapes::TESTS, variables: &[] },
    Group { module: "confine::levels", tests: confine::levels::TESTS, variables: &[] },
    Group { module: "confine::tree", tests: confine::tree::TESTS, variables: &[] },
    Group { module: "git", tests: git::TESTS, variables: &[] },
    Group { module: "git_write", tests: git_write::TESTS, variables: &[] },
    Group { module: "orphans", tests: orphans::TESTS, variables: &[] },
    Group { module: "signals", tests: signals::TESTS, variables: &[] },
    Group { module: "supervise::ends", tests: supervise::ends::TESTS, variables: &[supervise::SECRET] },
    Group { module: "supervise::limits", tests: supervise::limits::TESTS, variables: &[supervise::SECRET] },
    Group {
        module: "supervise::limits::without_cgroups",
        tests: supervise::limits::WITHOUT_CGROUPS,
        variables: &[supervise::SECRET, ("RLX_WITHOUT", "cgroup")],
    },
    Group {
        module: "supervise::programs",
        tests: supervise::programs::TESTS,
        variables: &[supervise::SECRET],
    },
    Group { module: "worker", tests: worker::TESTS, variables: &[] },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["__confine", ..] => return ExitCode::from(rlxp_launch::confine::helper()),
        [ONE, name] => harness::run_one(GROUPS, name),
        ["act", what] => supervise::acts::act(what),
        ["supervise-step"] => confine::ends::act_as_supervisor(),
        ["supervise-worker"] => orphans::act_as_supervisor(),
        // Not a test: how long it takes until a step's program begins.
        ["measure"] => {
            let mut taken: Vec<_> = (0..51).map(|_| confine::levels::time_to_start()).collect();
            taken.sort();
            println!("median {:?}, slowest {:?}", taken[25], taken[50]);
        }
        ["probe-here"] => println!("{:?}", rlxp_launch::confine::probe_here()),
        _ => return harness::run(GROUPS, args),
    }
    ExitCode::SUCCESS
}
