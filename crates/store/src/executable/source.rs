//! Bytes that are looked through: of a file, of a part of it, or of memory. Every byte that is read is counted.

use std::path::Path;

use rlxp_fs::{Fs, FsError};

use super::{Budget, Look};

/// Why looking ended early.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// More would have to be read than is allowed.
    Spent,
    Unreadable,
}

/// Bytes from a start to an end.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    place: Place<'a>,
    start: u64,
    length: u64,
    /// Whether there is nothing after the end: a compressed member may have been decompressed in part.
    is_whole: bool,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    File(&'a dyn Fs, &'a Path),
    Memory(&'a [u8]),
}

impl<'a> Source<'a> {
    pub(super) fn file(fs: &'a dyn Fs, path: &'a Path) -> Result<Self, FsError> {
        let length = fs.metadata(path)?.length;
        Ok(Self { place: Place::File(fs, path), start: 0, length, is_whole: true })
    }

    pub(super) fn memory(bytes: &'a [u8], is_whole: bool) -> Self {
        Self { place: Place::Memory(bytes), start: 0, length: bytes.len() as u64, is_whole }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// A part of it; what lies beyond its end is left out.
    pub(super) fn part(&self, offset: u64, length: u64) -> Self {
        let offset = offset.min(self.length);
        let is_whole = self.is_whole || length <= self.length - offset;
        Self { start: self.start + offset, length: length.min(self.length - offset), is_whole, ..*self }
    }

    /// Up to `length` bytes from `offset` on; fewer only at the end.
    pub(super) fn read(&self, offset: u64, length: u64, budget: &mut Budget) -> Result<Vec<u8>, Stop> {
        let length = length.min(self.length.saturating_sub(offset));
        budget.bytes = budget.bytes.checked_sub(length).ok_or(Stop::Spent)?;
        let count = usize::try_from(length).map_err(|_| Stop::Spent)?;
        match self.place {
            Place::File(fs, path) => {
                fs.read_at(path, self.start + offset, count).map_err(|_| Stop::Unreadable)
            }
            Place::Memory(bytes) => {
                let from = usize::try_from(self.start + offset).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes[from..from.saturating_add(count).min(bytes.len())].to_vec())
            }
        }
    }

    /// What follows where the bytes end: `whole` if these are all, otherwise more of them are needed.
    pub(super) fn end_of(&self, whole: Look) -> Look {
        if self.is_whole { whole } else { Look::NeedsMore }
    }
}
