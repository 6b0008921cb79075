//! The real file system.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the door itself")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::rooted::RootedFs;
use crate::{FileHandle, Fs, FsError, Kind, Meta, RawEntry, Result};

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

/// A file opened for appending, with its path for messages.
pub(crate) struct RealFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
}

impl FileHandle for RealFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| FsError::new("write", &self.path, e))
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| FsError::new("sync", &self.path, e))
    }

    fn length(&self) -> Result<u64> {
        let metadata = self.file.metadata().map_err(|e| FsError::new("look at", &self.path, e))?;
        Ok(metadata.len())
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.file.set_len(length).map_err(|e| FsError::new("cut", &self.path, e))
    }

    fn inode(&self) -> Result<u64> {
        let metadata = self.file.metadata().map_err(|e| FsError::new("look at", &self.path, e))?;
        Ok(metadata.ino())
    }
}

fn kind_of(file_type: fs::FileType) -> Kind {
    if file_type.is_file() {
        Kind::File
    } else if file_type.is_dir() {
        Kind::Folder
    } else if file_type.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

/// The same for what a folder says of its entries.
pub(crate) fn entry_kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

pub(crate) fn meta_of_stat(facts: &Stat) -> Meta {
    let rest = |nanoseconds: u64| i64::try_from(nanoseconds).unwrap_or_default();
    Meta {
        kind: entry_kind(FileType::from_raw_mode(facts.st_mode)),
        length: u64::try_from(facts.st_size).unwrap_or_default(),
        modified: nanoseconds(facts.st_mtime, rest(facts.st_mtime_nsec)),
        inode: facts.st_ino,
        device: facts.st_dev,
        changed: nanoseconds(facts.st_ctime, rest(facts.st_ctime_nsec)),
    }
}

pub(crate) fn meta_of(metadata: &fs::Metadata) -> Meta {
    Meta {
        kind: kind_of(metadata.file_type()),
        length: metadata.len(),
        modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        inode: metadata.ino(),
        device: metadata.dev(),
        changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// The open file itself, unless it is something else than a plain file.
pub(crate) fn only_plain(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    match kind_of(kind) {
        Kind::File => Ok(file),
        Kind::Folder => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Kind::Link | Kind::Other => Err(not_plain()),
    }
}

fn not_plain() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a device or a socket, not a plain file")
}

/// The error of opening a file: a socket, and a pipe without a reader, can't be
/// opened at all.
pub(crate) fn opening(error: io::Error) -> io::Error {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    if code == Some(Errno::NXIO) { not_plain() } else { error }
}

/// Without this flag, opening a pipe blocks until its other end is open.
fn waiting_for_nothing() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

/// Up to `limit` bytes of an open file that is at `offset`.
pub(crate) fn read_open(file: File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().saturating_sub(offset);
    let length = usize::try_from(length).unwrap_or(limit).min(limit);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // A file is read as long as it said it is: asking whether it really ends there costs as much as reading a
    // short one. What says it is empty may be made by the system while it is read.
    let most = if length > 0 { length } else { limit };
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Fs for RealFs {
    fn read_at(&self, path: &Path, offset: u64, limit: usize) -> Result<Vec<u8>> {
        let read = || {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(waiting_for_nothing());
            let mut file = only_plain(options.open(path).map_err(opening)?)?;
            if offset > 0 {
                file.seek(SeekFrom::Start(offset))?;
            }
            read_open(file, offset, limit)
        };
        read().map_err(|e| FsError::new("read", path, e))
    }

    fn read_given(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
        let read = || {
            let mut bytes = Vec::new();
            File::open(path)?.take(limit as u64).read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        read().map_err(|e| FsError::new("read", path, e))
    }

    fn metadata(&self, path: &Path) -> Result<Meta> {
        fs::symlink_metadata(path)
            .map(|metadata| meta_of(&metadata))
            .map_err(|e| FsError::new("look at", path, e))
    }

    fn list_raw(&self, path: &Path) -> Result<Vec<RawEntry>> {
        let list = || {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                entries.push(RawEntry { name: entry.file_name(), kind: kind_of(entry.file_type()?) });
            }
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            io::Result::Ok(entries)
        };
        list().map_err(|e| FsError::new("list", path, e))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        fs::create_dir(path).map_err(|e| FsError::new("create folder", path, e))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|e| FsError::new("create", path, e))?;
        Ok(Box::new(RealFile { file, path: path.to_owned() }))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        let file = OpenOptions::new()
            .append(true)
            .custom_flags(waiting_for_nothing())
            .open(path)
            .map_err(opening)
            .and_then(only_plain)
            .map_err(|e| FsError::new("open for writing", path, e))?;
        Ok(Box::new(RealFile { file, path: path.to_owned() }))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        fs::hard_link(from, to).map_err(|e| FsError::new("create", to, e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(|e| FsError::new("rename a file to", to, e))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // NFS and some FUSE file systems can't do it. An empty folder with
            // the new name is then the claim: only one can create it, and a
            // rename replaces an empty folder in one step.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::create_dir(to)
                .and_then(|()| fs::rename(from, to))
                .map_err(|e| FsError::new("rename a folder to", to, e)),
            result => result.map_err(|e| FsError::new("rename a folder to", to, e)),
        }
    }

    fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        symlink(target, link).map_err(|e| FsError::new("create symlink", link, e))
    }

    fn read_link(&self, link: &Path) -> Result<PathBuf> {
        fs::read_link(link).map_err(|e| FsError::new("read symlink", link, e))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|e| FsError::new("remove", path, e))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        fs::remove_dir(path).map_err(|e| FsError::new("remove folder", path, e))
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| FsError::new("sync folder", path, e))
    }

    fn available_space(&self, path: &Path) -> Result<u64> {
        let space =
            rustix::fs::statvfs(path).map_err(|e| FsError::new("ask for the free space of", path, e))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let copy = || {
            let mut source = File::open(from)?;
            let mut target = OpenOptions::new().write(true).create_new(true).open(to)?;
            io::copy(&mut source, &mut target)?;
            target.set_permissions(source.metadata()?.permissions())
        };
        copy().map_err(|e| FsError::new("copy a file to", to, e))
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        fs::canonicalize(path).map_err(|e| FsError::new("find", path, e))
    }

    fn rooted(&self, root: &Path) -> Arc<dyn Fs> {
        Arc::new(RootedFs::new(root))
    }
}
