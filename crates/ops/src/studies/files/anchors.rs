//! Anchors of ledgers: copies of a ledger's head outside the repository.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::ledger::Anchor;
use rlxp_types::Digest;

use super::paths::StudyPaths;
use crate::failure::{Failure, Outcome};

const LONGEST_ANCHORS: u64 = 16 << 20;

/// The user's file of anchors for a study at this location. It is named after the location and not the study's id, so
/// that a study recreated there with another id is detected.
pub(crate) fn usual_place(place: &StudyPaths) -> Outcome<PathBuf> {
    let folder = place.anchors().ok_or_else(|| {
        Failure::usage("no_home", "no home folder to store anchors in").hint("rlx ledger anchor --to FILE")
    })?;
    Ok(folder.join(format!("{}.jsonl", place_key(place))))
}

/// The name of a study's location in file names.
pub(super) fn place_key(place: &StudyPaths) -> String {
    let root = Digest::hash(place.root.as_os_str().as_encoded_bytes()).short();
    format!("{root}-{}-{}", place.name.task, place.name.study)
}

/// The user's anchors for a study's location; empty if there is no such file.
pub(crate) fn own_anchors(fs: &dyn Fs, place: &StudyPaths) -> Outcome<Vec<Anchor>> {
    match usual_place(place) {
        Ok(path) if fs.is_file(&path)? => Ok(read_anchors(fs, &path)?.0),
        _ => Ok(Vec::new()),
    }
}

/// The anchors in a file, and the numbers of invalid lines.
pub(crate) fn read_anchors(fs: &dyn Fs, path: &Path) -> Outcome<(Vec<Anchor>, Vec<usize>)> {
    let text = String::from_utf8_lossy(&fs.read(path, LONGEST_ANCHORS)?).into_owned();
    let (mut anchors, mut bad) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(anchor) => anchors.push(anchor),
            Err(_) => bad.push(number),
        }
    }
    Ok((anchors, bad))
}
