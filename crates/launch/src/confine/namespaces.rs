//! Namespaces of the kernel: users, mounts, processes, network, and shared memory.

use std::io;
use std::path::Path;

use rlxp_fs::{Fs, FsError, RealFs};
use rustix::process::{WaitOptions, getgid, getuid, waitpid};
use rustix::thread::UnshareFlags;

use super::processes::{Forked, fork, leave};
use super::{Setup, WITHOUT};
use crate::order::{Mechanisms, Reach, TEST_SWITCH};

/// The namespaces that this process has entered. Its children are created in the one for processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Namespaces {
    pub(super) mounts: bool,
    pub(super) processes: bool,
}

/// Enters all available ones, and records which are enforced and which aren't. `careful` tries the one for
/// users in a child first: some systems let a process in and then leave it with fewer rights than it had.
pub(super) fn enter(setup: &Setup, careful: bool, mechanisms: &mut Mechanisms) -> Result<Namespaces, String> {
    if !setup.without.is_empty() {
        let names: Vec<&str> = setup.without.iter().map(String::as_str).collect();
        let reason = format!("{WITHOUT}={} is set, which is for tests", names.join(","));
        mechanisms.missing.insert(TEST_SWITCH.to_owned(), reason);
    }
    let users = match setup.switched_off("user_namespace") {
        Some(reason) => Err(reason),
        None if careful => try_users(),
        None => Ok(()),
    };
    match users {
        Ok(()) => enter_users().map_err(|error| format!("can't enter a user namespace: {error}"))?,
        Err(reason) => {
            mechanisms.missing.insert("user_namespace".to_owned(), reason);
        }
    }
    let mut namespaces = Namespaces::default();
    let mut enter = |flag, mechanism: &str, record: &str| {
        let refused = setup.switched_off(mechanism).or_else(|| {
            let error = unshare(flag).err()?;
            Some(format!("can't create a new {}: {error}", mechanism.replace('_', " ")))
        });
        if let Some(reason) = &refused {
            mechanisms.missing.insert(record.to_owned(), reason.clone());
        }
        refused.is_none()
    };
    namespaces.mounts = enter(UnshareFlags::NEWNS, "mount_namespace", "mounts");
    enter(UnshareFlags::NEWIPC, "ipc_namespace", "ipc");
    namespaces.processes = enter(UnshareFlags::NEWPID, "pid_namespace", "processes");
    let network = match setup.wanted.network {
        Reach::Everything => Some("the network was agreed"),
        Reach::None | Reach::Loopback => {
            enter(UnshareFlags::NEWNET, "network_namespace", "network").then_some("network namespace")
        }
    };
    if setup.wanted.network == Reach::Loopback && network.is_some() {
        loopback_up().map_err(|error| format!("can't enable the loopback device: {error}"))?;
    }
    mechanisms.network = network.map(str::to_owned);
    mechanisms.processes = namespaces.processes.then(|| "pid namespace".to_owned());
    Ok(namespaces)
}

fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: only the flag for file descriptors would be unsafe, and it is never passed.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// A new user namespace that maps only this user, to itself.
fn enter_users() -> Result<(), String> {
    let (user, group) = (getuid(), getgid());
    unshare(UnshareFlags::NEWUSER).map_err(|error| error.to_string())?;
    let write = |name: &str, text: String| -> Result<(), FsError> {
        RealFs.open_append(Path::new(name))?.write_all(text.as_bytes())
    };
    write("/proc/self/setgroups", "deny".to_owned())
        .and_then(|()| write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw())))
        .and_then(|()| write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw())))
        .map_err(|error| with_cause(&error))
}

/// Whether a user namespace is available and allows mounts inside.
fn try_users() -> Result<(), String> {
    match fork().map_err(|error| error.to_string())? {
        Forked::Child => {
            let code = match enter_users().map(|()| unshare(UnshareFlags::NEWNS)) {
                Ok(Ok(())) => 0,
                Ok(Err(_)) => 2,
                Err(_) => 1,
            };
            leave(code)
        }
        Forked::Parent(child) => {
            let ended = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
            match ended.ok().flatten().and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                Some(2) => {
                    Err("user namespaces have no privileges here (possibly an AppArmor rule)".to_owned())
                }
                _ => Err("can't create a user namespace (see user.max_user_namespaces and \
                          kernel.unprivileged_userns_clone; containers often forbid it)"
                    .to_owned()),
            }
        }
    }
}

/// A network namespace is born with its loopback device switched off.
fn loopback_up() -> io::Result<()> {
    let failed = |code: libc::c_int| if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) };
    // SAFETY: socket takes no pointers.
    let socket = failed(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request lives through the call, and this operation reads an ifreq.
    let done = failed(unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request) });
    // SAFETY: the descriptor was opened above and is not used elsewhere.
    unsafe { libc::close(socket) };
    done.map(|_| ())
}

/// An error with its cause.
pub(super) fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
