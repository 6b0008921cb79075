//! The keeper: the process that stays with a step. It prepares the step's mounts, starts the step, reaps
//! exited processes, forwards the supervisor's request to terminate, and exits when the supervisor or the
//! helper does.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait};

use super::helper::{ABANDONED, Ends, REFUSED, TERMINATE};
use super::namespaces::Namespaces;
use super::processes::{Forked, ask_all_to_end, end_descendants, fork, leave};
use super::report::{pipe, read_all, tell};
use super::surroundings::prepare;
use super::{Report, Setup, StepExit, step};
use crate::order::Mechanisms;

/// The keeper's body. It gets its namespaces and the sockets of other programs. `helper` closes when the
/// helper has died.
pub(super) fn keep(
    setup: &Setup,
    ends: &Ends,
    (namespaces, sockets): (Namespaces, Vec<PathBuf>),
    mut mechanisms: Mechanisms,
    signals: &OwnedFd,
    helper: Option<&OwnedFd>,
) -> Result<u8, String> {
    if helper.is_some() {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| format!("can't tie the keeper to the helper: {error}"))?;
    }
    let rights = prepare(setup, ends, namespaces, sockets, &mut mechanisms)?;
    let (read, write) = pipe()?;
    let keeper = getpid();
    let step = match fork().map_err(|error| format!("can't start the step: {error}"))? {
        Forked::Child => {
            drop(read);
            let result = step::become_program(setup, &rights, mechanisms, keeper, &write);
            if let Err(reason) = result {
                tell(&write, &Report::Refused(reason));
                leave(REFUSED);
            }
            leave(0)
        }
        Forked::Parent(step) => step,
    };
    drop(write);
    // It closes when the program has taken the step's place, or the step has given up.
    let told = read_all(&read);
    let refused = told.iter().any(|told| matches!(told, Report::Refused(_)));
    let last = told.iter().rev().find(|told| matches!(told, Report::Refused(_))).or(told.first());
    match last {
        Some(told) => tell(&ends.report, told),
        None => tell(
            &ends.report,
            &Report::Refused("the step's process exited before its program started".to_owned()),
        ),
    }
    let mut closing = vec![ends.lifeline.as_fd()];
    closing.extend(helper.map(AsFd::as_fd));
    let exit = mind(step, signals, &closing, Some(&ends.lifeline));
    if !namespaces.processes {
        end_descendants();
    }
    match exit {
        Some(_) if refused => Ok(REFUSED),
        Some(exit) => {
            tell(&ends.report, &Report::Ended(exit));
            Ok(0)
        }
        None => Ok(ABANDONED),
    }
}

/// Waits for `child` and reaps every other child that ends meanwhile. `None` when one of `closing` was
/// closed. `orders` carries the supervisor's requests to terminate all processes.
pub(super) fn mind(
    child: Pid,
    signals: &OwnedFd,
    closing: &[BorrowedFd<'_>],
    orders: Option<&OwnedFd>,
) -> Option<StepExit> {
    loop {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == child {
                return Some(exit_of(status));
            }
        }
        let wanted = if orders.is_some() { PollFlags::IN } else { PollFlags::empty() };
        let mut polled = vec![PollFd::new(signals, PollFlags::IN)];
        // Orders come through the first of them.
        polled.extend(closing.iter().enumerate().map(|(index, end)| {
            PollFd::from_borrowed_fd(*end, if index == 0 { wanted } else { PollFlags::empty() })
        }));
        if poll(&mut polled, None).is_err() {
            continue;
        }
        let seen: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        if seen[1..].iter().any(|seen| seen.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)) {
            return None;
        }
        if seen[0].contains(PollFlags::IN) {
            let _ = rustix::io::read(signals, &mut [0u8; 1024]);
        }
        if let Some(orders) = orders
            && seen[1].contains(PollFlags::IN)
        {
            let mut order = [0u8; 16];
            let length = rustix::io::read(orders, &mut order).unwrap_or(0);
            if order[..length].contains(&TERMINATE) {
                ask_all_to_end();
            }
        }
    }
}

fn exit_of(status: WaitStatus) -> StepExit {
    StepExit { code: status.exit_status(), signal: status.terminating_signal() }
}
