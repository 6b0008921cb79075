//! Which limit a run has reached, as text.

use std::path::PathBuf;
use std::time::Duration;

use super::taken;
use super::words::{bytes_of, seconds_of};
use crate::order::Limits;

/// A run's resources at one poll.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// All steps together.
    pub(super) wall_clock: Duration,
    /// Seconds, all steps together.
    pub(super) cpu_time: f64,
    /// Bytes of this step.
    pub(super) memory: u64,
    /// The kernel keeps the limit on memory: only what it refused counts, since a cache may fill the rest.
    pub(super) memory_is_kept: bool,
    /// A process was killed because it ran out of memory.
    pub(super) was_out_of_memory: bool,
    /// Processes and threads of this step.
    pub(super) processes: u64,
    /// A further process was refused.
    pub(super) was_refused: bool,
    /// Bytes of the run's folder.
    pub(super) disk: u64,
    /// The lengths of all its files together.
    pub(super) length: u64,
    /// The folder is nested deeper than can be counted.
    pub(super) is_too_deep: bool,
    /// A folder in it can't be listed, so it can't be counted.
    pub(super) unlisted: Option<PathBuf>,
    /// Bytes of this step.
    pub(super) output: u64,
    /// Without output and without a changed file.
    pub(super) quiet: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// Which, its value, and what was seen.
    pub(super) reason: String,
    /// How long the step may take to exit on its own: short if it harms the machine meanwhile.
    pub(super) grace: Duration,
}

const GRACE: Duration = Duration::from_secs(5);
const SHORT_GRACE: Duration = Duration::from_secs(1);

/// How long a cancelled step may take to exit on its own.
pub(super) const CANCEL_GRACE: Duration = GRACE;

/// The disk itself is a limit, whatever filled it: if a full disk counted as a host failure, filling it
/// would be a way to get another try.
pub(super) fn full(why: &dyn std::fmt::Display) -> Reached {
    Reached { reason: format!("disk: full: {why}"), grace: SHORT_GRACE }
}

/// The limit that harms the machine most among those that were reached.
pub(super) fn reached(limits: &Limits, seen: &Seen) -> Option<Reached> {
    harmful(limits, seen).or_else(|| {
        let reason = if seen.output > limits.output {
            format!("output: {}", bytes_of(seen.output, limits.output))
        } else if seen.cpu_time > limits.cpu_time as f64 {
            let cpu_time = Duration::try_from_secs_f64(seen.cpu_time).unwrap_or(Duration::MAX);
            format!("CPU time: {}", seconds_of(cpu_time, limits.cpu_time))
        } else if seen.wall_clock > Duration::from_secs(limits.wall_clock) {
            format!("wall clock: {}", seconds_of(seen.wall_clock, limits.wall_clock))
        } else {
            let silence = limits.silence.filter(|limit| seen.quiet > Duration::from_secs(*limit))?;
            format!("inactivity: {}", seconds_of(seen.quiet, silence))
        };
        Some(Reached { reason, grace: GRACE })
    })
}

/// The limits that protect everything else on the machine.
pub(super) fn harmful(limits: &Limits, seen: &Seen) -> Option<Reached> {
    let reason = if seen.was_out_of_memory {
        format!(
            "memory: {}, and the kernel refused more",
            bytes_of(seen.memory.max(limits.memory), limits.memory)
        )
    } else if seen.memory > limits.memory && !seen.memory_is_kept {
        format!("memory: {}", bytes_of(seen.memory, limits.memory))
    } else if seen.was_refused {
        format!("processes: {} of {0}, and the kernel refused more", limits.processes)
    } else if seen.processes > limits.processes {
        format!("processes: {} of {}", seen.processes, limits.processes)
    } else if seen.disk > limits.disk {
        format!("disk: {}", bytes_of(seen.disk, limits.disk))
    } else if seen.length > limits.disk {
        format!("disk: files of {} in total length", bytes_of(seen.length, limits.disk))
    } else if seen.is_too_deep {
        "disk: folders are nested too deeply to measure".to_owned()
    } else if let Some(folder) = &seen.unlisted {
        format!("disk: the folder {} can't be listed to measure it", taken::text(folder))
    } else {
        return None;
    };
    Some(Reached { reason, grace: SHORT_GRACE })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        wall_clock: 10,
        cpu_time: 20,
        memory: 512 << 20,
        processes: 64,
        disk: 1 << 30,
        output: 1 << 20,
        silence: Some(5),
    };

    fn check(change: impl FnOnce(&mut Seen), expected: Option<&str>) {
        let mut seen = Seen::default();
        change(&mut seen);
        assert_eq!(reached(&LIMITS, &seen).map(|reached| reached.reason).as_deref(), expected);
    }

    #[test]
    fn each_limit_is_reached_above_its_value_and_says_what_was_seen() {
        check(|_| {}, None);
        check(|seen| seen.memory = 512 << 20, None);
        check(|seen| seen.memory = (512 << 20) + 1, Some("memory: 513 MiB of 512 MiB"));
        check(|seen| (seen.memory, seen.memory_is_kept) = (u64::MAX, true), None);
        check(
            |seen| seen.was_out_of_memory = true,
            Some("memory: 512 MiB of 512 MiB, and the kernel refused more"),
        );
        check(|seen| seen.processes = 65, Some("processes: 65 of 64"));
        check(|seen| seen.was_refused = true, Some("processes: 64 of 64, and the kernel refused more"));
        check(|seen| seen.disk = 3 << 29, Some("disk: 2 GiB of 1 GiB"));
        check(|seen| seen.length = 60 << 30, Some("disk: files of 60 GiB of 1 GiB in total length"));
        check(
            |seen| seen.unlisted = Some("train/x".into()),
            Some("disk: the folder train/x can't be listed to measure it"),
        );
        check(|seen| seen.output = (1 << 20) + 1, Some("output: 2 MiB of 1 MiB"));
        check(|seen| seen.cpu_time = 20.25, Some("CPU time: 20.2 s of 20 s"));
        check(|seen| seen.wall_clock = Duration::from_millis(10_100), Some("wall clock: 10.1 s of 10 s"));
        check(|seen| seen.quiet = Duration::from_millis(5_100), Some("inactivity: 5.1 s of 5 s"));
        check(|seen| (seen.quiet, seen.processes) = (Duration::MAX, 65), Some("processes: 65 of 64"));
    }

    #[test]
    fn silence_is_allowed_where_nobody_limits_it() {
        let seen = Seen { quiet: Duration::from_secs(1 << 40), ..Seen::default() };
        assert_eq!(reached(&Limits { silence: None, ..LIMITS }, &seen), None);
    }
}
