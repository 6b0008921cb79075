//! Names of checkpoints: a checkpoint's folder, or a run (by any of its names) followed by `:best`, `:latest` or
//! `:step_N`.

use std::path::{Component, Path};

use rlxp_fs::FsExt;
use rlxp_store::{BEST, LATEST, MANIFEST_FILE, Project, Run, SeedFolder, resolve};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};

/// A checkpoint of a run.
pub(crate) struct CheckpointRef {
    pub(crate) run: Run,
    pub(crate) folder: SeedFolder,
    pub(crate) step: u64,
}

impl CheckpointRef {
    /// The checkpoint that `text` names.
    pub(crate) fn find(context: &Context, text: &str) -> Outcome<Self> {
        let path = context.folder.join(text);
        // A path into a run's checkpoints always names a checkpoint, whatever is there.
        let is_in_checkpoints = path.parent().is_some_and(|parent| parent.ends_with("checkpoints"));
        if (is_in_checkpoints && context.fs.metadata_if_any(&path)?.is_some())
            || context.fs.is_file(&path.join(MANIFEST_FILE))?
        {
            return Self::at(context, &path);
        }
        let (run, which) = match text.rsplit_once(':') {
            Some((run, which)) if which == BEST || which == LATEST || which.starts_with("step_") => {
                (run, which)
            }
            _ => (text, BEST),
        };
        let project = project(context)?;
        let run = resolve(&project, run)?;
        let folders = run.seed_folders()?;
        if let [folder] = folders.as_slice() {
            let step = step_of(folder, which)?;
            return Ok(Self { folder: folder.clone(), step, run });
        }
        Err(Failure::with_kind(
            FailureKind::SeveralSeeds,
            format!("{} has several seeds, so {text} is ambiguous", run.name()),
        )
        .hint(format!(
            "give the folder of one checkpoint, such as {}",
            folders[0].path().join("checkpoints").join(which).display()
        )))
    }

    /// The checkpoint in the folder `path`, or that a run's `best` or `latest` names. The path to the run may contain
    /// links; inside the run none is followed.
    fn at(context: &Context, path: &Path) -> Outcome<Self> {
        let has_dots = path.components().any(|part| part == Component::ParentDir);
        let path = &if has_dots { context.fs.canonicalize(path)? } else { path.to_owned() };
        let not = || {
            Failure::usage(
                "not_a_checkpoint",
                format!("{} is not in the checkpoints folder of a run", path.display()),
            )
        };
        let which = path.file_name().and_then(|name| name.to_str()).ok_or_else(not)?;
        let seed_path = path.parent().and_then(Path::parent).ok_or_else(not)?;
        let run_path = match seed_path.parent() {
            Some(parent) if parent.file_name().is_some_and(|name| name == "seeds") => {
                parent.parent().ok_or_else(not)?
            }
            _ => seed_path,
        };
        let holder = context.fs.canonicalize(run_path.parent().ok_or_else(not)?)?;
        let real_path = holder.join(run_path.file_name().ok_or_else(not)?);
        let seed_path = real_path.join(seed_path.strip_prefix(run_path).map_err(|_| not())?);
        let run = Run::at(context.fs.clone(), context.machine.clone(), &real_path);
        let folder =
            run.seed_folders()?.into_iter().find(|folder| folder.path() == seed_path).ok_or_else(not)?;
        if !(which == BEST || which == LATEST || which.starts_with("step_")) {
            return Err(not());
        }
        Ok(Self { step: step_of(&folder, which)?, run, folder })
    }
}

/// The step that `best`, `latest` or `step_N` refers to.
pub(crate) fn step_of(folder: &SeedFolder, which: &str) -> Outcome<u64> {
    let missing = || {
        let place = folder.checkpoints().path().display().to_string();
        let failure = Failure::usage("checkpoint_not_found", format!("no checkpoint {which} in {place}"));
        let steps = folder.checkpoints().steps().unwrap_or_default();
        match (steps.first(), steps.last()) {
            (Some(first), Some(last)) => failure
                .hint(format!("available: {} checkpoints from step_{first} to step_{last}", steps.len())),
            _ => failure.hint("the run has no checkpoint yet; see its progress with rlx ls"),
        }
    };
    if let Some(digits) = which.strip_prefix("step_") {
        return digits.parse().map_err(|_| missing());
    }
    if let Some(step) = folder.checkpoints().link(which)? {
        return Ok(step);
    }
    // Without evaluations there is no best checkpoint: use the newest.
    folder.checkpoints().link(LATEST)?.ok_or_else(missing)
}

/// The project that the folder belongs to.
pub(crate) fn project(context: &Context) -> Outcome<Project> {
    if context.folder_is_root {
        return Ok(Project::at(context.fs.clone(), context.machine.clone(), &context.folder));
    }
    Ok(Project::find(context.fs.clone(), context.machine.clone(), &context.folder)?)
}
