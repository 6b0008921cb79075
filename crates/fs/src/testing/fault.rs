//! A file system that fails on purpose at one chosen call.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{FileHandle, Fs, FsError, Meta, RawEntry, Result};

/// How the chosen call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It alone fails with an input/output error.
    Error,
    /// The disk is full from then on: writing and creating fail.
    Full,
    /// Writes half of the bytes, and the disk is full from then on.
    ShortWrite,
    /// The process is dead: this call and every later one do nothing.
    Kill,
}

/// Passes calls on to another file system and lets call number `at` (counted
/// from 1) fail.
pub struct FaultFs {
    inner: Arc<dyn Fs>,
    plan: Arc<Plan>,
}

struct Plan {
    fault: Fault,
    at: u64,
    calls: AtomicU64,
}

/// What to do with a call.
enum Answer {
    Pass,
    Fail(i32),
    Half,
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

impl Plan {
    fn answer(&self, writes: bool) -> Answer {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        match self.fault {
            Fault::Error if call == self.at => Answer::Fail(EIO),
            Fault::Kill if call >= self.at => Answer::Fail(EIO),
            Fault::ShortWrite if call == self.at && writes => Answer::Half,
            Fault::Full | Fault::ShortWrite if call >= self.at && writes => Answer::Fail(ENOSPC),
            _ => Answer::Pass,
        }
    }
}

impl FaultFs {
    /// Fails call number `at` of everything done through it, its files included.
    pub fn new(inner: Arc<dyn Fs>, fault: Fault, at: u64) -> Self {
        Self { inner, plan: Arc::new(Plan { fault, at, calls: AtomicU64::new(0) }) }
    }

    /// Whether the fault's turn has come. A loop over `at` ends when not.
    pub fn fired(&self) -> bool {
        self.plan.calls.load(Ordering::SeqCst) >= self.plan.at
    }

    fn pass(&self, operation: &'static str, path: &Path, writes: bool) -> Result<()> {
        match self.plan.answer(writes) {
            Answer::Pass => Ok(()),
            Answer::Fail(code) => Err(failure(operation, path, code)),
            Answer::Half => Err(failure(operation, path, ENOSPC)),
        }
    }

    fn wrap(&self, path: &Path, file: Box<dyn FileHandle>) -> Box<dyn FileHandle> {
        Box::new(FaultFile { inner: file, plan: Arc::clone(&self.plan), path: path.to_owned() })
    }
}

fn failure(operation: &'static str, path: &Path, code: i32) -> FsError {
    FsError::new(operation, path, io::Error::from_raw_os_error(code))
}

struct FaultFile {
    inner: Box<dyn FileHandle>,
    plan: Arc<Plan>,
    path: PathBuf,
}

impl FaultFile {
    fn pass(&self, operation: &'static str, writes: bool) -> Result<()> {
        match self.plan.answer(writes) {
            Answer::Pass => Ok(()),
            Answer::Fail(code) => Err(failure(operation, &self.path, code)),
            Answer::Half => Err(failure(operation, &self.path, ENOSPC)),
        }
    }
}

impl FileHandle for FaultFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        match self.plan.answer(true) {
            Answer::Pass => self.inner.write_all(bytes),
            Answer::Fail(code) => Err(failure("write", &self.path, code)),
            Answer::Half => {
                self.inner.write_all(&bytes[..bytes.len() / 2])?;
                Err(failure("write", &self.path, ENOSPC))
            }
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.pass("sync", false)?;
        self.inner.sync()
    }

    fn length(&self) -> Result<u64> {
        self.pass("look at", false)?;
        self.inner.length()
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.pass("cut", false)?;
        self.inner.truncate(length)
    }

    fn inode(&self) -> Result<u64> {
        self.pass("look at", false)?;
        self.inner.inode()
    }
}

impl Fs for FaultFs {
    fn read_at(&self, path: &Path, offset: u64, limit: usize) -> Result<Vec<u8>> {
        self.pass("read", path, false)?;
        self.inner.read_at(path, offset, limit)
    }

    fn metadata(&self, path: &Path) -> Result<Meta> {
        self.pass("look at", path, false)?;
        self.inner.metadata(path)
    }

    fn list_raw(&self, path: &Path) -> Result<Vec<RawEntry>> {
        self.pass("list", path, false)?;
        self.inner.list_raw(path)
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.pass("create folder", path, true)?;
        self.inner.create_dir(path)
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        self.pass("create", path, true)?;
        Ok(self.wrap(path, self.inner.create_new(path)?))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        self.pass("open for writing", path, false)?;
        Ok(self.wrap(path, self.inner.open_append(path)?))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.pass("create", to, true)?;
        self.inner.hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.pass("rename a file to", to, false)?;
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.pass("rename a folder to", to, false)?;
        self.inner.rename_new(from, to)
    }

    fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        self.pass("create symlink", link, true)?;
        self.inner.symlink(target, link)
    }

    fn read_link(&self, link: &Path) -> Result<PathBuf> {
        self.pass("read symlink", link, false)?;
        self.inner.read_link(link)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.pass("remove", path, false)?;
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.pass("remove folder", path, false)?;
        self.inner.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.pass("sync folder", path, false)?;
        self.inner.sync_dir(path)
    }

    fn available_space(&self, path: &Path) -> Result<u64> {
        self.pass("ask for the free space of", path, false)?;
        self.inner.available_space(path)
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.pass("find", path, false)?;
        self.inner.canonicalize(path)
    }

    /// Calls below the root are counted together with all others.
    fn rooted(&self, root: &Path) -> Arc<dyn Fs> {
        Arc::new(Self { inner: self.inner.rooted(root), plan: Arc::clone(&self.plan) })
    }
}
