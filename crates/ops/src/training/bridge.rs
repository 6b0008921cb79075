//! Environments of Python's Gymnasium: an id that is not built in is created in worker processes of Python.
//!
//! A verb that may start code of the project gets a [`Permit`] from the guard and makes a [`Python`]; its table is that
//! of [`SOURCES`](crate::training::envs::SOURCES) with the environments of Python really available. Everything else
//! uses `SOURCES`, in which they exist and can't be created, so `config check`, `ls` or `compare` never start Python.

mod interpreter;
mod pool;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rlxp_env::bridge::{Bridged, Described, Instances, Seeds};
use rlxp_env::catalogue::is_misspelt_native;
use rlxp_env::{Built, Call, Copies, EnvError, EnvInfo, NATIVE, NativeSource, Order, Problem, Source};
use rlxp_launch::{Permit, PythonCommand};
use rlxp_spec::Config;
use rlxp_spec::config::{EnvConfig, EnvSeeding};
use rlxp_store::Run;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Outcome;
use interpreter::python_of;
pub(crate) use interpreter::{search, trust};
use pool::{Leased, Pool, StartError};

/// The key of a run's metadata that says how many processes step its environments, if the user chose.
pub(crate) const WORKERS: &str = "env_workers";

/// The key of a run's metadata that names the project of a run that is elsewhere.
pub(crate) const PROJECT: &str = "project";
/// The key of a run's metadata that describes the Python of its environments.
pub(crate) const PYTHON: &str = "python";

/// Whether an environment is one of Python, by its id alone.
pub(crate) fn is_foreign(id: &str) -> bool {
    NATIVE.find(id).is_err() && Foreign.find(id).is_some()
}

/// The environments of Python where Python may not be started.
pub(crate) struct Foreign;

impl Source for Foreign {
    fn catalogue(&self) -> Vec<&'static EnvInfo> {
        Vec::new()
    }

    /// Any id that is not a misspelt built-in one: only Python knows which exist. With a colon it names a module.
    fn find(&self, id: &str) -> Option<&'static EnvInfo> {
        static KNOWN: Mutex<Vec<&'static EnvInfo>> = Mutex::new(Vec::new());
        let is_other = id.contains(':') || !is_misspelt_native(id);
        let plausible = NATIVE.find(id).is_err() && !id.trim().is_empty() && is_other;
        if !plausible {
            return None;
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(info) = known.iter().find(|info| info.id == id) {
            return Some(info);
        }
        let info: &'static EnvInfo = Box::leak(Box::new(EnvInfo {
            id: id.to_owned().leak(),
            aliases: &[],
            summary: "an environment of Python",
            max_episode_steps: None,
            reward_threshold: None,
            stochastic: true,
            kwargs: &[],
            observation_names: &[],
            action_names: &[],
        }));
        known.push(info);
        Some(info)
    }

    fn make(&self, _: Order<'_>, _: &mut Vec<Problem>) -> Result<Built, EnvError> {
        let message = "this command doesn't start Python".to_owned();
        Err(EnvError::Failed { copy: None, call: Call::Start, message })
    }
}

/// Python of a project, started when an environment of it is needed.
pub(crate) struct Python {
    permit: Arc<Permit>,
    command: Result<PythonCommand, String>,
    /// Processes for the environments of one learner.
    workers: usize,
    idle: Arc<Mutex<Vec<Pool>>>,
    described: Mutex<Option<Described>>,
    /// Whether environments draw themselves.
    filming: bool,
}

impl Python {
    /// That of the project in `root`. With `workers`, each learner has that many processes.
    pub(crate) fn new(
        permit: Permit,
        context: &Context,
        root: &Path,
        env: &EnvConfig,
        workers: usize,
    ) -> Outcome<Self> {
        let command = if is_foreign(&env.id) {
            python_of(context, root, env)?
                .map(|interpreter| PythonCommand { interpreter, project: root.to_owned() })
        } else {
            Err(String::new())
        };
        let workers = if env.workers > 0 { env.workers } else { workers.max(1) };
        let (idle, described) = (Arc::default(), Mutex::new(None));
        Ok(Self { permit: Arc::new(permit), command, workers, idle, described, filming: false })
    }

    /// The same, whose environments draw pictures of themselves.
    pub(crate) fn filming(self) -> Self {
        Self { filming: true, ..self }
    }

    /// That of an existing run.
    pub(crate) fn of_run(permit: Permit, context: &Context, run: &Run, config: &Config) -> Outcome<Self> {
        let root = run.path().parent().and_then(Path::parent).unwrap_or(run.path());
        Self::new(permit, context, root, &config.env, context.cores)
    }

    /// The sources of environments with this Python among them.
    pub(crate) fn table(&self) -> Vec<&dyn Source> {
        vec![
            &NativeSource,
            #[cfg(test)]
            &crate::training::seam::ProcessSource,
            self,
        ]
    }

    /// What a run's metadata records: interpreter, packages, source files and spaces. Known once an environment was made.
    pub(crate) fn facts(&self) -> Option<Value> {
        let described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        described.as_ref().map(|described| {
            json!({
                "versions": described.versions,
                "sources": described.sources,
                "observation_space": described.observations(),
                "action_space": described.actions(),
                "max_episode_steps": described.max_episode_steps,
                "reward_threshold": described.reward_threshold,
            })
        })
    }

    fn start(&self, order: Order<'_>) -> Result<Built, StartError> {
        let command = self.command.as_ref().map_err(|why| StartError::Config(why.clone()))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut pool = match idle {
            Some(pool) => pool,
            None => Pool::new(Arc::clone(&self.permit), command.clone(), order.config.timeout)?,
        };
        let copies = order.copies.len();
        let mut instances = Instances::of(order.config, order.default_step_cap);
        instances.render_mode = self.filming.then_some("rgb_array");
        let (layout, described) = pool.make(&instances, copies, self.workers)?;
        *self.described.lock().unwrap_or_else(PoisonError::into_inner) = Some(described.clone());
        let seeds = match (order.copies, order.config.seed) {
            (Copies::Endless(streams), EnvSeeding::Episode) => Seeds::EachEpisode(streams),
            (Copies::Endless(streams), EnvSeeding::Once) => Seeds::Once(streams),
            (Copies::Episodes(seeds), _) => Seeds::Episodes(seeds),
        };
        let leased = Leased::new(pool, Arc::clone(&self.idle));
        Ok(Built { env: Box::new(Bridged::new(leased, layout, &described, seeds)), stochastic: true })
    }
}

impl Source for Python {
    fn catalogue(&self) -> Vec<&'static EnvInfo> {
        Vec::new()
    }

    fn find(&self, id: &str) -> Option<&'static EnvInfo> {
        Foreign.find(id)
    }

    fn make(&self, order: Order<'_>, problems: &mut Vec<Problem>) -> Result<Built, EnvError> {
        self.start(order).map_err(|error| match error {
            StartError::Config(message) => {
                problems.push(Problem { path: "env.id".to_owned(), message: message.clone(), nearest: None });
                EnvError::Failed { copy: None, call: Call::Start, message }
            }
            StartError::Failed(message) => EnvError::Failed { copy: None, call: Call::Start, message },
        })
    }
}

#[cfg(test)]
mod tests;
