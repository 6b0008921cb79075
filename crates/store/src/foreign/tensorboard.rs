//! TensorBoard event files: records with checksums (TFRecord), each an `Event` message with scalars in it.
//!
//! Scalars are `simple_value`s, as PyTorch, tensorboardX and TensorFlow 1 write them, or tensors with one element, as
//! TensorFlow 2 does. As TensorBoard does, a restart of the session (`purge_step`) drops the points that it repeats.
//! Unlike TensorBoard, which shows what comes before the damage, a damaged file gives nothing.

use std::io::{self, BufReader, Read};

use super::crc32c::masked;
use super::protobuf::{NotAMessage, Value, fields, varint};
use super::{Reading, Series, Trouble, fail_all, quoted, series_for};

const BUFFER: usize = 1 << 18;
/// The longest record that is read: a picture or a graph, never a scalar.
const LONGEST_RECORD: u64 = 256 << 20;

/// Reads the scalars of some tags.
pub fn read(source: &mut dyn Read, tags: &[&str]) -> Vec<Reading> {
    let mut all = series_for(tags);
    let done = each_record(source, |record| take(record, tags, &mut all));
    if let Err(why) = done {
        fail_all(&mut all, &Trouble::unreadable(why));
    }
    let missing = |tag: &str| format!("no scalar has the tag {}", quoted(tag));
    all.into_iter().zip(tags).map(|(series, tag)| series.finish(|| missing(tag))).collect()
}

/// How many of these bytes, from the start of a file that is still being written, are complete records.
pub fn complete(bytes: &[u8]) -> usize {
    // Length and its checksum before the data, and the checksum of the data after it.
    const AROUND: usize = 16;
    let mut whole = 0;
    while let Some(length) = bytes[whole..].first_chunk::<8>() {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok();
        let end = length.and_then(|length| whole.checked_add(AROUND)?.checked_add(length));
        match end.filter(|end| *end <= bytes.len()) {
            Some(end) => whole = end,
            None => break,
        }
    }
    whole
}

/// Calls `each` with every record. The error says what is wrong, where, and how many records are undamaged.
fn each_record(
    source: &mut dyn Read,
    mut each: impl FnMut(&[u8]) -> Result<(), NotAMessage>,
) -> Result<(), String> {
    let mut reader = BufReader::with_capacity(BUFFER, source);
    let mut data = Vec::new();
    let (mut records, mut offset) = (0_u64, 0_u64);
    loop {
        let before = || match records {
            1 => "after 1 intact record".to_owned(),
            count => format!("after {count} intact records"),
        };
        let truncated = || format!("it is truncated at byte {offset}, {}", before());
        let damaged = || format!("it is damaged at byte {offset}, {}", before());
        let mut header = [0; 12];
        match fill(&mut reader, &mut header).map_err(|error| error.to_string())? {
            0 => return Ok(()),
            12 => {}
            _ => return Err(truncated()),
        }
        let (length, checksum) = header.split_first_chunk::<8>().expect("a header has 12 bytes");
        if masked(length) != number(checksum) {
            return Err(damaged());
        }
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_RECORD {
            return Err(format!(
                "the record at byte {offset} has {length} bytes, more than {LONGEST_RECORD}"
            ));
        }
        data.clear();
        // Memory grows with what is really there, not with what the header says.
        let wanted = length + 4;
        let read = (&mut reader).take(wanted).read_to_end(&mut data).map_err(|error| error.to_string())?;
        if (read as u64) < wanted {
            return Err(truncated());
        }
        let (record, checksum) = data.split_at(data.len() - 4);
        if masked(record) != number(checksum) || each(record).is_err() {
            return Err(damaged());
        }
        records += 1;
        offset += 12 + wanted;
        // One large picture must not stay in memory until the end.
        if data.capacity() > 4 * BUFFER {
            data = Vec::new();
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

/// Reads until the buffer is full or the source ends; how much that was.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Field numbers of `Event`, `SessionLog`, `Summary` and `Summary.Value`.
const STEP: u32 = 2;
const SUMMARY: u32 = 5;
const SESSION: u32 = 7;
const SESSION_STATUS: u32 = 1;
const SESSION_START: u64 = 1;
const SUMMARY_VALUE: u32 = 1;
const TAG: u32 = 1;
const SIMPLE_VALUE: u32 = 2;
const TENSOR: u32 = 8;

fn take(event: &[u8], tags: &[&str], all: &mut [Series]) -> Result<(), NotAMessage> {
    let (mut step, mut restarted) = (0_i64, false);
    for field in fields(event) {
        match field? {
            (STEP, Value::Varint(number)) => step = number as i64,
            (SESSION, Value::Bytes(session)) => {
                for field in fields(session) {
                    restarted |= field? == (SESSION_STATUS, Value::Varint(SESSION_START));
                }
            }
            _ => {}
        }
    }
    let step = step as f64;
    if restarted {
        for series in &mut *all {
            series.points.retain(|point| point.step.is_none_or(|earlier| earlier < step));
        }
    }
    for field in fields(event) {
        let (SUMMARY, Value::Bytes(summary)) = field? else { continue };
        for field in fields(summary) {
            if let (SUMMARY_VALUE, Value::Bytes(value)) = field? {
                take_value(value, step, tags, all)?;
            }
        }
    }
    Ok(())
}

fn take_value(value: &[u8], step: f64, tags: &[&str], all: &mut [Series]) -> Result<(), NotAMessage> {
    let (mut tag, mut scalar) = (&[][..], None);
    for field in fields(value) {
        match field? {
            (TAG, Value::Bytes(name)) => tag = name,
            (SIMPLE_VALUE, Value::Fixed32(bytes)) => scalar = Some(f64::from(f32::from_le_bytes(bytes))),
            (TENSOR, Value::Bytes(bytes)) => scalar = tensor(bytes)?,
            _ => {}
        }
    }
    for (name, series) in tags.iter().zip(all) {
        if name.as_bytes() != tag {
            continue;
        }
        match scalar {
            Some(scalar) => series.push(Some(step), scalar),
            None => series
                .fail(Trouble::unreadable(format!("{} at step {step} is not a single number", quoted(name)))),
        }
    }
    Ok(())
}

/// The only element of a tensor of numbers.
fn tensor(bytes: &[u8]) -> Result<Option<f64>, NotAMessage> {
    const KIND: u32 = 1;
    const CONTENT: u32 = 4;
    let (mut kind, mut content) = (0, None);
    let mut elements = Elements::default();
    for field in fields(bytes) {
        match field? {
            (KIND, Value::Varint(number)) => kind = number,
            (CONTENT, Value::Bytes(bytes)) => content = Some(bytes),
            (5, Value::Fixed32(bytes)) => elements.add(f64::from(f32::from_le_bytes(bytes))),
            (5, Value::Bytes(packed)) => {
                packed
                    .as_chunks()
                    .0
                    .iter()
                    .for_each(|four| elements.add(f64::from(f32::from_le_bytes(*four))));
            }
            (6, Value::Fixed64(bytes)) => elements.add(f64::from_le_bytes(bytes)),
            (6, Value::Bytes(packed)) => {
                packed.as_chunks().0.iter().for_each(|eight| elements.add(f64::from_le_bytes(*eight)));
            }
            // int_val and int64_val; negative numbers take all 64 bits in both.
            (7 | 10, Value::Varint(number)) => elements.add(number as i64 as f64),
            (16 | 17, Value::Varint(number)) => elements.add(number as f64),
            (field @ (7 | 10 | 16 | 17), Value::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    let number = varint(&mut packed).ok_or(NotAMessage)?;
                    elements.add(if field < 16 { number as i64 as f64 } else { number as f64 });
                }
            }
            _ => {}
        }
    }
    Ok(match content {
        Some(bytes) => raw_element(kind, bytes),
        None if is_number(kind) => elements.only(),
        None => None,
    })
}

/// The kinds of elements that are numbers: float, double, int32, uint8, int16, int8, int64, uint16, uint32, uint64.
fn is_number(kind: u64) -> bool {
    matches!(kind, 1..=6 | 9 | 17 | 22 | 23)
}

/// A tensor with one element, as its memory was.
fn raw_element(kind: u64, bytes: &[u8]) -> Option<f64> {
    Some(match kind {
        1 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        2 => f64::from_le_bytes(bytes.try_into().ok()?),
        3 => f64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        4 => f64::from(u8::from_le_bytes(bytes.try_into().ok()?)),
        5 => f64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
        6 => f64::from(i8::from_le_bytes(bytes.try_into().ok()?)),
        9 => i64::from_le_bytes(bytes.try_into().ok()?) as f64,
        17 => f64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
        22 => f64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
        23 => u64::from_le_bytes(bytes.try_into().ok()?) as f64,
        _ => return None,
    })
}

/// Elements, of which only the first is kept.
#[derive(Default)]
struct Elements {
    first: Option<f64>,
    count: usize,
}

impl Elements {
    fn add(&mut self, element: f64) {
        self.first.get_or_insert(element);
        self.count += 1;
    }

    fn only(&self) -> Option<f64> {
        self.first.filter(|_| self.count == 1)
    }
}
