//! An environment of your own: implement [`Environment`] for one copy, and
//! [`Vectorized`] makes it what learners step. See `examples/own_environment.rs`.

use rlxp_types::Stream;

use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::{BadState, StepBatch, VectorEnv};

/// What one step of one copy gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The reward.
    pub reward: f32,
    /// The episode reached a real end.
    pub terminated: bool,
    /// The episode was cut short for a reason outside of it.
    pub truncated: bool,
}

/// One copy of an environment.
///
/// All chance comes from the stream that is handed in: it is saved beside the
/// state, and that is what makes runs repeatable.
pub trait Environment: Send {
    /// What observations look like.
    fn observation_space(&self) -> Space;
    /// What actions look like.
    fn action_space(&self) -> Space;
    /// Starts an episode and writes its first observation.
    fn reset(&mut self, stream: &mut Stream, observation: &mut [f32]);
    /// Applies one action and writes the observation after it.
    fn step(&mut self, action: &[f32], stream: &mut Stream, observation: &mut [f32]) -> Step;
    /// Everything needed to go on exactly, without the stream.
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

    fn reset(&mut self, observations: &mut [f32]) {
        let rows = observations.chunks_exact_mut(self.observation_space.width());
        for ((environment, stream), row) in self.environments.iter_mut().zip(&mut self.streams).zip(rows) {
            environment.reset(stream, row);
        }
        self.elapsed.fill(0);
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) {
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
    }

    fn save(&self) -> Vec<u8> {
        let mut writer = StateWriter::new("own", self.copies());
        self.elapsed.iter().for_each(|steps| writer.u64(*steps));
        writer.streams(&self.streams);
        self.environments.iter().for_each(|environment| writer.blob(&environment.save()));
        writer.finish()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
        let mut reader = StateReader::new(saved, "own", self.copies())?;
        let (mut elapsed, mut streams) = (self.elapsed.clone(), self.streams.clone());
        for steps in &mut elapsed {
            *steps = reader.u64()?;
        }
        reader.streams(&mut streams)?;
        let blobs = (0..self.copies()).map(|_| reader.blob()).collect::<Result<Vec<_>, _>>()?;
        reader.finish()?;
        for (environment, blob) in self.environments.iter_mut().zip(blobs) {
            environment.restore(blob)?;
        }
        (self.elapsed, self.streams) = (elapsed, streams);
        Ok(())
    }
}
