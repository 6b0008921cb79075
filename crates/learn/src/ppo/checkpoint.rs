//! A learner as named tensors and back: the model is what acts, the state is
//! everything else that makes training go on exactly.

use rlxp_nn::Tensors;
use rlxp_spec::config::Config;

use rlxp_env::EnvError;

use super::Ppo;
use crate::LearnError;
use crate::learner::Resumed;
use crate::normalize::Moments;
use crate::state::{numbers, sized, streams};

impl Ppo {
    /// Everything but the policy: optimiser, random streams, environments,
    /// reward normaliser, counters. What environments can't save is left out.
    pub fn state(&self) -> Result<Tensors, LearnError> {
        let mut tensors = Tensors::new();
        tensors.insert_u64s("counters", vec![self.steps, self.updates, self.episodes, self.adam.steps()]);
        tensors.insert_f32s("adam.first", self.adam.first().to_vec());
        tensors.insert_f32s("adam.second", self.adam.second().to_vec());
        tensors.insert_u8s("shuffle", self.shuffle.save().to_vec());
        let (totals, lengths) = self.recent.iter().copied().unzip();
        tensors.insert_f64s("recent.totals", totals);
        tensors.insert_u64s("recent.lengths", lengths);
        if let Some(scaler) = &self.reward_scaler {
            let Moments { count, mean, variance } = &scaler.moments;
            tensors.insert_f64s("reward.moments", vec![*count, mean[0], variance[0]]);
            tensors.insert_f64s("reward.returns", scaler.returns.clone());
        }
        for (index, shard) in self.collector.shards.iter().enumerate() {
            let name = |part: &str| format!("shard.{index}.{part}");
            let streams = shard.streams.iter().flat_map(|stream| stream.save()).collect();
            let environments = shard.env.save().map_err(|error| self.in_environment(error))?;
            if let Some(environments) = environments {
                tensors.insert_u8s(name("environments"), environments);
            }
            tensors.insert_f32s(name("observations"), shard.current.clone());
            tensors.insert_u8s(name("streams"), streams);
            tensors.insert_f64s(name("totals"), shard.totals.clone());
            tensors.insert_u64s(name("lengths"), shard.lengths.clone());
            tensors.insert_f32s(name("steady"), shard.steady.clone());
        }
        Ok(tensors)
    }

    fn in_environment(&self, error: EnvError) -> LearnError {
        LearnError::in_environment(&self.env_id, error)
    }

    /// The learner that `model` (its policy) and `state` describe.
    pub fn restore(
        config: &Config,
        seed: u64,
        threads: usize,
        model: &Tensors,
        state: &Tensors,
    ) -> Result<Self, LearnError> {
        let mut ppo = Self::new(config, seed, threads)?;
        ppo.continue_from(model, state)?;
        Ok(ppo)
    }

    /// Takes over policy and state of a saved learner with the same config.
    pub fn continue_from(&mut self, model: &Tensors, state: &Tensors) -> Result<Resumed, LearnError> {
        self.policy.load(model)?;
        let counters = sized("counters", state.u64s("counters")?, 4)?;
        (self.steps, self.updates, self.episodes) = (counters[0], counters[1], counters[2]);
        self.adam.restore(state.f32s("adam.first")?, state.f32s("adam.second")?, counters[3])?;
        self.shuffle = streams(state, "shuffle", 1)?.remove(0);
        let lengths = state.u64s("recent.lengths")?;
        let totals = numbers(state, "recent.totals", lengths.len())?;
        self.recent = totals.into_iter().zip(lengths.iter().copied()).collect();
        if let Some(scaler) = &mut self.reward_scaler {
            let summary = numbers(state, "reward.moments", 3)?;
            scaler.moments =
                Moments { count: summary[0], mean: vec![summary[1]], variance: vec![summary[2]] };
            scaler.returns = numbers(state, "reward.returns", scaler.returns.len())?;
        }
        let mut resumed = Resumed::Exactly;
        let failed = |error| LearnError::in_environment(&self.env_id, error);
        for (index, shard) in self.collector.shards.iter_mut().enumerate() {
            let name = |part: &str| format!("shard.{index}.{part}");
            let copies = shard.copies();
            if shard.env.save().map_err(failed)?.is_none() {
                // It was reset when it was made: its copies are at the start of
                // an episode, and so are the books kept of them.
                shard.streams = streams(state, &name("streams"), copies)?;
                resumed = Resumed::WithNewEpisodes;
                continue;
            }
            shard.env.restore(state.u8s(&name("environments"))?).map_err(failed)?;
            let observations = name("observations");
            shard.current = sized(&observations, state.f32s(&observations)?, shard.current.len())?;
            shard.streams = streams(state, &name("streams"), copies)?;
            shard.totals = numbers(state, &name("totals"), copies)?;
            let lengths = name("lengths");
            shard.lengths = sized(&lengths, state.u64s(&lengths)?, copies)?;
            let steady = name("steady");
            shard.steady = match state.get(&steady) {
                Some(_) => sized(&steady, state.f32s(&steady)?, copies)?,
                // Saved before this was kept: if rewards were steady, they were their mean.
                None => {
                    let means = shard.totals.iter().zip(&shard.lengths);
                    means.map(|(total, length)| (total / (*length).max(1) as f64) as f32).collect()
                }
            };
        }
        for divergence in self.collector.restart_diverged() {
            resumed = match resumed {
                Resumed::Diverged { copies, copy, step } => {
                    Resumed::Diverged { copies: copies + 1, copy, step }
                }
                _ => Resumed::Diverged { copies: 1, copy: divergence.copy, step: divergence.step },
            };
            if let Some(scaler) = &mut self.reward_scaler {
                scaler.returns[divergence.copy] = 0.0;
            }
        }
        if resumed == Resumed::WithNewEpisodes
            && let Some(scaler) = &mut self.reward_scaler
        {
            // The discounted returns so far belong to the episodes that were lost.
            scaler.returns.fill(0.0);
        }
        Ok(resumed)
    }
}
