//! Files below one folder, reached without following a single symlink.
//!
//! A run that was received from elsewhere, or a folder that another process
//! changes at this moment, may hold links that lead anywhere. Here every path
//! is resolved by the kernel from the root's open folder ([`beneath`]), so
//! nothing outside is read, written or removed, whatever is planted between
//! two calls. Only plain files are read: a pipe or a device would block.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the door itself")]

mod beneath;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::real::{RealFile, entry_kind, meta_of, meta_of_stat, only_plain, opening, read_open};
use crate::{FileHandle, Fs, FsError, Kind, Meta, RawEntry, Result};
use beneath::Root;

/// The machine's file system below one folder. The folder itself may be
/// reached through symlinks; nothing below it may.
#[derive(Clone)]
pub(crate) struct RootedFs {
    root: Arc<Root>,
}

impl RootedFs {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: Arc::new(Root::new(root)) }
    }

    /// Runs `work` and names operation, path and, where a symlink is in the
    /// way, that link.
    fn step<T>(
        &self,
        operation: &'static str,
        path: &Path,
        work: impl FnOnce(&Root) -> io::Result<T>,
    ) -> Result<T> {
        work(&self.root).map_err(|error| FsError::new(operation, path, self.root.explain(path, error)))
    }
}

/// A plain file opened for reading; a pipe answers at once instead of blocking.
fn open_plain(root: &Root, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    only_plain(File::from(root.open(path, flags).map_err(opening)?))
}

fn kind_at(root: &Root, path: &Path) -> io::Result<Kind> {
    Ok(meta_of(&File::from(root.open(path, OFlags::PATH)?).metadata()?).kind)
}

impl Fs for RootedFs {
    fn read_at(&self, path: &Path, offset: u64, limit: usize) -> Result<Vec<u8>> {
        self.step("read", path, |root| {
            let mut file = open_plain(root, path)?;
            if offset > 0 {
                file.seek(SeekFrom::Start(offset))?;
            }
            read_open(file, offset, limit)
        })
    }

    fn metadata(&self, path: &Path) -> Result<Meta> {
        self.step("look at", path, |root| {
            let file = root.open(path, OFlags::PATH)?;
            Ok(meta_of(&File::from(file).metadata()?))
        })
    }

    fn look_at_all(
        &self,
        folder: &Path,
        paths: &mut dyn Iterator<Item = &str>,
        each: &mut dyn FnMut(Option<&Meta>) -> bool,
    ) -> Result<bool> {
        self.step("look at", folder, |root| {
            // From the root, without opening the folder: half the calls.
            let start = root.folder()?;
            let mut place = root.relative(folder)?.as_os_str().as_bytes().to_vec();
            place.push(b'/');
            let common = place.len();
            for path in paths {
                place.truncate(common);
                place.extend_from_slice(path.as_bytes());
                let meta = match rustix::fs::statat(start, &place[..], AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(facts) => Some(meta_of_stat(&facts)),
                    Err(Errno::NOENT | Errno::NOTDIR) => None,
                    Err(error) => return Err(error.into()),
                };
                if !each(meta.as_ref()) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn list_raw(&self, path: &Path) -> Result<Vec<RawEntry>> {
        self.step("list", path, |root| {
            let folder = root.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let mut entries = Vec::new();
            for entry in Dir::new(folder)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                let name = OsStr::from_bytes(name).to_owned();
                let kind = match entry.file_type() {
                    // Some file systems don't say; asking costs one more call.
                    FileType::Unknown => kind_at(root, &path.join(&name))?,
                    known => entry_kind(known),
                };
                entries.push(RawEntry { name, kind });
            }
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        })
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.step("create folder", path, |root| {
            let (folder, name) = root.folder_of(path)?;
            Ok(rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777))?)
        })
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        self.step("create", path, |root| {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
            Ok(handle(root.open(path, flags)?, path))
        })
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        self.step("open for writing", path, |root| {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY;
            let file = root.open(path, flags).map_err(opening)?;
            Ok(handle(only_plain(File::from(file))?.into(), path))
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.step("create", to, |root| {
            let ((old, old_name), (new, new_name)) = (root.folder_of(from)?, root.folder_of(to)?);
            Ok(rustix::fs::linkat(old, old_name, new, new_name, AtFlags::empty())?)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.step("rename a file to", to, |root| {
            let ((old, old_name), (new, new_name)) = (root.folder_of(from)?, root.folder_of(to)?);
            Ok(rustix::fs::renameat(old, old_name, new, new_name)?)
        })
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.step("rename a folder to", to, |root| {
            let ((old, old_name), (new, new_name)) = (root.folder_of(from)?, root.folder_of(to)?);
            match rustix::fs::renameat_with(&old, old_name, &new, new_name, RenameFlags::NOREPLACE) {
                // As in `RealFs`: an empty folder is the claim where the file
                // system knows no other.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    rustix::fs::mkdirat(&new, new_name, Mode::from_raw_mode(0o777))?;
                    Ok(rustix::fs::renameat(old, old_name, new, new_name)?)
                }
                result => Ok(result?),
            }
        })
    }

    fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        self.step("create symlink", link, |root| {
            let (folder, name) = root.folder_of(link)?;
            Ok(rustix::fs::symlinkat(target, folder, name)?)
        })
    }

    fn read_link(&self, link: &Path) -> Result<PathBuf> {
        self.step("read symlink", link, |root| {
            let (folder, name) = root.folder_of(link)?;
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
            Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
        })
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.step("remove", path, |root| {
            let (folder, name) = root.folder_of(path)?;
            Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.step("remove folder", path, |root| {
            let (folder, name) = root.folder_of(path)?;
            Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
        })
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.step("sync folder", path, |root| {
            Ok(rustix::fs::fsync(root.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?)?)
        })
    }

    fn available_space(&self, path: &Path) -> Result<u64> {
        self.step("ask for the free space of", path, |root| {
            let space = rustix::fs::fstatvfs(root.open(path, OFlags::PATH)?)?;
            Ok(space.f_bavail.saturating_mul(space.f_frsize))
        })
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        self.step("copy a file to", to, |root| {
            let mut source = open_plain(root, from)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mut target = File::from(root.open(to, flags)?);
            io::copy(&mut source.by_ref(), &mut target)?;
            target.set_permissions(source.metadata()?.permissions())
        })
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.step("find", path, |root| {
            root.open(path, OFlags::PATH | OFlags::NOFOLLOW)?;
            Ok(std::fs::canonicalize(root.path())?.join(root.relative(path)?))
        })
    }

    /// Already rooted: what is below the inner folder is below the outer one,
    /// and no link is followed on the way to it either.
    fn rooted(&self, _root: &Path) -> Arc<dyn Fs> {
        Arc::new(self.clone())
    }
}

fn handle(file: OwnedFd, path: &Path) -> Box<dyn FileHandle> {
    Box::new(RealFile { file: File::from(file), path: path.to_owned() })
}

#[cfg(test)]
mod tests;
