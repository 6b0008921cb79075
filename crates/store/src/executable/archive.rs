//! Members of archives, and what compressed files hold.
//!
//! A member that is only stored is looked at where it lies. A compressed one is decompressed in part, and further only
//! where the part doesn't tell; nothing is ever written. What can't be opened here, but by a program that loads it,
//! counts as executable.

use memchr::memmem;
use miniz_oxide::inflate::{decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};

use super::source::{Source, Stop};
use super::{Budget, DEEPEST, Look, look as look_inside};

/// How much of a compressed member is decompressed: first this, then that.
const PARTS: [u64; 2] = [1 << 20, 64 << 20];
/// The end of a zip file may be followed by a comment of this length.
const LONGEST_COMMENT: u64 = 65_535;
const END_LENGTH: u64 = 22;
/// The lengths of the two records before it that a large one has.
const LOCATOR_LENGTH: u64 = 20;
const LONG_END_LENGTH: u64 = 56;
/// More members than any checkpoint has.
const MOST_MEMBERS: usize = 100_000;
/// A number of four bytes that stands for a longer one elsewhere.
const LONGER: u64 = 0xffff_ffff;

/// Formats that only other programs can decompress here, by their first bytes.
const CLOSED: [(&[u8], &str); 5] = [
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"]\0\0", LZMA),
];
/// Its first bytes are not enough: numbers begin like that.
const LZMA: &str = "lzma";

/// Looks at an archive or a compressed file; `start` are its first bytes.
pub(super) fn look(source: &Source<'_>, start: &[u8], budget: &mut Budget, depth: u32) -> Result<Look, Stop> {
    if let Some(end) = end_of_zip(source, budget)? {
        return deeper(depth, |depth| zip(source, end, budget, depth));
    }
    if start.starts_with(b"PK\x03\x04") {
        return Ok(source.end_of(closed("a damaged zip archive")));
    }
    if start.get(257..262) == Some(b"ustar") {
        return deeper(depth, |depth| tar(source, budget, depth));
    }
    if start.starts_with(b"\x1f\x8b\x08") {
        return deeper(depth, |depth| gzip(source, start, budget, depth));
    }
    // A header of two bytes with a checksum, which most texts that begin with an x fail.
    if let [0x78, flags, ..] = start
        && (0x7800 + u32::from(*flags)) % 31 == 0
    {
        let inflate = |bytes: &[u8], limit| {
            decompress_to_vec_zlib_with_limit(bytes, limit).map_err(|error| error.output)
        };
        return deeper(depth, |depth| inflated(source, &inflate, budget, depth));
    }
    let has_no_length = start.get(5..13).is_some_and(|length| length.iter().all(|byte| *byte == 0xff));
    let is_closed =
        |(magic, name): &&(&[u8], &str)| start.starts_with(magic) && (*name != LZMA || has_no_length);
    Ok(match CLOSED.iter().find(is_closed) {
        Some((_, name)) => closed(&format!("a file compressed with {name}")),
        None => Look::Clean,
    })
}

fn closed(what: &str) -> Look {
    Look::Runs(format!("is {what}, which can't be searched for code"))
}

/// Goes one archive deeper, if that isn't too deep.
fn deeper(depth: u32, inside: impl FnOnce(u32) -> Result<Look, Stop>) -> Result<Look, Stop> {
    if depth >= DEEPEST { Ok(closed("an archive in archives")) } else { inside(depth + 1) }
}

/// The last record of a zip file, which says where its list of members is.
struct ZipEnd {
    /// Where the record is.
    at: u64,
    list_length: u64,
    list_start: u64,
}

/// The end of a zip file, wherever it begins: some programs open one that follows other bytes.
fn end_of_zip(source: &Source<'_>, budget: &mut Budget) -> Result<Option<ZipEnd>, Stop> {
    if !source.is_whole() || source.length() < END_LENGTH {
        return Ok(None);
    }
    let reach = END_LENGTH + LONGEST_COMMENT;
    let from = source.length().saturating_sub(reach);
    let tail = source.read(from, reach, budget)?;
    let Some(inside) = memmem::rfind(&tail, b"PK\x05\x06") else { return Ok(None) };
    let Some(record) = tail.get(inside..inside + 22) else { return Ok(None) };
    let at = from + inside as u64;
    let end = ZipEnd { at, list_length: four(record, 12), list_start: four(record, 16) };
    // PyTorch adds records with numbers of eight bytes, which then count.
    let longer = at.checked_sub(LOCATOR_LENGTH + LONG_END_LENGTH);
    let Some(longer) = longer.filter(|_| inside >= 20 && tail[inside - 20..].starts_with(b"PK\x06\x07"))
    else {
        return Ok(Some(end));
    };
    let record = source.read(longer, LONG_END_LENGTH, budget)?;
    if !record.starts_with(b"PK\x06\x06") || eight(&tail[inside - 20..], 8) != longer {
        // Programs could differ in what they read.
        return Ok(Some(ZipEnd { at, list_length: 0, list_start: LONGER }));
    }
    Ok(Some(ZipEnd { at: longer, list_length: eight(&record, 40), list_start: eight(&record, 48) }))
}

fn zip(source: &Source<'_>, end: ZipEnd, budget: &mut Budget, depth: u32) -> Result<Look, Stop> {
    let damaged = || Ok(closed("a damaged zip archive"));
    // With bytes before it, programs differ in what they read.
    if end.list_start == LONGER || end.list_start.checked_add(end.list_length) != Some(end.at) {
        return Ok(closed("an unusual zip archive"));
    }
    let list = source.read(end.list_start, end.list_length, budget)?;
    let mut rest = list.as_slice();
    for _ in 0..MOST_MEMBERS {
        if rest.is_empty() {
            return Ok(Look::Clean);
        }
        let Some(head) = rest.get(..46).filter(|head| head.starts_with(b"PK\x01\x02")) else {
            return damaged();
        };
        let (name, after) =
            (usize::from(two(head, 28)), usize::from(two(head, 30)) + usize::from(two(head, 32)));
        let Some(name_bytes) = rest.get(46..46 + name) else { return damaged() };
        let name_text = String::from_utf8_lossy(name_bytes).into_owned();
        let (packed, offset) = (four(head, 20), four(head, 42));
        if two(head, 8) & 1 != 0 || packed == LONGER || offset == LONGER {
            return Ok(closed("an unusual zip archive"));
        }
        let local = source.read(offset, 30, budget)?;
        if local.len() < 30 || !local.starts_with(b"PK\x03\x04") {
            return damaged();
        }
        let data = offset + 30 + u64::from(two(&local, 26)) + u64::from(two(&local, 28));
        let member = source.part(data, packed);
        let found = match two(head, 10) {
            0 => look_inside(&member, budget, depth)?,
            8 => {
                let inflate = |bytes: &[u8], limit| {
                    decompress_to_vec_with_limit(bytes, limit).map_err(|error| error.output)
                };
                inflated(&member, &inflate, budget, depth)?
            }
            _ => closed("compressed in an unusual way"),
        };
        match found {
            Look::Clean => {}
            Look::NeedsMore => return damaged(),
            Look::Runs(why) => return Ok(of_member(&name_text, &why)),
        }
        let Some(next) = rest.get(46 + name + after..) else { return damaged() };
        rest = next;
    }
    Ok(closed("an archive with too many members"))
}

fn of_member(name: &str, why: &str) -> Look {
    const LONGEST: usize = 80;
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect();
    Look::Runs(format!("has a member {name} that {why}"))
}

fn tar(source: &Source<'_>, budget: &mut Budget, depth: u32) -> Result<Look, Stop> {
    let mut at = 0;
    for _ in 0..MOST_MEMBERS {
        let head = source.read(at, 512, budget)?;
        if head.len() < 512 {
            return Ok(source.end_of(Look::Clean));
        }
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Look::Clean);
        }
        let digits: String = head[124..136]
            .iter()
            .map(|byte| char::from(*byte))
            .filter(|digit| !"\0 ".contains(*digit))
            .collect();
        let Ok(length) = u64::from_str_radix(&digits, 8) else { return Ok(closed("an unusual tar archive")) };
        let name = head[..100].split(|byte| *byte == 0).next().unwrap_or_default();
        match look_inside(&source.part(at + 512, length), budget, depth)? {
            Look::Clean => {}
            Look::NeedsMore => return Ok(Look::NeedsMore),
            Look::Runs(why) => return Ok(of_member(&String::from_utf8_lossy(name), &why)),
        }
        at = at.saturating_add(512).saturating_add(length.div_ceil(512).saturating_mul(512));
    }
    Ok(closed("an archive with too many members"))
}

fn gzip(source: &Source<'_>, start: &[u8], budget: &mut Budget, depth: u32) -> Result<Look, Stop> {
    let flags = start.get(3).copied().unwrap_or_default();
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(start.get(10..12).map_or(0, |length| two(length, 0)));
    }
    // A name, then a comment, each up to a zero byte.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let Some(end) = start.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) else {
                return Ok(closed("an unusual gzip file"));
            };
            at += end + 1;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    let inflate =
        |bytes: &[u8], limit| decompress_to_vec_with_limit(bytes, limit).map_err(|error| error.output);
    inflated(&source.part(at as u64, u64::MAX), &inflate, budget, depth)
}

/// Decompresses up to a limit; the error has what came out before the limit, the end or the damage.
type Inflate<'i> = dyn Fn(&[u8], usize) -> Result<Vec<u8>, Vec<u8>> + 'i;

/// Looks at what compressed bytes hold.
fn inflated(
    packed: &Source<'_>,
    inflate: &Inflate<'_>,
    budget: &mut Budget,
    depth: u32,
) -> Result<Look, Stop> {
    for part in PARTS {
        let bytes = packed.read(0, part, budget)?;
        let (content, is_whole) = match inflate(&bytes, usize::try_from(part).unwrap_or(usize::MAX)) {
            Ok(content) => (content, true),
            Err(content) => (content, false),
        };
        budget.bytes = budget.bytes.checked_sub(content.len() as u64).ok_or(Stop::Spent)?;
        let found = look_inside(&Source::memory(&content, is_whole), budget, depth)?;
        if found != Look::NeedsMore {
            return Ok(found);
        }
    }
    Ok(closed("compressed data that is damaged or too large"))
}

fn two(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn eight(bytes: &[u8], at: usize) -> u64 {
    four(bytes, at) | four(bytes, at + 4) << 32
}

fn four(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 4).map_or(0, |b| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])))
}
