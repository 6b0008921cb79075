//! Records runs that have ended in the ledger: from what their supervisor wrote, or from the proof that it is gone.
//! Any process may do this at any time, repeatedly.

use rlxp_fs::{Fs, FsExt, Machine};
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{Device, Phase, Slug, StepName};
use rlxp_govern::ledger::attempts::Side;
use rlxp_govern::ledger::event::{Completed, Launched, RunEnded};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::{CandidateState, RunEnd, RunState};
use rlxp_govern::queue::Queue;
use rlxp_govern::view::Study;
use rlxp_launch::order::{RunOrder, StepEnd, Usage};
use rlxp_launch::supervise::pulse;
use rlxp_store::{Liveness, Writer};
use rlxp_types::Digest;

use super::claim::claimant;
use super::files::{self, EndFile};
use super::run_order::confinement;
use crate::context::Context;
use crate::failure::{FailureKind, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};

/// How often a ledger that others add to is read again.
const TRIES: usize = 50;
/// Orders are small.
const LONGEST_ORDER: u64 = 16 << 20;

/// The actual state of a run that the ledger doesn't have as ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Real {
    /// A process is still starting it.
    Starting,
    Running,
    Over(Box<RunEnded>),
    /// An external runtime runs it; its results will be received.
    External,
    /// Unknown here: it was started on another machine, or its files are elsewhere.
    Unknown,
}

/// Determines the actual state of a run.
pub(super) fn real(context: &Context, study: &Study, place: &LaunchPaths, run: &RunRecord) -> Outcome<Real> {
    if run.intent.external.is_some() {
        return Ok(Real::External);
    }
    let (fs, machine) = (context.fs.as_ref(), context.machine.as_ref());
    let place = place.run(&run.intent.key);
    let is_running = run.state == RunState::Running;
    // Check the owner before the end: a supervisor writes the end before it exits.
    let owner = if is_running { files::read::<Writer>(fs, &place.shim())? } else { claimant(fs, &place)? };
    let owner = owner.map(|writer| writer.liveness(machine));
    if let Some(end) = files::read::<EndFile>(fs, &place.end())? {
        return Ok(Real::Over(Box::new(ended(study, run, end))));
    }
    let key = run.intent.key.clone();
    Ok(match owner {
        Some(Liveness::Alive) if is_running => Real::Running,
        Some(Liveness::Alive) => Real::Starting,
        Some(Liveness::Unknown) => Real::Unknown,
        // A supervisor that never got the signal to start runs nothing and exits as soon as it notices.
        Some(Liveness::Gone) | None if !is_running => {
            let reason = "launch ended before the run started";
            Real::Over(Box::new(lost(study, key, reason, Usage::default(), Some(false))))
        }
        None => without_supervisor(run, machine, fs.metadata_if_any(&place.cancel())?.is_some()),
        Some(Liveness::Gone) => {
            let usage = pulse(place.path()).unwrap_or_default();
            let reason = "its supervisor and all its processes have ended";
            Real::Over(Box::new(lost(study, key, reason, usage, had_trained(fs, &place))))
        }
    })
}

/// A run that the ledger has as running but whose supervisor left no files here, although they are written first: its
/// files are elsewhere, it is on another machine, or the files were removed. Whether it succeeded is then unknown,
/// and an unknown end doesn't count as lost, since a lost run may be repeated. If it was cancelled, it counts as
/// cancelled.
fn without_supervisor(run: &RunRecord, machine: &dyn Machine, is_cancelled: bool) -> Real {
    let goes = run.launched.as_ref().is_some_and(|launched| {
        launched.boot == machine.boot_id()
            && machine.process_start(launched.process) == Some(launched.started)
    });
    match (goes, is_cancelled) {
        (true, _) => Real::Running,
        (false, false) => Real::Unknown,
        (false, true) => Real::Over(Box::new(RunEnded {
            key: run.intent.key.clone(),
            end: RunEnd::Cancelled,
            reason: "it was cancelled, and all its processes have ended".to_owned(),
            // The actual usage is unknown.
            spent: run.intent.reserve,
            killed_by: None,
            not_evidence: None,
            after_training: None,
            manifest: None,
            confinement: None,
            executable_output: None,
        })),
    }
}

fn ended(study: &Study, run: &RunRecord, end: EndFile) -> RunEnded {
    let killed_by = killed_by(&end, study.state().side_of(&run.intent.candidate));
    RunEnded {
        key: run.intent.key.clone(),
        end: end.end,
        reason: end.reason,
        spent: spent(study, end.end, &end.usage),
        killed_by,
        not_evidence: end.not_evidence,
        after_training: end.after_training,
        manifest: end.manifest,
        confinement: end.level.map(confinement),
        executable_output: end.executable_output,
    }
}

/// The signal that killed a run that failed: what ended its program, and in the reference also what a shell or another
/// wrapper reports of its child as an exit code above 128.
///
/// Such a code may mean either, so it is read in the way that gains nothing. In the reference, killing a child must not
/// lower the bar: the seed runs again. A judged run has the failure score in both cases, and its own code could return
/// 137 where it does badly to count like the best seed later, once its set is the reference: there it failed by itself.
fn killed_by(end: &EndFile, side: Side) -> Option<i32> {
    let last = end.steps.last().filter(|_| end.end == RunEnd::Failed)?;
    let by_code =
        || last.code.and_then(|code| code.checked_sub(128)).filter(|signal| (1..=64).contains(signal));
    last.signal.or_else(|| if side == Side::Reference { by_code() } else { None })
}

/// Whether training had succeeded when the supervisor was killed: it writes the end of each step right after it.
pub(super) fn had_trained(fs: &dyn Fs, place: &RunPaths) -> Option<bool> {
    let mut steps = Vec::new();
    for name in [StepName::Train, StepName::Smoke] {
        // One that can't be read may be either.
        steps.extend(files::read::<StepEnd>(fs, &place.step(&format!("{name}.json"))).ok()?);
    }
    Some(files::has_trained(&steps))
}

/// A lost run is counted: before training has ended, it may be repeated once.
fn lost(study: &Study, key: String, reason: &str, usage: Usage, after_training: Option<bool>) -> RunEnded {
    RunEnded {
        key,
        end: RunEnd::Lost,
        reason: reason.to_owned(),
        spent: spent(study, RunEnd::Lost, &usage),
        killed_by: None,
        not_evidence: None,
        after_training,
        manifest: None,
        confinement: None,
        executable_output: None,
    }
}

/// What a run costs; seconds are rounded up.
pub(super) fn spent(study: &Study, end: RunEnd, usage: &Usage) -> Amounts {
    if end == RunEnd::Blocked {
        return Amounts::default();
    }
    let seconds = if usage.wall_clock.is_finite() { usage.wall_clock.max(0.0).ceil() as u64 } else { 0 };
    let gpus = study.contract().map_or(0, |contract| match contract.hardware.device {
        Device::Gpu => u64::from(contract.hardware.gpus),
        Device::Cpu => 0,
    });
    Amounts { runs: 1, wall_clock: seconds, gpu_time: seconds.saturating_mul(gpus), disk: usage.disk }
}

/// Records every run that has ended and isn't recorded yet, then every candidate whose plan is complete.
pub(crate) fn reconcile(context: &Context, opened: &mut OpenStudy) -> Outcome<Vec<RunEnded>> {
    let place = LaunchPaths::for_study(opened)?;
    let (mut settled, mut tries) = (Vec::new(), 0);
    loop {
        match settle_next(context, opened, &place) {
            Ok(None) => return Ok(settled),
            Ok(Some(Settled::Run(ended))) => settled.push(*ended),
            Ok(Some(Settled::Candidate)) => {}
            // Another process appends to the ledger too, perhaps the same records: read it again. `Impossible` is the
            // end of a run whose intent alone was read, because it started and ended since then.
            Err(failure)
                if tries < TRIES && (failure.is_contention() || failure.is(FailureKind::Impossible)) =>
            {
                tries += 1;
                *opened = OpenStudy::at(context, opened.place.clone())?;
            }
            Err(failure) => return Err(failure),
        }
    }
}

enum Settled {
    Run(Box<RunEnded>),
    Candidate,
}

/// Records one thing, based on the ledger as it was read; `None` if everything is recorded.
fn settle_next(context: &Context, opened: &mut OpenStudy, place: &LaunchPaths) -> Outcome<Option<Settled>> {
    let live: Vec<RunRecord> = opened.study.state().live().into_iter().cloned().collect();
    for run in live {
        if let Real::Over(ended) = real(context, &opened.study, place, &run)? {
            rlxp_launch::crash::point("launch:end_seen");
            let place = place.run(&run.intent.key);
            point(context, opened, &place, &run)?;
            record_start(context, opened, &place, &run, ended.end)?;
            opened.append(Actor::Rlx, Event::RunEnded((*ended).clone()))?;
            rlxp_launch::crash::point("launch:end_recorded");
            if ended.end == RunEnd::Lost {
                clear_away(context.fs.as_ref(), &place);
            }
            return Ok(Some(Settled::Run(ended)));
        }
    }
    let Some(candidate) = over(&opened.study).into_iter().next() else { return Ok(None) };
    rlxp_launch::crash::point("launch:completing");
    opened.append(Actor::Rlx, Event::Completed(Completed { candidate }))?;
    Ok(Some(Settled::Candidate))
}

/// A ledger that was restored may have the intent alone; the file that names the supervisor proves that the run started,
/// and without that its end can't be recorded.
fn record_start(
    context: &Context,
    opened: &mut OpenStudy,
    place: &RunPaths,
    run: &RunRecord,
    end: RunEnd,
) -> Outcome<()> {
    if run.state.to(RunState::Ended(end)).is_ok() {
        return Ok(());
    }
    let Some(writer) = files::read::<Writer>(context.fs.as_ref(), &place.shim())? else { return Ok(()) };
    let launched = Launched {
        key: run.intent.key.clone(),
        boot: writer.boot_id,
        process: writer.pid,
        started: writer.process_start,
        external: None,
    };
    opened.append(Actor::Rlx, Event::Launched(launched)).map(drop)
}

/// Removes what a killed supervisor couldn't. Failing to is harmless.
fn clear_away(fs: &dyn Fs, place: &RunPaths) {
    let order = fs.read(&place.order(), LONGEST_ORDER).ok();
    let order = order.and_then(|bytes| RunOrder::from_bytes(&bytes, Digest::hash(&bytes)).ok());
    if let Some(order) = order {
        rlxp_launch::supervise::sweep(&order);
    }
    place.reserves().iter().for_each(|reserve| drop(fs.remove_file(reserve)));
}

/// Writes a pointer from the study to the run's folder, for people.
fn point(context: &Context, opened: &OpenStudy, place: &RunPaths, run: &RunRecord) -> Outcome<()> {
    let pointer = serde_json::json!({ "key": run.intent.key, "folder": place.path() });
    let path = opened.place.runs().join(format!("{}.json", run.intent.key));
    Ok(context.fs.write_atomic(&path, &files::bytes(&pointer))?)
}

/// Launched candidates without runs left. After a short phase the next step depends on its metrics, so those are
/// waited for.
fn over(study: &Study) -> Vec<Slug> {
    let queue = Queue::for_study(study);
    let over = queue.over();
    let (state, shared) = (study.state(), study.shared_parts());
    let launched = state.candidates.iter().filter(|(id, record)| {
        let waits = |run: &&RunRecord| {
            run.intent.phase == Phase::Short
                && run.evidence.is_none()
                && run.state == RunState::Ended(RunEnd::Ok)
                && run.ended.as_ref().is_some_and(|ended| ended.not_evidence.is_none())
        };
        record.state == CandidateState::Launched
            && over.contains(id)
            // Changed files may be restored; whether the candidate is complete then is decided by a person or a
            // verdict.
            && study.stale(record, &shared).is_none()
            && !state.runs_of_plan(id).iter().any(waits)
    });
    launched.map(|(id, _)| id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use rlxp_launch::order::{Mechanisms, StepOutcome};

    use super::*;

    fn failed(code: Option<i32>, signal: Option<i32>) -> EndFile {
        let step = StepEnd {
            name: "train".to_owned(),
            how: StepOutcome::Failed,
            reason: String::new(),
            code,
            signal,
            usage: Usage::default(),
            mechanisms: Mechanisms::default(),
            opened: Default::default(),
            loaded: Default::default(),
        };
        EndFile {
            key: "run".to_owned(),
            end: RunEnd::Failed,
            reason: String::new(),
            usage: Usage::default(),
            level: None,
            not_evidence: None,
            after_training: None,
            executable_output: None,
            manifest: None,
            steps: vec![step],
        }
    }

    /// A code above 128 may be a child's signal or the program's own word; neither side gains by it.
    #[test]
    fn a_code_that_looks_like_a_signal_helps_neither_side() {
        let both = |end: &EndFile| [Side::Reference, Side::Judged].map(|side| killed_by(end, side));
        assert_eq!(both(&failed(None, Some(9))), [Some(9), Some(9)]);
        assert_eq!(both(&failed(Some(137), None)), [Some(9), None]);
        assert_eq!(both(&failed(Some(192), None)), [Some(64), None]);
        for code in [1, 127, 128, 193, 255] {
            assert_eq!(both(&failed(Some(code), None)), [None, None], "{code}");
        }
        let cancelled = EndFile { end: RunEnd::Cancelled, ..failed(Some(143), None) };
        assert_eq!(both(&cancelled), [None, None], "its end says what ended it");
    }
}
