//! From a config's `env` section to an environment that can be stepped.

use std::fmt;

use rlxp_spec::config::{EnvConfig, WrapperConfig};
use rlxp_types::Stream;

use crate::catalogue::{EnvInfo, Kind, find};
use crate::classic::{Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum};
use crate::kwargs::Kwargs;
use crate::native::{Dynamics, Native};
use crate::probe::Probe;
use crate::space::Space;
use crate::toy::frozen_lake::{self, MAP_4X4, MAP_8X8, Map, Rewards};
use crate::toy::taxi::TaxiRules;
use crate::toy::{Blackjack, TableWorld, Taxi, cliff_walking};
use crate::vector::VectorEnv;
use crate::wrapper::{FreezeObservation, ScaleReward, TruncationAsTermination};

/// One thing that is wrong with an `env` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands in the config, such as `env.kwargs.is_slipery`.
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

/// An environment can't be made; every problem that was found.
#[derive(Debug, thiserror::Error)]
#[error("{}", list(problems))]
pub struct MakeError {
    /// What is wrong, in the order of the config.
    pub problems: Vec<Problem>,
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// The environment that `config` describes, one copy per stream. The number
/// of copies is that of the streams; `num_envs` and normalisation belong to
/// the learner and are not looked at.
pub fn make(config: &EnvConfig, streams: Vec<Stream>) -> Result<Box<dyn VectorEnv>, MakeError> {
    build(config, streams).map(|built| built.env)
}

/// What observations and actions of the environment in `config` look like.
pub fn observation_and_action_space(config: &EnvConfig) -> Result<(Space, Space), MakeError> {
    let built = build(config, vec![Stream::new(0, "env", 0)])?;
    Ok((built.env.observation_space().clone(), built.env.action_space().clone()))
}

/// Whether episodes of one deterministic policy vary, start states and
/// arguments included.
pub fn is_stochastic(config: &EnvConfig) -> Result<bool, MakeError> {
    build(config, vec![Stream::new(0, "env", 0)]).map(|built| built.stochastic)
}

/// An environment and what only its maker knows.
struct Built {
    env: Box<dyn VectorEnv>,
    stochastic: bool,
}

fn build(config: &EnvConfig, streams: Vec<Stream>) -> Result<Built, MakeError> {
    let info = find(&config.id).map_err(|unknown| MakeError {
        problems: vec![Problem {
            path: "env.id".to_owned(),
            nearest: unknown.nearest.first().map(|id| (*id).to_owned()),
            message: format!("there is no environment {:?}", config.id),
        }],
    })?;
    let mut kwargs = Kwargs::new(info, &config.kwargs);
    if streams.is_empty() {
        kwargs.problems.push(Problem {
            path: "env.num_envs".to_owned(),
            message: "at least one copy is needed".to_owned(),
            nearest: None,
        });
    }
    if config.max_episode_steps == Some(0) {
        kwargs.problems.push(Problem {
            path: "env.max_episode_steps".to_owned(),
            message: "an episode has at least one step".to_owned(),
            nearest: None,
        });
    }
    for (index, wrapper) in config.wrappers.iter().enumerate() {
        if let WrapperConfig::ScaleReward { factor } = wrapper
            && !(*factor as f32).is_finite()
        {
            kwargs.problems.push(Problem {
                path: format!("env.wrappers[{index}].scale_reward.factor"),
                message: format!("{factor} is no finite single precision number"),
                nearest: None,
            });
        }
    }
    let cap = config.max_episode_steps.or(info.max_episode_steps);
    let built = native(info, &mut kwargs, streams, cap);
    kwargs.problems.extend(missing_dimensions(&config.wrappers, built.env.observation_space().width()));
    if !kwargs.problems.is_empty() {
        return Err(MakeError { problems: kwargs.problems });
    }
    let env = config.wrappers.iter().fold(built.env, |inner, wrapper| -> Box<dyn VectorEnv> {
        match wrapper {
            WrapperConfig::ScaleReward { factor } => Box::new(ScaleReward::new(inner, *factor)),
            WrapperConfig::FreezeObservation { dimensions } => {
                Box::new(FreezeObservation::new(inner, dimensions.as_deref()))
            }
            WrapperConfig::TruncationAsTermination {} => Box::new(TruncationAsTermination::new(inner)),
        }
    });
    Ok(Built { env, stochastic: built.stochastic })
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
                message: format!("there is no dimension {dimension}; observations have {have}"),
                nearest: None,
            });
        }
    }
    problems
}

/// The bare environment. Problems are noted in `kwargs`, and what is built
/// then has defaults in their place.
fn native(info: &'static EnvInfo, kwargs: &mut Kwargs<'_>, streams: Vec<Stream>, cap: Option<u64>) -> Built {
    let copies = streams.len();
    let stochastic = info.stochastic;
    match info.kind {
        Kind::CartPole => {
            let sutton_barto = kwargs.bool("sutton_barto_reward", false);
            wrap(CartPole::new(copies, sutton_barto), streams, cap, stochastic)
        }
        Kind::Acrobot => wrap(Acrobot::new(copies), streams, cap, stochastic),
        Kind::MountainCar => {
            wrap(MountainCar::new(copies, kwargs.number("goal_velocity", 0.0)), streams, cap, stochastic)
        }
        Kind::MountainCarContinuous => {
            let goal_velocity = kwargs.number("goal_velocity", 0.0);
            wrap(MountainCarContinuous::new(copies, goal_velocity), streams, cap, stochastic)
        }
        Kind::Pendulum => wrap(Pendulum::new(copies, kwargs.number("g", 10.0)), streams, cap, stochastic),
        Kind::FrozenLake { map_name } => {
            let map = lake_map(kwargs, map_name);
            let rewards = lake_rewards(kwargs);
            let success_rate = kwargs.number("success_rate", 1.0 / 3.0);
            let table = frozen_lake::table(&map, kwargs.bool("is_slippery", true), success_rate, rewards);
            let stochastic = table.stochastic();
            wrap(TableWorld::new(table, copies), streams, cap, stochastic)
        }
        Kind::Taxi => {
            let rules = TaxiRules {
                rainy: kwargs.bool("is_rainy", false),
                rainy_probability: kwargs.number("rainy_probability", 0.8),
                fickle: kwargs.bool("fickle_passenger", false),
                fickle_probability: kwargs.number("fickle_probability", 0.3),
            };
            wrap(Taxi::new(copies, rules), streams, cap, stochastic)
        }
        Kind::CliffWalking { slippery } => {
            let table = cliff_walking::table(kwargs.bool("is_slippery", slippery));
            let stochastic = table.stochastic();
            wrap(TableWorld::new(table, copies), streams, cap, stochastic)
        }
        Kind::Blackjack => {
            let game = Blackjack::new(copies, kwargs.bool("natural", false), kwargs.bool("sab", true));
            wrap(game, streams, cap, stochastic)
        }
        Kind::Probe(kind) => wrap(Probe::new(copies, kind), streams, cap, stochastic),
    }
}

fn wrap<D: Dynamics + 'static>(
    dynamics: D,
    streams: Vec<Stream>,
    cap: Option<u64>,
    stochastic: bool,
) -> Built {
    Built { env: Box::new(Native::new(dynamics, streams, cap)), stochastic }
}

fn lake_map(kwargs: &mut Kwargs<'_>, default: &str) -> Map {
    let name = kwargs.text("map_name").unwrap_or(default);
    let named = match name {
        "4x4" => MAP_4X4,
        "8x8" => MAP_8X8,
        other => {
            kwargs.problem("map_name", format!("there is no map {other:?}; the maps are 4x4 and 8x8"));
            MAP_4X4
        }
    };
    let desc = kwargs.text("desc").filter(|desc| !desc.is_empty()).unwrap_or(named);
    Map::parse(desc).unwrap_or_else(|why| {
        kwargs.problem("desc", why);
        Map::parse(MAP_4X4).expect("the built-in map is well formed")
    })
}

fn lake_rewards(kwargs: &mut Kwargs<'_>) -> Rewards {
    let text = kwargs.text("reward_schedule").unwrap_or("1,0,0");
    let numbers: Option<Vec<f32>> = text
        .split(',')
        .map(|part| part.trim().parse().ok().filter(|number: &f32| number.is_finite()))
        .collect();
    match numbers.as_deref() {
        Some(&[goal, hole, ice]) => Rewards { goal, hole, ice },
        _ => {
            kwargs.problem("reward_schedule", format!("{text:?} is not three numbers such as 1,0,0"));
            Rewards { goal: 1.0, hole: 0.0, ice: 0.0 }
        }
    }
}
