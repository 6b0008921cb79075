//! The root of a step's own: a new file system in memory that shows the listed paths and has nothing else, so that a file
//! or a socket elsewhere can't be reached, no matter when it appears.
//!
//! Everything is prepared beside the machine's root, which stays as it is until the last moment: if something can't be
//! mounted, the step still has the machine's root, and only the level of the sandbox is lower.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, UnmountFlags, mount, move_mount, unmount};

use super::files::is_folder;
use super::mounts::{Attributes, copy_of_mount, in_memory, set_attributes};
use super::visible::{Access, Visible};

/// Where it is prepared; any of them that exists.
const BENCHES: [&str; 4] = ["/tmp", "/mnt", "/run", "/proc"];
/// Room for the folders, links and mount points of the root itself.
const OWN_BYTES: u64 = 16 << 20;
/// Covers hidden files. Removed before the step starts.
const COVER: &str = ".rlx-covered";
/// The folder for temporary files that programs name without asking, and the one for memory that they share.
pub(super) const SCRATCH: [&str; 2] = ["/tmp", "/dev/shm"];
/// Links that programs expect beside the devices.
const STREAMS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// What the root is made of.
pub(super) struct Plan<'a> {
    pub(super) visible: &'a Visible,
    /// Real paths of files and folders that must not be seen, even inside a visible folder.
    pub(super) hidden: &'a [PathBuf],
    /// Bytes that all files in memory may have together.
    pub(super) memory: u64,
    /// Whether this is the first process of its own process namespace.
    pub(super) owns_processes: bool,
}

/// One thing to put into the root.
enum Piece {
    Mount(OwnedFd),
    Link(PathBuf),
    Cover,
}

/// Makes the root and moves this process's mount namespace into it. Returns why `/proc` isn't its own, where it isn't.
pub(super) fn enter(plan: &Plan<'_>) -> Result<Option<String>, String> {
    // Taken before anything is mounted over the place where they are.
    let pieces = pieces(plan)?;
    let bench = BENCHES.map(Path::new).into_iter().find(|path| is_folder(path));
    let bench = bench.ok_or_else(|| "no folder to prepare a root in".to_owned())?;
    in_memory(bench, OWN_BYTES, "0755").map_err(|error| format!("can't mount a root: {error}"))?;
    let proc = fill(plan, bench, pieces).and_then(|proc| {
        pivot(bench).map_err(|error| format!("can't change the root: {error}"))?;
        Ok(proc)
    });
    proc.inspect_err(|_| {
        let _ = unmount(bench, UnmountFlags::DETACH);
    })
}

/// Parents before what is in them.
fn pieces(plan: &Plan<'_>) -> Result<Vec<(PathBuf, Piece)>, String> {
    let mut pieces = Vec::new();
    for (path, access) in &plan.visible.paths {
        let attributes = match access {
            Access::Read => Attributes::READ_ONLY | Attributes::NO_SUID | Attributes::NO_DEVICES,
            Access::Write => Attributes::NO_SUID | Attributes::NO_DEVICES,
            Access::Device => Attributes::READ_ONLY | Attributes::NO_SUID | Attributes::NO_PROGRAMS,
        };
        let failed = |error: std::io::Error| format!("can't bind {}: {error}", path.display());
        let copy = copy_of_mount(path).map_err(|error| failed(error.into()))?;
        set_attributes(&copy, attributes).map_err(failed)?;
        pieces.push((path.clone(), Piece::Mount(copy)));
    }
    let links = plan.visible.links.iter();
    pieces.extend(links.map(|(link, target)| (link.clone(), Piece::Link(target.clone()))));
    let streams = STREAMS.iter().map(|(link, target)| (PathBuf::from(link), Piece::Link(target.into())));
    pieces.extend(streams);
    pieces.extend(plan.hidden.iter().map(|path| (path.clone(), Piece::Cover)));
    // Something visible right at a hidden path comes after its cover.
    let rank = |piece: &Piece| u8::from(!matches!(piece, Piece::Cover));
    pieces.sort_by_key(|(path, piece)| (path.components().count(), rank(piece)));
    Ok(pieces)
}

fn fill(plan: &Plan<'_>, bench: &Path, pieces: Vec<(PathBuf, Piece)>) -> Result<Option<String>, String> {
    let failed = |what: &Path, error: Errno| format!("can't put {} into the root: {error}", what.display());
    let open = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(bench, open, Mode::empty()).map_err(|error| failed(bench, error))?;
    scratch(&root, bench, plan.memory).map_err(|error| failed(Path::new("/tmp"), error))?;
    let proc =
        own_proc(&root, bench, plan.owns_processes).map_err(|error| failed(Path::new("/proc"), error))?;
    let cover = Path::new(COVER);
    place(&root, cover, Kind::File).map_err(|error| failed(cover, error))?;
    let mut covers = folders_on_the_way(plan.visible);
    for path in &covers {
        let made =
            place(&root, path, Kind::Folder).and_then(|_| in_memory(&below(bench, path), OWN_BYTES, "0755"));
        made.map_err(|error| failed(path, error))?;
    }
    for (path, piece) in pieces {
        let put = match piece {
            Piece::Mount(copy) => put(&root, &path, &copy),
            Piece::Link(target) => link(&root, &path, &target),
            Piece::Cover => hide(&root, bench, &path).map(|folder| covers.extend(folder)),
        };
        put.map_err(|error| failed(&path, error))?;
    }
    rustix::fs::unlinkat(&root, cover, AtFlags::empty()).map_err(|error| failed(cover, error))?;
    for path in covers.iter().map(PathBuf::as_path).chain([Path::new("/")]) {
        let closed = place(&root, path, Kind::Folder).map_err(|error| failed(path, error))?;
        let read_only = Attributes::READ_ONLY | Attributes::NO_SUID | Attributes::NO_DEVICES;
        super::mounts::set_attributes_of_one(&closed, read_only)
            .map_err(|error| format!("can't make {} read-only: {error}", path.display()))?;
    }
    Ok(proc)
}

/// Folders of the machine's `/tmp` that lead to something visible. The step may write its own `/tmp`, but not these.
fn folders_on_the_way(visible: &Visible) -> Vec<PathBuf> {
    let tmp = Path::new(SCRATCH[0]);
    let first = |path: &PathBuf| {
        let mut inside = path.strip_prefix(tmp).ok()?.components();
        let first = tmp.join(inside.next()?);
        inside.next().map(|_| first)
    };
    let folders: BTreeSet<PathBuf> =
        visible.paths.keys().chain(visible.links.keys()).filter_map(first).collect();
    folders.into_iter().filter(|path| !visible.paths.contains_key(path)).collect()
}

/// One file system in memory for both folders, so that one limit holds for them together.
fn scratch(root: &OwnedFd, bench: &Path, bytes: u64) -> Result<(), Errno> {
    let at = below(bench, Path::new(SCRATCH[0]));
    place(root, Path::new(SCRATCH[0]), Kind::Folder)?;
    in_memory(&at, bytes, "0755")?;
    let mut copies = Vec::new();
    for name in SCRATCH {
        let inside = at.join(Path::new(name).file_name().unwrap_or(OsStr::new("scratch")));
        rustix::fs::mkdir(&inside, Mode::from_raw_mode(0o700))?;
        // Not by the folder's creation, where the process's mask would take rights away.
        rustix::fs::chmod(&inside, Mode::from_raw_mode(0o1777))?;
        copies.push((name, copy_of_mount(&inside)?));
    }
    unmount(&at, UnmountFlags::DETACH)?;
    copies.iter().try_for_each(|(name, copy)| put(root, Path::new(name), copy))
}

/// A `/proc` that shows the new process namespace only. Where parts of the old one are hidden, as in containers, the
/// kernel refuses, and the old one is shown.
fn own_proc(root: &OwnedFd, bench: &Path, owns_processes: bool) -> Result<Option<String>, Errno> {
    let proc = Path::new("/proc");
    place(root, proc, Kind::Folder)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if owns_processes {
        match mount("proc", below(bench, proc), "proc", flags, None) {
            Ok(()) => return Ok(None),
            Err(error) => {
                put(root, proc, &copy_of_mount(proc)?)?;
                return Ok(Some(format!("can't mount a new /proc: {error}")));
            }
        }
    }
    put(root, proc, &copy_of_mount(proc)?)?;
    Ok(None)
}

/// Covers a file or folder with something empty, if it is there; returns it if it is a folder.
fn hide(root: &OwnedFd, bench: &Path, path: &Path) -> Result<Option<PathBuf>, Errno> {
    let Ok(found) = find(root, path) else { return Ok(None) };
    let stat = rustix::fs::fstat(&found)?;
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        // By its path, which holds no links: it is real, and so are all folders that were made for it.
        in_memory(&below(bench, path), 1 << 20, "0755")?;
        return Ok(Some(path.to_owned()));
    }
    let cover = copy_of_mount(&bench.join(COVER))?;
    move_onto(&cover, &found)?;
    Ok(None)
}

fn link(root: &OwnedFd, path: &Path, target: &Path) -> Result<(), Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    let parent = place(root, parent, Kind::Folder)?;
    match rustix::fs::symlinkat(target, &parent, name) {
        // A folder that is shown as a whole has its links.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

fn put(root: &OwnedFd, path: &Path, copy: &OwnedFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(copy)?;
    let kind = if FileType::from_raw_mode(stat.st_mode).is_dir() { Kind::Folder } else { Kind::File };
    move_onto(copy, &place(root, path, kind)?)
}

fn move_onto(copy: &OwnedFd, place: &OwnedFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(copy, "", place, "", flags)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Folder,
    File,
}

/// The place of `path` in the root, made if it isn't there. No link is followed: it could lead out of the root.
fn place(root: &OwnedFd, path: &Path, kind: Kind) -> Result<OwnedFd, Errno> {
    walk(root, path, |folder, name, is_last| {
        if is_last && kind == Kind::File {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            drop(rustix::fs::openat(folder, name, flags | OFlags::EXCL, Mode::empty()));
        } else {
            let _ = rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o755));
        }
    })
}

fn find(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    walk(root, path, |_, _, _| ())
}

/// Opens `path` step by step. `make` may create what is missing; whether it did is seen when it is opened.
fn walk(root: &OwnedFd, path: &Path, make: impl Fn(&OwnedFd, &OsStr, bool)) -> Result<OwnedFd, Errno> {
    let mut at = rustix::fs::openat(root, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { continue };
        make(&at, name, parts.peek().is_none());
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = rustix::fs::openat(&at, name, flags, Mode::empty())?;
    }
    let stat = rustix::fs::fstat(&at)?;
    if FileType::from_raw_mode(stat.st_mode).is_symlink() { Err(Errno::LOOP) } else { Ok(at) }
}

fn below(bench: &Path, path: &Path) -> PathBuf {
    bench.join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes the new root that of every process in this mount namespace, and lets the old one go.
fn pivot(bench: &Path) -> Result<(), Errno> {
    rustix::process::chdir(bench)?;
    // Both in one place: the old root then lies over the new one, and is taken off it.
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}
