//! Whether a run has changed since its row was made: a stamp of every file and
//! folder that the row was read from.
//!
//! A stamp holds what changes with a change: kind, length, number and the time of the
//! last change of any sort, which can only be set by setting the clock. (Stores through a
//! memory map change none of them on some file systems; rlx makes none.) A folder comes
//! before what is in it, and comparing stops at the first difference, so that no folder
//! that was swapped for a symlink is entered.

use std::time::Duration;

use rlxp_fs::{Kind, Meta};

use crate::Run;

/// The files and folders that a row was read from, relative to the run's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    /// One path a line.
    text: String,
    /// Whether nothing else can change the row.
    pub(super) is_final: bool,
}

impl Sources {
    pub(super) fn add(&mut self, path: impl AsRef<str>) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(path.as_ref());
    }

    pub(super) fn from_text(text: &str) -> Self {
        Self { text: text.to_owned(), is_final: true }
    }

    pub(super) fn as_text(&self) -> &str {
        &self.text
    }
}

/// The sources of a row with their stamps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) sources: Sources,
    pub(super) stamps: Vec<u8>,
}

/// Bytes of one stamp.
const WIDTH: usize = 32;
/// How the stamp of a plain file begins.
const FILE: u64 = 1;

fn stamp(meta: Option<&Meta>) -> [u8; WIDTH] {
    let mut bytes = [0; WIDTH];
    let Some(meta) = meta else { return bytes };
    let kind: u64 = match meta.kind {
        Kind::File => FILE,
        Kind::Folder => 2,
        Kind::Link => 3,
        Kind::Other => 4,
    };
    // A folder's length says nothing that its time doesn't.
    let length = if meta.kind == Kind::File { meta.length } else { 0 };
    let parts = [kind, length, meta.inode ^ meta.device.rotate_left(32), meta.changed.cast_unsigned()];
    for (place, part) in bytes.chunks_exact_mut(8).zip(parts) {
        place.copy_from_slice(&part.to_le_bytes());
    }
    bytes
}

impl Stamped {
    /// The stamps of `sources`; `None` if one of them has changed since `quiet`, a time before they were read.
    pub(super) fn since(quiet: Duration, run: &Run, sources: Sources) -> Option<Self> {
        let quiet = i64::try_from(quiet.as_nanos()).unwrap_or(i64::MAX);
        let mut stamps = Vec::new();
        let mut newest = i64::MIN;
        let looked = run.fs().look_at_all(run.path(), &mut sources.text.split('\n'), &mut |meta| {
            newest = newest.max(meta.map_or(i64::MIN, |meta| meta.changed));
            stamps.extend_from_slice(&stamp(meta));
            true
        });
        let is_sure = looked.is_ok() && newest < quiet;
        is_sure.then_some(Self { sources, stamps })
    }

    /// Whether every source is as it was, the first of which must be the file `first`. A row whose sources don't exist
    /// was not made by rlx: the numbers and times of real files can't be known before they are on this disk.
    pub(super) fn holds(&self, run: &Run, first: &str) -> bool {
        let is_of_it = self.sources.text.split('\n').next() == Some(first);
        if !is_of_it || !self.stamps.starts_with(&FILE.to_le_bytes()) {
            return false;
        }
        let mut expected = self.stamps.chunks_exact(WIDTH);
        let mut same = |meta: Option<&Meta>| expected.next().is_some_and(|bytes| bytes == stamp(meta));
        let all = run.fs().look_at_all(run.path(), &mut self.sources.text.split('\n'), &mut same);
        all.is_ok_and(|all| all) && expected.next().is_none()
    }
}
