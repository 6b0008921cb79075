//! Follows the metrics of an active run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::{Fs, FsExt};

use super::read::{MetricsContent, Scanner, note_damage};
use super::{Damage, Record};
use crate::StoreError;

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// Returns records as they appear. A resume replaces the file by its part up to a checkpoint; the follower notices
/// and continues after the last record that it has returned, since a resumed run writes the same records again.
pub struct MetricsFollower {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    scanner: Scanner,
    at: u64,
    inode: u64,
    next_seq: u64,
    damage: Vec<Damage>,
    /// Whether the file is not one that can be followed.
    is_given_up: bool,
}

impl MetricsFollower {
    /// Follows from the beginning of the file, which need not exist yet.
    pub fn new(fs: Arc<dyn Fs>, path: &Path) -> Self {
        let path = path.to_owned();
        let scanner = Scanner::default();
        Self { fs, path, scanner, at: 0, inode: 0, next_seq: 0, damage: Vec::new(), is_given_up: false }
    }

    /// The records that were completed since the last call.
    pub fn poll(&mut self) -> Result<Vec<Record>, StoreError> {
        let Some(meta) = self.fs.metadata_if_any(&self.path)? else { return Ok(Vec::new()) };
        if meta.inode != self.inode || meta.length < self.at {
            self.scanner = Scanner::default();
            self.at = 0;
            self.inode = meta.inode;
            self.is_given_up = false;
            self.damage.clear();
        }
        let mut content = MetricsContent::default();
        while !self.is_given_up {
            let bytes = self.fs.read_at(&self.path, self.at, PIECE)?;
            if bytes.is_empty() {
                break;
            }
            self.at += bytes.len() as u64;
            if !self.scanner.feed(&bytes, &mut content) {
                let why = "the rest is not metrics and is not read".to_owned();
                content.damage.push(Damage { offset: self.at, length: 0, lines: 0, why });
                self.is_given_up = true;
                break;
            }
        }
        for damage in content.damage {
            note_damage(&mut self.damage, damage);
        }
        content.records.retain(|record| record.seq >= self.next_seq);
        if let Some(last) = content.records.last() {
            self.next_seq = last.seq.saturating_add(1);
        }
        Ok(content.records)
    }

    /// What was skipped as damaged so far.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}
