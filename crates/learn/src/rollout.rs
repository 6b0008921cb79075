//! Collecting experience: many environments stepped with one policy into flat
//! buffers.
//!
//! Environments are divided into shards of a fixed size; a shard owns its
//! copies, their random streams and one contiguous part of every buffer, so
//! shards can be filled by any number of threads with the same result. Within
//! a shard rows are time-major: `t * copies + copy`.

use rlxp_env::{EnvError, MakeError, Space, StepBatch, VectorEnv};
use rlxp_nn::Scratch;
use rlxp_spec::config::Config;
use rlxp_types::Stream;

use crate::LearnError;
use crate::advantage::{End, Transitions, advantages};
use crate::parallel;
use crate::policy::{Policy, TILE};

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
}

/// A fixed part of the environments.
pub struct Shard {
    pub(crate) env: Box<dyn VectorEnv>,
    /// Exploration noise, one stream per copy.
    pub(crate) streams: Vec<Stream>,
    /// Raw observations to act on next.
    pub(crate) current: Vec<f32>,
    /// Return and length so far of each copy's episode.
    pub(crate) totals: Vec<f64>,
    pub(crate) lengths: Vec<u64>,
    /// The reward of every step of each copy's episode so far; NaN once two
    /// of them differed.
    pub(crate) steady: Vec<f32>,
    first_copy: usize,
    batch: StepBatch,
    scratch: Scratch,
    noise: Vec<f32>,
    bounded: Vec<f32>,
    raw: Vec<f32>,
    finished: Vec<FinishedEpisode>,
    /// Why the environment could not be stepped; it never is again.
    failed: Option<EnvError>,
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
            let streams =
                |name| range.clone().map(|copy| Stream::new(seed, name, copy as u64)).collect::<Vec<_>>();
            let mut env = factory(streams("env"))?;
            let width = env.observation_space().width();
            let count = range.len();
            let mut current = vec![0.0; count * width];
            env.reset(&mut current).map_err(|error| {
                LearnError::in_environment(&config.env.id, error.counted_from(range.start))
            })?;
            shards.push(Shard {
                streams: streams("action"),
                current,
                totals: vec![0.0; count],
                lengths: vec![0; count],
                steady: vec![0.0; count],
                first_copy: range.start,
                batch: StepBatch::new(count, width),
                scratch: policy.network.scratch(count.min(TILE)),
                noise: vec![0.0; count * policy.noise_width()],
                bounded: vec![0.0; count * env.action_space().width()],
                raw: Vec::new(),
                finished: Vec::new(),
                failed: None,
                env,
            });
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

impl Shard {
    pub(crate) fn copies(&self) -> usize {
        self.streams.len()
    }

    fn fill(
        &mut self,
        policy: &Policy,
        part: &mut Part<'_>,
        steps: usize,
        frequency: Option<u64>,
    ) -> Result<(), EnvError> {
        let copies = self.copies();
        let observation_width = self.current.len() / copies;
        let action_width = policy.head().action_width();
        self.raw.clear();
        for time in 0..steps {
            let rows = time * copies..(time + 1) * copies;
            let observations =
                &mut part.observations[rows.start * observation_width..rows.end * observation_width];
            observations.copy_from_slice(&self.current);
            if policy.normalizer.is_some() {
                self.raw.extend_from_slice(&self.current);
                policy.normalize(observations);
            }
            let due = frequency.is_some_and(|every| (time as u64).is_multiple_of(every));
            if !policy.noise_is_kept() || time == 0 || due {
                let width = policy.noise_width();
                for (stream, row) in self.streams.iter_mut().zip(self.noise.chunks_exact_mut(width)) {
                    policy.draw_noise(stream, row);
                }
            }
            let actions = &mut part.actions[rows.start * action_width..rows.end * action_width];
            self.act(
                policy,
                observations,
                actions,
                &mut part.log_probs[rows.clone()],
                &mut part.values[rows.clone()],
            );
            policy.bounded(actions, &mut self.bounded);
            self.env.step(&self.bounded, &mut self.batch)?;
            part.rewards[rows.clone()].copy_from_slice(&self.batch.rewards);
            self.current.copy_from_slice(&self.batch.observations);
            self.note_ends(policy, time, &mut part.ends[rows.clone()], &mut part.final_values[rows]);
        }
        let mut observations = self.current.clone();
        policy.normalize(&mut observations);
        for tile in parallel::split(copies, TILE) {
            let rows = &observations[tile.start * observation_width..tile.end * observation_width];
            policy.values(rows, tile.len(), &mut self.scratch, &mut part.next_values[tile]);
        }
        Ok(())
    }

    /// Samples an action for every row, tile by tile.
    fn act(
        &mut self,
        policy: &Policy,
        observations: &[f32],
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    ) {
        let copies = self.copies();
        let observation_width = observations.len() / copies;
        let (action_width, noise_width) = (actions.len() / copies, policy.noise_width());
        for tile in parallel::split(copies, TILE) {
            let observations = &observations[tile.start * observation_width..tile.end * observation_width];
            policy.values(observations, tile.len(), &mut self.scratch, &mut values[tile.clone()]);
            policy.head().sample(
                policy.head_parameters(),
                &self.scratch.policy,
                self.scratch.latent(),
                &self.noise[tile.start * noise_width..tile.end * noise_width],
                tile.len(),
                &mut actions[tile.start * action_width..tile.end * action_width],
                &mut log_probs[tile],
            );
        }
    }

    /// Keeps the books of episodes; values the final observation of a cut one.
    fn note_ends(&mut self, policy: &Policy, time: usize, ends: &mut [End], final_values: &mut [f32]) {
        let width = self.current.len() / self.copies();
        for copy in 0..ends.len() {
            let reward = self.batch.rewards[copy];
            self.totals[copy] += f64::from(reward);
            self.lengths[copy] += 1;
            if self.lengths[copy] == 1 {
                self.steady[copy] = reward;
            } else if self.steady[copy] != reward {
                self.steady[copy] = f32::NAN;
            }
            ends[copy] = match (self.batch.terminated[copy], self.batch.truncated[copy]) {
                (true, _) => End::Terminated,
                (false, true) => End::Truncated,
                (false, false) => End::No,
            };
            if ends[copy] == End::No {
                continue;
            }
            if ends[copy] == End::Truncated {
                let last = &mut self.batch.final_observations[copy * width..(copy + 1) * width];
                policy.normalize(last);
                policy.values(last, 1, &mut self.scratch, &mut final_values[copy..=copy]);
            }
            self.finished.push(FinishedEpisode {
                time,
                copy: self.first_copy + copy,
                total: self.totals[copy],
                length: self.lengths[copy],
                end: ends[copy],
                steady_reward: Some(self.steady[copy]).filter(|reward| !reward.is_nan()),
            });
            (self.totals[copy], self.lengths[copy]) = (0.0, 0);
        }
    }
}
