//! A policy network and a value network over one flat parameter buffer.
//!
//! Layout: the stacks of hidden layers (`policy` and `value`, or one `trunk`
//! that both share), each layer as weights then bias; the output layers; the
//! head's own parameters last. Hidden weights are [inputs, outputs], output
//! weights [outputs, inputs].
//!
//! Rows are worked through in tiles of [`TILE`], so that a tile's activations
//! stay in the cache. One call with many rows does exactly what several calls
//! with whole tiles would do.

use rlxp_types::Stream;

use crate::aligned::Aligned;
use crate::kernel::{self, Linear, Rows, RowsMut};
use crate::orthogonal::orthogonal;
use crate::scratch::{Scratch, StackScratch};
use crate::shape::{Activation, Input, Shape};

/// Rows that go through all layers together.
pub(crate) const TILE: usize = 64;

/// Sizes of a layer and where its parameters stand.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) weight: usize,
    pub(crate) bias: usize,
}

/// What an output layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Policy,
    Value,
}

/// Hidden layers and the output layers that read the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) hidden: Vec<Layer>,
    pub(crate) outputs: Vec<(Purpose, Layer)>,
}

/// The layout of a policy and a value network; it holds no weights.
#[derive(Clone, Debug)]
pub struct ActorCritic {
    shape: Shape,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) head_start: usize,
    parameter_count: usize,
}

impl Layer {
    fn weights(&self) -> std::ops::Range<usize> {
        self.weight..self.weight + self.inputs * self.outputs
    }

    fn biases(&self) -> std::ops::Range<usize> {
        self.bias..self.bias + self.outputs
    }

    fn of<'a>(&self, parameters: &'a [f32]) -> Linear<'a> {
        Linear {
            inputs: self.inputs,
            outputs: self.outputs,
            weight: &parameters[self.weights()],
            bias: &parameters[self.biases()],
        }
    }
}

impl ActorCritic {
    /// The layout for that shape.
    pub fn new(shape: Shape) -> Self {
        let mut next = 0;
        let mut layer = |name: String, inputs: usize, outputs: usize| {
            let weight = next;
            let bias = weight + inputs * outputs;
            next = bias + outputs;
            Layer { name, inputs, outputs, weight, bias }
        };
        let mut stack = |name: &str, purposes: &[Purpose]| {
            let mut inputs = shape.input.features();
            let mut hidden = Vec::with_capacity(shape.hidden.len());
            for (number, &width) in shape.hidden.iter().enumerate() {
                hidden.push(layer(format!("{name}.{number}"), inputs, width));
                inputs = width;
            }
            let outputs = purposes.iter().map(|&purpose| {
                let layer = match purpose {
                    Purpose::Policy => layer("policy.out".to_owned(), inputs, shape.head.outputs()),
                    Purpose::Value => layer("value.out".to_owned(), inputs, 1),
                };
                (purpose, layer)
            });
            Stack { outputs: outputs.collect(), hidden }
        };
        let stacks = if shape.shared {
            vec![stack("trunk", &[Purpose::Policy, Purpose::Value])]
        } else {
            vec![stack("policy", &[Purpose::Policy]), stack("value", &[Purpose::Value])]
        };
        let parameter_count = next + shape.head.parameter_count();
        Self { stacks, head_start: next, parameter_count, shape }
    }

    /// Floats in the flat buffer of parameters, and of gradients.
    pub fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// The shape that the layout was made for.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Initial parameters: orthogonal weights with gain √2 in hidden layers,
    /// 0.01 at the policy's output and 1 at the value's; biases zero; the
    /// head's log-deviations at `log_std_init`.
    pub fn init(&self, parameters: &mut [f32], log_std_init: f32, stream: &mut Stream) {
        assert_eq!(parameters.len(), self.parameter_count, "the buffer fits the network");
        parameters.fill(0.0);
        for stack in &self.stacks {
            for layer in &stack.hidden {
                let weights = orthogonal(layer.inputs, layer.outputs, std::f32::consts::SQRT_2, stream);
                parameters[layer.weights()].copy_from_slice(&weights);
            }
            for (purpose, layer) in &stack.outputs {
                let gain = if *purpose == Purpose::Policy { 0.01 } else { 1.0 };
                let weights = orthogonal(layer.outputs, layer.inputs, gain, stream);
                parameters[layer.weights()].copy_from_slice(&weights);
            }
        }
        parameters[self.head_start..].fill(log_std_init);
    }

    /// Working memory for up to `rows` rows.
    pub fn scratch(&self, rows: usize) -> Scratch {
        let slopes = self.shape.activation == Activation::Gelu;
        let stacks = self.stacks.iter().map(|stack| StackScratch {
            activations: stack
                .hidden
                .iter()
                .map(|layer| Aligned::zeros(rows * kernel::padded(layer.outputs)))
                .collect(),
            slopes: stack
                .hidden
                .iter()
                .map(|layer| Aligned::zeros(if slopes { rows * kernel::padded(layer.outputs) } else { 0 }))
                .collect(),
        });
        let widest = self.shape.hidden.iter().map(|&width| kernel::padded(width)).max().unwrap_or(0);
        let latent = match self.shape.head {
            crate::Head::StateDependent { latent, .. } => rows * latent,
            _ => 0,
        };
        Scratch {
            policy: vec![0.0; rows * self.shape.head.outputs()],
            values: vec![0.0; rows],
            d_policy: vec![0.0; rows * self.shape.head.outputs()],
            d_values: vec![0.0; rows],
            capacity: rows,
            latent: vec![0.0; latent],
            latent_length: 0,
            stacks: stacks.collect(),
            d_outputs: Aligned::zeros(TILE * widest),
            d_inputs: Aligned::zeros(TILE * widest),
        }
    }

    /// Fills `scratch.policy`, `scratch.values` and the latent features from
    /// `rows` observations.
    pub fn forward(&self, parameters: &[f32], observations: &[f32], rows: usize, scratch: &mut Scratch) {
        self.run_forward(parameters, observations, rows, scratch, &[Purpose::Policy, Purpose::Value]);
    }

    /// Fills `scratch.policy` and the latent features only: what acting needs.
    pub fn forward_policy(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
    ) {
        self.run_forward(parameters, observations, rows, scratch, &[Purpose::Policy]);
    }

    fn run_forward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        purposes: &[Purpose],
    ) {
        self.check(parameters, observations, rows, scratch);
        for first in (0..rows).step_by(TILE) {
            let tile = TILE.min(rows - first);
            for (stack, memory) in self.stacks.iter().zip(&mut scratch.stacks) {
                if !stack.outputs.iter().any(|(purpose, _)| purposes.contains(purpose)) {
                    continue;
                }
                for index in 0..stack.hidden.len() {
                    self.hidden_forward(parameters, observations, stack, index, memory, first, tile);
                }
                for (purpose, layer) in stack.outputs.iter().filter(|(purpose, _)| purposes.contains(purpose))
                {
                    let y = match purpose {
                        Purpose::Policy => &mut scratch.policy,
                        Purpose::Value => &mut scratch.values,
                    };
                    let y = &mut y[first * layer.outputs..];
                    self.output_forward(parameters, observations, layer, memory, first, tile, y);
                }
            }
        }
        self.keep_latent(observations, rows, scratch);
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the forward pass")]
    fn hidden_forward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        stack: &Stack,
        index: usize,
        memory: &mut StackScratch,
        first: usize,
        tile: usize,
    ) {
        let layer = &stack.hidden[index];
        let stride = kernel::padded(layer.outputs);
        let (before, at) = memory.activations.split_at_mut(index);
        let y = RowsMut { data: &mut at[0][first * stride..], stride };
        let slopes = memory.slopes[index].get_mut(first * stride..).unwrap_or_default();
        let function = self.shape.activation;
        match (&self.shape.input, before.last()) {
            (Input::OneHot(parts), None) => {
                let indices = &observations[first * parts.len()..];
                kernel::gather_forward(tile, indices, parts, layer.of(parameters), function, y, slopes);
            }
            (_, before) => {
                let x = self.layer_input(observations, before, layer.inputs, first);
                kernel::hidden_forward(tile, x, layer.of(parameters), function, y, slopes);
            }
        }
    }

    /// Rows from `first` of the activations before a layer, or of the observations.
    fn layer_input<'a>(
        &self,
        observations: &'a [f32],
        before: Option<&'a Aligned>,
        width: usize,
        first: usize,
    ) -> Rows<'a> {
        match before {
            Some(activations) => {
                let stride = kernel::padded(width);
                Rows { data: &activations[first * stride..], stride }
            }
            None => Rows { data: &observations[first * width..], stride: width },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the forward pass")]
    fn output_forward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        layer: &Layer,
        memory: &StackScratch,
        first: usize,
        tile: usize,
        y: &mut [f32],
    ) {
        let linear = layer.of(parameters);
        match (&self.shape.input, memory.activations.last()) {
            (Input::OneHot(parts), None) => {
                for row in 0..tile {
                    let y = &mut y[row * layer.outputs..][..layer.outputs];
                    y.copy_from_slice(linear.bias);
                    kernel::for_indices(&observations[(first + row) * parts.len()..], parts, |feature| {
                        for (output, y) in y.iter_mut().enumerate() {
                            *y += linear.weight[output * layer.inputs + feature];
                        }
                    });
                }
            }
            (_, last) => {
                let x = self.layer_input(observations, last, layer.inputs, first);
                kernel::output_forward(tile, x, linear, y);
            }
        }
    }

    fn keep_latent(&self, observations: &[f32], rows: usize, scratch: &mut Scratch) {
        let crate::Head::StateDependent { latent: width, .. } = self.shape.head else { return };
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

    /// Adds the gradients of these rows to `gradients`. `scratch.d_policy` and
    /// `scratch.d_values` hold dL/d(outputs), and `forward` on the same rows
    /// must have come just before.
    pub fn backward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        gradients: &mut [f32],
    ) {
        self.check(parameters, observations, rows, scratch);
        assert_eq!(gradients.len(), self.parameter_count, "one gradient per parameter");
        for first in (0..rows).step_by(TILE) {
            let tile = TILE.min(rows - first);
            for number in 0..self.stacks.len() {
                self.stack_backward(parameters, observations, number, scratch, first, tile, gradients);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one tile of the backward pass")]
    fn stack_backward(
        &self,
        parameters: &[f32],
        observations: &[f32],
        number: usize,
        scratch: &mut Scratch,
        first: usize,
        tile: usize,
        gradients: &mut [f32],
    ) {
        let stack = &self.stacks[number];
        let memory = &scratch.stacks[number];
        let function = self.shape.activation;
        for (order, (purpose, layer)) in stack.outputs.iter().enumerate() {
            let dy = match purpose {
                Purpose::Policy => &scratch.d_policy,
                Purpose::Value => &scratch.d_values,
            };
            let dy = Rows { data: &dy[first * layer.outputs..], stride: layer.outputs };
            self.output_backward(observations, layer, memory, first, tile, dy, gradients);
            if let Some(last) = stack.hidden.last() {
                let dx = RowsMut { data: &mut scratch.d_outputs, stride: kernel::padded(last.outputs) };
                kernel::output_input_gradient(tile, dy.data, layer.of(parameters), dx, order > 0);
            }
        }
        if let (Some(last), Some(activations)) = (stack.hidden.last(), memory.activations.last()) {
            let stride = kernel::padded(last.outputs);
            let y = Rows { data: &activations[first * stride..], stride };
            let slopes = memory.slopes[stack.hidden.len() - 1].get(first * stride..).unwrap_or_default();
            let d = RowsMut { data: &mut scratch.d_outputs, stride };
            kernel::scale_by_slope(tile, function, y, slopes, d);
        }
        for (index, layer) in stack.hidden.iter().enumerate().rev() {
            let dy = Rows { data: &scratch.d_outputs, stride: kernel::padded(layer.outputs) };
            kernel::bias_gradient(tile, dy, &mut gradients[layer.biases()]);
            let d_weight = &mut gradients[layer.weights()];
            let Some(before) = index.checked_sub(1) else {
                match &self.shape.input {
                    Input::OneHot(parts) => {
                        let indices = &observations[first * parts.len()..];
                        kernel::gather_weight_gradient(tile, indices, parts, dy, layer.outputs, d_weight);
                    }
                    Input::Dense(_) => {
                        let x = self.layer_input(observations, None, layer.inputs, first);
                        kernel::weight_gradient(tile, x, layer.inputs, dy, layer.outputs, d_weight);
                    }
                }
                return;
            };
            let x = self.layer_input(observations, Some(&memory.activations[before]), layer.inputs, first);
            kernel::weight_gradient(tile, x, layer.inputs, dy, layer.outputs, d_weight);
            let slopes = memory.slopes[before].get(first * x.stride..).unwrap_or_default();
            let dx = RowsMut { data: &mut scratch.d_inputs, stride: x.stride };
            kernel::hidden_input_gradient(tile, dy, layer.of(parameters), function, x, slopes, dx);
            std::mem::swap(&mut scratch.d_outputs, &mut scratch.d_inputs);
        }
    }

    /// Gradients of an output layer's own parameters.
    #[expect(clippy::too_many_arguments, reason = "one step of the backward pass")]
    fn output_backward(
        &self,
        observations: &[f32],
        layer: &Layer,
        memory: &StackScratch,
        first: usize,
        tile: usize,
        dy: Rows<'_>,
        gradients: &mut [f32],
    ) {
        kernel::bias_gradient(tile, dy, &mut gradients[layer.biases()]);
        let d_weight = &mut gradients[layer.weights()];
        match (&self.shape.input, memory.activations.last()) {
            (Input::OneHot(parts), None) => {
                for row in 0..tile {
                    kernel::for_indices(&observations[(first + row) * parts.len()..], parts, |feature| {
                        for output in 0..layer.outputs {
                            d_weight[output * layer.inputs + feature] += dy.data[row * dy.stride + output];
                        }
                    });
                }
            }
            (_, last) => {
                let x = self.layer_input(observations, last, layer.inputs, first);
                kernel::weight_gradient(tile, dy, layer.outputs, x, layer.inputs, d_weight);
            }
        }
    }

    fn check(&self, parameters: &[f32], observations: &[f32], rows: usize, scratch: &Scratch) {
        assert_eq!(parameters.len(), self.parameter_count, "the buffer fits the network");
        assert!(rows <= scratch.capacity, "{rows} rows in a scratch for {}", scratch.capacity);
        assert!(observations.len() >= rows * self.shape.input.width(), "one observation per row");
    }

    /// The head's own parameters: the tail of the flat buffer.
    pub fn head_parameters<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.head_start..]
    }

    /// The head's own parameters, or their gradients, to write.
    pub fn head_parameters_mut<'a>(&self, parameters: &'a mut [f32]) -> &'a mut [f32] {
        &mut parameters[self.head_start..]
    }
}
