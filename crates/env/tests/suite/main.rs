//! Environments from outside: against Gymnasium, and through the API that learners use.
#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod alignment;
mod making;
mod properties;
mod sources;
mod views;

/// One copy of an environment, with nothing around it.
fn config(id: &str) -> rlxp_spec::config::EnvConfig {
    rlxp_spec::config::EnvConfig {
        id: id.to_owned(),
        num_envs: 1,
        kwargs: std::collections::BTreeMap::new(),
        max_episode_steps: None,
        wrappers: Vec::new(),
        normalize_observations: false,
        normalize_rewards: false,
        ..rlxp_spec::config::EnvConfig::plain("")
    }
}
