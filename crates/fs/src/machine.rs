//! Which machine this is, whether a process on it is alive (what is needed to
//! prove that the writer of a run is gone), and how much memory this one uses.
//!
//! A process is known by its number together with its start time, because
//! numbers are used again; a start time means something only within one boot,
//! and a number only within one process namespace (a container has its own).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use crate::{Fs, FsExt, RealFs};

/// The machine that the program runs on.
pub trait Machine: Send + Sync {
    /// The host's name.
    fn host(&self) -> String;
    /// A text that is different after every boot; empty when unknown.
    fn boot_id(&self) -> String;
    /// The installation's own number; empty when unknown.
    fn machine_id(&self) -> String;
    /// Which process numbers this process sees; empty when unknown.
    fn process_namespace(&self) -> String;
    /// This process's number.
    fn process_id(&self) -> u32 {
        std::process::id()
    }
    /// When a living process started, in clock ticks since boot. Nothing when
    /// there is no such process or it has ended and only waits to be collected.
    fn process_start(&self, process: u32) -> Option<u64>;
    /// The arguments that a living process was started with; nothing when they can't be read.
    fn process_arguments(&self, _process: u32) -> Option<Vec<OsString>> {
        None
    }
}

/// The machine as Linux shows it under `/proc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealMachine;

const SMALL: u64 = 64 * 1024;

fn line(path: &str) -> String {
    RealFs.read_text(Path::new(path), SMALL).map(|text| text.trim().to_owned()).unwrap_or_default()
}

impl Machine for RealMachine {
    fn host(&self) -> String {
        let host = line("/proc/sys/kernel/hostname");
        if host.is_empty() { "localhost".to_owned() } else { host }
    }

    fn boot_id(&self) -> String {
        line("/proc/sys/kernel/random/boot_id")
    }

    fn machine_id(&self) -> String {
        line("/etc/machine-id")
    }

    fn process_namespace(&self) -> String {
        RealFs
            .read_link(Path::new("/proc/self/ns/pid"))
            .map(|target| target.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    fn process_start(&self, process: u32) -> Option<u64> {
        parse_start(&line(&format!("/proc/{process}/stat")))
    }

    fn process_arguments(&self, process: u32) -> Option<Vec<OsString>> {
        let bytes = RealFs.read(Path::new(&format!("/proc/{process}/cmdline")), 1 << 20).ok()?;
        let words = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        Some(words.map(|word| OsString::from_vec(word.to_vec())).collect())
    }
}

/// Memory of this process that is in use right now, as Linux counts it; nothing
/// where that is not known. It takes microseconds, so not for every step.
pub fn resident_bytes() -> Option<u64> {
    parse_resident(&line("/proc/self/statm"), rustix::param::page_size() as u64)
}

/// Field 2 of `/proc/<pid>/statm` counts pages.
fn parse_resident(statm: &str, page: u64) -> Option<u64> {
    statm.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(page)
}

/// Field 22 of `/proc/<pid>/stat`, unless the state (field 3) says that the
/// process has ended. The name in field 2 may hold spaces and brackets, so
/// counting starts after its last bracket.
fn parse_start(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_an_impossible_one_is_not() {
        let own = RealMachine.process_start(std::process::id());
        assert!(own.is_some());
        assert_eq!(own, RealMachine.process_start(std::process::id()));
        assert_eq!(RealMachine.process_start(u32::MAX), None);
        assert!(!RealMachine.boot_id().is_empty());
    }

    #[test]
    fn resident_memory_is_counted_in_bytes() {
        assert_eq!(parse_resident("900 25 3 1 0 7 0", 4096), Some(102_400));
        for unknown in ["", "900", "900 x", "900 18446744073709551615"] {
            assert_eq!(parse_resident(unknown, 4096), None, "{unknown:?}");
        }
        let before = resident_bytes().unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes().unwrap();
        assert!(held.len() as u64 / 2 < after.saturating_sub(before) && before > 4096, "{before} to {after}");
    }

    #[test]
    fn odd_names_and_ended_processes_are_understood() {
        let rest = "1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        assert_eq!(parse_start(&format!("5 (a b) c) S {rest}")), Some(777));
        assert_eq!(parse_start(&format!("5 (a) Z {rest}")), None);
        assert_eq!(parse_start("5 (a"), None);
        assert_eq!(parse_start(""), None);
    }
}
