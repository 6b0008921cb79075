//! Working memory of one network: allocated once, reused for every tile.

use crate::aligned::Aligned;
use crate::kernel::Panels;

/// Activations, outputs and gradients for up to a fixed number of rows. Each
/// thread has its own.
pub struct Scratch {
    /// Outputs of the policy, rows × head outputs.
    pub policy: Vec<f32>,
    /// Values, one per row.
    pub values: Vec<f32>,
    /// dL/d(policy outputs), to be filled before `backward`.
    pub d_policy: Vec<f32>,
    /// dL/d(values), to be filled before `backward`.
    pub d_values: Vec<f32>,
    /// Most rows that fit.
    pub(crate) capacity: usize,
    /// Rows and width of `latent`, and whether it is kept at all.
    pub(crate) latent: Vec<f32>,
    pub(crate) latent_length: usize,
    /// One per stack of hidden layers.
    pub(crate) stacks: Vec<StackScratch>,
    /// Gradients at the outputs and at the inputs of the layer in work, of one tile.
    pub(crate) d_outputs: Aligned,
    pub(crate) d_inputs: Aligned,
}

/// Working memory of one stack of hidden layers.
pub(crate) struct StackScratch {
    /// Outputs of each hidden layer, padded rows.
    pub(crate) activations: Vec<Aligned>,
    /// Slopes of each hidden layer where they can't be had from the outputs.
    pub(crate) slopes: Vec<Aligned>,
    /// Weights of each hidden layer as the forward pass reads them.
    pub(crate) forward_panels: Vec<Panels>,
    /// Weights of each hidden layer as the backward pass reads them.
    pub(crate) backward_panels: Vec<Panels>,
    /// Weights of each output layer as the kernels read them.
    pub(crate) output_panels: Vec<Panels>,
}

impl Scratch {
    /// The policy's last hidden activations of the latest forward pass, rows ×
    /// width without padding. Kept for a state-dependent head only; empty for
    /// every other head, which does not read it.
    pub fn latent(&self) -> &[f32] {
        &self.latent[..self.latent_length]
    }

    /// Most rows that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}
