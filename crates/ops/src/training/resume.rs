//! `rlx resume`: continues a run from its last checkpoint; with more steps than
//! planned it becomes a new run that starts from the end of the old one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rlxp_fs::{FsExt, clock};
use rlxp_spec::config::{Config, Schedule};
use rlxp_store::{End, Lineage, LineageKind, Metadata, Run, TakeOver};
use rlxp_types::text::shell_word;
use rlxp_types::{Digest, EndCause, RunStatus};
use serde::Serialize;

use crate::context::Context;
use crate::event::{Event, Sink};
use crate::failure::{Failure, Outcome};
use crate::select::checkpoint::step_of;
use crate::select::{Which, one_run, project};
use crate::studies::files::{refuse_governed, refuse_governed_at};
use crate::training::bridge::PYTHON;
use crate::training::initial_checkpoint::InitialCheckpoint;
use crate::training::recorded::{STOP_AT, config_of};
use crate::training::train::{Background, create, describe, plan_in, start, sweep};

#[derive(Debug, Serialize)]
pub struct ResumeReport {
    /// The run that was trained: the same one, or the extension.
    pub run: String,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    pub status: RunStatus,
    /// Whether there was nothing to do.
    pub was_complete: bool,
    /// The run that was extended.
    pub extends: Option<String>,
    /// Whether training was started in the background; `status` is `running` then.
    pub detached: bool,
}

/// Continues the run `text`; with `total_timesteps` up to that many steps, with `detach` in the background.
pub fn resume(
    context: &Context,
    text: &str,
    total_timesteps: Option<u64>,
    take_over: TakeOver,
    detach: bool,
    events: Sink<'_>,
) -> Outcome<ResumeReport> {
    refuse_governed(context)?;
    let project = project(context)?;
    let run = one_run(&project, text)?;
    refuse_governed_at(context, run.path())?;
    let mut status = run.status()?.status;
    if status == RunStatus::Unknown && take_over == TakeOver::WhenNotKnownAlive {
        status = displace(&run)?;
    }
    let mut config = config_of(&run)?;
    let report = |run: &Run, status, was_complete, extends| ResumeReport {
        run: run.name(),
        path: run.path().to_owned(),
        status,
        was_complete,
        extends,
        detached: detach && status == RunStatus::Running,
    };
    let background = Background::wanted(detach)?;
    let Some(wanted) = total_timesteps else {
        if status == RunStatus::Completed {
            // Its writer may have been killed after its last event.
            run.fs().remove_abandoned(context.machine.as_ref(), &run.metadata_path());
            return Ok(report(&run, status, true, None));
        }
        let status = start(context, &run, background.as_ref(), events)?;
        return Ok(report(&run, status, false, None));
    };
    if status != RunStatus::Completed {
        let failure = Failure::refused(
            "not_complete",
            format!("{} is {status}; only completed runs can be extended", run.name()),
        );
        return Err(crate::training::next_step::commands(&run).into_iter().fold(failure, Failure::hint));
    }
    let before = config.total_steps();
    if wanted > rlxp_spec::config::MAX_STEPS {
        return Err(Failure::usage(
            "too_long",
            format!("{wanted} steps exceed the limit of {}", rlxp_spec::config::MAX_STEPS),
        ));
    }
    config.algo.set_total_timesteps(wanted);
    let mut origins = Vec::new();
    let mut ends = BTreeSet::new();
    for folder in run.seed_folders()? {
        let saved = folder.checkpoints().load(step_of(&folder, Which::Latest)?)?;
        ends.insert(saved.step);
        origins.push(Some(InitialCheckpoint { model: saved.model, state: Some(saved.state) }));
    }
    // Less than in the config if `--stop-at` ended the run.
    let trained = ends.last().copied().unwrap_or_default();
    if config.total_steps() <= trained {
        let longer = if trained < before { before } else { trained * 2 };
        return Err(Failure::usage(
            "not_longer",
            format!("{} already has {trained} steps; {wanted} would not extend it", run.name()),
        )
        .hint(format!("rlx resume {} --total-timesteps {longer}", shell_word(&run.name()))));
    }
    let checkpoint = Some(trained);
    let mut metadata = describe(context, &project, &config)?;
    let parent = run.metadata()?;
    metadata.lineage = Some(Lineage {
        kind: LineageKind::ResumedExtended,
        parent: run.name(),
        parent_id: Some(parent.id),
        checkpoint,
        seed: None,
        checkpoints: BTreeMap::new(),
        ancestors: extended_before(&parent),
    });
    let (plan, python) = plan_in(context, project.root(), &config)?;
    if let Some(python) = python {
        metadata.extra.insert(PYTHON.into(), python);
    }
    sweep(&project, events);
    for message in plan.notes.iter().cloned() {
        events(Event::Note { message });
    }
    if let Some(score) = run.metadata()?.extra.get(STOP_AT).and_then(serde_json::Value::as_f64) {
        let message = format!("--stop-at {score} of {} does not apply to the extension", run.name());
        events(Event::Note { message });
    }
    for event in ends.into_iter().flat_map(|step| stretched(&config, before, step)) {
        events(event);
    }
    let extended = create(&project, &config, metadata, &plan, &origins)?;
    let status = start(context, &extended, background.as_ref(), events)?;
    Ok(report(&extended, status, false, Some(run.name())))
}

/// Ends the attempt of a process that can't be observed from here, so that the run can be resumed like an interrupted
/// one.
fn displace(run: &Run) -> Outcome<RunStatus> {
    let now = clock::wall_text();
    let claim = run.claim(&now, TakeOver::WhenNotKnownAlive)?;
    let (cause, reason) = (Some(EndCause::Interrupted), Some("taken over with --force".to_owned()));
    claim.end(&End { cause, reason, ..End::new(rlxp_store::Outcome::Interrupted, now) })?;
    Ok(run.status()?.status)
}

/// What an extension changes in the schedules. They run over all steps, so with more steps a value jumps back towards
/// its beginning: `before` is the previous total, `step` is how many are done.
fn stretched(config: &Config, before: u64, step: u64) -> Vec<Event> {
    let (total, rollout) = (config.total_steps(), config.rollout_size());
    if total == before {
        return Vec::new();
    }
    let part = |done: u64, of: u64| done as f64 / of as f64;
    let schedules = config.algo.schedules();
    schedules
        .into_iter()
        .filter(|(_, schedule)| matches!(schedule, Schedule::Linear { from, to, .. } if from != to))
        .map(|(key, schedule)| Event::ScheduleStretched {
            key: key.to_owned(),
            step,
            total,
            // An update uses the value for the steps that were done when it starts.
            last: schedule.at(part(step.saturating_sub(rollout), before)),
            next: schedule.at(part(step, total)),
            end: schedule.at(1.0),
        })
        .collect()
}

/// The runs that this one extends, the nearest first: its extension continues their training too.
fn extended_before(parent: &Metadata) -> Vec<Digest> {
    let extends = parent.lineage.as_ref().filter(|lineage| lineage.kind == LineageKind::ResumedExtended);
    extends.map(Lineage::extended_ids).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rlxp_spec::{Known, Source, load};

    use super::*;

    #[test]
    fn a_longer_run_stretches_its_schedules() {
        let text = "{env: {id: CartPole-v1, num_envs: 4}, algo: {total_timesteps: 2000, rollout_steps: 25, \
                    batch_size: 50, learning_rate: {schedule: linear, from: 0.5, to: 0.1}, clip_range: 0.2}}";
        let known = Known { env_ids: &["CartPole-v1"], cores: 1 };
        let config = load(&Source::new("c.yaml", text), &[], &known).unwrap().config;
        let events = stretched(&config, 1000, 1000);
        let [Event::ScheduleStretched { key, step, total, last, next, end }] = events.as_slice() else {
            panic!("other events: {events:?}")
        };
        assert_eq!((key.as_str(), *step, *total), ("algo.learning_rate", 1000, 2000));
        // Nine tenths of the first 1000 steps were done before the last update; half of 2000 before the next.
        let close = |a: &f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(last, 0.14) && close(next, 0.3) && close(end, 0.1), "{last} {next} {end}");
    }
}
