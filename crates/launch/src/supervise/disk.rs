//! Measures the disk usage of a run's folder, and whether anything in it has changed.
//!
//! Walks by open folders instead of paths: the step may swap a folder for a symlink at any moment, and its names may be
//! anything. Bytes are those that are allocated, so that a sparse file counts for what it takes.

use std::collections::HashSet;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A run doesn't need deeper folders.
const DEEPEST: usize = 200;

/// What a walk has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Allocated bytes; a file with several names counts once.
    pub(super) bytes: u64,
    /// Differs when anything was written, made or removed in one of the folders. Files right at the top are the
    /// supervisor's own and don't count.
    pub(super) mark: u64,
    /// Folders are nested so deep that not everything was counted.
    pub(super) is_too_deep: bool,
}

/// Less free space than this counts as a full disk: not even the supervisor can work with it.
const NO_ROOM: u64 = 64 * 1024;

/// Whether the disk that holds `folder` has no room left, for bytes or for files.
pub(super) fn is_full(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|disk| {
        let has_no_bytes = disk.f_bavail.saturating_mul(disk.f_frsize) < NO_ROOM;
        // A disk that doesn't count files says that it could have none.
        has_no_bytes || (disk.f_files > 0 && disk.f_favail == 0)
    })
}

/// Counts everything below `folder` except what can't be read: an overlay has an internal folder that is unreadable.
pub(super) fn look(folder: &Path) -> Found {
    let mut walk = Walk { found: Found::default(), linked: HashSet::new() };
    if let Ok(top) = open(CWD, folder) {
        walk.folder(top, 0);
    }
    walk.found
}

struct Walk {
    found: Found,
    /// Files with several names that were counted.
    linked: HashSet<(u64, u64)>,
}

fn open(at: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

impl Walk {
    fn folder(&mut self, folder: OwnedFd, depth: usize) {
        if depth == DEEPEST {
            self.found.is_too_deep = true;
            return;
        }
        let Ok(mut entries) = Dir::read_from(&folder) else { return };
        while let Some(Ok(entry)) = entries.read() {
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.entry(&folder, name, depth);
            }
        }
    }

    fn entry(&mut self, folder: &OwnedFd, name: &CStr, depth: usize) {
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let is_counted = is_folder || stat.st_nlink < 2 || self.linked.insert((stat.st_dev, stat.st_ino));
        if is_counted {
            self.found.bytes = self.found.bytes.saturating_add((stat.st_blocks as u64).saturating_mul(512));
        }
        if depth > 0 || is_folder {
            let seconds = (stat.st_mtime as u64).wrapping_mul(1_000_000_000);
            let parts = [stat.st_ino, seconds.wrapping_add(stat.st_mtime_nsec), stat.st_size as u64];
            let mixed = parts.iter().fold(0_u64, |mixed, part| {
                (mixed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
            });
            self.found.mark = self.found.mark.wrapping_add(mixed);
        }
        if is_folder && let Ok(inside) = open(folder, name) {
            self.folder(inside, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn counts_what_is_allocated_once_and_follows_no_link() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("big"), vec![1; 1 << 20]).unwrap();
        let run = tempfile::tempdir().unwrap();
        let train = run.path().join("train");
        fs::create_dir(&train).unwrap();
        fs::write(train.join(std::ffi::OsStr::from_bytes(b"odd\xff")), vec![1; 1 << 18]).unwrap();
        fs::hard_link(train.join(std::ffi::OsStr::from_bytes(b"odd\xff")), train.join("again")).unwrap();
        std::os::unix::fs::symlink(outside.path(), train.join("link")).unwrap();
        let bytes = look(run.path()).bytes;
        assert!((1 << 18..1 << 19).contains(&bytes), "{bytes}");
        assert_eq!(look(&run.path().join("absent")), Found::default());
    }

    #[test]
    fn changes_are_seen_in_folders_and_not_among_the_supervisors_files() {
        let run = tempfile::tempdir().unwrap();
        let train = run.path().join("train");
        fs::create_dir(&train).unwrap();
        let before = look(run.path()).mark;
        fs::write(run.path().join("pulse.json"), "{}").unwrap();
        assert_eq!(look(run.path()).mark, before);
        fs::write(train.join("metrics.json"), "{}").unwrap();
        let after = look(run.path()).mark;
        assert_ne!(after, before);
        rlxp_fs::testing::set_modified(&train.join("metrics.json"), std::time::Duration::from_secs(1));
        assert_ne!(look(run.path()).mark, after, "also when the clock was turned back");
    }

    #[test]
    fn a_nest_without_end_is_noticed() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir_all(run.path().join("d/".repeat(DEEPEST + 2))).unwrap();
        assert!(look(run.path()).is_too_deep);
    }
}
