//! Probe environments: each isolates one part of a learner, so a failure says
//! where the defect is. A value that is off, or a policy that is not chosen,
//! is a bug and never bad luck: five seeds, all must hold.

use crate::common::{config, trained};
use rlxp_learn::{Actor, evaluate};

fn probe(id: &str) -> rlxp_spec::Config {
    config(&format!(
        "env: {{id: {id}, num_envs: 8}}\n\
         algo: {{name: ppo, total_timesteps: 12800, rollout_steps: 16, batch_size: 64, update_epochs: 4, \
         learning_rate: 3.0e-3, gamma: 0.5, gae_lambda: 0.95, entropy_coef: 0.0, clip_range: 0.2}}\n\
         policy: {{hidden_sizes: [16, 16]}}\n"
    ))
}

/// Values that a policy gives to observations.
fn values(id: &str, seed: u64, observations: &[f32]) -> Vec<f32> {
    trained(&probe(id), seed, 1).policy().estimate_values(observations)
}

fn check_values(id: &str, observations: &[f32], expected: &[f32]) {
    for seed in 0..5 {
        let got = values(id, seed, observations);
        for (got, wanted) in got.iter().zip(expected) {
            assert!((got - wanted).abs() < 0.1, "{id} seed {seed}: values {got}, where {wanted} is right");
        }
    }
}

#[test]
fn the_value_network_learns_a_constant() {
    check_values("ProbeValue-v0", &[0.0], &[1.0]);
}

#[test]
fn backpropagation_reaches_the_observation() {
    check_values("ProbeBackprop-v0", &[-1.0, 1.0], &[-1.0, 1.0]);
}

#[test]
fn reward_is_discounted_over_two_steps() {
    check_values("ProbeDiscount-v0", &[0.0, 1.0], &[0.5, 1.0]);
}

fn check_policy(id: &str) {
    let config = probe(id);
    for seed in 0..5 {
        let learner = trained(&config, seed, 1);
        let evaluation =
            evaluate(rlxp_env::NATIVE, &config, Actor::Deterministic(learner.policy()), 50, 10_000).unwrap();
        assert_eq!(evaluation.mean_return(), 1.0, "{id} seed {seed}");
        let sampled =
            evaluate(rlxp_env::NATIVE, &config, Actor::Stochastic(learner.policy()), 200, 10_000).unwrap();
        assert!(sampled.mean_return() > 0.9, "{id} seed {seed}: sampled {}", sampled.mean_return());
    }
}

#[test]
fn the_policy_prefers_the_rewarded_action() {
    check_policy("ProbePolicy-v0");
}

#[test]
fn the_policy_matches_each_observation_with_its_own_action() {
    check_policy("ProbeBatching-v0");
}
