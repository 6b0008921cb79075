//! Makes the process that is about to execute Python the first of a PID namespace of its own, if the kernel lets it.
//!
//! Everything here runs between fork and exec: system calls only, no allocation. Text is prepared before.

#![expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]

use std::ffi::CString;
use std::io;

/// What is written to enter a user namespace that maps this user to itself.
pub(super) struct Entry {
    users: CString,
    groups: CString,
}

impl Entry {
    pub(super) fn new() -> Self {
        let map = |id: u32| CString::new(format!("{id} {id} 1")).expect("digits have no zero byte");
        Self {
            users: map(rustix::process::getuid().as_raw()),
            groups: map(rustix::process::getgid().as_raw()),
        }
    }

    /// Continues in the new namespace, as a child of the process that this was, which waits and ends as its child does.
    /// Continues here if there is none.
    pub(super) fn enter(&self) -> io::Result<()> {
        // SAFETY: this process is the single thread that fork left; both calls touch no memory of ours.
        let alone = unsafe { libc::unshare(libc::CLONE_NEWPID) == 0 }
            || unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) == 0 } && self.map();
        if !alone {
            return Ok(());
        }
        // SAFETY: single-threaded, and the child only makes system calls until it executes Python.
        let child = unsafe { libc::fork() };
        match child {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: prctl with PR_SET_PDEATHSIG touches no memory.
            0 => match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            },
            child => wait_for(child),
        }
    }

    /// Maps user and group to themselves.
    fn map(&self) -> bool {
        write(c"/proc/self/setgroups", c"deny")
            && write(c"/proc/self/uid_map", &self.users)
            && write(c"/proc/self/gid_map", &self.groups)
    }
}

fn write(path: &std::ffi::CStr, text: &std::ffi::CStr) -> bool {
    let bytes = text.to_bytes();
    // SAFETY: both pointers are to strings that live as long as the calls.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        libc::close(file);
        written == bytes.len() as isize
    }
}

/// Waits for the child and ends as it did. It holds nothing open, so that pipes end with the child.
fn wait_for(child: libc::pid_t) -> ! {
    // SAFETY: system calls on this single-threaded process; `status` is a valid place for the answer.
    unsafe {
        libc::signal(libc::SIGUSR1, libc::SIG_IGN);
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        let mut status = 0;
        while libc::waitpid(child, &raw mut status, 0) < 0 {
            if *libc::__errno_location() != libc::EINTR {
                libc::_exit(1);
            }
        }
        if libc::WIFSIGNALED(status) {
            let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
