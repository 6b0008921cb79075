//! A file that is read once, piece by piece, while its digest is taken.

use std::io::{self, Read};
use std::path::Path;

use rlxp_fs::{Fs, FsError};
use rlxp_types::Digest;

/// Bytes that one call asks for at most.
const PIECE: usize = 1 << 20;

/// Reads a file for one of the readers. The digest covers exactly what the reader was given and the rest of the file,
/// so a file that changes meanwhile can't pass for the one that was listed.
pub struct DigestedFile<'a> {
    fs: &'a dyn Fs,
    path: &'a Path,
    /// The file is not read beyond this: it may grow without end.
    longest: u64,
    offset: u64,
    hasher: blake3::Hasher,
    error: Option<FsError>,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> DigestedFile<'a> {
    /// A file of at most `longest` bytes; `progress` is called with the bytes read so far.
    pub fn new(fs: &'a dyn Fs, path: &'a Path, longest: u64, progress: &'a mut dyn FnMut(u64)) -> Self {
        Self { fs, path, longest, offset: 0, hasher: blake3::Hasher::new(), error: None, progress }
    }

    /// The length and the digest of the file, whose rest is read for this. At most one byte beyond the expected length
    /// is counted.
    pub fn finish(mut self) -> Result<(u64, Digest), FsError> {
        while self.error.is_none() && !self.next(PIECE).is_empty() {}
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.offset, Digest::from_bytes(*self.hasher.finalize().as_bytes()))),
        }
    }

    /// The next bytes; none at the end of the file, and after an error.
    fn next(&mut self, limit: usize) -> Vec<u8> {
        let left = self.longest.saturating_add(1).saturating_sub(self.offset);
        let limit = limit.min(usize::try_from(left).unwrap_or(usize::MAX));
        if limit == 0 || self.error.is_some() {
            return Vec::new();
        }
        match self.fs.read_at(self.path, self.offset, limit) {
            Ok(bytes) => {
                self.hasher.update(&bytes);
                self.offset += bytes.len() as u64;
                (self.progress)(self.offset);
                bytes
            }
            Err(error) => {
                self.error = Some(error);
                Vec::new()
            }
        }
    }
}

impl Read for DigestedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.next(buffer.len().min(PIECE));
        if let Some(error) = &self.error {
            return Err(io::Error::other(error.to_string()));
        }
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}
