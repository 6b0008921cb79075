//! Collecting experience: many environments stepped with one policy into flat
//! buffers.
//!
//! Environments are divided into shards of a fixed size; a shard owns its
//! copies, their random streams and one contiguous part of every buffer, so
//! shards can be filled by any number of threads with the same result. Within
//! a shard rows are time-major: `t * copies + copy`.

mod shard;

use rlxp_env::bridge::Divergence;
use rlxp_env::{EnvError, MakeError, Space, VectorEnv};
use rlxp_spec::config::Config;
use rlxp_types::Stream;

use crate::LearnError;
use crate::advantage::{End, Transitions, advantages};
use crate::parallel;
use crate::policy::Policy;
pub(crate) use shard::Shard;

/// Environments of one shard. Large enough that one step is worth a thread's
/// while, small enough that 512 environments use two cores.
const SHARD: usize = 256;

/// Makes copies of an environment, one per random stream.
pub type Factory<'a> = &'a dyn Fn(Vec<Stream>) -> Result<Box<dyn VectorEnv>, MakeError>;

/// An episode that ended during a rollout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinishedEpisode {
    /// Step within the rollout.
    pub time: usize,
    /// Which environment.
    pub copy: usize,
    /// Sum of rewards.
    pub total: f64,
    /// Steps.
    pub length: u64,
    pub end: End,
    /// The reward of every step, if it was the same throughout.
    pub steady_reward: Option<f32>,
    /// Whether it was successful, where the environment says so.
    pub success: Option<bool>,
}

/// What was collected; flat over shards.
#[derive(Default)]
pub struct Rollout {
    /// Observations as the network saw them.
    pub observations: Vec<f32>,
    /// Actions as the policy gave them, before bounds.
    pub actions: Vec<f32>,
    /// Their log-probabilities.
    pub log_probs: Vec<f32>,
    /// Value estimates.
    pub values: Vec<f32>,
    /// Rewards, scaled where the config asks for it.
    pub rewards: Vec<f32>,
    /// How transitions ended.
    pub ends: Vec<End>,
    /// Values of final observations of truncated episodes.
    pub final_values: Vec<f32>,
    /// Values after the last step, per environment.
    pub next_values: Vec<f32>,
    pub advantages: Vec<f32>,
    /// What the value function learns: advantage + value.
    pub returns: Vec<f32>,
}

/// One shard's part of a rollout.
struct Part<'a> {
    observations: &'a mut [f32],
    actions: &'a mut [f32],
    log_probs: &'a mut [f32],
    values: &'a mut [f32],
    rewards: &'a mut [f32],
    ends: &'a mut [End],
    final_values: &'a mut [f32],
    next_values: &'a mut [f32],
}

/// All environments of a learner and the buffers they fill.
pub struct Collector {
    pub(crate) shards: Vec<Shard>,
    /// What was collected last.
    pub rollout: Rollout,
    /// Whether anything was collected yet.
    pub(crate) collected: bool,
    steps: usize,
    sde_sample_freq: Option<u64>,
    threads: usize,
}

impl Collector {
    /// Environments for `config`, freshly reset.
    pub(crate) fn new(
        config: &Config,
        factory: Factory<'_>,
        policy: &Policy,
        seed: u64,
        threads: usize,
    ) -> Result<Self, LearnError> {
        let copies = config.env.num_envs;
        let mut shards = Vec::new();
        for range in parallel::split(copies, SHARD) {
            shards.push(Shard::new(config, factory, policy, seed, range)?);
        }
        let steps = config.algo.rollout_steps();
        let rows = copies * steps;
        let observation_width = shards[0].env.observation_space().width();
        let action_width = policy.head().action_width();
        let rollout = Rollout {
            observations: vec![0.0; rows * observation_width],
            actions: vec![0.0; rows * action_width],
            log_probs: vec![0.0; rows],
            values: vec![0.0; rows],
            rewards: vec![0.0; rows],
            ends: vec![End::No; rows],
            final_values: vec![0.0; rows],
            next_values: vec![0.0; copies],
            advantages: vec![0.0; rows],
            returns: vec![0.0; rows],
        };
        let sde_sample_freq = config.policy.sde_sample_freq();
        Ok(Self { shards, rollout, collected: false, steps, sde_sample_freq, threads })
    }

    /// Fills the rollout: every environment takes `rollout_steps` steps.
    /// Gives the episodes that ended, in the order of time and environment, or
    /// the failure of the first environment that could not be stepped.
    pub fn collect(&mut self, policy: &Policy) -> Result<Vec<FinishedEpisode>, EnvError> {
        let (steps, frequency) = (self.steps, self.sde_sample_freq);
        let sizes: Vec<usize> = self.shards.iter().map(Shard::copies).collect();
        let parts = self.rollout.parts(&sizes, steps);
        let mut work: Vec<(&mut Shard, Part<'_>)> = self.shards.iter_mut().zip(parts).collect();
        parallel::for_each(self.threads, &mut work, |_, (shard, part)| {
            shard.failed = shard.fill(policy, part, steps, frequency).err();
        });
        for shard in &mut self.shards {
            if let Some(error) = shard.failed.take() {
                return Err(error.counted_from(shard.first_copy));
            }
        }
        let mut finished: Vec<FinishedEpisode> =
            self.shards.iter_mut().flat_map(|shard| shard.finished.drain(..)).collect();
        self.collected = true;
        finished.sort_by_key(|episode| (episode.time, episode.copy));
        Ok(finished)
    }

    /// Starts new books for copies that a restore could not bring back, which are at the start of an episode. Gives
    /// them, counted over all shards.
    pub(crate) fn restart_diverged(&mut self) -> Vec<Divergence> {
        let mut all = Vec::new();
        for shard in &mut self.shards {
            let width = shard.env.observation_space().width();
            for divergence in shard.env.divergences() {
                let Divergence { copy, observation, .. } = divergence;
                shard.current[copy * width..(copy + 1) * width].copy_from_slice(observation);
                (shard.totals[*copy], shard.lengths[*copy]) = (0.0, 0);
                all.push(Divergence { copy: shard.first_copy + copy, ..divergence.clone() });
            }
        }
        all
    }

    /// Copies of the environment.
    pub(crate) fn copies(&self) -> usize {
        self.rollout.next_values.len()
    }

    /// Steps that every copy takes in a rollout.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// The environment's step cap, if it has one.
    pub(crate) fn step_cap(&self) -> Option<u64> {
        self.shards[0].env.step_cap()
    }

    pub(crate) fn observation_space(&self) -> &Space {
        self.shards[0].env.observation_space()
    }

    /// Raw observations of the last rollout, shard by shard; empty unless the policy normalises.
    pub(crate) fn raw_observations(&self) -> impl Iterator<Item = &[f32]> {
        self.shards.iter().map(|shard| shard.raw.as_slice())
    }

    /// Advantages and returns of what was collected.
    pub fn compute_advantages(&mut self, gamma: f32, lambda: f32) {
        let rollout = &mut self.rollout;
        let mut start_copy = 0;
        for shard in &self.shards {
            let copies = shard.copies();
            let rows = start_copy * self.steps..(start_copy + copies) * self.steps;
            let transitions = Transitions {
                copies,
                rewards: &rollout.rewards[rows.clone()],
                values: &rollout.values[rows.clone()],
                ends: &rollout.ends[rows.clone()],
                final_values: &rollout.final_values[rows.clone()],
                next_values: &rollout.next_values[start_copy..start_copy + copies],
            };
            advantages(&transitions, gamma, lambda, &mut rollout.advantages[rows]);
            start_copy += copies;
        }
        for ((target, advantage), value) in
            rollout.returns.iter_mut().zip(&rollout.advantages).zip(&rollout.values)
        {
            *target = advantage + value;
        }
    }

    /// A copy's rows in time order.
    pub(crate) fn rows_of(&self, copy: usize) -> impl Iterator<Item = usize> + use<> {
        let shard = &self.shards[copy / SHARD];
        let (copies, first) = (shard.copies(), shard.first_copy * self.steps + copy % SHARD);
        (0..self.steps).map(move |time| first + time * copies)
    }
}

impl Rollout {
    fn parts(&mut self, sizes: &[usize], steps: usize) -> Vec<Part<'_>> {
        let total: usize = sizes.iter().sum();
        let observation_width = self.observations.len() / (total * steps);
        let action_width = self.actions.len() / (total * steps);
        let cut = |width: usize| sizes.iter().map(move |copies| copies * width);
        let mut observations = pieces(&mut self.observations, cut(steps * observation_width));
        let mut actions = pieces(&mut self.actions, cut(steps * action_width));
        let mut log_probs = pieces(&mut self.log_probs, cut(steps));
        let mut values = pieces(&mut self.values, cut(steps));
        let mut rewards = pieces(&mut self.rewards, cut(steps));
        let mut ends = pieces(&mut self.ends, cut(steps));
        let mut final_values = pieces(&mut self.final_values, cut(steps));
        let mut next_values = pieces(&mut self.next_values, cut(1));
        let missing = "there is a piece for every shard";
        sizes
            .iter()
            .map(|_| Part {
                observations: observations.next().expect(missing),
                actions: actions.next().expect(missing),
                log_probs: log_probs.next().expect(missing),
                values: values.next().expect(missing),
                rewards: rewards.next().expect(missing),
                ends: ends.next().expect(missing),
                final_values: final_values.next().expect(missing),
                next_values: next_values.next().expect(missing),
            })
            .collect()
    }
}

/// Cuts `whole` into consecutive pieces of the given lengths.
fn pieces<T>(whole: &mut [T], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = &mut [T]> {
    let mut rest = whole;
    lengths.map(move |length| rest.split_off_mut(..length).expect("the pieces add up to the whole"))
}
