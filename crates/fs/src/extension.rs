//! Operations built from the single steps of [`Fs`]: whole reads, atomic
//! writes, replaced symlinks, deep removal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{FileHandle, Fs, FsError, Kind, Machine, Meta, Result, remove};

/// How the names of unfinished files and folders begin. After it come the
/// maker's process number and a counter: `.tmp-<pid>-<n>-<name>`.
pub const TEMPORARY_PREFIX: &str = ".tmp-";

/// Whether a name was given by [`FsExt::temporary_beside`].
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY_PREFIX)
}

/// The process that made a temporary name.
pub fn temporary_owner(name: &str) -> Option<u32> {
    name.strip_prefix(TEMPORARY_PREFIX)?.split('-').next()?.parse().ok()
}

/// Operations of several steps, for every [`Fs`].
pub trait FsExt: Fs {
    /// A whole file of at most `cap` bytes; a longer one is an error.
    fn read(&self, path: &Path, cap: u64) -> Result<Vec<u8>> {
        let limit = usize::try_from(cap.saturating_add(1)).unwrap_or(usize::MAX);
        within(path, self.read_at(path, 0, limit)?, cap)
    }

    /// What is free where `path` is, or would be made: on the disk of the nearest folder above it that is there.
    fn available_around(&self, path: &Path) -> Result<u64> {
        let mut told = self.available_space(path);
        for above in path.ancestors().skip(1) {
            match told {
                Err(error) if error.is_not_found() => told = self.available_space(above),
                _ => break,
            }
        }
        told
    }

    /// A whole text file of at most `cap` bytes.
    fn read_text(&self, path: &Path, cap: u64) -> Result<String> {
        as_text(path, self.read(path, cap)?)
    }

    /// A whole text of at most `cap` bytes that the user named: a file or a pipe.
    fn read_given_text(&self, path: &Path, cap: u64) -> Result<String> {
        let limit = usize::try_from(cap.saturating_add(1)).unwrap_or(usize::MAX);
        as_text(path, within(path, self.read_given(path, limit)?, cap)?)
    }

    /// Facts about a path, or nothing when nothing is there.
    fn metadata_if_any(&self, path: &Path) -> Result<Option<Meta>> {
        match self.metadata(path) {
            Ok(meta) => Ok(Some(meta)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether `path` is a folder (not a symlink to one).
    fn is_folder(&self, path: &Path) -> Result<bool> {
        Ok(self.metadata_if_any(path)?.is_some_and(|meta| meta.kind == Kind::Folder))
    }

    /// Whether `path` is a plain file (not a symlink to one).
    fn is_file(&self, path: &Path) -> Result<bool> {
        Ok(self.metadata_if_any(path)?.is_some_and(|meta| meta.kind == Kind::File))
    }

    /// Creates a folder and its missing parents, and syncs each parent in
    /// which an entry was made.
    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let mut missing = Vec::new();
        let mut at = path;
        loop {
            match self.create_dir(at) {
                Ok(()) => break self.sync_dir(parent(at))?,
                Err(error) if error.is_already_there() => break,
                Err(error) if error.is_not_found() && at.parent().is_some() => {
                    missing.push(at);
                    at = parent(at);
                }
                Err(error) => return Err(error),
            }
        }
        for folder in missing.into_iter().rev() {
            match self.create_dir(folder) {
                Ok(()) => self.sync_dir(parent(folder))?,
                Err(error) if error.is_already_there() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A name beside `path` that nothing else uses.
    fn temporary_beside(&self, path: &Path) -> PathBuf {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        path.with_file_name(format!("{TEMPORARY_PREFIX}{}-{number}-{name}", std::process::id()))
    }

    /// Removes what a killed process left of its attempt to make `path`: names
    /// as [`FsExt::temporary_beside`] gives them, whose process is gone. What
    /// can't be removed stays; it is in nobody's way.
    fn remove_abandoned(&self, machine: &dyn Machine, path: &Path) {
        remove::abandoned(self, machine, path);
    }

    /// Creates a file with this content and syncs it, but not its folder.
    fn write_new(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.create_new(path)?;
        file.write_all(bytes)?;
        file.sync()
    }

    /// Creates a file with this content, of which after a power loss anything
    /// may be left: for what only a process needs that is gone then as well.
    fn write_new_unsynced(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.create_new(path)?.write_all(bytes)
    }

    /// Replaces a file so that every reader sees the old or the new content
    /// whole, as long as the power stays: for what can be made anew.
    fn replace_unsynced(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = self.temporary_beside(path);
        self.write_new_unsynced(&temporary, bytes)
            .and_then(|()| self.rename(&temporary, path))
            .inspect_err(|_| drop(self.remove_file(&temporary)))
    }

    /// Replaces a file so that every reader, also after a power loss, sees the
    /// old or the new content whole: temporary file, sync, rename, folder sync.
    fn write_atomic(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = self.temporary_beside(path);
        self.write_new(&temporary, bytes)
            .and_then(|()| self.rename(&temporary, path))
            .inspect_err(|_| drop(self.remove_file(&temporary)))?;
        self.sync_dir(parent(path))
    }

    /// Creates a file that appears whole or not at all, and only when the name
    /// is free: the winner among many that try. `Ok(false)` when it is taken.
    fn write_new_atomic(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let created = self.write_new_for_now(path, bytes)?;
        if created {
            self.sync_dir(parent(path))?;
        }
        Ok(created)
    }

    /// The same for a file that needn't be there any more after a power loss,
    /// such as a lock. If it is, it is whole.
    fn write_new_for_now(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let temporary = self.temporary_beside(path);
        let linked = self.write_new(&temporary, bytes).and_then(|()| self.hard_link(&temporary, path));
        let removed = self.remove_file(&temporary);
        match linked {
            Ok(()) => removed.map(|()| true),
            Err(error) if error.is_already_there() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Points a symlink somewhere else; readers see the old or the new target.
    fn replace_symlink(&self, target: &Path, link: &Path) -> Result<()> {
        let temporary = self.temporary_beside(link);
        self.symlink(target, &temporary)
            .and_then(|()| self.rename(&temporary, link))
            .inspect_err(|_| drop(self.remove_file(&temporary)))?;
        self.sync_dir(parent(link))
    }

    /// Removes a folder with everything in it, without following symlinks.
    /// What is already gone is no error.
    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        remove::folder(self, path)
    }

    /// Copies bytes `from..from + length` of a file to the end of another in
    /// pieces, so that a large file needs little memory.
    fn copy_range(&self, source: &Path, from: u64, length: u64, target: &mut dyn FileHandle) -> Result<()> {
        const PIECE: u64 = 1 << 20;
        let mut at = from;
        let end = from.saturating_add(length);
        while at < end {
            let bytes = self.read_at(source, at, (end - at).min(PIECE) as usize)?;
            if bytes.is_empty() {
                let source_error = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(FsError::new("copy", source, source_error));
            }
            target.write_all(&bytes)?;
            at += bytes.len() as u64;
        }
        Ok(())
    }
}

impl<T: Fs + ?Sized> FsExt for T {}

/// `bytes`, unless there are more than `cap`.
fn within(path: &Path, bytes: Vec<u8>, cap: u64) -> Result<Vec<u8>> {
    if bytes.len() as u64 > cap {
        let source = io::Error::other(format!("it is longer than {cap} bytes"));
        return Err(FsError::new("read", path, source));
    }
    Ok(bytes)
}

fn as_text(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let why = format!("it is not UTF-8 at byte {}", error.utf8_error().valid_up_to());
        FsError::new("read", path, io::Error::new(io::ErrorKind::InvalidData, why))
    })
}

/// The folder that holds `path`; the working folder for a bare name.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}
