//! `rlx envs`: the catalogue of native environments.

use rlxp_env::{EnvInfo, NativeSource, Sources, Space};
use rlxp_spec::config::EnvConfig;
use rlxp_types::Stream;
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// The sources of environments. Every command uses this table, so a new row is available in all of them. Verbs that
/// may start Python use that of [`Python`](crate::training::bridge::Python) instead.
pub(crate) const SOURCES: Sources<'static> = Sources::new(&[
    &NativeSource,
    #[cfg(test)]
    &crate::training::seam::ProcessSource,
    &crate::training::bridge::Foreign,
]);

#[derive(Debug, Serialize)]
pub struct EnvRow {
    pub id: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    pub summary: &'static str,
    pub observation_space: Space,
    pub action_space: Space,
    pub max_episode_steps: Option<u64>,
    /// Return that counts as solved.
    pub reward_threshold: Option<f64>,
    /// Whether episodes of a fixed policy vary.
    pub stochastic: bool,
    /// Keyword arguments.
    pub kwargs: Vec<KwargRow>,
    /// Starter config that `rlx init` writes.
    pub starter: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct KwargRow {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

/// All environments, or the one that `id` names.
pub fn list(id: Option<&str>) -> Outcome<Vec<EnvRow>> {
    match id {
        Some(id) => {
            rlxp_env::NATIVE.find(id).map(|info| vec![row(info)]).map_err(|unknown| unknown_env(&unknown))
        }
        None => Ok(SOURCES.catalogue().map(row).collect()),
    }
}

/// The failure for an unknown environment.
pub(crate) fn unknown_env(unknown: &rlxp_env::UnknownEnv) -> Failure {
    Failure::usage("environment_unknown", unknown.to_string()).hint("rlx envs")
}

/// Ids and aliases of all environments.
pub(crate) fn known_ids() -> Vec<&'static str> {
    SOURCES
        .catalogue()
        .flat_map(|info| std::iter::once(info.id).chain(info.aliases.iter().copied()))
        .collect()
}

fn row(info: &'static EnvInfo) -> EnvRow {
    let plain = EnvConfig {
        id: info.id.to_owned(),
        num_envs: 1,
        kwargs: Default::default(),
        max_episode_steps: None,
        wrappers: Vec::new(),
        normalize_observations: false,
        normalize_rewards: false,
        ..EnvConfig::plain("")
    };
    let env = SOURCES
        .make(&plain, vec![Stream::new(0, "env", 0)])
        .expect("a catalogue environment is made with its defaults");
    EnvRow {
        id: info.id,
        aliases: info.aliases,
        summary: info.summary,
        observation_space: env.observation_space().clone(),
        action_space: env.action_space().clone(),
        max_episode_steps: info.max_episode_steps,
        reward_threshold: info.reward_threshold,
        stochastic: info.stochastic,
        kwargs: info
            .kwargs
            .iter()
            .map(|kwarg| KwargRow { name: kwarg.name, default: kwarg.default, meaning: kwarg.meaning })
            .collect(),
        starter: rlxp_spec::starters()
            .iter()
            .find(|starter| starter.env_id == info.id)
            .map(|starter| starter.file_name),
    }
}

/// The return from which the environment counts as solved. With other arguments
/// or a shorter episode it may be out of reach, so it is unknown then.
pub(crate) fn reward_threshold(env: &EnvConfig) -> Option<f64> {
    let info = SOURCES.find(&env.id).ok()?;
    let as_registered = env.kwargs.is_empty()
        && env.max_episode_steps.is_none_or(|cap| info.max_episode_steps.is_some_and(|own| cap >= own));
    info.reward_threshold.filter(|_| as_registered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_that_may_be_out_of_reach_is_unknown() {
        let env = EnvConfig {
            id: "CartPole-v1".to_owned(),
            num_envs: 1,
            kwargs: std::collections::BTreeMap::new(),
            max_episode_steps: None,
            wrappers: Vec::new(),
            normalize_observations: false,
            normalize_rewards: false,
            ..EnvConfig::plain("")
        };
        let capped = |cap| EnvConfig { max_episode_steps: Some(cap), ..env.clone() };
        assert_eq!(reward_threshold(&env), Some(475.0));
        assert_eq!(reward_threshold(&capped(500)), Some(475.0));
        assert_eq!(reward_threshold(&capped(300)), None);
        let kwargs = [("sutton_barto_reward".to_owned(), rlxp_spec::config::Kwarg::Bool(true))].into();
        assert_eq!(reward_threshold(&EnvConfig { kwargs, ..env.clone() }), None);
        assert_eq!(reward_threshold(&EnvConfig { id: "Pendulum-v1".to_owned(), ..env }), None);
    }
}
