//! `rlx study export`: a copy of everything that a reader needs, outside `.rlxp/`, with a report and a patch.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::Slug;
use rlxp_govern::ledger::event::Verdict;
use rlxp_govern::machine::CandidateState;
use serde::Serialize;

use super::status;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::open_study::OpenStudy;
use crate::studies::files::paths::FOLDER;
use crate::studies::files::read::look;

const LONGEST: u64 = 1 << 30;
/// Files of the study that are copied as they are, if they exist.
const FILES: [&str; 5] =
    ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml", "ledger.jsonl"];

#[derive(Clone, Debug, Serialize)]
pub struct ExportReport {
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// Its files, relative to that.
    pub files: Vec<String>,
    /// Accepted candidates whose patches are in `accepted.patch`, in the order in which they were accepted.
    pub accepted: Vec<Slug>,
    /// What is not in it, and why.
    pub warnings: Vec<String>,
}

/// Copies the study to `to`, which appears whole or not at all.
pub fn export(context: &Context, selector: Option<&str>, to: &Path) -> Outcome<ExportReport> {
    let opened = OpenStudy::open(context, selector)?;
    let fs = context.fs.as_ref();
    let path = context.folder.join(to);
    refuse_taken(fs, &path)?;
    if path.starts_with(opened.place.root.join(FOLDER)) {
        let message = format!("{} is inside the folder of studies", path.display());
        return Err(Failure::usage("export_inside", message).hint("rlx study export --to ../study-export"));
    }
    let parent = path.parent().unwrap_or(&context.folder).to_owned();
    fs.create_dir_all(&parent)?;
    fs.remove_abandoned(context.machine.as_ref(), &path);
    let building = fs.temporary_beside(&path);
    let mut report = ExportReport {
        path: path.clone(),
        files: Vec::new(),
        accepted: Vec::new(),
        warnings: opened.warnings.clone(),
    };
    let built = fill(&opened, &building, &mut report).and_then(|()| {
        // An empty folder of that name is replaced, any other is an error.
        fs.rename(&building, &path)?;
        Ok(fs.sync_dir(&parent)?)
    });
    built.inspect_err(|_| drop(fs.remove_dir_all(&building)))?;
    Ok(report)
}

fn refuse_taken(fs: &dyn Fs, path: &Path) -> Outcome<()> {
    let taken = match fs.metadata_if_any(path)?.map(|meta| meta.kind) {
        None => false,
        Some(Kind::Folder) => !fs.list(path)?.is_empty(),
        Some(_) => true,
    };
    if taken {
        let message = format!("{} already exists; not overwriting it", path.display());
        return Err(Failure::refused("export_exists", message).hint("choose another folder with --to"));
    }
    Ok(())
}

fn fill(opened: &OpenStudy, building: &Path, report: &mut ExportReport) -> Outcome<()> {
    let fs = opened.context().fs.as_ref();
    let place = &opened.place;
    let mut put = |name: String, bytes: &[u8]| -> Outcome<()> {
        fs.write_new(&building.join(&name), bytes)?;
        report.files.push(name);
        Ok(())
    };
    let copied = |from: &Path| -> Outcome<Option<Vec<u8>>> {
        match look(fs, &place.root, from)? {
            Some(meta) if meta.kind == Kind::File => Ok(Some(fs.read(from, LONGEST)?)),
            _ => Ok(None),
        }
    };
    fs.create_dir(building)?;
    let documents = FILES.map(|name| place.folder.join(name)).into_iter();
    for from in [place.task_card(), place.adapter()].into_iter().chain(documents) {
        if let Some(bytes) = copied(&from)? {
            put(from.file_name().unwrap_or_default().to_string_lossy().into_owned(), &bytes)?;
        }
    }
    for (folder, end) in [(place.candidates(), ".yaml"), (place.signatures(), ".sig")] {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs.create_dir(&building.join(&name))?;
        if look(fs, &place.root, &folder)?.is_none() {
            continue;
        }
        for entry in fs.list(&folder)?.iter().filter(|entry| entry.name.ends_with(end)) {
            if let Some(bytes) = copied(&folder.join(&entry.name))? {
                put(format!("{name}/{}", entry.name), &bytes)?;
            }
        }
        fs.sync_dir(&building.join(&name))?;
    }
    let (patch, accepted, warnings) = accepted_patch(opened)?;
    put("accepted.patch".to_owned(), patch.as_bytes())?;
    put("report.md".to_owned(), status::status_of(opened)?.to_markdown().as_bytes())?;
    fs.sync_dir(building)?;
    report.accepted = accepted;
    report.warnings.extend(warnings);
    Ok(())
}

/// The patches of candidates that are accepted and not undone, in the order in which they were accepted.
fn accepted_patch(opened: &OpenStudy) -> Outcome<(String, Vec<Slug>, Vec<String>)> {
    let state = opened.study.state();
    let (mut patch, mut accepted, mut warnings) = (String::new(), Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for (id, verdict) in &state.judged {
        let Some(record) = state.candidates.get(id) else { continue };
        if *verdict != Verdict::Accepted || record.state != CandidateState::Accepted || seen.contains(id) {
            continue;
        }
        if opened.study.candidate_files.get(id.as_str()) != Some(&record.validated.file) {
            warnings.push(format!(
                "{id} was accepted, but its file has changed since it ran; its patch is left out"
            ));
            continue;
        }
        let reading = opened.candidate(id)?;
        let Some(candidate) = reading.typed() else {
            warnings.push(format!("{id} was accepted, but its file can't be read; its patch is left out"));
            continue;
        };
        let mut has_patch = false;
        for change in &candidate.changes {
            match (&change.patch, &change.key) {
                (Some(text), _) => {
                    has_patch = true;
                    patch.push_str(text);
                    if !text.ends_with('\n') {
                        patch.push('\n');
                    }
                }
                (None, key) => warnings.push(format!(
                    "accepted.patch lacks the value that {id} sets in {}{}; see candidates/{id}.yaml, or export the \
                     code with --patch",
                    change.path,
                    key.as_ref().map(|key| format!(" at {key}")).unwrap_or_default()
                )),
            }
        }
        seen.push(id.clone());
        if has_patch {
            accepted.push(id.clone());
        }
    }
    Ok((patch, accepted, warnings))
}
