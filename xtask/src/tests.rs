//! Building the workspace's tests and running them on all cores, with the time of every test.
//!
//! A program's tests are split into shards, and as many shards run at once as there are cores. Within a shard tests run
//! one after another, so the time between two of its lines is the time of a test. The longest shards of the last run
//! start first.

mod doc;
mod programs;
mod run;
mod shards;
mod times;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use doc::has_doc_tests;
use run::{Ran, run_shard};
use shards::Shard;

/// Tests that are named at the end for having taken longest.
const SLOWEST: usize = 10;

/// What running all of them gave.
pub(crate) struct Summary {
    pub(crate) build: Duration,
    pub(crate) run: Duration,
    tests: usize,
    programs: Vec<(String, Duration)>,
    slowest: Vec<(String, Duration)>,
}

/// Builds every test of the workspace and runs it.
pub(crate) fn run() -> Result<Summary, String> {
    let start = Instant::now();
    let programs = programs::build()?;
    let build = start.elapsed();
    let start = Instant::now();
    let known = times::read();
    let mut shards = Vec::new();
    for program in &programs {
        shards.extend(shards::split(program, &program.tests()?, &known));
    }
    shards.sort_by_key(|shard| std::cmp::Reverse(shard.expected));
    let ran = run_all(&shards);
    let run = start.elapsed();
    times::write(ran.iter().flat_map(|shard| &shard.times))?;
    let failures: Vec<&str> = ran.iter().filter_map(|shard| shard.failure.as_deref()).collect();
    if !failures.is_empty() {
        return Err(format!("{}\n\n{} shards failed", failures.join("\n\n"), failures.len()));
    }
    Ok(Summary::of(build, run, &ran))
}

impl Summary {
    fn of(build: Duration, run: Duration, ran: &[Ran]) -> Self {
        let mut by_program: BTreeMap<&str, Duration> = BTreeMap::new();
        for shard in ran {
            *by_program.entry(&shard.program).or_default() += shard.took;
        }
        let programs = by_program.into_iter().map(|(name, took)| (name.to_owned(), took));
        let mut slowest = longest_first(ran.iter().flat_map(|shard| shard.times.clone()));
        slowest.truncate(SLOWEST);
        let tests = ran.iter().map(|shard| shard.tests).sum();
        Self { build, run, tests, programs: longest_first(programs), slowest }
    }

    /// Prints the time of each program and the slowest tests.
    pub(crate) fn print(&self) {
        println!("\n{} tests in {} programs", self.tests, self.programs.len());
        for (name, took) in self.programs.iter().filter(|(_, took)| took.as_secs() > 0) {
            println!("  {:>6.1} s  {name}", took.as_secs_f64());
        }
        println!("slowest tests");
        for (name, took) in &self.slowest {
            println!("  {:>6.1} s  {name}", took.as_secs_f64());
        }
    }
}

fn longest_first(times: impl Iterator<Item = (String, Duration)>) -> Vec<(String, Duration)> {
    let mut times: Vec<_> = times.collect();
    times.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    times
}

/// Runs the shards in this order, one more at once than there are cores: tests wait a quarter of their time for disks
/// and processes.
fn run_all(shards: &[Shard]) -> Vec<Ran> {
    let lanes = thread::available_parallelism().map_or(1, usize::from) + 1;
    let (waiting, done) = (Mutex::new(shards.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no lane panics while it holds this").next();
                    let Some(shard) = next else { break };
                    let ran = run_shard(shard);
                    let verdict = if ran.failure.is_some() { "FAILED" } else { "ok" };
                    println!("{verdict:<6} {:>6.1} s  {}", ran.took.as_secs_f64(), shard.name());
                    done.lock().expect("no lane panics while it holds this").push(ran);
                }
            });
        }
    });
    done.into_inner().expect("no lane panics while it holds this")
}

#[cfg(test)]
mod own {
    use super::*;

    #[test]
    fn shards_of_a_program_are_added_up() {
        let ran = |program: &str, seconds: u64, tests: usize| Ran {
            program: program.to_owned(),
            took: Duration::from_secs(seconds),
            tests,
            times: vec![(format!("{program}: {seconds}"), Duration::from_secs(seconds))],
            failure: None,
        };
        let all = [ran("a", 1, 5), ran("b", 2, 1), ran("a", 3, 7)];
        let summary = Summary::of(Duration::ZERO, Duration::ZERO, &all);
        let names: Vec<_> =
            summary.programs.iter().map(|(name, took)| (name.as_str(), took.as_secs())).collect();
        assert_eq!((names, summary.tests), (vec![("a", 4), ("b", 2)], 13));
        assert_eq!(summary.slowest[0].0, "a: 3");
    }
}
