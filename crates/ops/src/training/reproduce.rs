//! `rlx reproduce`: trains a run again from its snapshot and reports whether the bytes are the same, or what differs
//! and possible reasons.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_store::{Lineage, LineageKind, Metadata, Project, Run};
use rlxp_types::RunStatus;
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::event::Sink;
use crate::failure::{Failure, Outcome};
use crate::select::{one_run, project};
use crate::studies::files::{refuse_governed, refuse_governed_at};
use crate::training::bridge::{PROJECT, PYTHON};
use crate::training::initial_checkpoint::InitialCheckpoint;
use crate::training::recorded::STOP_AT;
use crate::training::recorded::config_of;
use crate::training::same_bytes::{Difference, differences};
use crate::training::supervise::supervise;
use crate::training::train::{create, describe, plan_in, sweep};

#[derive(Debug, Serialize)]
pub struct ReproduceReport {
    pub run: String,
    /// Whether every byte that training determines is the same.
    pub same: bool,
    pub differences: Vec<Difference>,
    /// What changed since the run was trained.
    pub changed: Vec<String>,
    /// Checkpoints that were compared.
    pub checkpoints: usize,
    /// Where the second training is, if it was kept.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub kept: Option<PathBuf>,
}

/// Trains `text` again, with another thread count if given.
pub fn reproduce(
    context: &Context,
    text: &str,
    threads: Option<usize>,
    keep: bool,
    events: Sink<'_>,
) -> Outcome<ReproduceReport> {
    refuse_governed(context)?;
    let home = project(context)?;
    let original = one_run(&home, text)?;
    refuse_governed_at(context, original.path())?;
    let status = original.status()?.status;
    if status != RunStatus::Completed {
        let failure = Failure::refused(
            "not_complete",
            format!("{} is {status}; only completed runs can be reproduced", original.name()),
        );
        return Err(crate::training::next_step::commands(&original).into_iter().fold(failure, Failure::hint));
    }
    let mut config = config_of(&original)?;
    if let Some(threads) = threads {
        config.threads = threads;
    }
    let recorded = original.metadata()?;
    let mut metadata = describe(context, &home, &config)?;
    metadata.host = context.machine.host();
    metadata.lineage = Some(Lineage {
        kind: LineageKind::Reproduced,
        parent: original.name(),
        parent_id: Some(recorded.id),
        checkpoint: None,
        seed: None,
        checkpoints: BTreeMap::new(),
        ancestors: Vec::new(),
    });
    if let Some(wanted) = recorded.extra.get(STOP_AT) {
        metadata.extra.insert(STOP_AT.into(), wanted.clone());
    }
    let (plan, python) = plan_in(context, home.root(), &config)?;
    if let Some(python) = python {
        metadata.extra.insert(PYTHON.into(), python);
        let root = home.root().display().to_string();
        metadata.extra.insert(PROJECT.into(), root.into());
    }
    let changed = changes(&recorded, &metadata);
    let mut origins = Vec::new();
    for folder in original.seed_folders()? {
        origins.push(InitialCheckpoint::read(&folder, &original)?);
    }
    sweep(&home, events);
    // Hidden from `ls` and `@last` unless it is kept, and under a name that is removed if this process is killed.
    let place = home.temporary("reproduce");
    let project =
        if keep { home.clone() } else { Project::at(context.fs.clone(), context.machine.clone(), &place) };
    let compared = create(&project, &config, metadata, &plan, &origins)
        .and_then(|run| compare(context, &original, &run, events).map(|found| (run, found)));
    let kept = match (&compared, keep) {
        (Ok((run, _)), true) => Some(run.path().to_owned()),
        (_, true) => None,
        (_, false) => {
            let removed = home.fs().remove_dir_all(&place);
            if compared.is_ok() {
                removed?;
            }
            None
        }
    };
    let (_, (differences, checkpoints)) = compared?;
    Ok(ReproduceReport {
        run: original.name(),
        same: differences.is_empty(),
        differences,
        changed,
        checkpoints,
        kept,
    })
}

fn compare(
    context: &Context,
    original: &Run,
    run: &Run,
    events: Sink<'_>,
) -> Outcome<(Vec<Difference>, usize)> {
    match supervise(context, run, events)? {
        RunStatus::Completed => {}
        _ => {
            return Err(Failure::new(
                rlxp_types::Exit::Interrupted,
                "interrupted",
                "the reproduction was interrupted",
            ));
        }
    }
    let mut checkpoints = 0;
    for folder in original.seed_folders()? {
        checkpoints += folder.checkpoints().steps()?.len();
    }
    Ok((differences(original, run)?, checkpoints))
}

/// What changed since then.
fn changes(then: &Metadata, now: &Metadata) -> Vec<String> {
    let mut changed = python_changes(then.extra.get(PYTHON), now.extra.get(PYTHON));
    if then.versions.binary != now.versions.binary {
        changed.push(format!("the rlx program (was {}, is {})", then.versions.rlx, now.versions.rlx));
    }
    if then.cpu_kernels != now.cpu_kernels {
        changed.push(format!("the CPU kernels (were {}, are {})", then.cpu_kernels, now.cpu_kernels));
    }
    if then.host != now.host && !then.host.is_empty() {
        changed.push(format!("the machine (was {})", then.host));
    }
    if then.git != now.git {
        changed.push("the project's code in git".to_owned());
    }
    changed
}

/// What changed in the Python of the environment: packages, source files, spaces.
pub(crate) fn python_changes(then: Option<&Value>, now: Option<&Value>) -> Vec<String> {
    let (Some(then), Some(now)) = (then, now) else { return Vec::new() };
    let mut changed = Vec::new();
    let tables = |key: &str| (then[key].as_object(), now[key].as_object());
    if let (Some(before), Some(after)) = tables("versions") {
        for (name, version) in before.iter().filter(|(name, version)| after.get(*name) != Some(version)) {
            let now = after.get(name).and_then(Value::as_str).unwrap_or("missing");
            changed
                .push(format!("Python's {name} (was {}, is {now})", version.as_str().unwrap_or("unknown")));
        }
    }
    if let (Some(before), Some(after)) = tables("sources") {
        let other = before.iter().filter(|(file, digest)| after.get(*file) != Some(digest));
        changed.extend(other.map(|(file, _)| format!("the source of its environment, {file}")));
    }
    for (key, what) in [("observation_space", "observation space"), ("action_space", "action space")] {
        if then[key] != now[key] {
            changed.push(format!("the {what} of its environment"));
        }
    }
    changed
}
