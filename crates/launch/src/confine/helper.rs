//! The processes between supervisor and step: the helper, the keeper, and the step until it becomes its program.
//!
//! All of them have one thread and are forked from the helper, so ordinary code may run in each.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rlxp_fs::{Fs, RealFs};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Access, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, wait, waitpid};

use super::files::{self, Rights};
use super::mounts;
use super::namespaces::{self, Namespaces, with_cause};
use super::{Setup, StepExit, Told, privileges, probe, processes, program, tree};
use crate::order::{Mechanisms, Reach, StepOrder};

/// The helper's own code when it can't even read what it is to do.
const UNTOLD: u8 = 2;
/// Nothing was executed; the report says why.
const REFUSED: u8 = 3;
/// The supervisor is gone, or wants no more of it.
const ABANDONED: u8 = 4;

/// What the supervisor writes into the lifeline to have all processes asked to end.
pub(super) const TERMINATE: u8 = b't';

/// Descriptors that the supervisor gave.
struct Ends {
    report: OwnedFd,
    lifeline: OwnedFd,
    opened: OwnedFd,
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
        tell(&ends.report, &Told::Refused(reason));
        REFUSED
    })
}

/// A descriptor that was handed down, if there is one by this number beyond the standard ones.
fn given(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: asks about a number; any number is fine.
    let is_open = number > 2 && unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, and the setup names each number for one purpose, so nobody else owns it.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// A line that can't be written has nobody to read it.
pub(super) fn tell(report: &OwnedFd, told: &Told) {
    let mut line = serde_json::to_vec(told).expect("a report is plain data");
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(report, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn help(setup: &Setup, ends: &Ends) -> Result<u8, String> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| format!("can't open /dev/null: {error}"))?;
    rustix::stdio::dup2_stdin(&null).map_err(|error| format!("can't empty standard input: {error}"))?;
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
        // It must live on for a moment when the supervisor dies, to end what is left.
        let alone = rustix::process::set_parent_process_death_signal(None)
            .and_then(|()| rustix::process::set_child_subreaper(Some(getpid())));
        alone.map_err(|error| format!("can't look after orphans: {error}"))?;
        tell(&ends.report, &Told::Keeper(getpid().as_raw_pid() as u32));
        return keep(setup, ends, (namespaces, sockets), mechanisms, &signals, None);
    }
    // A new user namespace may have reset it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("can't be tied to the supervisor: {error}"))?;
    // Process numbers mean nothing across namespaces, so the keeper knows by this pipe that the helper is there.
    let (read, write) = pipe()?;
    match fork().map_err(|error| format!("can't start the keeper: {error}"))? {
        Forked::Child => {
            drop(write);
            let code = keep(setup, ends, (namespaces, sockets), mechanisms, &signals, Some(&read));
            leave(code.unwrap_or_else(|reason| {
                tell(&ends.report, &Told::Refused(reason));
                REFUSED
            }))
        }
        Forked::Parent(keeper) => {
            drop(read);
            tell(&ends.report, &Told::Keeper(keeper.as_raw_pid() as u32));
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

/// What can be seen to be wrong before anything is done.
fn check(setup: &Setup, step: &StepOrder) -> Result<(), String> {
    let mut problems = Vec::new();
    if !files::is_folder(&step.tree.base) {
        problems.push(format!("the base tree {} is not a folder", step.tree.base.display()));
    }
    if !step.argv.first().is_some_and(|program| Path::new(program).is_absolute()) {
        problems.push("the step names no program by its absolute path".to_owned());
    }
    if !tree::is_inside(&step.folder) {
        problems.push(format!("the working folder {} is not inside the tree", step.folder));
    }
    for path in [&setup.own, &step.tree.at, &step.tree.changed, &step.tree.work] {
        problems.extend(tree::make_folder(path).err());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// The keeper's body. It is told where it is and which sockets others have. `helper` tells by its closing that the
/// helper has died.
fn keep(
    setup: &Setup,
    ends: &Ends,
    (namespaces, sockets): (Namespaces, Vec<PathBuf>),
    mut mechanisms: Mechanisms,
    signals: &OwnedFd,
    helper: Option<&OwnedFd>,
) -> Result<u8, String> {
    if helper.is_some() {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| format!("can't be tied to the helper: {error}"))?;
    }
    let rights = prepare(setup, ends, namespaces, sockets, &mut mechanisms)?;
    let (read, write) = pipe()?;
    let keeper = getpid();
    let step = match fork().map_err(|error| format!("can't start the step: {error}"))? {
        Forked::Child => {
            drop(read);
            let result = become_step(setup, &rights, mechanisms, keeper, &write);
            if let Err(reason) = result {
                tell(&write, &Told::Refused(reason));
                leave(REFUSED);
            }
            leave(0)
        }
        Forked::Parent(step) => step,
    };
    drop(write);
    // It closes when the program has taken the step's place, or the step has given up.
    let told = read_all(&read);
    let refused = told.iter().any(|told| matches!(told, Told::Refused(_)));
    let last = told.iter().rev().find(|told| matches!(told, Told::Refused(_))).or(told.first());
    match last {
        Some(told) => tell(&ends.report, told),
        None => {
            tell(&ends.report, &Told::Refused("the step's process ended before its program began".to_owned()))
        }
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
            tell(&ends.report, &Told::Ended(exit));
            Ok(0)
        }
        None => Ok(ABANDONED),
    }
}

/// Mounts what the step is to see, and says what it may do with files.
fn prepare(
    setup: &Setup,
    ends: &Ends,
    namespaces: Namespaces,
    sockets: Vec<PathBuf>,
    mechanisms: &mut Mechanisms,
) -> Result<Rights, String> {
    let mut mounted = namespaces.mounts;
    if mounted && let Err(error) = mounts::keep_to_oneself() {
        mechanisms.missing.insert("mounts".to_owned(), format!("mounts can't be made private: {error}"));
        mounted = false;
    }
    let mut rights = Rights { hidden: hidden(setup), ..Rights::default() };
    rights.readable = setup.readable.iter().filter_map(|path| RealFs.canonicalize(path).ok()).collect();
    if let Some(step) = &setup.step {
        show_tree(setup, step, mounted, mechanisms)?;
        for path in [&step.tree.at, &setup.own] {
            let real = RealFs.canonicalize(path).map_err(|error| with_cause(&error))?;
            rights.writable.push(real);
        }
        rights.readable.extend(RealFs.canonicalize(&step.tree.base).ok());
    } else {
        probe::try_overlay(setup, mounted, mechanisms);
    }
    if mounted {
        if namespaces.processes
            && let Err(error) = mounts::fresh_proc()
        {
            mechanisms.missing.insert("proc".to_owned(), format!("a fresh /proc is refused: {error}"));
        }
        if let Some(shared) = mounts::shared_memory() {
            match mounts::in_memory(shared, (setup.memory / 2).max(1 << 20), "1777") {
                Ok(()) => rights.writable.push(shared.to_owned()),
                Err(error) => {
                    let reason = format!("a private {} is refused: {error}", shared.display());
                    mechanisms.missing.insert("shared_memory".to_owned(), reason);
                }
            }
        }
        let kept: Vec<PathBuf> = rights.readable.iter().chain(&rights.writable).cloned().collect();
        match cover(setup, [rights.hidden.clone(), sockets].concat(), kept) {
            Ok(()) => rights.list_all = true,
            Err(reason) => {
                mechanisms.missing.insert("covers".to_owned(), reason);
            }
        }
        if let Err(reason) = mounts::keep_unchanged(&rights.writable) {
            mechanisms.missing.insert("read_only".to_owned(), reason);
        }
    }
    // Disks and terminals are files too. What a step needs of them is on a list.
    rights.hidden.push(PathBuf::from("/dev"));
    if let Some(step) = &setup.step {
        let watching = tree::watch(&step.tree, &step.watched, &ends.opened);
        tell(&ends.report, &Told::Watching(watching));
    }
    Ok(rights)
}

fn hidden(setup: &Setup) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = setup.wanted.hidden.iter().map(|path| files::resolve(path)).collect();
    hidden.sort();
    hidden.dedup();
    hidden
}

fn show_tree(
    setup: &Setup,
    step: &StepOrder,
    mounted: bool,
    mechanisms: &mut Mechanisms,
) -> Result<(), String> {
    let refused = match setup.switched_off("overlay") {
        Some(reason) => Some(reason),
        None if !mounted => Some("an overlay takes a mount namespace".to_owned()),
        None => {
            tree::overlay(&step.tree).err().map(|error| format!("the kernel refuses an overlay: {error}"))
        }
    };
    match refused {
        None => mechanisms.tree = Some("overlay".to_owned()),
        Some(reason) => {
            tree::copy(&step.tree)?;
            mechanisms.missing.insert("overlay".to_owned(), reason);
            mechanisms.tree = Some("copy".to_owned());
        }
    }
    tree::remove(&step.tree)
}

/// Covers hidden paths, sockets, and all of `/run`, where services make new ones, unless the step itself lives there.
fn cover(setup: &Setup, mut covered: Vec<PathBuf>, mut kept: Vec<PathBuf>) -> Result<(), String> {
    let run = Path::new("/run");
    let program = setup.step.as_ref().and_then(|step| step.argv.first()).map(PathBuf::from);
    let real = program.as_ref().and_then(|program| RealFs.canonicalize(program).ok());
    let search = rlxp_fs::environment::variable("PATH").unwrap_or_default();
    let used = kept.iter().chain(&program).chain(&real).map(PathBuf::as_path);
    if files::is_folder(run)
        && !used.chain(search.split(':').map(Path::new)).any(|path| path.starts_with(run))
    {
        covered.push(run.to_owned());
        if setup.wanted.network == Reach::Everything {
            // Names can't be looked up without it, and it often lies there.
            kept.extend(RealFs.canonicalize(Path::new("/etc/resolv.conf")).ok());
        }
    }
    mounts::cover(&covered, &kept)
}

/// Gives up everything and becomes the program. Comes back only when it can't, or when there is none.
fn become_step(
    setup: &Setup,
    rights: &Rights,
    mut mechanisms: Mechanisms,
    keeper: Pid,
    report: &OwnedFd,
) -> Result<(), String> {
    privileges::begin_afresh()?;
    let program = match &setup.step {
        Some(step) => {
            let folder = step.tree.at.join(&step.folder);
            rustix::process::chdir(&folder)
                .map_err(|error| format!("the working folder {} can't be used: {error}", folder.display()))?;
            Some((&step.argv, step.program))
        }
        None => None,
    };
    let limited = match setup.switched_off("landlock") {
        Some(reason) => Err(reason),
        None => files::limit(rights),
    };
    match limited {
        Ok(how) => mechanisms.files = Some(how),
        Err(reason) => {
            mechanisms.missing.insert("files".to_owned(), reason);
        }
    }
    privileges::give_up()?;
    if getppid() != Some(keeper) {
        return Err("the keeper is gone".to_owned());
    }
    enough(setup, &mechanisms)?;
    let Some((argv, gated)) = program else {
        tell(report, &Told::Started(mechanisms));
        return Ok(());
    };
    let (program, arguments) = argv.split_first().expect("an order without a program was refused before");
    if let Err(error) =
        rustix::fs::accessat(CWD, program.as_str(), Access::EXEC_OK, rustix::fs::AtFlags::EACCESS)
    {
        return Err(format!("{program} can't be executed: {error}"));
    }
    privileges::close_the_rest();
    if let Some(gated) = gated {
        program::check(Path::new(program), gated)?;
    }
    tell(report, &Told::Started(mechanisms));
    #[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
    let error = Command::new(program).args(arguments).exec();
    Err(format!("{program} can't be executed: {error}"))
}

/// Whether what holds is at least what was asked for. The supervisor answers for limits.
fn enough(setup: &Setup, mechanisms: &Mechanisms) -> Result<(), String> {
    let limits = Some("the supervisor's".to_owned());
    let all = Mechanisms { memory: limits.clone(), process_count: limits, ..mechanisms.clone() };
    let (least, level) = (setup.wanted.least, all.level());
    if level >= least {
        return Ok(());
    }
    let reasons: Vec<String> =
        mechanisms.missing.iter().map(|(mechanism, reason)| format!("{mechanism}: {reason}")).collect();
    Err(format!("confinement {least} is asked for, but only {level} can be had here; {}", reasons.join("; ")))
}

/// Waits for `child` and collects every other child that ends meanwhile. Nothing when one of `closing` was closed.
/// `orders` is where the supervisor asks for all to be terminated.
fn mind(
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

/// As first process of a namespace, "everybody" is everybody in it but oneself.
fn ask_all_to_end() {
    if getpid() == Pid::INIT {
        // SAFETY: sends a signal; no memory is involved.
        unsafe { libc::kill(-1, libc::SIGTERM) };
        return;
    }
    signal_descendants(Signal::TERM);
}

fn signal_descendants(signal: Signal) {
    for process in processes::below(getpid().as_raw_pid() as u32) {
        if let Some(pid) = Pid::from_raw(process as i32) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Without a process namespace: whoever loses its parent becomes a child of this process, so it is the last one left
/// exactly when it has no children.
fn end_descendants() {
    loop {
        signal_descendants(Signal::KILL);
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Everything until the other end is closed.
fn read_all(from: &OwnedFd) -> Vec<Told> {
    let mut text = Vec::new();
    let mut buffer = [0u8; 4096];
    loop {
        match rustix::io::read(from, &mut buffer) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&buffer[..length]),
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn pipe() -> Result<(OwnedFd, OwnedFd), String> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| format!("can't make a pipe: {error}"))
}

/// A descriptor that can be read when a child has ended.
fn child_signals() -> std::io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used; the calls only use it; the new descriptor is
    // owned by nobody else.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if descriptor < 0 {
            Err(std::io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }
}

/// Who one is after a fork.
pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// Splits this process, which has one thread only.
pub(super) fn fork() -> std::io::Result<Forked> {
    #[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
    // SAFETY: the helper has one thread, so no lock is held by anybody else at the time of the fork.
    match unsafe { libc::fork() } {
        ..0 => Err(std::io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent(Pid::from_raw(child).expect("a child's number is positive"))),
    }
}

/// Ends a forked process without running what its parent has yet to run.
pub(super) fn leave(code: u8) -> ! {
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(code)) }
}
