//! The backward pass of an [`ActorCritic`], tile by tile: gradients of a tile's
//! activations live in two small buffers that swap roles from layer to layer.

use crate::actor_critic::{ActorCritic, Layer, Purpose};
use crate::forward::{Tile, layer_input, tiles};
use crate::kernel::{self, Rows, RowsMut, SlopeOf};
use crate::scratch::{Scratch, StackScratch};
use crate::shape::Input;

impl ActorCritic {
    /// Lays the weights out as a backward pass reads them. The first hidden
    /// layers are left out: their inputs are observations, which have no slope,
    /// and only [`ActorCritic::input_gradient`] asks for gradients there.
    pub(crate) fn prepare_backward(&self, parameters: &[f32], scratch: &mut Scratch) {
        for (stack, memory) in self.stacks.iter().zip(&mut scratch.stacks) {
            for (layer, panels) in stack.hidden.iter().zip(&mut memory.backward_panels).skip(1) {
                kernel::prepare_backward(layer.within(parameters), panels);
            }
            for ((_, layer), panels) in stack.outputs.iter().zip(&mut memory.output_panels) {
                kernel::prepare_output(layer.within(parameters), panels);
            }
        }
    }

    /// With weights that were laid out before.
    pub(crate) fn run_backward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        gradients: &mut [f32],
    ) {
        for number in 0..self.stacks.len() {
            for tile in tiles(rows) {
                self.outputs_backward(parameters, observations, number, scratch, tile, gradients);
                self.hidden_backward(parameters, observations, number, scratch, tile, gradients);
            }
        }
    }

    /// Gradients of the output layers, and at the last hidden activations.
    fn outputs_backward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        number: usize,
        scratch: &mut Scratch,
        tile: Tile,
        gradients: &mut [f32],
    ) {
        for (index, (purpose, layer)) in self.stacks[number].outputs.iter().enumerate() {
            let dy = output_gradient(*purpose, layer, &scratch.d_policy, &scratch.d_values, tile);
            self.output_weights_backward(observations, layer, &scratch.stacks[number], tile, dy, gradients);
            self.output_inputs_backward(parameters, number, index, scratch, tile);
        }
    }

    /// Gradients at the last hidden activations that come from one output
    /// layer; the layers in turn leave their sum in `d_outputs`.
    pub(crate) fn output_inputs_backward(
        &self,
        parameters: &[f32],
        number: usize,
        index: usize,
        scratch: &mut Scratch,
        tile: Tile,
    ) {
        let stack = &self.stacks[number];
        let memory = &scratch.stacks[number];
        let (purpose, layer) = &stack.outputs[index];
        let Some(last) = stack.hidden.len().checked_sub(1) else { return };
        let dy = output_gradient(*purpose, layer, &scratch.d_policy, &scratch.d_values, tile);
        // The slope is applied once, when all outputs have added theirs.
        let slope = (index + 1 == stack.outputs.len()).then(|| self.slope(memory, last, layer.inputs, tile));
        let dx = RowsMut { data: &mut scratch.d_outputs, stride: kernel::padded(layer.inputs) };
        let panels = &memory.output_panels[index];
        kernel::output_input_gradient(
            tile.rows,
            dy.data,
            layer.within(parameters),
            panels,
            slope,
            dx,
            index > 0,
        );
    }

    /// Gradients of an output layer's own parameters.
    fn output_weights_backward(
        &self,
        observations: &[f32],
        layer: &Layer,
        memory: &StackScratch,
        tile: Tile,
        dy: Rows<'_>,
        gradients: &mut [f32],
    ) {
        kernel::bias_gradient(tile.rows, dy, &mut gradients[layer.biases()]);
        let d_weight = &mut gradients[layer.weights()];
        match (&self.shape().input, memory.activations.last()) {
            (Input::OneHot(parts), None) => {
                for row in 0..tile.rows {
                    kernel::for_indices(
                        &observations[(tile.first + row) * parts.len()..],
                        parts,
                        |feature| {
                            for output in 0..layer.outputs {
                                d_weight[output * layer.inputs + feature] +=
                                    dy.data[row * dy.stride + output];
                            }
                        },
                    );
                }
            }
            (_, last) => {
                let x = layer_input(observations, last, layer.inputs, tile);
                kernel::weight_gradient(tile.rows, dy, layer.outputs, x, layer.inputs, d_weight);
            }
        }
    }

    /// Gradients of the hidden layers, last to first.
    fn hidden_backward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        number: usize,
        scratch: &mut Scratch,
        tile: Tile,
        gradients: &mut [f32],
    ) {
        for (index, layer) in self.stacks[number].hidden.iter().enumerate().rev() {
            let memory = &scratch.stacks[number];
            let dy = Rows { data: &scratch.d_outputs, stride: kernel::padded(layer.outputs) };
            kernel::bias_gradient(tile.rows, dy, &mut gradients[layer.biases()]);
            let d_weight = &mut gradients[layer.weights()];
            let before = index.checked_sub(1);
            if let (Input::OneHot(parts), None) = (&self.shape().input, before) {
                let indices = &observations[tile.first * parts.len()..];
                kernel::gather_weight_gradient(tile.rows, indices, parts, dy, layer.outputs, d_weight);
                return;
            }
            let activations = before.map(|before| &memory.activations[before]);
            let x = layer_input(observations, activations, layer.inputs, tile);
            kernel::weight_gradient(tile.rows, x, layer.inputs, dy, layer.outputs, d_weight);
            if let Some(before) = before {
                self.hidden_inputs_backward(parameters, number, index, before, scratch, tile);
            }
        }
    }

    /// From the gradients behind hidden layer `index` in `d_outputs` to those
    /// behind the layer `before` it.
    pub(crate) fn hidden_inputs_backward(
        &self,
        parameters: &[f32],
        number: usize,
        index: usize,
        before: usize,
        scratch: &mut Scratch,
        tile: Tile,
    ) {
        let memory = &scratch.stacks[number];
        let layer = &self.stacks[number].hidden[index];
        let dy = Rows { data: &scratch.d_outputs, stride: kernel::padded(layer.outputs) };
        let slope = self.slope(memory, before, layer.inputs, tile);
        let dx = RowsMut { data: &mut scratch.d_inputs, stride: kernel::padded(layer.inputs) };
        let panels = &memory.backward_panels[index];
        kernel::hidden_input_gradient(tile.rows, dy, layer.within(parameters), panels, slope, dx);
        std::mem::swap(&mut scratch.d_outputs, &mut scratch.d_inputs);
    }

    /// The slope of a hidden layer's activation on a tile.
    fn slope<'a>(&self, memory: &'a StackScratch, index: usize, width: usize, tile: Tile) -> SlopeOf<'a> {
        let y = layer_input(&[], Some(&memory.activations[index]), width, tile);
        let slopes = memory.slopes[index].get(tile.first * y.stride..).unwrap_or_default();
        SlopeOf { function: self.shape().activation, y, slopes }
    }
}

/// The gradients at an output layer's outputs, from where the caller put them.
pub(crate) fn output_gradient<'a>(
    purpose: Purpose,
    layer: &Layer,
    d_policy: &'a [f32],
    d_values: &'a [f32],
    tile: Tile,
) -> Rows<'a> {
    let dy = match purpose {
        Purpose::Policy => d_policy,
        Purpose::Value => d_values,
    };
    Rows { data: &dy[tile.first * layer.outputs..], stride: layer.outputs }
}
