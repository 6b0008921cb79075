//! Learning gates: small budgets, several seeds, the mean must pass. Starters
//! have their own table; these catch an algorithm that stopped learning.

use crate::common::{config, trained};
use rlxp_learn::{Actor, evaluate};
use rlxp_spec::config::AlgoConfig;

/// Mean evaluation return over three seeds.
fn mean_score(yaml: &str) -> f64 {
    let config = config(yaml);
    let score = |seed| {
        let learner = trained(&config, seed, 1);
        evaluate(rlxp_env::NATIVE, &config, Actor::Deterministic(learner.policy()), 50, 20_000)
            .unwrap()
            .mean_return()
    };
    (0..3).map(score).sum::<f64>() / 3.0
}

#[test]
fn cartpole_is_learned_with_discrete_actions() {
    let score = mean_score(
        "env: {id: CartPole-v1, num_envs: 8}\n\
         algo: {total_timesteps: 60000, rollout_steps: 64, batch_size: 128, update_epochs: 8, gamma: 0.98, \
         gae_lambda: 0.9, learning_rate: {schedule: linear, from: 2.0e-3, to: 0.0}}\n\
         policy: {hidden_sizes: [32, 32]}\n",
    );
    assert!(score >= 400.0, "mean of three seeds is {score}");
}

#[test]
fn a_short_walk_is_learned_from_indices() {
    let score = mean_score(
        "env: {id: FrozenLake-v1, num_envs: 8, kwargs: {is_slippery: false}}\n\
         algo: {total_timesteps: 60000, rollout_steps: 64, batch_size: 128, update_epochs: 4, entropy_coef: 0.02, \
         learning_rate: 2.0e-3}\n\
         policy: {hidden_sizes: [32]}\n",
    );
    assert!(score >= 0.99, "mean of three seeds is {score}");
}

#[test]
fn a_pendulum_is_swung_up_with_continuous_actions() {
    let score = mean_score(
        "env: {id: Pendulum-v1, num_envs: 8, normalize_rewards: true}\n\
         algo: {total_timesteps: 120000, rollout_steps: 200, batch_size: 200, update_epochs: 8, gamma: 0.9, \
         gae_lambda: 0.95, learning_rate: {schedule: linear, from: 2.0e-3, to: 0.0}, entropy_coef: 0.0}\n\
         policy: {hidden_sizes: [32, 32], use_sde: true, sde_sample_freq: 4}\n",
    );
    assert!(score >= -400.0, "mean of three seeds is {score}");
}

#[test]
fn the_usual_constants_are_the_default() {
    let AlgoConfig::Ppo(algo) = config("env: {id: ProbeValue-v0}\nalgo: {total_timesteps: 1000}\n").algo;
    assert_eq!(algo.adam_epsilon, 1e-5);
    assert_eq!(algo.max_grad_norm, Some(0.5));
    assert!(algo.normalize_advantages);
}
