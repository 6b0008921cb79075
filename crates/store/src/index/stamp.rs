//! Whether a run has changed since its row was made: a stamp of every file and
//! folder that the row was read from.
//!
//! A stamp holds what changes with any change: kind, length, number and the
//! time of the last change of any sort, which nobody can set but by setting the
//! clock. A folder comes before what is in it, and comparing stops at the first
//! difference, so that no folder that was swapped for a symlink is entered.

use std::time::Duration;

use rlxp_fs::{Kind, Meta};

use crate::Run;

/// The files and folders that a row was read from, relative to the run's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources(String);

impl Sources {
    pub(super) fn add(&mut self, path: impl AsRef<str>) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(path.as_ref());
    }

    pub(super) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_text(&self) -> &str {
        &self.0
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

fn stamp(meta: Option<&Meta>) -> [u8; WIDTH] {
    let mut bytes = [0; WIDTH];
    let Some(meta) = meta else { return bytes };
    let kind: u64 = match meta.kind {
        Kind::File => 1,
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
    /// The stamps of `sources`; nothing when one of them has changed since
    /// `quiet`, a time before they were read.
    pub(super) fn since(quiet: Duration, run: &Run, sources: Sources) -> Option<Self> {
        let quiet = i64::try_from(quiet.as_nanos()).unwrap_or(i64::MAX);
        let mut stamps = Vec::new();
        let mut newest = i64::MIN;
        let looked = run.fs().look_at_all(run.path(), &mut sources.0.split('\n'), &mut |meta| {
            newest = newest.max(meta.map_or(i64::MIN, |meta| meta.changed));
            stamps.extend_from_slice(&stamp(meta));
            true
        });
        let is_sure = looked.is_ok() && newest < quiet;
        is_sure.then_some(Self { sources, stamps })
    }

    /// Whether every source is as it was.
    pub(super) fn holds(&self, run: &Run) -> bool {
        let mut expected = self.stamps.chunks_exact(WIDTH);
        let mut same = |meta: Option<&Meta>| expected.next().is_some_and(|bytes| bytes == stamp(meta));
        let all = run.fs().look_at_all(run.path(), &mut self.sources.0.split('\n'), &mut same);
        all.is_ok_and(|all| all) && expected.next().is_none()
    }
}
