//! Untracked files: their names and the digests of their contents.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_types::Digest;

use super::ask::{Asked, Git, os};
use super::put;

/// Most bytes of untracked content that are read in total.
const CONTENT_BYTES: u64 = 64 * 1024 * 1024;
/// Most bytes of their names.
const NAME_BYTES: usize = 4 * 1024 * 1024;

/// The files that git ignores, except in folders that programs make for themselves; none if git can't list them.
pub(super) fn ignored(git: &Git) -> Option<Vec<String>> {
    let words = ["ls-files", "--others", "--ignored", "--exclude-standard", "--full-name", "-z", "--"];
    let excluded = [".venv", "venv", "env", "node_modules", ".rlxp"].map(Path::new);
    let Asked::Answer(names) = git.ask_about(&words, &excluded, NAME_BYTES) else { return None };
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Some(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
}

/// Adds every untracked file that is not ignored, in git's order, which is by name.
pub(super) fn add(
    git: &Git,
    fs: &dyn Fs,
    top: &Path,
    excluded: &[&Path],
    digested: &mut Vec<u8>,
    not_covered: &mut Vec<String>,
) {
    let words = ["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--"];
    let names = match git.ask_about(&words, excluded, NAME_BYTES) {
        Asked::Answer(names) => names,
        Asked::TooLong => return not_covered.push("untracked files: too many".to_owned()),
        Asked::TimedOut => return not_covered.push("untracked files: listing them took too long".to_owned()),
        Asked::Failed => return not_covered.push("untracked files: git could not list them".to_owned()),
    };
    let mut left = CONTENT_BYTES;
    let mut skipped = 0;
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        put(digested, b'u', name);
        match content(fs, &top.join(os(name)), &mut left) {
            Some(digest) => put(digested, b'c', digest.to_string().as_bytes()),
            None => skipped += 1,
        }
    }
    if skipped > 0 {
        not_covered.push(format!(
            "the contents of {skipped} untracked files: unreadable, or more than 64 MB in total"
        ));
    }
}

/// The digest of a file's bytes or of a symlink's target; `None` if the file is too large for the remaining budget,
/// unreadable, or would block a reader.
fn content(fs: &dyn Fs, path: &Path, left: &mut u64) -> Option<Digest> {
    let meta = fs.metadata(path).ok()?;
    match meta.kind {
        Kind::Link => Some(Digest::hash(fs.read_link(path).ok()?.as_os_str().as_bytes())),
        Kind::File => {
            let bytes = fs.read(path, *left).ok()?;
            *left -= bytes.len() as u64;
            Some(Digest::hash(&bytes))
        }
        // A nested repository is listed as one name.
        Kind::Folder | Kind::Other => None,
    }
}
