//! What updates report about themselves in real training.

use crate::common::config;
use rlxp_env::{BadState, Environment, Space, Step, VectorEnv, Vectorized};
use rlxp_learn::{LearnError, Ppo, Update};
use rlxp_nn::Tensors;
use rlxp_types::Stream;

fn get(values: &[(&'static str, f64)], name: &str) -> Option<f64> {
    values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}

/// The learner of `yaml` and its first update.
fn first(yaml: &str) -> (Ppo, Update) {
    let mut learner = Ppo::new(&config(yaml), 0, 1).unwrap();
    let update = learner.iterate().unwrap();
    (learner, update)
}

const SMALL: &str = "algo: {total_timesteps: 2048, rollout_steps: 64, batch_size: 64, update_epochs: 2}\n\
    policy: {hidden_sizes: [16, 16]}\n";

#[test]
fn a_time_limit_that_is_called_an_end_shows() {
    // No policy drops the pole within 5 steps.
    let env = |wrappers: &str| {
        format!("env: {{id: CartPole-v1, num_envs: 4, max_episode_steps: 5{wrappers}}}\n{SMALL}")
    };
    let (_, honest) = first(&env(""));
    let ends = |update: &Update| {
        let names = ["terminated", "truncated", "episodes_at_limit", "terminated_at_limit"];
        names.map(|name| get(&update.values, name).unwrap())
    };
    // 64 steps are 12 episodes of 5 in each of 4 copies.
    assert_eq!(ends(&honest), [0.0, 48.0, 48.0, 0.0]);
    assert_eq!(get(&honest.values, "episodes_finished"), Some(48.0));
    assert!(get(&honest.values, "value_at_limit").is_some());
    let (_, confused) = first(&env(", wrappers: [truncation_as_termination]"));
    assert_eq!(ends(&confused), [48.0, 0.0, 48.0, 48.0]);
    assert_eq!(get(&confused.values, "value_at_limit"), None);
    // All copies restart together, 12 times: ln 12 / ln 48.
    let spread = get(&honest.values, "reset_spread").unwrap();
    assert!((spread - 12.0_f64.ln() / 48.0_f64.ln()).abs() < 1e-12, "{spread}");
    let rewards = ["reward_mean", "reward_deviation", "reward_max_abs", "rewarded_episodes"];
    assert_eq!(rewards.map(|name| get(&honest.values, name).unwrap()), [1.0, 0.0, 1.0, 1.0]);
    for absent in ["action_std", "action_saturation", "reward_scale"] {
        assert_eq!(get(&honest.values, absent), None, "{absent}");
    }
}

#[test]
fn an_episode_without_reward_shows_across_rollouts() {
    // An episode takes at least six steps, a rollout has two, and no copy has ever got there by chance so soon.
    let yaml = "env: {id: FrozenLake-v1, num_envs: 4, max_episode_steps: 7, kwargs: {is_slippery: false}}\n\
        algo: {total_timesteps: 64, rollout_steps: 2, batch_size: 8, update_epochs: 1}\npolicy: {hidden_sizes: [8]}\n";
    let config = config(yaml);
    let mut learner = Ppo::new(&config, 0, 1).unwrap();
    let mut shares = Vec::new();
    while !learner.is_finished() {
        shares.extend(get(&learner.iterate().unwrap().values, "rewarded_episodes"));
    }
    assert!(!shares.is_empty() && shares.iter().all(|share| *share == 0.0), "{shares:?}");
    // Pendulum's rewards change at every step, also when the episode is spread over rollouts.
    let yaml = yaml.replace("FrozenLake-v1", "Pendulum-v1").replace(", kwargs: {is_slippery: false}", "");
    let mut learner = Ppo::new(&crate::common::config(&yaml), 0, 1).unwrap();
    let mut shares = Vec::new();
    while !learner.is_finished() {
        shares.extend(get(&learner.iterate().unwrap().values, "rewarded_episodes"));
    }
    assert_eq!(shares, [1.0; 2]);
}

#[test]
fn a_learner_saved_before_steady_rewards_were_kept_goes_on() {
    let yaml = format!("env: {{id: CartPole-v1, num_envs: 4}}\n{SMALL}");
    let (mut learner, _) = first(&yaml);
    let mut old = Tensors::new();
    let state = learner.state().unwrap();
    for (name, tensor) in state.iter().filter(|(name, _)| !name.ends_with("steady")) {
        old.insert(name, tensor.clone());
    }
    assert_eq!(old.len() + 1, state.len());
    let mut restored = Ppo::restore(&config(&yaml), 0, 1, &learner.policy().tensors(), &old).unwrap();
    assert_eq!(restored.iterate().unwrap().values, learner.iterate().unwrap().values);
    assert_eq!(restored.state().unwrap().to_bytes(), learner.state().unwrap().to_bytes());
}

#[test]
fn actions_of_real_numbers_have_a_deviation_and_bounds() {
    let yaml = |policy: &str| {
        "env: {id: Pendulum-v1, num_envs: 4, normalize_rewards: true}\n\
         algo: {total_timesteps: 2048, rollout_steps: 64, batch_size: 64, learning_rate: 1.0e-12}\n"
            .to_owned()
            + policy
    };
    // The action is within ±2 and its standard deviation 2 at first: 32% are outside.
    let (_, plain) =
        first(&yaml("policy: {hidden_sizes: [16], use_sde: false, log_std_init: 0.693147180559945}"));
    let deviation = get(&plain.values, "action_std").unwrap();
    assert!((deviation - 2.0).abs() < 1e-5, "{deviation}");
    let share = get(&plain.values, "action_saturation").unwrap();
    assert!((share - 0.317).abs() < 0.1, "{share}");
    assert!(get(&plain.values, "reward_scale").unwrap() > 0.0);
    // With unit deviations in the matrix the action's is the length of the latent vector.
    let (_, dependent) = first(&yaml("policy: {hidden_sizes: [16], use_sde: true, log_std_init: 0.0}"));
    let deviation = get(&dependent.values, "action_std").unwrap();
    assert!((0.3..4.0).contains(&deviation), "{deviation}");
}

#[test]
fn clipped_gradients_are_counted() {
    let share = |limit: &str| {
        let yaml = format!("env: {{id: CartPole-v1, num_envs: 4}}\n{SMALL}");
        let (_, update) = first(&yaml.replace("update_epochs: 2", &format!("max_grad_norm: {limit}")));
        get(&update.values, "grad_clipped")
    };
    assert_eq!([share("1.0e-9"), share("1.0e6"), share("null")], [Some(1.0), Some(0.0), None]);
}

#[test]
fn observations_are_told_as_they_came() {
    let names = |values: &[(String, f64)]| values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let untrained = Ppo::new(&config(&format!("env: {{id: CartPole-v1}}\n{SMALL}")), 0, 1).unwrap();
    assert_eq!(untrained.observed(), []);

    let pendulum = |normalize: bool| {
        first(&format!("env: {{id: Pendulum-v1, num_envs: 4, normalize_observations: {normalize}}}\n{SMALL}"))
            .0
            .observed()
    };
    let plain = pendulum(false);
    assert_eq!(plain.len(), 3 * 4 + 1);
    let normalized = pendulum(true);
    assert_eq!(normalized.len(), 3 * 5 + 1);
    assert_eq!(names(&normalized)[..6], ["mean_0", "std_0", "min_0", "max_0", "clipped_0", "mean_1"]);
    // The first rollout is not normalised yet, so both learners saw the same.
    assert_eq!(plain[..4], normalized[..4]);
    let value = |name: &str| plain.iter().find(|(key, _)| key == name).unwrap().1;
    // Cosine, sine, velocity.
    assert!(value("min_0") >= -1.0 && value("max_0") <= 1.0 && value("max_2").abs() <= 8.0);
    assert!(value("std_2") > value("std_0"));
    assert!((0.0..=1.0).contains(&value("dormant_fraction")));

    let (lake, _) = first(&format!("env: {{id: FrozenLake-v1, num_envs: 4}}\n{SMALL}"));
    assert_eq!(names(&lake.observed()), ["dormant_fraction"], "an index has no mean");
}

/// Pays 1 until a step at which the reward is not a number.
struct Breaks {
    steps: u8,
}

impl Environment for Breaks {
    fn observation_space(&self) -> Space {
        Space::vector(vec![0.0], vec![1.0])
    }
    fn action_space(&self) -> Space {
        Space::Discrete { n: 2 }
    }
    fn reset(&mut self, _: &mut Stream, observation: &mut [f32]) {
        observation[0] = 1.0;
    }
    fn step(&mut self, _: &[f32], _: &mut Stream, observation: &mut [f32]) -> Step {
        self.steps += 1;
        observation[0] = 1.0;
        Step { reward: if self.steps < 20 { 1.0 } else { f32::NAN }, terminated: true, truncated: false }
    }
    fn save(&self) -> Vec<u8> {
        vec![self.steps]
    }
    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
        self.steps = *saved.first().ok_or(BadState("empty".into()))?;
        Ok(())
    }
}

#[test]
fn a_learner_that_diverges_still_tells_the_numbers_of_that_update() {
    let config = config(
        "env: {id: CartPole-v1, num_envs: 2}\n\
         algo: {total_timesteps: 1024, rollout_steps: 16, batch_size: 32}\npolicy: {hidden_sizes: [8]}\n",
    );
    let factory = |streams: Vec<Stream>| {
        let copies = Vectorized::new(|| Breaks { steps: 0 }, streams, None);
        Ok(Box::new(copies) as Box<dyn VectorEnv>)
    };
    let mut learner = Ppo::with_environment(&config, 0, 1, &factory).unwrap();
    learner.iterate().unwrap();
    let weights = learner.policy().tensors().to_bytes();
    let Err(LearnError::Diverged { step, value, values, .. }) = learner.iterate() else {
        panic!("a NaN must not be learned from");
    };
    assert_eq!((step, value.is_nan()), (64, true));
    for broken in
        ["reward_mean", "return_target_mean", "grad_norm", "policy_loss", "value_loss", "mean_return"]
    {
        assert!(get(&values, broken).unwrap().is_nan(), "{broken}");
    }
    assert_eq!(get(&values, "terminated"), Some(32.0));
    assert_eq!(learner.policy().tensors().to_bytes(), weights, "the policy is the last one that was sound");
}
