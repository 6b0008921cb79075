//! What made the runs: commit, uncommitted changes, program, processor, host
//! and origin.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rlxp_launch::git;
use serde::Serialize;

use super::changes::joined;
use super::groups::ComparedGroup;
use crate::context::Context;
use crate::insight::run_data::RunData;
use crate::select::project;

/// Files that are listed one by one.
const MOST_FILES: usize = 30;

/// One thing that made the runs and differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeChange {
    /// What it is, such as `commit`.
    pub what: &'static str,
    pub a: String,
    /// How it was in the other group.
    pub b: String,
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path in the repository.
    pub path: String,
    /// Lines added; null for a binary file.
    pub added: Option<u64>,
    /// Lines removed; null for a binary file.
    pub removed: Option<u64>,
}

/// Files that differ between two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChanges {
    /// From this commit.
    pub from: String,
    pub to: String,
    /// The first files, by path.
    pub files: Vec<FileChange>,
    /// How many more there are.
    pub left_off: usize,
}

/// The repository around the project, asked each question once.
pub(super) struct Repository {
    folder: Option<PathBuf>,
    known: std::cell::RefCell<BTreeMap<(String, String), Option<FileChanges>>>,
}

impl Repository {
    pub(super) fn around(context: &Context) -> Self {
        let folder = project(context).ok().map(|project| project.root().to_owned());
        Self { folder, known: std::cell::RefCell::default() }
    }

    fn files(&self, from: &str, to: &str) -> Option<FileChanges> {
        let key = (from.to_owned(), to.to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let asked = self.folder.as_ref().and_then(|folder| git::changed_files(folder, from, to));
        let found = asked.map(|changed| FileChanges {
            from: from.to_owned(),
            to: to.to_owned(),
            left_off: changed.len().saturating_sub(MOST_FILES),
            files: changed
                .into_iter()
                .take(MOST_FILES)
                .map(|file| FileChange { path: file.path, added: file.added, removed: file.removed })
                .collect(),
        });
        self.known.borrow_mut().insert(key, found.clone());
        found
    }
}

/// A fact about what made a run, as text.
type Fact = fn(&RunData) -> String;

const FACTS: [(&str, Fact); 9] = [
    ("commit", |run| commit_of(run).unwrap_or_else(|| "none".to_owned())),
    ("uncommitted changes", uncommitted),
    ("rlx version", |run| or_unknown(&run.metadata.versions.rlx)),
    ("program", |run| run.metadata.versions.binary.map_or_else(unknown, |digest| digest.short())),
    ("CPU kernels", |run| or_unknown(&run.metadata.cpu_kernels)),
    ("host", |run| or_unknown(&run.metadata.host)),
    ("algorithm", |run| or_unknown(&run.metadata.algo)),
    ("starts from", origin),
    ("stops at", |run| {
        let stop = run.metadata.extra.get(crate::training::recorded::STOP_AT);
        stop.map_or_else(|| "the last step".to_owned(), |value| format!("return {value}"))
    }),
];

/// Changed code, files between the commits, and what is unknown.
pub(super) fn code_changes(
    git: &Repository,
    a: &ComparedGroup<'_>,
    b: &ComparedGroup<'_>,
) -> (Vec<CodeChange>, Option<FileChanges>, Vec<String>) {
    let values =
        |group: &ComparedGroup<'_>, fact: Fact| group.runs.iter().map(fact).collect::<BTreeSet<String>>();
    let code = FACTS
        .iter()
        .filter_map(|(what, fact)| {
            let (a, b) = (values(a, *fact), values(b, *fact));
            (a != b).then(|| CodeChange { what, a: joined(a), b: joined(b) })
        })
        .collect();
    let mut notes = Vec::new();
    let dirty = |group: &ComparedGroup<'_>| {
        group.runs.iter().any(|run| run.metadata.git.as_ref().is_some_and(|git| git.dirty))
    };
    if dirty(a) || dirty(b) {
        notes.push(
            "uncommitted changes are recorded only as a digest, which shows whether they differ but not how"
                .to_owned(),
        );
    }
    let commits =
        |group: &ComparedGroup<'_>| group.runs.iter().map(commit_of).collect::<BTreeSet<Option<String>>>();
    let files = match (single(commits(a)), single(commits(b))) {
        (Some(from), Some(to)) if from != to => {
            let files = git.files(&from, &to);
            if files.is_none() {
                notes.push(
                    "can't show what changed between the commits: they are not both in this repository"
                        .to_owned(),
                );
            }
            files
        }
        _ => None,
    };
    (code, files, notes)
}

/// The commit of a group, when it has exactly one.
fn single(commits: BTreeSet<Option<String>>) -> Option<String> {
    let mut commits = commits.into_iter();
    match (commits.next(), commits.next()) {
        (Some(only), None) => only,
        _ => None,
    }
}

fn commit_of(run: &RunData) -> Option<String> {
    run.metadata.git.as_ref().and_then(|git| git.commit.clone())
}

fn uncommitted(run: &RunData) -> String {
    match &run.metadata.git {
        None => "not in git".to_owned(),
        Some(git) if !git.dirty => "none".to_owned(),
        Some(git) => match (&git.dirty_digest, &git.not_covered) {
            (Some(digest), None) => format!("digest {}", digest.short()),
            (Some(digest), Some(why)) => format!("digest {}, without {why}", digest.short()),
            (None, why) => why.clone().unwrap_or_else(|| "yes, no digest".to_owned()),
        },
    }
}

fn origin(run: &RunData) -> String {
    use rlxp_store::LineageKind::{Reproduced, ResumedExtended, WarmStart};
    match &run.metadata.lineage {
        Some(lineage) if lineage.kind != Reproduced => {
            let how = match lineage.kind {
                WarmStart => "the weights of",
                ResumedExtended | Reproduced => "the end of",
            };
            format!("{how} {}", lineage.parent)
        }
        _ => "scratch".to_owned(),
    }
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { unknown() } else { text.to_owned() }
}

fn unknown() -> String {
    "unknown".to_owned()
}
