//! Points at which a test kills this process as a power loss would. Builds without debug assertions
//! have none.

/// Ends this process at once when `RLX_CRASH_AT` names this place.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    if rlxp_fs::environment::variable("RLX_CRASH_AT").as_deref() == Some(name) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort();
    }
}

/// Nothing.
#[cfg(not(debug_assertions))]
pub fn point(_name: &str) {}
