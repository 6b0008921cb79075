//! Runs one step of a governed run apart from everything else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdout};

use crate::order::{Mechanisms, Reach, RunOrder, StepOrder};
use crate::worker::LaunchError;

/// How the program of a step ended. Exactly one of the two is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepExit {
    /// Its exit code, when it returned one.
    pub code: Option<i32>,
    /// The signal that ended it otherwise.
    pub signal: Option<i32>,
}

/// A step under way. Dropping it kills everything of it.
pub struct Confined(std::convert::Infallible);

impl Confined {
    /// Starts the helper. `environment` is all that the step gets; `join` are `cgroup.procs` files that the helper
    /// writes itself into first.
    pub fn spawn(
        _order: &RunOrder,
        step: &StepOrder,
        _environment: &[(OsString, OsString)],
        _join: &[PathBuf],
    ) -> Result<Self, LaunchError> {
        let program = step.argv.first().map(PathBuf::from).unwrap_or_default();
        Err(LaunchError::Start { program, source: io::Error::other("steps can't be kept apart yet") })
    }

    /// Standard output and standard error of the step, once.
    pub fn take_output(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        match self.0 {}
    }

    /// Waits until the step's program is about to be executed. An error says why it isn't; nothing runs then.
    pub fn started(&mut self) -> Result<Mechanisms, String> {
        match self.0 {}
    }

    /// Files among those watched that were opened in the tree so far.
    pub fn opened(&mut self) -> BTreeSet<String> {
        match self.0 {}
    }

    /// All processes of the step, by the numbers that this process knows them by; none of rlx's own.
    pub fn processes(&self) -> Vec<u32> {
        match self.0 {}
    }

    /// Asks all of them to end (SIGTERM).
    pub fn terminate(&self) {
        match self.0 {}
    }

    /// Ends all of them, for certain; returns when none is left.
    pub fn kill(&mut self) {
        match self.0 {}
    }

    /// How the step's own program ended, once it has. No process of the step is left then.
    pub fn try_wait(&mut self) -> Result<Option<StepExit>, LaunchError> {
        match self.0 {}
    }
}

/// What this machine can do, tried for real in a process of its own.
pub fn probe(_network: Reach) -> Result<Mechanisms, LaunchError> {
    Ok(probe_here())
}

/// What this machine can do, tried in this very process, which must have one thread only and is inside the namespaces
/// afterwards: for a command that prints the answer and ends.
pub fn probe_here() -> Mechanisms {
    let mut mechanisms = Mechanisms::default();
    for name in ["files", "processes", "network"] {
        mechanisms.missing.insert(name.to_owned(), "not implemented".to_owned());
    }
    mechanisms
}

/// The body of `rlx __confine`; returns the exit code.
pub fn helper() -> u8 {
    1
}
