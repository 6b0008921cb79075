//! The helper: the one process between supervisor and keeper. It is started with one thread, so that it may do what a
//! process with several can't: join control groups, enter namespaces and split.

use std::io::Read;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rlxp_fs::{Fs, RealFs};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, WaitOptions, getpid, kill_process, waitpid};

use super::keeper::{keep, mind};
use super::namespaces::{self, with_cause};
use super::processes::{Forked, child_signals, fork, leave};
use super::report::{pipe, tell};
use super::{Report, Setup, files, mounts, tree};
use crate::order::{Mechanisms, StepOrder};

/// The helper's exit code when it can't read its instructions.
const UNTOLD: u8 = 2;
/// Nothing was executed; the report says why.
pub(super) const REFUSED: u8 = 3;
/// The supervisor has exited, or has cancelled the step.
pub(super) const ABANDONED: u8 = 4;

/// What the supervisor writes to the lifeline to terminate all processes.
pub(super) const TERMINATE: u8 = b't';

/// Descriptors that the supervisor gave.
pub(super) struct Ends {
    pub(super) report: OwnedFd,
    pub(super) lifeline: OwnedFd,
    pub(super) opened: OwnedFd,
}

/// The helper's body.
pub(super) fn run() -> u8 {
    let mut text = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut text);
    let Ok(setup) = serde_json::from_slice::<Setup>(&text) else { return UNTOLD };
    let (Ok(_), Some(report), Some(lifeline), Some(opened)) =
        (read, given(setup.report), given(setup.lifeline), given(setup.opened))
    else {
        return UNTOLD;
    };
    let ends = Ends { report, lifeline, opened };
    help(&setup, &ends).unwrap_or_else(|reason| {
        tell(&ends.report, &Report::Refused(reason));
        REFUSED
    })
}

/// A descriptor that was handed down, if there is one by this number beyond the standard ones.
fn given(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: asks about a number; any number is fine.
    let is_open = number > 2 && unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, and the setup names each number for one purpose, so nothing else owns it.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

fn help(setup: &Setup, ends: &Ends) -> Result<u8, String> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| format!("can't open /dev/null: {error}"))?;
    rustix::stdio::dup2_stdin(&null).map_err(|error| format!("can't redirect standard input: {error}"))?;
    if let Some(step) = &setup.step {
        check(setup, step)?;
    }
    for group in &setup.join {
        let joined = RealFs.open_append(group).and_then(|mut file| file.write_all(b"0"));
        joined.map_err(|error| format!("can't join the control group: {}", with_cause(&error)))?;
    }
    let mut mechanisms = Mechanisms::default();
    let sockets = mounts::sockets();
    let namespaces = namespaces::enter(setup, true, &mut mechanisms)?;
    let signals = child_signals().map_err(|error| format!("can't listen for signals: {error}"))?;
    if !namespaces.processes {
        // It must outlive the supervisor for a moment, to kill the remaining processes.
        let alone = rustix::process::set_parent_process_death_signal(None)
            .and_then(|()| rustix::process::set_child_subreaper(Some(getpid())));
        alone.map_err(|error| format!("can't become a subreaper: {error}"))?;
        tell(&ends.report, &Report::Keeper(getpid().as_raw_pid() as u32));
        return keep(setup, ends, (namespaces, sockets), mechanisms, &signals, None);
    }
    // A new user namespace may have reset it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("can't tie the helper to the supervisor: {error}"))?;
    // Process ids mean nothing across namespaces, so the keeper notices by this pipe that the helper has exited.
    let (read, write) = pipe()?;
    match fork().map_err(|error| format!("can't start the keeper: {error}"))? {
        Forked::Child => {
            drop(write);
            let code = keep(setup, ends, (namespaces, sockets), mechanisms, &signals, Some(&read));
            leave(code.unwrap_or_else(|reason| {
                tell(&ends.report, &Report::Refused(reason));
                REFUSED
            }))
        }
        Forked::Parent(keeper) => {
            drop(read);
            tell(&ends.report, &Report::Keeper(keeper.as_raw_pid() as u32));
            match mind(keeper, &signals, &[ends.lifeline.as_fd()], None) {
                Some(exit) => Ok(exit.code.map_or(ABANDONED, |code| code as u8)),
                None => {
                    let _ = kill_process(keeper, Signal::KILL);
                    // The kernel lets the keeper be collected only after all others in its namespace.
                    let _ = rustix::io::retry_on_intr(|| waitpid(Some(keeper), WaitOptions::empty()));
                    Ok(ABANDONED)
                }
            }
        }
    }
}

/// Problems that can be detected before anything is done.
fn check(setup: &Setup, step: &StepOrder) -> Result<(), String> {
    let mut problems = Vec::new();
    if !files::is_folder(&step.tree.base) {
        problems.push(format!("the base tree {} is not a folder", step.tree.base.display()));
    }
    if !step.argv.first().is_some_and(|program| Path::new(program).is_absolute()) {
        problems.push("the step's program is not an absolute path".to_owned());
    }
    if !tree::is_inside(&step.folder) {
        problems.push(format!("the working folder {} is not inside the tree", step.folder));
    }
    for path in [&setup.own, &step.tree.at, &step.tree.changed, &step.tree.work] {
        problems.extend(tree::make_folder(path).err());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}
