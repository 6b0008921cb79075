//! Reads the metrics, including damaged ones: a truncated last line is reported and never hides earlier records, a
//! bad line is skipped and reading continues.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use rlxp_fs::Fs;

use super::{RECORD_LIMIT, Record};
use crate::StoreError;

/// Bytes read at a time: few enough that they are still in the cache when they are parsed.
const PIECE: usize = 1 << 19;
/// The beginning of every record; used to find records inside a bad line.
const RECORD_START: &[u8] = b"{\"seq\":";
/// How much of an unfinished line is kept; a longer one is searched for records and dropped piece by piece, so that
/// memory stays bounded.
const LINE_KEPT: usize = 4 * RECORD_LIMIT;
/// After this many bytes without a record or a newline, reading stops: this is not a metrics file, and it may be a
/// hole of any size.
const GIVE_UP_AFTER: u64 = 64 << 20;
/// Most beginnings in one piece of a bad line that may turn out not to be records.
const MOST_TRIES: usize = 10_000;

/// A part of the file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its length in bytes; 0 if records are missing there.
    pub length: u64,
    /// The number of consecutive lines; 0 if records are missing there.
    pub lines: u64,
    /// What is wrong with the first of them.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.why)?;
        match self.lines {
            0 | 1 => Ok(()),
            2 => write!(f, " (and 1 more line)"),
            lines => write!(f, " (and {} more lines)", lines - 1),
        }
    }
}

/// Adds to `list`; consecutive bad lines are one entry, so that a file of a million of them is one report.
pub(super) fn note_damage(list: &mut Vec<Damage>, new: Damage) {
    match list.last_mut() {
        Some(last) if last.lines > 0 && new.lines > 0 && last.offset + last.length + 1 == new.offset => {
            last.length += 1 + new.length;
            last.lines += new.lines;
        }
        _ => list.push(new),
    }
}

/// The content of a metrics file.
#[derive(Clone, Debug, Default)]
pub struct MetricsContent {
    /// Every intact record, in the order of the file.
    pub records: Vec<Record>,
    /// What was skipped as damaged, in the order of the file.
    pub damage: Vec<Damage>,
    /// The unfinished last line, if there is one: normal while a run is being written and after a kill.
    pub torn_tail: Option<Damage>,
}

/// Collects the records of a file: as they are, or in columns.
pub(super) trait Collect {
    /// Takes a complete line that is one record and returns its number, or why it is not a record.
    fn line(&mut self, line: &[u8]) -> Result<u64, String>;
    /// Takes a record that was found inside a bad line.
    fn record(&mut self, record: Record);
    /// Notes a part that could not be read.
    fn damage(&mut self, damage: Damage);
    /// Notes an unfinished last line.
    fn torn_tail(&mut self, damage: Damage);
}

impl Collect for MetricsContent {
    fn line(&mut self, line: &[u8]) -> Result<u64, String> {
        let record: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let seq = record.seq;
        self.records.push(record);
        Ok(seq)
    }

    fn record(&mut self, record: Record) {
        self.records.push(record);
    }

    fn damage(&mut self, damage: Damage) {
        note_damage(&mut self.damage, damage);
    }

    fn torn_tail(&mut self, damage: Damage) {
        self.torn_tail = Some(damage);
    }
}

/// Reads a whole metrics file. Only an unreadable file is an error.
pub fn read_metrics(fs: &dyn Fs, path: &Path) -> Result<MetricsContent, StoreError> {
    read_into(fs, path, MetricsContent::default())
}

pub(super) fn read_into<C: Collect>(fs: &dyn Fs, path: &Path, mut content: C) -> Result<C, StoreError> {
    let mut scanner = Scanner::default();
    let mut at = 0;
    loop {
        let bytes = fs.read_at(path, at, PIECE)?;
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        if !scanner.feed(&bytes, &mut content) {
            break;
        }
    }
    scanner.finish(&mut content);
    Ok(content)
}

/// The state of a hasher after the first `length` bytes of a file.
pub(crate) fn digest_of_prefix(fs: &dyn Fs, path: &Path, length: u64) -> Result<blake3::Hasher, StoreError> {
    let mut hasher = blake3::Hasher::new();
    let (mut at, mut line_end) = (0, 0);
    while at < length {
        let bytes = fs.read_at(path, at, (length - at).min(PIECE as u64) as usize)?;
        if bytes.is_empty() {
            return Err(StoreError::damaged(path, format!("it ends at byte {at}, before byte {length}")));
        }
        hasher.update(&bytes);
        at += bytes.len() as u64;
        if memchr::memchr(b'\n', &bytes).is_some() {
            line_end = at;
        } else if at - line_end > GIVE_UP_AFTER {
            let why = format!("it has no newline between bytes {line_end} and {at}");
            return Err(StoreError::damaged(path, why));
        }
    }
    Ok(hasher)
}

/// Splits bytes into lines and lines into records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    /// The line that has no newline yet, or what is kept of it.
    line: Vec<u8>,
    /// Where that line begins.
    offset: u64,
    /// Bytes of the line that were searched and dropped.
    dropped: u64,
    /// Of these, bytes since the last record that was found in it.
    fruitless: u64,
    expected_seq: u64,
}

impl Scanner {
    /// Takes the next bytes of the file. False if they are so far from a metrics file that nothing more should be
    /// read.
    pub(super) fn feed(&mut self, mut bytes: &[u8], content: &mut impl Collect) -> bool {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.line.is_empty() && self.dropped == 0 {
                self.finish_line(&bytes[..end], true, content);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.finish_line(&line, true, content);
                line.clear();
                self.line = line;
            }
            self.offset += 1;
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() > LINE_KEPT {
            self.drop_part(content);
        }
        self.fruitless <= GIVE_UP_AFTER
    }

    /// Searches a line that is too long for the records in it, and keeps only its end, in which another one may
    /// begin.
    fn drop_part(&mut self, content: &mut impl Collect) {
        let begin = self.offset + self.dropped;
        let found = records_inside(&self.line);
        let searched = found.last().map_or(0, |(_, place)| place.end);
        for (record, place) in found {
            self.note_sequence(record.seq, begin + place.start as u64, content);
            content.record(record);
            self.fruitless = 0;
        }
        let cut = searched.max(self.line.len() - RECORD_LIMIT);
        self.line.drain(..cut);
        self.dropped += cut as u64;
        self.fruitless += (cut - searched) as u64;
    }

    /// Handles what is after the last newline: a complete record that only lacks its newline is read, anything else
    /// is a torn tail.
    pub(super) fn finish(mut self, content: &mut impl Collect) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() || self.dropped > 0 {
            self.finish_line(&line, false, content);
        }
    }

    fn finish_line(&mut self, line: &[u8], ended: bool, content: &mut impl Collect) {
        let dropped = std::mem::take(&mut self.dropped);
        self.fruitless = 0;
        let (offset, begin) = (self.offset, self.offset + dropped);
        let length = dropped + line.len() as u64;
        self.offset += length;
        let taken = if length > RECORD_LIMIT as u64 {
            Err(format!("a line of {length} bytes is longer than a record can be"))
        } else {
            content.line(line)
        };
        match taken {
            Ok(seq) => self.note_sequence(seq, offset, content),
            Err(why) => {
                for (record, place) in records_inside(line) {
                    self.note_sequence(record.seq, begin + place.start as u64, content);
                    content.record(record);
                }
                let damage = Damage { offset, length, lines: 1, why };
                if ended { content.damage(damage) } else { content.torn_tail(damage) }
            }
        }
    }

    fn note_sequence(&mut self, seq: u64, offset: u64, content: &mut impl Collect) {
        let expected = self.expected_seq;
        if seq != expected {
            let why = format!("found record {seq} instead of record {expected}");
            content.damage(Damage { offset, length: 0, lines: 0, why });
        }
        self.expected_seq = seq.wrapping_add(1);
    }
}

/// Complete records inside a line that is not a record as a whole, as when the newline between two of them was
/// overwritten, and where each is.
fn records_inside(line: &[u8]) -> Vec<(Record, Range<usize>)> {
    let mut found = Vec::new();
    let (mut at, mut tries) = (0, 0);
    let beginning = memchr::memmem::Finder::new(RECORD_START);
    while let Some(start) = beginning.find(&line[at..]).map(|start| at + start) {
        let rest = &line[start..line.len().min(start + RECORD_LIMIT)];
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<Record>();
        match stream.next() {
            Some(Ok(record)) => {
                at = start + stream.byte_offset();
                found.push((record, start..at));
            }
            _ => {
                at = start + 1;
                tries += 1;
            }
        }
        if tries >= MOST_TRIES {
            break;
        }
    }
    found
}
