//! The run that a user means by its folder, name, id, or a prefix of either that
//! fits only one.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::FsExt;

use crate::run::METADATA_FILE;
use crate::{Index, Project, Run, RunFilter, RunRow, StoreError};

/// Shorter texts are not taken for the beginning of an id.
const SHORTEST_ID_PREFIX: usize = 4;
/// How many candidates an error names.
const MOST_CANDIDATES: usize = 10;

/// The run that `text` names.
pub fn resolve(project: &Project, text: &str) -> Result<Run, StoreError> {
    let run = find(project, text)?;
    // Such a name in a command means something else: an option, or another run.
    let name = run.name();
    if name.starts_with(['-', '@']) {
        return Err(StoreError::BadRunName { path: run.path().to_owned() });
    }
    Ok(run)
}

fn find(project: &Project, text: &str) -> Result<Run, StoreError> {
    let is_name = !text.is_empty() && !text.contains('/') && !text.starts_with('.');
    if is_name && project.fs().is_file(&project.runs_dir().join(text).join(METADATA_FILE))? {
        return Ok(project.run(text));
    }
    if let Some(run) = run_at(project, Path::new(text))? {
        return Ok(run);
    }
    let rows = Index::open(project).list(&RunFilter::default())?;
    // A whole name comes first, even of a run so damaged that it has no metadata.
    if let Some(row) = rows.iter().find(|row| row.name == text) {
        return Ok(project.run(&row.name));
    }
    let mut fitting: Vec<&RunRow> = rows.iter().filter(|row| fits(row, text)).collect();
    match fitting.as_slice() {
        [row] => Ok(project.run(&row.name)),
        [] => Err(StoreError::NoSuchRun { text: text.to_owned(), nearest: nearest(&rows, text) }),
        _ => {
            fitting.truncate(MOST_CANDIDATES);
            let candidates = fitting.iter().map(|row| row.name.clone()).collect();
            Err(StoreError::Ambiguous { text: text.to_owned(), candidates })
        }
    }
}

fn fits(row: &RunRow, text: &str) -> bool {
    let by_id = text.len() >= SHORTEST_ID_PREFIX
        && row.id.is_some_and(|id| id.to_string().starts_with(&text.to_ascii_lowercase()));
    !text.is_empty() && (row.name.starts_with(text) || by_id)
}

/// The run in a folder given as a path.
fn run_at(project: &Project, path: &Path) -> Result<Option<Run>, StoreError> {
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let fs = project.plain_fs();
    // A link to a run below `runs/` is refused like one named without its path.
    let parent =
        path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let real = |path: &Path| fs.canonicalize(path).ok();
    let is_own = parent.and_then(real).is_some_and(|parent| real(&project.runs_dir()) == Some(parent));
    if let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| is_own) {
        let run = project.run(name);
        return Ok(run.fs().is_file(&run.metadata_path())?.then_some(run));
    }
    let Ok(folder) = fs.canonicalize(path) else { return Ok(None) };
    let run = Run::at(Arc::clone(fs), Arc::clone(project.machine()), &folder);
    Ok(run.fs().is_file(&run.metadata_path())?.then_some(run))
}

fn nearest(rows: &[RunRow], text: &str) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = rows
        .iter()
        .map(|row| (strsim::jaro_winkler(&row.name, text), row.name.as_str()))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}
