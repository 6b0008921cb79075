//! Code without git: all files of a folder as one digest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::Base;
use rlxp_types::Digest;

use super::entries::entries;
use crate::failure::{Failure, Outcome};

/// A tree with more entries than this is not digested.
const MOST_ENTRIES: usize = 200_000;
/// A longer file is not read: a sparse one would take minutes.
const LONGEST_FILE: u64 = 8 << 30;
/// Folders that snapshots leave out: files of rlx and git, files that programs recreate, and runs.
const LEFT_OUT: [&str; 6] = [".rlxp", ".git", ".venv", "node_modules", "__pycache__", "runs"];
/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// The present code at `root`, where `head` is the commit that is checked out: that commit, or without git a snapshot.
/// `None` for a repository without a commit, whose code couldn't be restored, and for too many files.
pub(crate) fn present_base(fs: &dyn Fs, root: &Path, head: Option<&str>) -> Outcome<Option<Base>> {
    match head {
        Some(commit) => Ok(Base::of_commit(commit)),
        None if fs.metadata_if_any(&root.join(".git"))?.is_some() => Ok(None),
        None => Ok(snapshot(fs, root)?.map(Base::Snapshot)),
    }
}

/// Whether snapshots leave out a path, by its last name.
pub(super) fn is_named_left_out(path: &Path) -> bool {
    path.file_name().is_some_and(|name| LEFT_OUT.iter().any(|left_out| name == *left_out))
}

/// Whether snapshots leave out a path or a folder that it is in.
pub(crate) fn is_left_out(path: &str) -> bool {
    path.split('/').any(|name| LEFT_OUT.contains(&name))
}

/// One digest over the names and contents of all files below a folder; a link counts by its target. `None` if there
/// are too many entries.
pub fn snapshot(fs: &dyn Fs, root: &Path) -> Outcome<Option<Digest>> {
    let mut found = BTreeMap::new();
    let mut count = 0;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in entries(fs, root, &folder)? {
            if is_named_left_out(&entry.path) {
                continue;
            }
            count += 1;
            if count > MOST_ENTRIES {
                return Ok(None);
            }
            let at = root.join(&entry.path);
            match entry.kind {
                Kind::Folder => folders.push(entry.path),
                Kind::File => {
                    refuse_huge(fs, &at)?;
                    found.insert(entry.text, ("file", file_digest(fs, &at)?));
                }
                Kind::Link => {
                    let target = Digest::hash(fs.read_link(&at)?.as_os_str().as_encoded_bytes());
                    found.insert(entry.text, ("link", target));
                }
                // Sockets and the like contain no code.
                Kind::Other => {}
            }
        }
    }
    Ok(Some(rlxp_govern::canonical::digest_of(&found)))
}

fn refuse_huge(fs: &dyn Fs, path: &Path) -> Outcome<()> {
    let length = fs.metadata(path)?.length;
    if length <= LONGEST_FILE {
        return Ok(());
    }
    let message = format!(
        "{} has {length} bytes; without git the whole folder is recorded, and no file in it may have more than \
         {LONGEST_FILE}",
        path.display()
    );
    Err(Failure::refused("file_too_large", message).hint("move it out of the folder, or: git init"))
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
    #![expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a test makes the files that are looked at"
    )]

    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use rlxp_fs::RealFs;

    use super::*;

    #[test]
    fn a_snapshot_covers_code_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (root, of) = (folder.path(), || snapshot(&RealFs, folder.path()).unwrap().unwrap());
        std::fs::create_dir(root.join("configs")).unwrap();
        std::fs::write(root.join("train.py"), "pass\n").unwrap();
        let first = of();
        for name in LEFT_OUT {
            std::fs::create_dir(root.join(name)).unwrap();
            std::fs::write(root.join(name).join("file"), "x").unwrap();
        }
        assert_eq!(of(), first);
        let mut seen = vec![first];
        let edits: [&dyn Fn(); 5] = [
            &|| std::fs::write(root.join("train.py"), "other\n").unwrap(),
            &|| std::fs::rename(root.join("train.py"), root.join("other.py")).unwrap(),
            &|| std::os::unix::fs::symlink("other.py", root.join("train.py")).unwrap(),
            &|| std::fs::write(root.join("configs/new"), "").unwrap(),
            &|| std::fs::write(root.join(OsStr::from_bytes(b"not-text-\xff.py")), "pass\n").unwrap(),
        ];
        for edit in edits {
            edit();
            assert!(!seen.contains(&of()));
            seen.push(of());
        }
        // A link and a file with the same text are not the same.
        std::fs::remove_file(root.join("train.py")).unwrap();
        std::fs::write(root.join("train.py"), "other.py").unwrap();
        assert!(!seen.contains(&of()));
    }

    #[test]
    fn a_huge_file_is_named_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("weights.bin")).unwrap();
        file.set_len(LONGEST_FILE + 1).unwrap();
        let failure = snapshot(&RealFs, folder.path()).unwrap_err();
        assert_eq!(failure.code, "file_too_large");
        assert!(failure.message.contains("weights.bin"), "{failure}");
    }
}
