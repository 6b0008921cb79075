//! Checkpoints by name: a checkpoint's folder, or what names a run or a seed, followed by `:best`, `:latest` or
//! `:step_N`. Without one of these it is the best.

use std::path::{Component, Path};

use rlxp_fs::FsExt;
use rlxp_store::{BEST, LATEST, MANIFEST_FILE, Run, SeedFolder};

use super::{Selected, Which, one, project, select};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// A checkpoint of a run.
#[derive(Clone)]
pub(crate) struct CheckpointRef {
    pub(crate) run: Run,
    pub(crate) folder: SeedFolder,
    pub(crate) step: u64,
}

impl CheckpointRef {
    /// The checkpoint that `text` names. Of a run with several seeds it is that of the best seed, and the second value
    /// says so.
    pub(crate) fn find(context: &Context, text: &str) -> Outcome<(Self, Option<String>)> {
        if let Some(found) = Self::at_path(context, text)? {
            return Ok((found, None));
        }
        let Selected { run, part } = one(&project(context)?, text)?;
        let which = part.checkpoint.unwrap_or(Which::Best);
        match folders(&run, part.seed)?.as_slice() {
            [folder] => Ok((Self { step: step_of(folder, which)?, folder: folder.clone(), run }, None)),
            several => best_seed(&run, several, which),
        }
    }

    /// The checkpoints that `text` names: one of each seed of each run.
    pub(crate) fn each(context: &Context, text: &str) -> Outcome<Vec<Self>> {
        if let Some(found) = Self::at_path(context, text)? {
            return Ok(vec![found]);
        }
        let mut found = Vec::new();
        for Selected { run, part } in select(&project(context)?, text)? {
            for folder in folders(&run, part.seed)? {
                let step = step_of(&folder, part.checkpoint.unwrap_or(Which::Best))?;
                found.push(Self { run: run.clone(), folder, step });
            }
        }
        Ok(found)
    }

    /// The checkpoint in a folder that `text` is the path of. A path into a run's checkpoints always names a
    /// checkpoint, whatever is there.
    fn at_path(context: &Context, text: &str) -> Outcome<Option<Self>> {
        let path = context.folder.join(text);
        let is_in_checkpoints = path.parent().is_some_and(|parent| parent.ends_with("checkpoints"));
        if (is_in_checkpoints && context.fs.metadata_if_any(&path)?.is_some())
            || context.fs.is_file(&path.join(MANIFEST_FILE))?
        {
            return Self::at(context, &path).map(Some);
        }
        Ok(None)
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
        let which = Which::parse(which).ok_or_else(not)?;
        Ok(Self { step: step_of(&folder, which)?, run, folder })
    }
}

/// The seeds of a run, or the one that was named.
fn folders(run: &Run, seed: Option<u64>) -> Outcome<Vec<SeedFolder>> {
    let mut folders = run.seed_folders()?;
    folders.retain(|folder| seed.is_none_or(|seed| folder.seed() == seed));
    Ok(folders)
}

/// The checkpoint of the seed whose best evaluation is the highest; of equal ones the first, and without evaluations
/// the first seed.
fn best_seed(run: &Run, folders: &[SeedFolder], which: Which) -> Outcome<(CheckpointRef, Option<String>)> {
    // A seed that failed before its first checkpoint has nothing to show.
    let scored = folders.iter().filter_map(|folder| {
        let step = step_of(folder, which).ok()?;
        Some((folder, step, best_score(folder)))
    });
    let best = scored.reduce(|best, next| if next.2 > best.2 { next } else { best });
    let Some((folder, step, score)) = best else {
        return Err(folders.first().map_or_else(
            || Failure::usage("no_checkpoint", format!("{} has no seeds", run.name())),
            |first| step_of(first, which).err().unwrap_or_else(|| missing(first, which)),
        ));
    };
    let why = match score {
        Some(score) => format!("its best evaluation, {score:.1}, is the highest"),
        None => "there are no evaluations".to_owned(),
    };
    let name = run.name();
    let note = format!(
        "{name} has {} seeds; using seed {}: {why} ({name}:SEED chooses another)",
        folders.len(),
        folder.seed()
    );
    Ok((CheckpointRef { run: run.clone(), folder: folder.clone(), step }, Some(note)))
}

/// Mean return of the best evaluation during training.
fn best_score(folder: &SeedFolder) -> Option<f64> {
    let name = format!("step_{}", folder.checkpoints().link(BEST).ok()??);
    let evaluations = folder.evaluations().ok()?;
    let evaluation = evaluations.into_iter().find(|evaluation| evaluation.name == name)?;
    evaluation.content.ok()?.get("mean_return")?.as_f64()
}

/// The step of a seed's checkpoint.
pub(crate) fn step_of(folder: &SeedFolder, which: Which) -> Outcome<u64> {
    let store = folder.checkpoints();
    let name = match which {
        // Whether it is there is found out when it is read.
        Which::Step(step) => return Ok(step),
        Which::Best => BEST,
        Which::Latest => LATEST,
    };
    if let Some(step) = store.link(name)? {
        return Ok(step);
    }
    // Without evaluations there is no best checkpoint: use the newest.
    store.link(LATEST)?.ok_or_else(|| missing(folder, which))
}

fn missing(folder: &SeedFolder, which: Which) -> Failure {
    let place = folder.checkpoints().path().display().to_string();
    let failure = Failure::usage("checkpoint_not_found", format!("no checkpoint {which} in {place}"));
    let steps = folder.checkpoints().steps().unwrap_or_default();
    match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => {
            failure.hint(format!("available: {} checkpoints from step_{first} to step_{last}", steps.len()))
        }
        _ => failure.hint("the run has no checkpoint yet; see its progress with rlx ls"),
    }
}
