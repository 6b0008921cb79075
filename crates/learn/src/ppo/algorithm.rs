//! PPO as one of the algorithms: what the rest of the program asks of it.

use rlxp_nn::Tensors;
use rlxp_spec::config::Config;

use super::Ppo;
use crate::LearnError;
use crate::learner::{Agent, Learner, Resumed, Setup, Spaces, Update};
use crate::policy::Policy;

/// PPO's row in the table of algorithms.
pub struct Algorithm;

impl crate::learner::Algorithm for Algorithm {
    fn name(&self) -> &'static str {
        "ppo"
    }

    fn learner(&self, setup: &Setup<'_>) -> Result<Box<dyn Learner>, LearnError> {
        let Setup { config, seed, threads, factory } = *setup;
        Ok(Box::new(Ppo::with_environment(config, seed, threads, factory)?))
    }

    fn agent(&self, config: &Config, spaces: &Spaces, model: &Tensors) -> Result<Box<dyn Agent>, LearnError> {
        Ok(Box::new(Policy::from_tensors(config, &spaces.observations, &spaces.actions, model)?))
    }

    fn parameters(&self, config: &Config, spaces: &Spaces) -> usize {
        Policy::size(config, &spaces.observations, &spaces.actions)
    }
}

impl Learner for Ppo {
    fn iterate(&mut self) -> Result<Update, LearnError> {
        self.iterate()
    }

    fn steps(&self) -> u64 {
        self.steps()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }

    fn mean_return(&self) -> Option<f64> {
        self.mean_return()
    }

    fn observed(&self) -> Vec<(String, f64)> {
        self.observed()
    }

    fn agent(&self) -> &dyn Agent {
        self.policy()
    }

    fn state(&self) -> Result<Tensors, LearnError> {
        self.state()
    }

    fn start_from(&mut self, model: &Tensors) -> Result<(), LearnError> {
        self.start_from(model)
    }

    fn continue_from(&mut self, model: &Tensors, state: &Tensors) -> Result<Resumed, LearnError> {
        self.continue_from(model, state)
    }
}
