//! What the process was started with: variables, working folder, processors.
#![expect(clippy::disallowed_methods, reason = "this is the door itself")]

use std::path::{Path, PathBuf};

use crate::{FsError, Result};

/// The value of an environment variable, when it is set and is UTF-8.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether an environment variable is set to anything but the empty text.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The working folder.
pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|e| FsError::new("find the working folder", Path::new("."), e))
}

/// The running program's own file. A program whose file was replaced while it runs (by a new build, say) has no path
/// any more, but Linux can still read and start the same bytes.
pub fn current_program() -> Result<PathBuf> {
    let program =
        std::env::current_exe().map_err(|e| FsError::new("find the running program", Path::new("rlx"), e))?;
    let is_replaced = program.to_string_lossy().ends_with(" (deleted)");
    Ok(if is_replaced { PathBuf::from("/proc/self/exe") } else { program })
}

/// How many processors this process may use (at least one).
pub fn processor_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Bytes of memory available without swapping; `None` if unknown.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
