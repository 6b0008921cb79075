//! The resources of a step's processes, from `/proc`, which is always available.

use std::path::Path;

use rlxp_fs::{FsExt, RealFs};

const SMALL: u64 = 64 * 1024;
/// Some hundred bytes for each mapping.
const LARGE: u64 = 256 << 20;

/// Sums over some processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// Seconds of processors, with those of children that have ended and were collected.
    pub(super) cpu_time: f64,
    /// Bytes in memory; pages that several share count for each.
    pub(super) memory: u64,
    pub(super) threads: u64,
}

/// Adds up. What has ended meanwhile counts nothing.
pub(super) fn look(processes: &[u32]) -> Sums {
    let (tick, page) = (system(libc::_SC_CLK_TCK, 100), system(libc::_SC_PAGESIZE, 4096));
    let mut sums = Sums::default();
    for process in processes {
        let Ok(text) = RealFs.read(Path::new(&format!("/proc/{process}/stat")), SMALL) else { continue };
        let Some([ticks, threads, pages]) = parse(&String::from_utf8_lossy(&text)) else { continue };
        sums.cpu_time += ticks as f64 / tick as f64;
        sums.threads = sums.threads.saturating_add(threads);
        sums.memory = sums.memory.saturating_add(pages.saturating_mul(page));
    }
    sums
}

/// The files that a step keeps in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InMemory {
    pub(super) bytes: u64,
    /// The number of their file system.
    pub(super) device: u64,
}

/// What the file system at `scratch` holds; `None` if it is gone.
pub(super) fn files_in_memory(scratch: &Path) -> Option<InMemory> {
    let (space, stat) = (rustix::fs::statvfs(scratch).ok()?, rustix::fs::stat(scratch).ok()?);
    let blocks = space.f_blocks.saturating_sub(space.f_bfree);
    Some(InMemory { bytes: blocks.saturating_mul(space.f_frsize), device: stat.st_dev })
}

/// Bytes in memory with each shared page counted once, and without mapped files of file system `apart`, which are counted
/// there. Takes the kernel much longer, so it is asked only when the quick sum says that a limit is reached.
pub(super) fn exact_memory(processes: &[u32], apart: u64) -> Option<u64> {
    let apart = (rustix::fs::major(apart), rustix::fs::minor(apart));
    let mut sum = 0_u64;
    for process in processes {
        let path = format!("/proc/{process}/smaps");
        match RealFs.read_text(Path::new(&path), LARGE) {
            Ok(text) => sum = sum.saturating_add(parse_proportional(&text, apart)?),
            Err(error) if error.is_not_found() => {}
            Err(_) => return None,
        }
    }
    Some(sum)
}

/// Processor time of all children of this process that have been collected, and of theirs.
pub(super) fn children_cpu_time() -> f64 {
    // SAFETY: all-zero bytes are a valid rusage; it is overwritten below.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for the answer.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) } != 0 {
        return 0.0;
    }
    [usage.ru_utime, usage.ru_stime].iter().map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6).sum()
}

/// Processor time of this thread: what a look costs, whatever else the machine does meanwhile.
pub(super) fn own_cpu_time() -> std::time::Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } != 0 {
        return std::time::Duration::ZERO;
    }
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn system(name: libc::c_int, otherwise: u64) -> u64 {
    // SAFETY: sysconf reads a constant of the system.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).ok().filter(|value| *value > 0).unwrap_or(otherwise)
}

/// Ticks of processors, threads and pages of `/proc/<pid>/stat`. The name in field 2 may hold spaces and brackets, so
/// counting starts after its last bracket, at field 3.
fn parse(stat: &str) -> Option<[u64; 3]> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = (14..=17).map(field).sum::<Option<u64>>()?;
    Some([ticks, field(20)?, field(24)?])
}

/// The sum over all mappings of `/proc/<pid>/smaps` but those of device `apart`. A mapping begins with a line of its
/// addresses, rights, offset and device (`00:3a`); lines about it follow.
fn parse_proportional(smaps: &str, apart: (u32, u32)) -> Option<u64> {
    let (mut sum, mut is_apart) = (0_u64, false);
    for line in smaps.lines() {
        if let Some(amount) = line.strip_prefix("Pss:") {
            let kibibytes = amount.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
            sum = sum.saturating_add(if is_apart { 0 } else { kibibytes.checked_mul(1024)? });
        } else if let Some(device) = device_of(line) {
            is_apart = device == apart;
        }
    }
    Some(sum)
}

fn device_of(line: &str) -> Option<(u32, u32)> {
    let mut fields = line.split_ascii_whitespace();
    fields.next().filter(|addresses| addresses.contains('-') && !addresses.ends_with(':'))?;
    let (major, minor) = fields.nth(2)?.split_once(':')?;
    Some((u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_says() {
        let stat = "5 (a b) c) R 1 5 5 0 -1 0 10 0 0 0 70 30 4 6 20 0 3 0 777 9999 25 0";
        assert_eq!(parse(stat), Some([110, 3, 25]));
        for broken in
            ["", "5 (a", "5 (a) R 1", "5 (a) R 1 5 5 0 -1 0 10 0 0 0 x 30 4 6 20 0 3 0 777 9999 25 0"]
        {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
        let smaps = "7f00-7f10 rw-s 00000000 00:3a 12 /dev/shm/block (deleted)\nRss: 8 kB\nPss:  12 kB\n\
                     7f20-7f30 rw-p 00000000 00:00 0 [heap]\nPss:  4 kB\nPss_Dirty: 4 kB\n";
        assert_eq!(parse_proportional(smaps, (0, 0x3a)), Some(4096));
        assert_eq!(parse_proportional(smaps, (0, 0x3b)), Some(16_384));
        assert_eq!(parse_proportional("Pss: none\n", (0, 0)), None);
    }

    #[test]
    fn this_process_takes_something_and_an_impossible_one_nothing() {
        let own = look(&[std::process::id(), u32::MAX]);
        assert!(own.memory > 4096 && own.threads >= 1, "{own:?}");
        assert!(exact_memory(&[std::process::id(), u32::MAX], 0).is_some_and(|bytes| bytes > 4096));
        assert_eq!(look(&[u32::MAX]), Sums::default());
    }
}
