//! How a step's mount namespace differs from the machine's: a new `/proc`, a `/dev/shm` of its own, no
//! sockets of services, empty folders where something is hidden, and all but the step's own folders
//! read-only.
//!
//! Landlock alone would already refuse to read hidden files. But it lets a process connect to any socket
//! that has a name in the file system (a signing agent, a terminal multiplexer), it lets a file's owner
//! change its mode and its times, and it can't allow to list a folder without allowing to list those in it.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind, RealFs};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount,
    open_tree,
};

use super::files::is_folder;

/// Nothing that is mounted from here on is seen outside, nor the other way round.
pub(super) fn keep_to_oneself() -> Result<(), Errno> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
}

/// A `/proc` that shows the new process namespace only. Refused where parts of the old one are hidden, as in containers.
pub(super) fn fresh_proc() -> Result<(), Errno> {
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
}

/// An empty file system in memory over `at`, of at most `bytes`.
pub(super) fn in_memory(at: &Path, bytes: u64, mode: &str) -> Result<(), Errno> {
    let options = CString::new(format!("size={bytes},mode={mode}")).expect("digits have no zero byte");
    mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
}

/// Covers each of `hidden` with something empty, and mounts `kept` again if it was below one of them. All paths are
/// resolved.
pub(super) fn cover(hidden: &[PathBuf], kept: &[PathBuf]) -> Result<(), String> {
    // What lies below something covered is covered with it.
    let mut outermost: Vec<(&PathBuf, bool)> = Vec::new();
    let mut sorted: Vec<&PathBuf> = hidden.iter().collect();
    sorted.sort();
    for path in sorted {
        if outermost.iter().any(|(above, _)| path.starts_with(above)) {
            continue;
        }
        match RealFs.metadata(path) {
            Ok(meta) => outermost.push((path, meta.kind == Kind::Folder)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let is_below = |path: &Path| outermost.iter().any(|(above, _)| path.starts_with(above));
    let mut back = Vec::new();
    for path in kept.iter().filter(|path| is_below(path)) {
        back.push((
            path,
            copy_of_mount(path).map_err(|error| format!("can't bind {}: {error}", path.display()))?,
        ));
    }
    for (path, is_folder) in &outermost {
        let covered = if *is_folder { in_memory(path, 1 << 20, "0755") } else { cover_file(path) };
        match covered {
            // Sockets come and go.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(format!("can't hide {}: {error}", path.display())),
        }
    }
    // Folders before their content, which may be kept on its own too.
    back.sort_by_key(|(path, _)| path.components().count());
    for (path, mounted) in back {
        put_back(path, &mounted).map_err(|error| format!("can't bind {}: {error}", path.display()))?;
    }
    Ok(())
}

/// What is mounted at `path`, with all that is mounted below it.
fn copy_of_mount(path: &Path) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

fn put_back(path: &Path, mounted: &OwnedFd) -> Result<(), Errno> {
    // Not asked of the copy itself: an overlay's copy is a folder like any other.
    let stat = rustix::fs::fstat(mounted)?;
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    make_folders(if is_folder { path } else { path.parent().unwrap_or(path) })?;
    if !is_folder {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::RUSR)?;
    }
    move_mount(mounted, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Hides a file or a socket behind a file that can't be opened.
fn cover_file(path: &Path) -> Result<(), Errno> {
    let empty = Path::new("/dev/shm/.rlx-covered");
    let made = rustix::fs::open(empty, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    made?;
    let copy = copy_of_mount(empty)?;
    move_mount(&copy, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Makes everything read-only except `writable`, and `/proc`, which the kernel protects itself.
pub(super) fn keep_unchanged(writable: &[PathBuf]) -> Result<(), String> {
    for path in writable {
        let again = copy_of_mount(path)
            .and_then(|copy| move_mount(&copy, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH));
        again.map_err(|error| format!("can't mount {} separately: {error}", path.display()))?;
    }
    let everything = Path::new("/");
    set_read_only(everything, true).map_err(|error| format!("can't make files read-only: {error}"))?;
    for path in writable {
        set_read_only(path, false)
            .map_err(|error| format!("can't make {} writable: {error}", path.display()))?;
    }
    // A mount that was read-only before stays so, which is fine.
    let _ = set_read_only(Path::new("/proc"), false);
    Ok(())
}

/// Of everything below a mount, or takes it back of this one alone: others may have been read-only before.
#[expect(clippy::disallowed_methods, reason = "the C library has no name for this system call")]
fn set_read_only(path: &Path, is_set: bool) -> std::io::Result<()> {
    const READ_ONLY: u64 = 1;
    const RECURSIVE: libc::c_int = 0x8000;
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("paths have no zero byte");
    // Flags to set, flags to clear, how it spreads, a user namespace.
    let (attributes, flags) =
        if is_set { ([READ_ONLY, 0, 0, 0], RECURSIVE) } else { ([0, READ_ONLY, 0, 0], 0) };
    // SAFETY: the kernel reads a path that ends with a zero byte and the four numbers, whose size is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
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

fn make_folders(path: &Path) -> Result<(), Errno> {
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
        Err(Errno::NOENT) => {
            make_folders(path.parent().ok_or(Errno::NOENT)?)?;
            make_folders(path)
        }
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Where programs share memory; some systems have it elsewhere.
pub(super) fn shared_memory() -> Option<&'static Path> {
    let path = Path::new("/dev/shm");
    is_folder(path).then_some(path)
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
