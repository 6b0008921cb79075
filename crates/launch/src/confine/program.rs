//! The final check of a step's program: whether it is still the one that was checked when the run
//! was allowed.
//!
//! Others may change it at any time, and a step may start hours after the gates checked it. So its file is
//! read again right before it is executed, by the process that becomes it. What is left is the moment
//! between the two. To execute the handle that was read wouldn't close it: a file can be written to as well
//! as replaced, and an interpreter must be able to open its script by a name.

use std::os::fd::OwnedFd;
use std::path::Path;

use rlxp_fs::{Fs, RealFs};
use rlxp_types::Digest;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::order::program_digest;

/// Says why `path` is not the program that has this digest.
pub(super) fn check(path: &Path, gated: Digest) -> Result<(), String> {
    let unread = |error: &dyn std::fmt::Display| format!("can't read {}: {error}", path.display());
    let real = RealFs.canonicalize(path).map_err(|error| unread(&error))?;
    // Opening something other than a file must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(&real, flags, Mode::empty()).map_err(|error| unread(&error))?;
    let before = rustix::fs::fstat(&file).map_err(|error| unread(&error))?;
    let is_file = FileType::from_raw_mode(before.st_mode) == FileType::RegularFile;
    if is_file && program_digest(path, &real, content(&file).map_err(|error| unread(&error))?) == gated {
        // Whatever the path leads to by now is what was read, as it was when that began.
        let after = rustix::fs::stat(path).map_err(|error| unread(&error))?;
        if state(&before) == state(&after) {
            return Ok(());
        }
    }
    Err(format!("{} has changed since the run was allowed", path.display()))
}

fn content(file: &OwnedFd) -> Result<Digest, Errno> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match rustix::io::read(file, &mut buffer) {
            Ok(0) => return Ok(Digest::from_bytes(*hasher.finalize().as_bytes())),
            Ok(count) => drop(hasher.update(&buffer[..count])),
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
        fs::write(&real, "a program").unwrap();
        fs::write(&copy, "a program").unwrap();
        symlink("python3", &path).unwrap();
        let gated = program_digest(&path, &real, Digest::hash(b"a program"));
        assert_eq!(check(&path, gated), Ok(()));
        let is_refused = |what: &str| {
            let reason = check(&path, gated).unwrap_err();
            assert!(reason.contains(path.to_str().unwrap()), "{what}: {reason}");
        };
        fs::write(&real, "b program").unwrap();
        is_refused("other bytes");
        fs::write(&real, "a program").unwrap();
        assert_eq!(check(&path, gated), Ok(()));
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
