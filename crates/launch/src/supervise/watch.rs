//! Polls the resources of a running step, at a pace that costs almost nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rlxp_fs::{Fs, RealFs};

use super::cgroup::Groups;
use super::limits::Seen;
use super::log::Log;
use super::{disk, processes};
use crate::order::{Limits, Usage};

/// Shortest time between two polls.
const INTERVAL: Duration = Duration::from_millis(100);
/// The pause after a poll is this many times its cost. There are two kinds of polls, so together they use less than
/// 1/250 of a processor; reading the step's output comes on top.
const WORTH: u32 = 500;
/// The same for an urgent walk through the folder: when the disk loses more than the run has left, or when nothing
/// else would show that the run isn't silent.
const WORTH_IN_NEED: u32 = 30;

/// What lives of a step.
#[derive(Default)]
pub(super) struct Alive {
    pub(super) processes: Vec<u32>,
    /// Where its files in memory are, if it has its own.
    pub(super) scratch: Option<PathBuf>,
}

/// The last measurements of a step, and when to poll again.
pub(super) struct Watch<'a> {
    groups: &'a Groups,
    folder: &'a Path,
    limits: &'a Limits,
    /// Usage of earlier steps.
    before: Usage,
    run_began: Instant,
    began: Instant,
    children_before: f64,
    next_look: Instant,
    next_walk: Instant,
    /// The earliest time for an urgent walk.
    next_walk_in_need: Instant,
    /// Free bytes on the disk at the last walk.
    free: u64,
    mark: u64,
    /// The last walk, and the last one that found a change.
    walked: Instant,
    changed: Instant,
    cpu_time: f64,
    seen: Seen,
}

impl<'a> Watch<'a> {
    /// A step begins.
    pub(super) fn begin(
        groups: &'a Groups,
        folder: &'a Path,
        limits: &'a Limits,
        before: Usage,
        run_began: Instant,
    ) -> Self {
        let now = rlxp_fs::clock::monotonic();
        Self {
            groups,
            folder,
            limits,
            before,
            run_began,
            began: now,
            children_before: processes::children_cpu_time(),
            next_look: now,
            next_walk: now,
            next_walk_in_need: now,
            free: 0,
            mark: 0,
            walked: now,
            changed: now,
            cpu_time: 0.0,
            seen: Seen { memory_is_kept: groups.keep_memory(), ..Seen::default() },
        }
    }

    /// The time until the next poll.
    pub(super) fn rest(&self) -> Duration {
        self.next_look.saturating_duration_since(rlxp_fs::clock::monotonic())
    }

    /// Polls. `processes` lists the step's processes, and where their files in memory are; it is only called if the kernel
    /// doesn't count.
    pub(super) fn look(&mut self, log: &Log, processes: impl Fn() -> Alive) -> Seen {
        let before = processes::own_cpu_time();
        self.count(&processes);
        let now = rlxp_fs::clock::monotonic();
        let counted = processes::own_cpu_time();
        self.next_look = now + pace(counted.saturating_sub(before));
        let is_needed = || self.is_in_need() || self.seems_silent(log, now);
        if now >= self.next_walk || (now >= self.next_walk_in_need && is_needed()) {
            self.walk(now);
            let cost = processes::own_cpu_time().saturating_sub(counted);
            self.next_walk = now + pace(cost);
            self.next_walk_in_need = now + cost.saturating_mul(WORTH_IN_NEED);
        }
        self.seen.output = log.came();
        // Files may have changed since the last walk.
        self.seen.quiet = log.quiet().min(self.walked.saturating_duration_since(self.changed));
        self.seen.wall_clock = now.saturating_duration_since(self.run_began);
        self.seen.cpu_time = self.before.cpu_time + self.cpu_time;
        self.seen.clone()
    }

    /// The last poll, after the step was reaped: what the kernel knows only now, and the final disk usage.
    pub(super) fn last_look(&mut self, log: &Log) -> Seen {
        let now = rlxp_fs::clock::monotonic();
        self.count(&Alive::default);
        self.walk(now);
        // A supervisor that was stopped polled nothing meanwhile.
        self.seen.wall_clock = now.saturating_duration_since(self.run_began);
        self.cpu_time = self.cpu_time.max(processes::children_cpu_time() - self.children_before);
        self.seen.output = log.came();
        self.seen.cpu_time = self.before.cpu_time + self.cpu_time;
        self.seen.quiet = Duration::ZERO;
        self.seen.clone()
    }

    /// Usage of this step so far.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            wall_clock: self.began.elapsed().as_secs_f64(),
            cpu_time: self.cpu_time,
            memory: self.seen.memory,
            processes: self.seen.processes,
            disk: self.seen.disk,
            output: self.seen.output,
        }
    }

    fn count(&mut self, processes: &impl Fn() -> Alive) {
        let kernel = self.groups.look();
        let is_all = kernel.memory.is_some() && kernel.processes.is_some() && kernel.cpu_time.is_some();
        let (mut memory, mut threads, mut cpu_time) = (0, 0, 0.0);
        if !is_all {
            let alive = processes();
            let sums = processes::look(&alive.processes);
            let files = alive.scratch.as_deref().and_then(processes::files_in_memory).unwrap_or_default();
            (memory, threads, cpu_time) = (sums.memory, sums.threads, sums.cpu_time);
            memory = memory.saturating_add(files.bytes);
            let is_shared = alive.processes.len() > 1 || files.bytes > 0;
            if memory > self.limits.memory && is_shared && kernel.memory.is_none() {
                let exact = processes::exact_memory(&alive.processes, files.device);
                memory = exact.map_or(memory, |exact| exact.saturating_add(files.bytes));
            }
        }
        self.seen.memory = self.seen.memory.max(kernel.memory.unwrap_or(memory));
        self.seen.processes = self.seen.processes.max(kernel.processes.unwrap_or(threads));
        self.seen.was_out_of_memory = kernel.was_out_of_memory;
        self.seen.was_refused = kernel.was_refused;
        self.cpu_time = self.cpu_time.max(kernel.cpu_time.unwrap_or(cpu_time));
    }

    /// Whether the disk has lost more since the last walk than the run may still use: it may be the run or another
    /// program. Checking costs nothing, whereas walks through very many files are rare.
    fn is_in_need(&self) -> bool {
        let left = self.limits.disk.saturating_sub(self.seen.disk);
        RealFs.available_space(self.folder).is_ok_and(|free| self.free.saturating_sub(free) > left)
    }

    /// Whether it was silent for too long, unless a file has changed since the last walk.
    fn seems_silent(&self, log: &Log, now: Instant) -> bool {
        let quiet = log.quiet().min(now.saturating_duration_since(self.changed));
        self.limits.silence.is_some_and(|limit| quiet > Duration::from_secs(limit))
    }

    fn walk(&mut self, now: Instant) {
        self.walked = now;
        self.free = RealFs.available_space(self.folder).unwrap_or(0);
        let found = disk::look(self.folder);
        self.seen.disk = found.bytes;
        self.seen.length = found.length;
        self.seen.is_too_deep = found.is_too_deep;
        self.seen.unlisted = found.unlisted;
        if found.mark != self.mark {
            (self.mark, self.changed) = (found.mark, now);
        }
    }
}

fn pace(cost: Duration) -> Duration {
    INTERVAL.max(cost.saturating_mul(WORTH))
}

#[cfg(test)]
mod tests {
    use rlxp_fs::FsExt;

    use super::*;

    #[test]
    fn what_nobody_looked_at_is_not_silent() {
        let (folder, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        RealFs.create_dir_all(&folder.path().join("train")).unwrap();
        let write = |name: &str| RealFs.write_new(&folder.path().join("train").join(name), b"x").unwrap();
        write("first");
        let limits =
            Limits { silence: Some(0), ..super::super::test_orders::order(folder.path(), Vec::new()).limits };
        let nothing = std::io::empty;
        let log =
            Log::start(&beside.path().join("log"), 1, &Default::default(), nothing(), nothing()).unwrap();
        let (groups, now) = (Groups::default(), rlxp_fs::clock::monotonic());
        let mut watch = Watch::begin(&groups, folder.path(), &limits, Usage::default(), now);
        watch.look(&log, Alive::default);
        let mut quiet = |next_walk_in_need: Instant| {
            // Walks have become expensive.
            watch.next_walk = now + Duration::from_secs(3600);
            watch.next_walk_in_need = next_walk_in_need;
            watch.look(&log, Alive::default).quiet
        };
        assert_eq!(quiet(now + Duration::from_secs(3600)), Duration::ZERO, "no walk was due");
        write("second");
        assert_eq!(quiet(now), Duration::ZERO, "a file has changed");
        assert!(quiet(now) > Duration::ZERO, "nothing has changed");
    }

    #[test]
    fn the_last_look_takes_the_time_again() {
        let (folder, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let limits = super::super::test_orders::order(folder.path(), Vec::new()).limits;
        let nothing = std::io::empty;
        let log =
            Log::start(&beside.path().join("log"), 1, &Default::default(), nothing(), nothing()).unwrap();
        let (groups, now) = (Groups::default(), rlxp_fs::clock::monotonic());
        let long_ago = now.checked_sub(Duration::from_secs(5)).unwrap();
        let mut watch = Watch::begin(&groups, folder.path(), &limits, Usage::default(), long_ago);
        // Nothing was polled since, as if the supervisor had been stopped.
        assert!(watch.last_look(&log).wall_clock >= Duration::from_secs(5));
    }

    #[test]
    fn dear_looks_come_seldom() {
        assert_eq!(pace(Duration::ZERO), INTERVAL);
        assert_eq!(pace(Duration::from_micros(200)), INTERVAL);
        assert_eq!(pace(Duration::from_millis(2)), Duration::from_secs(1));
        assert_eq!(pace(Duration::MAX), Duration::MAX);
    }
}
