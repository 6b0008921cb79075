//! A throw-away second algorithm: tries every action and takes the one that
//! paid best.

use rlxp_env::{StepBatch, VectorEnv};
use rlxp_learn::learner::{BatchActor, Choice};
use rlxp_learn::{Agent, Algorithm, LearnError, Learner, Resumed, Setup, Spaces, Update};
use rlxp_nn::Tensors;
use rlxp_spec::Config;
use rlxp_types::Stream;

const ACTIONS: usize = 2;

pub(crate) struct Bandit;

impl Algorithm for Bandit {
    fn name(&self) -> &'static str {
        "bandit"
    }
    fn learner(&self, setup: &Setup<'_>) -> Result<Box<dyn Learner>, LearnError> {
        let copies = setup.config.env.num_envs;
        let streams = (0..copies as u64).map(|copy| Stream::new(setup.seed, "env", copy)).collect();
        let mut env = (setup.factory)(streams)?;
        let mut batch = StepBatch::new(copies, env.observation_space().width());
        let id = setup.config.env.id.clone();
        env.reset(&mut batch.observations).map_err(|error| LearnError::in_environment(&id, error))?;
        Ok(Box::new(BanditLearner {
            id,
            env,
            batch,
            stream: Stream::new(setup.seed, "action", 0),
            actions: vec![0.0; copies],
            steps: 0,
            total: setup.config.total_steps(),
            agent: Arms { sums: vec![0.0; ACTIONS] },
        }))
    }
    fn agent(&self, _: &Config, _: &Spaces, model: &Tensors) -> Result<Box<dyn Agent>, LearnError> {
        Ok(Box::new(Arms { sums: model.f64s("sums")?.to_vec() }))
    }
    fn parameters(&self, _: &Config, _: &Spaces) -> usize {
        ACTIONS
    }
}

/// What each action paid in total.
struct Arms {
    sums: Vec<f64>,
}

impl Agent for Arms {
    fn hand(&self, _: usize, _: Choice) -> Box<dyn BatchActor + '_> {
        Box::new(Best(self))
    }
    fn model(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.insert_f64s("sums", self.sums.clone());
        tensors
    }
}

struct Best<'a>(&'a Arms);

impl BatchActor for Best<'_> {
    fn act(&mut self, _: u64, _: &mut [f32], _: &mut [Stream], actions: &mut [f32]) {
        let best = (0..ACTIONS).max_by(|a, b| self.0.sums[*a].total_cmp(&self.0.sums[*b]));
        actions.fill(best.unwrap_or(0) as f32);
    }
}

struct BanditLearner {
    id: String,
    env: Box<dyn VectorEnv>,
    batch: StepBatch,
    stream: Stream,
    actions: Vec<f32>,
    steps: u64,
    total: u64,
    agent: Arms,
}

impl Learner for BanditLearner {
    fn iterate(&mut self) -> Result<Update, LearnError> {
        for action in &mut self.actions {
            *action = self.stream.below(ACTIONS as u32) as f32;
        }
        let stepped = self.env.step(&self.actions, &mut self.batch);
        stepped.map_err(|error| LearnError::in_environment(&self.id, error))?;
        for (action, reward) in self.actions.iter().zip(&self.batch.rewards) {
            self.agent.sums[*action as usize] += f64::from(*reward);
        }
        self.steps += self.actions.len() as u64;
        let values = vec![("best_sum", self.agent.sums.iter().copied().fold(f64::MIN, f64::max))];
        Ok(Update { step: self.steps, values, mean_return: None, times: Vec::new() })
    }
    fn steps(&self) -> u64 {
        self.steps
    }
    fn is_finished(&self) -> bool {
        self.steps >= self.total
    }
    fn mean_return(&self) -> Option<f64> {
        None
    }
    fn observed(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
    fn agent(&self) -> &dyn Agent {
        &self.agent
    }
    fn state(&self) -> Result<Tensors, LearnError> {
        let mut tensors = Tensors::new();
        tensors.insert_u64s("steps", vec![self.steps]);
        tensors.insert_u8s("stream", self.stream.save().to_vec());
        let saved = self.env.save().map_err(|error| LearnError::in_environment(&self.id, error))?;
        tensors.insert_u8s("environment", saved.unwrap_or_default());
        Ok(tensors)
    }
    fn start_from(&mut self, model: &Tensors) -> Result<(), LearnError> {
        self.agent.sums = model.f64s("sums")?.to_vec();
        Ok(())
    }
    fn continue_from(&mut self, model: &Tensors, state: &Tensors) -> Result<Resumed, LearnError> {
        self.start_from(model)?;
        self.steps = state.u64s("steps")?[0];
        self.stream = Stream::restore(state.u8s("stream")?.try_into().expect("a stream was saved"));
        let restored = self.env.restore(state.u8s("environment")?);
        restored.map_err(|error| LearnError::in_environment(&self.id, error))?;
        Ok(Resumed::Exactly)
    }
}
