//! Caches of older tools, taken over: a flat `.rlxp/` and a task of `.autorl/`.
//!
//! Texts are kept word for word under the study's `imported/` folder and a draft of the four files points at them.
//! Nothing that is imported counts as an approval or as evidence: an old ledger is text like any other.

mod old;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::completeness::{Open, open_questions};
use rlxp_govern::documents::Slug;
use rlxp_govern::ledger::event::Imported;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_types::Digest;
use serde::Serialize;

use super::ask::{Answers, Ask};
use super::{draft, intake, scan};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::paths::FOLDER;
use crate::studies::files::read::look;
use crate::studies::tree::present_base;

/// The older tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Files directly in `.rlxp/`.
    FlatRlxp,
    /// A folder in `.autorl/tasks/`.
    Autorl,
}

/// A cache that was read and not yet taken over.
#[derive(Debug)]
pub struct Import {
    from: String,
    layout: Layout,
    files: BTreeMap<String, Vec<u8>>,
    unknown: Vec<String>,
}

/// What was taken over.
#[derive(Clone, Debug, Serialize)]
pub struct ImportReport {
    pub from: String,
    /// By which tool.
    pub layout: Layout,
    /// Files that were kept, as they are called under `imported/`.
    pub files: Vec<String>,
    /// Files and keys that have no place here.
    pub unknown: Vec<String>,
    /// Draft files that were written, from the repository's root.
    pub drafted: Vec<String>,
    /// What the draft still lacks.
    pub open: Vec<Open>,
}

/// A flat `.rlxp/`, which counts as one task with one study that can be read and not worked on.
#[derive(Clone, Debug, Serialize)]
pub struct FlatStudy {
    /// Named after the repository's folder.
    pub task: Slug,
    /// The only one.
    pub study: Slug,
    pub files: Vec<String>,
    /// The command that makes a study of it.
    pub import: String,
}

/// The old study of `root`: known files directly in its `.rlxp/`, and no registry.
pub fn flat_layout(fs: &dyn Fs, root: &Path) -> Outcome<Option<FlatStudy>> {
    let folder = root.join(FOLDER);
    if !fs.is_folder(&folder)? || fs.metadata_if_any(&folder.join("registry.yaml"))?.is_some() {
        return Ok(None);
    }
    let mut files = Vec::new();
    for name in old::FLAT_FILES {
        if fs.is_file(&folder.join(name))? {
            files.push(name.to_owned());
        }
    }
    if !files.iter().any(|name| old::FLAT_SIGNS.contains(&name.as_str())) {
        return Ok(None);
    }
    let words = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = |text: &str| text.parse::<Slug>().expect("this is a name");
    let task = Slug::from_words(&words).unwrap_or_else(|| name("task"));
    let import = format!("rlx study init --import {FOLDER}");
    Ok(Some(FlatStudy { task, study: name("first"), files, import }))
}

/// Reads a cache: a flat `.rlxp/`, a repository that has one, `.autorl/` with one task, or one of its tasks. All its
/// problems are reported at once.
pub fn read(context: &Context, folder: &Path) -> Outcome<Import> {
    let fs = context.fs.as_ref();
    let path = context.folder.join(folder);
    let shown = folder.display();
    if !fs.is_folder(&path)? {
        let what = match fs.metadata_if_any(&path)? {
            None => "does not exist",
            Some(_) => "is not a folder",
        };
        return Err(Failure::usage(
            "import_not_found",
            format!("{shown} {what}, so nothing can be imported"),
        )
        .hint("rlx study init --import .autorl/tasks/NAME"));
    }
    let (path, layout) = old::recognise(fs, &path)?;
    let taken = old::take(fs, &path, layout)?;
    Ok(Import { from: within(context, &path), layout, files: taken.files, unknown: taken.unknown })
}

impl Import {
    /// The name that the task had.
    pub fn task_words(&self) -> Option<&str> {
        (self.layout == Layout::Autorl).then(|| self.from.rsplit('/').next()).flatten()
    }

    /// The old mission, where it is clear.
    pub fn mission(&self) -> Option<String> {
        old::mission(&self.files)
    }

    /// Writes the texts and the draft into a study without any, and records the import.
    pub fn bring(&self, opened: &mut OpenStudy) -> Outcome<ImportReport> {
        let context = opened.context().clone();
        let fs = context.fs.as_ref();
        let place = opened.place.clone();
        let folder = place.folder.join("imported");
        if look(fs, &place.root, &folder)?.is_some() {
            return Err(Failure::refused("imported_before", format!("{} already has an import", place.name))
                .hint("rlx study init --study another-name --import FOLDER"));
        }
        let mut answers = Answers::default();
        if let Some(mission) = self.mission() {
            // A text that is no mission leaves the question open.
            let _ = answers.give(Ask::Mission, [mission]);
        }
        for (ask, file) in old::answers_stand_in(self.layout) {
            if self.files.contains_key(*file) {
                answers.point(*ask, format!("imported/{file}"));
            }
        }
        let mut survey = scan::scan_repository(&context, &place.root, &[])?;
        intake::digest_inputs(fs, &place, &answers, &mut survey)?;
        let head = rlxp_launch::git::head(&place.root);
        let base = present_base(context.fs.as_ref(), &place.root, head.as_deref())?;
        let files = draft::files(&place.name, &answers, &survey, base.as_ref());
        self.keep(fs, &folder)?;
        intake::write_all(fs, &place, &files)?;
        let digests = self.files.iter().map(|(name, bytes)| (name.clone(), Digest::hash(bytes))).collect();
        let event = Imported { from: self.from.clone(), files: digests, unknown: self.unknown.clone() };
        opened.append(Actor::Rlx, Event::Imported(event))?;
        Ok(ImportReport {
            from: self.from.clone(),
            layout: self.layout,
            files: self.files.keys().cloned().collect(),
            unknown: self.unknown.clone(),
            drafted: files.iter().map(|(file, _)| intake::shown(&place, *file)).collect(),
            open: open_questions(&intake::as_read(&files)),
        })
    }

    /// All texts in a folder that appears whole or not at all.
    fn keep(&self, fs: &dyn Fs, folder: &Path) -> Outcome<()> {
        let building = fs.temporary_beside(folder);
        let built = || -> Outcome<()> {
            fs.create_dir(&building)?;
            for (name, bytes) in &self.files {
                let path = building.join(name);
                if let Some(parent) = path.parent() {
                    fs.create_dir_all(parent)?;
                }
                fs.write_new(&path, bytes)?;
            }
            fs.rename_new(&building, folder)?;
            Ok(fs.sync_dir(folder.parent().unwrap_or(folder))?)
        };
        // The error that matters is the first one.
        built().inspect_err(|_| drop(fs.remove_dir_all(&building)))
    }
}

/// The path as it is shown: relative to the context's folder if it is inside.
fn within(context: &Context, path: &Path) -> String {
    let inside: PathBuf = path.strip_prefix(&context.folder).unwrap_or(path).to_owned();
    inside.display().to_string()
}
