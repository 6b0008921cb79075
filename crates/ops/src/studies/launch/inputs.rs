//! Files that runs need and git doesn't track. They are in the repository, where they could be replaced between the
//! check and the moment a run reads them. Files that aren't too large are therefore copied into rlx's own folders;
//! the copy is checked against the approved digest, and runs see the copy.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind, Meta};
use rlxp_govern::canonical;
use rlxp_govern::documents::Runbook;
use rlxp_launch::order::{FileState, LinkedFile};
use rlxp_types::Digest;

use crate::failure::{Failure, Outcome};
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::tree::file_digest;

/// Error code of a run that may have read something other than the approved file.
pub(super) const CODE: &str = rlxp_govern::ledger::event::INPUT_CHANGED;
/// Larger files are linked instead of copied.
const LARGEST: u64 = 256 << 20;

/// The files that runs of a study need.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    /// Copies under their names in the tree; `None` if nothing was copied.
    pub(super) folder: Option<PathBuf>,
    /// Those that are linked, by their names in the tree.
    pub(super) large: BTreeMap<String, Large>,
}

/// A file that is linked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Large {
    /// Its approved digest.
    digest: Digest,
    /// Its state after the gates computed its digest.
    found: FileState,
}

impl Inputs {
    /// The inputs of the runbook, copied unless a copy exists.
    pub(super) fn ensure(fs: &dyn Fs, place: &LaunchPaths, root: &Path, runbook: &Runbook) -> Outcome<Self> {
        Self::ensure_up_to(LARGEST, fs, place, root, runbook)
    }

    fn ensure_up_to(
        largest: u64,
        fs: &dyn Fs,
        place: &LaunchPaths,
        root: &Path,
        runbook: &Runbook,
    ) -> Outcome<Self> {
        runbook.read.iter().try_for_each(|path| check_listed(fs, root, path))?;
        let (small, large) = sorted(largest, fs, root, runbook)?;
        let folder = match small.is_empty() {
            true => None,
            false => Some(copied(fs, place, root, &small)?),
        };
        Ok(Self { folder, large })
    }

    /// Linked files, which are checked again when a run has ended.
    pub(super) fn linked(&self, root: &Path) -> Vec<LinkedFile> {
        let file = |(path, large): (&String, &Large)| LinkedFile {
            file: root.join(path),
            digest: large.digest,
            found: Some(large.found),
        };
        self.large.iter().map(file).collect()
    }
}

/// The inputs of the runbook: those that are copied, and those that are linked.
fn sorted(
    largest: u64,
    fs: &dyn Fs,
    root: &Path,
    runbook: &Runbook,
) -> Outcome<(BTreeMap<String, Digest>, BTreeMap<String, Large>)> {
    let (mut small, mut large) = (BTreeMap::new(), BTreeMap::new());
    for input in &runbook.inputs {
        let meta = fs.metadata(&root.join(&input.path))?;
        // It may have been replaced by a link after the gates looked.
        if meta.kind != Kind::File {
            return Err(swapped(&input.path));
        }
        if meta.length > largest {
            large.insert(input.path.clone(), Large { digest: input.digest, found: state(&meta) });
        } else {
            small.insert(input.path.clone(), input.digest);
        }
    }
    Ok((small, large))
}

/// The folder that holds copies of the runbook's inputs, or would; `None` if nothing is copied.
pub(crate) fn present(
    fs: &dyn Fs,
    place: &LaunchPaths,
    root: &Path,
    runbook: &Runbook,
) -> Outcome<Option<PathBuf>> {
    let (small, _) = sorted(LARGEST, fs, root, runbook)?;
    Ok((!small.is_empty()).then(|| folder_of(place, &small)))
}

fn folder_of(place: &LaunchPaths, files: &BTreeMap<String, Digest>) -> PathBuf {
    place.inputs().join(canonical::digest_of(files).to_string())
}

/// A further path that steps may read must be there, and be clear about what it shows.
fn check_listed(fs: &dyn Fs, root: &Path, listed: &str) -> Outcome<()> {
    let path = Path::new(listed);
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_) | Component::CurDir);
    if listed.is_empty() || path == Path::new("/") || !path.components().all(is_plain) {
        let message = format!(
            "runbook.yaml: read: {listed:?} is neither an absolute path below / nor one inside the repository"
        );
        return Err(Failure::refused("bad_read_path", message)
            .hint("edit `read` in runbook.yaml, then: rlx approve baseline"));
    }
    let path = root.join(path);
    if fs.canonicalize(&path).is_err() {
        let message = format!("runbook.yaml: read: {} does not exist, and steps may need it", path.display());
        return Err(Failure::refused("read_path_missing", message).hint("rlx contract check"));
    }
    Ok(())
}

/// The folder with copies of these files. Its name is a digest of their names and contents, so an existing folder can
/// be used once it was checked.
fn copied(
    fs: &dyn Fs,
    place: &LaunchPaths,
    root: &Path,
    files: &BTreeMap<String, Digest>,
) -> Outcome<PathBuf> {
    let folder = folder_of(place, files);
    if other(fs, &folder, files).is_none() {
        return Ok(folder);
    }
    fs.remove_dir_all(&folder)?;
    fs.create_dir_all(&place.inputs())?;
    let building = fs.temporary_beside(&folder);
    let made = copy(fs, root, &building, files).and_then(|()| match fs.rename_new(&building, &folder) {
        // Another process made the same one in the meantime.
        Err(error) if error.is_already_there() => Ok(fs.remove_dir_all(&building)?),
        renamed => Ok(renamed?),
    });
    made.inspect_err(|_| drop(fs.remove_dir_all(&building)))?;
    Ok(folder)
}

fn copy(fs: &dyn Fs, root: &Path, to: &Path, files: &BTreeMap<String, Digest>) -> Outcome<()> {
    for path in files.keys() {
        let target = to.join(path);
        fs.create_dir_all(target.parent().expect("a file lies in a folder"))?;
        fs.copy(&root.join(path), &target)?;
    }
    match other(fs, to, files) {
        Some(path) => Err(swapped(path)),
        None => Ok(()),
    }
}

/// The first of these files that is missing from the folder or differs.
fn other<'a>(fs: &dyn Fs, folder: &Path, files: &'a BTreeMap<String, Digest>) -> Option<&'a str> {
    let is_other = |(path, digest): &(&String, &Digest)| !is_file_of(fs, &folder.join(path), **digest);
    files.iter().find(is_other).map(|(path, _)| path.as_str())
}

fn is_file_of(fs: &dyn Fs, file: &Path, digest: Digest) -> bool {
    fs.is_file(file).unwrap_or(false) && file_digest(fs, file).is_ok_and(|found| found == digest)
}

/// A file outside of a run's folder, if it is what it must be.
pub(super) fn linked_file(fs: &dyn Fs, file: PathBuf, digest: Digest) -> Outcome<LinkedFile> {
    let is_same = is_file_of(fs, &file, digest);
    let meta = fs.metadata(&file).ok().filter(|_| is_same).ok_or_else(|| {
        let message = format!("{} is missing or has changed since its run ended", file.display());
        Failure::refused("run_file_changed", message).hint("restore the file, then run the command again")
    })?;
    Ok(LinkedFile { file, digest, found: Some(state(&meta)) })
}

fn swapped(path: &str) -> Failure {
    let message = format!("{path} changed while it was copied, so it no longer matches the runbook");
    Failure::refused(CODE, message).hint("rlx contract check")
}

fn state(meta: &Meta) -> FileState {
    let Meta { device, inode, length, modified, changed, kind: _ } = *meta;
    FileState { device, inode, length, modified, changed }
}

/// Why a run may have read something other than the approved file; `None` if nothing changed.
///
/// The digest shows whether the content is right now; the state shows whether it was right all the time, since a file
/// that was changed and changed back has a different one. The state alone isn't enough: it was taken after the gates
/// had looked.
pub(super) fn changed(fs: &dyn Fs, linked: &[LinkedFile]) -> Option<String> {
    let is_other = |linked: &&LinkedFile| {
        let is_touched = |found| !fs.metadata(&linked.file).is_ok_and(|meta| state(&meta) == found);
        linked.found.is_some_and(is_touched) || !is_file_of(fs, &linked.file, linked.digest)
    };
    let other = linked.iter().find(is_other)?;
    Some(format!("{} changed while the run read it", other.file.display()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

    use rlxp_fs::RealFs;
    use serde_json::json;

    use super::*;

    struct Stage {
        folder: tempfile::TempDir,
        place: LaunchPaths,
        runbook: Runbook,
    }

    /// A repository with a small and a large input.
    fn stage() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("data/deep")).unwrap();
        std::fs::write(folder.path().join("data/deep/small"), "small").unwrap();
        std::fs::write(folder.path().join("data/large"), "larger than that").unwrap();
        let runbook = serde_json::from_value(json!({
            "schema": "rlxp.runbook/1",
            "train": { "argv": ["sh", "{seed}"] },
            "eval": { "argv": ["sh", "{seed}"] },
            "inputs": [
                { "path": "data/deep/small", "digest": Digest::hash(b"small") },
                { "path": "data/large", "digest": Digest::hash(b"larger than that") },
            ],
        }));
        let place = LaunchPaths::at(folder.path().join("state"));
        Stage { folder, place, runbook: runbook.unwrap() }
    }

    impl Stage {
        fn ensure(&self) -> Outcome<Inputs> {
            Inputs::ensure_up_to(5, &RealFs, &self.place, self.folder.path(), &self.runbook)
        }
    }

    #[test]
    fn a_small_file_is_copied_once_and_never_taken_on_trust() {
        let stage = stage();
        let file = stage.folder.path().join("data/deep/small");
        let inputs = stage.ensure().unwrap();
        let copy = inputs.folder.unwrap().join("data/deep/small");
        // Whatever happens to the original, runs see the approved content …
        std::fs::write(&file, "other").unwrap();
        assert_eq!(std::fs::read(&copy).unwrap(), b"small");
        // … and a modified copy is recreated from the approved content, or not at all.
        std::fs::write(&copy, "other").unwrap();
        assert_eq!(stage.ensure().unwrap_err().code, CODE);
        assert!(!copy.exists());
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(stage.folder.path().join("data/large"), &file).unwrap();
        assert_eq!(stage.ensure().unwrap_err().code, CODE);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "small").unwrap();
        stage.ensure().unwrap();
        assert_eq!(std::fs::read(&copy).unwrap(), b"small");
        let kept = std::fs::read_dir(stage.place.inputs()).unwrap().count();
        assert_eq!(kept, 1, "nothing half made is left");
    }

    #[test]
    fn a_listed_path_must_be_there_and_plain() {
        let mut stage = stage();
        let elsewhere = tempfile::tempdir().unwrap();
        let absolute = elsewhere.path().to_str().unwrap().to_owned();
        let code = |stage: &mut Stage, path: &str| {
            stage.runbook.read = vec![path.to_owned()];
            stage.ensure().err().map(|failure| failure.code)
        };
        for fine in ["data", "./data/deep", &absolute] {
            assert_eq!(code(&mut stage, fine), None, "{fine}");
        }
        for bad in ["", "/", "../data", "data/../..", "/data/.."] {
            assert_eq!(code(&mut stage, bad), Some("bad_read_path"), "{bad}");
        }
        assert_eq!(code(&mut stage, "data/absent"), Some("read_path_missing"));
    }

    #[test]
    fn a_large_file_is_looked_at_again() {
        let stage = stage();
        let file = stage.folder.path().join("data/large");
        let linked = stage.ensure().unwrap().linked(stage.folder.path());
        assert_eq!(linked.len(), 1);
        assert_eq!((&linked[0].file, linked[0].digest), (&file, Digest::hash(b"larger than that")));
        assert_eq!(changed(&RealFs, &linked), None);
        std::fs::write(&file, "something else").unwrap();
        assert!(changed(&RealFs, &linked).unwrap().contains("data/large"));
        std::fs::remove_file(&file).unwrap();
        assert!(changed(&RealFs, &linked).is_some());
    }

    #[test]
    fn a_large_file_that_was_changed_back_is_not_as_it_was() {
        let stage = stage();
        let file = stage.folder.path().join("data/large");
        let linked = stage.ensure().unwrap().linked(stage.folder.path());
        let found = linked[0].found.unwrap();
        let write = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let modified = std::time::Duration::from_nanos(found.modified.unsigned_abs());
            rlxp_fs::testing::set_modified(&file, modified);
        };
        // File system clocks are coarse: two changes within one tick have the same time.
        let before = RealFs.metadata(&file).unwrap().changed;
        while RealFs.metadata(&file).unwrap().changed == before {
            write("SOMETHING OTHERS");
        }
        write("larger than that");
        let now = RealFs.metadata(&file).unwrap();
        assert_eq!((now.modified, now.length, now.inode), (found.modified, found.length, found.inode));
        assert!(changed(&RealFs, &linked).unwrap().contains("data/large"));
        // An order without it was written by an earlier rlx.
        let earlier: Vec<LinkedFile> =
            linked.iter().map(|linked| LinkedFile { found: None, ..linked.clone() }).collect();
        assert_eq!(changed(&RealFs, &earlier), None);
    }
}
