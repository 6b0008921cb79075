//! What the last intake wrote: its answers and the digests of its files. With them, `contract new` can be run again as
//! long as its draft is neither edited nor approved. Decides nothing else, so a lost or forged copy costs an unapproved
//! draft at most.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::section::File;
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

use super::ask::{Answers, Ask};
use crate::failure::Outcome;
use crate::studies::files::paths::StudyPaths;
use crate::studies::files::read::look;

/// Longest copy that is read.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LastDraft {
    /// As the user wrote them.
    pub(super) answers: BTreeMap<Ask, Vec<String>>,
    /// The files by name, as they were written.
    files: BTreeMap<String, Digest>,
}

impl LastDraft {
    /// The draft of these answers, after those of earlier drafts that no new answer replaces.
    pub(super) fn new(
        earlier: &BTreeMap<Ask, Vec<String>>,
        answers: &Answers,
        files: &[(File, String)],
    ) -> Self {
        let digest = |(file, text): &(File, String)| (file.name().to_owned(), Digest::hash(text.as_bytes()));
        let mut all = earlier.clone();
        all.extend(answers.all_given().clone());
        Self { answers: all, files: files.iter().map(digest).collect() }
    }

    /// What was written last; nothing if that is unknown.
    pub(super) fn read(fs: &dyn Fs, place: &StudyPaths) -> Outcome<Self> {
        let path = path(place);
        if look(fs, &place.root, &path)?.is_none() {
            return Ok(Self::default());
        }
        let text = fs.read_text(&path, LONGEST).unwrap_or_default();
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    pub(super) fn write(&self, fs: &dyn Fs, place: &StudyPaths) -> Outcome<()> {
        let path = path(place);
        look(fs, &place.root, &path)?;
        let text = serde_json::to_string_pretty(self).expect("answers are plain data");
        Ok(fs.write_atomic(&path, format!("{text}\n").as_bytes())?)
    }

    /// The existing files that are not as this draft wrote them.
    pub(super) fn edited(&self, fs: &dyn Fs, place: &StudyPaths) -> Outcome<Vec<File>> {
        let mut edited = Vec::new();
        for file in File::ALL {
            let path = place.file(file);
            if look(fs, &place.root, &path)?.is_some()
                && self.files.get(file.name()) != Some(&fs.digest(&path)?)
            {
                edited.push(file);
            }
        }
        Ok(edited)
    }
}

fn path(place: &StudyPaths) -> PathBuf {
    place.folder.join("drafted.json")
}
