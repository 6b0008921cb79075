//! What a study no longer needs.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind, temporary_owner};
use rlxp_govern::documents::{Base, Phase, StepName};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use serde::Serialize;

use super::{Removable, size};
use crate::failure::Outcome;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::launch::present_inputs;

/// What kind of thing can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanKind {
    /// Code that was checked out
    Tree,
    /// Copies of files that runs need
    Inputs,
    /// Files that a run wrote
    RunFiles,
    /// What a killed process left
    Leftover,
}

impl CleanKind {
    pub const ALL: [CleanKind; 4] =
        [CleanKind::Tree, CleanKind::Inputs, CleanKind::RunFiles, CleanKind::Leftover];
}

impl fmt::Display for CleanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CleanKind::Tree => "trees",
            CleanKind::Inputs => "copies of inputs",
            CleanKind::RunFiles => "folders of runs",
            CleanKind::Leftover => "leftovers",
        })
    }
}

/// Everything that can go. `closed` includes what evidence was read from.
pub(super) fn removable(opened: &OpenStudy, place: &LaunchPaths, closed: bool) -> Outcome<Vec<Removable>> {
    let fs = opened.context().fs.as_ref();
    let mut all = Vec::new();
    // Runs that aren't over use trees and inputs that only their orders name.
    if opened.study.state().live().is_empty() {
        trees(opened, place, &mut all)?;
        inputs(opened, place, &mut all)?;
    }
    leftovers(opened, place, &mut all)?;
    let mut runs: Vec<&RunRecord> = opened.study.state().runs.values().collect();
    runs.sort_by_key(|run| run.order);
    for run in runs {
        run_files(fs, place, run, why_not_needed(opened, run, closed), &mut all)?;
    }
    Ok(all)
}

/// Trees that no run starts from any more. They are checked out again where something needs them.
fn trees(opened: &OpenStudy, place: &LaunchPaths, all: &mut Vec<Removable>) -> Outcome<()> {
    let fs = opened.context().fs.as_ref();
    let state = opened.study.state();
    let accepted = state.accepted.iter().filter_map(|accepted| accepted.code.as_ref()).map(|code| &code.base);
    let bases: Vec<Base> =
        accepted.cloned().chain(opened.study.pinned_base()).chain(opened.study.launched_base()).collect();
    let kept: BTreeSet<PathBuf> = bases.iter().map(|base| place.tree(base)).collect();
    for (path, kind) in entries(fs, &place.trees())? {
        if kind != Kind::Folder || kept.contains(&path) || is_temporary(&path) {
            continue;
        }
        let why = "no run starts from this code any more; git has it";
        // Without git, nothing else has it.
        let is_snapshot = name_of(&path).starts_with("snapshot-");
        if is_snapshot && !state.runs.is_empty() {
            continue;
        }
        add(fs, all, CleanKind::Tree, path.clone(), why, None);
        for end in [".json", ".changed.json"] {
            let mut record = path.clone().into_os_string();
            record.push(end);
            if fs.is_file(Path::new(&record))? {
                add(fs, all, CleanKind::Tree, PathBuf::from(record), why, None);
            }
        }
    }
    Ok(())
}

/// Copies of inputs of an earlier runbook.
fn inputs(opened: &OpenStudy, place: &LaunchPaths, all: &mut Vec<Removable>) -> Outcome<()> {
    let fs = opened.context().fs.as_ref();
    // Without a readable runbook it isn't known which are needed.
    let Some(runbook) = opened.study.files.runbook.typed() else { return Ok(()) };
    let Ok(needed) = present_inputs(fs, place, &opened.place.root, runbook) else { return Ok(()) };
    for (path, kind) in entries(fs, &place.inputs())? {
        if kind == Kind::Folder && Some(&path) != needed.as_ref() && !is_temporary(&path) {
            add(fs, all, CleanKind::Inputs, path, "the runbook names other inputs", None);
        }
    }
    Ok(())
}

/// What processes that are gone left half made.
fn leftovers(opened: &OpenStudy, place: &LaunchPaths, all: &mut Vec<Removable>) -> Outcome<()> {
    let (fs, machine) = (opened.context().fs.as_ref(), opened.context().machine.as_ref());
    for folder in [place.trees(), place.inputs(), place.runs(), place.folder().join("accepted")] {
        for (path, _) in entries(fs, &folder)? {
            let owner = temporary_owner(&name_of(&path));
            if owner.is_some_and(|owner| machine.process_start(owner).is_none()) {
                add(fs, all, CleanKind::Leftover, path, "the process that made it is gone", None);
            }
        }
    }
    Ok(())
}

/// Why the files that a run wrote aren't needed; `None` if they are.
fn why_not_needed(opened: &OpenStudy, run: &RunRecord, closed: bool) -> Option<&'static str> {
    let RunState::Ended(end) = run.state else { return None };
    if closed {
        return Some("the study is closed");
    }
    if run.evidence.is_some() {
        return None;
    }
    let state = opened.study.state();
    let of_plan = state.runs_of_plan(&run.intent.candidate);
    match end {
        _ if run.intent.phase == Phase::Smoke => Some("smoke runs are never evidence"),
        RunEnd::Blocked => Some("it was blocked, so it has no result"),
        RunEnd::Lost => Some("it was lost, so it has no result"),
        _ if run.not_evidence().is_some() => Some("it never counts as evidence"),
        _ if of_plan.iter().all(|other| other.intent.key != run.intent.key) => {
            Some("it belongs to an earlier revision, and nothing was read from it")
        }
        // Its metrics may still be read.
        _ => None,
    }
}

/// The folders that a run's steps wrote. Its small files, which say what it did and how it ended, always stay.
fn run_files(
    fs: &dyn Fs,
    place: &LaunchPaths,
    run: &RunRecord,
    why: Option<&'static str>,
    all: &mut Vec<Removable>,
) -> Outcome<()> {
    if !matches!(run.state, RunState::Ended(_)) {
        return Ok(());
    }
    let key = &run.intent.key;
    let folder = place.run(key);
    for step in StepName::ALL {
        for end in [".tree", ".work"] {
            let path = folder.step(&format!("{step}{end}"));
            // Most are empty; where trees can't be overlaid, the copy is there.
            if size(fs, &path) > 0 {
                let why = "it is only used while the run is active";
                add(fs, all, CleanKind::RunFiles, path, why, Some(key));
            }
        }
        for end in ["", ".changed"] {
            let path = folder.step(&format!("{step}{end}"));
            if let Some(why) = why.filter(|_| fs.is_folder(&path).unwrap_or(false)) {
                add(fs, all, CleanKind::RunFiles, path, why, Some(key));
            }
        }
    }
    Ok(())
}

fn add(
    fs: &dyn Fs,
    all: &mut Vec<Removable>,
    kind: CleanKind,
    path: PathBuf,
    why: &str,
    run: Option<&String>,
) {
    let bytes = size(fs, &path);
    all.push(Removable { kind, path, bytes, why: why.to_owned(), run: run.cloned() });
}

fn entries(fs: &dyn Fs, folder: &Path) -> Outcome<Vec<(PathBuf, Kind)>> {
    if !fs.is_folder(folder)? {
        return Ok(Vec::new());
    }
    Ok(fs.list_raw(folder)?.into_iter().map(|entry| (folder.join(&entry.name), entry.kind)).collect())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_temporary(path: &Path) -> bool {
    temporary_owner(&name_of(path)).is_some()
}
