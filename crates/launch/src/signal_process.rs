//! Signals a process that this one didn't start.

use std::io;

use rustix::process::{Pid, Signal};

/// What a process is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Save and stop, as after Ctrl-C (SIGINT).
    SaveAndStop,
    /// Stop at once (SIGKILL).
    StopNow,
}

/// Signals process `pid` if `is_it` still says so once the process can't be confused with another one; false if it
/// doesn't, or if there is no such process. A number alone may belong to another process by now.
pub fn signal_process(pid: u32, request: Request, is_it: &dyn Fn() -> bool) -> io::Result<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    let signal = match request {
        Request::SaveAndStop => Signal::INT,
        Request::StopNow => Signal::KILL,
    };
    match send(pid, signal, is_it) {
        Err(rustix::io::Errno::SRCH) => Ok(false),
        sent => Ok(sent?),
    }
}

/// The handle refers to one process even if its number is given to another; so the check comes after it was opened.
#[cfg(target_os = "linux")]
fn send(pid: Pid, signal: Signal, is_it: &dyn Fn() -> bool) -> rustix::io::Result<bool> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => {
            let is_it = is_it();
            if is_it {
                pidfd_send_signal(handle, signal)?;
            }
            Ok(is_it)
        }
        Err(rustix::io::Errno::NOSYS) => send_by_number(pid, signal, is_it),
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn send(pid: Pid, signal: Signal, is_it: &dyn Fn() -> bool) -> rustix::io::Result<bool> {
    send_by_number(pid, signal, is_it)
}

fn send_by_number(pid: Pid, signal: Signal, is_it: &dyn Fn() -> bool) -> rustix::io::Result<bool> {
    let is_it = is_it();
    if is_it {
        rustix::process::kill_process(pid, signal)?;
    }
    Ok(is_it)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_the_process_that_is_meant_is_signalled() {
        let mut child = Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        assert!(!signal_process(pid, Request::StopNow, &|| false).unwrap());
        assert!(child.try_wait().unwrap().is_none(), "it still runs");
        // Not SIGINT: these tests may have been started with it ignored.
        assert!(signal_process(pid, Request::StopNow, &|| true).unwrap());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(!signal_process(pid, Request::StopNow, &|| true).unwrap(), "it is gone");
        assert!(!signal_process(0, Request::StopNow, &|| true).unwrap());
        assert!(!signal_process(u32::MAX, Request::StopNow, &|| true).unwrap());
    }
}
