//! Shards: some of a program's tests, to be run by one process.

use std::time::Duration;

use super::programs::Program;
use super::times::Times;

/// How long a shard is meant to take at most. One test alone may take longer.
const LONGEST: Duration = Duration::from_secs(10);

pub(super) struct Shard<'p> {
    pub(super) program: &'p Program,
    pub(super) tests: Vec<String>,
    pub(super) expected: Duration,
    /// Its place among the shards of its program, from 1.
    number: usize,
}

impl Shard<'_> {
    pub(super) fn name(&self) -> String {
        format!("{} {}, {} tests", self.program.name, self.number, self.tests.len())
    }
}

/// Splits a program's tests into shards. Neighbours in its list stay together: they are from the same module and share
/// what is made once per process.
pub(super) fn split<'p>(program: &'p Program, tests: &[String], known: &Times) -> Vec<Shard<'p>> {
    let mut shards: Vec<Shard> = Vec::new();
    for test in tests {
        let expected = known.get(&full_name(program, test)).copied().unwrap_or(unknown(program));
        let number = shards.len() + 1;
        match shards.last_mut() {
            Some(last) if last.expected + expected <= LONGEST => {
                last.tests.push(test.clone());
                last.expected += expected;
            }
            _ => shards.push(Shard { program, tests: vec![test.clone()], expected, number }),
        }
    }
    shards
}

/// A test's name in the record of times.
pub(super) fn full_name(program: &Program, test: &str) -> String {
    format!("{}: {test}", program.name)
}

/// How long a new test is expected to take: those that start processes take longest.
fn unknown(program: &Program) -> Duration {
    match program.name.as_str() {
        "cli suite" => Duration::from_millis(2500),
        "launch suite" => Duration::from_secs(1),
        _ => Duration::from_millis(50),
    }
}

#[cfg(test)]
mod own {
    use super::*;
    use crate::tests::programs::own::program;

    fn sizes(shards: &[Shard]) -> Vec<usize> {
        shards.iter().map(|shard| shard.tests.len()).collect()
    }

    #[test]
    fn shards_are_filled_by_known_times_and_hold_every_test_once() {
        let (program, tests) = (program("a suite"), ["1", "2", "3", "4", "5"].map(str::to_owned));
        let seconds = [("1", 4), ("2", 6), ("3", 90), ("4", 1), ("5", 1)];
        let known = seconds
            .iter()
            .map(|(test, took)| (format!("a suite: {test}"), Duration::from_secs(*took)))
            .collect();
        let shards = split(&program, &tests, &known);
        assert_eq!(sizes(&shards), [2, 1, 2]);
        assert_eq!(shards[1].expected.as_secs(), 90);
        assert_eq!(shards.iter().flat_map(|shard| shard.tests.clone()).collect::<Vec<_>>(), tests);
        assert_eq!(shards[2].name(), "a suite 3, 2 tests");
    }

    #[test]
    fn new_tests_are_distributed_evenly() {
        let tests: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        assert_eq!(sizes(&split(&program("cli suite"), &tests, &Times::new())), [4, 4, 2]);
        assert_eq!(sizes(&split(&program("types rlxp_types"), &tests, &Times::new())), [10]);
        assert_eq!(sizes(&split(&program("types rlxp_types"), &[], &Times::new())), []);
    }
}
