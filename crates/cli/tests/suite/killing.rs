//! Running a command and killing it, its supervisor or its workers, after some time.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Victim {
    /// The command itself.
    Supervisor,
    /// The processes that it started.
    Worker,
}

pub(crate) fn kill(process: u32) {
    // The process may have ended by itself a moment before.
    let _ = Command::new("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
}

fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Waits until all processes have exited.
pub(crate) fn wait_gone(processes: &[u32]) {
    let begin = Instant::now();
    let there = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while processes.iter().any(there) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{processes:?} outlived the supervisor");
        std::thread::yield_now();
    }
}

/// Lets `command` run for `delay`, then kills; returns whether that ended it.
pub(crate) fn run_and_kill(mut command: Command, delay: Duration, victim: Victim) -> (bool, ExitStatus) {
    let mut supervisor: Child = command.spawn().unwrap();
    let begin = Instant::now();
    while begin.elapsed() < delay {
        if let Some(status) = supervisor.try_wait().unwrap() {
            return (false, status);
        }
        std::thread::yield_now();
    }
    let workers = children(supervisor.id());
    match victim {
        Victim::Supervisor => kill(supervisor.id()),
        Victim::Worker => workers.iter().for_each(|worker| kill(*worker)),
    }
    let status = supervisor.wait().unwrap();
    wait_gone(&workers);
    (!status.success(), status)
}
