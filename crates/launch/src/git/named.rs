//! Whether files match the hash of a commit.
//!
//! A commit's hash is the digest of its text, which has the digest of its tree, and so on down to every file. Git
//! trusts the repository for most of that: an object may be replaced by another, stored under the wrong name, or
//! converted on its way to the disk. So the hashes are computed here from what was written, and compared with the
//! requested one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use rlxp_fs::{Fs, FsError, Kind, RealFs};
use sha1::Digest as _;

use super::ask::{Asked, Git, os};

/// How much of a file is read at once.
const CHUNK: usize = 1 << 20;
/// Room for a commit's text, or for the names in one folder.
const OBJECT_BYTES: usize = 64 * 1024 * 1024;
/// Longer than any path that can be written.
const LONGEST_PATH: usize = 4096;
/// The modes of what is written as a link, and of what isn't written: a submodule, a folder.
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";
const FOLDER: &str = "40000";

/// An entry of a tree: mode, name of the object, path.
pub(super) struct Listed<'l> {
    mode: &'l str,
    id: &'l str,
    path: &'l [u8],
}

impl<'l> Listed<'l> {
    /// Entries as `git ls-files --stage -z` prints them: `MODE ID STAGE\tPATH\0…`. Nothing when it prints something else.
    pub(super) fn all(printed: &'l [u8]) -> Option<Vec<Self>> {
        let entries = printed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let one = |entry: &'l [u8]| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            let mut words = std::str::from_utf8(&entry[..tab]).ok()?.split(' ');
            Some(Self { mode: words.next()?, id: words.next()?, path: &entry[tab + 1..] })
        };
        entries.map(one).collect()
    }

    /// Its path, where it is a submodule.
    pub(super) fn submodule(&self) -> Option<String> {
        (self.mode == SUBMODULE).then(|| String::from_utf8_lossy(self.path).into_owned())
    }
}

/// The first path below `target` that differs from `commit` below `prefix`; an empty path means the tree as a whole,
/// or the commit itself.
pub(super) fn first_other(
    git: &Git,
    commit: &str,
    prefix: &str,
    listed: &[Listed<'_>],
    target: &Path,
) -> Result<Option<String>, FsError> {
    let expected = tree_of(git, commit, prefix);
    if expected.is_none()
        || tree(listed, 0, commit.len()).as_deref() != expected.as_deref().map(str::as_bytes)
    {
        return Ok(Some(String::new()));
    }
    for entry in listed.iter().filter(|entry| entry.mode != SUBMODULE) {
        let path = target.join(os(entry.path));
        let is_link = entry.mode == LINK;
        let same = match RealFs.metadata(&path)?.kind {
            Kind::Link if is_link => {
                let to = RealFs.read_link(&path)?;
                name("blob", to.as_os_str().as_encoded_bytes(), commit.len()) == entry.id
            }
            Kind::File if !is_link => file(&path, commit.len())? == entry.id,
            _ => false,
        };
        if !same {
            return Ok(Some(String::from_utf8_lossy(entry.path).into_owned()));
        }
    }
    Ok(None)
}

/// The hash of the tree of `commit` below `prefix`, from objects whose hashes were checked.
fn tree_of(git: &Git, commit: &str, prefix: &str) -> Option<String> {
    let text = object(git, "commit", commit)?;
    let line = text.split(|byte| *byte == b'\n').next()?.strip_prefix(b"tree ")?;
    let mut tree = std::str::from_utf8(line).ok()?.to_owned();
    for part in prefix.split('/').filter(|part| !part.is_empty()) {
        tree = entry(&object(git, "tree", &tree)?, part, commit.len() / 2)?;
    }
    Some(tree)
}

/// The text of an object, if it has the requested hash.
fn object(git: &Git, kind: &str, id: &str) -> Option<Vec<u8>> {
    let words: [&OsStr; 3] = ["cat-file".as_ref(), kind.as_ref(), id.as_ref()];
    match git.ask_with(&words, &[], OBJECT_BYTES) {
        Asked::Answer(text) if name(kind, &text, id.len()).eq_ignore_ascii_case(id) => Some(text),
        _ => None,
    }
}

/// The folder called `wanted` in a tree's text: `MODE NAME\0` and the bytes of its name, again and again.
fn entry(text: &[u8], wanted: &str, length: usize) -> Option<String> {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (head, id) = (&rest[..end], rest.get(end + 1..end + 1 + length)?);
        if head == format!("{FOLDER} {wanted}").as_bytes() {
            return Some(hexadecimal(id));
        }
        rest = &rest[end + 1 + length..];
    }
    None
}

/// The hash of the tree of these entries, as hexadecimal bytes; `None` if one of them is invalid. All of `listed` are
/// in one folder, whose path takes the first `from` bytes of theirs.
fn tree(listed: &[Listed<'_>], from: usize, length: usize) -> Option<Vec<u8>> {
    // No path of a file is longer, and none leads deeper than this goes.
    if from > LONGEST_PATH {
        return None;
    }
    // By the order of a tree, in which the name of a folder ends with a slash.
    let mut entries: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut at = 0;
    while at < listed.len() {
        let rest = listed[at].path.get(from..)?;
        let slash = rest.iter().position(|byte| *byte == b'/');
        let (key, mode, id, end) = match slash {
            None => (rest.to_vec(), listed[at].mode, listed[at].id.as_bytes().to_vec(), at + 1),
            Some(slash) => {
                let inside = &listed[at].path[..=from + slash];
                let count = listed[at..].iter().take_while(|entry| entry.path.starts_with(inside)).count();
                let below = tree(&listed[at..at + count], inside.len(), length)?;
                (rest[..=slash].to_vec(), FOLDER, below, at + count)
            }
        };
        let named = key.strip_suffix(b"/").unwrap_or(&key);
        if named.is_empty() {
            return None;
        }
        let mut text = format!("{mode} ").into_bytes();
        text.extend_from_slice(named);
        text.push(0);
        text.extend(bytes_of(&id)?);
        if entries.insert(key, text).is_some() {
            return None;
        }
        at = end;
    }
    Some(name("tree", &entries.into_values().collect::<Vec<_>>().concat(), length).into_bytes())
}

/// The name that git gives to an object: a digest of as many hexadecimal digits as the commit's has.
fn name(kind: &str, text: &[u8], length: usize) -> String {
    let mut digest = Name::begin(kind, text.len() as u64, length);
    digest.update(text);
    digest.finish()
}

fn file(path: &Path, length: usize) -> Result<String, FsError> {
    let mut digest = Name::begin("blob", RealFs.metadata(path)?.length, length);
    let mut offset = 0;
    loop {
        let part = RealFs.read_at(path, offset, CHUNK)?;
        digest.update(&part);
        offset += part.len() as u64;
        if part.len() < CHUNK {
            return Ok(digest.finish());
        }
    }
}

/// One of the two digests that names are made of.
enum Name {
    Usual(sha1::Sha1),
    Long(sha2::Sha256),
}

impl Name {
    fn begin(kind: &str, size: u64, length: usize) -> Self {
        let mut digest =
            if length == 64 { Self::Long(sha2::Sha256::new()) } else { Self::Usual(sha1::Sha1::new()) };
        digest.update(format!("{kind} {size}\0").as_bytes());
        digest
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Usual(digest) => digest.update(bytes),
            Self::Long(digest) => digest.update(bytes),
        }
    }

    fn finish(self) -> String {
        match self {
            Self::Usual(digest) => hexadecimal(&digest.finalize()),
            Self::Long(digest) => hexadecimal(&digest.finalize()),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(hexadecimal: &[u8]) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hexadecimal.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `git hash-object` and `git write-tree` name them.
    #[test]
    fn names_are_those_that_git_gives() {
        assert_eq!(name("blob", b"", 40), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(name("tree", b"", 40), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let long = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(name("blob", b"", 64), long);
        assert_eq!(tree(&[], 0, 40).as_deref(), Some(b"4b825dc642cb6eb9a060e54bf8d69288fbee4904".as_slice()));
        assert_eq!(bytes_of(b"0g"), None);
        assert_eq!(Listed::all(b"nothing of that kind\0").map(|all| all.len()), None);
    }
}
