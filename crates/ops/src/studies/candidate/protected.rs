//! The protected files of a repository by digest. Folders that no pattern can match are not walked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, Kind};
use rlxp_govern::scope::{ALWAYS_PROTECTED, bad_glob, matches_any_case, protects};
use rlxp_govern::view::{Unprotectable, WhyNot};
use rlxp_types::Digest;
use rlxp_types::path_text::escaped;

use crate::failure::Outcome;
use crate::studies::tree::{entries, file_digest};

/// A tree with more entries than this is not digested.
const MOST_ENTRIES: usize = 200_000;
/// A longer file is not read: a sparse one would take minutes. Evaluators are code, and data belongs to the inputs.
const LONGEST_FILE: u64 = 1 << 30;

/// The protected files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// Every one by digest; a link counts by its target. `None` if a pattern is invalid, there are too many entries, or
    /// one of them can't be protected.
    pub files: Option<BTreeMap<String, Digest>>,
    /// Those that can't be protected.
    pub unprotectable: Vec<Unprotectable>,
}

/// The protected files below `root`. No link is followed to read a file.
pub fn protected(fs: &dyn Fs, root: &Path, globs: &[String]) -> Outcome<Protected> {
    if globs.iter().any(|glob| bad_glob(glob).is_some()) {
        return Ok(Protected::default());
    }
    let mut found = BTreeMap::new();
    let mut unprotectable = Vec::new();
    let mut count = 0;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in entries(fs, root, &folder)? {
            count += 1;
            if count > MOST_ENTRIES {
                return Ok(Protected::default());
            }
            // Files of rlx and git change all the time; no candidate may change them, so their digests are not
            // needed.
            if ALWAYS_PROTECTED.iter().any(|glob| matches_any_case(glob, &entry.text)) {
                continue;
            }
            let at = root.join(&entry.path);
            let hit = globs.iter().any(|glob| protects(glob, &entry.text));
            let digest = match entry.kind {
                Kind::Folder => {
                    if globs.iter().any(|glob| may_reach(glob, &entry.text)) {
                        folders.push(entry.path);
                    }
                    continue;
                }
                Kind::File if hit => match fs.metadata(&at)?.length {
                    bytes if bytes > LONGEST_FILE => Err(WhyNot::TooLarge { bytes }),
                    _ => Ok(file_digest(fs, &at)?),
                },
                Kind::Link if hit || globs.iter().any(|glob| leads_through(glob, &entry.text)) => {
                    link(fs, root, &at, globs)?
                }
                _ => continue,
            };
            match digest {
                Ok(digest) => drop(found.insert(entry.text, digest)),
                Err(why) => unprotectable.push(Unprotectable { path: entry.text, why }),
            }
        }
    }
    Ok(Protected { files: unprotectable.is_empty().then_some(found), unprotectable })
}

/// A link can be protected if its target is protected as well; anything else could be changed unnoticed.
fn link(fs: &dyn Fs, root: &Path, at: &Path, globs: &[String]) -> Outcome<Result<Digest, WhyNot>> {
    let target = fs.read_link(at)?;
    let target = escaped(target.as_os_str().as_encoded_bytes());
    let Ok(real) = fs.canonicalize(at) else { return Ok(Err(WhyNot::LinkOutside { target })) };
    let top = fs.canonicalize(root)?;
    let Ok(inside) = real.strip_prefix(&top) else { return Ok(Err(WhyNot::LinkOutside { target })) };
    let inside = escaped(inside.as_os_str().as_encoded_bytes());
    if globs.iter().any(|glob| protects(glob, &inside)) {
        return Ok(Ok(Digest::hash(format!("link to {target}").as_bytes())));
    }
    Ok(Err(WhyNot::LinkToUnprotected { target }))
}

/// Whether a pattern names files below `path` part by part, so that a link there decides which files are meant. What
/// `**` stands for has no links in it: git knows no file behind a link.
fn leads_through(glob: &str, path: &str) -> bool {
    let parts: Vec<&str> = glob.split('/').collect();
    let depth = path.split('/').count();
    let head = parts.get(..depth).filter(|head| parts.len() > depth && !head.contains(&"**"));
    head.is_some_and(|head| matches_any_case(&head.join("/"), path))
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

    #[test]
    fn a_link_on_the_way_to_what_a_pattern_names_counts() {
        let check = |glob: &str, path: &str, expected: bool| {
            assert_eq!(leads_through(glob, path), expected, "{glob} {path}")
        };
        check("eval/**", "eval", true);
        check("tools/eval/run.py", "tools", true);
        check("tools/eval/run.py", "tools/eval", true);
        check("tools/eval/run.py", "tools/eval/run.py", false);
        check("**/metrics.py", "data", false);
        check("eval/**", "data", false);
    }
}
