//! Places at which a test ends this process as a power cut would. Builds without debug assertions have none.

/// Ends this process at once when `RLX_CRASH_AT` names this place.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    if rlxp_fs::environment::variable("RLX_CRASH_AT").as_deref() == Some(name) {
        rlxp_launch::signals::end_this_process();
    }
}

/// Nothing.
#[cfg(not(debug_assertions))]
pub(crate) fn point(_name: &str) {}
