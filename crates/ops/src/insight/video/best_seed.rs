//! A run of several seeds has several best checkpoints: the best of these.

use rlxp_store::{BEST, SeedFolder, resolve};

use crate::context::Context;
use crate::failure::{FailureKind, Outcome};
use crate::training::checkpoint_ref::{CheckpointRef, project, step_of};

/// The checkpoint that `text` names, and what to say about the choice when the
/// run has several seeds. Only a run's best can be chosen among seeds.
pub(super) fn find(context: &Context, text: &str) -> Outcome<(CheckpointRef, Option<String>)> {
    let failure = match CheckpointRef::find(context, text) {
        Ok(found) => return Ok((found, None)),
        Err(failure) => failure,
    };
    let which = text.rsplit_once(':').map(|(_, which)| which);
    if !failure.is(FailureKind::SeveralSeeds)
        || which.is_some_and(|which| which.starts_with("step_") || which == "latest")
    {
        return Err(failure);
    }
    let name = text.strip_suffix(&format!(":{BEST}")).unwrap_or(text);
    let run = resolve(&project(context)?, name)?;
    let folders = run.seed_folders()?;
    let seeds = folders.len();
    // A seed that failed before its first checkpoint has nothing to show.
    let scored = folders.into_iter().filter_map(|folder| {
        let step = step_of(&folder, BEST).ok()?;
        let score = score(&folder, step);
        Some((folder, step, score))
    });
    // Of equal ones the first; without evaluations that is the first seed.
    let best = scored.reduce(|best, next| if next.2 > best.2 { next } else { best });
    let Some((folder, step, score)) = best else { return Err(failure) };
    let why = match score {
        Some(score) => format!("its best evaluation, {score:.1}, is the highest"),
        None => "there are no evaluations".to_owned(),
    };
    let note = format!("{} has {seeds} seeds; showing seed {}: {why}", run.name(), folder.seed());
    Ok((CheckpointRef { run, folder, step }, Some(note)))
}

/// Mean return of the evaluation during training at that step.
fn score(folder: &SeedFolder, step: u64) -> Option<f64> {
    let name = format!("step_{step}");
    let evaluations = folder.evaluations().ok()?;
    let evaluation = evaluations.into_iter().find(|evaluation| evaluation.name == name)?;
    evaluation.content.ok()?.get("mean_return")?.as_f64()
}
