//! A filter on system calls, for what no namespace separates: keys of the kernel, which are reached by number from
//! everywhere, and kinds of sockets that lead to the machine below.
#![expect(clippy::disallowed_methods, reason = "the C library has no name for the system call")]

use rustix::io::Errno;

use super::Setup;
use crate::order::Mechanisms;

/// The name of the mechanism, as it is recorded.
const FILTER: &str = "seccomp filter";

/// The number by which the kernel knows the system calls of this processor, and the first that belongs to another set
/// of the same processor (x32).
#[cfg(target_arch = "x86_64")]
const PROCESSOR: Option<(u32, u32)> = Some((0xC000_003E, 0x4000_0000));
#[cfg(target_arch = "aarch64")]
const PROCESSOR: Option<(u32, u32)> = Some((0xC000_00B7, u32::MAX));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const PROCESSOR: Option<(u32, u32)> = None;

/// io_uring makes sockets of any kind without the calls below.
const REFUSED: [libc::c_long; 6] = [
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];
const SOCKETS: [libc::c_long; 2] = [libc::SYS_socket, libc::SYS_socketpair];
/// A path, or the step's own network, is needed to reach anything with these.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Where the kernel shows the number of a call, its set, and the lower half of its first argument.
const NUMBER: u32 = 0;
const SET: u32 = 4;
const FIRST: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };

/// Installs the filter for this process and all that it starts, and records whether it holds.
pub(super) fn limit(setup: &Setup, mechanisms: &mut Mechanisms) {
    let limited = match setup.switched_off("seccomp") {
        Some(reason) => Err(reason),
        None => install(),
    };
    match limited {
        Ok(()) => mechanisms.syscalls = Some(FILTER.to_owned()),
        Err(reason) => {
            mechanisms.missing.insert("syscalls".to_owned(), reason);
        }
    }
}

fn install() -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("can't install a seccomp filter: {error}");
    let (set, other) = PROCESSOR.ok_or_else(|| failed(&"there is none for this processor"))?;
    rustix::thread::set_no_new_privs(true).map_err(|error| failed(&error))?;
    let mut program = program(set, other);
    let length = u16::try_from(program.len()).expect("it has few instructions");
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which lives through the call, and checks each instruction. The flag keeps
    // the processor's speed as it is.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &program,
        )
    };
    if done == 0 { Ok(()) } else { Err(failed(&std::io::Error::last_os_error())) }
}

fn program(set: u32, other: u32) -> Vec<libc::sock_filter> {
    let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    let give = |answer| instruction(libc::BPF_RET | libc::BPF_K, answer, 0, 0);
    let is = |value, then, otherwise| {
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, then, otherwise)
    };
    let refuse = libc::SECCOMP_RET_ERRNO | Errno::PERM.raw_os_error() as u32;
    // A program for another set of calls would get nothing but refusals, and couldn't even exit.
    let mut program = vec![load(SET), is(set, 1, 0), give(libc::SECCOMP_RET_KILL_PROCESS), load(NUMBER)];
    program.push(instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, other, 0, 1));
    program.push(give(refuse));
    for number in REFUSED {
        program.extend([is(number as u32, 0, 1), give(refuse)]);
    }
    let [socket, pair] = SOCKETS.map(|number| number as u32);
    program.extend([is(socket, 2, 0), is(pair, 1, 0), give(libc::SECCOMP_RET_ALLOW), load(FIRST)]);
    for family in FAMILIES {
        program.extend([is(family as u32, 0, 1), give(libc::SECCOMP_RET_ALLOW)]);
    }
    program.push(give(refuse));
    program
}

fn instruction(code: u32, value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: then, jf: otherwise, k: value }
}
