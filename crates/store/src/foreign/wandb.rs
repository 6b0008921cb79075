//! Offline runs of Weights & Biases, `run-<id>.wandb`: the log format of LevelDB with one `Record` message each.
//!
//! A key's points are its values in history records. A key that was only ever set in the summary has one point, the
//! last. Keys of nested objects are joined by dots, as the web page shows them.

use std::io::Read;

use super::json::{Found, find};
use super::protobuf::{NotAMessage, Value, fields, zigzag};
use super::{Reading, Series, Trouble, fail_all, quoted, series_for, unread};

/// Records never cross these without being divided.
const BLOCK: usize = 32 << 10;
const HEADER: usize = 7;
/// The file begins with this: magic, number, version.
const BEGIN: [u8; HEADER] = [b':', b'W', b'&', b'B', 0xe1, 0xbe, 0];
/// The longest record that is read.
const LONGEST_RECORD: usize = 256 << 20;

/// Whether a record is whole or a part.
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// A value of one record.
enum Logged {
    Number(f64),
    Twice,
    Other(String),
}

/// Reads the values of some keys.
pub fn read(source: &mut dyn Read, keys: &[&str]) -> Vec<Reading> {
    let mut all = series_for(keys);
    let mut summary: Vec<Option<Logged>> = keys.iter().map(|_| None).collect();
    let done = each_record(source, |record| take(record, keys, &mut all, &mut summary));
    if let Err(trouble) = done {
        fail_all(&mut all, &trouble);
    }
    for ((series, key), last) in all.iter_mut().zip(keys).zip(summary) {
        if series.points.is_empty()
            && !series.has_failed()
            && let Some(last) = last
        {
            put(series, key, None, last);
        }
    }
    let missing = |key: &str| format!("the key {} was never logged", quoted(key));
    all.into_iter().zip(keys).map(|(series, key)| series.finish(|| missing(key))).collect()
}

/// Calls `each` with every record.
fn each_record(
    source: &mut dyn Read,
    mut each: impl FnMut(&[u8]) -> Result<(), NotAMessage>,
) -> Result<(), Trouble> {
    let mut block = Vec::with_capacity(BLOCK);
    let mut record: Option<Vec<u8>> = None;
    let (mut offset, mut records) = (0_u64, 0_u64);
    loop {
        block.clear();
        (&mut *source).take(BLOCK as u64).read_to_end(&mut block).map_err(|error| unread(&error))?;
        let mut rest = block.as_slice();
        if offset == 0 {
            rest = rest
                .strip_prefix(&BEGIN)
                .ok_or_else(|| Trouble::unreadable("it is not a file of an offline W&B run"))?;
        }
        let is_last = block.len() < BLOCK;
        let at = |rest: &[u8]| offset + (block.len() - rest.len()) as u64;
        let wrong = |rest: &[u8], what: &str, records: u64| {
            let before = if records == 1 { "record" } else { "records" };
            let place = at(rest);
            Trouble::unreadable(format!("it is {what} at byte {place}, after {records} intact {before}"))
        };
        // Less than a header is left at the end of a block: padding.
        while rest.len() >= HEADER {
            let start = rest;
            let (header, after) = rest.split_at(HEADER);
            let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
            let Some((data, after)) = after.split_at_checked(length) else {
                let what = if is_last { "truncated" } else { "damaged" };
                return Err(wrong(start, what, records));
            };
            let mut checksum = crc32fast::Hasher::new();
            checksum.update(&header[6..]);
            checksum.update(data);
            if checksum.finalize().to_le_bytes() != header[..4] {
                return Err(wrong(start, "damaged", records));
            }
            let whole = match (header[6], record.take()) {
                (FULL, None) => each(data),
                (FIRST, None) => {
                    record = Some(data.to_vec());
                    rest = after;
                    continue;
                }
                (MIDDLE, Some(mut begun)) if begun.len() + length <= LONGEST_RECORD => {
                    begun.extend_from_slice(data);
                    record = Some(begun);
                    rest = after;
                    continue;
                }
                (LAST, Some(mut begun)) => {
                    begun.extend_from_slice(data);
                    each(&begun)
                }
                _ => Err(NotAMessage),
            };
            whole.map_err(|NotAMessage| wrong(start, "damaged", records))?;
            records += 1;
            rest = after;
        }
        if is_last {
            let is_cut = record.is_some() || !rest.is_empty();
            return if is_cut { Err(wrong(rest, "truncated", records)) } else { Ok(()) };
        }
        offset += block.len() as u64;
    }
}

/// Field numbers of `Record`, `HistoryRecord` and `SummaryRecord`.
const HISTORY: u32 = 2;
const SUMMARY: u32 = 3;
const ITEM: u32 = 1;
const STEP: u32 = 2;
const REMOVED: u32 = 2;

fn take(
    record: &[u8],
    keys: &[&str],
    all: &mut [Series],
    summary: &mut [Option<Logged>],
) -> Result<(), NotAMessage> {
    for field in fields(record) {
        match field? {
            (HISTORY, Value::Bytes(history)) => {
                let mut step = None;
                for field in fields(history) {
                    if let (STEP, Value::Bytes(message)) = field? {
                        // A step of 0 is not stored.
                        step = Some(0.0);
                        for field in fields(message) {
                            if let (1, Value::Varint(number)) = field? {
                                step = Some(number as i64 as f64);
                            }
                        }
                    }
                }
                let mut found: Vec<Option<Logged>> = keys.iter().map(|_| None).collect();
                each_item(history, ITEM, keys, |key, logged| {
                    let slot = &mut found[key];
                    *slot = Some(if slot.is_some() { Logged::Twice } else { logged });
                })?;
                for ((series, key), logged) in all.iter_mut().zip(keys).zip(found) {
                    if let Some(logged) = logged {
                        put(series, key, step, logged);
                    }
                }
            }
            (SUMMARY, Value::Bytes(message)) => {
                each_item(message, ITEM, keys, |key, logged| summary[key] = Some(logged))?;
                each_item(message, REMOVED, keys, |key, _| summary[key] = None)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn put(series: &mut Series, key: &str, step: Option<f64>, logged: Logged) {
    match logged {
        Logged::Number(value) => series.push(step, value),
        Logged::Twice => {
            series.fail(Trouble::ambiguous(format!("the key {} was logged twice in one step", quoted(key))));
        }
        Logged::Other(what) => {
            series.fail(Trouble::unreadable(format!("the key {} is {what}, not a number", quoted(key))));
        }
    }
}

/// Calls `each` with every item of these keys.
fn each_item(
    message: &[u8],
    field_number: u32,
    keys: &[&str],
    mut each: impl FnMut(usize, Logged),
) -> Result<(), NotAMessage> {
    for field in fields(message) {
        let (number, Value::Bytes(item)) = field? else { continue };
        if number != field_number {
            continue;
        }
        let (mut name, mut parts, mut value) = (String::new(), Vec::new(), Stored::Nothing);
        for field in fields(item) {
            match field? {
                (1, Value::Bytes(text)) => name = String::from_utf8_lossy(text).into_owned(),
                (2, Value::Bytes(text)) => parts.push(String::from_utf8_lossy(text).into_owned()),
                (4, Value::Varint(_)) => value = Stored::Other("true or false"),
                (5, Value::Varint(number)) => value = Stored::Number(zigzag(number) as f64),
                (6, Value::Fixed64(bytes)) => value = Stored::Number(f64::from_le_bytes(bytes)),
                (7, Value::Bytes(_)) => value = Stored::Other("a text"),
                (8 | 16, Value::Bytes(json)) => value = Stored::Json(json),
                _ => {}
            }
        }
        if !parts.is_empty() {
            name = parts.join(".");
        }
        for (index, key) in keys.iter().enumerate() {
            // Older versions store a nested object as one value.
            let inside = key.strip_prefix(name.as_str()).filter(|_| !name.is_empty());
            let path: Vec<&str> = match inside {
                Some("") => Vec::new(),
                Some(rest) if rest.starts_with('.') => rest[1..].split('.').collect(),
                _ => continue,
            };
            if let Some(logged) = value.at(&path) {
                each(index, logged);
            }
        }
    }
    Ok(())
}

/// A value as an item stores it.
enum Stored<'b> {
    Nothing,
    Number(f64),
    Other(&'static str),
    Json(&'b [u8]),
}

impl Stored<'_> {
    fn at(&self, path: &[&str]) -> Option<Logged> {
        match self {
            Stored::Json(json) => match find(json, path) {
                Ok(Found::Absent) => None,
                Ok(Found::Null) => Some(Logged::Number(f64::NAN)),
                Ok(Found::Number(value)) => Some(Logged::Number(value)),
                Ok(Found::Numbers(_)) => Some(Logged::Other("an array".to_owned())),
                Ok(Found::Other(what)) => Some(Logged::Other(what)),
                Ok(Found::Twice(_)) => Some(Logged::Twice),
                Err(why) => Some(Logged::Other(format!("not JSON ({why})"))),
            },
            Stored::Number(value) if path.is_empty() => Some(Logged::Number(*value)),
            Stored::Other(what) if path.is_empty() => Some(Logged::Other((*what).to_owned())),
            // `none`: Python's None.
            Stored::Nothing if path.is_empty() => Some(Logged::Number(f64::NAN)),
            _ => None,
        }
    }
}
