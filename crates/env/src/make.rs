//! The source of the native environments: from arguments to dynamics.

use rlxp_spec::config::WrapperConfig;
use rlxp_types::Stream;

use crate::catalogue::{EnvInfo, Kind, kind_of, native_infos};
use crate::classic::{Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum};
use crate::kwargs::Kwargs;
use crate::native::{Dynamics, Native};
use crate::probe::Probe;
use crate::source::{Built, Order, Problem, Source, Sources};
use crate::toy::frozen_lake::{self, MAP_4X4, MAP_8X8, Map, Rewards};
use crate::toy::taxi::TaxiRules;
use crate::toy::{Blackjack, TableWorld, Taxi, cliff_walking};
use crate::vector::EnvError;

/// The native environments.
pub struct NativeSource;

/// A table of the native environments alone.
pub const NATIVE: Sources<'static> = Sources::new(&[&NativeSource]);

impl Source for NativeSource {
    fn catalogue(&self) -> Vec<&'static EnvInfo> {
        native_infos().collect()
    }

    fn find(&self, id: &str) -> Option<&'static EnvInfo> {
        native_infos().find(|info| info.is_called(id))
    }

    fn make(&self, order: Order<'_>, problems: &mut Vec<Problem>) -> Result<Built, EnvError> {
        let mut kwargs = Kwargs::new(order.info, &order.config.kwargs);
        let cap = order.step_cap.or(order.default_step_cap);
        let built = native(order.info, &mut kwargs, order.copies.streams(), cap);
        problems.append(&mut kwargs.problems);
        let is_python = |wrapper: &WrapperConfig| matches!(wrapper, WrapperConfig::Python { .. });
        if let Some(index) = order.config.wrappers.iter().position(is_python) {
            let message = format!(
                "{0} is built in and takes no wrappers of Python; use `env.id: gymnasium:{0}` for that of Gymnasium",
                order.info.id
            );
            problems.push(Problem { path: format!("env.wrappers[{index}]"), message, nearest: None });
        }
        Ok(built)
    }
}

/// The bare environment. Problems are noted in `kwargs`, and what is built
/// then has defaults in their place.
fn native(info: &'static EnvInfo, kwargs: &mut Kwargs<'_>, streams: Vec<Stream>, cap: Option<u64>) -> Built {
    let copies = streams.len();
    let stochastic = info.stochastic;
    match kind_of(info) {
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
            kwargs.problem("map_name", format!("unknown map {other:?}; the maps are 4x4 and 8x8"));
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
