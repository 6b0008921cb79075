//! The ledger of a study as bytes: complete lines, synced before they are acknowledged, and one
//! writer at a time.
//!
//! The meaning of the lines is not known here. A line counts once its newline is on disk; the bytes after
//! the last newline were being written when their writer died, were never acknowledged, and are moved aside
//! before the next line is written.

mod lock;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rlxp_fs::{FileHandle, Fs, FsExt, Kind, Machine};

use crate::StoreError;
pub use lock::Lock;

/// The longest ledger that is read.
const LONGEST: u64 = 1 << 30;
const LONGEST_LINE: usize = 1 << 20;
/// How long to wait for a lock held by another process. It is held for as long as one record takes to
/// reach the disk, and many may be waiting where that is slow.
const PATIENCE: Duration = Duration::from_secs(10);

/// A ledger file.
#[derive(Clone)]
pub struct LedgerFile {
    fs: Arc<dyn Fs>,
    machine: Arc<dyn Machine>,
    path: PathBuf,
    patience: Duration,
}

/// A ledger that no other process writes while this value exists.
pub struct LockedLedger {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    content: Vec<u8>,
    failed: bool,
    // Held, never read.
    _lock: Lock,
}

impl LedgerFile {
    /// The ledger at `path`.
    pub fn at(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>, path: &Path) -> Self {
        Self { fs, machine, path: path.to_owned(), patience: PATIENCE }
    }

    /// Limits how long to wait for a lock held by another process.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All its present bytes, without a lock. A link in its place is refused.
    pub fn read(&self) -> Result<Vec<u8>, StoreError> {
        read(self.fs.as_ref(), &self.path)
    }

    /// Locks out other writers, and reads it. `now` is a label for processes that have to wait.
    pub fn lock(&self, now: &str) -> Result<LockedLedger, StoreError> {
        let lock = Lock::take(&self.fs, self.machine.as_ref(), &self.path, self.patience, now)?;
        let content = self.read()?;
        let (fs, path) = (Arc::clone(&self.fs), self.path.clone());
        Ok(LockedLedger { fs, path, content, failed: false, _lock: lock })
    }
}

impl LockedLedger {
    /// All its bytes: its content when it was locked, and everything appended since.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Appends a line and returns once it is on the disk. After an error, the line doesn't count and nothing more can
    /// be appended: the system may have dropped what it failed to write.
    ///
    /// # Panics
    /// If the line contains a newline.
    pub fn append(&mut self, line: &str) -> Result<(), StoreError> {
        self.append_all(&[line])
    }

    /// Appends several lines as [`append`](Self::append) does, with one sync.
    ///
    /// # Panics
    /// If a line contains a newline.
    pub fn append_all(&mut self, lines: &[&str]) -> Result<(), StoreError> {
        let mut added = Vec::new();
        for line in lines {
            assert!(!line.contains('\n'), "a record is one line");
            if line.len() >= LONGEST_LINE {
                return Err(StoreError::RecordTooLong { length: line.len(), limit: LONGEST_LINE });
            }
            added.extend_from_slice(line.as_bytes());
            added.push(b'\n');
        }
        if self.failed {
            return Err(StoreError::Poisoned { path: self.path.clone() });
        }
        self.failed = true;
        let mut file = self.open()?;
        self.put_torn_aside(file.as_mut())?;
        let written = file.write_all(&added).and_then(|()| file.sync());
        if let Err(error) = written {
            // An unacknowledged line must not be built upon: it may be missing after the next boot.
            drop(file.truncate(self.content.len() as u64));
            return Err(error.into());
        }
        self.content.append(&mut added);
        self.failed = false;
        Ok(())
    }

    /// Replaces everything by `content`, atomically. What was there is kept in a file of its own beside it, which is
    /// returned; a kill in between leaves the old content in place.
    pub fn replace(&mut self, content: Vec<u8>) -> Result<PathBuf, StoreError> {
        if self.failed {
            return Err(StoreError::Poisoned { path: self.path.clone() });
        }
        drop(self.open()?);
        self.failed = true;
        let aside = self.put_aside("replaced", &self.content)?;
        self.fs.write_atomic(&self.path, &content)?;
        self.content = content;
        self.failed = false;
        Ok(aside)
    }

    /// Writes bytes into a new numbered file beside the ledger.
    fn put_aside(&self, what: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let mut number = 1;
        loop {
            let aside = beside(&self.path, &format!("{what}-{number}"));
            // The file already exists with the same bytes if the last attempt ended right after this.
            if self.fs.write_new_atomic(&aside, bytes)? || self.fs.read(&aside, LONGEST)? == bytes {
                return Ok(aside);
            }
            number += 1;
        }
    }

    /// The file, if it is still the one that was read.
    fn open(&self) -> Result<Box<dyn FileHandle>, StoreError> {
        let meta = self.fs.metadata(&self.path)?;
        refuse_other_than_file(&self.path, meta.kind)?;
        let file = self.fs.open_append(&self.path)?;
        // A link that was created since would lead to a file with another inode.
        if file.inode()? != meta.inode || file.length()? != self.content.len() as u64 {
            return Err(StoreError::damaged(&self.path, "it changed while it was locked"));
        }
        Ok(file)
    }

    /// Moves the bytes after the last complete line into a separate file.
    fn put_torn_aside(&mut self, file: &mut dyn FileHandle) -> Result<(), StoreError> {
        let whole = self.content.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole == self.content.len() {
            return Ok(());
        }
        self.put_aside("torn", &self.content[whole..])?;
        file.truncate(whole as u64)?;
        file.sync()?;
        self.content.truncate(whole);
        Ok(())
    }
}

fn read(fs: &dyn Fs, path: &Path) -> Result<Vec<u8>, StoreError> {
    refuse_other_than_file(path, fs.metadata(path)?.kind)?;
    Ok(fs.read(path, LONGEST)?)
}

fn refuse_other_than_file(path: &Path, kind: Kind) -> Result<(), StoreError> {
    match kind {
        Kind::File => Ok(()),
        Kind::Link => Err(StoreError::damaged(path, "it is a symlink, and symlinks are not followed here")),
        Kind::Folder | Kind::Other => Err(StoreError::damaged(path, "it is not a file")),
    }
}

/// `ledger.jsonl` and `lock` become `ledger.lock`.
fn beside(path: &Path, extension: &str) -> PathBuf {
    path.with_extension(extension)
}
