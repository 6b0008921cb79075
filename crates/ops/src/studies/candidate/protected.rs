//! The protected files of a repository by digest. Folders that no pattern can match are not walked.

use std::collections::BTreeMap;
use std::path::Path;

use rlxp_fs::{Fs, Kind};
use rlxp_govern::scope::{ALWAYS_PROTECTED, bad_glob, matches_any_case, protects};
use rlxp_types::Digest;

use crate::failure::Outcome;

/// A tree with more entries than this is not digested.
const MOST_ENTRIES: usize = 200_000;
/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// Every protected file by digest; a link counts by its target and is not followed. `None` if a pattern is invalid or
/// there are too many entries.
pub fn digests(fs: &dyn Fs, root: &Path, globs: &[String]) -> Outcome<Option<BTreeMap<String, Digest>>> {
    if globs.iter().any(|glob| bad_glob(glob).is_some()) {
        return Ok(None);
    }
    let mut found = BTreeMap::new();
    let mut entries = 0;
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs.list(&root.join(&folder))? {
            entries += 1;
            if entries > MOST_ENTRIES {
                return Ok(None);
            }
            let path =
                if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) };
            // Files of rlx and git change all the time; no candidate may change them, so their digests are not
            // needed.
            if ALWAYS_PROTECTED.iter().any(|glob| matches_any_case(glob, &path)) {
                continue;
            }
            let hit = globs.iter().any(|glob| protects(glob, &path));
            match entry.kind {
                Kind::Folder if globs.iter().any(|glob| may_reach(glob, &path)) => folders.push(path),
                Kind::File if hit => {
                    found.insert(path.clone(), file_digest(fs, &root.join(&path))?);
                }
                Kind::Link if hit => {
                    let target = fs.read_link(&root.join(&path))?;
                    found.insert(path, Digest::hash(format!("link to {}", target.display()).as_bytes()));
                }
                _ => {}
            }
        }
    }
    Ok(Some(found))
}

/// Whether something below `folder` could match `glob`.
fn may_reach(glob: &str, folder: &str) -> bool {
    // A pattern that names the folder, or one above it, protects everything in it.
    if protects(glob, folder) {
        return true;
    }
    let glob: Vec<&str> = glob.split('/').collect();
    let depth = folder.split('/').count();
    let head: Vec<&str> = glob.iter().take(depth).copied().collect();
    match head.iter().position(|part| *part == "**") {
        // From there on everything can match; the part before must match.
        Some(at) => {
            let before = folder.split('/').take(at).collect::<Vec<_>>().join("/");
            matches_any_case(&glob[..at].join("/"), &before) || at == 0
        }
        None => glob.len() > depth && matches_any_case(&head.join("/"), folder),
    }
}

pub(crate) fn file_digest(fs: &dyn Fs, path: &Path) -> Outcome<Digest> {
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    loop {
        let part = fs.read_at(path, offset, CHUNK)?;
        // Most files are short, and faster to digest in one call.
        if offset == 0 && part.len() < CHUNK {
            return Ok(Digest::hash(&part));
        }
        hasher.update(&part);
        offset += part.len() as u64;
        if part.len() < CHUNK {
            return Ok(Digest::from_bytes(*hasher.finalize().as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_can_hold_something_are_walked() {
        let check = |glob: &str, folder: &str, expected: bool| {
            assert_eq!(may_reach(glob, folder), expected, "{glob} {folder}")
        };
        check("eval/**", "eval", true);
        check("eval/**", "eval/deep", true);
        check("eval/**", "envs", false);
        check("eval/*.py", "eval", true);
        check("eval/*.py", "eval/deep", false);
        check("**/metrics.py", "any/where", true);
        check("a/**/c.py", "a/b", true);
        check("a/**/c.py", "b", false);
        check("seeds.txt", "seeds", false);
        check("eval", "eval", true);
        check("eval", "eval/deep", true);
        check("eval", "evaluate", false);
        check("E*/x", "eval", true);
    }
}
