//! Wrappers: an environment around an environment, from `env.wrappers`.

use crate::bridge::Divergence;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::{EnvError, StepBatch, VectorEnv};
use crate::view::View;

/// Delegates what a wrapper leaves alone to `self.inner`.
macro_rules! delegate {
    () => {
        fn copies(&self) -> usize {
            self.inner.copies()
        }
        fn observation_space(&self) -> &Space {
            self.inner.observation_space()
        }
        fn action_space(&self) -> &Space {
            self.inner.action_space()
        }
        fn step_cap(&self) -> Option<u64> {
            self.inner.step_cap()
        }
        fn divergences(&self) -> &[Divergence] {
            self.inner.divergences()
        }
        fn view(&self, copy: usize) -> Option<View> {
            self.inner.view(copy)
        }
        fn watch(&mut self, copies: &[bool]) {
            self.inner.watch(copies);
        }
        fn record_final_views(&mut self, on: bool) {
            self.inner.record_final_views(on);
        }
        fn final_view(&self, copy: usize) -> Option<View> {
            self.inner.final_view(copy)
        }
    };
}

/// Saves and restores a wrapper without state of its own. The name prevents loading the state of a different stack of
/// wrappers.
macro_rules! delegate_state {
    ($name:literal) => {
        fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
            let Some(inner) = self.inner.save()? else { return Ok(None) };
            let mut writer = StateWriter::new($name, self.copies());
            writer.blob(&inner);
            Ok(Some(writer.finish()))
        }
        fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
            let mut reader = StateReader::new(saved, $name, self.copies())?;
            let inner = reader.blob()?;
            reader.finish()?;
            self.inner.restore(inner)
        }
    };
}

/// Multiplies rewards.
pub struct ScaleReward {
    inner: Box<dyn VectorEnv>,
    factor: f32,
}

impl ScaleReward {
    /// Rewards of `inner` times `factor`.
    pub fn new(inner: Box<dyn VectorEnv>, factor: f64) -> Self {
        Self { inner, factor: factor as f32 }
    }
}

impl VectorEnv for ScaleReward {
    delegate!();
    delegate_state!("scale_reward");

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        self.inner.reset(observations)
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        self.inner.step(actions, out)?;
        out.rewards.iter_mut().for_each(|reward| *reward *= self.factor);
        Ok(())
    }
}

/// Reports a time limit as if the episode had really ended.
pub struct TruncationAsTermination {
    inner: Box<dyn VectorEnv>,
}

impl TruncationAsTermination {
    /// `inner` without truncations.
    pub fn new(inner: Box<dyn VectorEnv>) -> Self {
        Self { inner }
    }
}

impl VectorEnv for TruncationAsTermination {
    delegate!();
    delegate_state!("truncation_as_termination");

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        self.inner.reset(observations)
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        self.inner.step(actions, out)?;
        for (terminated, truncated) in out.terminated.iter_mut().zip(&mut out.truncated) {
            *terminated |= std::mem::take(truncated);
        }
        Ok(())
    }
}

/// Every observation is the first one of its episode, in some or all dimensions: what a learner that ignores them
/// would see.
pub struct FreezeObservation {
    inner: Box<dyn VectorEnv>,
    /// The first observation of every copy's episode.
    first: Vec<f32>,
    width: usize,
    held: Vec<usize>,
}

impl FreezeObservation {
    /// `inner` with those dimensions frozen, or all of them.
    ///
    /// # Panics
    /// When observations have no such dimension.
    pub fn new(inner: Box<dyn VectorEnv>, dimensions: Option<&[usize]>) -> Self {
        let width = inner.observation_space().width();
        let held = dimensions.map_or_else(|| (0..width).collect(), <[usize]>::to_vec);
        assert!(held.iter().all(|dimension| *dimension < width), "observations have {width} dimensions");
        Self { first: vec![0.0; inner.copies() * width], width, held, inner }
    }
}

impl VectorEnv for FreezeObservation {
    delegate!();

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        self.inner.reset(observations)?;
        self.first.copy_from_slice(observations);
        Ok(())
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        self.inner.step(actions, out)?;
        for (copy, first) in self.first.chunks_exact_mut(self.width).enumerate() {
            let row = copy * self.width..(copy + 1) * self.width;
            if out.terminated[copy] || out.truncated[copy] {
                hold(&self.held, first, &mut out.final_observations[row.clone()]);
                first.copy_from_slice(&out.observations[row]);
            } else {
                hold(&self.held, first, &mut out.observations[row]);
            }
        }
        Ok(())
    }

    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        let Some(inner) = self.inner.save()? else { return Ok(None) };
        let mut writer = StateWriter::new("freeze_observation", self.copies());
        writer.f32s(&self.first);
        writer.blob(&inner);
        Ok(Some(writer.finish()))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
        let mut reader = StateReader::new(saved, "freeze_observation", self.copies())?;
        let mut first = vec![0.0; self.first.len()];
        reader.f32s(&mut first)?;
        let inner = reader.blob()?;
        reader.finish()?;
        self.inner.restore(inner)?;
        for Divergence { copy, observation, .. } in self.inner.divergences() {
            first[copy * self.width..(copy + 1) * self.width].copy_from_slice(observation);
        }
        self.first = first;
        Ok(())
    }
}

/// Replaces the frozen dimensions with their first values.
fn hold(held: &[usize], first: &[f32], row: &mut [f32]) {
    for dimension in held {
        row[*dimension] = first[*dimension];
    }
}
