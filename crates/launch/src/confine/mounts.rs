//! What a step's own mount namespace shows otherwise than the machine's: a fresh `/proc`, a `/dev/shm` of its own, no
//! sockets of services under `/run`, and empty folders where something is hidden.
//!
//! Landlock alone would already refuse to read hidden files. But it lets a process connect to sockets in hidden folders
//! (an agent that signs, say), and it can't allow to list a folder without allowing to list those in it.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, Kind, RealFs};
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

/// Puts something empty over each of `hidden`, and `kept` back where it lay below one of them. All paths are resolved.
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
            copy_of_mount(path).map_err(|error| format!("can't keep {}: {error}", path.display()))?,
        ));
    }
    for (path, is_folder) in &outermost {
        let covered = if *is_folder { in_memory(path, 1 << 20, "0755") } else { cover_file(path) };
        covered.map_err(|error| format!("can't cover {}: {error}", path.display()))?;
    }
    // Folders before what lies in them, which may be kept for its own sake too.
    back.sort_by_key(|(path, _)| path.components().count());
    for (path, mounted) in back {
        put_back(path, &mounted).map_err(|error| format!("can't keep {}: {error}", path.display()))?;
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

/// A file or a socket disappears behind a file that nobody may open.
fn cover_file(path: &Path) -> Result<(), Errno> {
    let empty = Path::new("/dev/shm/.rlx-covered");
    let made = rustix::fs::open(empty, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    made?;
    let copy = copy_of_mount(empty)?;
    move_mount(&copy, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
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
