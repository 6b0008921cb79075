//! `rlx train A.yaml B.yaml …`: several configs, each as its own run, one after another or some at once.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use rlxp_fs::environment;
use rlxp_store::{Project, Run, RunRow, TakeOver};
use rlxp_types::{Exit, RunStatus};
use serde::Serialize;

use crate::context::Context;
use crate::event::{Event, WorkerOutcome};
use crate::failure::{Failure, Outcome};
use crate::studies::files::refuse_governed;
use crate::training::config::Checked;
use crate::training::detach::detach;
use crate::training::supervise::{RunEnd, RunSink, Turn, listen, supervise_all};
use crate::training::tags::check_tags;
use crate::training::train::{Prepared, TrainPlan, TrainRequest, project_for_new_run, sweep};

/// Several configs to train.
#[derive(Clone, Debug, Default)]
pub struct SeveralRequest {
    pub configs: Vec<PathBuf>,
    /// What applies to all of them; its config is not used.
    pub each: TrainRequest,
    /// How many are trained at once.
    pub parallel: usize,
}

#[derive(Debug, Serialize)]
pub struct SeveralReport {
    /// How many were trained at once.
    pub parallel: usize,
    pub runs: Vec<OneOfSeveral>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Whether training was started in the background.
    pub detached: bool,
}

impl SeveralReport {
    /// The matching exit code.
    pub fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.runs.iter().any(|one| one.failure.is_some()) {
            Exit::RunFailed
        } else {
            Exit::Yes
        }
    }
}

/// One config of several, and the result.
#[derive(Debug, Serialize)]
pub struct OneOfSeveral {
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub config: PathBuf,
    pub plan: TrainPlan,
    /// `None` after a dry run, and if the run was not created.
    pub run: Option<String>,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: Option<PathBuf>,
    /// `None` if training was not started.
    pub status: Option<RunStatus>,
    /// Why it failed.
    pub failure: Option<RunFailure>,
    /// The last mean return of training.
    pub last_mean_return: Option<f64>,
    /// The best evaluation's mean return.
    pub best_eval_mean: Option<f64>,
}

/// Why one of several runs failed.
#[derive(Debug, Serialize)]
pub struct RunFailure {
    pub code: &'static str,
    pub exit: u8,
    pub message: String,
    pub hints: Vec<String>,
}

impl From<Failure> for RunFailure {
    fn from(failure: Failure) -> Self {
        let Failure { code, exit, message, hints, .. } = failure;
        Self { code, exit: exit.code(), message, hints }
    }
}

/// Trains several configs. All are checked before anything starts. `warn` receives the warnings and notes of each.
pub fn train_several(
    context: &Context,
    request: &SeveralRequest,
    warn: &mut dyn FnMut(&Checked),
    events: RunSink<'_>,
) -> Outcome<SeveralReport> {
    refuse_governed(context)?;
    check_tags(&request.each.tags)?;
    if request.each.from.is_some() {
        return Err(Failure::usage(
            "several_configs",
            "--from starts one config from a checkpoint, not several",
        )
        .hint("rlx train CONFIG --from CHECKPOINT"));
    }
    let parallel = request.parallel.clamp(1, request.configs.len().max(1));
    // The runs share the cores; a config that sets its own number of threads keeps it.
    let context = &Context { cores: (context.cores / parallel).max(1), ..context.clone() };
    let prepared = prepare(context, request, warn)?;
    check_memory(&prepared, parallel, environment::available_memory())?;
    let project = project_for_new_run(context)?;
    let job = Several { context, request, project: &project, prepared: &prepared, parallel };
    let mut detached = false;
    let (runs, ends) = if request.each.dry_run {
        (prepared.iter().map(|_| None).collect(), prepared.iter().map(|_| None).collect())
    } else if request.each.detach {
        let (trained, status) = job.detached(events)?;
        detached = status == RunStatus::Running;
        trained
    } else {
        job.here(events)?
    };
    // A run that was stopped by itself doesn't stop the others in the background.
    let interrupted = !request.each.dry_run
        && !detached
        && ends.iter().any(|end| matches!(end, None | Some(Ok(RunStatus::Interrupted))));
    let configs = request.configs.iter().cloned().zip(prepared).zip(runs).zip(ends);
    let runs =
        configs.map(|(((config, prepared), run), end)| result(config, prepared.plan, run, end)).collect();
    Ok(SeveralReport { parallel, runs, interrupted, detached })
}

/// Everything that training several configs needs.
struct Several<'a> {
    context: &'a Context,
    request: &'a SeveralRequest,
    project: &'a Project,
    prepared: &'a [Prepared],
    parallel: usize,
}

/// The runs that were created, and how each ended.
type Trained = (Vec<Option<Run>>, Vec<RunEnd>);

impl Several<'_> {
    fn create(&self, number: usize) -> Outcome<Run> {
        self.prepared[number].create(self.context, self.project, &self.request.each)
    }

    /// Trains in this process's children. A run is created when its turn comes.
    fn here(&self, events: RunSink<'_>) -> Outcome<Trained> {
        sweep(self.project, &mut |event| events(None, event));
        let count = self.prepared.len();
        let mut runs: Vec<Option<Run>> = vec![None; count];
        let created = RefCell::new(Vec::new());
        let events = RefCell::new(events);
        let mut next = |number: usize| {
            let run = self.create(number)?;
            announce(&run, *events.borrow_mut());
            created.borrow_mut().push((number, run.clone()));
            Ok(Turn::Train { run, only_first: true })
        };
        let mut told = |run: Option<&str>, event| events.borrow_mut()(run, event);
        let mut ended = |number: usize, result: &Outcome<RunStatus>| {
            let created = created.borrow();
            let run =
                created.iter().find(|(known, _)| *known == number).map(|(_, run): &(_, Run)| run.name());
            events.borrow_mut()(run.as_deref(), end_of(result));
        };
        let ends = supervise_all(self.context, count, self.parallel, &mut next, &mut told, &mut ended)?;
        for (number, run) in created.into_inner() {
            runs[number] = Some(run);
        }
        Ok((runs, ends))
    }

    /// Creates all runs and starts one detached supervisor that works through them. Also returns whether that continues
    /// (`running`) or the user stopped it.
    fn detached(&self, events: RunSink<'_>) -> Outcome<(Trained, RunStatus)> {
        sweep(self.project, &mut |event| events(None, event));
        let interrupts = listen()?;
        let mut runs: Vec<Run> = Vec::new();
        for number in 0..self.prepared.len() {
            match self.create(number) {
                Ok(run) => runs.push(run),
                Err(failure) => {
                    // Nothing has been trained: as if the command had never been run.
                    for run in &runs {
                        drop(self.project.remove_run_from(run, TakeOver::WhenProvenGone));
                    }
                    return Err(failure);
                }
            }
        }
        runs.iter().for_each(|run| announce(run, events));
        let started = detach(self.context, &runs, self.parallel, true, &interrupts, events)?;
        let status = |run: &Run| Some(Ok(run.status().map_or(RunStatus::Unknown, |report| report.status)));
        let ends = runs.iter().map(status).collect();
        Ok(((runs.into_iter().map(Some).collect(), ends), started))
    }
}

fn announce(run: &Run, events: RunSink<'_>) {
    let (name, path) = (run.name(), run.path().display().to_string());
    events(Some(&run.name()), Event::Created { run: name, path });
}

/// How one of several trainings ended, as an event.
fn end_of(result: &Outcome<RunStatus>) -> Event {
    let (outcome, exit) = match result {
        Ok(RunStatus::Completed) => (WorkerOutcome::Completed, Exit::Yes),
        Ok(_) => (WorkerOutcome::Interrupted, Exit::Interrupted),
        Err(failure) => (WorkerOutcome::Failed, failure.exit),
    };
    let (reason, hints) = match result {
        Ok(_) => (None, Vec::new()),
        Err(failure) => (Some(failure.message.clone()), failure.hints.clone()),
    };
    Event::Ended { outcome, exit: exit.code(), reason, hints }
}

/// Checks all configs, and reports all problems together.
fn prepare(
    context: &Context,
    request: &SeveralRequest,
    warn: &mut dyn FnMut(&Checked),
) -> Outcome<Vec<Prepared>> {
    let (mut prepared, mut failures) = (Vec::new(), Vec::new());
    for config in &request.configs {
        let each = TrainRequest { config: config.clone(), ..request.each.clone() };
        match Prepared::new(context, &each, warn) {
            Ok(one) => prepared.push(one),
            Err(failure) => failures.push((config.as_path(), failure)),
        }
    }
    if failures.is_empty() { Ok(prepared) } else { Err(together(failures, request.configs.len())) }
}

/// All failures as one; what several configs have in common, such as a wrong override, is reported once.
fn together(mut failures: Vec<(&Path, Failure)>, of: usize) -> Failure {
    if failures.len() == 1 {
        return failures.remove(0).1;
    }
    let messages: Vec<String> = failures.iter().map(|(_, failure)| failure.message.clone()).collect();
    let message = format!("{} of {of} configs can't be trained: {}", failures.len(), messages.join("; "));
    let first = &failures[0].1;
    let mut all = Failure::new(first.exit, first.code, message);
    let (mut problems, mut sources) = (Vec::new(), Vec::new());
    for (_, failure) in failures {
        for problem in failure.problems.into_vec() {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        sources.extend(failure.sources.into_vec());
        for hint in failure.hints {
            if !all.hints.contains(&hint) {
                all.hints.push(hint);
            }
        }
    }
    (all.problems, all.sources) = (problems.into(), sources.into());
    all
}

/// Fails if the runs that are trained at once need more memory than is available.
fn check_memory(prepared: &[Prepared], parallel: usize, available: Option<u64>) -> Outcome<()> {
    let mut needs: Vec<u64> = prepared.iter().map(|one| one.plan.memory_bytes).collect();
    needs.sort_unstable_by(|a, b| b.cmp(a));
    let needed = needs.iter().take(parallel).fold(0_u64, |sum, need| sum.saturating_add(*need));
    let Some(available) = available.filter(|available| needed > *available) else { return Ok(()) };
    let message = format!(
        "training {parallel} runs at once needs about {} MB of memory, but only {} MB are free",
        needed >> 20,
        available >> 20
    );
    Err(Failure::usage("not_enough_memory", message).hint("train fewer at once: --parallel 1"))
}

fn result(config: PathBuf, plan: TrainPlan, run: Option<Run>, end: RunEnd) -> OneOfSeveral {
    let row = run.as_ref().map(RunRow::read);
    let (status, failure) = match end {
        None => (None, None),
        Some(Ok(status)) => (Some(status), None),
        Some(Err(failure)) => (Some(RunStatus::Failed), Some(RunFailure::from(failure))),
    };
    OneOfSeveral {
        config,
        plan,
        run: run.as_ref().map(Run::name),
        path: run.map(|run| run.path().to_owned()),
        status,
        failure,
        last_mean_return: row.as_ref().and_then(|row| row.last_mean_return),
        best_eval_mean: row.and_then(|row| row.best_eval_mean),
    }
}
