//! The test harness of this program: runs each test in its own process, one after another, and understands the options of
//! Rust's own harness that cargo and `cargo xtask test` use.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A test and its name.
pub(crate) type Test = (&'static str, fn());

/// The tests of a module. One that is left out is dead code, which the lints reject.
macro_rules! tests {
    ($($test:ident),* $(,)?) => { &[$((stringify!($test), $test)),*] };
}
pub(crate) use tests;

/// The tests of a module, and the variables that they see.
pub(crate) struct Group {
    pub(crate) module: &'static str,
    pub(crate) tests: &'static [Test],
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

impl Group {
    /// Its tests with their full names.
    fn named(&self) -> impl Iterator<Item = (String, fn())> {
        self.tests.iter().map(|(name, test)| (format!("{}::{name}", self.module), *test))
    }
}

/// The first argument of a process that runs one test; the second is its name.
pub(crate) const ONE: &str = "one-test";

/// A test that takes this long hangs.
const LONGEST: Duration = Duration::from_secs(180);

/// What the command line asks for.
#[derive(Default)]
struct Options {
    list: bool,
    exact: bool,
    names: Vec<String>,
}

impl Options {
    fn parse(args: Vec<String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(word) = args.next() {
            match word.as_str() {
                "--list" => options.list = true,
                "--exact" => options.exact = true,
                // Their value is not the name of a test.
                "--format" | "--test-threads" => drop(args.next()),
                "--quiet" | "-q" | "--nocapture" | "--no-capture" | "--show-output" => {}
                _ if word.starts_with('-') => return Err(format!("this harness has no option {word}")),
                _ => options.names.push(word),
            }
        }
        Ok(options)
    }

    fn selects(&self, name: &str) -> bool {
        let fits = |wanted: &String| if self.exact { name == wanted } else { name.contains(wanted) };
        self.names.is_empty() || self.names.iter().any(fits)
    }
}

/// Runs or lists the tests that the arguments select: all of them without a name.
pub(crate) fn run(groups: &[Group], args: Vec<String>) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(options) => options,
        Err(problem) => {
            println!("error: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let (mut passed, mut failed) = (0, Vec::new());
    for group in groups {
        for (name, _) in group.named().filter(|(name, _)| options.selects(name)) {
            if options.list {
                println!("{name}: test");
                continue;
            }
            match problem(&name, group.variables) {
                None => {
                    println!("test {name} ... ok");
                    passed += 1;
                }
                Some(problem) => {
                    println!("test {name} ... FAILED ({problem})");
                    failed.push(name);
                }
            }
        }
    }
    if options.list {
        return ExitCode::SUCCESS;
    }
    if failed.is_empty() {
        println!("\ntest result: ok. {passed} passed");
        return ExitCode::SUCCESS;
    }
    println!("\nfailures:\n    {}", failed.join("\n    "));
    println!("\ntest result: FAILED. {passed} passed; {} failed", failed.len());
    ExitCode::FAILURE
}

/// Runs one test in this process.
pub(crate) fn run_one(groups: &[Group], name: &str) {
    let (_, test) = groups
        .iter()
        .flat_map(Group::named)
        .find(|(test, _)| test == name)
        .expect("the name comes from the same list");
    test();
}

/// Runs one test in its own process; what is wrong with how that ended.
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
