//! The file operations that rlx uses, as a trait, so that tests can replace the real file system by one that fails or
//! crashes.
//!
//! These are single steps. Operations of several steps are in [`crate::FsExt`], so that a fault can hit between any
//! two of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Result;

/// What a path is. Symlinks are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a socket, a pipe.
    Other,
}

/// Facts about a path. Symlinks are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Its length in bytes.
    pub length: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// The number of the file behind the name: two names with the same number
    /// on the same device are the same file.
    pub inode: u64,
    /// The number of the device that holds it.
    pub device: u64,
    /// When anything about it last changed, in nanoseconds since 1970. Unlike `modified`, it can only be set by
    /// setting the clock.
    pub changed: i64,
}

/// One entry of a folder, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEntry {
    /// Its name inside the folder.
    pub name: OsString,
    /// What it is.
    pub kind: Kind,
}

/// One entry of a folder whose name is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name inside the folder.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// A file opened for appending.
pub trait FileHandle: Send {
    /// Appends all of `bytes`. After an error, an unknown part of them may be in the file.
    fn write_all(&mut self, bytes: &[u8]) -> Result<()>;
    /// Returns after everything written so far is on the disk. After an error the file must be given up: the system
    /// may forget what it failed to write and report success the next time.
    fn sync(&mut self) -> Result<()>;
    /// The present length.
    fn length(&self) -> Result<u64>;
    /// Cuts the file to `length` bytes.
    fn truncate(&mut self, length: u64) -> Result<()>;
    /// The number of the open file, see [`Meta::inode`].
    fn inode(&self) -> Result<u64>;
}

/// File operations, each a single step.
pub trait Fs: Send + Sync {
    /// Up to `limit` bytes of a plain file from `offset` on; fewer only at the
    /// end of the file. Anything else, such as a pipe, which might never
    /// answer, is an error.
    fn read_at(&self, path: &Path, offset: u64, limit: usize) -> Result<Vec<u8>>;
    /// Facts about a path, without following a symlink.
    fn metadata(&self, path: &Path) -> Result<Meta>;
    /// Up to `limit` bytes from the start of something that the user named,
    /// which may be a pipe (`<(…)`, `/dev/stdin`).
    fn read_given(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
        self.read_at(path, 0, limit)
    }
    /// Facts about many paths below `folder`, one after the other, until `each` returns false; true if it never did.
    /// A symlink at the end of a path is not followed. This is for noticing changes of thousands of files: a folder
    /// on the way that is a symlink may be followed, so nothing may be read because of the answer.
    fn look_at_all(
        &self,
        folder: &Path,
        paths: &mut dyn Iterator<Item = &str>,
        each: &mut dyn FnMut(Option<&Meta>) -> bool,
    ) -> Result<bool> {
        for path in paths {
            let meta = match self.metadata(&folder.join(path)) {
                Ok(meta) => Some(meta),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(error),
            };
            if !each(meta.as_ref()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
    /// Every entry of a folder, sorted by name.
    fn list_raw(&self, path: &Path) -> Result<Vec<RawEntry>>;
    /// The entries of a folder, sorted by name. Names that are not UTF-8 are
    /// left out: rlx makes none.
    fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        let entries = self.list_raw(path)?.into_iter();
        let text = |entry: RawEntry| Some(Entry { name: entry.name.into_string().ok()?, kind: entry.kind });
        Ok(entries.filter_map(text).collect())
    }
    /// Creates one folder; an error if the name is taken.
    fn create_dir(&self, path: &Path) -> Result<()>;
    /// Creates a file; an error if the name is taken (`O_EXCL`).
    fn create_new(&self, path: &Path) -> Result<Box<dyn FileHandle>>;
    /// Opens an existing file for appending.
    fn open_append(&self, path: &Path) -> Result<Box<dyn FileHandle>>;
    /// A second name for a file; an error when the name is taken.
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()>;
    /// Renames; an existing file of the new name is replaced.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Renames a folder; an error when the new name is taken.
    fn rename_new(&self, from: &Path, to: &Path) -> Result<()>;
    /// Creates a symlink; an error when the name is taken.
    fn symlink(&self, target: &Path, link: &Path) -> Result<()>;
    /// Where a symlink points.
    fn read_link(&self, link: &Path) -> Result<PathBuf>;
    /// Removes a file or a symlink.
    fn remove_file(&self, path: &Path) -> Result<()>;
    /// Removes an empty folder.
    fn remove_dir(&self, path: &Path) -> Result<()>;
    /// Returns after the folder's own entries are on the disk.
    fn sync_dir(&self, path: &Path) -> Result<()>;
    /// Bytes that may still be written below `path`.
    fn available_space(&self, path: &Path) -> Result<u64>;
    /// Copies a plain file with its permissions, if the file system has any; an error if the name is taken. The copy
    /// is not synced.
    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        const PIECE: usize = 1 << 20;
        let mut target = self.create_new(to)?;
        let mut offset = 0;
        loop {
            let bytes = self.read_at(from, offset, PIECE)?;
            target.write_all(&bytes)?;
            offset += bytes.len() as u64;
            if bytes.len() < PIECE {
                return Ok(());
            }
        }
    }
    /// The absolute path with every symlink resolved.
    fn canonicalize(&self, path: &Path) -> Result<PathBuf>;
    /// The same files, but only those below `root`, and never through a symlink below it: a path that leads through
    /// one is an error that names the link ([`crate::FsError::link`]). Paths stay as they are, including `root`. The
    /// root needn't exist yet and may itself be reached through links.
    fn rooted(&self, root: &Path) -> Arc<dyn Fs>;
}
