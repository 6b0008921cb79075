//! `rlx resume`: goes on with a run exactly where it stands; with more steps
//! than planned it becomes a new run that starts from the old one's end.

use std::path::PathBuf;

use rlxp_store::{Lineage, LineageKind, resolve};
use rlxp_types::RunStatus;
use serde::Serialize;

use crate::checkpoint_ref::{project, step_of};
use crate::context::Context;
use crate::event::{Event, Sink};
use crate::failure::{Failure, Outcome};
use crate::origin::Origin;
use crate::study;
use crate::train::{create, describe, plan, start, sweep};
use crate::worker::snapshot;

/// What came of it.
#[derive(Debug, Serialize)]
pub struct ResumeReport {
    /// The run that was trained: the same one, or the extension.
    pub run: String,
    /// Its folder.
    pub path: PathBuf,
    /// How it stands.
    pub status: RunStatus,
    /// Whether there was anything to do.
    pub was_complete: bool,
    /// The run that was extended.
    pub extends: Option<String>,
}

/// Goes on with `text`; with `total_timesteps` up to that many steps.
pub fn resume(
    context: &Context,
    text: &str,
    total_timesteps: Option<u64>,
    events: Sink<'_>,
) -> Outcome<ResumeReport> {
    study::guard(context)?;
    let project = project(context)?;
    let run = resolve(&project, text)?;
    study::guard_at(context, run.path())?;
    let status = run.status()?.status;
    let mut config = snapshot(&run)?;
    let report = |run: &rlxp_store::Run, status, was_complete, extends| ResumeReport {
        run: run.name(),
        path: run.path().to_owned(),
        status,
        was_complete,
        extends,
    };
    let Some(wanted) = total_timesteps else {
        if status == RunStatus::Completed {
            return Ok(report(&run, status, true, None));
        }
        let status = start(&run, events)?;
        return Ok(report(&run, status, false, None));
    };
    if status != RunStatus::Completed {
        return Err(Failure::refused(
            "not_complete",
            format!("{} is {status}: finish it before it is extended", run.name()),
        )
        .hint(format!("rlx resume {}", run.name())));
    }
    let before = config.total_steps();
    if wanted > rlxp_spec::config::MAX_STEPS {
        return Err(Failure::usage(
            "too_long",
            format!("{wanted} steps are more than the {} that a run may have", rlxp_spec::config::MAX_STEPS),
        ));
    }
    config.algo.total_timesteps = wanted;
    if config.total_steps() <= before {
        return Err(Failure::usage(
            "not_longer",
            format!("{} has {before} steps already; {wanted} would not extend it", run.name()),
        )
        .hint(format!("rlx resume {} --total-timesteps {}", run.name(), before * 2)));
    }
    let mut origins = Vec::new();
    let mut checkpoint = None;
    for folder in run.seed_folders()? {
        let saved = folder.checkpoints().load(step_of(&folder, rlxp_store::LATEST)?)?;
        checkpoint = Some(saved.step);
        origins.push(Some(Origin { model: saved.model, state: Some(saved.state) }));
    }
    let mut metadata = describe(context, &project, &config)?;
    metadata.lineage = Some(Lineage {
        kind: LineageKind::ResumedExtended,
        parent: run.name(),
        parent_id: Some(run.metadata()?.id),
        checkpoint,
    });
    let plan = plan(&config)?;
    sweep(&project, events);
    for message in plan.notes.iter().cloned() {
        events(Event::Note { message });
    }
    let extended = create(&project, &config, metadata, &plan, &origins)?;
    let status = start(&extended, events)?;
    Ok(report(&extended, status, false, Some(run.name())))
}
