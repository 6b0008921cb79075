//! Environments that are not under rlx's control: they fail in the middle of a
//! step, or can't save their state. Neither may end in a panic.

use std::error::Error;

use rlxp_env::{Call, EnvError, MakeError, NATIVE, Space, StepBatch, VectorEnv};
use rlxp_learn::evaluate::evaluation_env;
use rlxp_learn::{Actor, LearnError, Ppo, Resumed, evaluate_in};
use rlxp_spec::Config;
use rlxp_types::Stream;

use crate::common::config;

/// An environment around another one, with a fault.
struct Faulty {
    inner: Box<dyn VectorEnv>,
    /// Fails in the step with this number, in the last of its copies.
    fails_at: Option<u64>,
    fails_to_reset: bool,
    can_save: bool,
    steps: u64,
}

impl VectorEnv for Faulty {
    fn copies(&self) -> usize {
        self.inner.copies()
    }
    fn observation_space(&self) -> &Space {
        self.inner.observation_space()
    }
    fn action_space(&self) -> &Space {
        self.inner.action_space()
    }
    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        if self.fails_to_reset {
            return Err(EnvError::Failed { copy: None, call: Call::Reset, message: "no such ROM".into() });
        }
        self.inner.reset(observations)
    }
    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        self.steps += 1;
        if self.fails_at == Some(self.steps) {
            let (copy, message) = (Some(self.copies() - 1), "ValueError: bad action".to_owned());
            return Err(EnvError::Failed { copy, call: Call::Step, message });
        }
        self.inner.step(actions, out)
    }
    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        if self.can_save { self.inner.save() } else { Ok(None) }
    }
    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
        assert!(self.can_save, "nothing is restored that was not saved");
        self.inner.restore(saved)
    }
}

fn setup(num_envs: usize) -> Config {
    config(&format!(
        "env: {{id: CartPole-v1, num_envs: {num_envs}}}\n\
         algo: {{total_timesteps: {}, rollout_steps: 16, batch_size: 64, update_epochs: 1}}\n\
         policy: {{hidden_sizes: [8]}}\n",
        64 * num_envs
    ))
}

fn with_fault(
    config: &Config,
    fault: impl Fn(Box<dyn VectorEnv>) -> Faulty,
) -> impl Fn(Vec<Stream>) -> Result<Box<dyn VectorEnv>, MakeError> {
    let env = evaluation_env(NATIVE, config);
    move |streams| Ok(Box::new(fault(NATIVE.make(&env, streams)?)) as Box<dyn VectorEnv>)
}

fn healthy(inner: Box<dyn VectorEnv>) -> Faulty {
    Faulty { inner, fails_at: None, fails_to_reset: false, can_save: true, steps: 0 }
}

/// The whole message, with everything that caused it.
fn words(error: &LearnError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

#[test]
fn an_environment_that_fails_in_a_step_ends_training_with_its_reason() {
    // Two shards: the copies of the second are counted from 256.
    let config = setup(300);
    let copies = with_fault(&config, |inner| Faulty {
        fails_at: (inner.copies() < 256).then_some(20),
        ..healthy(inner)
    });
    for threads in [1, 2] {
        let mut learner = Ppo::with_environment(&config, 0, threads, &copies).unwrap();
        learner.iterate().unwrap();
        let error = learner.iterate().unwrap_err();
        assert!(matches!(error, LearnError::EnvironmentFailed { .. }), "{error:?}");
        assert_eq!(
            words(&error),
            "environment \"CartPole-v1\" failed: copy 299 could not be stepped: ValueError: bad action"
        );
        assert_eq!(learner.steps(), 300 * 16, "a rollout that failed counts for nothing");
    }
}

#[test]
fn an_environment_that_fails_to_reset_is_no_learner() {
    let config = setup(4);
    let copies = with_fault(&config, |inner| Faulty { fails_to_reset: true, ..healthy(inner) });
    let error = Ppo::with_environment(&config, 0, 1, &copies).err().unwrap();
    assert_eq!(words(&error), "environment \"CartPole-v1\" failed: it could not be reset: no such ROM");
}

#[test]
fn an_environment_that_fails_in_an_evaluation_names_the_episode() {
    let config = setup(4);
    let copies = with_fault(&config, |inner| Faulty {
        fails_at: (inner.copies() < 64).then_some(3),
        ..healthy(inner)
    });
    let copies = |seeds: &[u64]| copies(seeds.iter().map(|seed| Stream::new(*seed, "eval", 0)).collect());
    // Episodes are played 64 at a time: the 70th is in the second group.
    let error = evaluate_in(&config, &copies, Actor::Random, 70, 0).unwrap_err();
    assert!(words(&error).contains("copy 69 could not be stepped"), "{}", words(&error));
    evaluate_in(&config, &copies, Actor::Random, 64, 0).unwrap();
}

#[test]
fn a_learner_whose_environments_have_no_saved_state_resumes_with_new_episodes() {
    let config = setup(4);
    let copies = with_fault(&config, |inner| Faulty { can_save: false, ..healthy(inner) });
    let mut learner = Ppo::with_environment(&config, 0, 1, &copies).unwrap();
    learner.iterate().unwrap();
    let (model, state) = (learner.policy().tensors(), learner.state().unwrap());
    assert!(state.iter().all(|(name, _)| !name.contains("environments")));

    let mut resumed = Ppo::with_environment(&config, 0, 1, &copies).unwrap();
    assert_eq!(resumed.continue_from(&model, &state).unwrap(), Resumed::WithNewEpisodes);
    assert_eq!(resumed.steps(), 64);
    let books = resumed.state().unwrap();
    assert_eq!(books.u64s("shard.0.lengths").unwrap(), [0; 4], "episodes begin again");
    assert_eq!(books.f64s("shard.0.totals").unwrap(), [0.0; 4]);
    while !resumed.is_finished() {
        resumed.iterate().unwrap();
    }
}

#[test]
fn a_lost_state_of_an_environment_that_can_save_is_refused() {
    let config = setup(4);
    let mut learner = Ppo::new(&config, 0, 1).unwrap();
    learner.iterate().unwrap();
    let mut damaged = rlxp_nn::Tensors::new();
    let state = learner.state().unwrap();
    for (name, tensor) in state.iter().filter(|(name, _)| !name.contains("environments")) {
        damaged.insert(name, tensor.clone());
    }
    let error = learner.continue_from(&learner.policy().tensors(), &damaged).unwrap_err();
    assert!(words(&error).contains("shard.0.environments"), "{}", words(&error));
    let resumed = learner.continue_from(&learner.policy().tensors(), &state).unwrap();
    assert_eq!(resumed, Resumed::Exactly);
}
