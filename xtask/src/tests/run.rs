//! Running a shard and reading what its process prints.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::shards::{Shard, full_name};

/// How a shard went.
pub(super) struct Ran {
    pub(super) program: String,
    pub(super) took: Duration,
    pub(super) tests: usize,
    /// Tests that passed, with their times.
    pub(super) times: Vec<(String, Duration)>,
    /// What it printed, when it failed.
    pub(super) failure: Option<String>,
}

pub(super) fn run_shard(shard: &Shard) -> Ran {
    let start = Instant::now();
    let mut command = shard.program.command();
    command.args(["--test-threads", "1", "--exact"]).args(&shard.tests);
    let (times, outcome) = follow(&mut command);
    let failure = outcome.and_then(|said| complete(&said, shard.tests.len())).err();
    Ran {
        program: shard.program.name.clone(),
        took: start.elapsed(),
        tests: shard.tests.len(),
        times: times.into_iter().map(|(test, took)| (full_name(shard.program, &test), took)).collect(),
        failure: failure.map(|said| format!("{}:\n{said}", shard.name())),
    }
}

/// Fails unless the summary in `said` counts as many passed tests as were asked for: a name that matches nothing, or an
/// ignored test, would look like success.
fn complete(said: &str, asked: usize) -> Result<(), String> {
    let count = |line: &str| line.strip_prefix("test result: ok. ")?.split_once(" passed")?.0.parse().ok();
    match said.lines().find_map(count) {
        Some(passed) if asked == passed => Ok(()),
        Some(passed) => Err(format!("{passed} of {asked} tests ran\n{said}")),
        None => Err(format!("it ended without a summary\n{said}")),
    }
}

/// The times of the tests that passed, and everything else that the program printed: an error if it failed.
fn follow(command: &mut Command) -> (Vec<(String, Duration)>, Result<String, String>) {
    let (mut times, mut said) = (Vec::new(), String::new());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return (times, Err(error.to_string())),
    };
    let errors = child.stderr.take().expect("it was asked for");
    let errors = thread::spawn(move || lines(errors).collect::<Vec<_>>().join("\n"));
    let mut before = Instant::now();
    for line in lines(child.stdout.take().expect("it was asked for")) {
        match passed_test(&line) {
            Some(name) => {
                times.push((name.to_owned(), before.elapsed()));
                before = Instant::now();
            }
            None => said.extend([line.as_str(), "\n"]),
        }
    }
    let status = child.wait();
    said.push_str(&errors.join().unwrap_or_default());
    let outcome = match status {
        Ok(status) if status.success() => Ok(said),
        Ok(status) => Err(format!("{said}\n{status}")),
        Err(error) => Err(error.to_string()),
    };
    (times, outcome)
}

fn lines(stream: impl std::io::Read) -> impl Iterator<Item = String> {
    let lines = BufReader::new(stream).split(b'\n').map_while(Result::ok);
    lines.map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// The test that a line reports as passed.
fn passed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... ok")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

#[cfg(test)]
mod own {
    use super::*;

    #[test]
    fn passed_tests_are_recognised() {
        assert_eq!(passed_test("test a::b ... ok"), Some("a::b"));
        assert_eq!(passed_test("test a::b - should panic ... ok"), Some("a::b"));
        assert_eq!(passed_test("test a::b ... FAILED"), None);
        assert_eq!(passed_test("test a::b ... ignored"), None);
    }

    #[test]
    fn a_test_that_did_not_run_is_a_failure() {
        let said = "running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert_eq!(complete(said, 2), Ok(()));
        assert!(complete(said, 3).unwrap_err().starts_with("2 of 3 tests ran\n"));
        assert!(complete("", 1).unwrap_err().starts_with("it ended without a summary"));
    }

    #[test]
    fn output_and_exit_code_of_a_failure_are_kept() {
        let script = "echo test a ... ok; echo test b ... FAILED; echo why >&2; exit 101";
        let (times, outcome) = follow(Command::new("sh").args(["-c", script]));
        assert_eq!((times.len(), times[0].0.as_str()), (1, "a"));
        let said = outcome.unwrap_err();
        assert!(said.starts_with("test b ... FAILED\nwhy") && said.contains("101"), "{said}");
        let (_, outcome) = follow(&mut Command::new("/nowhere/at/all"));
        assert!(outcome.is_err());
    }
}
