//! Operations built from the single steps of [`Fs`]: whole reads, atomic
//! writes, replaced symlinks, deep removal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rlxp_types::Digest;

use crate::{FileHandle, Fs, FsError, Kind, Machine, Meta, Result, remove};

/// The prefix of unfinished files and folders. It is followed by the process id of their creator and a counter:
/// `.tmp-<pid>-<n>-<name>`.
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

    /// The digest of a whole file, read piece by piece: a program is larger than what training needs.
    fn digest(&self, path: &Path) -> Result<Digest> {
        const PIECE: usize = 1 << 18;
        let mut offset = 0;
        Digest::of_pieces(|| {
            let piece = self.read_at(path, offset, PIECE)?;
            offset += piece.len() as u64;
            Ok((!piece.is_empty()).then_some(piece))
        })
    }

    /// Free bytes on the disk of `path`, or of its nearest existing parent.
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

    /// Facts about a path, or `None` if it doesn't exist.
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

    /// Removes what killed processes left of attempts to create `path`: names from [`FsExt::temporary_beside`] whose
    /// process is gone. Failures are ignored, as leftovers are harmless.
    fn remove_abandoned(&self, machine: &dyn Machine, path: &Path) {
        remove::abandoned(self, machine, path);
    }

    /// Creates a file with this content and syncs it, but not its folder.
    fn write_new(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.create_new(path)?;
        file.write_all(bytes)?;
        file.sync()
    }

    /// Creates a file with this content and doesn't sync it: for files that are useless after a power loss anyway.
    fn write_new_unsynced(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.create_new(path)?.write_all(bytes)
    }

    /// Replaces a file so that every reader sees the complete old or new content, except after a power loss: for
    /// files that can be recreated.
    fn replace_unsynced(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = self.temporary_beside(path);
        self.write_new_unsynced(&temporary, bytes)
            .and_then(|()| self.rename(&temporary, path))
            .inspect_err(|_| drop(self.remove_file(&temporary)))
    }

    /// Replaces a file so that every reader sees the complete old or new content, even after a power loss: temporary
    /// file, sync, rename, folder sync.
    fn write_atomic(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let temporary = self.temporary_beside(path);
        self.write_new(&temporary, bytes)
            .and_then(|()| self.rename(&temporary, path))
            .inspect_err(|_| drop(self.remove_file(&temporary)))?;
        self.sync_dir(parent(path))
    }

    /// Creates a file that appears completely or not at all, and only if the name is free, so that one of several
    /// processes wins. `Ok(false)` if the name is taken.
    fn write_new_atomic(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let created = self.write_new_for_now(path, bytes)?;
        if created {
            self.sync_dir(parent(path))?;
        }
        Ok(created)
    }

    /// Like [`FsExt::write_new_atomic`], for a file that may be lost in a power loss, such as a lock. If it survives,
    /// it is complete.
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

    /// Changes the target of a symlink; readers see the old or the new target.
    fn replace_symlink(&self, target: &Path, link: &Path) -> Result<()> {
        let temporary = self.temporary_beside(link);
        self.symlink(target, &temporary)
            .and_then(|()| self.rename(&temporary, link))
            .inspect_err(|_| drop(self.remove_file(&temporary)))?;
        self.sync_dir(parent(link))
    }

    /// Removes a folder with everything in it, without following symlinks. A missing folder is not an error.
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
