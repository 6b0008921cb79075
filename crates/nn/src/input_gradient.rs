//! Gradients at the observations: how an output would answer if one number of
//! the observation moved. Training never asks for them, so they have a pass of
//! their own that leaves the weights' gradients out.

use crate::actor_critic::ActorCritic;
use crate::backward::output_gradient;
use crate::forward::{Tile, tiles};
use crate::kernel;
use crate::scratch::Scratch;
use crate::shape::{Input, Shape};

impl ActorCritic {
    /// Writes dL/d(first layer's inputs) of each row, `rows` × the features of
    /// the input. `scratch.d_policy` and `scratch.d_values` hold
    /// dL/d(outputs), and `forward` on the same rows must have come just
    /// before.
    ///
    /// For [`Input::OneHot`] the features are the entries of the one-hot
    /// vectors, one block per part, those that are zero included.
    pub fn input_gradient(
        &self,
        parameters: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        d_features: &mut [f32],
    ) {
        let features = self.shape().input.features();
        assert_eq!(parameters.len(), self.parameter_count(), "the buffer fits the network");
        assert!(rows <= scratch.capacity, "{rows} rows in a scratch for {}", scratch.capacity);
        let d_features = &mut d_features[..rows * features];
        d_features.fill(0.0);
        self.prepare_backward(parameters, scratch);
        for number in 0..self.stacks.len() {
            for tile in tiles(rows) {
                let d_tile = &mut d_features[tile.first * features..][..tile.rows * features];
                self.stack_input_gradient(parameters, number, scratch, tile, d_tile);
            }
        }
    }

    /// Adds what one stack sends back to the features of a tile.
    fn stack_input_gradient(
        &self,
        parameters: &[f32],
        number: usize,
        scratch: &mut Scratch,
        tile: Tile,
        d_features: &mut [f32],
    ) {
        let stack = &self.stacks[number];
        let features = self.shape().input.features();
        let Some(first) = stack.hidden.first() else {
            for (purpose, layer) in &stack.outputs {
                let dy = output_gradient(*purpose, layer, &scratch.d_policy, &scratch.d_values, tile);
                let weights = &parameters[layer.weights()];
                for (row, d_row) in d_features.chunks_exact_mut(features).enumerate() {
                    let dy = &dy.data[row * dy.stride..][..layer.outputs];
                    for (dy, weights) in dy.iter().zip(weights.chunks_exact(features)) {
                        d_row.iter_mut().zip(weights).for_each(|(d, weight)| *d += dy * weight);
                    }
                }
            }
            return;
        };
        for index in 0..stack.outputs.len() {
            self.output_inputs_backward(parameters, number, index, scratch, tile);
        }
        for index in (1..stack.hidden.len()).rev() {
            self.hidden_inputs_backward(parameters, number, index, index - 1, scratch, tile);
        }
        let stride = kernel::padded(first.outputs);
        let weights = &parameters[first.weights()];
        for (row, d_row) in d_features.chunks_exact_mut(features).enumerate() {
            let dy = &scratch.d_outputs[row * stride..][..first.outputs];
            for (d, weights) in d_row.iter_mut().zip(weights.chunks_exact(first.outputs)) {
                *d += dy.iter().zip(weights).map(|(dy, weight)| dy * weight).sum::<f32>();
            }
        }
    }

    /// The same network over real numbers: a one-hot input becomes one number
    /// per entry. Parameters keep their meaning and order, so a buffer of this
    /// network is a buffer of that one, which can also be asked about points
    /// between two one-hot vectors.
    pub fn over_features(&self) -> ActorCritic {
        let input = Input::Dense(self.shape().input.features());
        ActorCritic::new(Shape { input, ..self.shape().clone() })
    }
}
