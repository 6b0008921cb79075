//! From a config's `env` section to an environment that can be stepped: the
//! one place that does it, whatever the environment is made of.
//!
//! A [`Source`] makes environments of one kind; [`Sources`] is the table of
//! them that a program has, and what everything else asks. What doesn't depend
//! on the kind (step caps, wrappers, checks of spaces) is done here for all.

use std::fmt;

use rlxp_spec::config::{EnvConfig, WrapperConfig};
use rlxp_types::Stream;

use crate::catalogue::{EnvInfo, UnknownEnv, nearest_ids};
use crate::space::Space;
use crate::vector::{EnvError, VectorEnv};
use crate::wrapper::{FreezeObservation, ScaleReward, TruncationAsTermination};

/// Makes environments of one kind, such as those built in or those of another
/// program.
pub trait Source: Sync {
    /// The environments that it can list, in the order to show them.
    fn catalogue(&self) -> Vec<&'static EnvInfo>;

    /// The environment with this id or alias, listed or not. Facts live as
    /// long as the program: a source that learns them at run time keeps one
    /// per id.
    fn find(&self, id: &str) -> Option<&'static EnvInfo> {
        self.catalogue().into_iter().find(|info| info.is_called(id))
    }

    /// Makes the bare copies. What is wrong with the arguments is noted in
    /// `problems`; what is made then, if anything, has defaults in their place.
    fn make(&self, order: Order<'_>, problems: &mut Vec<Problem>) -> Result<Built, EnvError>;
}

/// What a source is asked to make.
pub struct Order<'a> {
    /// Which environment: what its `find` gave.
    pub info: &'static EnvInfo,
    /// The config: arguments, wrappers of its own kind, how it is run.
    pub config: &'a EnvConfig,
    /// How many copies, and what they start from; at least one.
    pub copies: Copies,
    /// Steps after which an episode is cut, as config or catalogue say.
    pub step_cap: Option<u64>,
    /// Steps after which an episode is cut if neither those nor the environment say anything.
    pub default_step_cap: Option<u64>,
}

/// What copies of an environment are for.
pub enum Copies {
    /// Endless episodes, with one random stream per copy.
    Endless(Vec<Stream>),
    /// One episode with each of these seeds.
    Episodes(Vec<u64>),
}

impl Copies {
    /// Number of copies.
    pub fn len(&self) -> usize {
        match self {
            Self::Endless(streams) => streams.len(),
            Self::Episodes(seeds) => seeds.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A random stream for each copy.
    pub fn streams(self) -> Vec<Stream> {
        match self {
            Self::Endless(streams) => streams,
            Self::Episodes(seeds) => seeds.into_iter().map(|seed| Stream::new(seed, "eval", 0)).collect(),
        }
    }
}

/// An environment and what only its maker knows.
pub struct Built {
    /// The environment.
    pub env: Box<dyn VectorEnv>,
    /// Episodes of one deterministic policy vary, start states included.
    pub stochastic: bool,
}

/// One thing that is wrong with an `env` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its path in the config, such as `env.kwargs.is_slipery`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

/// An environment can't be made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The config can't be followed; every problem that was found.
    #[error("{}", list(problems))]
    Config {
        /// What is wrong, in the order of the config.
        problems: Vec<Problem>,
    },
    /// The config is fine, and the environment did not start.
    #[error("environment {env:?} failed")]
    Failed {
        /// Its id.
        env: String,
        /// What happened.
        source: EnvError,
    },
}

impl MakeError {
    /// What is wrong, as problems of the config.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Config { problems } => problems.clone(),
            Self::Failed { source, .. } => vec![problem("env.id", source.to_string())],
        }
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

fn problem(path: impl Into<String>, message: impl Into<String>) -> Problem {
    Problem { path: path.into(), message: message.into(), nearest: None }
}

/// The table of sources, the first that has an id makes it.
#[derive(Clone, Copy)]
pub struct Sources<'a>(&'a [&'a dyn Source]);

impl<'a> Sources<'a> {
    /// These sources.
    pub const fn new(table: &'a [&'a dyn Source]) -> Self {
        Self(table)
    }

    /// Every environment that can be listed, in the order to show them.
    pub fn catalogue(self) -> impl Iterator<Item = &'static EnvInfo> + use<'a> {
        self.0.iter().flat_map(|source| source.catalogue())
    }

    /// What is known of the environment with this id or alias.
    pub fn find(self, id: &str) -> Result<&'static EnvInfo, UnknownEnv> {
        self.with_source(id).map(|(_, info)| info)
    }

    fn with_source(self, id: &str) -> Result<(&'a dyn Source, &'static EnvInfo), UnknownEnv> {
        self.0
            .iter()
            .find_map(|source| Some((*source, source.find(id)?)))
            .ok_or_else(|| UnknownEnv { id: id.to_owned(), nearest: nearest_ids(id, self.catalogue()) })
    }

    /// The environment that `config` describes, one copy per stream; `num_envs` and normalisation belong to the
    /// learner and are ignored.
    pub fn make(self, config: &EnvConfig, streams: Vec<Stream>) -> Result<Box<dyn VectorEnv>, MakeError> {
        self.build(config, Copies::Endless(streams), None).map(|built| built.env)
    }

    /// One copy per seed, each for one episode. An episode is cut after `default_step_cap` where neither the config nor
    /// the environment has a limit.
    pub fn episodes(
        self,
        config: &EnvConfig,
        seeds: &[u64],
        default_step_cap: u64,
    ) -> Result<Box<dyn VectorEnv>, MakeError> {
        self.build(config, Copies::Episodes(seeds.to_vec()), Some(default_step_cap)).map(|built| built.env)
    }

    /// What observations and actions of the environment in `config` look like.
    pub fn spaces(self, config: &EnvConfig) -> Result<(Space, Space), MakeError> {
        let built = self.build(config, one(), None)?;
        Ok((built.env.observation_space().clone(), built.env.action_space().clone()))
    }

    /// Whether episodes of one deterministic policy vary, start states and
    /// arguments included.
    pub fn is_stochastic(self, config: &EnvConfig) -> Result<bool, MakeError> {
        self.build(config, one(), None).map(|built| built.stochastic)
    }

    fn build(
        self,
        config: &EnvConfig,
        mut copies: Copies,
        default_step_cap: Option<u64>,
    ) -> Result<Built, MakeError> {
        let (source, info) = self.with_source(&config.id).map_err(|unknown| MakeError::Config {
            problems: vec![Problem {
                path: "env.id".to_owned(),
                nearest: unknown.nearest.first().map(|id| (*id).to_owned()),
                message: format!("unknown environment {:?}", config.id),
            }],
        })?;
        let mut general = general_problems(config, copies.len());
        if copies.is_empty() {
            // So that everything else that is wrong is found as well.
            copies = one();
        }
        let step_cap = config.max_episode_steps.or(info.max_episode_steps);
        let mut problems = Vec::new();
        let made = source.make(Order { info, config, copies, step_cap, default_step_cap }, &mut problems);
        if let Ok(built) = &made {
            let (observations, actions) = (built.env.observation_space(), built.env.action_space());
            for (what, space) in [("observations", observations), ("actions", actions)] {
                let unusable = space.problem().map(|why| format!("rlx can't use its {what}: {why}"));
                problems.extend(unusable.map(|message| problem("env.id", message)));
            }
            general.extend(missing_dimensions(&config.wrappers, observations.width()));
        }
        problems.extend(general);
        if !problems.is_empty() {
            return Err(MakeError::Config { problems });
        }
        let built = made.map_err(|source| MakeError::Failed { env: config.id.clone(), source })?;
        Ok(Built { env: wrapped(built.env, &config.wrappers), ..built })
    }
}

/// A single copy, to look at.
fn one() -> Copies {
    Copies::Endless(vec![Stream::new(0, "env", 0)])
}

/// What is wrong with a config whatever its environment is.
fn general_problems(config: &EnvConfig, copies: usize) -> Vec<Problem> {
    let mut problems = Vec::new();
    if copies == 0 {
        problems.push(problem("env.num_envs", "at least one copy is needed"));
    }
    if config.max_episode_steps == Some(0) {
        problems.push(problem("env.max_episode_steps", "an episode has at least one step"));
    }
    let is_python = |wrapper: &WrapperConfig| matches!(wrapper, WrapperConfig::Python { .. });
    let outside = config.wrappers.iter().position(|wrapper| !is_python(wrapper));
    if let Some(inside) =
        outside.and_then(|first| config.wrappers.iter().skip(first).position(is_python).map(|at| first + at))
    {
        let message = "wrappers of Python are inside those of rlx: move it to the beginning of the list";
        problems.push(problem(format!("env.wrappers[{inside}]"), message));
    }
    for (index, wrapper) in config.wrappers.iter().enumerate() {
        if let WrapperConfig::ScaleReward { factor } = wrapper
            && !(*factor as f32).is_finite()
        {
            let path = format!("env.wrappers[{index}].scale_reward.factor");
            problems.push(problem(path, format!("{factor} is not a finite single-precision number")));
        }
    }
    problems
}

fn wrapped(env: Box<dyn VectorEnv>, wrappers: &[WrapperConfig]) -> Box<dyn VectorEnv> {
    wrappers.iter().fold(env, |inner, wrapper| -> Box<dyn VectorEnv> {
        match wrapper {
            WrapperConfig::ScaleReward { factor } => Box::new(ScaleReward::new(inner, *factor)),
            WrapperConfig::FreezeObservation { dimensions } => {
                Box::new(FreezeObservation::new(inner, dimensions.as_deref()))
            }
            WrapperConfig::TruncationAsTermination {} => Box::new(TruncationAsTermination::new(inner)),
            // The source has put it around the environment already.
            WrapperConfig::Python { .. } => inner,
        }
    })
}

/// Dimensions that a wrapper names and observations of that width don't have.
/// No wrapper changes the width.
fn missing_dimensions(wrappers: &[WrapperConfig], width: usize) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, wrapper) in wrappers.iter().enumerate() {
        let WrapperConfig::FreezeObservation { dimensions: Some(dimensions) } = wrapper else { continue };
        for (at, dimension) in dimensions.iter().enumerate().filter(|(_, dimension)| **dimension >= width) {
            let have = match width {
                1 => "1 dimension: 0".to_owned(),
                _ => format!("{width} dimensions: 0 to {}", width.saturating_sub(1)),
            };
            problems.push(Problem {
                path: format!("env.wrappers[{index}].dimensions[{at}]"),
                message: format!("dimension {dimension} does not exist; observations have {have}"),
                nearest: None,
            });
        }
    }
    problems
}
