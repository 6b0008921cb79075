//! A truncated episode is not a terminated one: the value of its last observation counts.

use crate::common::config;
use rlxp_env::{BadState, Environment, Space, Step, VectorEnv, Vectorized};
use rlxp_learn::Ppo;
use rlxp_types::Stream;

/// Reward 1 forever; only the step cap of 2 truncates it.
struct Forever {
    /// Whether the environment itself calls the second step an end.
    really_ends: bool,
    steps: u8,
}

impl Environment for Forever {
    fn observation_space(&self) -> Space {
        Space::vector(vec![0.0], vec![1.0])
    }
    fn action_space(&self) -> Space {
        Space::Discrete { n: 2 }
    }
    fn reset(&mut self, _: &mut Stream, observation: &mut [f32]) {
        self.steps = 0;
        observation[0] = 1.0;
    }
    fn step(&mut self, _: &[f32], _: &mut Stream, observation: &mut [f32]) -> Step {
        self.steps += 1;
        observation[0] = 1.0;
        Step { reward: 1.0, terminated: self.really_ends && self.steps == 2, truncated: false }
    }
    fn save(&self) -> Vec<u8> {
        vec![self.steps]
    }
    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
        self.steps = *saved.first().ok_or(BadState("empty".into()))?;
        Ok(())
    }
}

fn learned_value(really_ends: bool, seed: u64) -> f32 {
    let config = config(
        "env: {id: CartPole-v1, num_envs: 8}\n\
         algo: {total_timesteps: 25600, rollout_steps: 16, batch_size: 64, learning_rate: 3.0e-3, gamma: 0.5, \
         clip_range: 0.2, update_epochs: 4}\n\
         policy: {hidden_sizes: [16, 16]}\n",
    );
    let factory = |streams: Vec<Stream>| {
        let copies = Vectorized::new(|| Forever { really_ends, steps: 0 }, streams, Some(2));
        Ok(Box::new(copies) as Box<dyn VectorEnv>)
    };
    let mut learner = Ppo::with_environment(&config, seed, 1, &factory).unwrap();
    while !learner.is_finished() {
        learner.iterate().unwrap();
    }
    learner.policy().estimate_values(&[1.0])[0]
}

#[test]
fn a_cut_episode_is_valued_as_if_it_went_on() {
    for seed in 0..3 {
        // 1 + γ + γ² + … = 2 with γ = 0.5.
        let value = learned_value(false, seed);
        assert!((value - 2.0).abs() < 0.05, "seed {seed}: {value}");
    }
}

#[test]
fn an_ended_episode_has_nothing_after_it() {
    for seed in 0..3 {
        // Half of the visits are worth 1.5, half are worth 1; the observation can't tell them apart.
        let value = learned_value(true, seed);
        assert!((value - 1.25).abs() < 0.1, "seed {seed}: {value}");
    }
}
