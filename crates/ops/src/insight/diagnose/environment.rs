//! What the environment itself contributes to a diagnosis: its facts, and which components of an observation ever
//! change.

use rlxp_analyze::diagnose::{Actions, Environment, Termination};
use rlxp_analyze::suggest::{GoodReturn, Knowledge};
use rlxp_env::{Space, StepBatch};
use rlxp_spec::Config;
use rlxp_types::Stream;

use crate::training::baseline::BASELINE_SEED;
use crate::training::envs::{SOURCES, reward_threshold};

/// Copies and steps over which observations are recorded.
const WATCHED_COPIES: usize = 8;
const WATCHED_STEPS: usize = 64;

/// The environment's facts; unknown if it can't be created.
pub(super) fn facts(config: &Config) -> Environment {
    let info = SOURCES.find(&config.env.id).ok();
    let spaces = SOURCES.spaces(&config.env).ok();
    let still = still(config).unwrap_or_default();
    Environment {
        id: config.env.id.clone(),
        actions: spaces.as_ref().map(|(_, actions)| kind_of(actions)),
        real_observations: spaces.as_ref().map(|(observations, _)| matches!(observations, Space::Box { .. })),
        observation_names: info
            .map(|info| info.observation_names.iter().map(|name| (*name).to_owned()).collect())
            .unwrap_or_default(),
        step_cap: step_cap(config),
        reward_threshold: reward_threshold(&config.env),
        good_return: tuned_goal(config).map(|good| good.value),
        return_range: range(config),
        termination: termination(&config.env.id),
        stochastic: SOURCES.is_stochastic(&config.env).ok(),
        still_steps: if still.is_empty() { 0 } else { (WATCHED_COPIES * WATCHED_STEPS) as u64 },
        still,
    }
}

/// What counts as a good return in this config's environment and why, by the facts that the rules judge by. The highest
/// possible return only counts where it is reached: missing it says little.
pub(crate) fn good_return(config: &Config, reached: Option<f64>) -> Option<GoodReturn> {
    let of = |value: f64, basis: &str| GoodReturn {
        env_id: config.env.id.clone(),
        value,
        basis: basis.to_owned(),
    };
    let threshold = || Some(of(reward_threshold(&config.env)?, "the environment's reward threshold"));
    let top = || {
        let (_, top) = range(config)?;
        (reached? >= top).then(|| of(top, "the highest possible return"))
    };
    tuned_goal(config).cloned().or_else(threshold).or_else(top)
}

/// The goal of the environment's starter. With other arguments or shorter episodes it is a different task.
fn tuned_goal(config: &Config) -> Option<&'static GoodReturn> {
    let info = SOURCES.find(&config.env.id).ok()?;
    let cap = config.env.max_episode_steps;
    let is_long = cap.is_none_or(|cap| info.max_episode_steps.is_none_or(|own| cap >= own));
    Knowledge::built_in().good_return(info.id).filter(|_| config.env.kwargs.is_empty() && is_long)
}

fn step_cap(config: &Config) -> Option<u64> {
    let own = || SOURCES.find(&config.env.id).ok()?.max_episode_steps;
    config.env.max_episode_steps.or_else(own)
}

fn range(config: &Config) -> Option<(f64, f64)> {
    return_range(&config.env.id, step_cap(config)).filter(|_| config.env.kwargs.is_empty())
}

/// The kind of actions; `None` if the environment can't be created.
pub(crate) fn actions(config: &Config) -> Option<Actions> {
    SOURCES.spaces(&config.env).ok().map(|(_, actions)| kind_of(&actions))
}

fn kind_of(actions: &Space) -> Actions {
    match actions {
        Space::Discrete { n } => Actions::Discrete { most_entropy: (*n as f64).ln() },
        Space::MultiDiscrete { nvec } => {
            Actions::Discrete { most_entropy: nvec.iter().map(|n| (*n as f64).ln()).sum() }
        }
        Space::MultiBinary { n } => Actions::Discrete { most_entropy: *n as f64 * 2.0_f64.ln() },
        Space::Box { .. } => Actions::Continuous,
    }
}

/// What termination means in the native environments; FrozenLake and Blackjack end either way.
fn termination(id: &str) -> Option<Termination> {
    let name = id.rsplit_once("-v").map_or(id, |(name, _)| name);
    match name {
        "CartPole" => Some(Termination::Failure),
        "Acrobot"
        | "MountainCar"
        | "MountainCarContinuous"
        | "Taxi"
        | "CliffWalking"
        | "CliffWalkingSlippery" => Some(Termination::Goal),
        _ => None,
    }
}

/// The range of possible returns, if it is known.
fn return_range(id: &str, cap: Option<u64>) -> Option<(f64, f64)> {
    match id {
        "CartPole-v1" => Some((1.0, cap? as f64)),
        "FrozenLake-v1" | "FrozenLake8x8-v1" => Some((0.0, 1.0)),
        // Whatever the policy does, an episode earns 1.
        "ProbeValue-v0" | "ProbeDiscount-v0" => Some((1.0, 1.0)),
        "ProbePolicy-v0" | "ProbeBatching-v0" => Some((-1.0, 1.0)),
        _ => None,
    }
}

/// For each component of an observation, the share of random steps within episodes at which it stays exactly the
/// same. This detects a wrapper that freezes it, or a sensor that is not connected, although every episode differs.
fn still(config: &Config) -> Option<Vec<f64>> {
    let streams = (0..WATCHED_COPIES as u64).map(|copy| Stream::new(BASELINE_SEED + copy, "diagnose", 0));
    let mut env = SOURCES.make(&config.env, streams.collect()).ok()?;
    let (width, actions) = (env.observation_space().width(), env.action_space().clone());
    let mut hand: Vec<Stream> = (0..WATCHED_COPIES as u64)
        .map(|copy| Stream::new(BASELINE_SEED + copy, "diagnose/action", 0))
        .collect();
    let mut before = vec![0.0; WATCHED_COPIES * width];
    env.reset(&mut before).ok()?;
    let mut batch = StepBatch::new(WATCHED_COPIES, width);
    let mut row = vec![0.0; WATCHED_COPIES * actions.width()];
    let (mut same, mut seen) = (vec![0_u64; width], 0_u64);
    for _ in 0..WATCHED_STEPS {
        for (stream, row) in hand.iter_mut().zip(row.chunks_exact_mut(actions.width())) {
            draw(&actions, stream, row);
        }
        env.step(&row, &mut batch).ok()?;
        for copy in 0..WATCHED_COPIES {
            if batch.terminated[copy] || batch.truncated[copy] {
                continue;
            }
            seen += 1;
            let part = copy * width..(copy + 1) * width;
            for ((same, before), now) in
                same.iter_mut().zip(&before[part.clone()]).zip(&batch.observations[part])
            {
                *same += u64::from(before.to_bits() == now.to_bits());
            }
        }
        before.copy_from_slice(&batch.observations);
    }
    (seen > 0).then(|| same.iter().map(|same| *same as f64 / seen as f64).collect())
}

fn draw(space: &Space, stream: &mut Stream, row: &mut [f32]) {
    match space {
        Space::Discrete { n } => row[0] = stream.below(*n as u32) as f32,
        Space::MultiDiscrete { nvec } => {
            row.iter_mut().zip(nvec).for_each(|(x, n)| *x = stream.below(*n as u32) as f32);
        }
        Space::MultiBinary { .. } => row.iter_mut().for_each(|x| *x = stream.below(2) as f32),
        Space::Box { low, high, .. } => {
            for ((x, low), high) in row.iter_mut().zip(low).zip(high) {
                let (low, high) = (low.max(-1.0), high.min(1.0));
                *x = stream.uniform_in(f64::from(low.min(high)), f64::from(high)) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rlxp_spec::Source;

    use super::*;
    use crate::context::Context;
    use crate::training::config::{Purpose, check_source};

    #[test]
    fn suggestions_know_the_targets_that_rules_know() {
        let context = Context::real(None).unwrap();
        let good = |text: &str, reached: f64| {
            let source = Source::new("c", text.to_owned());
            let config = check_source(&context, source, &[], Purpose::Train).unwrap().config;
            good_return(&config, Some(reached)).map(|good| good.value)
        };
        assert_eq!(good("env: {id: CartPole-v1}", 20.0), Some(490.0));
        // 490 is out of reach in 100 steps, but 100 is the most that can be reached.
        assert_eq!(good("env: {id: CartPole-v1, max_episode_steps: 100}", 20.0), None);
        assert_eq!(good("env: {id: CartPole-v1, max_episode_steps: 100}", 100.0), Some(100.0));
        assert_eq!(good("env: {id: ProbeValue-v0}\nalgo: {total_timesteps: 1000}", 1.0), Some(1.0));
    }
}
