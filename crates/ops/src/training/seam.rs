//! Tests of the interfaces to environments and algorithms: an environment in another process and a second algorithm,
//! each a file and a row, go through training, saving, resuming and evaluating like the built-in ones.

#[cfg(test)]
mod bandit;
#[cfg(test)]
mod process;

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use rlxp_fs::RealFs;
use rlxp_fs::testing::FakeMachine;
use rlxp_learn::{Actor, evaluate};
use rlxp_spec::{Config, Source};
use rlxp_store::{Project, Run, TakeOver};
use rlxp_types::Exit;
use tempfile::TempDir;

pub(crate) use process::ProcessSource;

use crate::context::Context;
use crate::event::{Event, WorkerOutcome};
use crate::failure::Failure;
use crate::training::config::{Purpose, check_source};
use crate::training::envs::SOURCES;
use crate::training::session::{Job, train_seed};
use crate::training::worker::work;

/// 128 steps of 4 copies: eight rounds, saved after every second.
const SETTINGS: &str = "
algo: {total_timesteps: 512, rollout_steps: 16, batch_size: 32, update_epochs: 1}
policy: {hidden_sizes: [8]}
checkpoint: {save_every: 128, keep: 5}
eval: {every: 256, episodes: 5}
";

struct Stage {
    _folder: TempDir,
    context: Context,
    config: Config,
    run: Run,
}

/// A run of that environment, ready to be trained.
fn stage(env: &str) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let context = Context {
        fs: Arc::new(RealFs),
        machine: Arc::new(FakeMachine::new("here", "boot-1", 100)),
        folder: folder.path().to_owned(),
        folder_is_root: true,
        cores: 1,
        user: Default::default(),
    };
    let source = Source::new("seam.yaml", format!("env: {{{env}, num_envs: 4}}{SETTINGS}"));
    let config = check_source(&context, source, &[], Purpose::Train).unwrap().config;
    let project = Project::at(context.fs.clone(), context.machine.clone(), folder.path());
    project.prepare().unwrap();
    let plan = crate::training::train::plan(SOURCES, &config).unwrap();
    let metadata = crate::training::train::describe(&context, &project, &config).unwrap();
    let run = crate::training::train::create(&project, &config, metadata, &plan, &[None]).unwrap();
    Stage { _folder: folder, context, config, run }
}

impl Stage {
    /// Trains as the worker process does: its exit code, warnings and reason.
    fn train(&self) -> (Exit, Vec<String>, Option<String>) {
        let told = Mutex::new((Vec::new(), None));
        let exit = work(&self.context, self.run.path(), false, &|event| match event {
            Event::Warning { message } => told.lock().unwrap().0.push(message),
            Event::Ended { reason, .. } => told.lock().unwrap().1 = reason,
            _ => {}
        });
        let (warnings, reason) = told.into_inner().unwrap();
        (exit, warnings, reason)
    }

    fn checkpoints(&self) -> Vec<u64> {
        self.run.seed_folders().unwrap()[0].checkpoints().steps().unwrap()
    }
}

#[test]
fn an_environment_in_another_process_is_trained_and_evaluated() {
    let stage = stage("id: Process-v0");
    let (exit, warnings, reason) = stage.train();
    assert_eq!((exit, warnings, reason), (Exit::Yes, vec![], None));
    assert_eq!(stage.checkpoints(), [128, 256, 384, 512]);
    let played = evaluate(SOURCES, &stage.config, Actor::Random, 20, 0).unwrap();
    assert!(played.mean_length() > 2.0 && played.mean_length() <= 10.0, "{}", played.mean_length());
}

#[test]
fn a_process_that_dies_in_a_step_fails_the_run_and_a_resume_starts_new_episodes() {
    // Step 100 of its process is in the seventh round; one that is started
    // again at the checkpoint before has only 32 steps to do.
    let stage = stage("id: Process-v0, kwargs: {die_at: 100}");
    let (exit, _, reason) = stage.train();
    assert_eq!(exit, Exit::RunFailed);
    let expected = "environment \"Process-v0\" failed: it could not be stepped: the worker process ended \
                    (signal: 9 (SIGKILL))";
    assert_eq!(reason.as_deref(), Some(expected));
    assert_eq!(stage.checkpoints(), [128, 256, 384]);
    let end = stage.run.newest_attempt().unwrap().unwrap().end.unwrap();
    assert_eq!((end.exit_code, end.reason), (Some(4), Some(format!("environment_failed: {expected}"))));

    let (exit, warnings, _) = stage.train();
    assert_eq!(exit, Exit::Yes);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(
        warning.starts_with("Process-v0 can't save its state: every copy starts a new episode"),
        "{warning}"
    );
    assert_eq!(stage.checkpoints(), [128, 256, 384, 512]);
}

#[test]
fn an_environment_that_raises_names_the_copy_in_training_and_in_evaluation() {
    let stage = stage("id: Process-v0, kwargs: {raise_at: 5}");
    let expected = "environment \"Process-v0\" failed: copy 2 could not be stepped: ValueError: the wind is \
                    too strong";
    let (exit, _, reason) = stage.train();
    assert_eq!((exit, reason.as_deref()), (Exit::RunFailed, Some(expected)));
    let failure = Failure::from(evaluate(SOURCES, &stage.config, Actor::Zero, 20, 0).unwrap_err());
    assert_eq!((failure.exit, failure.code), (Exit::RunFailed, "environment_failed"));
    assert_eq!(failure.message, expected);
}

#[test]
fn a_second_algorithm_is_trained_saved_resumed_and_evaluated_by_the_same_session() {
    let models = [None, Some(3)].map(|stop_after| {
        let stage = stage("id: ProbePolicy-v0");
        let claim = stage.run.claim("2026-01-02T03:04:05.000Z", TakeOver::WhenProvenGone).unwrap();
        let folder = &stage.run.seed_folders().unwrap()[0];
        let best = Mutex::new(None);
        let emit = |event| {
            if let Event::SeedEnded { best: score, .. } = event {
                *best.lock().unwrap() = score;
            }
        };
        let train = |stop_requested: &(dyn Fn() -> bool + Sync)| {
            let (config, algorithm) = (&stage.config, &bandit::Bandit);
            let (claim, emit) = (&claim, &emit);
            train_seed(
                &Job {
                    config,
                    algorithm,
                    threads: 1,
                    sources: SOURCES,
                    stop_at: None,
                    claim,
                    stop_requested,
                    emit,
                },
                folder,
            )
            .unwrap()
            .outcome
        };
        if let Some(rounds) = stop_after {
            let left = Mutex::new(Cell::new(rounds));
            let stop = || {
                let left = left.lock().unwrap();
                left.set(left.get() - 1);
                left.get() < 0
            };
            assert_eq!(train(&stop), WorkerOutcome::Interrupted);
        }
        assert_eq!(train(&|| false), WorkerOutcome::Completed);
        assert_eq!(*best.lock().unwrap(), Some(1.0), "action 1 pays 1 in every episode");
        folder.checkpoints().load_model(512).unwrap().1
    });
    assert_eq!(models[0], models[1], "a resumed training ends with the same bytes");
}
