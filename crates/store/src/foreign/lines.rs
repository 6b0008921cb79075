//! Lines of a source, in bounded memory.

use std::io::{BufRead, BufReader, Read};

use super::{Trouble, unread};

const BUFFER: usize = 1 << 18;

/// Which bytes end a line.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    Newline,
    /// Progress bars rewrite their line after a carriage return.
    NewlineOrReturn,
}

/// Calls `each` with every line, without its end, and its number from 1. A line longer than `longest` is an error.
pub(super) fn each_line(
    source: &mut dyn Read,
    ends: Ends,
    longest: usize,
    mut each: impl FnMut(u64, &[u8]),
) -> Result<(), Trouble> {
    let too_long =
        |line: u64| Trouble::unreadable(format!("line {line} is longer than {} MiB", longest >> 20));
    let find = |bytes: &[u8]| match ends {
        Ends::Newline => memchr::memchr(b'\n', bytes),
        Ends::NewlineOrReturn => memchr::memchr2(b'\n', b'\r', bytes),
    };
    let mut reader = BufReader::with_capacity(BUFFER, source);
    // The beginning of a line whose end is in a later piece.
    let mut begun: Vec<u8> = Vec::new();
    let mut line = 1;
    loop {
        let piece = reader.fill_buf().map_err(|error| unread(&error))?;
        if piece.is_empty() {
            if !begun.is_empty() {
                each(line, &begun);
            }
            return Ok(());
        }
        let mut rest = piece;
        while let Some(end) = find(rest) {
            if begun.len() + end > longest {
                return Err(too_long(line));
            }
            if begun.is_empty() {
                each(line, &rest[..end]);
            } else {
                begun.extend_from_slice(&rest[..end]);
                each(line, &begun);
                begun.clear();
            }
            line += u64::from(rest[end] == b'\n');
            rest = &rest[end + 1..];
        }
        if begun.len() + rest.len() > longest {
            return Err(too_long(line));
        }
        begun.extend_from_slice(rest);
        let read = piece.len();
        reader.consume(read);
    }
}
