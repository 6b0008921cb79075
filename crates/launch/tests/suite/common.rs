//! Shared by several modules.

use std::time::{Duration, Instant};

/// Far more than any test here needs; reached only when something is broken. Processes that must be killed sleep for
/// longer, so that they can't end by themselves.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Waits until process `pid` has ended. A zombie counts as ended.
pub(crate) fn wait_until_gone(pid: &str) {
    let deadline = Instant::now() + LONG;
    while runs(pid) {
        assert!(Instant::now() < deadline, "process {pid} is still there");
        std::thread::yield_now();
    }
}

/// Whether process `pid` runs.
pub(crate) fn runs(pid: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "the tests look at /proc themselves")]
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z')))
}
