//! The one interface that learners step: many copies of an environment at
//! once, struct-of-arrays, no allocation per step.

use crate::space::Space;
use crate::view::View;

/// What one step of all copies gave. Rows belong to copies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepBatch {
    /// Observation to act on next: where an episode ended, the first of the next one.
    pub observations: Vec<f32>,
    /// The last observation of the episode, valid only in rows that ended.
    pub final_observations: Vec<f32>,
    pub rewards: Vec<f32>,
    /// The episode reached a real end.
    pub terminated: Vec<bool>,
    /// The episode was cut by its step cap.
    pub truncated: Vec<bool>,
}

impl StepBatch {
    /// Room for `copies` rows of observations `width` wide.
    pub fn new(copies: usize, width: usize) -> Self {
        Self {
            observations: vec![0.0; copies * width],
            final_observations: vec![0.0; copies * width],
            rewards: vec![0.0; copies],
            terminated: vec![false; copies],
            truncated: vec![false; copies],
        }
    }
}

/// A saved state does not fit this environment.
#[derive(Debug, thiserror::Error)]
#[error("the saved environment state does not fit: {0}")]
pub struct BadState(pub String);

/// Many copies of one environment, stepped together. A copy that ends starts
/// its next episode within the same step.
pub trait VectorEnv: Send {
    fn copies(&self) -> usize;
    fn observation_space(&self) -> &Space;
    fn action_space(&self) -> &Space;
    /// Steps after which an episode is cut, if it ever is and that is known.
    fn step_cap(&self) -> Option<u64> {
        None
    }
    /// Starts a fresh episode in every copy and writes the first observations.
    fn reset(&mut self, observations: &mut [f32]);
    /// Applies one action row per copy.
    fn step(&mut self, actions: &[f32], out: &mut StepBatch);
    /// Everything needed to go on exactly: physics, step counts, random streams.
    fn save(&self) -> Vec<u8>;
    /// Takes the state that `save` gave.
    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState>;

    /// What a person would see of one copy now; `None` when there is no such
    /// copy or the environment doesn't say.
    fn view(&self, _copy: usize) -> Option<View> {
        None
    }
    /// Whether to keep what copies look like when their episode ends. A copy
    /// restarts within the step that ended it, so [`VectorEnv::view`] never
    /// shows an end.
    fn record_final_views(&mut self, _on: bool) {}
    /// What one copy looked like at its last end while
    /// [`VectorEnv::record_final_views`] was on; a reset or restore forgets it.
    fn final_view(&self, _copy: usize) -> Option<View> {
        None
    }
}
