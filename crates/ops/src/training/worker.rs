//! The training child: claims the run, trains its seeds in parallel, and records how it ended. It reports to the
//! supervisor in [`Event`]s.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

use rlxp_fs::clock;
use rlxp_launch::{Interrupts, Permit};
use rlxp_spec::Config;
use rlxp_store::{Claim, End, Run, SeedFolder, TakeOver};
use rlxp_types::{EndCause, Exit};

use crate::context::Context;
use crate::event::{Event, WorkerOutcome};
use crate::failure::{Failure, Outcome};
use crate::training::bridge::{PROJECT, Python, WORKERS};
use crate::training::recorded::{STOP_AT, config_of};
use crate::training::session::{Job, SeedEnd, train_seed};
use crate::training::supervised::{STOPPED_BEFORE, stopped_by_user};

/// Most failed seeds that a message names; the record has all of them.
const MOST_TOLD: usize = 10;

/// Trains the run in `folder` to its end; with `only_first`, only if no other process has claimed it before. Returns
/// the exit code of the process; everything else is reported through `emit`.
pub fn work(context: &Context, folder: &Path, only_first: bool, emit: &(dyn Fn(Event) + Sync)) -> Exit {
    let result = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen for signals: {error}")))
        .and_then(|interrupts| claimed(context, folder, only_first, emit, &|| interrupts.requested()));
    let (outcome, exit, failure) = match result {
        Ok(WorkerOutcome::Interrupted) => (WorkerOutcome::Interrupted, Exit::Interrupted, None),
        Ok(outcome) => (outcome, Exit::Yes, None),
        Err(failure) => (WorkerOutcome::Failed, failure.exit, Some(failure)),
    };
    let (reason, hints) = failure.map_or((None, Vec::new()), |f| (Some(f.message), f.hints));
    emit(Event::Ended { outcome, exit: exit.code(), reason, hints });
    exit
}

fn claimed(
    context: &Context,
    folder: &Path,
    only_first: bool,
    emit: &(dyn Fn(Event) + Sync),
    stop_requested: &(dyn Fn() -> bool + Sync),
) -> Outcome<WorkerOutcome> {
    let permit = crate::studies::files::permit_worker(context, folder)?;
    let run = Run::at(context.fs.clone(), context.machine.clone(), folder);
    let config = config_of(&run)?;
    let claim = run.claim(&clock::wall_text(), TakeOver::WhenProvenGone)?;
    if only_first && claim.attempt() > 1 {
        // `rlx stop` was faster: it ended the first attempt before there was one.
        claim.end(&stopped_by_user(STOPPED_BEFORE))?;
        return Ok(WorkerOutcome::Interrupted);
    }
    let (result, failed) = match train_all(context, permit, &run, &config, &claim, emit, stop_requested) {
        Ok(ends) => (summary(&ends), failures(ends)),
        Err(failure) => (Err(failure), Vec::new()),
    };
    let now = clock::wall_text();
    let (end, exit) = match &result {
        Ok((outcome, steps)) => {
            let (outcome, cause, exit) = match outcome {
                WorkerOutcome::Completed => (rlxp_store::Outcome::Completed, None, Exit::Yes),
                _ => (rlxp_store::Outcome::Interrupted, Some(EndCause::Interrupted), Exit::Interrupted),
            };
            (End { cause, steps: Some(*steps), ..End::new(outcome, now) }, exit)
        }
        Err(failure) => {
            let (cause, reason) = (Some(failure.cause), Some(reason(failure)));
            (End { cause, reason, ..End::new(rlxp_store::Outcome::Failed, now) }, failure.exit)
        }
    };
    let written = claim.end(&End {
        exit_code: Some(i32::from(exit.code())),
        seeds: failed.iter().map(|(seed, failure)| (*seed, reason(failure))).collect(),
        seed_causes: failed.iter().map(|(seed, failure)| (*seed, failure.cause)).collect(),
        ..end
    });
    // A training failure explains more than the storage error that may follow it.
    let (outcome, _) = result?;
    written?;
    Ok(outcome)
}

/// Trains every seed; in parallel if there are enough cores.
fn train_all(
    context: &Context,
    permit: Permit,
    run: &Run,
    config: &Config,
    claim: &Claim,
    emit: &(dyn Fn(Event) + Sync),
    stop_requested: &(dyn Fn() -> bool + Sync),
) -> Outcome<Vec<Ended>> {
    let metadata = run.metadata()?;
    let folders = run.seed_folders_of(&metadata);
    emit(Event::Planned { seeds: folders.len(), total: config.total_steps() });
    let stop_at = metadata.extra.get(STOP_AT).and_then(serde_json::Value::as_f64);
    let lanes = config.threads.clamp(1, folders.len().max(1));
    // A storage failure affects all seeds; a divergence only its own.
    let storage_failed = AtomicBool::new(false);
    let stop = || stop_requested() || storage_failed.load(Ordering::Relaxed);
    let algorithm = rlxp_learn::algorithm(config);
    let chosen = metadata.extra.get(WORKERS).and_then(serde_json::Value::as_u64);
    let workers = chosen.map_or(config.threads / lanes, |workers| workers as usize);
    let elsewhere = metadata.extra.get(PROJECT).and_then(serde_json::Value::as_str).map(Path::new);
    let around = run.path().parent().and_then(Path::parent);
    let root = elsewhere.or(around).unwrap_or(run.path());
    let python = Python::new(permit, context, root, &config.env, workers)?;
    let table = python.table();
    let job = Job {
        config,
        algorithm,
        sources: rlxp_env::Sources::new(&table),
        threads: config.threads / lanes,
        stop_at,
        claim,
        stop_requested: &stop,
        emit,
    };
    let queue = Mutex::new(folders.iter());
    let ends: Mutex<Vec<Ended>> = Mutex::new(Vec::new());
    let lane = || {
        loop {
            let next: Option<&SeedFolder> =
                queue.lock().expect("no lane panics while it holds the queue").next();
            let Some(folder) = next else { break };
            let end = train_seed(&job, folder);
            if let Err(failure) = &end {
                emit(Event::SeedFailed { seed: folder.seed(), reason: failure.message.clone() });
            }
            if end.as_ref().is_err_and(|failure| failure.exit == Exit::Storage) {
                storage_failed.store(true, Ordering::Relaxed);
            }
            ends.lock().expect("no lane panics while it holds the list").push((folder.seed(), end));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..lanes {
            // Without a free thread this is slower, and that is all.
            if Builder::new().spawn_scoped(scope, lane).is_err() {
                break;
            }
        }
        lane();
    });
    let mut ends = ends.into_inner().expect("no lane panics while it holds the list");
    ends.sort_by_key(|(seed, _)| *seed);
    Ok(ends)
}

/// A seed, and how it ended or why it failed.
type Ended = (u64, Outcome<SeedEnd>);

/// A failure as it is recorded.
fn reason(failure: &Failure) -> String {
    format!("{}: {}", failure.code, failure.message)
}

/// The seeds that failed.
fn failures(ends: Vec<Ended>) -> Vec<(u64, Failure)> {
    ends.into_iter().filter_map(|(seed, end)| Some((seed, end.err()?))).collect()
}

/// Combines the seeds' ends: all failures with the exit code of the worst, or all steps together.
fn summary(ends: &[Ended]) -> Outcome<(WorkerOutcome, u64)> {
    let (mut outcome, mut steps) = (WorkerOutcome::Completed, 0);
    for end in ends.iter().filter_map(|(_, end)| end.as_ref().ok()) {
        steps += end.steps;
        if end.outcome == WorkerOutcome::Interrupted {
            outcome = WorkerOutcome::Interrupted;
        }
    }
    let mut failures: Vec<(u64, &Failure)> =
        ends.iter().filter_map(|(seed, end)| Some((*seed, end.as_ref().err()?))).collect();
    failures.sort_by_key(|(_, failure)| failure.exit != Exit::Storage);
    let Some((_, worst)) = failures.first() else { return Ok((outcome, steps)) };
    let message = if ends.len() == 1 {
        worst.message.clone()
    } else {
        let told = |(seed, one): &(u64, &Failure)| format!("seed {seed}: {}", one.message);
        let each: Vec<String> = failures.iter().take(MOST_TOLD).map(told).collect();
        let more = match failures.len().saturating_sub(MOST_TOLD) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("{} of {} seeds failed: {}{more}", failures.len(), ends.len(), each.join("; "))
    };
    let mut failure = Failure::new(worst.exit, worst.code, message);
    failure.cause = worst.cause;
    failure.hints.clone_from(&worst.hints);
    Err(failure)
}
