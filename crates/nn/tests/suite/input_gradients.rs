//! Gradients at the observations against finite differences, for every
//! activation, input kind, depth and head.
//!
//! Each output is differenced centrally in the f64 reference, over real-valued
//! features also where the network reads indices. The bound is that of the
//! parameters' gradients: 5e-5 of the largest.

use rlxp_nn::{Activation, ActorCritic, Head, Input, Shape};
use rlxp_types::Stream;

use crate::reference;

/// One full tile and a tail of rows.
const ROWS: usize = 70;

/// What is differentiated.
#[derive(Clone, Copy, Debug)]
enum Output {
    Value,
    /// Of the most likely action, for discrete heads.
    LogProb,
    /// Of one output of the policy: a logit or a mean.
    Policy(usize),
    /// Of all outputs of the policy.
    PolicySum,
}

fn check(shape: Shape, seed: u64) {
    let mut stream = Stream::new(seed, "test", 0);
    let (network, parameters, observations) = reference::random_network(shape, ROWS, &mut stream);
    let shape = network.shape();
    let mut scratch = network.scratch(ROWS);
    network.forward(&parameters, &observations, ROWS, &mut scratch);
    let mut actions = vec![0.0; ROWS * shape.head.action_width()];
    shape.head.mode(&scratch.policy, ROWS, &mut actions);
    let has_choices = shape.head.parameter_count() == 0;
    let outputs = [Output::Value, Output::Policy(0), Output::PolicySum];
    for output in outputs.into_iter().chain(has_choices.then_some(Output::LogProb)) {
        let found = gradients(&network, &parameters, &observations, &actions, output);
        check_rows(&network, &parameters, &observations, &actions, output, &found);
    }
}

/// The library's gradients, rows × features.
fn gradients(
    network: &ActorCritic,
    parameters: &[f32],
    observations: &[f32],
    actions: &[f32],
    output: Output,
) -> Vec<f32> {
    let head = &network.shape().head;
    let mut scratch = network.scratch(ROWS);
    network.forward(parameters, observations, ROWS, &mut scratch);
    scratch.d_values.fill(f32::from(u8::from(matches!(output, Output::Value))));
    let mut d_policy = vec![0.0; ROWS * head.outputs()];
    match output {
        Output::Value => {}
        Output::Policy(at) => d_policy.chunks_mut(head.outputs()).for_each(|row| row[at] = 1.0),
        Output::PolicySum => d_policy.fill(1.0),
        Output::LogProb => head.gradient(
            network.head_parameters(parameters),
            &scratch.policy,
            scratch.latent(),
            actions,
            ROWS,
            &[1.0; ROWS],
            &[0.0; ROWS],
            &mut d_policy,
            &mut [],
        ),
    }
    scratch.d_policy = d_policy;
    let mut d_features = vec![f32::NAN; ROWS * network.shape().input.features()];
    network.input_gradient(parameters, ROWS, &mut scratch, &mut d_features);
    d_features
}

fn check_rows(
    network: &ActorCritic,
    parameters: &[f32],
    observations: &[f32],
    actions: &[f32],
    output: Output,
    found: &[f32],
) {
    let shape = network.shape();
    let features = shape.input.features();
    let dense = network.over_features();
    let named = reference::named(&dense, parameters);
    let largest = found.iter().fold(1.0_f64, |largest, value| largest.max(f64::from(value.abs())));
    for row in [0, 1, 33, 63, 64, ROWS - 1] {
        let width = shape.input.width();
        let point = reference::features(&shape.input, &observations[row * width..][..width]);
        let action = &actions[row * shape.head.action_width()..][..shape.head.action_width()];
        for feature in 0..features {
            let at = |shift: f64| {
                let mut point = point.clone();
                point[feature] += shift;
                let outputs = reference::forward_features(&dense, &named, &point);
                match output {
                    Output::Value => outputs.value,
                    Output::Policy(at) => outputs.policy[at],
                    Output::PolicySum => outputs.policy.iter().sum(),
                    Output::LogProb => reference::evaluate(&shape.head, &[], &outputs.policy, &[], action).0,
                }
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            let found = f64::from(found[row * features + feature]);
            assert!(
                (found - difference).abs() < 5e-5 * largest,
                "{shape:?}\n{output:?} of row {row} by feature {feature}: {found} instead of {difference}"
            );
        }
    }
}

#[test]
fn every_combination_agrees_with_finite_differences() {
    let heads = [
        Head::Categorical { n: 3 },
        Head::MultiCategorical { nvec: vec![2, 4] },
        Head::Gaussian { size: 2 },
        Head::StateDependent { latent: 18, size: 2 },
    ];
    let mut seed = 0;
    for activation in [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Gelu] {
        for head in &heads {
            for input in [Input::Dense(4), Input::OneHot(vec![3, 5])] {
                for shared in [false, true] {
                    let (input, head) = (input.clone(), head.clone());
                    check(Shape { input, hidden: vec![13, 18], activation, shared, head }, seed);
                    seed += 1;
                }
            }
        }
    }
}

#[test]
fn every_depth_and_whole_vectors() {
    let inputs = [Input::Dense(1), Input::Dense(17), Input::OneHot(vec![6]), Input::OneHot(vec![3, 11, 2])];
    for (seed, input) in inputs.into_iter().enumerate() {
        for hidden in [&[][..], &[10], &[7, 9, 8], &[32, 128]] {
            for shared in [false, true] {
                let head = Head::Categorical { n: 4 };
                let (input, hidden) = (input.clone(), hidden.to_vec());
                let activation = Activation::Tanh;
                check(Shape { input, hidden, activation, shared, head }, 100 + seed as u64);
            }
        }
    }
}

#[test]
fn a_network_over_features_gives_the_same_outputs() {
    let head = Head::Categorical { n: 3 };
    let shape = Shape {
        input: Input::OneHot(vec![3, 5]),
        hidden: vec![9, 12],
        activation: Activation::Tanh,
        shared: false,
        head,
    };
    let network = ActorCritic::new(shape);
    let dense = network.over_features();
    assert_eq!(dense.parameter_count(), network.parameter_count());
    let mut parameters = vec![0.0; network.parameter_count()];
    network.init(&mut parameters, 0.0, &mut Stream::new(3, "init", 0));
    let (mut one, mut other) = (network.scratch(1), dense.scratch(1));
    network.forward(&parameters, &[2.0, 1.0], 1, &mut one);
    dense.forward(&parameters, &[0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0], 1, &mut other);
    assert!((one.values[0] - other.values[0]).abs() < 1e-6);
    for (one, other) in one.policy.iter().zip(&other.policy) {
        assert!((one - other).abs() < 1e-6);
    }
}

#[test]
fn deviations_are_what_log_probabilities_are_made_of() {
    let gaussian = Head::Gaussian { size: 2 };
    let log_std = [0.5, -1.0];
    let found = gaussian.deviations(&log_std, &[]);
    assert!(found.iter().zip(log_std).all(|(found, log)| (found - log.exp()).abs() < 1e-6), "{found:?}");
    let state_dependent = Head::StateDependent { latent: 2, size: 1 };
    let found = state_dependent.deviations(&[0.0, 1.0_f32.ln()], &[3.0, 4.0]);
    assert!((found[0] - 5.0).abs() < 1e-5, "{found:?}");
    assert!(Head::Categorical { n: 2 }.deviations(&[], &[]).is_empty());
}
