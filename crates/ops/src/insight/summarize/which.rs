//! Which runs are meant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::FsExt;
use rlxp_store::{Index, Project, Run, RunFilter, RunRow, resolve};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::training::checkpoint_ref::project;

/// The runs that the words name.
pub(super) enum Which {
    /// One run, by the word that names it.
    One(String),
    /// Any number of runs.
    Several(Chosen),
}

/// Runs with the index's rows of them.
pub(super) struct Chosen {
    pub(super) what: String,
    pub(super) runs: Vec<(Run, RunRow)>,
    /// Whether they belong to this project, so that commands can name them.
    pub(super) own: bool,
}

/// The runs that `words` name; the whole project without any.
pub(super) fn which(context: &Context, words: &[String]) -> Outcome<Which> {
    if words.is_empty() {
        let project = project(context)?;
        let what = format!("all runs of {}", project.root().display());
        return Ok(Which::Several(Chosen { what, runs: of_project(&project)?, own: true }));
    }
    let here = project(context);
    let mut found: Vec<(Run, RunRow)> = Vec::new();
    let mut own = true;
    for word in words {
        // A run takes precedence over a folder of the same name.
        let run = here.as_ref().ok().and_then(|here| resolve(here, word).ok());
        if let Some(run) = run {
            if words.len() == 1 {
                return Ok(Which::One(word.clone()));
            }
            found.push(with_row(run));
        } else if let Some(runs) = of_folder(context, word)? {
            own = false;
            found.extend(runs);
        } else {
            let here = match &here {
                Ok(here) => here,
                Err(_) => return Err(project(context).err().unwrap_or_else(|| no_runs(word))),
            };
            found.extend(of_words(here, word)?.into_iter().map(with_row));
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|(run, _)| seen.insert(run.path().to_owned()));
    Ok(Which::Several(Chosen { what: words.join(" "), runs: found, own }))
}

fn no_runs(word: &str) -> Failure {
    Failure::with_kind(FailureKind::RunNotFound, format!("{word:?} is neither a run nor a folder with runs"))
        .hint("rlx ls")
}

/// `tag:TAG` and `A+B`.
fn of_words(here: &Project, word: &str) -> Outcome<Vec<Run>> {
    let mut runs = Vec::new();
    for part in word.split('+') {
        let Some(tag) = part.strip_prefix("tag:") else {
            runs.push(resolve(here, part)?);
            continue;
        };
        let filter = RunFilter { tags: vec![tag.to_owned()], ..RunFilter::default() };
        let rows = Index::open(here).list(&filter)?;
        if rows.is_empty() {
            return Err(Failure::usage("no_such_tag", format!("no run has the tag {tag:?}"))
                .hint("rlx ls --columns name,tags"));
        }
        runs.extend(rows.iter().map(|row| here.run(&row.name)));
    }
    Ok(runs)
}

/// The runs of a folder: a project, its `runs`, or any folder that contains run folders. `None` if it is not a
/// folder.
fn of_folder(context: &Context, word: &str) -> Outcome<Option<Vec<(Run, RunRow)>>> {
    let Ok(folder) = context.fs.canonicalize(&context.folder.join(word)) else { return Ok(None) };
    if !context.fs.is_folder(&folder)? {
        return Ok(None);
    }
    let runs = if context.fs.is_folder(&folder.join("runs"))? {
        of_project(&project_at(context, &folder))?
    } else if let (Some(parent), true) =
        (folder.parent(), folder.file_name().is_some_and(|name| name == "runs"))
    {
        of_project(&project_at(context, parent))?
    } else {
        let is_run =
            |path: &PathBuf| context.fs.is_file(&path.join(rlxp_store::METADATA_FILE)).unwrap_or(false);
        let names = context.fs.list(&folder)?.into_iter().map(|entry| folder.join(entry.name));
        let mut paths: Vec<PathBuf> = names.filter(is_run).collect();
        paths.sort();
        let at =
            |path: &PathBuf| with_row(Run::at(Arc::clone(&context.fs), Arc::clone(&context.machine), path));
        paths.iter().map(at).collect()
    };
    if runs.is_empty() {
        return Err(Failure::usage("no_runs", format!("no runs in {}", folder.display())).hint("rlx ls"));
    }
    Ok(Some(runs))
}

fn project_at(context: &Context, root: &Path) -> Project {
    Project::at(Arc::clone(&context.fs), Arc::clone(&context.machine), root)
}

fn of_project(project: &Project) -> Outcome<Vec<(Run, RunRow)>> {
    let rows = Index::open(project).list(&RunFilter::default())?;
    Ok(rows.into_iter().map(|row| (project.run(&row.name), row)).collect())
}

fn with_row(run: Run) -> (Run, RunRow) {
    let row = RunRow::read(&run);
    (run, row)
}
