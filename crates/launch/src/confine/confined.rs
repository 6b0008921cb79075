//! The supervisor's side of a step: it starts the helper, reads its reports and stops it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify;
use rustix::io::FdFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::{Report, Setup, StepExit, helper, processes, without};
use crate::child::isolate;
use crate::order::{Mechanisms, RunOrder, StepOrder};
use crate::worker::{LaunchError, WorkerCommand};

/// A running step. Dropping it kills all of its processes.
pub struct Confined {
    helper: Child,
    output: Option<(ChildStdout, ChildStderr)>,
    report: BufReader<PipeReader>,
    /// Closing it ends the step.
    lifeline: Option<OwnedFd>,
    inotify: OwnedFd,
    /// The keeper's pid, and a pidfd that can't refer to another process.
    keeper: Option<(u32, Option<OwnedFd>)>,
    started: Option<Result<Mechanisms, String>>,
    watching: BTreeMap<i32, Vec<String>>,
    opened: BTreeSet<String>,
    ended: Option<StepExit>,
}

impl Confined {
    /// Starts the helper. `environment` is all that the step gets; `join` are `cgroup.procs` files that the helper
    /// writes itself into first.
    ///
    /// Call this from the main thread, or from one that outlives the step: everything of the step is killed when the
    /// thread that started it ends.
    pub fn spawn(
        order: &RunOrder,
        step: &StepOrder,
        environment: &[(OsString, OsString)],
        join: &[PathBuf],
    ) -> Result<Self, LaunchError> {
        let earlier = order.steps.iter().take_while(|other| other.name != step.name);
        let earlier = earlier.map(|step| order.folder.join(&step.name));
        // Links in the tree lead to them.
        let linked = order.linked.iter().map(|linked| linked.file.clone());
        let setup = Setup {
            report: -1,
            lifeline: -1,
            opened: -1,
            without: without(),
            join: join.to_vec(),
            own: order.folder.join(&step.name),
            readable: earlier.chain(linked).collect(),
            memory: order.limits.memory,
            wanted: order.confinement.clone(),
            step: Some(step.clone()),
        };
        Self::spawn_helper(setup, environment)
    }

    /// Starts the helper with a setup that lacks only the descriptors.
    pub(super) fn spawn_helper(
        mut setup: Setup,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, LaunchError> {
        let program = WorkerCommand::this_program(["__confine"])?.program;
        let failed = |source: io::Error| LaunchError::Start { program: program.clone(), source };
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()));
        let (report, report_end) = pipe()?;
        let (lifeline_end, lifeline) = pipe()?;
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let inotify = inotify::init(flags).map_err(|error| failed(error.into()))?;
        let inherited = [report_end.as_raw_fd(), lifeline_end.as_raw_fd(), inotify.as_raw_fd()];
        [setup.report, setup.lifeline, setup.opened] = inherited;
        let text = serde_json::to_vec(&setup).map_err(|error| failed(error.into()))?;

        let mut command = Command::new(&program);
        command.arg("__confine").env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        isolate(&mut command);
        inherit(&mut command, inherited);
        let mut helper = command.spawn().map_err(failed)?;
        let output = helper.stdout.take().zip(helper.stderr.take());
        let stdin = helper.stdin.take();
        let confined = Self {
            helper,
            output,
            report: BufReader::new(report.into()),
            lifeline: Some(lifeline),
            inotify,
            keeper: None,
            started: None,
            watching: BTreeMap::new(),
            opened: BTreeSet::new(),
            ended: None,
        };
        // A helper that has exited reads nothing; its report says why.
        let _ = stdin.expect("standard input was configured as a pipe").write_all(&text);
        Ok(confined)
    }

    /// Standard output and standard error of the step, once.
    pub fn take_output(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.output.take()
    }

    /// Waits until the step's program is about to be executed. An error says why it isn't; nothing runs then.
    pub fn started(&mut self) -> Result<Mechanisms, String> {
        // Helper and keeper write to one pipe, so their lines come in any order.
        let is_refused = |started: &Option<Result<Mechanisms, String>>| matches!(started, Some(Err(_)));
        while !is_refused(&self.started) && (self.started.is_none() || self.keeper.is_none()) {
            if !self.hear() {
                self.started = Some(Err("the helper exited before the step's program started".to_owned()));
            }
        }
        if is_refused(&self.started) {
            // Its processes are about to end; they have when this returns.
            self.kill();
        }
        self.started.clone().expect("the loop ends only when it is there")
    }

    /// Reads one line of the report; false at its end.
    fn hear(&mut self) -> bool {
        let mut line = String::new();
        if !matches!(self.report.read_line(&mut line), Ok(1..)) {
            return false;
        }
        match serde_json::from_str(&line) {
            Ok(Report::Keeper(number)) => {
                // The helper doesn't collect the keeper before it ends itself, and it is not collected yet either: the
                // number is still the keeper's unless it has ended, in which case the handle can't be had.
                let handle = Pid::from_raw(number as i32)
                    .filter(|_| number != self.helper.id())
                    .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                self.keeper = Some((number, handle));
            }
            Ok(Report::Watching(watching)) => self.watching = watching,
            Ok(Report::Started(mechanisms)) => self.started = Some(Ok(mechanisms)),
            Ok(Report::Refused(reason)) => self.started = Some(Err(reason)),
            Ok(Report::Ended(exit)) => self.ended = Some(exit),
            Err(_) => {}
        }
        true
    }

    /// Files among those watched that were opened in the tree so far.
    pub fn opened(&mut self) -> BTreeSet<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = events.next() {
            if event.events().contains(inotify::ReadFlags::OPEN) {
                self.opened.extend(self.watching.get(&event.wd()).into_iter().flatten().cloned());
            }
        }
        self.opened.clone()
    }

    /// All processes of the step, by the numbers that this process knows them by; none of rlx's own.
    pub fn processes(&self) -> Vec<u32> {
        self.keeper.as_ref().map_or(Vec::new(), |(number, _)| processes::below(*number))
    }

    /// Where this process finds the step's files in memory, if the step has its own.
    pub(crate) fn scratch(&self) -> Option<PathBuf> {
        let (keeper, _) = self.keeper.as_ref()?;
        let is_own = matches!(&self.started, Some(Ok(mechanisms)) if mechanisms.root.is_some());
        is_own.then(|| PathBuf::from(format!("/proc/{keeper}/root{}", super::root::SCRATCH[0])))
    }

    /// Asks all of them to end (SIGTERM).
    pub fn terminate(&self) {
        if let Some(lifeline) = &self.lifeline {
            // A keeper that has exited needs no signal.
            let _ = rustix::io::write(lifeline, &[helper::TERMINATE]);
        }
    }

    /// Kills all of them; returns when none is left.
    pub fn kill(&mut self) {
        // This alone is enough; what follows saves the time until the keeper notices.
        self.lifeline = None;
        if let Some((_, Some(handle))) = &self.keeper {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
        // A stopped helper would never notice. It is not collected yet, so the number is still its own.
        if let Some(helper) = Pid::from_raw(self.helper.id() as i32) {
            let _ = kill_process(helper, Signal::CONT);
        }
        if let Ok(status) = self.helper.wait() {
            self.settle(status);
        }
    }

    /// How the step's program ended, once it has. By then, no process of the step is left.
    pub fn try_wait(&mut self) -> Result<Option<StepExit>, LaunchError> {
        let waited = self.helper.try_wait();
        let pid = self.helper.id();
        match waited.map_err(|source| LaunchError::Control { operation: "wait for", pid, source })? {
            Some(status) => {
                self.settle(status);
                Ok(self.ended)
            }
            None => Ok(None),
        }
    }

    /// The helper has ended: makes sure that the keeper has, and reads the rest of the report.
    fn settle(&mut self, status: ExitStatus) {
        self.lifeline = None;
        if let Some((_, Some(handle))) = &self.keeper {
            // A helper that was killed didn't wait for the keeper. The handle is readable once its whole namespace is gone.
            let mut polled = [PollFd::new(handle, PollFlags::IN)];
            let _ = rustix::io::retry_on_intr(|| poll(&mut polled, None));
        }
        while self.hear() {}
        if self.started.is_none() {
            self.started =
                Some(Err(format!("the helper exited before the step's program started ({status})")));
        }
        if self.ended.is_none() {
            let killed = StepExit { code: None, signal: Some(libc::SIGKILL) };
            let refused = matches!(self.started, Some(Err(_)));
            let own = StepExit { code: status.code(), signal: status.signal() };
            self.ended = Some(if refused { own } else { killed });
        }
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Lets these descriptors reach the child, and no other child that is started meanwhile.
fn inherit(command: &mut Command, descriptors: [RawFd; 3]) {
    let keep_open = move || {
        for descriptor in descriptors {
            // SAFETY: they are owned by the function that starts the child and open until it has.
            let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
            rustix::io::fcntl_setfd(borrowed, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec; it makes system calls only, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(keep_open);
    }
}
