//! Synthetic runs, written through the store as training writes them: a project
//! in a temporary folder and runs whose curves are given by a formula.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::testing::FakeMachine;
use rlxp_fs::{FsExt, RealFs};
use rlxp_ops::Context;
use rlxp_store::{
    End, Lineage, LineageKind, Metadata, MetricValue, MetricsPosition, NewRun, Outcome, Project, Run,
    SeedFolder, TakeOver,
};
use rlxp_types::{EndCause, RunName};

pub(crate) const NOW: &str = "2026-01-02T03:04:05.000Z";

/// Eight updates of 256 steps, an evaluation after each.
pub(crate) const CONFIG: &str = "\
run_name: made
env: {id: CartPole-v1, num_envs: 4, normalize_observations: false, normalize_rewards: false}
algo: {name: ppo, total_timesteps: 2048, rollout_steps: 64, batch_size: 64, update_epochs: 2, learning_rate: 0.001}
policy: {hidden_sizes: [8, 8]}
checkpoint: {save_every: 1024, keep: 5}
eval: {every: 256, episodes: 100, deterministic: true}
";

/// The return of a seed's policy at a step; `None` when training ends there.
pub(crate) type Formula = Box<dyn Fn(u64, u64) -> Option<f64>>;

/// A project with a context that sees it.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) context: Context,
    pub(crate) project: Project,
}

/// A run to be made.
pub(crate) struct Plan<'w> {
    world: &'w World,
    name: String,
    overrides: Vec<String>,
    formula: Formula,
    outcome: Option<Outcome>,
    failed: (Option<EndCause>, String),
    change: Box<dyn Fn(&mut Metadata)>,
    after: u64,
}

impl World {
    /// An empty project.
    pub(crate) fn new() -> Self {
        // In memory where possible: creating a run syncs many small files.
        let memory = Path::new("/dev/shm");
        let parent = if RealFs.is_folder(memory).unwrap() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::tempdir_in(parent).unwrap();
        let machine = Arc::new(FakeMachine::new("here", "boot-1", 100));
        let project = Project::at(Arc::new(RealFs), machine.clone(), folder.path());
        project.prepare().unwrap();
        let context = Context {
            fs: Arc::new(RealFs),
            machine,
            folder: folder.path().to_owned(),
            folder_is_root: true,
            cores: 2,
            user: Default::default(),
        };
        Self { folder, context, project }
    }

    /// Where the project is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A completed run of seed 0 whose return rises from 0 to 100.
    pub(crate) fn run(&self, name: &str) -> Plan<'_> {
        Plan {
            world: self,
            name: name.to_owned(),
            overrides: Vec::new(),
            formula: Box::new(|_, step| Some(100.0 * step as f64 / 2048.0)),
            outcome: Some(Outcome::Completed),
            failed: (None, "diverged: the loss is NaN".to_owned()),
            change: Box::new(|_| {}),
            after: 0,
        }
    }
}

impl Plan<'_> {
    /// Changes a value of the config, `key=value` as on the command line.
    pub(crate) fn set(mut self, override_: &str) -> Self {
        self.overrides.push(override_.to_owned());
        self
    }

    /// Trains these seeds.
    pub(crate) fn seeds(self, seeds: &[u64]) -> Self {
        let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
        self.set(&format!("seeds=[{}]", list.join(", ")))
    }

    /// What each seed returns at each evaluation.
    pub(crate) fn returns(mut self, formula: impl Fn(u64, u64) -> Option<f64> + 'static) -> Self {
        self.formula = Box::new(formula);
        self
    }

    /// The same return at every step, by seed.
    pub(crate) fn scores(self, score: impl Fn(u64) -> f64 + 'static) -> Self {
        self.returns(move |seed, _| Some(score(seed)))
    }

    /// How it ends; `None` leaves it running.
    pub(crate) fn outcome(mut self, outcome: Option<Outcome>) -> Self {
        self.outcome = outcome;
        self
    }

    /// It fails and records this reason; without a cause as version 0.1 wrote it.
    pub(crate) fn failed(mut self, cause: Option<EndCause>, reason: &str) -> Self {
        (self.outcome, self.failed) = (Some(Outcome::Failed), (cause, reason.to_owned()));
        self
    }

    /// It extends another run to this many steps, as `rlx resume --total-timesteps` does.
    pub(crate) fn extending(self, parent: &Run, steps: u64) -> Self {
        let known = parent.metadata().unwrap();
        let after = known.total_steps;
        let lineage = Lineage {
            kind: LineageKind::ResumedExtended,
            parent: parent.name(),
            parent_id: Some(known.id),
            checkpoint: Some(after),
            seed: None,
            checkpoints: Default::default(),
            ancestors: known.lineage.as_ref().map(Lineage::extended_ids).unwrap_or_default(),
        };
        let plan = self.seeds(&known.seeds).set(&format!("algo.total_timesteps={steps}"));
        let change = plan.change;
        Self {
            after,
            change: Box::new(move |metadata| {
                change(metadata);
                metadata.lineage = Some(lineage.clone());
            }),
            ..plan
        }
    }

    /// Changes the description, such as tags or the state of the code.
    pub(crate) fn metadata(mut self, change: impl Fn(&mut Metadata) + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    pub(crate) fn tag(self, tag: &str) -> Self {
        let tag = tag.to_owned();
        self.metadata(move |metadata| metadata.tags = vec![tag.clone()])
    }

    /// Writes it.
    pub(crate) fn make(self) -> Run {
        let mut overrides = vec![format!("run_name={}", self.name)];
        overrides.extend(self.overrides);
        let ids: Vec<&str> = rlxp_env::NATIVE.catalogue().map(|info| info.id).collect();
        let known = rlxp_spec::Known { env_ids: &ids, cores: 1 };
        let config =
            rlxp_spec::load(&rlxp_spec::Source::new("made", CONFIG), &overrides, &known).unwrap().config;
        let total = config.total_steps();
        let mut metadata = Metadata::new(NOW, &config.env.id, "ppo", &config.seeds, total);
        metadata.cpu_kernels = "avx2".to_owned();
        (self.change)(&mut metadata);
        let run = self
            .world
            .project
            .create_run(NewRun {
                name: RunName::parse(&self.name).unwrap(),
                config_snapshot: rlxp_spec::to_snapshot(&config),
                metadata,
            })
            .unwrap();
        let claim = run.claim(NOW, TakeOver::WhenProvenGone).unwrap();
        for folder in run.seed_folders().unwrap() {
            write_metrics(&folder, &config, self.after, &self.formula);
        }
        if let Some(outcome) = self.outcome {
            let (cause, reason) = self.failed;
            let reason = (outcome == Outcome::Failed).then_some(reason);
            let (exit_code, steps) = (Some(0), Some(total));
            let end = End { cause, reason, exit_code, steps, ..End::new(outcome, NOW) };
            claim.end(&end).unwrap();
        }
        run
    }
}

fn write_metrics(folder: &SeedFolder, config: &rlxp_spec::Config, after: u64, formula: &Formula) {
    let mut writer = folder.metrics_writer(&MetricsPosition::start()).unwrap();
    let size = config.rollout_size();
    for update in after / size + 1..=config.total_steps() / size {
        let step = update * size;
        let Some(value) = formula(folder.seed(), step) else { break };
        let train = [
            ("mean_return", MetricValue::from(value)),
            ("mean_length", MetricValue::from(value)),
            ("entropy", MetricValue::from(1.0 / update as f64)),
            ("approx_kl", MetricValue::from(0.01)),
        ];
        writer.append(step, update as f64, "train", &train).unwrap();
        writer.append(step, update as f64, "timing", &[("steps_per_second", 1000.0.into())]).unwrap();
        if config.eval.every > 0 && (step / config.eval.every > (step - size) / config.eval.every) {
            let eval = [
                ("mean_return", MetricValue::from(value)),
                ("deviation", MetricValue::from(10.0)),
                ("mean_length", MetricValue::from(value)),
                ("episodes", MetricValue::from(100u64)),
            ];
            writer.append(step, update as f64, "eval", &eval).unwrap();
        }
    }
    writer.sync().unwrap();
}

/// Appends text to a seed's metrics, as an interrupted write would.
pub(crate) fn append(folder: &SeedFolder, text: &str) {
    let path = folder.metrics_path();
    let mut bytes = RealFs.read(&path, 1 << 30).unwrap();
    bytes.extend_from_slice(text.as_bytes());
    RealFs.write_atomic(&path, &bytes).unwrap();
}
