//! What a step left, taken down right after its last process has ended: the digest of every file, and enough about each
//! entry to tell later whether anything was touched since.
//!
//! Walks by open folders instead of paths and follows no link, like [`super::disk`]. Reading is bounded: files that are
//! longer than the run's disk limit allows are listed and not read, and the watching thread can stop it between two parts.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rlxp_types::Digest;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::order::FileState;

/// Most files that are listed individually.
const MOST_FILES: usize = 100_000;
/// A run doesn't need deeper folders.
const DEEPEST: usize = 200;
/// Bytes that are read at once.
const PART: usize = 1 << 20;

/// The files of some folders of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// By their path in the run's folder. Names that aren't text are written with escapes.
    pub files: BTreeMap<String, TakenFile>,
    /// What could not be listed, and why.
    pub left_out: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenFile {
    pub length: u64,
    pub digest: Digest,
}

/// Every entry of a folder as it was at one moment.
#[derive(Debug, PartialEq)]
pub(super) struct States(BTreeMap<PathBuf, FileState>);

impl States {
    /// The first entry below `folder` that is not as it was.
    pub(super) fn changed(&self, folder: &Path) -> Option<PathBuf> {
        let now = states(folder).0;
        let other = |(path, state): &(&PathBuf, &FileState)| now.get(*path) != Some(*state);
        let changed = self.0.iter().find(other).map(|(path, _)| path);
        changed.or_else(|| now.keys().find(|path| !self.0.contains_key(*path))).cloned()
    }
}

/// The present state of everything below `folder`, and of itself.
pub(super) fn states(folder: &Path) -> States {
    let mut found = BTreeMap::new();
    if let Ok(stat) = rustix::fs::statat(CWD, folder, AtFlags::SYMLINK_NOFOLLOW) {
        found.insert(PathBuf::new(), state(&stat));
    }
    walk(folder, &mut |entry| {
        found.insert(entry.path.to_owned(), state(entry.stat));
        true
    });
    States(found)
}

/// The first link in `folder` that leads out of it, or can't be followed to find out. One that leads nowhere inside, or
/// in a circle, does no harm.
pub(super) fn link_out(folder: &Path) -> Option<PathBuf> {
    let top = open(CWD, folder).ok()?;
    let mut out = None;
    walk(folder, &mut |entry| {
        if FileType::from_raw_mode(entry.stat.st_mode).is_symlink() && leads_out(&top, folder, &entry) {
            out = Some(entry.path.to_owned());
        }
        out.is_none()
    });
    out
}

/// The first entry of `folder` that can't be listed or read, under the folder's own name: it would be in no digest.
pub(super) fn unread(folder: &Path) -> Option<PathBuf> {
    let mut unread = None;
    let unlisted = walk(folder, &mut |entry| {
        let is_file = FileType::from_raw_mode(entry.stat.st_mode).is_file();
        if is_file && open_file(&entry).is_err() {
            unread = Some(entry.path.to_owned());
        }
        unread.is_none()
    });
    let path = unread.or(unlisted)?;
    Some(Path::new(folder.file_name().unwrap_or_default()).join(path))
}

fn leads_out(top: &OwnedFd, folder: &Path, entry: &Entry<'_>) -> bool {
    let Ok(target) = rustix::fs::readlinkat(entry.folder, entry.name, Vec::new()) else { return true };
    let target = Path::new(std::ffi::OsStr::from_bytes(target.as_bytes()));
    // The kernel refuses absolute links in any case, so one into the folder itself is resolved from there.
    let inside = match target.strip_prefix(folder) {
        Ok(inside) => Path::new(".").join(inside),
        Err(_) => entry.path.to_owned(),
    };
    let resolved = rustix::fs::openat2(
        top,
        &inside,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH,
    );
    !matches!(resolved, Ok(_) | Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR))
}

/// Adds every file of `<run>/<name>` to what was taken down; false if it was stopped before the end. `bytes` is how many
/// may still be read.
pub(super) fn take_down(
    run: &Path,
    name: &str,
    bytes: &mut u64,
    stop: &dyn Fn() -> bool,
    taken: &mut Taken,
) -> bool {
    let mut is_whole = true;
    let unlisted = walk(&run.join(name), &mut |entry| {
        let path = text(&Path::new(name).join(entry.path));
        if stop() {
            is_whole = false;
            return false;
        }
        let length = u64::try_from(entry.stat.st_size).unwrap_or(u64::MAX);
        match FileType::from_raw_mode(entry.stat.st_mode) {
            FileType::Directory => {}
            FileType::RegularFile if taken.files.len() >= MOST_FILES => {
                taken.left_out.push(format!("{path}: there are more than {MOST_FILES} files"));
            }
            FileType::RegularFile if length > *bytes => {
                taken.left_out.push(format!("{path}: not read: too long"));
            }
            FileType::RegularFile => match digest(&entry, length, stop) {
                Ok(Some(digest)) => {
                    *bytes -= length;
                    taken.files.insert(path, TakenFile { length, digest });
                }
                Ok(None) => is_whole = false,
                Err(_) => taken.left_out.push(format!("{path}: it can't be read")),
            },
            _ => taken.left_out.push(format!("{path}: not a regular file")),
        }
        is_whole
    });
    if let (Some(unlisted), true) = (unlisted, is_whole) {
        let path = text(&Path::new(name).join(unlisted));
        taken.left_out.push(format!("{path}: it can't be listed, and there may be others"));
    }
    is_whole
}

/// `None` if it was stopped.
fn digest(entry: &Entry<'_>, length: u64, stop: &dyn Fn() -> bool) -> Result<Option<Digest>, Errno> {
    let file = open_file(entry)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; PART.min(usize::try_from(length).unwrap_or(PART)).max(1)];
    let mut left = length;
    while left > 0 {
        match rustix::io::read(&file, &mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let count = count.min(usize::try_from(left).unwrap_or(count));
                hasher.update(&buffer[..count]);
                left -= count as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        if left > 0 && stop() {
            return Ok(None);
        }
    }
    Ok(Some(Digest::from_bytes(*hasher.finalize().as_bytes())))
}

fn open_file(entry: &Entry<'_>) -> Result<OwnedFd, Errno> {
    // Opening something other than a file must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(entry.folder, entry.name, flags, Mode::empty())
}

/// Something below a folder.
struct Entry<'a> {
    /// The open folder that it is in, and its name there.
    folder: &'a OwnedFd,
    name: &'a std::ffi::CStr,
    /// From the folder where the walk began.
    path: &'a Path,
    stat: &'a Stat,
}

/// Shows every entry below `folder` until `visit` says to stop; returns the first that could not be visited.
fn walk(folder: &Path, visit: &mut dyn FnMut(Entry<'_>) -> bool) -> Option<PathBuf> {
    let Ok(top) = open(CWD, folder) else { return Some(PathBuf::new()) };
    let mut unlisted = None;
    walk_in(&top, Path::new(""), 0, visit, &mut unlisted);
    unlisted
}

/// False once `visit` has said to stop.
fn walk_in(
    folder: &OwnedFd,
    path: &Path,
    depth: usize,
    visit: &mut dyn FnMut(Entry<'_>) -> bool,
    unlisted: &mut Option<PathBuf>,
) -> bool {
    let (Ok(mut entries), true) = (Dir::read_from(folder), depth < DEEPEST) else {
        unlisted.get_or_insert_with(|| path.to_owned());
        return true;
    };
    while let Some(entry) = entries.read() {
        let Ok(entry) = entry else {
            unlisted.get_or_insert_with(|| path.to_owned());
            return true;
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let path = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            unlisted.get_or_insert(path);
            continue;
        };
        if !visit(Entry { folder, name, path: &path, stat: &stat }) {
            return false;
        }
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            match open(folder, name) {
                Ok(inside) if !walk_in(&inside, &path, depth + 1, visit, unlisted) => return false,
                Ok(_) => {}
                Err(_) => drop(unlisted.get_or_insert(path)),
            }
        }
    }
    true
}

fn open(at: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

fn state(stat: &Stat) -> FileState {
    let time = |seconds: i64, nanoseconds: u64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds as i64)
    };
    FileState {
        device: stat.st_dev,
        inode: stat.st_ino,
        length: stat.st_size as u64,
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// A path as text; two different paths never have the same one.
pub(super) fn text(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_bytes().escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn run() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().canonicalize().unwrap();
        fs::create_dir_all(run.join("train/deep")).unwrap();
        fs::write(run.join("train/deep/policy"), "weights").unwrap();
        (folder, run)
    }

    fn take(run: &Path, mut bytes: u64, stop: &dyn Fn() -> bool) -> (bool, Taken) {
        let mut taken = Taken::default();
        let is_whole = take_down(run, "train", &mut bytes, stop, &mut taken);
        (is_whole, taken)
    }

    #[test]
    fn every_file_is_listed_also_under_a_name_that_is_not_text() {
        let (_folder, run) = run();
        fs::write(run.join("train").join(OsStr::from_bytes(b"odd\xff")), "odd").unwrap();
        symlink("deep", run.join("train/link")).unwrap();
        let (is_whole, taken) = take(&run, 1 << 20, &|| false);
        assert!(is_whole);
        let digests: Vec<_> = taken.files.iter().map(|(name, file)| (name.as_str(), file.digest)).collect();
        let expected =
            [("train/deep/policy", Digest::hash(b"weights")), (r"train/odd\xff", Digest::hash(b"odd"))];
        assert_eq!(digests, expected);
        assert_eq!(taken.left_out, ["train/link: not a regular file"]);
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let (_folder, run) = run();
        let sparse = fs::File::create(run.join("train/sparse")).unwrap();
        // Reading it would take longer than any test.
        sparse.set_len(1 << 42).unwrap();
        let (is_whole, taken) = take(&run, 1 << 20, &|| false);
        assert!(is_whole);
        assert_eq!(taken.left_out, ["train/sparse: not read: too long"]);
        assert_eq!(taken.files.len(), 1);
        // Many that are each short enough are bounded together.
        for number in 0..3 {
            fs::write(run.join(format!("train/{number}")), [0; 400]).unwrap();
        }
        let (_, taken) = take(&run, 1000, &|| false);
        assert!(taken.files.values().map(|file| file.length).sum::<u64>() <= 1000, "{taken:?}");
    }

    #[test]
    fn it_stops_in_the_middle_of_a_file() {
        let (_folder, run) = run();
        let long = fs::File::create(run.join("train/long")).unwrap();
        long.set_len(1 << 42).unwrap();
        let asked = std::cell::Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) > 20;
        let (is_whole, taken) = take(&run, u64::MAX, &stop);
        assert!(!is_whole && !taken.files.contains_key("train/long"), "{taken:?}");
    }

    #[test]
    fn only_links_inside_are_accepted() {
        let (_folder, run) = run();
        let train = run.join("train");
        fs::create_dir(train.join("deep/er")).unwrap();
        symlink("../deep/policy", train.join("deep/inside")).unwrap();
        symlink(train.join("deep"), train.join("absolute")).unwrap();
        symlink("nowhere", train.join("dangling")).unwrap();
        symlink("circle", train.join("circle")).unwrap();
        symlink("../..", train.join("deep/er/up")).unwrap();
        assert_eq!(link_out(&train), None);
        let elsewhere = run.join("elsewhere").display().to_string();
        // The last one goes through a link, after which `..` is not what it seems.
        for target in ["/etc/hostname", "/no/such/file", "../../elsewhere", &elsewhere, "er/up/../elsewhere"]
        {
            let link = train.join("deep/out");
            symlink(target, &link).unwrap();
            assert_eq!(link_out(&train), Some(PathBuf::from("deep/out")), "{target}");
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_listed_or_read_is_named() {
        let (_folder, run) = run();
        let train = run.join("train");
        let set = |name: &str, mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs::set_permissions(train.join(name), mode).unwrap();
        };
        let named = || super::super::open_up::where_modes_hold(|| unread(&train));
        assert_eq!(named(), None);
        set("deep/policy", 0o000);
        assert_eq!(named(), Some(PathBuf::from("train/deep/policy")));
        set("deep", 0o311);
        assert_eq!(named(), Some(PathBuf::from("train/deep")));
        let (_, taken) = super::super::open_up::where_modes_hold(|| take(&run, 1 << 20, &|| false));
        assert_eq!(taken.left_out, ["train/deep: it can't be listed, and there may be others"]);
        assert_eq!(unread(&run.join("absent")), Some(PathBuf::from("absent/")));
        set("deep", 0o700);
    }

    #[test]
    fn what_was_touched_is_noticed() {
        let (_folder, run) = run();
        let train = run.join("train");
        let check = |change: &dyn Fn(), path: &str| {
            // Clocks of file systems are coarse: a change within one tick has the same time.
            let before = states(&train);
            while before.changed(&train).is_none() {
                change();
            }
            assert_eq!(before.changed(&train), Some(PathBuf::from(path)));
        };
        assert_eq!(states(&train).changed(&train), None);
        let policy = train.join("deep/policy");
        check(&|| fs::write(&policy, "WEIGHTS").unwrap(), "deep/policy");
        check(&|| fs::write(train.join("deep/new"), "").unwrap(), "deep");
        // Gone again before anybody looks.
        check(
            &|| {
                fs::write(train.join("new"), "").unwrap();
                fs::remove_file(train.join("new")).unwrap();
            },
            "",
        );
        check(
            &|| fs::set_permissions(&policy, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap(),
            "deep/policy",
        );
    }
}
