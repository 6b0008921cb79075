//! `rlx train`: from a config to a finished run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_env::Sources;
use rlxp_env::Space;
use rlxp_fs::{FsExt, clock, environment};
use rlxp_launch::Interrupts;
use rlxp_learn::{Spaces, algorithm};
use rlxp_spec::Config;
use rlxp_store::{
    GitState, Lineage, LineageKind, Metadata, NewRun, Project, Run, Versions, estimate_bytes, preflight,
};
use rlxp_types::{RunName, RunStatus};
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;
use crate::event::{Event, Sink};
use crate::failure::{CHECKPOINT_MISMATCH, Failure, FailureKind, Outcome};
use crate::select::checkpoint::CheckpointRef;
use crate::studies::files::permit_training;
use crate::studies::files::refuse_governed;
use crate::training::baseline::random_return;
use crate::training::bridge::{PYTHON, Python, WORKERS};
use crate::training::config::{Checked, Purpose, check};
use crate::training::detach::detach;
use crate::training::initial_checkpoint::InitialCheckpoint;
use crate::training::notes::notes;
use crate::training::recorded::{STOP_AT, config_of};
use crate::training::supervise::{listen, supervise};
use crate::training::weights::Weights;

/// The looks that `rlx compare` takes, which are recorded between one training and the next.
pub(crate) const QUESTIONS: &str = "analysis/questions.jsonl";

/// Number of evaluations that are likely to be the best so far, and so to be saved: a learning curve improves only
/// now and then, however often it is evaluated.
const LIKELY_BESTS: u64 = 32;

#[derive(Clone, Debug, Default)]
pub struct TrainRequest {
    /// The config file.
    pub config: PathBuf,
    /// `key=value` overrides.
    pub overrides: Vec<String>,
    /// Only show what would be done.
    pub dry_run: bool,
    /// Checkpoint whose weights training starts from.
    pub from: Option<String>,
    /// Mean evaluation return at which a seed stops.
    pub stop_at: Option<f64>,
    /// Tags for the run.
    pub tags: Vec<String>,
    /// Train in the background, and return once training has begun.
    pub detach: bool,
}

/// What would be trained.
#[derive(Clone, Debug, Serialize)]
pub struct TrainPlan {
    /// Its name; the folder gets a number appended.
    pub run_name: String,
    pub env: String,
    pub seeds: Vec<u64>,
    /// Steps per seed, rounded up to whole rollouts.
    pub steps: u64,
    /// Updates per seed.
    pub updates: u64,
    /// Gradient steps per seed.
    pub gradient_steps: u64,
    /// Number of trained parameters of one policy.
    pub parameters: usize,
    pub threads: usize,
    /// Evaluations per seed.
    pub evaluations: u64,
    /// Most checkpoints per seed that are kept.
    pub checkpoints: u64,
    /// Estimated disk space of the run in bytes.
    pub disk_bytes: u64,
    /// Estimated memory of training in bytes.
    pub memory_bytes: u64,
    /// Values that training rounds, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TrainReport {
    pub plan: TrainPlan,
    /// `None` after a dry run.
    pub run: Option<String>,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: Option<PathBuf>,
    /// `running` if training continues in the background, `interrupted` if it was stopped before it began.
    pub status: Option<RunStatus>,
    /// Mean evaluation return at which a seed stops early.
    pub stop_at: Option<f64>,
    /// Whether training was started in the background.
    pub detached: bool,
}

/// Trains. `warn` receives the config's warnings and notes before anything is written.
pub fn train(
    context: &Context,
    request: &TrainRequest,
    warn: &mut dyn FnMut(&Checked),
    events: Sink<'_>,
) -> Outcome<TrainReport> {
    refuse_governed(context)?;
    crate::training::tags::check_tags(&request.tags)?;
    let prepared = Prepared::new(context, request, warn)?;
    let report = |plan, run: Option<&Run>, status| TrainReport {
        plan,
        run: run.map(Run::name),
        path: run.map(|run| run.path().to_owned()),
        status,
        stop_at: request.stop_at,
        detached: request.detach && status == Some(RunStatus::Running),
    };
    if request.dry_run {
        return Ok(report(prepared.plan, None, None));
    }
    let project = project_for_new_run(context)?;
    sweep(&project, events);
    let background = Background::wanted(request.detach)?;
    let run = prepared.create(context, &project, request)?;
    let status = start(context, &run, background.as_ref(), events)?;
    Ok(report(prepared.plan, Some(&run), Some(status)))
}

/// A config that was checked and can be trained.
pub(crate) struct Prepared {
    pub(crate) config: Config,
    pub(crate) plan: TrainPlan,
    overrides: Vec<String>,
    origin: Option<(Vec<InitialCheckpoint>, Lineage)>,
    /// What is known of the Python that runs its environments.
    python: Option<Value>,
}

impl Prepared {
    /// Checks everything that can be checked before anything is written.
    pub(crate) fn new(
        context: &Context,
        request: &TrainRequest,
        warn: &mut dyn FnMut(&Checked),
    ) -> Outcome<Self> {
        let checked = check(context, &request.config, &request.overrides, Purpose::Train)?;
        warn(&checked);
        let config = checked.config;
        let root = project_for_new_run(context)?.root().to_owned();
        let permit = permit_training(context, &root)?;
        let python = Python::new(permit, context, &root, &config.env, 1)?;
        let table = python.table();
        let sources = Sources::new(&table);
        let plan = plan(sources, &config)?;
        check_memory(&config, &plan)?;
        let origin =
            request.from.as_deref().map(|text| warm_start(context, sources, &config, text)).transpose()?;
        let overrides = checked.overrides.iter().map(|o| format!("{}={}", o.key, o.value)).collect();
        Ok(Self { config, plan, overrides, origin, python: python.facts() })
    }

    /// Creates the run's folder.
    pub(crate) fn create(
        &self,
        context: &Context,
        project: &Project,
        request: &TrainRequest,
    ) -> Outcome<Run> {
        let mut metadata = describe(context, project, &self.config)?;
        metadata.overrides.clone_from(&self.overrides);
        metadata.tags.clone_from(&request.tags);
        if let Some(python) = &self.python {
            metadata.extra.insert(PYTHON.into(), python.clone());
        }
        if self.config.env.workers > 0 {
            metadata.extra.insert(WORKERS.into(), json!(self.config.env.workers));
        }
        if let Some(wanted) = request.stop_at {
            metadata.extra.insert(STOP_AT.into(), json!(wanted));
        }
        let mut origins = vec![None; self.config.seeds.len()];
        if let Some((initial, lineage)) = &self.origin {
            metadata.lineage = Some(lineage.clone());
            origins = initial.iter().cloned().map(Some).collect();
        }
        create(project, &self.config, metadata, &self.plan, &origins)
    }
}

/// What training `config` involves.
pub fn plan(sources: Sources<'_>, config: &Config) -> Outcome<TrainPlan> {
    let spaces = Spaces::from(sources.spaces(&config.env).map_err(rlxp_learn::LearnError::from)?);
    let parameters = algorithm(config).parameters(config, &spaces);
    let Spaces { observations, actions } = spaces;
    let steps = config.total_steps();
    let updates = steps / config.rollout_size();
    let evaluations = occasions(config, config.eval.every);
    let saves = occasions(config, config.checkpoint.save_every);
    let kept = |bests: u64| {
        let saved = saves.saturating_add(bests).min(updates);
        config.checkpoint.keep.map_or(saved, |keep| saved.min(keep as u64 + 1))
    };
    let model = parameters as u64 * 4;
    // Adam's two moments and, per environment, streams, state and observation.
    let state = parameters as u64 * 8 + config.env.num_envs as u64 * (256 + observations.width() as u64 * 4);
    let metrics = updates.saturating_mul(900);
    Ok(TrainPlan {
        run_name: config.run_name.clone(),
        env: config.env.id.clone(),
        seeds: config.seeds.clone(),
        steps,
        updates,
        gradient_steps: updates * config.algo.gradient_steps(config.rollout_size()),
        parameters,
        threads: config.threads,
        evaluations,
        checkpoints: kept(evaluations),
        disk_bytes: estimate_bytes(
            config.seeds.len(),
            model,
            state,
            kept(evaluations.min(LIKELY_BESTS)),
            metrics,
        ),
        memory_bytes: memory(config, parameters, &observations, &actions),
        notes: notes(config),
    })
}

/// The same for a config of the project in `root`, whose environment Python may have to create: with what is known of
/// that Python.
pub(crate) fn plan_in(
    context: &Context,
    root: &Path,
    config: &Config,
) -> Outcome<(TrainPlan, Option<Value>)> {
    let python = Python::new(permit_training(context, root)?, context, root, &config.env, 1)?;
    let plan = plan(Sources::new(&python.table()), config)?;
    Ok((plan, python.facts()))
}

/// Number of updates of a seed after which something that is due every `every` steps happens: the first at or past
/// each multiple, and the last update.
fn occasions(config: &Config, every: u64) -> u64 {
    let (steps, rollout) = (config.total_steps(), config.rollout_size());
    let Some(multiples) = steps.checked_div(every) else { return 0 };
    let at_the_end = multiples > (steps - rollout) / every;
    multiples.min(steps / rollout) + u64::from(!at_the_end)
}

/// Memory of the seeds that are trained in parallel: rollouts and networks with their gradients and moments; the rest
/// is small.
fn memory(config: &Config, parameters: usize, observations: &Space, actions: &Space) -> u64 {
    // Scaled and raw observations, actions, and ten more numbers per row.
    let row = 2 * observations.width() + actions.width() + 10;
    let shards = (config.algo.batch_size() as u64).div_ceil(1024);
    let networks = (parameters as u64).saturating_mul(3 + shards);
    let numbers = config.rollout_size().saturating_mul(row as u64).saturating_add(networks);
    let side_by_side = config.threads.clamp(1, config.seeds.len().max(1)) as u64;
    numbers.saturating_mul(4).saturating_mul(side_by_side).saturating_add(16 << 20)
}

/// Fails if the machine doesn't have the memory that the plan needs.
fn check_memory(config: &Config, plan: &TrainPlan) -> Outcome<()> {
    let Some(available) = environment::available_memory() else { return Ok(()) };
    if plan.memory_bytes <= available {
        return Ok(());
    }
    let megabytes = |bytes: u64| bytes >> 20;
    Err(Failure::usage(
        "not_enough_memory",
        format!(
            "training needs about {} MB of memory, but only {} MB are free: env.num_envs {} × algo.rollout_steps {} \
             with {} parameters",
            megabytes(plan.memory_bytes),
            megabytes(available),
            config.env.num_envs,
            config.algo.rollout_steps(),
            plan.parameters
        ),
    )
    .hint("lower algo.rollout_steps or env.num_envs, or train fewer seeds in parallel with threads: 1"))
}

/// The project of a new run: the one around the folder, or the folder itself if it is in no project.
pub(crate) fn project_for_new_run(context: &Context) -> Outcome<Project> {
    let here = || Project::at(context.fs.clone(), context.machine.clone(), &context.folder);
    if context.folder_is_root {
        return Ok(here());
    }
    match Project::find(context.fs.clone(), context.machine.clone(), &context.folder) {
        Ok(project) => Ok(project),
        Err(rlxp_store::StoreError::NoProject { .. }) => Ok(here()),
        Err(error) => Err(error.into()),
    }
}

/// Facts about a run that is about to start.
pub(crate) fn describe(context: &Context, project: &Project, config: &Config) -> Outcome<Metadata> {
    let mut metadata = Metadata::new(
        &clock::wall_text(),
        &config.env.id,
        algorithm(config).name(),
        &config.seeds,
        config.total_steps(),
    );
    metadata.device.clone_from(&config.device);
    metadata.host = context.machine.host();
    metadata.cpu_kernels = rlxp_nn::kernels().to_owned();
    metadata.versions = versions(context)?;
    metadata.random_return = random_return(config);
    // What rlx itself writes is not the project's code.
    let written = ["runs", "videos", "logs", QUESTIONS].map(Path::new);
    metadata.git = rlxp_launch::git::snapshot_without(project.root(), &written).map(|state| GitState {
        commit: state.commit,
        branch: state.branch,
        dirty: state.dirty,
        dirty_digest: state.dirty_digest,
        not_covered: state.not_covered,
    });
    Ok(metadata)
}

/// The versions of this program.
pub(crate) fn versions(context: &Context) -> Outcome<Versions> {
    let binary = context.fs.digest(&environment::current_program()?)?;
    Ok(Versions { rlx: env!("CARGO_PKG_VERSION").into(), binary: Some(binary) })
}

/// Removes what killed processes have left in `runs/`; what can't be removed is reported and ignored.
pub(crate) fn sweep(project: &Project, events: Sink<'_>) {
    for leftover in project.sweep() {
        let why = crate::failure::describe(&leftover.error);
        let message = format!("can't remove {}, left over from a dead process: {why}", leftover.name);
        events(Event::Warning { message });
    }
}

/// Creates the run's folder, with what each seed starts from.
pub(crate) fn create(
    project: &Project,
    config: &Config,
    metadata: Metadata,
    plan: &TrainPlan,
    origins: &[Option<InitialCheckpoint>],
) -> Outcome<Run> {
    project.prepare()?;
    preflight(project.fs(), &project.runs_dir(), plan.disk_bytes)?;
    let name = RunName::parse(&config.run_name).map_err(|bad| Failure::usage("bad_name", bad.to_string()))?;
    let new = NewRun { name, config_snapshot: rlxp_spec::to_snapshot(config), metadata };
    let run = project.create_run_with(new, &|fs, folders| {
        for (folder, origin) in folders.iter().zip(origins) {
            if let Some(origin) = origin {
                origin.write(fs, folder)?;
            }
        }
        Ok(())
    })?;
    Ok(run)
}

/// That training is to continue in the background. Listens for interrupts from before the run is created, so that none
/// leaves a run behind that nothing trains.
pub(crate) struct Background(pub(crate) Interrupts);

impl Background {
    pub(crate) fn wanted(detach: bool) -> Outcome<Option<Self>> {
        detach.then(|| listen().map(Self)).transpose()
    }
}

/// Trains an existing run from its present state, here or in the background.
pub(crate) fn start(
    context: &Context,
    run: &Run,
    background: Option<&Background>,
    events: Sink<'_>,
) -> Outcome<RunStatus> {
    events(Event::Created { run: run.name(), path: run.path().display().to_string() });
    let Some(Background(interrupts)) = background else { return supervise(context, run, events) };
    let only_first = run.was_never_attempted()?;
    detach(context, std::slice::from_ref(run), 1, only_first, interrupts, &mut |_, event| events(event))
}

/// What each seed of the config starts from: the one checkpoint that `text` names, or that of the equal seed.
fn warm_start(
    context: &Context,
    sources: Sources<'_>,
    config: &Config,
    text: &str,
) -> Outcome<(Vec<InitialCheckpoint>, Lineage)> {
    let found = CheckpointRef::each(context, text)?;
    let (first, chosen) = (&found[0], for_seeds(config, text, &found)?);
    let trained_on = &config_of(&first.run)?.env.id;
    if *trained_on != config.env.id {
        return Err(Failure::usage(
            "checkpoint_mismatch",
            format!("{text} was trained on {trained_on}, but the config uses {}", config.env.id),
        )
        .hint(CHECKPOINT_MISMATCH));
    }
    let mut origins = Vec::new();
    for checkpoint in &chosen {
        let Weights { bytes: model, .. } =
            Weights::load(sources, config, &checkpoint.folder, checkpoint.step)?;
        origins.push(InitialCheckpoint { model, state: None });
    }
    // Where every seed starts from the same one of several.
    let only_seed = match &found[..] {
        [only] if only.run.seed_folders()?.len() > 1 => Some(only.folder.seed()),
        _ => None,
    };
    let same_step = chosen.iter().all(|checkpoint| checkpoint.step == first.step);
    let steps = config.seeds.iter().copied().zip(chosen.iter().map(|checkpoint| checkpoint.step));
    let lineage = Lineage {
        kind: LineageKind::WarmStart,
        parent: first.run.name(),
        parent_id: first.run.metadata().ok().map(|metadata| metadata.id),
        checkpoint: same_step.then_some(first.step),
        seed: only_seed,
        checkpoints: if same_step { BTreeMap::new() } else { steps.collect() },
        ancestors: Vec::new(),
    };
    Ok((origins, lineage))
}

/// One checkpoint for each seed of the config, in their order.
fn for_seeds<'a>(config: &Config, text: &str, found: &'a [CheckpointRef]) -> Outcome<Vec<&'a CheckpointRef>> {
    if let [only] = found {
        return Ok(vec![only; config.seeds.len()]);
    }
    let (first, run) = (&found[0], found[0].run.name());
    if found.iter().any(|other| other.run.path() != first.run.path()) {
        let message = format!("{text:?} matches several runs, expected one");
        return Err(Failure::with_kind(FailureKind::SeveralRuns, message));
    }
    let of_seed = |seed: &u64| found.iter().find(|checkpoint| checkpoint.folder.seed() == *seed);
    config.seeds.iter().map(of_seed).collect::<Option<Vec<_>>>().ok_or_else(|| {
        let list = |seeds: Vec<u64>| seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let theirs = list(found.iter().map(|checkpoint| checkpoint.folder.seed()).collect());
        let message =
            format!("{run} has the seeds {theirs}, but the config trains {}", list(config.seeds.clone()));
        Failure::usage("seeds_differ", message)
            .hint(format!("--from {run}:{}    # start every seed from this one", first.folder.seed()))
    })
}

#[cfg(test)]
mod tests {
    use rlxp_spec::{Known, Source, load};

    use super::*;

    #[test]
    fn a_plan_counts_what_training_does() {
        let known = Known { env_ids: &["CartPole-v1"], cores: 1 };
        let text = "{env: {id: CartPole-v1, num_envs: 4}, algo: {rollout_steps: 8, batch_size: 8}}";
        let source = Source::new("c.yaml", text);
        for total in [1, 32, 33, 100, 320, 1000, 1024] {
            let overrides = [format!("algo.total_timesteps={total}")];
            let config = load(&source, &overrides, &known).unwrap().config;
            for every in [0, 1, 31, 32, 33, 40, 64, 100, 1024, 5000] {
                // The condition that the training loop checks after each update.
                let due = |now: &u64| now / every > (now - 32) / every || *now == config.total_steps();
                let updates = (1..=config.total_steps() / 32).map(|update| update * 32);
                let counted = if every == 0 { 0 } else { updates.filter(due).count() as u64 };
                assert_eq!(occasions(&config, every), counted, "{total} steps, every {every}");
            }
        }
    }

    #[test]
    fn a_plan_keeps_as_many_checkpoints_as_the_config() {
        let known = Known { env_ids: &["CartPole-v1"], cores: 1 };
        let text = "{env: {id: CartPole-v1, num_envs: 4}, \
                    algo: {rollout_steps: 8, batch_size: 8, total_timesteps: 3200}}";
        let kept = |keep: &str| {
            let overrides = [format!("checkpoint.keep={keep}")];
            plan(rlxp_env::NATIVE, &load(&Source::new("c.yaml", text), &overrides, &known).unwrap().config)
                .unwrap()
                .checkpoints
        };
        // Ten saves and twenty evaluations, each of which may be the best so far.
        assert_eq!([kept("null"), kept("1"), kept("3"), kept("500")], [30, 2, 4, 30]);
    }
}
