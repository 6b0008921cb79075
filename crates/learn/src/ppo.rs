//! Proximal policy optimisation (Schulman et al. 2017), in the paper's order:
//! collect, advantages, update.
//!
//! Where this goes beyond the paper, or chooses between its variants:
//! - Advantages are generalised (GAE) and normalised per minibatch.
//! - A truncated episode bootstraps from the value of its final observation.
//! - The value loss is the plain squared error; `clip_value` adds the clipped
//!   variant (the larger of the two counts). The policy and value networks are
//!   separate unless `shared_network` asks otherwise.
//! - Orthogonal initialisation, Adam with epsilon 1e-5, global gradient norm
//!   cap, step size and clip range as schedules over training.
//! - `target_kl` ends an update before the step that would follow a minibatch
//!   whose approximate KL passes 1.5 times the target.
//! - Observations and rewards may be normalised by moments that change only
//!   between rollouts.
//!
//! Large minibatches are cut into shards of a fixed size whose gradients are
//! added in order: threads change the time, never the result.

mod algorithm;
mod checkpoint;
mod gradient;
mod loss;
mod report;

use std::collections::VecDeque;
use std::time::Instant;

use rlxp_nn::{Adam, clip_global_norm, global_norm};
use rlxp_spec::config::{Config, PpoConfig};
use rlxp_types::Stream;

use crate::LearnError;
use crate::learner::Update;
use crate::normalize::RewardScaler;
use crate::policy::Policy;
use crate::rollout::{Collector, Factory, FinishedEpisode};
use crate::signals;
pub use algorithm::Algorithm;
use gradient::{GradientShard, minibatch_gradient};
use loss::Coefficients;
use report::Learned;

/// Number of episodes in the running mean return.
const RECENT_EPISODES: usize = 100;

/// A PPO learner: policy, optimiser, environments and random streams.
pub struct Ppo {
    algo: PpoConfig,
    env_id: String,
    total_steps: u64,
    threads: usize,
    policy: Policy,
    adam: Adam,
    collector: Collector,
    reward_scaler: Option<RewardScaler>,
    shuffle: Stream,
    steps: u64,
    updates: u64,
    episodes: u64,
    recent: VecDeque<(f64, u64)>,
    /// Sample order of the current epoch; recreated in every update.
    order: Vec<u32>,
    shards: Vec<GradientShard>,
}

impl Ppo {
    /// A fresh learner in the native environment of the config.
    pub fn new(config: &Config, seed: u64, threads: usize) -> Result<Self, LearnError> {
        Self::with_environment(config, seed, threads, &|streams| rlxp_env::NATIVE.make(&config.env, streams))
    }

    /// A fresh learner in an environment of the caller.
    pub fn with_environment(
        config: &Config,
        seed: u64,
        threads: usize,
        factory: Factory<'_>,
    ) -> Result<Self, LearnError> {
        let sample = factory(vec![Stream::new(seed, "env", 0)])?;
        let policy = Policy::new(config, sample.observation_space(), sample.action_space(), seed);
        let collector = Collector::new(config, factory, &policy, seed, threads)?;
        let rows = config.rollout_size() as usize;
        let algo = config.algo.ppo().expect("the config chooses PPO");
        Ok(Self {
            algo: algo.clone(),
            env_id: config.env.id.clone(),
            total_steps: config.total_steps(),
            threads,
            adam: Adam::new(policy.parameters.len()),
            reward_scaler: config.env.normalize_rewards.then(|| RewardScaler::new(config.env.num_envs)),
            shuffle: Stream::new(seed, "shuffle", 0),
            steps: 0,
            updates: 0,
            episodes: 0,
            recent: VecDeque::with_capacity(RECENT_EPISODES),
            order: Vec::with_capacity(rows),
            shards: GradientShard::for_batch(&policy, algo.batch_size.min(rows)),
            policy,
            collector,
        })
    }

    /// Starts from the weights of another policy (warm start).
    pub fn start_from(&mut self, policy: &rlxp_nn::Tensors) -> Result<(), LearnError> {
        self.policy.load(policy)
    }

    /// Environment steps done.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether all steps are done.
    pub fn is_finished(&self) -> bool {
        self.steps >= self.total_steps
    }

    /// The policy as it is now.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Mean return of the recent training episodes.
    pub fn mean_return(&self) -> Option<f64> {
        let count = self.recent.len();
        (count > 0).then(|| self.recent.iter().map(|(total, _)| total).sum::<f64>() / count as f64)
    }

    /// One round: collect, advantages, update.
    pub fn iterate(&mut self) -> Result<Update, LearnError> {
        let begin = Instant::now();
        let collected = self.collector.collect(&self.policy);
        let finished = collected.map_err(|error| LearnError::in_environment(&self.env_id, error))?;
        self.note_episodes(&finished);
        let collected = Instant::now();

        let rewards = signals::rewards(&self.collector.rollout.rewards);
        self.scale_rewards();
        self.collector.compute_advantages(self.algo.gamma as f32, self.algo.gae_lambda as f32);
        let estimated = Instant::now();

        // Schedules run over the steps that were done when the update starts.
        let done = self.steps as f64 / self.total_steps as f64;
        self.steps += self.collector.rollout.rewards.len() as u64;
        let learned = self.update(done);
        let values = self.report(done, &learned, &finished, rewards);
        if let Some((what, value)) = learned.diverged {
            return Err(LearnError::Diverged { what, value, step: self.steps, values });
        }
        self.updates += 1;
        self.refresh_normalizer();
        let updated = Instant::now();

        Ok(Update {
            step: self.steps,
            values,
            mean_return: self.mean_return(),
            times: vec![
                ("collect_seconds", collected - begin),
                ("advantage_seconds", estimated - collected),
                ("update_seconds", updated - estimated),
            ],
        })
    }

    /// Several epochs of minibatch gradient steps over the rollout; they end before a step that is not finite.
    fn update(&mut self, done: f64) -> Learned {
        let learning_rate = self.algo.learning_rate.at(done) as f32;
        let clip_range = self.algo.clip_range.at(done) as f32;
        let rows = self.collector.rollout.rewards.len();
        let mut learned = Learned::default();
        self.order.clear();
        self.order.extend(0..rows as u32);

        'epochs: for epoch in 0..self.algo.update_epochs {
            self.shuffle.shuffle(&mut self.order);
            for minibatch in self.order.chunks(self.algo.batch_size) {
                let coefficients = Coefficients {
                    clip_range,
                    clip_value: self.algo.clip_value.map(|x| x as f32),
                    entropy: self.algo.entropy_coef as f32,
                    value: self.algo.value_coef as f32,
                    normalize_advantages: self.algo.normalize_advantages,
                };
                let sums = minibatch_gradient(
                    &self.policy,
                    &self.collector.rollout,
                    minibatch,
                    &coefficients,
                    &mut self.shards,
                    self.threads,
                );
                let first = epoch == 0 && learned.minibatches == 0;
                debug_assert!(
                    !first || !sums.ratio.is_finite() || (sums.ratio / sums.count - 1.0).abs() < 1e-4,
                    "the policy that collected must be the one that is updated: mean ratio {}",
                    sums.ratio / sums.count
                );
                if self.algo.target_kl.is_some_and(|target| sums.mean_kl() > 1.5 * target) {
                    learned.stopped_by_kl = true;
                    break 'epochs;
                }
                let gradients = &mut self.shards[0].gradients;
                let (norm, clipped) = match self.algo.max_grad_norm.map(|limit| limit as f32) {
                    Some(limit) => {
                        let norm = clip_global_norm(gradients, limit);
                        (norm, norm > limit)
                    }
                    None => (global_norm(gradients), false),
                };
                learned.add(&sums, f64::from(norm), clipped);
                if !norm.is_finite() {
                    learned.diverged = Some(("the gradient norm", f64::from(norm)));
                    break 'epochs;
                }
                let gradients = &self.shards[0].gradients;
                let epsilon = self.algo.adam_epsilon as f32;
                self.adam.step(&mut self.policy.parameters, gradients, learning_rate, epsilon);
            }
            learned.epochs += 1;
        }
        learned
    }

    fn note_episodes(&mut self, finished: &[FinishedEpisode]) {
        self.episodes += finished.len() as u64;
        for episode in finished {
            if self.recent.len() == RECENT_EPISODES {
                self.recent.pop_front();
            }
            self.recent.push_back((episode.total, episode.length));
        }
    }

    fn scale_rewards(&mut self) {
        let Some(scaler) = &mut self.reward_scaler else { return };
        for copy in 0..scaler.returns.len() {
            let rollout = &self.collector.rollout;
            let rows = self.collector.rows_of(copy);
            let ended = |row: usize| rollout.ends[row] != crate::advantage::End::No;
            scaler.update(copy, self.algo.gamma, rows.map(|row| (rollout.rewards[row], ended(row))));
        }
        scaler.apply(&mut self.collector.rollout.rewards);
    }

    fn refresh_normalizer(&mut self) {
        if let Some(normalizer) = &mut self.policy.normalizer {
            for raw in self.collector.raw_observations() {
                normalizer.update(raw);
            }
        }
    }
}
