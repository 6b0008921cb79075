//! The network as a whole: outputs, initial weights, and what must not affect
//! them.

use rlxp_nn::{Activation, ActorCritic, Head, Input, Shape, kernels};
use rlxp_types::Stream;

use crate::reference;

fn shape(input: Input, hidden: &[usize], activation: Activation, shared: bool) -> Shape {
    Shape { input, hidden: hidden.to_vec(), activation, shared, head: Head::Categorical { n: 3 } }
}

fn shapes() -> Vec<Shape> {
    use Activation::{Elu, Gelu, Relu, Tanh};
    vec![
        shape(Input::Dense(4), &[64, 64], Tanh, false),
        shape(Input::Dense(4), &[256, 256], Tanh, true),
        shape(Input::Dense(6), &[33, 130], Relu, false),
        shape(Input::Dense(3), &[20, 24], Elu, true),
        shape(Input::Dense(2), &[17], Gelu, false),
        shape(Input::Dense(16), &[], Tanh, false),
        shape(Input::OneHot(vec![5, 7]), &[40, 16], Tanh, false),
        shape(Input::OneHot(vec![9]), &[], Tanh, false),
    ]
}

fn setup(shape: Shape, rows: usize) -> (ActorCritic, Vec<f32>, Vec<f32>) {
    let network = ActorCritic::new(shape);
    let mut stream = Stream::new(7, "test", 0);
    let mut parameters = vec![0.0; network.parameter_count()];
    stream.fill_normal(&mut parameters);
    parameters.iter_mut().for_each(|value| *value *= 0.25);
    let mut observations = vec![0.0; rows * network.shape().input.width()];
    match &network.shape().input {
        Input::Dense(_) => stream.fill_normal(&mut observations),
        Input::OneHot(parts) => {
            for row in observations.chunks_mut(parts.len()) {
                row.iter_mut().zip(parts).for_each(|(index, &n)| *index = stream.below(n as u32) as f32);
            }
        }
    }
    (network, parameters, observations)
}

#[test]
fn outputs_are_those_of_the_reference() {
    // 130 rows: two tiles and a tail.
    let rows = 130;
    for shape in shapes() {
        let (network, parameters, observations) = setup(shape, rows);
        let mut scratch = network.scratch(rows);
        network.forward(&parameters, &observations, rows, &mut scratch);
        let named = reference::named(&network, &parameters);
        for (row, wanted) in reference::forward(&network, &named, &observations).into_iter().enumerate() {
            let close =
                |found: f32, wanted: f64| (f64::from(found) - wanted).abs() < 2e-5 * wanted.abs().max(1.0);
            assert!(close(scratch.values[row], wanted.value), "{:?} row {row}", network.shape());
            for (found, wanted) in scratch.policy[row * 3..][..3].iter().zip(wanted.policy) {
                assert!(close(*found, wanted), "{:?} row {row}: {found} for {wanted}", network.shape());
            }
        }
        let (policy, values) = (scratch.policy.clone(), scratch.values.clone());
        scratch.policy.fill(0.0);
        scratch.values.fill(7.0);
        network.forward_policy(&parameters, &observations, rows, &mut scratch);
        assert_eq!(scratch.policy, policy, "acting sees the same policy");
        assert_ne!(scratch.values, values, "and does not compute values");
    }
}

#[test]
fn a_row_does_not_depend_on_the_others() {
    if !kernels().starts_with("own") {
        // The gemm crate does not promise this, and nothing relies on it there.
        return;
    }
    let rows = 97;
    for shape in shapes() {
        let (network, parameters, observations) = setup(shape, rows);
        if network.shape().hidden.is_empty() {
            continue;
        }
        let width = network.shape().input.width();
        let mut whole = network.scratch(rows);
        network.forward(&parameters, &observations, rows, &mut whole);
        for count in [1, 2, 3, 5, 7, 8, 9, 64] {
            let mut part = network.scratch(count);
            for first in [0, 1, 6, 31] {
                network.forward(&parameters, &observations[first * width..], count, &mut part);
                assert_eq!(part.values, whole.values[first..first + count], "{:?}", network.shape());
                assert_eq!(part.policy, whole.policy[first * 3..][..count * 3], "{:?}", network.shape());
            }
        }
    }
}

#[test]
fn one_call_and_several_tiles_give_the_same_gradients() {
    let rows = 256;
    for shape in shapes() {
        let (network, parameters, observations) = setup(shape, rows);
        let width = network.shape().input.width();
        let run = |tile: usize| {
            let mut gradients = vec![0.0; parameters.len()];
            let mut scratch = network.scratch(tile);
            for first in (0..rows).step_by(tile) {
                let observations = &observations[first * width..];
                network.forward(&parameters, observations, tile, &mut scratch);
                for row in 0..tile {
                    scratch.d_values[row] = (first + row) as f32 * 0.01 - 1.0;
                    for output in 0..3 {
                        scratch.d_policy[row * 3 + output] = scratch.policy[row * 3 + output] - 0.1;
                    }
                }
                network.backward(&parameters, observations, tile, &mut scratch, &mut gradients);
            }
            gradients
        };
        assert_eq!(run(64), run(256), "{:?}", network.shape());
    }
}

#[test]
fn backward_adds_to_what_is_there() {
    let (network, parameters, observations) =
        setup(shape(Input::Dense(4), &[20, 18], Activation::Tanh, true), 10);
    let mut scratch = network.scratch(10);
    network.forward(&parameters, &observations, 10, &mut scratch);
    scratch.d_values.fill(1.0);
    scratch.d_policy.fill(-0.5);
    let mut once = vec![0.0; parameters.len()];
    network.backward(&parameters, &observations, 10, &mut scratch, &mut once);
    let mut again = once.clone();
    network.backward(&parameters, &observations, 10, &mut scratch, &mut again);
    assert!(once.iter().any(|gradient| gradient.abs() > 0.1));
    for (once, again) in once.iter().zip(again) {
        assert!((2.0 * once - again).abs() < 1e-4 * once.abs().max(1.0), "{once} then {again}");
    }
}

#[test]
fn initial_weights_have_their_gains() {
    let network = ActorCritic::new(Shape {
        input: Input::Dense(4),
        hidden: vec![64, 32],
        activation: Activation::Tanh,
        shared: false,
        head: Head::StateDependent { latent: 32, size: 2 },
    });
    let mut parameters = vec![f32::NAN; network.parameter_count()];
    network.init(&mut parameters, -1.25, &mut Stream::new(1, "init", 0));
    let named = reference::named(&network, &parameters);
    let square = |name: &str| named[name].iter().map(|value| value * value).sum::<f64>();
    // The squared norm is gain² times the shorter side.
    for (name, wanted) in [
        ("policy.0.weight", 2.0 * 4.0),
        ("policy.1.weight", 2.0 * 32.0),
        ("policy.out.weight", 1e-4 * 2.0),
        ("value.0.weight", 2.0 * 4.0),
        ("value.1.weight", 2.0 * 32.0),
        ("value.out.weight", 1.0),
    ] {
        assert!((square(name) / wanted - 1.0).abs() < 1e-5, "{name}: {}", square(name));
    }
    for (name, values) in &named {
        if name.ends_with("bias") {
            assert!(values.iter().all(|value| *value == 0.0), "{name}");
        }
    }
    assert_eq!(network.head_parameters(&parameters), [-1.25; 64]);
    assert_ne!(named["policy.0.weight"], named["value.0.weight"], "each network has its own draw");
    let mut again = vec![0.0; parameters.len()];
    network.init(&mut again, -1.25, &mut Stream::new(1, "init", 0));
    assert_eq!(parameters, again);
}

#[test]
#[should_panic(expected = "observation index 5 of 5 values")]
fn an_index_beyond_its_part_is_refused() {
    let (network, parameters, _) = setup(shape(Input::OneHot(vec![5, 7]), &[8], Activation::Tanh, false), 1);
    network.forward(&parameters, &[5.0, 0.0], 1, &mut network.scratch(1));
}
