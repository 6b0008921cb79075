//! Starts this program as a process that lives on without the one that started it: in its own session, so that neither
//! a closed terminal nor a killed shell reaches it, and not tied to the starter's life.
//!
//! Its standard error is a log file. Its standard output is a pipe to the starter until it calls [`let_go`]: so the
//! starter can report why nothing started. After that both are the log.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::stdio::{dup2_stdout, stderr};

use crate::child::default_signals;
use crate::confine::close_the_rest;
use crate::output::lines;
use crate::permit::Permit;
use crate::signal_process::{Request, signal_process};
use crate::worker::{LaunchError, Next, WorkerCommand};

/// Most log files in one folder.
const MOST_LOGS: u32 = 9999;

/// A process that was started and still talks to this one.
pub struct Detached {
    /// Its log.
    pub log: PathBuf,
    child: Child,
    lines: Receiver<String>,
}

/// Starts this program with `args`; its log is a new file `supervisor_<n>.log` in `<run>/logs`, which must exist.
pub fn start_detached(_permit: &Permit, args: &[OsString], run: &Path) -> Result<Detached, LaunchError> {
    let WorkerCommand { program, args, .. } = WorkerCommand::this_program(args.iter().cloned())?;
    let log = new_log(run).map_err(|source| LaunchError::Log { folder: run.join("logs"), source })?;
    start(&program, &args, log).map_err(|source| LaunchError::Start { program, source })
}

fn start(program: &Path, args: &[OsString], (log, path): (OwnedFd, PathBuf)) -> io::Result<Detached> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    // SAFETY: the closure runs between fork and exec. It makes system calls only (setsid, signal, close_range),
    // allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            default_signals()?;
            ignore_hang_up();
            // A descriptor of the shell that stayed open would keep a pipeline or an ssh session waiting.
            close_the_rest();
            Ok(())
        });
    }
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().expect("stdout was configured as a pipe");
    Ok(Detached { log: path, lines: lines(stdout)?, child })
}

impl Detached {
    /// The next line, waiting at most `timeout` for it; closed once it let go or has ended.
    pub fn next_line(&self, timeout: Duration) -> Next {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Next::Line(line),
            Err(RecvTimeoutError::Timeout) => Next::TimedOut,
            Err(RecvTimeoutError::Disconnected) => Next::Closed,
        }
    }

    /// Asks it to save and stop, as Ctrl-C does. One that has ended hears nothing.
    pub fn interrupt(&mut self) -> io::Result<()> {
        // Once it was waited for, its number may belong to another process.
        let alive = self.child.try_wait()?.is_none();
        signal_process(self.child.id(), Request::SaveAndStop, &|| alive).map(drop)
    }

    /// How it ended, in words; none while it runs.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let code = status.code().map(|code| format!("ended with code {code}"));
        code.or_else(|| status.signal().map(|signal| format!("was ended by signal {signal}")))
    }
}

/// For the started process: closes the pipe to its starter. From now on standard output is the log, too.
pub fn let_go() -> io::Result<()> {
    Ok(dup2_stdout(stderr())?)
}

/// Like `nohup`. A process that ignores a signal still ignores it after executing a program.
fn ignore_hang_up() {
    // SAFETY: signal() with SIG_IGN installs no handler and touches no memory of ours. It can't fail for this signal.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}

/// A new file for the log. From the folder that holds the run, no symlink is followed, and nothing that exists is
/// opened: a run may come from elsewhere.
fn new_log(run: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let inside = folder | OFlags::NOFOLLOW;
    let named = || io::Error::from(io::ErrorKind::InvalidInput);
    let (parent, name) = (run.parent().ok_or_else(named)?, run.file_name().ok_or_else(named)?);
    let runs = rustix::fs::open(parent, folder, Mode::empty())?;
    let own = rustix::fs::openat(runs, name, inside, Mode::empty())?;
    let logs = rustix::fs::openat(own, "logs", inside, Mode::empty())?;
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND | OFlags::CLOEXEC;
    for number in 1..=MOST_LOGS {
        let name = format!("supervisor_{number}.log");
        match rustix::fs::openat(&logs, &name, create, Mode::from_raw_mode(0o644)) {
            Err(rustix::io::Errno::EXIST) => {}
            log => return Ok((log?, run.join("logs").join(name))),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests prepare and read folders from outside")]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("run/logs")).unwrap();
        folder
    }

    fn shell(script: &str, folder: &tempfile::TempDir) -> Detached {
        let args = ["-c".into(), script.into()];
        start(Path::new("/bin/sh"), &args, new_log(&folder.path().join("run")).unwrap()).unwrap()
    }

    #[test]
    fn it_has_its_own_session_ignores_hang_ups_and_logs() {
        let folder = folder();
        let script =
            "read -r _ _ _ _ _ session _ < /proc/self/stat; kill -HUP $$; echo $$ $session; echo log >&2";
        let mut detached = shell(script, &folder);
        let id = detached.child.id();
        let long = Duration::from_secs(120);
        assert_eq!(detached.next_line(long), Next::Line(format!("{id} {id}")));
        assert_eq!(detached.next_line(long), Next::Closed);
        detached.child.wait().unwrap();
        assert_eq!(detached.ended().as_deref(), Some("ended with code 0"));
        assert_eq!(std::fs::read_to_string(&detached.log).unwrap(), "log\n");
        let mut killed = shell("kill -KILL $$", &folder);
        killed.child.wait().unwrap();
        assert_eq!(killed.ended().as_deref(), Some("was ended by signal 9"));
        assert!(killed.log.ends_with("run/logs/supervisor_2.log"), "{:?}", killed.log);
        killed.interrupt().unwrap();
        let mut endless = shell("echo ready; exec sleep 600", &folder);
        assert_eq!(endless.next_line(long), Next::Line("ready".to_owned()));
        assert_eq!(endless.next_line(Duration::ZERO), Next::TimedOut);
        endless.interrupt().unwrap();
        endless.child.wait().unwrap();
        assert_eq!(endless.ended().as_deref(), Some("was ended by signal 2"));
    }

    #[test]
    fn a_log_is_never_written_through_a_link() {
        let folder = folder();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::remove_dir(folder.path().join("run/logs")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("run/logs")).unwrap();
        assert!(new_log(&folder.path().join("run")).is_err());
        std::os::unix::fs::symlink(folder.path().join("run"), folder.path().join("linked")).unwrap();
        assert!(new_log(&folder.path().join("linked")).is_err());
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
