//! Which runs are meant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::FsExt;
use rlxp_store::{Index, Project, Run, RunFilter, RunRow};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::select::{RunSeeds, project, runs_and_seeds};

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
        let selected = here.as_ref().ok().map(|here| runs_and_seeds(here, word));
        match selected {
            Some(Ok(runs)) if runs.len() == 1 && words.len() == 1 => return Ok(Which::One(word.clone())),
            Some(Ok(runs)) => {
                for RunSeeds { run, seeds } in runs {
                    if seeds.is_some() {
                        let message = format!("{word:?} names seeds; expected whole runs, or one seed alone");
                        return Err(Failure::usage("part_of_a_run", message));
                    }
                    found.push(with_row(run));
                }
            }
            selected => match (of_folder(context, word)?, selected) {
                (Some(runs), _) => {
                    own = false;
                    found.extend(runs);
                }
                (None, Some(Err(failure))) if !failure.is(FailureKind::RunNotFound) => return Err(failure),
                (None, Some(_)) => return Err(no_runs(word)),
                (None, None) => return Err(project(context).err().unwrap_or_else(|| no_runs(word))),
            },
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
