//! A policy network and a value network over one flat parameter buffer.
//!
//! Layout: the stacks of hidden layers (`policy` and `value`, or one `trunk`
//! that both share), each layer as weights then bias; the output layers; the
//! head's own parameters last. Hidden weights are [inputs, outputs], output
//! weights [outputs, inputs].
//!
//! Rows are worked through in tiles of [`TILE`], so that a tile's activations
//! stay in the cache. One call with many rows gives exactly what several calls
//! with whole tiles give. With the AVX2 kernels a row's outputs do not depend on
//! the other rows at all; the `gemm` crate behind the portable ones does not
//! promise that.

use rlxp_types::Stream;

use crate::aligned::Aligned;
use crate::kernel::{self, Linear, Panels};
use crate::orthogonal::orthogonal;
use crate::scratch::{Scratch, StackScratch};
use crate::shape::{Activation, Shape};

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
    pub(crate) fn weights(&self) -> std::ops::Range<usize> {
        self.weight..self.weight + self.inputs * self.outputs
    }

    pub(crate) fn biases(&self) -> std::ops::Range<usize> {
        self.bias..self.bias + self.outputs
    }

    pub(crate) fn within<'a>(&self, parameters: &'a [f32]) -> Linear<'a> {
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
        let stacks = self.stacks.iter().map(|stack| {
            let hidden = stack.hidden.iter();
            let length = |layer: &Layer| rows * kernel::padded(layer.outputs);
            let outputs = stack.outputs.iter();
            StackScratch {
                activations: hidden.clone().map(|layer| Aligned::zeros(length(layer))).collect(),
                slopes: hidden
                    .clone()
                    .map(|layer| Aligned::zeros(if slopes { length(layer) } else { 0 }))
                    .collect(),
                forward_panels: hidden
                    .clone()
                    .map(|layer| Panels::hidden(layer.inputs, layer.outputs))
                    .collect(),
                backward_panels: hidden.map(|layer| Panels::hidden(layer.inputs, layer.outputs)).collect(),
                output_panels: outputs
                    .map(|(_, layer)| Panels::output(layer.inputs, layer.outputs))
                    .collect(),
            }
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
        self.check(parameters, observations, rows, scratch);
        let purposes = &[Purpose::Policy, Purpose::Value];
        self.prepare_forward(parameters, rows, scratch, purposes);
        self.run_forward(parameters, observations, rows, scratch, purposes);
    }

    /// Lays the weights out for `forward_prepared` and `backward_prepared`, which may then be called for parts of
    /// a minibatch of `rows` rows until the parameters change.
    pub fn prepare(&self, parameters: &[f32], rows: usize, scratch: &mut Scratch) {
        assert_eq!(parameters.len(), self.parameter_count, "the buffer fits the network");
        self.prepare_forward(parameters, rows, scratch, &[Purpose::Policy, Purpose::Value]);
        self.prepare_backward(parameters, scratch);
    }

    /// What `forward` does, after `prepare` with the same parameters.
    pub fn forward_prepared(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
    ) {
        self.check(parameters, observations, rows, scratch);
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
        self.check(parameters, observations, rows, scratch);
        self.prepare_forward(parameters, rows, scratch, &[Purpose::Policy]);
        self.run_forward(parameters, observations, rows, scratch, &[Purpose::Policy]);
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
        self.prepare_backward(parameters, scratch);
        self.backward_prepared(parameters, observations, rows, scratch, gradients);
    }

    /// What `backward` does, after `prepare` with the same parameters.
    pub fn backward_prepared(
        &self,
        parameters: &[f32],
        observations: &[f32],
        rows: usize,
        scratch: &mut Scratch,
        gradients: &mut [f32],
    ) {
        self.check(parameters, observations, rows, scratch);
        assert_eq!(gradients.len(), self.parameter_count, "one gradient per parameter");
        self.run_backward(parameters, observations, rows, scratch, gradients);
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
