//! What every child of rlx has in common: a process group of its own, and an
//! end when the process that started it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal};

/// Puts the future child into a process group of its own, so that a
/// terminal's Ctrl-C doesn't reach it, and ties its life to this process.
///
/// The tie is Linux's parent-death signal. It fires when the *thread* that
/// started the child ends, so children are started from a thread that lives as
/// long as they do.
pub(crate) fn isolate(command: &mut Command) {
    command.process_group(0);
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs between fork and exec. It makes system calls
    // only (prctl, getppid, sigaction), allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            die_with(parent)?;
            default_signals()
        });
    }
}

#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; nothing would fire then.
    if rustix::process::getppid() != Some(parent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}

/// `nohup` and shells without job control start programs with SIGHUP or SIGINT
/// ignored, and a child inherits that. The supervisor respects it for itself,
/// but its children must listen to the supervisor. SIGXFSZ is ignored by rlx
/// itself, and other programs don't expect that.
pub(crate) fn default_signals() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ] {
        // SAFETY: signal() with SIG_DFL is async-signal-safe and touches no memory of ours.
        if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Sends `signal` to every process of the child's group. A group that no longer
/// exists is not an error.
pub(crate) fn signal_group(leader: u32, signal: Signal) -> io::Result<()> {
    let leader = Pid::from_raw(leader as i32).expect("a started child has a positive pid");
    match rustix::process::kill_process_group(leader, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
