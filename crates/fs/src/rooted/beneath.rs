//! Resolves a path below a root so that no symlink is followed and nothing leads out: with `openat2`, or component by
//! component if the kernel or a sandbox doesn't offer it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::LinkInTheWay;

/// A folder, opened when it is first needed: it may not exist before.
pub(super) struct Root {
    path: PathBuf,
    folder: OnceLock<OwnedFd>,
    /// Whether `openat2` has turned out to be missing.
    walks: AtomicBool,
}

impl Root {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), folder: OnceLock::new(), walks: AtomicBool::new(false) }
    }

    /// A root that never uses `openat2`.
    #[cfg(test)]
    pub(super) fn walking(path: &Path) -> Self {
        let root = Self::new(path);
        root.walks.store(true, Ordering::Relaxed);
        root
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder.as_fd());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, &self.path, flags, Mode::empty())?;
        Ok(self.folder.get_or_init(|| opened).as_fd())
    }

    /// `path` relative to the root; an error unless it is below it.
    pub(super) fn relative<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        let below = path.strip_prefix(&self.path).ok();
        below.filter(|below| below.components().all(|part| matches!(part, Component::Normal(_)))).ok_or_else(
            || {
                let why = format!("it is not below {}", self.path.display());
                io::Error::new(io::ErrorKind::InvalidInput, why)
            },
        )
    }

    /// Opens what `path` names. With `OFlags::PATH` a symlink at its end is
    /// opened itself; otherwise one anywhere is an error.
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let relative = self.relative(path)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
        let folder = self.folder()?;
        if relative.as_os_str().is_empty() {
            return Ok(rustix::fs::openat(folder, ".", flags, mode)?);
        }
        if !self.walks.load(Ordering::Relaxed) {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(folder, relative, flags, mode, resolve) {
                // Old kernels don't know it, and some sandboxes refuse what they don't know.
                Err(Errno::NOSYS | Errno::PERM) => self.walks.store(true, Ordering::Relaxed),
                // A concurrent rename made the kernel unsure about `..`, which no path has here.
                Err(Errno::AGAIN) => {}
                result => return Ok(result?),
            }
        }
        let (parent, name) = walk(folder, relative)?;
        let parent = parent.as_ref().map_or(folder, AsFd::as_fd);
        Ok(rustix::fs::openat(parent, name, flags, mode)?)
    }

    /// The open folder that holds `path`, and the name in it.
    pub(super) fn folder_of<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = self.relative(path)?.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().ok_or(Errno::INVAL)?;
        Ok((self.open(parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    /// `error` of an operation on `path` or, if a symlink is in its way, an error that names the link.
    pub(super) fn explain(&self, path: &Path, error: io::Error) -> io::Error {
        let code = error.raw_os_error().map(Errno::from_raw_os_error);
        if !matches!(code, Some(Errno::LOOP | Errno::NOTDIR | Errno::XDEV)) {
            return error;
        }
        match self.link_on(path) {
            Some(link) => io::Error::other(LinkInTheWay { link }),
            None => error,
        }
    }

    /// The first symlink on the way to `path`.
    fn link_on(&self, path: &Path) -> Option<PathBuf> {
        let mut at = self.path.clone();
        for part in self.relative(path).ok()?.components() {
            let (folder, name) = (self.open(&at, OFlags::PATH).ok()?, part.as_os_str());
            let facts = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            at.push(name);
            if FileType::from_raw_mode(facts.st_mode) == FileType::Symlink {
                return Some(at);
            }
        }
        None
    }
}

/// The folder of the last component of `relative` (`None` if that is the root) and that component. Each step refuses
/// a symlink.
fn walk<'p>(root: BorrowedFd<'_>, relative: &'p Path) -> io::Result<(Option<OwnedFd>, &'p OsStr)> {
    let name = relative.file_name().ok_or(Errno::INVAL)?;
    let mut at: Option<OwnedFd> = None;
    for part in relative.parent().unwrap_or(Path::new("")).components() {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let from = at.as_ref().map_or(root, AsFd::as_fd);
        at = Some(rustix::fs::openat(from, part.as_os_str(), flags, Mode::empty())?);
    }
    Ok((at, name))
}
