//! Labels: what users add to a run, as opposed to what happened in it.
//!
//! ```text
//! labels/1.json   {"schema":"rlx.label/1","at":"…","add_tags":["paper"],"remove_tags":[]}
//! labels/2.json   {"schema":"rlx.label/1","at":"…","add_tags":[],"remove_tags":[],"note":"reward scale was wrong"}
//! labels/3.json   {"schema":"rlx.label/1","at":"…","add_tags":[],"remove_tags":[],"title":"wide network"}
//! ```
//!
//! Every change is a file of its own that appears whole and only once, so any
//! number of processes can label a run at once, while it is trained too, and
//! nothing that was acknowledged is lost. Reading folds the changes in the
//! order of their numbers into the tags that the run was created with.

use std::path::PathBuf;

use rlxp_fs::{FsExt, Kind, clock};
use serde::{Deserialize, Serialize};

use crate::leftovers::remove_leftovers;
use crate::metadata::{Format, pretty};
use crate::plain::list_plain;
use crate::{Run, StoreError};

/// The folder of labels in a run.
pub(crate) const LABELS_FOLDER: &str = "labels";
const LABEL_SCHEMA: Format = Format { kind: "rlx.label", newest: 1 };
/// The longest file of a change that is read.
const CAP: u64 = 1 << 20;
/// Higher numbers are not given out: counting on from them might never end.
const HIGHEST: u64 = 999_999_999;
/// Numbers are given out one after another. One this far beyond the others was not, and counting on from it would use
/// up all numbers at once.
const LARGEST_GAP: u64 = 1_000_000;

/// How often a change is written again.
const TRIES: u32 = 100;

/// A change of a run's labels; an empty one changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelChange {
    /// Tags that the run gets.
    #[serde(default)]
    pub add_tags: Vec<String>,
    /// Tags that it loses.
    #[serde(default)]
    pub remove_tags: Vec<String>,
    /// A note to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The numbers of notes to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_notes: Vec<u64>,
    /// The new title; an empty one removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The file of a change.
#[derive(Debug, Serialize, Deserialize)]
struct ChangeFile {
    schema: String,
    /// When, RFC 3339.
    #[serde(default)]
    at: String,
    #[serde(flatten)]
    change: LabelChange,
}

/// A note on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The number of the change that added it, which stays its own.
    pub number: u64,
    /// When it was added, RFC 3339.
    pub at: String,
    /// What it says.
    pub text: String,
}

/// The labels of a run after every change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its notes, oldest first.
    pub notes: Vec<Note>,
    /// What is wrong with its labels.
    pub problem: Option<String>,
    /// The changes that were read.
    pub(crate) numbers: Vec<u64>,
}

impl Run {
    pub(crate) fn labels_dir(&self) -> PathBuf {
        self.path().join(LABELS_FOLDER)
    }

    /// The numbers of all changes, ascending.
    fn label_numbers(&self) -> Result<Vec<u64>, StoreError> {
        let mut numbers = self.numbered_labels()?;
        numbers.truncate(in_sequence(&numbers));
        Ok(numbers)
    }

    /// The numbers of all files, ascending.
    fn numbered_labels(&self) -> Result<Vec<u64>, StoreError> {
        let number = |name: &str| {
            let number: u64 = name.strip_suffix(".json")?.parse().ok()?;
            (number <= HIGHEST && name == format!("{number}.json")).then_some(number)
        };
        let entries = list_plain(self.fs.as_ref(), &self.labels_dir())?;
        let files = entries.iter().filter(|entry| entry.kind == Kind::File);
        let mut numbers: Vec<u64> = files.filter_map(|entry| number(&entry.name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The labels that the run has now.
    pub fn labels(&self) -> Result<Labels, StoreError> {
        Ok(self.labels_since(&self.recorded()?.tags))
    }

    /// The labels after every change. A change that can't be read is reported
    /// and hides no other.
    pub(crate) fn labels_since(&self, created_with: &[String]) -> Labels {
        let mut labels = Labels { tags: created_with.to_vec(), ..Labels::default() };
        match self.numbered_labels() {
            Ok(mut numbers) => {
                let beyond = numbers.split_off(in_sequence(&numbers));
                labels.numbers = numbers;
                labels.problem = beyond.first().map(|number| {
                    format!("labels/{number}.json is ignored: its number doesn't follow from the others")
                });
            }
            Err(error) => labels.problem = Some(error.to_string()),
        }
        for number in labels.numbers.clone() {
            match self.label(number) {
                Ok(file) => labels.apply(number, file),
                Err(error) => labels.problem = Some(error.to_string()),
            }
        }
        labels.tags.sort();
        labels.tags.dedup();
        labels
    }

    fn label(&self, number: u64) -> Result<ChangeFile, StoreError> {
        let path = self.labels_dir().join(format!("{number}.json"));
        let bytes = self.fs.read(&path, CAP)?;
        LABEL_SCHEMA.check_in(&path, &bytes)?;
        serde_json::from_slice(&bytes).map_err(|error| StoreError::damaged(&path, error.to_string()))
    }

    /// Adds and removes tags; returns the tags that the run has then.
    pub fn set_tags(&self, add: &[String], remove: &[String]) -> Result<Vec<String>, StoreError> {
        let (add_tags, remove_tags) = (add.to_vec(), remove.to_vec());
        Ok(self.change_labels(LabelChange { add_tags, remove_tags, ..LabelChange::default() })?.tags)
    }

    /// Changes the labels; returns those that the run has then. After it returns, the change survives a power loss.
    pub fn change_labels(&self, change: LabelChange) -> Result<Labels, StoreError> {
        let recorded = self.recorded()?;
        if change != LabelChange::default() {
            // Labels of a newer version come first, and can't be read here.
            for number in self.label_numbers()? {
                if let Err(error @ StoreError::NewerFormat { .. }) = self.label(number) {
                    return Err(error);
                }
            }
            self.write_label(&ChangeFile { schema: LABEL_SCHEMA.text(), at: clock::wall_text(), change })?;
        }
        Ok(self.labels_since(&recorded.tags))
    }

    fn write_label(&self, change: &ChangeFile) -> Result<(), StoreError> {
        let (fs, folder) = (self.fs.as_ref(), self.labels_dir());
        match fs.create_dir(&folder) {
            Ok(()) => fs.sync_dir(self.path())?,
            // A killed process may have left the file that it was writing.
            Err(error) if error.is_already_there() => {
                drop(remove_leftovers(fs, self.machine.as_ref(), &folder, |_| false));
            }
            Err(error) => return Err(error.into()),
        }
        let mut number = self.label_numbers()?.last().map_or(1, |last| last + 1);
        let mut tries = 0;
        while number <= HIGHEST {
            match fs.write_new_atomic(&folder.join(format!("{number}.json")), &pretty(change)) {
                Ok(true) => return Ok(()),
                Ok(false) => number += 1,
                // Another machine on the same disk took the file that was being written for a leftover.
                Err(error) if error.is_not_found() && tries < TRIES && fs.is_folder(&folder)? => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::NumbersUsedUp { path: folder, highest: HIGHEST })
    }
}

/// How many of the ascending numbers come before the first that doesn't follow from them.
fn in_sequence(numbers: &[u64]) -> usize {
    let mut last = 0;
    let follows = |number: &&u64| {
        let follows = **number - last <= LARGEST_GAP;
        last = **number;
        follows
    };
    numbers.iter().take_while(follows).count()
}

impl Labels {
    fn apply(&mut self, number: u64, ChangeFile { at, change, .. }: ChangeFile) {
        let LabelChange { add_tags, remove_tags, note, remove_notes, title } = change;
        self.tags.retain(|tag| !remove_tags.contains(tag));
        self.tags.extend(add_tags.into_iter().filter(|tag| !remove_tags.contains(tag)));
        self.notes.retain(|note| !remove_notes.contains(&note.number));
        self.notes.extend(note.map(|text| Note { number, at, text }));
        if let Some(title) = title {
            self.title = Some(title).filter(|title| !title.is_empty());
        }
    }
}
