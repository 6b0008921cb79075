//! The same behaviour from the real and the in-memory file system, and what
//! faults and power losses leave behind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::testing::{CrashFs, Fault, FaultFs};
use rlxp_fs::{Fs, FsExt, Kind, RealFs, is_temporary, temporary_owner};

/// Runs `check` against both file systems in an empty folder.
fn on_both(check: impl Fn(&dyn Fs, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    check(&RealFs, folder.path());
    let memory = CrashFs::new();
    memory.create_dir(Path::new("/t")).unwrap();
    check(&memory, Path::new("/t"));
}

#[test]
fn atomic_write_replaces_and_leaves_no_temporary() {
    on_both(|fs, root| {
        let path = root.join("a.json");
        fs.write_atomic(&path, b"one").unwrap();
        fs.write_atomic(&path, b"two").unwrap();
        assert_eq!(fs.read(&path, 3).unwrap(), b"two");
        assert!(fs.read(&path, 2).is_err());
        assert_eq!(fs.list(root).unwrap().len(), 1);
    });
}

#[test]
fn only_one_creates_a_file_or_takes_a_folder_name() {
    on_both(|fs, root| {
        let path = root.join("claim");
        assert!(fs.write_new_atomic(&path, b"first").unwrap());
        assert!(!fs.write_new_atomic(&path, b"second").unwrap());
        assert_eq!(fs.read(&path, 100).unwrap(), b"first");
        assert!(fs.create_new(&path).err().unwrap().is_already_there());
        fs.create_dir_all(&root.join("x/y")).unwrap();
        fs.create_dir(&root.join("z")).unwrap();
        assert!(fs.rename_new(&root.join("x"), &root.join("z")).unwrap_err().is_already_there());
        fs.rename_new(&root.join("x"), &root.join("w")).unwrap();
        assert!(fs.is_folder(&root.join("w/y")).unwrap());
        assert_eq!(fs.list(root).unwrap().len(), 3);
    });
}

#[test]
fn symlinks_are_replaced_and_folders_removed_without_following_them() {
    on_both(|fs, root| {
        fs.create_dir_all(&root.join("data/one")).unwrap();
        fs.write_atomic(&root.join("data/one/f"), b"x").unwrap();
        fs.create_dir(&root.join("links")).unwrap();
        let link = root.join("links/latest");
        fs.replace_symlink(Path::new("../data"), &link).unwrap();
        fs.replace_symlink(Path::new("../data/one"), &link).unwrap();
        assert_eq!(fs.read_link(&link).unwrap(), PathBuf::from("../data/one"));
        assert_eq!(fs.metadata(&link).unwrap().kind, Kind::Link);
        fs.remove_dir_all(&root.join("links")).unwrap();
        fs.remove_dir_all(&root.join("links")).unwrap();
        assert_eq!(fs.read(&root.join("data/one/f"), 9).unwrap(), b"x");
        assert!(fs.metadata_if_any(&root.join("links")).unwrap().is_none());
    });
}

#[test]
fn appending_reads_back_and_can_be_cut() {
    on_both(|fs, root| {
        let path = root.join("log");
        let mut file = fs.create_new(&path).unwrap();
        file.write_all(b"hello ").unwrap();
        let mut again = fs.open_append(&path).unwrap();
        again.write_all(b"world").unwrap();
        assert_eq!(file.length().unwrap(), 11);
        assert_eq!(file.inode().unwrap(), fs.metadata(&path).unwrap().inode);
        assert_eq!(fs.read_at(&path, 6, 3).unwrap(), b"wor");
        assert_eq!(fs.read_at(&path, 100, 3).unwrap(), b"");
        file.truncate(5).unwrap();
        again.write_all(b"!").unwrap();
        again.sync().unwrap();
        assert_eq!(fs.read(&path, 100).unwrap(), b"hello!");
        let mut copy = fs.create_new(&root.join("copy")).unwrap();
        fs.copy_range(&path, 1, 3, copy.as_mut()).unwrap();
        assert!(fs.copy_range(&path, 4, 30, copy.as_mut()).is_err());
        assert_eq!(fs.read_at(&root.join("copy"), 0, 3).unwrap(), b"ell");
        assert!(fs.open_append(&root.join("none")).err().unwrap().is_not_found());
    });
}

#[test]
fn temporary_names_tell_their_maker() {
    let name = RealFs.temporary_beside(Path::new("/a/b.json"));
    let name = name.file_name().unwrap().to_str().unwrap();
    assert!(is_temporary(name));
    assert_eq!(temporary_owner(name), Some(std::process::id()));
    assert_eq!(temporary_owner("b.json"), None);
}

/// Every fault at every call, with and without power loss: the file is the old
/// or the new one, and always the new one after success.
#[test]
fn atomic_write_is_old_or_new_after_any_fault() {
    for fault in [Fault::Error, Fault::Full, Fault::ShortWrite, Fault::Kill] {
        for at in 1.. {
            let disk = CrashFs::new();
            disk.create_dir(Path::new("/t")).unwrap();
            let path = Path::new("/t/a");
            disk.write_atomic(path, b"old").unwrap();
            disk.settle();
            let faulty = FaultFs::new(Arc::new(disk.clone()), fault, at);
            let result = faulty.write_atomic(path, b"new!");
            for seed in 0..20 {
                for after in [disk.copy(), disk.after_power_loss(seed)] {
                    let content = after.read(path, 100).unwrap();
                    if result.is_ok() {
                        assert_eq!(content, b"new!", "{fault:?} at {at}");
                    } else {
                        assert!(content == b"old" || content == b"new!", "{fault:?} at {at}: {content:?}");
                    }
                    after.write_atomic(path, b"again").unwrap();
                    assert_eq!(after.after_power_loss(seed).read(path, 100).unwrap(), b"again");
                }
            }
            if !faulty.fired() {
                break;
            }
        }
    }
}

/// The in-memory disk really loses data; otherwise the tests above would prove nothing.
#[test]
fn power_loss_takes_what_was_not_synced() {
    let disk = CrashFs::new();
    disk.create_dir(Path::new("/t")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    let mut file = disk.create_new(Path::new("/t/log")).unwrap();
    disk.sync_dir(Path::new("/t")).unwrap();
    file.write_all(b"sure").unwrap();
    file.sync().unwrap();
    file.write_all(b"-perhaps").unwrap();
    disk.create_new(Path::new("/t/other")).unwrap();
    let (mut torn, mut lost, mut whole, mut named) = (0, 0, 0, 0);
    for seed in 0..200 {
        let after = disk.after_power_loss(seed);
        let content = after.read(Path::new("/t/log"), 100).unwrap();
        assert!(content.starts_with(b"sure"));
        match content.len() {
            4 => lost += 1,
            12 => whole += 1,
            _ => torn += 1,
        }
        named += u32::from(after.is_file(Path::new("/t/other")).unwrap());
    }
    assert!(torn > 20 && lost > 5 && whole > 20 && (50..150).contains(&named));
}

#[test]
fn a_small_disk_gets_full_and_frees_what_is_removed() {
    let disk = CrashFs::new();
    disk.leave_free(3 * 4096);
    let mut file = disk.create_new(Path::new("/a")).unwrap();
    file.write_all(&[1; 5000]).unwrap();
    assert_eq!(disk.available_space(Path::new("/")).unwrap(), 0);
    file.write_all(&[1; 3000]).unwrap();
    assert!(file.write_all(&[2; 1000]).unwrap_err().is_full());
    assert_eq!(file.length().unwrap(), 8500);
    assert!(disk.create_dir(Path::new("/b")).unwrap_err().is_full());
    disk.remove_file(Path::new("/a")).unwrap();
    disk.create_dir(Path::new("/b")).unwrap();
}
