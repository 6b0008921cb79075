//! Guesses whether the kernel killed a child because it ran out of memory, so
//! that the report can say more than "killed".

use std::path::Path;

use rlxp_fs::{FsExt, RealFs};

/// Whether a child ran out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfMemory {
    /// Nothing points to it.
    No,
    /// It was killed by something other than rlx, and the kernel doesn't report the cause.
    Possible,
    /// The kernel counted an out-of-memory kill meanwhile, or the child said
    /// that an allocation failed.
    Likely,
}

/// Judges an end. `before` and `after` are the kernel's counts around the child's life.
pub(crate) fn judge(
    signal: Option<i32>,
    killed_by_us: bool,
    stderr: &str,
    before: Option<u64>,
    after: Option<u64>,
) -> OutOfMemory {
    match signal {
        // Rust's allocator prints this and aborts.
        Some(libc::SIGABRT) if stderr.contains("memory allocation of ") => OutOfMemory::Likely,
        Some(libc::SIGKILL) if !killed_by_us => match (before, after) {
            (Some(before), Some(after)) if after > before => OutOfMemory::Likely,
            (Some(_), Some(_)) => OutOfMemory::No,
            _ => OutOfMemory::Possible,
        },
        _ => OutOfMemory::No,
    }
}

/// Out-of-memory kills since boot as the kernel counts them, where it says so.
pub(crate) fn kernel_count() -> Option<u64> {
    counted(&RealFs.read_text(Path::new("/proc/vmstat"), 1024 * 1024).ok()?)
}

fn counted(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_blamed_on_memory_only_with_a_reason() {
        let killed = Some(libc::SIGKILL);
        assert_eq!(judge(killed, false, "", Some(3), Some(4)), OutOfMemory::Likely);
        assert_eq!(judge(killed, false, "", Some(3), Some(3)), OutOfMemory::No);
        assert_eq!(judge(killed, false, "", None, None), OutOfMemory::Possible);
        assert_eq!(judge(killed, true, "", Some(3), Some(4)), OutOfMemory::No);
        assert_eq!(judge(Some(libc::SIGSEGV), false, "", Some(3), Some(4)), OutOfMemory::No);
        let said = "memory allocation of 8589934592 bytes failed\n";
        assert_eq!(judge(Some(libc::SIGABRT), false, said, None, None), OutOfMemory::Likely);
        assert_eq!(judge(None, false, said, None, None), OutOfMemory::No);
    }

    #[test]
    fn reads_the_kernels_counter() {
        assert_eq!(counted("nr_free_pages 1\noom_kill 12\nswap_ra 0\n"), Some(12));
        assert_eq!(counted("nr_free_pages 1\n"), None);
    }
}
