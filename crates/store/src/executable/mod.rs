//! Files that run code when a program loads them: pickles, and archives and arrays that hold pickles. Nothing is
//! loaded; bytes are read as the loader would read them, up to where it would call something.
//!
//! | module | what it reads |
//! |---|---|
//! | [`pickle`] | the opcodes of a pickle, protocols 0 to 5 |
//! | [`archive`] | members of zip and tar files, and compressed files |
//! | [`source`] | bytes of a file, a part of it, or of memory |
//!
//! What a file is called doesn't matter, only what it holds: programs load a pickle from any name. The authors of these
//! files may be hostile, so bytes that are read are counted, and a file that can't be looked through counts as
//! executable. A pickle that starts in the middle of a file isn't found, unless it follows other pickles.

mod archive;
mod pickle;
mod source;

use std::path::Path;

use memchr::memmem;
use rlxp_fs::{Fs, FsError};

use source::{Source, Stop};

/// Archives in archives are followed this far.
const DEEPEST: u32 = 4;
/// The key of values that Stable-Baselines3 writes as pickles into JSON.
const SERIALIZED: &[u8] = b"\":serialized:\"";
/// The first bytes of an array of NumPy.
const ARRAY: &[u8] = b"\x93NUMPY";
/// The longest header of an array.
const LONGEST_HEADER: u64 = 1 << 20;

/// What is left to read. A file that takes more counts as executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes, decompressed ones included.
    pub bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 1 << 30 }
    }
}

/// Why loading a file could run code, as a phrase that follows its name; `None` if it couldn't. `budget` is shared by all
/// files of a run.
pub fn why_executable(fs: &dyn Fs, path: &Path, budget: &mut Budget) -> Result<Option<String>, FsError> {
    let source = Source::file(fs, path)?;
    Ok(match look(&source, budget, 0) {
        Ok(Look::Clean) => None,
        Ok(Look::Runs(why)) => Some(why),
        // A whole file has no more.
        Ok(Look::NeedsMore) | Err(Stop::Unreadable) => Some("can't be read".to_owned()),
        Err(Stop::Spent) => Some("is too large to be searched for code".to_owned()),
    })
}

/// What looking at some bytes showed.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Clean,
    /// Loading them could run code.
    Runs(String),
    /// They end before that can be told.
    NeedsMore,
}

/// Looks at bytes as each of the loaders would.
fn look(source: &Source<'_>, budget: &mut Budget, depth: u32) -> Result<Look, Stop> {
    let found = pickle::look(source, budget)?;
    if found != Look::Clean {
        return Ok(found);
    }
    let start = source.read(0, 512, budget)?;
    if start.starts_with(ARRAY) {
        return array(source, &start, budget);
    }
    if start.starts_with(b"{") {
        return json(source, budget);
    }
    archive::look(source, &start, budget, depth)
}

/// An array: its header says whether it holds objects, which are stored as a pickle.
fn array(source: &Source<'_>, start: &[u8], budget: &mut Budget) -> Result<Look, Stop> {
    // Version 1 has two bytes for the length of the header, later ones four.
    let (at, length) = match (start.get(6), start.get(8..12)) {
        (Some(1), Some(length)) => (10, u64::from(u16::from_le_bytes([length[0], length[1]]))),
        (Some(_), Some(length)) => {
            (12, u64::from(u32::from_le_bytes([length[0], length[1], length[2], length[3]])))
        }
        _ => return Ok(source.end_of(Look::Clean)),
    };
    if length > LONGEST_HEADER {
        return Ok(Look::Runs("is an array with a header that is too long".to_owned()));
    }
    let header = source.read(at, length, budget)?;
    if (header.len() as u64) < length {
        return Ok(source.end_of(Look::Clean));
    }
    let is_object = |text: &[u8]| {
        let code =
            text.strip_prefix(b"|").or(text.strip_prefix(b"<")).or(text.strip_prefix(b">")).unwrap_or(text);
        code.first() == Some(&b'O') && code[1..].iter().all(u8::is_ascii_digit)
    };
    // Types are quoted, one alone or one per field.
    let mut quoted = header.split(|byte| matches!(byte, b'\'' | b'"'));
    Ok(match quoted.any(is_object) {
        true => Look::Runs("is an array of objects, which is a pickle".to_owned()),
        false => Look::Clean,
    })
}

/// A JSON document, in which a pickle may be text.
fn json(source: &Source<'_>, budget: &mut Budget) -> Result<Look, Stop> {
    let piece = 1 << 20;
    let (mut offset, mut rest) = (0, Vec::new());
    loop {
        let bytes = source.read(offset, piece, budget)?;
        offset += bytes.len() as u64;
        let is_last = (bytes.len() as u64) < piece;
        rest.extend_from_slice(&bytes);
        if memmem::find(&rest, SERIALIZED).is_some() {
            return Ok(Look::Runs("contains pickled values".to_owned()));
        }
        if is_last {
            return Ok(source.end_of(Look::Clean));
        }
        rest.drain(..rest.len().saturating_sub(SERIALIZED.len()));
    }
}

#[cfg(test)]
mod tests;
