//! The forward pass of an [`ActorCritic`], tile by tile.

use crate::actor_critic::{ActorCritic, Layer, Purpose, Stack, TILE};
use crate::aligned::Aligned;
use crate::head::Head;
use crate::kernel::{self, Rows, RowsMut};
use crate::scratch::{Scratch, StackScratch};
use crate::shape::Input;

/// Rows that go through all layers together.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) first: usize,
    pub(crate) rows: usize,
}

/// The tiles of that many rows, in order.
pub(crate) fn tiles(rows: usize) -> impl Iterator<Item = Tile> {
    (0..rows).step_by(TILE).map(move |first| Tile { first, rows: TILE.min(rows - first) })
}

impl ActorCritic {
    /// Lays out the weights that those outputs need.
    pub(crate) fn prepare_forward(
        &self,
        parameters: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        purposes: &[Purpose],
    ) {
        // A one-hot input gathers its rows of weights and needs no panels.
        let gathers = usize::from(matches!(self.shape().input, Input::OneHot(_)));
        for number in self.stacks_for(purposes) {
            let (stack, memory) = (&self.stacks[number], &mut scratch.stacks[number]);
            for (layer, panels) in stack.hidden.iter().zip(&mut memory.forward_panels).skip(gathers) {
                kernel::prepare_forward(layer.within(parameters), rows, panels);
            }
            for ((_, layer), panels) in stack.outputs.iter().zip(&mut memory.output_panels) {
                kernel::prepare_output(layer.within(parameters), panels);
            }
        }
    }

    /// The numbers of the stacks that have one of these outputs.
    fn stacks_for(&self, purposes: &[Purpose]) -> impl Iterator<Item = usize> {
        let has = |stack: &Stack| stack.outputs.iter().any(|(purpose, _)| purposes.contains(purpose));
        (0..self.stacks.len()).filter(move |&number| has(&self.stacks[number]))
    }

    /// Computes those outputs that are asked for, with weights that were laid out before.
    pub(crate) fn run_forward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        purposes: &[Purpose],
    ) {
        for number in self.stacks_for(purposes) {
            let (stack, memory) = (&self.stacks[number], &mut scratch.stacks[number]);
            for tile in tiles(rows) {
                for index in 0..stack.hidden.len() {
                    self.hidden_forward(parameters, observations, stack, index, memory, tile);
                }
                for (index, (purpose, layer)) in stack.outputs.iter().enumerate() {
                    if !purposes.contains(purpose) {
                        continue;
                    }
                    let y = match purpose {
                        Purpose::Policy => &mut scratch.policy,
                        Purpose::Value => &mut scratch.values,
                    };
                    let y = &mut y[tile.first * layer.outputs..][..tile.rows * layer.outputs];
                    self.output_forward(parameters, observations, layer, index, memory, tile, y);
                }
            }
        }
        self.keep_latent(observations, rows, scratch);
    }

    fn hidden_forward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        stack: &Stack,
        index: usize,
        memory: &mut StackScratch,
        tile: Tile,
    ) {
        let layer = &stack.hidden[index];
        let stride = kernel::padded(layer.outputs);
        let (before, at) = memory.activations.split_at_mut(index);
        let y = RowsMut { data: &mut at[0][tile.first * stride..], stride };
        let slopes = memory.slopes[index].get_mut(tile.first * stride..).unwrap_or_default();
        let function = self.shape().activation;
        match (&self.shape().input, before.last()) {
            (Input::OneHot(parts), None) => {
                let indices = &observations[tile.first * parts.len()..];
                kernel::gather_forward(
                    tile.rows,
                    indices,
                    parts,
                    layer.within(parameters),
                    function,
                    y,
                    slopes,
                );
            }
            (_, before) => {
                let x = layer_input(observations, before, layer.inputs, tile);
                let panels = &memory.forward_panels[index];
                kernel::hidden_forward(tile.rows, x, layer.within(parameters), panels, function, y, slopes);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the forward pass")]
    fn output_forward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        layer: &Layer,
        index: usize,
        memory: &StackScratch,
        tile: Tile,
        y: &mut [f32],
    ) {
        let linear = layer.within(parameters);
        match (&self.shape().input, memory.activations.last()) {
            (Input::OneHot(parts), None) => {
                for (row, y) in y.chunks_exact_mut(layer.outputs).enumerate() {
                    y.copy_from_slice(linear.bias);
                    kernel::for_indices(
                        &observations[(tile.first + row) * parts.len()..],
                        parts,
                        |feature| {
                            for (output, y) in y.iter_mut().enumerate() {
                                *y += linear.weight[output * layer.inputs + feature];
                            }
                        },
                    );
                }
            }
            (_, last) => {
                let x = layer_input(observations, last, layer.inputs, tile);
                kernel::output_forward(tile.rows, x, linear, &memory.output_panels[index], y);
            }
        }
    }

    fn keep_latent(&self, observations: &[f32], rows: usize, scratch: &mut Scratch) {
        let Head::StateDependent { latent: width, .. } = self.shape().head else { return };
        scratch.latent_length = rows * width;
        // The policy's stack is the first one, shared or not.
        match scratch.stacks[0].activations.last() {
            Some(activations) => {
                let stride = kernel::padded(width);
                for (row, latent) in scratch.latent[..rows * width].chunks_exact_mut(width).enumerate() {
                    latent.copy_from_slice(&activations[row * stride..][..width]);
                }
            }
            None => scratch.latent[..rows * width].copy_from_slice(&observations[..rows * width]),
        }
    }
}

/// A tile of the activations before a layer, or of the observations.
pub(crate) fn layer_input<'a>(
    observations: &'a [f32],
    before: Option<&'a Aligned>,
    width: usize,
    tile: Tile,
) -> Rows<'a> {
    match before {
        Some(activations) => {
            let stride = kernel::padded(width);
            Rows { data: &activations[tile.first * stride..], stride }
        }
        None => Rows { data: &observations[tile.first * width..], stride: width },
    }
}
