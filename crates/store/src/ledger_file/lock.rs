//! One writer at a time, by files alone: the process that creates the lock holds it.
//!
//! A lock whose holder has provably exited isn't removed and recreated, as two processes that both noticed
//! could then each remove the other's lock. It gets a successor instead, a file whose name is the digest of
//! the lock it follows, and which only one can create. The last of such a chain holds the lock. Releasing
//! removes the first one first: a successor of a missing lock holds nothing, which its creator checks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rlxp_fs::{Fs, FsExt, Machine};
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

use super::beside;
use crate::StoreError;
use crate::writer::{Liveness, Writer};

const SMALL: u64 = 64 * 1024;

/// Waits get longer up to this.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// Who holds a lock. No two locks have the same text: `turn` counts the locks of a process.
#[derive(Serialize, Deserialize)]
struct Holder {
    #[serde(flatten)]
    writer: Writer,
    turn: u64,
}

/// A lock that this process holds; it ends with the value.
pub struct Lock {
    fs: Arc<dyn Fs>,
    first: PathBuf,
    content_of_first: Vec<u8>,
    successors: Vec<PathBuf>,
}

/// The result of one try.
enum Try {
    Taken(Lock),
    /// Another process holds it.
    Held(Box<Writer>, Liveness),
    /// It changed hands meanwhile.
    Again,
}

impl Lock {
    /// The lock of the file at `path`, waiting at most `patience` if another process holds it.
    pub fn take(
        fs: &Arc<dyn Fs>,
        machine: &dyn Machine,
        path: &Path,
        patience: Duration,
        now: &str,
    ) -> Result<Self, StoreError> {
        static TURN: AtomicU64 = AtomicU64::new(0);
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        let mine = Holder { writer: Writer::here(machine, now), turn };
        let mine = serde_json::to_vec(&mine).expect("a holder is plain data");
        let first = beside(path, "lock");
        let (mut waited, mut wait) = (Duration::ZERO, Duration::from_millis(1));
        loop {
            let held = match attempt(fs, machine, &first, &mine)? {
                Try::Taken(lock) => return Ok(lock),
                Try::Held(writer, liveness) => Some((writer, liveness)),
                Try::Again => None,
            };
            if waited >= patience {
                let (host, pid, certain) = held.map_or_else(
                    || ("this machine".to_owned(), 0, true),
                    |(writer, liveness)| (writer.host, writer.pid, liveness == Liveness::Alive),
                );
                return Err(StoreError::LedgerLocked { path: first, host, pid, certain });
            }
            std::thread::sleep(wait);
            waited += wait;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

impl Drop for Lock {
    /// What can't be removed is taken over once this process is gone.
    fn drop(&mut self) {
        // It may have been removed by hand, and another process may hold a new one by now.
        let mine = content(self.fs.as_ref(), &self.first)
            .is_ok_and(|found| found.as_ref() == Some(&self.content_of_first));
        if mine && self.fs.remove_file(&self.first).is_ok() {
            for successor in &self.successors {
                drop(self.fs.remove_file(successor));
            }
        }
    }
}

fn attempt(fs: &Arc<dyn Fs>, machine: &dyn Machine, first: &Path, mine: &[u8]) -> Result<Try, StoreError> {
    let taken = |content_of_first: &[u8], successors| {
        let content_of_first = content_of_first.to_owned();
        Ok(Try::Taken(Lock { fs: Arc::clone(fs), first: first.to_owned(), content_of_first, successors }))
    };
    if create(fs.as_ref(), first, mine)? {
        return taken(mine, Vec::new());
    }
    let Some(content_of_first) = content(fs.as_ref(), first)? else { return Ok(Try::Again) };
    let mut last = (first.to_owned(), content_of_first.clone());
    let mut successors = Vec::new();
    let next = loop {
        let next = beside(first, &format!("lock.{}", Digest::hash(&last.1).short()));
        let Some(content) = content(fs.as_ref(), &next)? else { break next };
        successors.push(next.clone());
        last = (next, content);
    };
    let holder: Holder = serde_json::from_slice(&last.1).map_err(|_| {
        let why = "it doesn't say which process holds it; remove it if no rlx process is running here";
        StoreError::damaged(&last.0, why)
    })?;
    match holder.writer.liveness(machine) {
        Liveness::Gone => {}
        liveness => return Ok(Try::Held(Box::new(holder.writer), liveness)),
    }
    if !create(fs.as_ref(), &next, mine)? {
        return Ok(Try::Again);
    }
    successors.push(next.clone());
    if content(fs.as_ref(), first)?.as_ref() == Some(&content_of_first) {
        return taken(&content_of_first, successors);
    }
    drop(fs.remove_file(&next));
    Ok(Try::Again)
}

/// Creates a file of the lock. One that an error leaves behind would look like a live process's for as long as this
/// process lives.
fn create(fs: &dyn Fs, path: &Path, mine: &[u8]) -> Result<bool, StoreError> {
    let created = fs.write_new_for_now(path, mine).inspect_err(|_| {
        if content(fs, path).is_ok_and(|found| found.as_deref() == Some(mine)) {
            drop(fs.remove_file(path));
        }
    });
    Ok(created?)
}

fn content(fs: &dyn Fs, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs.read(path, SMALL) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
