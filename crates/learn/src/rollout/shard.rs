//! One shard of a rollout: its environments, stepped with the policy into its
//! part of the buffers.

use std::ops::Range;

use rlxp_env::{EnvError, StepBatch, VectorEnv};
use rlxp_nn::Scratch;
use rlxp_spec::config::Config;
use rlxp_types::Stream;

use super::{Factory, FinishedEpisode, Part};
use crate::LearnError;
use crate::advantage::End;
use crate::parallel;
use crate::policy::{Policy, TILE};

/// A fixed part of the environments.
pub(crate) struct Shard {
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
    pub(super) first_copy: usize,
    batch: StepBatch,
    scratch: Scratch,
    noise: Vec<f32>,
    /// The noise of a whole rollout, copy by copy, unless noise is kept over several steps.
    noise_ahead: Vec<f32>,
    bounded: Vec<f32>,
    pub(super) raw: Vec<f32>,
    pub(super) finished: Vec<FinishedEpisode>,
    /// Why the environment could not be stepped; it never is again.
    pub(super) failed: Option<EnvError>,
}

impl Shard {
    /// The environments of these copies, freshly reset.
    pub(super) fn new(
        config: &Config,
        factory: Factory<'_>,
        policy: &Policy,
        seed: u64,
        copies: Range<usize>,
    ) -> Result<Self, LearnError> {
        let streams =
            |name| copies.clone().map(|copy| Stream::new(seed, name, copy as u64)).collect::<Vec<_>>();
        let mut env = factory(streams("env"))?;
        let width = env.observation_space().width();
        let count = copies.len();
        let mut current = vec![0.0; count * width];
        env.reset(&mut current)
            .map_err(|error| LearnError::in_environment(&config.env.id, error.counted_from(copies.start)))?;
        Ok(Self {
            streams: streams("action"),
            current,
            totals: vec![0.0; count],
            lengths: vec![0; count],
            steady: vec![0.0; count],
            first_copy: copies.start,
            batch: StepBatch::new(count, width),
            scratch: policy.network.scratch(count.min(TILE)),
            noise: vec![0.0; count * policy.noise_width()],
            noise_ahead: Vec::new(),
            bounded: vec![0.0; count * env.action_space().width()],
            raw: Vec::new(),
            finished: Vec::new(),
            failed: None,
            env,
        })
    }

    pub(crate) fn copies(&self) -> usize {
        self.streams.len()
    }

    pub(super) fn fill(
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
        if !policy.noise_is_kept() {
            self.draw_noise_ahead(policy, steps);
        }
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
            if policy.noise_is_kept() {
                if time == 0 || due {
                    self.draw_noise(policy);
                }
            } else {
                self.take_noise(time, steps);
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

    /// New noise for every copy.
    fn draw_noise(&mut self, policy: &Policy) {
        let width = policy.noise_width();
        for (stream, row) in self.streams.iter_mut().zip(self.noise.chunks_exact_mut(width)) {
            policy.draw_noise(stream, row);
        }
    }

    /// The noise of all steps of a rollout: long draws cost less than many short ones.
    fn draw_noise_ahead(&mut self, policy: &Policy, steps: usize) {
        let width = steps * policy.noise_width();
        self.noise_ahead.resize(self.copies() * width, 0.0);
        for (stream, row) in self.streams.iter_mut().zip(self.noise_ahead.chunks_exact_mut(width)) {
            policy.draw_noise(stream, row);
        }
    }

    /// The noise of one step out of what was drawn ahead.
    fn take_noise(&mut self, time: usize, steps: usize) {
        let width = self.noise.len() / self.copies();
        for (row, ahead) in
            self.noise.chunks_exact_mut(width).zip(self.noise_ahead.chunks_exact(steps * width))
        {
            row.copy_from_slice(&ahead[time * width..][..width]);
        }
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
                success: self.batch.success[copy],
            });
            (self.totals[copy], self.lengths[copy]) = (0.0, 0);
        }
    }
}
