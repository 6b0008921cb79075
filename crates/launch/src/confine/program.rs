//! The final check of a step's program: whether it is still the one that was checked when the run
//! was allowed, with the interpreters that it names.
//!
//! Others may change it at any time, and a step may start hours after the gates checked it. So its file is
//! read again right before it is executed, by the process that becomes it. What is left is the moment
//! between the two. To execute the handle that was read wouldn't close it: a file can be written to as well
//! as replaced, and an interpreter must be able to open its script by a name.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, RealFs};
use rlxp_types::Digest;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::programs::{self, Seen, search_folders};

/// Says why `path`, or an interpreter that it names, is not what has this digest. `tree` is the step's own.
pub(super) fn check(path: &Path, tree: &Path, gated: Digest) -> Result<(), String> {
    let unread =
        |path: &Path, error: &dyn std::fmt::Display| format!("can't read {}: {error}", path.display());
    let real = |path: &Path| RealFs.canonicalize(path).map_err(|error| unread(path, &error));
    let (program, tree) = match path.strip_prefix(tree) {
        Ok(inside) => {
            let tree = real(tree)?;
            (tree.join(inside), Some(tree))
        }
        Err(_) => (path.to_owned(), None),
    };
    let mut read = Vec::new();
    let mut see = |path: &Path| {
        let real = real(path)?;
        let unread = |error: Errno| unread(path, &error);
        // Opening something other than a file must not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(&real, flags, Mode::empty()).map_err(unread)?;
        let before = rustix::fs::fstat(&file).map_err(unread)?;
        if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
            return Err(format!("{} is not a file", path.display()));
        }
        let (content, start) = content(&file).map_err(unread)?;
        read.push((path.to_owned(), before));
        Ok(Seen { real, content, start })
    };
    let chain = programs::follow(&program, tree.as_deref(), &search_folders(), &mut see)?;
    // Whatever the paths lead to by now is what was read, as it was when that began.
    let is_unchanged = |(path, before): &(PathBuf, Stat)| {
        rustix::fs::stat(path).is_ok_and(|after| state(before) == state(&after))
    };
    if chain.digest == gated && read.iter().all(is_unchanged) {
        return Ok(());
    }
    let also = if chain.programs.len() > 1 { ", or a program that runs it," } else { "" };
    Err(format!("{}{also} has changed since the run was allowed", path.display()))
}

/// The digest of a file, and its first bytes.
fn content(file: &OwnedFd) -> Result<(Digest, Vec<u8>), Errno> {
    let mut hasher = blake3::Hasher::new();
    let mut start = Vec::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match rustix::io::read(file, &mut buffer) {
            Ok(0) => return Ok((Digest::from_bytes(*hasher.finalize().as_bytes()), start)),
            Ok(count) => {
                let missing = programs::START.saturating_sub(start.len());
                start.extend_from_slice(&buffer[..count.min(missing)]);
                hasher.update(&buffer[..count]);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Identifies the file and its last change.
fn state(stat: &Stat) -> impl PartialEq + use<> {
    let times = [stat.st_mtime, stat.st_ctime];
    (stat.st_dev, stat.st_ino, stat.st_size, times, [stat.st_mtime_nsec, stat.st_ctime_nsec])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_it_holds_and_where_it_leads_must_be_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (path, real, copy) = (top.join("python"), top.join("python3"), top.join("other"));
        let elf = "\x7fELF a program";
        fs::write(&real, elf).unwrap();
        fs::write(&copy, elf).unwrap();
        symlink("python3", &path).unwrap();
        let gated = programs::program_digest(&path, &real, Digest::hash(elf.as_bytes()));
        let check = || check(&path, Path::new("/run/train.tree"), gated);
        assert_eq!(check(), Ok(()));
        let is_refused = |what: &str| {
            let reason = check().unwrap_err();
            assert!(reason.contains(path.to_str().unwrap()), "{what}: {reason}");
        };
        fs::write(&real, "\x7fELF b program").unwrap();
        is_refused("other bytes");
        fs::write(&real, elf).unwrap();
        assert_eq!(check(), Ok(()));
        fs::remove_file(&path).unwrap();
        symlink("other", &path).unwrap();
        is_refused("the same bytes in another place");
        fs::remove_file(&path).unwrap();
        is_refused("nothing");
        symlink("python3", &path).unwrap();
        fs::remove_file(&real).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &real, FileType::Fifo, Mode::RWXU, 0).unwrap();
        is_refused("a pipe without a writer");
    }
}
