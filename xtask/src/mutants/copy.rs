//! A copy of the workspace that is brought up to date by content: a file that
//! is the same keeps its time, so cargo rebuilds only what changed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::Done;

/// What is not source: build output, history, the Python environment, runs.
const LEFT_OUT: [&str; 4] = ["target", ".git", ".venv", "runs"];

/// Makes `to` equal to `from`, except for what is left out at its top.
pub(crate) fn synchronise(from: &Path, to: &Path) -> Done {
    let left_out: BTreeSet<OsString> = LEFT_OUT.iter().map(OsString::from).collect();
    synchronise_folder(from, to, &left_out)
}

fn synchronise_folder(from: &Path, to: &Path, left_out: &BTreeSet<OsString>) -> Done {
    fs::create_dir_all(to).map_err(at(to))?;
    let wanted: BTreeSet<OsString> = names(from)?.difference(left_out).cloned().collect();
    for name in names(to)?.difference(&wanted) {
        if !left_out.contains(name) {
            remove(&to.join(name))?;
        }
    }
    for name in &wanted {
        let (source, copy) = (from.join(name), to.join(name));
        let kind = fs::symlink_metadata(&source).map_err(at(&source))?.file_type();
        if kind.is_dir() {
            if !copy.is_dir() {
                remove(&copy)?;
            }
            synchronise_folder(&source, &copy, &BTreeSet::new())?;
        } else if kind.is_symlink() {
            link(&fs::read_link(&source).map_err(at(&source))?, &copy)?;
        } else if !copy.is_file() || read(&source)? != read(&copy)? {
            remove(&copy)?;
            // The copy gets the time of now, so cargo sees the change even where the source is older.
            fs::copy(&source, &copy).map_err(at(&copy))?;
        }
    }
    Ok(())
}

/// Makes `path` a symbolic link to `target`.
pub(crate) fn link(target: &Path, path: &Path) -> Done {
    if fs::read_link(path).is_ok_and(|current| current == target) {
        return Ok(());
    }
    remove(path)?;
    std::os::unix::fs::symlink(target, path).map_err(at(path))
}

/// The bytes of `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(at(path))
}

/// Replaces the bytes of `path`.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Done {
    fs::write(path, bytes).map_err(at(path))
}

fn names(folder: &Path) -> Result<BTreeSet<OsString>, String> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(at(folder))).collect()
}

/// Removes whatever is at `path`, if anything is.
fn remove(path: &Path) -> Done {
    match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).map_err(at(path)),
        Ok(_) => fs::remove_file(path).map_err(at(path)),
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> String + use<> {
    let path: PathBuf = path.to_owned();
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_follows_and_untouched_files_keep_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (path, text) in [("a/same", "1"), ("a/changes", "2"), ("goes", "3"), ("target/out", "4")] {
            fs::create_dir_all(from.join(path).parent().unwrap()).unwrap();
            fs::write(from.join(path), text).unwrap();
        }
        synchronise(&from, &to).unwrap();
        assert!(!to.join("target").exists());
        let time = |path: &str| fs::metadata(to.join(path)).unwrap().modified().unwrap();
        let same_before = time("a/same");
        fs::write(from.join("a/changes"), "new").unwrap();
        fs::remove_file(from.join("goes")).unwrap();
        fs::create_dir_all(to.join("target")).unwrap();
        synchronise(&from, &to).unwrap();
        assert_eq!(read(&to.join("a/changes")).unwrap(), b"new");
        assert!(!to.join("goes").exists());
        assert!(to.join("target").is_dir(), "what is left out is left alone");
        assert_eq!(time("a/same"), same_before);
    }
}
