//! Labels: what users add to a run, as opposed to what happened in it.
//!
//! ```text
//! labels/1.json   {"schema":"rlx.label/1","at":"…","add_tags":["paper"],"remove_tags":[]}
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

/// How often a change is written again.
const TRIES: u32 = 100;

#[derive(Debug, Serialize, Deserialize)]
struct Change {
    schema: String,
    /// When, RFC 3339.
    #[serde(default)]
    at: String,
    #[serde(default)]
    add_tags: Vec<String>,
    #[serde(default)]
    remove_tags: Vec<String>,
}

/// The tags of a run, and what is wrong with its labels.
pub(crate) struct Labels {
    /// The changes that were read.
    pub(crate) numbers: Vec<u64>,
    pub(crate) tags: Vec<String>,
    pub(crate) problem: Option<String>,
}

impl Run {
    pub(crate) fn labels_dir(&self) -> PathBuf {
        self.path().join(LABELS_FOLDER)
    }

    /// The numbers of all changes, ascending.
    fn label_numbers(&self) -> Result<Vec<u64>, StoreError> {
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

    /// The tags after every change. A change that can't be read is reported
    /// and hides no other.
    pub(crate) fn labels(&self, created_with: &[String]) -> Labels {
        let mut labels = Labels { numbers: Vec::new(), tags: created_with.to_vec(), problem: None };
        match self.label_numbers() {
            Ok(numbers) => labels.numbers = numbers,
            Err(error) => labels.problem = Some(error.to_string()),
        }
        for number in &labels.numbers {
            match self.label(*number) {
                Ok(change) => change.apply(&mut labels.tags),
                Err(error) => labels.problem = Some(error.to_string()),
            }
        }
        labels.tags.sort();
        labels.tags.dedup();
        labels
    }

    fn label(&self, number: u64) -> Result<Change, StoreError> {
        let path = self.labels_dir().join(format!("{number}.json"));
        let bytes = self.fs.read(&path, CAP)?;
        LABEL_SCHEMA.check_in(&path, &bytes)?;
        serde_json::from_slice(&bytes).map_err(|error| StoreError::damaged(&path, error.to_string()))
    }

    /// Adds and removes tags; returns the tags that the run has then. After it
    /// returns, the change survives a power loss.
    pub fn set_tags(&self, add: &[String], remove: &[String]) -> Result<Vec<String>, StoreError> {
        let recorded = self.recorded()?;
        if !add.is_empty() || !remove.is_empty() {
            // Labels of a newer version come first, and can't be read here.
            for number in self.label_numbers()? {
                if let Err(error @ StoreError::NewerFormat { .. }) = self.label(number) {
                    return Err(error);
                }
            }
            let schema = LABEL_SCHEMA.text();
            let (at, add_tags, remove_tags) = (clock::wall_text(), add.to_vec(), remove.to_vec());
            self.write_label(&Change { schema, at, add_tags, remove_tags })?;
        }
        Ok(self.labels(&recorded.tags).tags)
    }

    fn write_label(&self, change: &Change) -> Result<(), StoreError> {
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

impl Change {
    fn apply(&self, tags: &mut Vec<String>) {
        tags.retain(|tag| !self.remove_tags.contains(tag));
        tags.extend(self.add_tags.iter().filter(|tag| !self.remove_tags.contains(*tag)).cloned());
    }
}
