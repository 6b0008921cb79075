//! Single-threaded processes: forking, noticing each other's end, and finding descendants.

use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

use rlxp_fs::{Fs, FsExt, RealFs};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

const LIMIT: u64 = 4 * 1024 * 1024;

/// All descendants of `ancestor` that live or wait to be collected, without itself. Processes that start or
/// end meanwhile may be missed; a caller that needs certainty asks again.
pub(super) fn below(ancestor: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut to_ask = vec![ancestor];
    while let Some(process) = to_ask.pop() {
        for child in children(process) {
            if !found.contains(&child) {
                found.push(child);
                to_ask.push(child);
            }
        }
    }
    found
}

/// Children belong to the thread that made them.
fn children(process: u32) -> Vec<u32> {
    let threads = format!("/proc/{process}/task");
    let mut children = Vec::new();
    for thread in RealFs.list(Path::new(&threads)).unwrap_or_default() {
        let file = format!("{threads}/{}/children", thread.name);
        let text = RealFs.read_text(Path::new(&file), LIMIT).unwrap_or_default();
        children.extend(text.split_ascii_whitespace().filter_map(|number| number.parse::<u32>().ok()));
    }
    children
}

/// The side of a fork.
pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks this process, which must be single-threaded.
pub(super) fn fork() -> std::io::Result<Forked> {
    #[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
    // SAFETY: the helper has one thread, so no other thread holds a lock at the time of the fork.
    match unsafe { libc::fork() } {
        ..0 => Err(std::io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent(Pid::from_raw(child).expect("a child's number is positive"))),
    }
}

/// Exits a forked process without running the rest of its parent's code.
pub(super) fn leave(code: u8) -> ! {
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(code)) }
}

/// A descriptor that can be read when a child has ended.
pub(super) fn child_signals() -> std::io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used; the calls only use it; the new descriptor has
    // no other owner.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if descriptor < 0 {
            Err(std::io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }
}

/// For the first process of a namespace, -1 addresses every other process in it.
pub(super) fn ask_all_to_end() {
    if getpid() == Pid::INIT {
        // SAFETY: sends a signal; no memory is involved.
        unsafe { libc::kill(-1, libc::SIGTERM) };
        return;
    }
    signal_descendants(Signal::TERM);
}

fn signal_descendants(signal: Signal) {
    for process in below(getpid().as_raw_pid() as u32) {
        if let Some(pid) = Pid::from_raw(process as i32) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Without a process namespace: orphans become children of this process, so it is the last one left exactly
/// when it has no children.
pub(super) fn end_descendants() {
    loop {
        signal_descendants(Signal::KILL);
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
