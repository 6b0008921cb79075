//! Every layer kind, activation, input kind and head against finite
//! differences.
//!
//! The loss Σ a·log π + b·entropy + c·value, with random weights a, b, c per
//! row, is differenced centrally in the f64 reference (step 1e-5: truncation
//! and rounding both below 1e-9) and compared with the library's f32 backward
//! pass. f32 carries about 1e-7 per operation and a gradient sums 70 rows of
//! terms around 1, so 5e-5 of the largest gradient in a tensor is the bound; a
//! wrong sign or a missing factor is off by about 1.

use rlxp_nn::{Activation, ActorCritic, Head, Input, Noise, Shape};
use rlxp_types::Stream;

use crate::reference;

/// One full tile and a tail of rows.
const ROWS: usize = 70;

struct Case {
    network: ActorCritic,
    parameters: Vec<f32>,
    observations: Vec<f32>,
    actions: Vec<f32>,
    weights: [Vec<f32>; 3],
}

fn case(shape: Shape, seed: u64) -> Case {
    let mut stream = Stream::new(seed, "test", 0);
    let (network, parameters, observations) = reference::random_network(shape, ROWS, &mut stream);
    let shape = network.shape();
    let mut scratch = network.scratch(ROWS);
    network.forward(&parameters, &observations, ROWS, &mut scratch);
    let mut actions = vec![0.0; ROWS * shape.head.action_width()];
    let noise = noise(&shape.head, ROWS, &mut stream);
    let head_parameters = network.head_parameters(&parameters);
    let mut log_probs = vec![0.0; ROWS];
    shape.head.sample(
        head_parameters,
        &scratch.policy,
        scratch.latent(),
        &noise,
        ROWS,
        &mut actions,
        &mut log_probs,
    );
    let weights = std::array::from_fn(|_| {
        let mut weights = vec![0.0; ROWS];
        stream.fill_normal(&mut weights);
        weights
    });
    Case { network, parameters, observations, actions, weights }
}

fn noise(head: &Head, rows: usize, stream: &mut Stream) -> Vec<f32> {
    match head.noise() {
        Noise::Uniform(width) => (0..rows * width).map(|_| stream.uniform_f32()).collect(),
        Noise::Normal(width) => {
            let mut noise = vec![0.0; rows * width];
            stream.fill_normal(&mut noise);
            noise
        }
    }
}

impl Case {
    /// The library's gradients.
    fn backward(&self) -> Vec<f32> {
        let (network, head) = (&self.network, &self.network.shape().head);
        let mut scratch = network.scratch(ROWS);
        let mut gradients = vec![0.0; network.parameter_count()];
        network.forward(&self.parameters, &self.observations, ROWS, &mut scratch);
        let mut d_policy = std::mem::take(&mut scratch.d_policy);
        head.gradient(
            network.head_parameters(&self.parameters),
            &scratch.policy,
            scratch.latent(),
            &self.actions,
            ROWS,
            &self.weights[0],
            &self.weights[1],
            &mut d_policy,
            network.head_parameters_mut(&mut gradients),
        );
        scratch.d_policy = d_policy;
        scratch.d_values.copy_from_slice(&self.weights[2]);
        network.backward(&self.parameters, &self.observations, ROWS, &mut scratch, &mut gradients);
        gradients
    }

    /// The loss in f64; the deviation of a state-dependent head reads `latents`.
    fn loss(&self, parameters: &reference::Named, latents: &[Vec<f64>]) -> f64 {
        let shape = self.network.shape();
        let none = Vec::new();
        let log_std = parameters.get("log_std").unwrap_or(&none);
        let outputs = reference::forward(&self.network, parameters, &self.observations);
        let of_row = |(row, outputs): (usize, &reference::Outputs)| {
            let width = shape.head.action_width();
            let action = &self.actions[row * width..][..width];
            let (log_prob, entropy) =
                reference::evaluate(&shape.head, log_std, &outputs.policy, &latents[row], action);
            let [a, b, c] = self.weights.each_ref().map(|weights| f64::from(weights[row]));
            a * log_prob + b * entropy + c * outputs.value
        };
        outputs.iter().enumerate().map(of_row).sum()
    }

    fn check(&self) {
        let mut parameters = reference::named(&self.network, &self.parameters);
        let outputs = reference::forward(&self.network, &parameters, &self.observations);
        let latents: Vec<Vec<f64>> = outputs.into_iter().map(|outputs| outputs.latent).collect();
        let gradients = reference::named(&self.network, &self.backward());
        let mut tested = 0;
        for (name, gradient) in &gradients {
            let largest = gradient.iter().fold(1.0_f64, |largest, value| largest.max(value.abs()));
            // Every seventh element of large tensors: the pattern has no common
            // period with any block of the kernels.
            let step = if gradient.len() > 100 { 7 } else { 1 };
            for at in (0..gradient.len()).step_by(step) {
                let mut loss_at = |shift: f64| {
                    let old = parameters[name][at];
                    parameters.get_mut(name).expect("known name")[at] = old + shift;
                    let loss = self.loss(&parameters, &latents);
                    parameters.get_mut(name).expect("known name")[at] = old;
                    loss
                };
                let difference = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
                let error = (gradient[at] - difference).abs();
                assert!(
                    error < 5e-5 * largest,
                    "{:?}\n{name}[{at}]: {} instead of {difference}",
                    self.network.shape(),
                    gradient[at]
                );
                tested += 1;
            }
        }
        assert!(tested > 0);
    }
}

fn shape(input: Input, hidden: &[usize], activation: Activation, shared: bool, head: Head) -> Shape {
    Shape { input, hidden: hidden.to_vec(), activation, shared, head }
}

#[test]
fn every_activation_separate_and_shared() {
    for (seed, activation) in
        [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Gelu].into_iter().enumerate()
    {
        for shared in [false, true] {
            let head = Head::Categorical { n: 3 };
            case(shape(Input::Dense(4), &[13, 18], activation, shared, head), seed as u64).check();
        }
    }
}

#[test]
fn every_head() {
    let heads = [
        Head::Categorical { n: 2 },
        Head::Categorical { n: 19 },
        Head::MultiCategorical { nvec: vec![2, 5, 3] },
        Head::Gaussian { size: 3 },
        Head::StateDependent { latent: 12, size: 2 },
    ];
    for (seed, head) in heads.into_iter().enumerate() {
        for shared in [false, true] {
            case(shape(Input::Dense(3), &[9, 12], Activation::Tanh, shared, head.clone()), 10 + seed as u64)
                .check();
        }
    }
}

#[test]
fn every_input_kind_and_depth() {
    let inputs = [Input::Dense(1), Input::Dense(17), Input::OneHot(vec![6]), Input::OneHot(vec![3, 11, 2])];
    for (seed, input) in inputs.into_iter().enumerate() {
        for hidden in [&[][..], &[10], &[7, 9, 8]] {
            let head = Head::Categorical { n: 4 };
            case(shape(input.clone(), hidden, Activation::Tanh, false, head), 20 + seed as u64).check();
        }
    }
    let head = Head::StateDependent { latent: 3, size: 2 };
    case(shape(Input::Dense(3), &[], Activation::Tanh, false, head), 30).check();
}

#[test]
fn widths_of_whole_vectors() {
    let head = Head::Categorical { n: 2 };
    case(shape(Input::Dense(4), &[32, 48], Activation::Tanh, false, head.clone()), 40).check();
    case(shape(Input::Dense(5), &[128, 16], Activation::Elu, true, head), 41).check();
}
