//! Mounts: the pieces that a step's root is made of.
//!
//! Landlock alone lets a process connect to any socket that has a name in the file system (a signing agent, a terminal
//! multiplexer), and lets a file's owner change its mode and its times. What isn't mounted can't be reached at all.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind, RealFs};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, OpenTreeFlags, mount, mount_change, open_tree};

/// Nothing that is mounted from here on is seen outside, nor the other way round.
pub(super) fn keep_to_oneself() -> Result<(), Errno> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
}

/// An empty file system in memory over `at`, of at most `bytes`.
pub(super) fn in_memory(at: &Path, bytes: u64, mode: &str) -> Result<(), Errno> {
    let options = CString::new(format!("size={bytes},mode={mode}")).expect("digits have no zero byte");
    mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
}

/// What is mounted at `path`, with all that is mounted below it.
pub(super) fn copy_of_mount(path: &Path) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// What a mount allows.
pub(super) struct Attributes;

impl Attributes {
    pub(super) const READ_ONLY: u64 = 1;
    pub(super) const NO_SUID: u64 = 2;
    pub(super) const NO_DEVICES: u64 = 4;
    pub(super) const NO_PROGRAMS: u64 = 8;
}

/// Of a mount and all that is mounted below it.
pub(super) fn set_attributes(mounted: &OwnedFd, attributes: u64) -> io::Result<()> {
    const RECURSIVE: libc::c_int = 0x8000;
    set(mounted, attributes, RECURSIVE)
}

/// Of a mount alone.
pub(super) fn set_attributes_of_one(mounted: &OwnedFd, attributes: u64) -> io::Result<()> {
    set(mounted, attributes, 0)
}

#[expect(clippy::disallowed_methods, reason = "the C library has no name for this system call")]
fn set(mounted: &OwnedFd, attributes: u64, flags: libc::c_int) -> io::Result<()> {
    // Flags to set, flags to clear, how it spreads, a user namespace.
    let attributes = [attributes, 0, 0, 0];
    // SAFETY: the kernel reads an empty path and the four numbers, whose size is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mounted.as_raw_fd(),
            c"".as_ptr(),
            flags | libc::AT_EMPTY_PATH,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sockets bound to a path in the file system, as far as they are reachable. Listed before a new network
/// namespace hides them.
pub(super) fn sockets() -> Vec<PathBuf> {
    const LONGEST: u64 = 16 << 20;
    let table = RealFs.read(Path::new("/proc/self/net/unix"), LONGEST).unwrap_or_default();
    let is_there = |path: &PathBuf| RealFs.metadata(path).is_ok_and(|meta| meta.kind == Kind::Other);
    let mut found: Vec<PathBuf> = names_of(&String::from_utf8_lossy(&table)).map(PathBuf::from).collect();
    found.sort();
    found.dedup();
    found.retain(is_there);
    found.into_iter().filter_map(|path| RealFs.canonicalize(&path).ok()).collect()
}

/// The last of eight columns, which may have spaces in it, where it is a path.
fn names_of(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter_map(|line| {
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_start().split_once(' ')?.1;
        }
        Some(rest.trim_start()).filter(|name| name.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::names_of;

    #[test]
    fn only_names_in_the_file_system_are_found() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 70871 /tmp/tmux-0/de fault\n\
                     0000000000000000: 00000003 00000000 00000000 0001 03 70872\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01   873 @abstract\n\
                     0000000000000000: 00000002 00000000 00000000 0002 01   874 /run/log\n";
        assert_eq!(Vec::from_iter(names_of(table)), ["/tmp/tmux-0/de fault", "/run/log"]);
    }
}
