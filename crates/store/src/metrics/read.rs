//! Reading the metrics, damaged ones too: a torn tail is reported and never
//! hides what stands before it, a bad line is set aside and reading goes on.

use std::path::Path;

use rlxp_fs::Fs;

use super::{RECORD_LIMIT, Record};
use crate::StoreError;

/// Bytes read at a time.
const PIECE: usize = 1 << 20;
/// How every record begins; used to find records inside a bad line.
const RECORD_START: &[u8] = b"{\"seq\":";

/// A place in the file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// How many bytes are meant; 0 when records are missing there.
    pub length: u64,
    /// What is wrong.
    pub why: String,
}

/// What a metrics file holds.
#[derive(Clone, Debug, Default)]
pub struct MetricsContent {
    /// Every intact record, in the order of the file.
    pub records: Vec<Record>,
    /// What was set aside, in the order of the file.
    pub damage: Vec<Damage>,
    /// The unfinished last line, when there is one: normal while a run is
    /// being written and after a kill.
    pub torn_tail: Option<Damage>,
}

/// Reads a whole metrics file. Only an unreadable file is an error.
pub fn read_metrics(fs: &dyn Fs, path: &Path) -> Result<MetricsContent, StoreError> {
    let mut scanner = Scanner::default();
    let mut content = MetricsContent::default();
    let mut at = 0;
    loop {
        let bytes = fs.read_at(path, at, PIECE)?;
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        scanner.feed(&bytes, &mut content);
    }
    scanner.finish(&mut content);
    Ok(content)
}

/// The state of a hasher after the first `length` bytes of a file.
pub(crate) fn digest_of_prefix(fs: &dyn Fs, path: &Path, length: u64) -> Result<blake3::Hasher, StoreError> {
    let mut hasher = blake3::Hasher::new();
    let mut at = 0;
    while at < length {
        let bytes = fs.read_at(path, at, (length - at).min(PIECE as u64) as usize)?;
        if bytes.is_empty() {
            return Err(StoreError::damaged(path, format!("it ends at byte {at}, before byte {length}")));
        }
        hasher.update(&bytes);
        at += bytes.len() as u64;
    }
    Ok(hasher)
}

/// Cuts bytes into lines and lines into records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// Where that line begins.
    offset: u64,
    expected_seq: u64,
}

impl Scanner {
    pub(crate) fn feed(&mut self, mut bytes: &[u8], content: &mut MetricsContent) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            if self.line.is_empty() {
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
    }

    /// What stands after the last newline: a whole record that only lacks its
    /// newline is read, anything else is a torn tail.
    pub(crate) fn finish(mut self, content: &mut MetricsContent) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.finish_line(&line, false, content);
        }
    }

    fn finish_line(&mut self, line: &[u8], ended: bool, content: &mut MetricsContent) {
        let offset = self.offset;
        self.offset += line.len() as u64;
        match parse(line) {
            Ok(record) => self.accept(record, offset, content),
            Err(why) => {
                for (record, at) in records_inside(line) {
                    self.accept(record, offset + at as u64, content);
                }
                let damage = Damage { offset, length: line.len() as u64, why };
                if ended {
                    content.damage.push(damage);
                } else {
                    content.torn_tail = Some(damage);
                }
            }
        }
    }

    fn accept(&mut self, record: Record, offset: u64, content: &mut MetricsContent) {
        let expected = self.expected_seq;
        if record.seq != expected {
            let why = format!("record {} stands where record {expected} should", record.seq);
            content.damage.push(Damage { offset, length: 0, why });
        }
        self.expected_seq = record.seq.wrapping_add(1);
        content.records.push(record);
    }
}

fn parse(line: &[u8]) -> Result<Record, String> {
    if line.len() > RECORD_LIMIT {
        return Err(format!("a line of {} bytes is longer than a record can be", line.len()));
    }
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// Whole records inside a line that as a whole is none, as when the newline
/// between two of them was overwritten.
fn records_inside(line: &[u8]) -> Vec<(Record, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = find(&line[at..], RECORD_START).map(|start| at + start) {
        let rest = &line[start..line.len().min(start + RECORD_LIMIT)];
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<Record>();
        match stream.next() {
            Some(Ok(record)) => {
                at = start + stream.byte_offset();
                found.push((record, start));
            }
            _ => at = start + 1,
        }
    }
    found
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
