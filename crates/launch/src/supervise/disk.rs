//! Measures the disk usage of a run's folder, and whether anything in it has changed.
//!
//! Walks by open folders instead of paths: the step may swap a folder for a symlink at any moment, and its names may be
//! anything. Bytes are those that are allocated; the lengths of sparse files are added up beside them.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A run doesn't need deeper folders.
const DEEPEST: usize = 200;

/// What a walk has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Allocated bytes; a file with several names counts once.
    pub(super) bytes: u64,
    /// The lengths of all files together: what reading them takes, also where a file is sparse.
    pub(super) length: u64,
    /// Differs when anything was written, made or removed in one of the folders. Files right at the top are the
    /// supervisor's own and don't count.
    pub(super) mark: u64,
    /// Folders are nested so deep that not everything was counted.
    pub(super) is_too_deep: bool,
    /// A folder that this user may not list or look into, so that not everything was counted.
    pub(super) unlisted: Option<PathBuf>,
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

/// Counts everything below `folder`, the folder of a run, and notices what can't be.
pub(super) fn look(folder: &Path) -> Found {
    let mut walk = Walk { found: Found::default(), linked: HashSet::new(), at: PathBuf::new() };
    if let Ok(top) = open(CWD, folder) {
        walk.folder(top, 0);
    }
    walk.found
}

struct Walk {
    found: Found,
    /// Files with several names that were counted.
    linked: HashSet<(u64, u64)>,
    /// The folder that is looked at, from where the walk began.
    at: PathBuf,
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
        let mut entries = match Dir::read_from(&folder) {
            Ok(entries) => entries,
            Err(error) => return self.missed(error),
        };
        while let Some(Ok(entry)) = entries.read() {
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.entry(&folder, name, depth);
            }
        }
    }

    fn entry(&mut self, folder: &OwnedFd, name: &CStr, depth: usize) {
        let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => return self.missed(error),
        };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let is_counted = is_folder || stat.st_nlink < 2 || self.linked.insert((stat.st_dev, stat.st_ino));
        if is_counted && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            self.found.length = self.found.length.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
        }
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
        if is_folder {
            self.at.push(OsStr::from_bytes(name.to_bytes()));
            match open(folder, name) {
                Ok(inside) => self.folder(inside, depth + 1),
                Err(error) => self.missed(error),
            }
            self.at.pop();
        }
    }

    /// Something in the present folder was not counted. It may just be gone, and an overlay has a folder for its own use,
    /// out of the step's reach, that can't be listed either.
    fn missed(&mut self, error: Errno) {
        let is_of_overlay = self.at.iter().next().is_some_and(|top| top.as_bytes().ends_with(b".work"));
        if matches!(error, Errno::ACCESS | Errno::PERM) && !is_of_overlay {
            self.found.unlisted.get_or_insert_with(|| self.at.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
        let found = look(run.path());
        assert!((1 << 18..1 << 19).contains(&found.bytes), "{found:?}");
        assert_eq!(found.length, 1 << 18);
        let sparse = fs::File::create(train.join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let found = look(run.path());
        assert!(found.bytes < 1 << 19 && found.length == (1 << 40) + (1 << 18), "{found:?}");
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
    fn a_folder_that_cannot_be_listed_is_noticed() {
        let run = tempfile::tempdir().unwrap();
        let hidden = run.path().join("train/hidden");
        for folder in ["train/hidden", "train.work/work"] {
            fs::create_dir_all(run.path().join(folder)).unwrap();
        }
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(hidden.join("big"), vec![1; 1 << 18]).unwrap();
        set(&run.path().join("train.work/work"), 0o000);
        for (mode, unlisted) in [(0o700, None), (0o311, Some("train/hidden")), (0o400, Some("train/hidden"))]
        {
            set(&hidden, mode);
            let found = super::super::open_up::where_modes_hold(|| look(run.path()));
            assert_eq!(found.unlisted.as_deref(), unlisted.map(Path::new), "{mode:o}");
        }
        for folder in [&hidden, &run.path().join("train.work/work")] {
            set(folder, 0o700);
        }
    }

    #[test]
    fn a_nest_without_end_is_noticed() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir_all(run.path().join("d/".repeat(DEEPEST + 2))).unwrap();
        assert!(look(run.path()).is_too_deep);
    }
}
