//! Approved content, stored word for word under its digest, so that people can see what changed since. For display
//! only: nothing here decides whether something is approved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_govern::canonical;
use rlxp_govern::section::{self, Section, Target};
use rlxp_govern::view::Study;
use rlxp_types::Digest;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::paths::StudyPaths;
use crate::studies::files::read::look;

/// Longest stored text that is read.
const LONGEST: u64 = 4 << 20;

/// The stored content for a digest.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovedText {
    Missing,
    /// It differs from what was approved.
    Changed,
    /// The approved content: its digest is the one asked for.
    Whole(Value),
}

/// Stores the present content of `targets`. Called when their approval is recorded; fails for a target whose content
/// doesn't have the approved digest.
pub fn keep_approved(opened: &OpenStudy, targets: &BTreeMap<Target, Digest>) -> Outcome<()> {
    let fs = opened.context().fs.as_ref();
    let folder = folder(&opened.place);
    for (target, digest) in targets {
        let covered = covered(opened, target)?.filter(|covered| canonical::digest(covered) == *digest);
        let Some(covered) = covered else {
            let message = format!("{target} no longer matches digest {}", digest.short());
            return Err(Failure::refused("content_changed", message).hint("rlx contract diff"));
        };
        if look(fs, &opened.place.root, &folder)?.is_none() {
            fs.create_dir_all(&folder)?;
        }
        let mut text = serde_json::to_string_pretty(&covered).expect("a value is plain data");
        text.push('\n');
        // The same content may have been approved before.
        fs.write_new_atomic(&file(&opened.place, digest), text.as_bytes())?;
    }
    Ok(())
}

/// Reads the stored content for a digest.
pub fn kept(opened: &OpenStudy, digest: &Digest) -> Outcome<ApprovedText> {
    let fs = opened.context().fs.as_ref();
    let path = file(&opened.place, digest);
    if look(fs, &opened.place.root, &path)?.is_none() {
        return Ok(ApprovedText::Missing);
    }
    let bytes = match fs.read(&path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(ApprovedText::Missing),
        Err(_) => return Ok(ApprovedText::Changed),
    };
    Ok(match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if canonical::digest(&value) == *digest => ApprovedText::Whole(value),
        _ => ApprovedText::Changed,
    })
}

fn folder(place: &StudyPaths) -> PathBuf {
    place.folder.join("approved")
}

fn file(place: &StudyPaths, digest: &Digest) -> PathBuf {
    folder(place).join(format!("{digest}.json"))
}

/// The value that a target's digest is computed from; `None` if a file can't be read.
fn covered(opened: &OpenStudy, target: &Target) -> Outcome<Option<Value>> {
    match target {
        Target::Section(section) => Ok(section_value(&opened.study, *section)),
        Target::Run(key) => Ok(opened.study.identity().and_then(|identity| {
            rlxp_govern::run_section::run_value(&identity, opened.study.state().runs.get(key)?)
        })),
        Target::Close => Ok(opened.study.identity().map(|identity| section::close_value(&identity))),
        Target::Candidate(id) => {
            let reading = opened.candidate(id)?;
            let experiment = opened.study.digests().get(&Section::Experiment).copied();
            Ok(experiment.zip(reading.get()).map(|(experiment, written)| {
                json!({
                    "schema": "rlxp.section/1",
                    "section": "candidate",
                    "depends_on": { "experiment": experiment },
                    "content": written.explicit,
                })
            }))
        }
    }
}

fn section_value(study: &Study, section: Section) -> Option<Value> {
    let identity = study.identity()?;
    let digests = study.digests();
    let below: Option<Map<String, Value>> = section
        .depends_on()
        .iter()
        .map(|below| Some((below.to_string(), Value::from(digests.get(below)?.to_string()))))
        .collect();
    Some(json!({
        "schema": "rlxp.section/1",
        "study": identity.study,
        "approvers": identity.approvers,
        "section": section,
        "content": section::content(section, &study.files)?,
        "depends_on": below?,
    }))
}
