//! The harness of test programs that have their own main: each test in a process of its own, one after another from its
//! main thread, and all that failed told at the end.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A test by name.
pub(crate) type Test = (&'static str, fn());

/// Tests that see the same variables.
pub(crate) struct Group {
    /// What their names begin with.
    pub(crate) prefix: &'static str,
    pub(crate) tests: &'static [Test],
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

/// The first argument of a process that runs one test; the second is its name.
pub(crate) const ONE: &str = "one-test";

/// A test that takes this long hangs.
const LONGEST: Duration = Duration::from_secs(180);

/// Runs the tests whose names contain one of the program's arguments; all of them without any.
pub(crate) fn run_all(groups: &[Group]) -> ExitCode {
    let filters: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    for group in groups {
        for (name, _) in group.tests {
            let name = format!("{}{name}", group.prefix);
            if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
                continue;
            }
            let began = Instant::now();
            match problem(&name, group.variables) {
                None => {
                    println!("test {name} ... ok ({:.1} s)", began.elapsed().as_secs_f64());
                    passed += 1;
                }
                Some(problem) => {
                    println!("test {name} ... FAILED ({problem})");
                    failed.push(name);
                }
            }
        }
    }
    if failed.is_empty() {
        println!("\ntest result: ok. {passed} passed");
        return ExitCode::SUCCESS;
    }
    println!("\nfailures:\n    {}", failed.join("\n    "));
    println!("\ntest result: FAILED. {passed} passed; {} failed", failed.len());
    ExitCode::FAILURE
}

/// Runs one test here.
pub(crate) fn run_one(groups: &[Group], name: &str) -> ExitCode {
    let mut all = groups.iter().flat_map(|group| group.tests.iter().map(move |test| (group.prefix, test)));
    let found = all.find(|(prefix, (test, _))| name.strip_prefix(prefix) == Some(*test));
    let (_, (_, test)) = found.expect("the name comes from the same list");
    test();
    ExitCode::SUCCESS
}

/// Runs one test in a process of its own; what is wrong with how that ended.
fn problem(name: &str, variables: &[(&str, &str)]) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args([ONE, name]).envs(variables.iter().copied()).stdin(Stdio::null());
    let mut child = command.spawn().expect("this program starts");
    let deadline = Instant::now() + LONGEST;
    loop {
        match child.try_wait().expect("a child of this process") {
            Some(status) => return (!status.success()).then(|| status.to_string()),
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            None => {
                child.kill().expect("a child of this process");
                child.wait().expect("a child of this process");
                return Some(format!("it hung for {LONGEST:?}"));
            }
        }
    }
}
