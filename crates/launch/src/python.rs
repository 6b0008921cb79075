//! A Python process that steps environments: started with inherited memory and pipes, watched, and ended with
//! everything that it started.
//!
//! Where the kernel allows it, Python is the first process of its own PID namespace. A process that it forks can't
//! outlive it then, whatever dies first: the kernel ends a namespace with its first process, and that one with the
//! process that waits for it, and that one with rlx.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rlxp_fs::environment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::child::{isolate, signal_group};
use crate::output::Tail;
use crate::permit::Permit;
use crate::worker::LaunchError;

mod install;
mod namespace;

pub use install::{Installed, install};

/// The program that Python runs. It needs only gymnasium and numpy.
const PROGRAM: &str = include_str!("../../../python/bridge/worker.py");
/// Longest line that is read from a worker.
const LONGEST_LINE: usize = 64 << 20;
/// Variables that would let every process of several use every core.
const THREADS: [&str; 4] =
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"];
/// Time for Python to write down where it hangs, before it is killed.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Which Python, and where.
#[derive(Clone, Debug)]
pub struct PythonCommand {
    pub interpreter: PathBuf,
    /// The project: its working folder, whose `envs/` Python searches first.
    pub project: PathBuf,
}

/// A running Python. Dropping it kills it and everything that it started.
pub struct PythonWorker {
    pid: u32,
    handle: OwnedFd,
    inbox: OwnedFd,
    outbox: OwnedFd,
    pending: Vec<u8>,
    output: Option<(Tail, Tail)>,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
}

/// What came from a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line; empty when it only wakes rlx.
    Line(String),
    /// Nothing within the time limit.
    TimedOut,
    /// It has ended.
    Ended,
}

impl PythonWorker {
    /// Starts Python as worker `number`, with `memory` inherited.
    pub fn spawn(
        _permit: &Permit,
        command: &PythonCommand,
        number: usize,
        memory: BorrowedFd<'_>,
    ) -> Result<Self, LaunchError> {
        let failed = |source: io::Error| LaunchError::Start { program: command.interpreter.clone(), source };
        let (their_inbox, inbox) = pipe().map_err(failed)?;
        let (outbox, their_outbox) = pipe().map_err(failed)?;
        let inherited = [memory.as_raw_fd(), their_inbox.as_raw_fd(), their_outbox.as_raw_fd()];
        let mut words: Vec<OsString> = ["-u", "-c", PROGRAM].map(OsString::from).to_vec();
        words.extend(inherited.iter().map(|descriptor| descriptor.to_string().into()));
        words.push(number.to_string().into());
        words.push(command.project.clone().into());
        let mut process = Command::new(&command.interpreter);
        process.args(words).current_dir(&command.project);
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in THREADS.into_iter().filter(|name| environment::variable(name).is_none()) {
            process.env(name, "1");
        }
        isolate(&mut process);
        let inside = namespace::Entry::new();
        // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes no
        // lock.
        unsafe {
            process.pre_exec(move || {
                inherited.iter().try_for_each(|descriptor| inherit(*descriptor))?;
                inside.enter()
            });
        }
        // The child dies with the thread that started it, so that thread waits for it.
        let (started, starting) = channel();
        let (at_end, ended) = channel();
        Builder::new()
            .name("rlx-python".to_owned())
            .spawn(move || {
                let mut child = match process.spawn() {
                    Ok(child) => child,
                    Err(error) => return drop(started.send(Err(error))),
                };
                let pipes = (child.stdout.take(), child.stderr.take());
                let _ = started.send(Ok((child.id(), pipes)));
                let _ = at_end.send(child.wait());
            })
            .map_err(LaunchError::Thread)?;
        let (pid, (stdout, stderr)) = starting
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it ended")))
            .map_err(failed)?;
        drop((their_inbox, their_outbox));
        let whole = Pid::from_raw(pid as i32).expect("a started child has a positive pid");
        let handle = pidfd_open(whole, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
        let mut worker =
            Self { pid, handle, inbox, outbox, pending: Vec::new(), output: None, ended, status: None };
        let tails = stdout
            .zip(stderr)
            .map(|(stdout, stderr)| -> io::Result<_> { Ok((Tail::start(stdout)?, Tail::start(stderr)?)) });
        worker.output = tails.transpose().map_err(LaunchError::Thread)?;
        Ok(worker)
    }

    /// The process that rlx waits for.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a line. A worker that has ended is found out by listening.
    pub fn send(&self, line: &str) {
        let text = format!("{line}\n");
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(&self.inbox, rest) {
                Ok(written) => rest = &rest[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The next line, waiting at most `timeout`.
    pub fn listen(&mut self, timeout: Duration) -> io::Result<Heard> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(Heard::Line(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut sources =
                [PollFd::new(&self.outbox, PollFlags::IN), PollFd::new(&self.handle, PollFlags::IN)];
            match poll(&mut sources, Some(&limit)) {
                Ok(0) => return Ok(Heard::TimedOut),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let readable = sources[0].revents().contains(PollFlags::IN);
            let is_over = !sources[1].revents().is_empty();
            if readable {
                let mut buffer = [0; 1 << 16];
                let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.outbox, &mut buffer))?;
                if count > 0 && self.pending.len() < LONGEST_LINE {
                    self.pending.extend_from_slice(&buffer[..count]);
                    continue;
                }
            }
            if is_over || !readable || self.pending.len() >= LONGEST_LINE {
                return Ok(Heard::Ended);
            }
            // Its end of the pipe is closed and it is about to end.
            let _ = self.ended_within(Duration::from_secs(1));
        }
    }

    /// Asks Python to write down where it is, then kills it.
    pub fn kill_with_stack(&mut self) {
        let _ = signal_group(self.pid, Signal::USR1);
        let _ = self.ended_within(LAST_WORDS);
        self.kill();
    }

    /// Ends Python and everything that it started.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            let _ = signal_group(self.pid, Signal::KILL);
            let _ = self.ended_within(Duration::from_secs(10));
        }
        if let Some((stdout, stderr)) = &self.output {
            stdout.finish();
            stderr.finish();
        }
    }

    fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.ended.recv_timeout(limit).ok().and_then(Result::ok);
        }
        self.status
    }

    /// How it ended, in words; call after [`Heard::Ended`].
    pub fn end(&mut self) -> String {
        match self.ended_within(Duration::from_secs(2)) {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("its Python process ended with exit code {code}"),
                (None, Some(signal)) => format!("its Python process was ended by signal {signal}"),
                (None, None) => "its Python process ended".to_owned(),
            },
            None => "its Python process closed its connection".to_owned(),
        }
    }

    /// The end of what Python printed: stderr after stdout.
    pub fn printed(&self) -> String {
        match &self.output {
            Some((stdout, stderr)) => {
                let (stdout, stderr) = (stdout.text(), stderr.text());
                let line = if stdout.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
                format!("{stdout}{line}{stderr}")
            }
            None => String::new(),
        }
    }
}

impl Drop for PythonWorker {
    fn drop(&mut self) {
        self.kill();
    }
}

impl AsFd for PythonWorker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.outbox.as_fd()
    }
}

/// A pipe that children don't inherit: its ends to read and to write.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// Keeps a descriptor open over exec.
fn inherit(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: fcntl with F_SETFD touches no memory; the descriptor is open in this process.
    if unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
