//! Accepted changes: what they differ in from the contract's code and, where there is no git to keep them, their files.
//!
//! Without git, each acceptance is a folder below `accepted/` in the user's state folder, named by the digest of the
//! code that it results in: the changed files, and what they are laid over. It is written once. Trees are made from it,
//! and a tree with another digest is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::documents::Base;
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

use super::snapshot::snapshot;
use super::{BaseTree, copy_snapshot, ensure, remove_if_there, walk};
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::tree::file_digest;

/// The file that says what a layer is.
const RECORD: &str = "layer.json";
/// The folder that holds its files.
const FILES: &str = "files";
/// Far more than any record of changed files.
const LONGEST: u64 = 64 << 20;

/// Changes that were accepted, on top of other code.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layer {
    /// What they are laid over.
    from: Base,
    /// Changed files; false for one that is removed.
    files: BTreeMap<String, bool>,
}

/// A layer that was kept, and where.
pub(super) struct Kept {
    layer: Layer,
    folder: PathBuf,
}

/// The accepted changes that result in this code, if they were kept.
pub(super) fn kept(fs: &dyn Fs, place: &LaunchPaths, result: &Digest) -> Outcome<Option<Kept>> {
    let folder = place.accepted(result);
    let bytes = match fs.read(&folder.join(RECORD), LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // A damaged one is like none: its code has to be what the digest says anyway.
    Ok(serde_json::from_slice(&bytes).ok().map(|layer| Kept { layer, folder }))
}

impl Kept {
    /// Writes the code with these changes below `target`, which exists and is empty.
    pub(super) fn build(&self, opened: &OpenStudy, place: &LaunchPaths, target: &Path) -> Outcome<()> {
        let fs = opened.context().fs.as_ref();
        let from = ensure(opened, place, &self.layer.from, None)?;
        copy_snapshot(fs, &from.folder, target)?;
        for (path, is_there) in &self.layer.files {
            remove_if_there(fs, &target.join(path))?;
            if *is_there {
                create_parents(fs, target, path)?;
                fs.copy(&self.folder.join(FILES).join(path), &target.join(path))?;
            }
        }
        Ok(())
    }
}

/// Keeps changed files in the user's state folder, and returns the digest of the code that they result in. `None`
/// content is a file that is removed.
pub(crate) fn keep(
    opened: &OpenStudy,
    place: &LaunchPaths,
    from: &Base,
    files: &BTreeMap<String, Option<Vec<u8>>>,
) -> Outcome<Digest> {
    let fs = opened.context().fs.as_ref();
    let base = ensure(opened, place, from, None)?;
    // The digest of the result is only known once it is there.
    let trial = fs.temporary_beside(&place.trees().join("trial"));
    let result = try_out(fs, &base, files, &trial);
    fs.remove_dir_all(&trial)?;
    let result = result?;
    let folder = place.accepted(&result);
    if kept(fs, place, &result)?.is_some() {
        return Ok(result);
    }
    fs.create_dir_all(folder.parent().expect("it lies in a folder"))?;
    let building = fs.temporary_beside(&folder);
    let layer = Layer {
        from: from.clone(),
        files: files.iter().map(|(path, content)| (path.clone(), content.is_some())).collect(),
    };
    let built = write(fs, &building, &layer, files).and_then(|()| {
        // One that can't be read is replaced.
        fs.remove_dir_all(&folder)?;
        match fs.rename_new(&building, &folder) {
            // Another process kept the same.
            Err(error) if error.is_already_there() => Ok(fs.remove_dir_all(&building)?),
            renamed => Ok(renamed?),
        }
    });
    built.inspect_err(|_| drop(fs.remove_dir_all(&building)))?;
    fs.sync_dir(folder.parent().expect("it lies in a folder"))?;
    Ok(result)
}

fn try_out(
    fs: &dyn Fs,
    base: &BaseTree,
    files: &BTreeMap<String, Option<Vec<u8>>>,
    trial: &Path,
) -> Outcome<Digest> {
    fs.create_dir(trial)?;
    copy_snapshot(fs, &base.folder, trial)?;
    for (path, content) in files {
        remove_if_there(fs, &trial.join(path))?;
        if let Some(content) = content {
            create_parents(fs, trial, path)?;
            fs.write_new_unsynced(&trial.join(path), content)?;
        }
    }
    snapshot(fs, trial)?.ok_or_else(|| Failure::refused("base_unknown", "the folder has too many files"))
}

fn write(
    fs: &dyn Fs,
    building: &Path,
    layer: &Layer,
    files: &BTreeMap<String, Option<Vec<u8>>>,
) -> Outcome<()> {
    let inside = building.join(FILES);
    fs.create_dir(building)?;
    fs.create_dir(&inside)?;
    for (path, content) in files {
        if let Some(content) = content {
            create_parents(fs, &inside, path)?;
            fs.write_new(&inside.join(path), content)?;
        }
    }
    let bytes = serde_json::to_vec_pretty(layer).expect("a layer is plain data");
    fs.write_new(&building.join(RECORD), &bytes)?;
    Ok(fs.sync_dir(building)?)
}

fn create_parents(fs: &dyn Fs, root: &Path, path: &str) -> Outcome<()> {
    Ok(fs.create_dir_all(root.join(path).parent().expect("a file is in a folder"))?)
}

/// What is stored beside the tree of accepted code.
#[derive(Serialize, Deserialize)]
struct Changed {
    since: Base,
    paths: Vec<String>,
}

/// Files that differ between the contract's code and accepted code, by path. Both trees were checked; the list is made
/// once and stored beside the second.
pub(crate) fn changed_between(
    fs: &dyn Fs,
    since: &Base,
    one: &BaseTree,
    other: &BaseTree,
) -> Outcome<Vec<String>> {
    let mut record = other.folder.as_os_str().to_owned();
    record.push(".changed.json");
    let record = PathBuf::from(record);
    match fs.read(&record, LONGEST) {
        Ok(bytes) if !other.was_modified => {
            let known = serde_json::from_slice::<Changed>(&bytes).ok().filter(|known| known.since == *since);
            if let Some(known) = known {
                return Ok(known.paths);
            }
        }
        Err(error) if !error.is_not_found() => return Err(error.into()),
        _ => {}
    }
    let content = |tree: &BaseTree| -> Outcome<BTreeMap<String, Digest>> {
        let entry = |found: super::Found| -> Outcome<(String, Digest)> {
            let at = tree.folder.join(&found.path);
            let digest = match fs.read_link(&at) {
                Ok(target) => Digest::of_parts(&[b"link", target.as_os_str().as_encoded_bytes()]),
                Err(_) => file_digest(fs, &at)?,
            };
            Ok((found.text, digest))
        };
        walk(fs, &tree.folder)?.into_iter().map(entry).collect()
    };
    let (before, after) = (content(one)?, content(other)?);
    let mut paths: Vec<String> = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path))
        .cloned()
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let changed = Changed { since: since.clone(), paths };
    fs.write_atomic(&record, &serde_json::to_vec_pretty(&changed).expect("a list is plain data"))?;
    Ok(changed.paths)
}
