//! Where the files of studies are, and which study a command means.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::{Reading, Registry, Slug, StudyName};
use rlxp_govern::section::File;
use rlxp_types::Digest;
use rlxp_types::text::shell_word;

use super::read::{document, look};
use crate::context::{Context, UserFolders};
use crate::failure::{Failure, Outcome};

/// The folder in a repository that holds its studies.
pub const FOLDER: &str = ".rlxp";

/// The studies of one repository.
#[derive(Clone, Debug)]
pub struct RepositoryPaths {
    pub root: PathBuf,
    user: UserFolders,
}

/// One study. Its files may be missing.
#[derive(Clone, Debug)]
pub struct StudyPaths {
    pub name: StudyName,
    pub root: PathBuf,
    pub folder: PathBuf,
    task: PathBuf,
    user: UserFolders,
}

impl RepositoryPaths {
    /// The nearest folder with studies: the context's or one above it; a root that the user named is the only one.
    pub fn find(context: &Context) -> Outcome<Self> {
        let searched = if context.folder_is_root { 1 } else { usize::MAX };
        for root in context.folder.ancestors().take(searched) {
            match context.fs.metadata_if_any(&root.join(FOLDER))?.map(|meta| meta.kind) {
                Some(Kind::Folder) => {
                    as_text(root)?;
                    return Ok(Self::at(context, root));
                }
                Some(Kind::Link) => return Err(super::read::linked(&root.join(FOLDER))),
                _ => {}
            }
        }
        let place = context.folder.display();
        Err(Failure::usage("no_study", format!("no governed study found: no {FOLDER}/ in {place} or above"))
            .hint("rlx study init"))
    }

    /// The studies of the repository at `root`, whether there are any or not. The real path is used: copies, anchors and
    /// run folders are named after it, and must be the same through every link that leads there.
    pub fn at(context: &Context, root: &Path) -> Self {
        let real = context.fs.canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Self { root: real, user: context.user.clone() }
    }

    /// `.rlxp/`
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// `registry.yaml`
    pub fn registry(&self) -> PathBuf {
        self.folder().join("registry.yaml")
    }

    /// What all tasks share.
    pub fn shared(&self) -> PathBuf {
        self.folder().join("shared")
    }

    /// The folder of a task.
    pub fn task(&self, task: &Slug) -> PathBuf {
        self.folder().join("tasks").join(task.as_str())
    }

    pub fn study(&self, name: &StudyName) -> StudyPaths {
        let task = self.task(&name.task);
        StudyPaths {
            name: name.clone(),
            root: self.root.clone(),
            folder: task.join("studies").join(name.study.as_str()),
            task,
            user: self.user.clone(),
        }
    }

    /// Every study that has a folder, by name. The registry is not consulted: removing a line from it doesn't remove
    /// the study.
    pub fn studies(&self, fs: &dyn Fs) -> Outcome<Vec<StudyName>> {
        let mut found = Vec::new();
        for task in folders(fs, &self.root, &self.folder().join("tasks"))? {
            for study in folders(fs, &self.root, &self.task(&task).join("studies"))? {
                found.push(StudyName { task: task.clone(), study });
            }
        }
        Ok(found)
    }

    pub fn read_registry(&self, fs: &dyn Fs) -> Outcome<Reading<Registry>> {
        document(fs, &self.root, &self.registry())
    }

    /// The study that `selector` names (`TASK/STUDY`, or `STUDY` where only one task has it), or the active one.
    pub fn select(&self, fs: &dyn Fs, selector: Option<&str>) -> Outcome<StudyPaths> {
        let known = self.studies(fs)?;
        let name = match selector {
            Some(text) => named(text, &known)?,
            None => self.active(fs, &known)?,
        };
        Ok(self.study(&name))
    }

    fn active(&self, fs: &dyn Fs, known: &[StudyName]) -> Outcome<StudyName> {
        let registry = self.read_registry(fs)?;
        if let Reading::Broken(problems) = &registry {
            let message = format!("{} can't be read: {}", self.registry().display(), problems.join("; "));
            return Err(choosing(Failure::usage("registry_broken", message), known));
        }
        match registry.typed().and_then(|registry| registry.active.clone()) {
            Some(active) if known.contains(&active) => Ok(active),
            Some(active) => {
                let message =
                    format!("the active study {active} has no folder; studies are: {}", listed(known));
                Err(choosing(Failure::usage("study_not_found", message), known))
            }
            None => {
                let message = format!("no study is active; studies are: {}", listed(known));
                Err(choosing(Failure::usage("no_active_study", message), known))
            }
        }
    }
}

impl StudyPaths {
    fn inside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The same study in another folder, while it is being created.
    pub(crate) fn at(&self, folder: PathBuf) -> Self {
        Self { folder, ..self.clone() }
    }

    pub fn places(&self) -> RepositoryPaths {
        RepositoryPaths { root: self.root.clone(), user: self.user.clone() }
    }

    pub fn task_folder(&self) -> &Path {
        &self.task
    }

    /// `task_card.md` of its task
    pub fn task_card(&self) -> PathBuf {
        self.task.join("task_card.md")
    }

    /// `adapter.yaml` of its task
    pub fn adapter(&self) -> PathBuf {
        self.task.join("adapter.yaml")
    }

    /// One of the four files that people approve.
    pub fn file(&self, file: File) -> PathBuf {
        self.inside(file.name())
    }

    /// `contract.yaml`
    pub fn contract(&self) -> PathBuf {
        self.file(File::Contract)
    }

    /// `metric_spec.yaml`
    pub fn metric_spec(&self) -> PathBuf {
        self.file(File::MetricSpec)
    }

    /// `surface_map.yaml`
    pub fn surface_map(&self) -> PathBuf {
        self.file(File::SurfaceMap)
    }

    /// `runbook.yaml`
    pub fn runbook(&self) -> PathBuf {
        self.file(File::Runbook)
    }

    /// The folder of candidates.
    pub fn candidates(&self) -> PathBuf {
        self.inside("candidates")
    }

    /// The file of a candidate.
    pub fn candidate(&self, id: &Slug) -> PathBuf {
        self.candidates().join(format!("{id}.yaml"))
    }

    /// `ledger.jsonl`
    pub fn ledger(&self) -> PathBuf {
        self.inside("ledger.jsonl")
    }

    /// The folder of signatures.
    pub fn signatures(&self) -> PathBuf {
        self.inside("signatures")
    }

    /// A signature, by the digest of its text.
    pub fn signature(&self, digest: &Digest) -> PathBuf {
        self.signatures().join(format!("{digest}.sig"))
    }

    /// `state.json`
    pub fn state(&self) -> PathBuf {
        self.inside("state.json")
    }

    /// `report.md`
    pub fn report(&self) -> PathBuf {
        self.inside("report.md")
    }

    /// `experiments.yaml`
    pub fn experiments(&self) -> PathBuf {
        self.inside("experiments.yaml")
    }

    /// The folder of loops.
    pub fn loops(&self) -> PathBuf {
        self.inside("loops")
    }

    /// The folder of pointers to runs.
    pub fn runs(&self) -> PathBuf {
        self.inside("runs")
    }

    /// The folder of audits.
    pub fn audits(&self) -> PathBuf {
        self.inside("audits")
    }

    /// The user's list of approvers, in ssh's `allowed_signers` format.
    pub fn approvers(&self) -> Option<PathBuf> {
        self.user.config.as_ref().map(|folder| folder.join("approvers"))
    }

    /// The user's folder of anchors, one file of lines per study id.
    pub fn anchors(&self) -> Option<PathBuf> {
        self.user.state.as_ref().map(|folder| folder.join("anchors"))
    }

    /// The user's folder of copies of ledgers.
    pub fn ledger_copies(&self) -> Option<PathBuf> {
        self.user.state.as_ref().map(|folder| folder.join("ledgers"))
    }
}

/// Folders in `path` whose names can be those of tasks and studies.
fn folders(fs: &dyn Fs, root: &Path, path: &Path) -> Outcome<Vec<Slug>> {
    if look(fs, root, path)?.is_none_or(|meta| meta.kind != Kind::Folder) {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs.list(path)? {
        match (entry.kind, entry.name.parse()) {
            (Kind::Folder, Ok(name)) => names.push(name),
            (Kind::Link, Ok(_)) => return Err(super::read::linked(&path.join(&entry.name))),
            _ => {}
        }
    }
    Ok(names)
}

/// A study's paths are part of signed texts and of orders, so they must be valid UTF-8.
pub(crate) fn as_text(root: &Path) -> Outcome<&str> {
    root.to_str().ok_or_else(|| {
        let message =
            format!("a governed study needs a folder with a UTF-8 path; {} is not UTF-8", root.display());
        Failure::usage("path_not_text", message).hint("rename the folder, then run the command again")
    })
}

fn named(text: &str, known: &[StudyName]) -> Outcome<StudyName> {
    let fits = |name: &&StudyName| name.study.as_str() == text || name.to_string() == text;
    let found: Vec<&StudyName> = known.iter().filter(fits).collect();
    match found.as_slice() {
        [name] => Ok((*name).clone()),
        [] => {
            let message = format!("no study {text:?}; studies are: {}", listed(known));
            Err(choosing(Failure::usage("study_not_found", message), known))
        }
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            let message = format!("{text:?} matches several studies: {}", names.join(", "));
            Err(Failure::usage("study_ambiguous", message)
                .hint(format!("name it as TASK/STUDY, such as {}", names[0])))
        }
    }
}

/// Refuses to write a file into a missing folder, which is most often misspelt.
pub(crate) fn needs_folder(fs: &dyn Fs, file: &Path) -> Outcome<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if fs.canonicalize(folder).is_ok_and(|real| fs.list(&real).is_ok()) {
        return Ok(());
    }
    let message = format!("--to: folder {} does not exist", folder.display());
    Err(Failure::usage("no_such_folder", message)
        .hint(format!("mkdir -p {}", shell_word(&folder.display().to_string()))))
}

fn choosing(failure: Failure, known: &[StudyName]) -> Failure {
    match known.first() {
        Some(name) => failure.hint(format!("rlx study use {name}")),
        None => failure.hint("rlx study init"),
    }
}

fn listed(known: &[StudyName]) -> String {
    if known.is_empty() {
        return "none".to_owned();
    }
    known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> StudyName {
        let (task, study) = text.split_once('/').unwrap();
        StudyName { task: task.parse().unwrap(), study: study.parse().unwrap() }
    }

    #[test]
    fn a_study_is_named_by_its_own_name_where_that_is_enough() {
        let known = [study("walk/first"), study("walk/second"), study("run/first")];
        assert_eq!(named("second", &known).unwrap(), known[1]);
        assert_eq!(named("run/first", &known).unwrap(), known[2]);
        let several = named("first", &known).unwrap_err();
        assert_eq!(
            (several.code, several.message.as_str()),
            ("study_ambiguous", "\"first\" matches several studies: walk/first, run/first")
        );
        for unknown in ["third", "walk", "walk/", "../walk/first", ""] {
            let none = named(unknown, &known).unwrap_err();
            assert_eq!(none.code, "study_not_found");
            assert!(none.message.ends_with("walk/first, walk/second, run/first"), "{}", none.message);
        }
        assert!(named("x", &[]).unwrap_err().hints[0].contains("study init"));
    }
}
