//! The one interface that learners step: many copies of an environment at
//! once, struct-of-arrays, no allocation per step.

use crate::bridge::Divergence;
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
    /// Whether an episode that ended was successful, where the environment says so.
    pub success: Vec<Option<bool>>,
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
            success: vec![None; copies],
        }
    }
}

/// A saved state does not fit this environment.
#[derive(Debug, thiserror::Error)]
#[error("the saved environment state does not match: {0}")]
pub struct BadState(pub String);

/// What was asked of an environment when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// To be made: its program or process to start.
    Start,
    /// To reset.
    Reset,
    /// To step.
    Step,
    /// To save its state.
    Save,
    /// To restore a saved state.
    Restore,
}

impl Call {
    fn past(self) -> &'static str {
        match self {
            Self::Start => "started",
            Self::Reset => "reset",
            Self::Step => "stepped",
            Self::Save => "saved",
            Self::Restore => "restored",
        }
    }
}

/// An environment did not do what it was asked. It can't be used any more,
/// except after a state that does not fit, which changes nothing.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// It raised an error, or the process that runs it ended.
    #[error("{} could not be {}: {message}", who(*copy), call.past())]
    Failed {
        /// Which copy, where that is known.
        copy: Option<usize>,
        /// What was asked of it.
        call: Call,
        /// What happened.
        message: String,
    },
    /// A saved state does not fit.
    #[error(transparent)]
    State(#[from] BadState),
}

fn who(copy: Option<usize>) -> String {
    copy.map_or("it".to_owned(), |copy| format!("copy {copy}"))
}

impl EnvError {
    /// The same error where this environment's copies are counted from `first`
    /// on, because it runs a part of a learner's copies.
    #[must_use]
    pub fn counted_from(mut self, first: usize) -> Self {
        if let Self::Failed { copy: Some(copy), .. } = &mut self {
            *copy += first;
        }
        self
    }
}

/// Many copies of one environment, stepped together. A copy that ends starts
/// its next episode within the same step.
///
/// The environment may be another program or run in another process, so every
/// call that reaches it can fail.
pub trait VectorEnv: Send {
    fn copies(&self) -> usize;
    fn observation_space(&self) -> &Space;
    fn action_space(&self) -> &Space;
    /// Steps after which an episode is cut, if it ever is and that is known.
    fn step_cap(&self) -> Option<u64> {
        None
    }
    /// Starts a fresh episode in every copy and writes the first observations.
    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError>;
    /// Applies one action row per copy.
    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError>;
    /// Everything needed to continue exactly: physics, step counts, random
    /// streams. `None` where the environment can't save its state; a learner
    /// that is resumed then starts new episodes.
    fn save(&self) -> Result<Option<Vec<u8>>, EnvError>;
    /// Takes the state that `save` gave.
    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError>;
    /// Copies that the last restore could not bring back, and that start a new episode instead.
    fn divergences(&self) -> &[Divergence] {
        &[]
    }

    /// The current view of one copy for people; `None` if the copy doesn't
    /// exist or the environment has no view.
    fn view(&self, _copy: usize) -> Option<View> {
        None
    }
    /// Which copies are looked at from the next reset or step on. Where drawing is slow, others have no view.
    fn watch(&mut self, _copies: &[bool]) {}
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
