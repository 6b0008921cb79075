//! The training child: started, read, stopped, and its end explained.
//!
//! The protocol between parent and child is opaque here: the child writes lines
//! to stdout, the parent reads them with a time limit. The child's stdin is
//! empty; the end of its stderr is kept for the error report.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rlxp_fs::{FsError, environment};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::child::{isolate, signal_group};
use crate::oom::{self, OutOfMemory};
use crate::output::{Tail, lines};
use crate::permit::Permit;

/// What to start.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Its working folder; none keeps the parent's.
    pub cwd: Option<PathBuf>,
    /// Environment variables added to the parent's.
    pub env: Vec<(OsString, OsString)>,
}

impl WorkerCommand {
    /// This very program with other arguments.
    pub fn this_program<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Result<Self, LaunchError> {
        let program = environment::current_program().map_err(LaunchError::OwnProgram)?;
        let args = args.into_iter().map(Into::into).collect();
        Ok(Self { program, args, cwd: None, env: Vec::new() })
    }
}

/// Why a child could not be started or reached.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The path of this program is unknown.
    #[error("can't determine the path of this program")]
    OwnProgram(#[source] FsError),
    /// The program did not start.
    #[error("can't start {program}", program = program.display())]
    Start {
        /// What was to be started.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The log of a detached process could not be made.
    #[error("can't create a log in {folder}", folder = folder.display())]
    Log {
        /// Where it was to be.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What the child says could not be listened to.
    #[error("can't start a thread")]
    Thread(#[source] io::Error),
    /// The child could not be signalled or waited for.
    #[error("can't {operation} the worker (process {pid})")]
    Control {
        /// What was tried.
        operation: &'static str,
        /// The child.
        pid: u32,
        /// Why it failed.
        source: io::Error,
    },
}

/// What came from the child within the time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A line, without its end.
    Line(String),
    /// Nothing yet.
    TimedOut,
    /// The child closed its stdout: it has ended or is about to.
    Closed,
}

/// How a child ended. Exactly one of `code` and `signal` is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, when it returned one.
    pub code: Option<i32>,
    /// The signal that killed it otherwise.
    pub signal: Option<i32>,
    /// Whether it looks like the kernel ended it for want of memory.
    pub out_of_memory: OutOfMemory,
}

/// A running child. Dropping it kills it.
pub struct Worker {
    child: Child,
    lines: Option<Receiver<String>>,
    stderr: Tail,
    oom_kills_before: Option<u64>,
    killed_by_us: bool,
    ended: Option<Ended>,
}

impl Worker {
    /// Starts the child in a process group of its own.
    ///
    /// Call this from the main thread, or from one that outlives the child: the
    /// child is killed when the thread that started it ends. This is what makes
    /// a `kill -9` of the supervisor leave no orphan.
    pub fn spawn(_permit: &Permit, command: &WorkerCommand) -> Result<Self, LaunchError> {
        let mut process = Command::new(&command.program);
        process.args(&command.args).envs(command.env.iter().map(|(name, value)| (name, value)));
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = &command.cwd {
            process.current_dir(cwd);
        }
        isolate(&mut process);
        let oom_kills_before = oom::kernel_count();
        let mut child = process
            .spawn()
            .map_err(|source| LaunchError::Start { program: command.program.clone(), source })?;
        let stdout = child.stdout.take().expect("stdout was configured as a pipe");
        let stderr = child.stderr.take().expect("stderr was configured as a pipe");
        let listening = lines(stdout).and_then(|lines| Ok((lines, Tail::start(stderr)?)));
        let (lines, stderr) = listening.map_err(|source| {
            // Nothing would empty its pipes. It has done nothing yet, or is ended as if it had been killed.
            let _ = signal_group(child.id(), Signal::KILL);
            let _ = child.wait();
            LaunchError::Thread(source)
        })?;
        Ok(Self { lines: Some(lines), stderr, child, oom_kills_before, killed_by_us: false, ended: None })
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line, waiting at most `timeout` for it.
    pub fn next_line(&self, timeout: Duration) -> Next {
        let Some(lines) = &self.lines else { return Next::Closed };
        match lines.recv_timeout(timeout) {
            Ok(line) => Next::Line(line),
            Err(RecvTimeoutError::Timeout) => Next::TimedOut,
            Err(RecvTimeoutError::Disconnected) => Next::Closed,
        }
    }

    /// Asks the child to save and stop (SIGINT to its group).
    pub fn interrupt(&self) -> Result<(), LaunchError> {
        self.signal("interrupt", Signal::INT)
    }

    /// Ends the child and everything in its group at once (SIGKILL).
    pub fn kill(&mut self) -> Result<(), LaunchError> {
        self.killed_by_us = true;
        self.signal("kill", Signal::KILL)
    }

    /// Waits for the end. Lines that were not read yet are dropped, so that a
    /// child that still writes is not held up: read to [`Next::Closed`] first.
    pub fn wait(&mut self) -> Result<Ended, LaunchError> {
        self.lines = None;
        self.reap(WaitIdOptions::EXITED)?;
        Ok(self.ended.clone().expect("waiting without NOHANG returns only at the end"))
    }

    /// How the child ended, if it has.
    pub fn try_wait(&mut self) -> Result<Option<Ended>, LaunchError> {
        self.reap(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?;
        Ok(self.ended.clone())
    }

    /// The last 64 KB that the child wrote to stderr; complete once it has ended.
    pub fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    fn signal(&self, operation: &'static str, signal: Signal) -> Result<(), LaunchError> {
        // Once it is reaped, its pid may belong to another process.
        if self.ended.is_some() {
            return Ok(());
        }
        signal_group(self.pid(), signal).map_err(|source| self.control(operation, source))
    }

    fn control(&self, operation: &'static str, source: io::Error) -> LaunchError {
        LaunchError::Control { operation, pid: self.pid(), source }
    }

    fn reap(&mut self, options: WaitIdOptions) -> Result<(), LaunchError> {
        if self.ended.is_some() {
            return Ok(());
        }
        // First only look: the ended child keeps its number until it is reaped,
        // so its group can still be named and what is left of it be killed.
        let pid = Pid::from_raw(self.pid() as i32).expect("a started child has a positive pid");
        let looked = rustix::io::retry_on_intr(|| {
            rustix::process::waitid(WaitId::Pid(pid), options | WaitIdOptions::NOWAIT)
        });
        if looked.map_err(|errno| self.control("wait for", errno.into()))?.is_none() {
            return Ok(());
        }
        signal_group(self.pid(), Signal::KILL).map_err(|source| self.control("clean up after", source))?;
        let status = self.child.wait().map_err(|source| self.control("wait for", source))?;
        self.stderr.finish();
        let out_of_memory = oom::judge(
            status.signal(),
            self.killed_by_us,
            &self.stderr.text(),
            self.oom_kills_before,
            oom::kernel_count(),
        );
        self.ended = Some(Ended { code: status.code(), signal: status.signal(), out_of_memory });
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // A failure here can't be reported any more.
            let _ = self.kill();
            let _ = self.wait();
        }
    }
}
