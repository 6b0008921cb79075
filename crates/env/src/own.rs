//! An environment of your own: implement [`Environment`] for one copy, and
//! [`Vectorized`] makes it what learners step. See `examples/own_environment.rs`.

use rlxp_types::Stream;

use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::{BadState, EnvError, StepBatch, VectorEnv};

/// What one step of one copy gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub reward: f32,
    /// The episode reached a real end.
    pub terminated: bool,
    /// The episode was cut short for a reason outside of it.
    pub truncated: bool,
}

/// One copy of an environment.
///
/// All randomness comes from the given stream: it is saved with the state, and
/// that is what makes runs repeatable.
pub trait Environment: Send {
    fn observation_space(&self) -> Space;
    fn action_space(&self) -> Space;
    /// Starts an episode and writes its first observation.
    fn reset(&mut self, stream: &mut Stream, observation: &mut [f32]);
    /// Applies one action and writes the observation after it.
    fn step(&mut self, action: &[f32], stream: &mut Stream, observation: &mut [f32]) -> Step;
    /// The complete state needed to continue exactly, without the stream.
    fn save(&self) -> Vec<u8>;
    /// Takes the state that `save` gave.
    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState>;
}

/// Copies of a single environment, stepped one after the other.
pub struct Vectorized<E> {
    environments: Vec<E>,
    streams: Vec<Stream>,
    elapsed: Vec<u64>,
    cap: u64,
    observation_space: Space,
    action_space: Space,
}

impl<E: Environment> Vectorized<E> {
    /// One copy per stream, made by `make`; an episode is cut after `max_episode_steps`.
    ///
    /// # Panics
    /// When there is no stream, since spaces are read from the first copy.
    pub fn new(mut make: impl FnMut() -> E, streams: Vec<Stream>, max_episode_steps: Option<u64>) -> Self {
        let environments: Vec<E> = streams.iter().map(|_| make()).collect();
        let first = environments.first().expect("at least one stream");
        Self {
            observation_space: first.observation_space(),
            action_space: first.action_space(),
            elapsed: vec![0; streams.len()],
            cap: max_episode_steps.unwrap_or(u64::MAX),
            environments,
            streams,
        }
    }
}

impl<E: Environment> VectorEnv for Vectorized<E> {
    fn copies(&self) -> usize {
        self.environments.len()
    }

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn step_cap(&self) -> Option<u64> {
        (self.cap < u64::MAX).then_some(self.cap)
    }

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        let rows = observations.chunks_exact_mut(self.observation_space.width());
        for ((environment, stream), row) in self.environments.iter_mut().zip(&mut self.streams).zip(rows) {
            environment.reset(stream, row);
        }
        self.elapsed.fill(0);
        Ok(())
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        let (width, action_width) = (self.observation_space.width(), self.action_space.width());
        for (copy, action) in actions.chunks_exact(action_width).enumerate() {
            let (environment, stream) = (&mut self.environments[copy], &mut self.streams[copy]);
            let row = copy * width..(copy + 1) * width;
            let observation = &mut out.observations[row.clone()];
            let step = environment.step(action, stream, observation);
            self.elapsed[copy] = self.elapsed[copy].saturating_add(1);
            out.rewards[copy] = step.reward;
            out.terminated[copy] = step.terminated;
            out.truncated[copy] = step.truncated || self.elapsed[copy] >= self.cap;
            if out.terminated[copy] || out.truncated[copy] {
                out.final_observations[row].copy_from_slice(observation);
                self.elapsed[copy] = 0;
                environment.reset(stream, observation);
            }
        }
        Ok(())
    }

    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        let mut writer = StateWriter::new("own", self.copies());
        self.elapsed.iter().for_each(|steps| writer.u64(*steps));
        writer.streams(&self.streams);
        self.environments.iter().for_each(|environment| writer.blob(&environment.save()));
        Ok(Some(writer.finish()))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
        let mut reader = StateReader::new(saved, "own", self.copies())?;
        let (mut elapsed, mut streams) = (self.elapsed.clone(), self.streams.clone());
        for steps in &mut elapsed {
            *steps = reader.u64()?;
        }
        reader.streams(&mut streams)?;
        let blobs = (0..self.copies()).map(|_| reader.blob()).collect::<Result<Vec<_>, _>>()?;
        reader.finish()?;
        let before: Vec<Vec<u8>> = self.environments.iter().map(Environment::save).collect();
        let taken = self.environments.iter_mut().zip(blobs).try_for_each(|(own, blob)| own.restore(blob));
        if let Err(refused) = taken {
            // Copies before the refused one go back to where they were.
            for (environment, state) in self.environments.iter_mut().zip(&before) {
                environment.restore(state)?;
            }
            return Err(refused.into());
        }
        (self.elapsed, self.streams) = (elapsed, streams);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts up by random amounts and ends past 10.
    #[derive(Default)]
    struct Counter {
        count: u8,
    }

    impl Environment for Counter {
        fn observation_space(&self) -> Space {
            Space::vector(vec![0.0, 0.0], vec![20.0, 1.0])
        }

        fn action_space(&self) -> Space {
            Space::Discrete { n: 2 }
        }

        fn reset(&mut self, stream: &mut Stream, observation: &mut [f32]) {
            self.count = stream.below(3) as u8;
            observation.copy_from_slice(&[f32::from(self.count), 1.0]);
        }

        fn step(&mut self, action: &[f32], stream: &mut Stream, observation: &mut [f32]) -> Step {
            self.count += action[0] as u8 + stream.below(3) as u8;
            observation.copy_from_slice(&[f32::from(self.count), 0.0]);
            Step { reward: action[0], terminated: self.count > 10, truncated: false }
        }

        fn save(&self) -> Vec<u8> {
            vec![self.count]
        }

        fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
            match saved {
                [count] if *count <= 10 => self.count = *count,
                _ => return Err(BadState(format!("{saved:?}"))),
            }
            Ok(())
        }
    }

    fn counters(seed: u64) -> Vectorized<Counter> {
        let streams = (0..3).map(|copy| Stream::new(seed, "env", copy)).collect();
        Vectorized::new(Counter::default, streams, Some(6))
    }

    fn state(env: &dyn VectorEnv) -> Vec<u8> {
        env.save().unwrap().expect("own environments can be saved")
    }

    #[test]
    fn episodes_end_restart_and_are_cut() {
        let mut env = counters(0);
        let mut out = StepBatch::new(3, 2);
        env.reset(&mut out.observations).unwrap();
        assert!(out.observations.chunks(2).all(|row| row[1] == 1.0));
        let (mut terminated, mut truncated) = (0, 0);
        for step in 0..200 {
            env.step(&[0.0, 1.0, f32::from(step % 2 == 0)], &mut out).unwrap();
            for copy in 0..3 {
                let ended = out.terminated[copy] || out.truncated[copy];
                assert_eq!(
                    out.observations[2 * copy + 1] == 1.0,
                    ended,
                    "a first observation follows each end"
                );
                if ended {
                    assert_eq!(out.final_observations[2 * copy] > 10.0, out.terminated[copy]);
                }
                terminated += usize::from(out.terminated[copy]);
                truncated += usize::from(out.truncated[copy]);
            }
        }
        assert!(terminated > 10 && truncated > 10, "{terminated} terminated, {truncated} truncated");
    }

    #[test]
    fn a_saved_environment_goes_on_and_a_damaged_one_is_refused() {
        let mut env = counters(0);
        let mut out = StepBatch::new(3, 2);
        env.reset(&mut out.observations).unwrap();
        for _ in 0..50 {
            env.step(&[1.0, 0.0, 1.0], &mut out).unwrap();
            let mut other = counters(1);
            let saved = state(&env);
            other.restore(&saved).unwrap();
            let (mut ours, mut theirs) = (StepBatch::new(3, 2), StepBatch::new(3, 2));
            for _ in 0..9 {
                other.step(&[0.0, 1.0, 1.0], &mut theirs).unwrap();
            }
            let mut again = counters(2);
            again.restore(&saved).unwrap();
            for _ in 0..9 {
                again.step(&[0.0, 1.0, 1.0], &mut ours).unwrap();
            }
            assert_eq!(ours, theirs);
            let kept = state(&other);
            for length in 0..saved.len() {
                assert!(other.restore(&saved[..length]).is_err());
            }
            let last_copy_damaged = [&saved[..saved.len() - 1], &[99]].concat();
            assert!(other.restore(&last_copy_damaged).is_err());
            assert_eq!(state(&other), kept, "a refused state changes nothing");
        }
    }
}
