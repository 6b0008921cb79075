//! `rlx study clean`: what a study keeps in the user's state folder and no longer needs, and removing it.
//!
//! Never removed: what a verdict or evidence was read from, what can still become evidence, code that runs start from,
//! and anything of a run that isn't over. The ledger and the repository are not touched. What was removed is recorded.

mod found;

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::StudyName;
use rlxp_govern::ledger::event::Note;
use rlxp_govern::ledger::{Actor, Event};
use serde::Serialize;

pub use found::CleanKind;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::launch::{bytes, reconcile};

/// The file in a run's folder that says what was removed from it, so that a check of its files knows why they are
/// missing.
pub const CLEANED: &str = "cleaned.json";

#[derive(Clone, Copy, Debug, Default)]
pub struct CleanRequest {
    /// Whether to remove it; otherwise it is only listed.
    pub execute: bool,
    /// Also the files that evidence was read from, in a study that is closed.
    pub closed: bool,
}

/// Something that can go.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Removable {
    pub kind: CleanKind,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// The length of its files together.
    pub bytes: u64,
    /// Why nothing needs it.
    pub why: String,
    /// The run that it belongs to.
    pub run: Option<String>,
}

/// What can go, or is gone.
#[derive(Clone, Debug, Serialize)]
pub struct CleanReport {
    pub study: StudyName,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub folder: PathBuf,
    /// Whether it was removed.
    pub executed: bool,
    pub removable: Vec<Removable>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes that stay.
    pub kept_bytes: u64,
    /// Problems that did not stop it.
    pub warnings: Vec<String>,
}

/// Lists what a study no longer needs and, if asked, removes it.
pub fn clean(context: &Context, study: Option<&str>, request: CleanRequest) -> Outcome<CleanReport> {
    let mut opened = OpenStudy::open(context, study)?;
    reconcile(context, &mut opened)?;
    if request.closed && opened.study.state().closed.is_none() {
        let message =
            "--closed removes what verdicts were computed from, so the study has to be closed first";
        return Err(Failure::refused("study_open", message).hint("rlx study close --reason TEXT"));
    }
    let place = LaunchPaths::for_study(&opened)?;
    let fs = context.fs.as_ref();
    let removable = found::removable(&opened, &place, request.closed)?;
    let bytes = removable.iter().fold(0_u64, |sum, one| sum.saturating_add(one.bytes));
    let before = size(fs, place.folder());
    if request.execute && !removable.is_empty() {
        // Recorded first: what is missing afterwards has a reason, also after a kill.
        let text = format!("rlx study clean: removing {} ({bytes} bytes)", described(&removable));
        opened.append(Actor::Rlx, Event::Note(Note { text }))?;
        for one in &removable {
            remove(fs, &place, one)?;
        }
    }
    Ok(CleanReport {
        study: opened.study.name.clone(),
        folder: place.folder().to_owned(),
        executed: request.execute,
        bytes,
        kept_bytes: before.saturating_sub(bytes),
        removable,
        warnings: opened.warnings,
    })
}

/// What is removed, as counts by kind.
fn described(removable: &[Removable]) -> String {
    let count = |kind: CleanKind| {
        let count = removable.iter().filter(|one| one.kind == kind).count();
        (count > 0).then(|| format!("{count} {kind}"))
    };
    CleanKind::ALL.into_iter().filter_map(count).collect::<Vec<_>>().join(", ")
}

fn remove(fs: &dyn Fs, place: &LaunchPaths, one: &Removable) -> Outcome<()> {
    if let Some(key) = &one.run {
        note_removal(fs, place, key, &one.path)?;
    }
    match fs.metadata_if_any(&one.path)?.map(|meta| meta.kind) {
        Some(Kind::Folder) => fs.remove_dir_all(&one.path)?,
        Some(_) => fs.remove_file(&one.path)?,
        // Another process was quicker.
        None => {}
    }
    Ok(())
}

/// Adds a name to the list of what was removed from a run.
fn note_removal(fs: &dyn Fs, place: &LaunchPaths, key: &str, path: &Path) -> Outcome<()> {
    let run = place.run(key);
    let file = run.path().join(CLEANED);
    let known = fs.read(&file, 1 << 20).ok();
    let mut names: Vec<String> =
        known.and_then(|known| serde_json::from_slice(&known).ok()).unwrap_or_default();
    let name = path.strip_prefix(run.path()).unwrap_or(path).to_string_lossy().into_owned();
    if !names.contains(&name) {
        names.push(name);
        names.sort_unstable();
        fs.write_atomic(&file, &bytes(&names))?;
    }
    Ok(())
}

/// Names in a run's folder that were removed from it: files, and folders with everything in them.
pub(crate) fn removed_from(fs: &dyn Fs, run: &Path) -> Vec<String> {
    let known = fs.read(&run.join(CLEANED), 1 << 20).ok();
    known.and_then(|known| serde_json::from_slice(&known).ok()).unwrap_or_default()
}

/// The length of all files below a path. What can't be read counts nothing.
fn size(fs: &dyn Fs, path: &Path) -> u64 {
    let Ok(Some(meta)) = fs.metadata_if_any(path) else { return 0 };
    if meta.kind != Kind::Folder {
        return meta.length;
    }
    let entries = fs.list_raw(path).unwrap_or_default();
    entries.iter().fold(0, |sum, entry| sum.saturating_add(size(fs, &path.join(&entry.name))))
}
