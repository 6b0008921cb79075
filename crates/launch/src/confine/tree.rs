//! The code that a step sees: a base that never changes, overlaid with the files that differ.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::inotify::WatchFlags;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use crate::order::TreeOrder;

/// Why a name can't be one of a file inside the tree.
pub(super) fn is_inside(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Lays `changed` over `inputs` over `base` at `at`; whatever is written there lands in `changed`.
pub(super) fn overlay(tree: &TreeOrder) -> Result<(), Errno> {
    let open = |path: &Path| folder(path);
    let (base, changed, work) = (open(&tree.base)?, open(&tree.changed)?, open(&tree.work)?);
    // By descriptor, because commas, colons and backslashes in a path have a meaning in these options.
    let named = |opened: &OwnedFd| format!("/proc/self/fd/{}", opened.as_raw_fd());
    let inputs = tree.inputs.as_deref().map(open).transpose()?;
    let lower: Vec<String> = inputs.iter().chain([&base]).map(named).collect();
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        lower.join(":"),
        named(&changed),
        named(&work)
    );
    let options = CString::new(options).expect("descriptors have no zero byte");
    mount("overlay", tree.at.as_path(), "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
}

/// Copies `base`, then `inputs`, then `changed` to `at`, where no overlay is available.
pub(super) fn copy(tree: &TreeOrder) -> Result<(), String> {
    for from in [Some(&tree.base), tree.inputs.as_ref(), Some(&tree.changed)].into_iter().flatten() {
        let copied = folder(from).and_then(|from| copy_folder(&from, &folder(&tree.at)?));
        copied.map_err(|error| format!("can't copy {} to {}: {error}", from.display(), tree.at.display()))?;
    }
    Ok(())
}

fn folder(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn copy_folder(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    for entry in Dir::read_from(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                // It must be writable for what comes into it.
                match rustix::fs::mkdirat(to, name, mode | Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let open = |at: &OwnedFd| rustix::fs::openat(at, name, flags, Mode::empty());
                copy_folder(&open(from)?, &open(to)?)?;
            }
            FileType::Symlink => {
                replace(to, name)?;
                rustix::fs::symlinkat(rustix::fs::readlinkat(from, name, Vec::new())?, to, name)?;
            }
            FileType::RegularFile => {
                replace(to, name)?;
                let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let from = rustix::fs::openat(from, name, read, Mode::empty())?;
                let to = rustix::fs::openat(to, name, write, mode | Mode::WUSR)?;
                while rustix::fs::sendfile(&to, &from, None, 1 << 30)? > 0 {}
            }
            // A device that an overlay left as the mark of a removed file, sockets, pipes: none of them is code.
            _ => {}
        }
    }
    Ok(())
}

/// A file of the base makes way for a changed one.
fn replace(folder: &OwnedFd, name: &std::ffi::CStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes files away. Links on the way are not followed: nothing outside of the tree is ever removed.
pub(super) fn remove(tree: &TreeOrder) -> Result<(), String> {
    let failed = |name: &str, error| format!("can't remove {name} from the tree: {error}");
    let top = folder(&tree.at).map_err(|error| failed(".", error))?;
    for name in &tree.removed {
        let path = Path::new(name);
        let (Some(file), true) = (path.file_name(), is_inside(name)) else {
            return Err(failed(name, Errno::INVAL));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let removed = rustix::fs::openat2(&top, parent, flags, Mode::empty(), within)
            .and_then(|parent| rustix::fs::unlinkat(parent, file, AtFlags::empty()));
        match removed {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(name, error)),
        }
    }
    Ok(())
}

/// Watches for one of these files being opened. Missing files are never opened.
pub(super) fn watch(tree: &TreeOrder, names: &[String], instance: &OwnedFd) -> BTreeMap<i32, Vec<String>> {
    let mut watching: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    let Ok(top) = folder(&tree.at) else { return watching };
    for name in names {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(&top, name.as_str(), flags, Mode::empty(), ResolveFlags::BENEATH);
        let Ok(opened) = opened else { continue };
        let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
        // Once is enough, and avoids a flood of events.
        let once = WatchFlags::OPEN | WatchFlags::ONESHOT;
        if let Ok(number) = rustix::fs::inotify::add_watch(instance.as_fd(), path.as_str(), once) {
            watching.entry(number).or_default().push(name.clone());
        }
    }
    watching
}

/// Creates a folder unless it exists.
pub(super) fn make_folder(path: &Path) -> Result<(), String> {
    match rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(format!("can't create the folder {}: {error}", path.display())),
    }
}
