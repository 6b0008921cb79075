//! Appending to the metrics.
//!
//! Lines gather in memory and reach the file in large pieces, so that logging
//! costs training next to nothing; they are synced at least once a second and
//! at every checkpoint. The first error ends the writer for good: after a
//! failed sync the system may report success for data that it has dropped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rlxp_fs::{FileHandle, Fs, clock};
use rlxp_types::Digest;

use super::record::{MetricValue, write_line};
use super::{MetricsPosition, RECORD_LIMIT, digest_of_prefix};
use crate::StoreError;

/// Bytes gathered before they are handed to the system.
const GATHER: usize = 64 * 1024;
/// The longest time for which a logged line may be lost to a power loss.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Appends records to a `metrics.jsonl`.
pub struct MetricsWriter {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    file: Box<dyn FileHandle>,
    inode: u64,
    /// Lines that are not yet in the file.
    gathered: Vec<u8>,
    /// Digest of what is in the file.
    hasher: blake3::Hasher,
    /// Bytes in the file.
    written: u64,
    next_seq: u64,
    unsynced: bool,
    synced: Instant,
    poisoned: bool,
}

impl MetricsWriter {
    /// Opens the file for appending after `position`, which must match its
    /// content exactly.
    pub fn open(fs: Arc<dyn Fs>, path: &Path, position: &MetricsPosition) -> Result<Self, StoreError> {
        let file = fs.open_append(path)?;
        let (length, inode) = (file.length()?, file.inode()?);
        if length != position.length {
            let why = format!("it has {length} bytes instead of {}", position.length);
            return Err(StoreError::damaged(path, why));
        }
        let hasher = digest_of_prefix(fs.as_ref(), path, position.length)?;
        if Digest::from_bytes(*hasher.finalize().as_bytes()) != position.digest {
            return Err(StoreError::damaged(path, "its digest is not the expected one"));
        }
        Ok(Self {
            fs,
            path: path.to_owned(),
            file,
            inode,
            gathered: Vec::with_capacity(2 * GATHER),
            hasher,
            written: length,
            next_seq: position.next_seq,
            unsynced: false,
            synced: clock::monotonic(),
            poisoned: false,
        })
    }

    /// Appends a record with the values in the given order; returns its `seq`.
    /// It is durable after the next [`MetricsWriter::sync`].
    pub fn append(
        &mut self,
        step: u64,
        wall: f64,
        kind: &str,
        values: &[(&str, MetricValue<'_>)],
    ) -> Result<u64, StoreError> {
        self.refuse_if_poisoned()?;
        let before = self.gathered.len();
        let seq = self.next_seq;
        write_line(&mut self.gathered, seq, step, wall, kind, values);
        let length = self.gathered.len() - before;
        if length > RECORD_LIMIT {
            self.gathered.truncate(before);
            return Err(StoreError::RecordTooLong { length, limit: RECORD_LIMIT });
        }
        self.next_seq += 1;
        self.unsynced = true;
        if self.gathered.len() >= GATHER {
            self.flush()?;
        }
        Ok(seq)
    }

    /// Syncs when something was appended and the last sync is a second old.
    /// Call it often; returns whether it synced.
    pub fn tick(&mut self) -> Result<bool, StoreError> {
        self.tick_at(clock::monotonic())
    }

    /// [`MetricsWriter::tick`] at a given time.
    pub fn tick_at(&mut self, now: Instant) -> Result<bool, StoreError> {
        self.refuse_if_poisoned()?;
        if !self.unsynced || now.saturating_duration_since(self.synced) < SYNC_EVERY {
            return Ok(false);
        }
        self.sync()?;
        self.synced = now;
        Ok(true)
    }

    /// Hands what was gathered to the system, so that readers see it.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.refuse_if_poisoned()?;
        if self.gathered.is_empty() {
            return Ok(());
        }
        let result = self.file.write_all(&self.gathered);
        self.poison_on_error(result)?;
        self.hasher.update(&self.gathered);
        self.written += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }

    /// Returns after every record appended so far is on the disk. A checkpoint
    /// needs the position that it returns. An error when the file under this
    /// name is no longer ours: another process has taken over.
    pub fn sync(&mut self) -> Result<MetricsPosition, StoreError> {
        self.flush()?;
        if self.unsynced {
            let result = self.file.sync();
            self.poison_on_error(result)?;
            let present = self.fs.metadata(&self.path).map(|meta| meta.inode);
            if self.poison_on_error(present)? != self.inode {
                self.poisoned = true;
                return Err(StoreError::TakenOver { path: self.path.clone(), attempt: 0 });
            }
            self.unsynced = false;
            self.synced = clock::monotonic();
        }
        Ok(self.position())
    }

    /// The point after the last appended record, synced or not.
    pub fn position(&self) -> MetricsPosition {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.gathered);
        MetricsPosition {
            length: self.written + self.gathered.len() as u64,
            digest: Digest::from_bytes(*hasher.finalize().as_bytes()),
            next_seq: self.next_seq,
        }
    }

    fn refuse_if_poisoned(&self) -> Result<(), StoreError> {
        if self.poisoned {
            return Err(StoreError::Poisoned { path: self.path.clone() });
        }
        Ok(())
    }

    fn poison_on_error<T>(&mut self, result: rlxp_fs::Result<T>) -> Result<T, StoreError> {
        self.poisoned |= result.is_err();
        Ok(result?)
    }
}

impl Drop for MetricsWriter {
    /// Lines of a worker that ends early help to see why; they were never
    /// reported as saved, so an error here breaks no promise.
    fn drop(&mut self) {
        if !self.poisoned {
            drop(self.flush());
        }
    }
}
