//! The last actions of a step's process before it executes the step's program: it drops whatever would let
//! the program escape, and whatever it inherited by accident.
#![expect(clippy::disallowed_methods, reason = "the C library has no names for some system calls")]

use std::path::Path;

use rlxp_fs::{Fs, RealFs};
use rustix::process::{Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// A new session, default signals, no core dumps, and the first to be killed when the machine runs
/// out of memory.
pub(super) fn begin_afresh() -> Result<(), String> {
    rustix::process::setsid().map_err(|error| format!("can't start a new session: {error}"))?;
    // The kernel's own form of sigaction, all zero: the default, no flags. The C library's would leave out two signals
    // that it keeps for itself, and a parent may have had even those ignored.
    let default = [0u64; 4];
    for signal in 1..=64 {
        // SAFETY: the kernel reads the structure (at most 32 bytes) and writes nothing. Signals that can't be set are
        // refused, which is fine.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, &default, std::ptr::null::<libc::c_void>(), 8usize)
        };
    }
    // SAFETY: the set is initialised by sigemptyset before it is used, and both calls only use it.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, no_core)
        .map_err(|error| format!("can't disable core dumps: {error}"))?;
    // The step must not use the keys of the user's session. Kernels without keys refuse, and have none.
    // SAFETY: this asks for a new session keyring without a name; no pointer is followed.
    unsafe { libc::syscall(libc::SYS_keyctl, 1, std::ptr::null::<libc::c_char>()) };
    // Best effort: a system that refuses it kills another process instead.
    let _ =
        RealFs.open_append(Path::new("/proc/self/oom_score_adj")).and_then(|mut file| file.write_all(b"500"));
    Ok(())
}

/// Drops all capabilities, with no way to regain them, also not by executing a program.
pub(super) fn give_up() -> Result<(), String> {
    let failed = |error| format!("can't drop privileges: {error}");
    rustix::thread::set_no_new_privs(true).map_err(failed)?;
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // Numbers beyond what the kernel knows, and processes that have nothing to give up, are refused.
        if rustix::thread::capability_is_in_bounding_set(one).unwrap_or(false) {
            let _ = rustix::thread::remove_capability_from_bounding_set(one);
        }
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(failed)?;
    // Root would regain them all by executing the next program.
    let left = CapabilitySet::from_bits_retain(1);
    if rustix::process::getuid().is_root()
        && rustix::thread::capability_is_in_bounding_set(left).unwrap_or(false)
    {
        return Err("can't drop root privileges".to_owned());
    }
    // Last, because losing privileges resets it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)
}

/// Lets the next program inherit nothing but standard input, output and error.
pub(crate) fn close_the_rest() {
    const CLOEXEC: libc::c_uint = 4;
    // SAFETY: the call only marks descriptors, and none is needed across the execution of a program.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOEXEC) };
    if marked != 0 {
        for descriptor in 3..4096 {
            // SAFETY: as above; a number that isn't open is refused.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}
