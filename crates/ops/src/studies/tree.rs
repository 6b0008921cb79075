//! The code that runs start from: a folder per commit (or per snapshot, without git), made once, checked byte by byte
//! before each use, and never written to.

mod entries;
mod layer;
mod snapshot;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::Base;
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

pub(crate) use entries::{Found, entries};
pub(crate) use layer::{changed_between, keep};
pub use snapshot::snapshot;
pub(crate) use snapshot::{file_digest, is_left_out, present_base};

use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::paths::FOLDER;

/// The longest record beside a tree.
const LONGEST_RECORD: u64 = 16 << 20;

/// Code that runs start from.
#[derive(Clone, Debug)]
pub(crate) struct BaseTree {
    pub(crate) folder: PathBuf,
    /// How many files it has.
    pub(crate) files: u64,
    /// Submodules, whose files are not there.
    pub(crate) submodules: Vec<String>,
    /// Whether its files had been changed, so that it was made again.
    pub(crate) was_modified: bool,
}

impl BaseTree {
    /// What to tell the user about it.
    pub(crate) fn warning(&self) -> Option<String> {
        self.was_modified.then(|| format!("{} was modified and has been recreated", self.folder.display()))
    }
}

/// What is stored beside a tree.
#[derive(Serialize, Deserialize)]
struct Record {
    digest: Digest,
    files: u64,
    submodules: Vec<String>,
}

/// A tree whose digest is being computed by another thread. The tree may not exist.
pub(crate) struct TreeLook {
    folder: PathBuf,
    digest: JoinHandle<Option<Digest>>,
}

impl TreeLook {
    /// `None` without a free thread; the digest is then computed later.
    pub(crate) fn begin(fs: Arc<dyn Fs>, folder: PathBuf) -> Option<Self> {
        let at = folder.clone();
        let look = move || digest(fs.as_ref(), &at).ok().map(|(digest, _)| digest);
        Some(Self { folder, digest: Builder::new().spawn(look).ok()? })
    }

    /// The digest of the tree at `folder`, if that tree was looked at and could be read.
    fn digest_of(self, folder: &Path) -> Option<Digest> {
        if self.folder == folder { self.digest.join().ok().flatten() } else { None }
    }
}

/// The tree of `base`, created if necessary and checked against its recorded digest.
///
/// `look` was started earlier, so its digest may be ready.
pub(crate) fn ensure(
    opened: &OpenStudy,
    place: &LaunchPaths,
    base: &Base,
    look: Option<TreeLook>,
) -> Outcome<BaseTree> {
    let fs = opened.context().fs.clone();
    let folder = place.tree(base);
    let record_path = record_of(&folder);
    let mut was_modified = false;
    if let Some(record) = read_record(fs.as_ref(), &record_path)? {
        let seen = look.and_then(|look| look.digest_of(&folder));
        match seen.map_or_else(|| digest(fs.as_ref(), &folder).map(|(digest, _)| digest), Ok) {
            Ok(digest) if digest == record.digest => {
                let Record { files, submodules, .. } = record;
                return Ok(BaseTree { folder, files, submodules, was_modified });
            }
            _ => was_modified = true,
        }
    }
    fs.create_dir_all(folder.parent().expect("trees lie in a folder"))?;
    let building = fs.temporary_beside(&folder);
    let made = make(opened, place, base, &building).and_then(|submodules| {
        let (digest, files) = digest(fs.as_ref(), &building)?;
        put(fs.as_ref(), &building, &folder, digest)?;
        let record = Record { digest, files, submodules };
        let bytes = serde_json::to_vec_pretty(&record).expect("a record is plain data");
        fs.write_atomic(&record_path, &bytes)?;
        Ok(BaseTree { folder: folder.clone(), files, submodules: record.submodules, was_modified })
    });
    made.inspect_err(|_| drop(fs.remove_dir_all(&building)))
}

/// What is known of a tree. A damaged record is like none: the tree is made again.
fn read_record(fs: &dyn Fs, path: &Path) -> Outcome<Option<Record>> {
    match fs.read(path, LONGEST_RECORD) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Moves a tree into place. If the same tree already exists, made by another process, it stays, since runs may use
/// it.
fn put(fs: &dyn Fs, building: &Path, folder: &Path, made: Digest) -> Outcome<()> {
    loop {
        match fs.rename_new(building, folder) {
            Err(error) if error.is_already_there() => {}
            result => return Ok(result?),
        }
        if digest(fs, folder).is_ok_and(|(there, _)| there == made) {
            return Ok(fs.remove_dir_all(building)?);
        }
        let aside = fs.temporary_beside(folder);
        match fs.rename(folder, &aside) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => fs.remove_dir_all(&aside)?,
        }
    }
}

fn record_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

pub(crate) fn remove_if_there(fs: &dyn Fs, path: &Path) -> Outcome<()> {
    match fs.remove_file(path) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes the files; returns the submodules, which are left out.
fn make(opened: &OpenStudy, place: &LaunchPaths, base: &Base, folder: &Path) -> Outcome<Vec<String>> {
    let fs = opened.context().fs.as_ref();
    fs.create_dir(folder)?;
    let root = &opened.place.root;
    match base {
        Base::Commit(commit) => {
            let index = fs.temporary_beside(&folder.with_extension("index"));
            let made = rlxp_launch::git::checkout(root, commit, folder, &index);
            remove_if_there(fs, &index)?;
            let submodules = made.map_err(|error| {
                let failure = Failure::refused("no_tree", format!("can't get the code of {commit}: {error}"));
                // A clone doesn't have the refs of accepted code.
                match opened.study.pinned_base().as_ref() == Some(base) {
                    true => failure.hint("rlx contract check"),
                    false => failure.hint("git fetch origin 'refs/rlxp/*:refs/rlxp/*'"),
                }
            })?;
            // A run that sees the study's files would consider its folder governed, and could edit them.
            fs.remove_dir_all(&folder.join(FOLDER))?;
            Ok(submodules)
        }
        Base::Snapshot(wanted) => {
            match layer::kept(fs, place, wanted)? {
                Some(kept) => kept.build(opened, place, folder)?,
                None => copy_snapshot(fs, root, folder)?,
            }
            match snapshot(fs, folder)? {
                Some(copied) if copied == *wanted => Ok(Vec::new()),
                _ => Err(not_the_snapshot(opened, wanted)),
            }
        }
    }
}

/// Why a folder that was copied isn't the snapshot that was asked for.
fn not_the_snapshot(opened: &OpenStudy, wanted: &Digest) -> Failure {
    let is_accepted = opened.study.state().accepted_code().is_some_and(|code| match code.base {
        Base::Snapshot(digest) => digest == *wanted,
        Base::Commit(_) => false,
    });
    if is_accepted {
        let message = format!("the accepted code, snapshot {}, is not in your state folder", wanted.short());
        return Failure::refused("no_tree", message)
            .hint("restore the state folder of the machine that judged the candidate")
            .hint("rlx study revert CANDIDATE --reason 'its code is lost'");
    }
    Failure::refused("stale_plan", "the files changed while they were copied").hint("run the command again")
}

/// Copies the files that count for a snapshot. Links are recreated, not followed.
fn copy_snapshot(fs: &dyn Fs, root: &Path, target: &Path) -> Outcome<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in entries(fs, root, &inside)? {
            if snapshot::is_named_left_out(&entry.path) {
                continue;
            }
            let (from, to) = (root.join(&entry.path), target.join(&entry.path));
            match entry.kind {
                Kind::Folder => {
                    fs.create_dir(&to)?;
                    folders.push(entry.path);
                }
                Kind::File => fs.copy(&from, &to)?,
                Kind::Link => fs.symlink(&fs.read_link(&from)?, &to)?,
                Kind::Other => {}
            }
        }
    }
    Ok(())
}

/// The digest over names and contents of everything in a folder, and the number of files.
pub(crate) fn digest(fs: &dyn Fs, folder: &Path) -> Outcome<(Digest, u64)> {
    let entries = walk(fs, folder)?;
    let count = entries.len() as u64;
    // With thousands of small files two threads halve the time; the order of the parts stays the same.
    let (first, second) = entries.split_at(entries.len() / 2);
    let (first, second) = std::thread::scope(|scope| {
        let look = || lines(fs, folder, first);
        let beside = Builder::new().spawn_scoped(scope, look);
        let second = lines(fs, folder, second);
        let first = match beside {
            Ok(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a free thread this is slower, and that is all.
            Err(_) => look(),
        };
        (first, second)
    });
    Ok((Digest::of_parts(&[&first?, &second?]), count))
}

/// Files of a tree that differ or are missing in the working copy at `root`, by path.
pub(crate) fn differing(fs: &dyn Fs, tree: &Path, root: &Path) -> Outcome<Vec<String>> {
    let mut differing = Vec::new();
    for Found { path, text, kind } in walk(fs, tree)? {
        let (kept, here) = (tree.join(&path), root.join(&path));
        // An unreadable file doesn't prevent a plan.
        let same = match (kind, fs.metadata_if_any(&here).ok().flatten()) {
            (Kind::File, Some(meta)) if meta.kind == Kind::File => {
                meta.length == fs.metadata(&kept)?.length
                    && file_digest(fs, &here).ok() == Some(file_digest(fs, &kept)?)
            }
            (Kind::Link, Some(meta)) if meta.kind == Kind::Link => {
                fs.read_link(&here).ok() == Some(fs.read_link(&kept)?)
            }
            (Kind::File | Kind::Link, _) => false,
            _ => true,
        };
        if !same {
            differing.push(text);
        }
    }
    Ok(differing)
}

/// Every file and link below a folder, by path.
fn walk(fs: &dyn Fs, folder: &Path) -> Outcome<Vec<Found>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in entries(fs, folder, &inside)? {
            match entry.kind {
                Kind::Folder => folders.push(entry.path),
                _ => found.push(entry),
            }
        }
    }
    found.sort_unstable_by(|one: &Found, other| one.text.cmp(&other.text));
    Ok(found)
}

fn lines(fs: &dyn Fs, folder: &Path, entries: &[Found]) -> Outcome<Vec<u8>> {
    let mut all = Vec::with_capacity(entries.len() * 100);
    for Found { path, text, kind } in entries {
        let at = folder.join(path);
        let (word, digest) = match kind {
            Kind::File => ("file", file_digest(fs, &at)?),
            Kind::Link => ("link", Digest::hash(fs.read_link(&at)?.as_os_str().as_encoded_bytes())),
            _ => ("other", Digest::ZERO),
        };
        all.extend_from_slice(format!("{word} {digest} {text}\0").as_bytes());
    }
    Ok(all)
}
