//! Makes what a step left listable: it may have taken the permission to list its folders away, even from its own user,
//! and what can't be listed is in no digest and under no limit.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};

/// A run doesn't need deeper folders.
const DEEPEST: usize = 200;

/// Lets this user list, enter and change `folder` and every folder below it. Follows no link; leaves what can't be
/// changed for those who read it afterwards. Only call this when no process of the step is left.
pub(super) fn open_up(folder: &Path) {
    if let Some(top) = handle(CWD, folder) {
        below(&top, 0);
    }
}

fn below(folder: &OwnedFd, depth: usize) {
    let Ok(stat) = rustix::fs::fstat(folder) else { return };
    let mode = Mode::from_raw_mode(stat.st_mode);
    if !mode.contains(Mode::RWXU) {
        // The handle of a folder that can't be read takes no other change. The name leads to it and nowhere else.
        let _ = rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode | Mode::RWXU);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::openat(folder, c".", flags, Mode::empty()).and_then(Dir::new);
    let (Ok(mut entries), true) = (listed, depth < DEEPEST) else { return };
    while let Some(Ok(entry)) = entries.read() {
        let name = entry.file_name();
        let may_be_folder = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if may_be_folder
            && name != c"."
            && name != c".."
            && let Some(inside) = handle(folder, name)
        {
            below(&inside, depth + 1);
        }
    }
}

/// A handle of a folder that takes no permission to read it.
fn handle(at: impl AsFd, name: impl rustix::path::Arg) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).ok()
}

/// Runs `body` in a thread for which the modes of files hold, also where the tests run as root.
#[cfg(test)]
pub(super) fn where_modes_hold<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    let unprivileged = || {
        // Capabilities are those of a thread, not of a process.
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
            .expect("capabilities can always be given up");
        body()
    };
    std::thread::scope(|scope| scope.spawn(unprivileged).join().expect("the body succeeds"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn folders_can_be_listed_afterwards_and_links_lead_nowhere() {
        let (run, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let hidden = run.path().join("train/hidden");
        fs::create_dir_all(hidden.join("deeper/still")).unwrap();
        fs::write(hidden.join("deeper/still/file"), "kept").unwrap();
        symlink(outside.path(), run.path().join("train/link")).unwrap();
        set(outside.path(), 0o500);
        for (folder, mode) in [("deeper/still", 0o000), ("deeper", 0o400), ("", 0o311)] {
            set(&hidden.join(folder), mode);
        }
        where_modes_hold(|| {
            assert!(fs::read_dir(&hidden).is_err());
            open_up(&run.path().join("train"));
            assert_eq!(fs::read_to_string(hidden.join("deeper/still/file")).unwrap(), "kept");
            assert_eq!(fs::read_dir(&hidden).unwrap().count(), 1);
        });
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&hidden), mode(outside.path())), (0o711, 0o500));
    }
}
