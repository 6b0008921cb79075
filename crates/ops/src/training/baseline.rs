//! How policies that learn nothing score: random and zero actions.

use rlxp_learn::evaluate::{DEFAULT_STEP_CAP, evaluation_env};
use rlxp_learn::{Actor, Evaluation, evaluate};
use rlxp_spec::Config;

use crate::training::envs::SOURCES;

/// Episodes of a baseline: enough to tell learning from luck, few enough to
/// play while the user waits.
const BASELINE_EPISODES: usize = 20;
/// Seed of their first episode, apart from those of training, choosing and `rlx eval`.
pub(crate) const BASELINE_SEED: u64 = 40_000;
/// Steps that a training may spend on its baseline before it begins, about a second.
const MOST_STEPS: u64 = 1_000_000;

/// Seeded episodes of random and of zero actions; none where the environment can't be made.
pub(crate) fn baselines(config: &Config) -> Vec<(&'static str, Evaluation)> {
    [("random", Actor::Random), ("zero", Actor::Zero)]
        .into_iter()
        .filter_map(|(name, actor)| Some((name, play(config, actor)?)))
        .collect()
}

/// The mean return of random actions, unless playing them could take long.
pub(crate) fn random_return(config: &Config) -> Option<f64> {
    if crate::training::bridge::is_foreign(&config.env.id) {
        return None;
    }
    let longest = evaluation_env(SOURCES, config).max_episode_steps.unwrap_or(DEFAULT_STEP_CAP);
    if longest.saturating_mul(BASELINE_EPISODES as u64) > MOST_STEPS {
        return None;
    }
    Some(play(config, Actor::Random)?.mean_return()).filter(|mean| mean.is_finite())
}

fn play(config: &Config, actor: Actor<'_>) -> Option<Evaluation> {
    evaluate(SOURCES, config, actor, BASELINE_EPISODES, BASELINE_SEED).ok()
}
