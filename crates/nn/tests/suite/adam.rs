//! Adam against numbers worked out by hand and against a plain f64 version.

use rlxp_nn::{Adam, clip_global_norm, global_norm};
use rlxp_types::Stream;

/// The paper's algorithm, one parameter at a time, in f64.
fn reference(parameters: &mut [f64], gradients: &[Vec<f32>], learning_rate: f64, epsilon: f64) {
    for (at, parameter) in parameters.iter_mut().enumerate() {
        let (mut first, mut second) = (0.0_f64, 0.0_f64);
        for (step, gradients) in gradients.iter().enumerate() {
            let gradient = f64::from(gradients[at]);
            first = 0.9 * first + 0.1 * gradient;
            second = 0.999 * second + 0.001 * gradient * gradient;
            let t = step as i32 + 1;
            let first_hat = first / (1.0 - 0.9_f64.powi(t));
            let second_hat = second / (1.0 - 0.999_f64.powi(t));
            *parameter -= learning_rate * first_hat / (second_hat.sqrt() + epsilon);
        }
    }
}

#[test]
fn the_first_steps_are_the_golden_ones() {
    // One gradient of 1e-5, then one of −3e-5, rate 0.01. With epsilon 1e-5:
    // step 1: m̂ = 1e-5, v̂ = 1e-10, so 0.01·1e-5/(1e-5 + 1e-5) = 0.005 exactly.
    // step 2: m̂ = (0.09 − 0.3)·1e-5/0.19 = −1.105263e-5, and
    // v̂ = (0.000999 + 0.009)·1e-10/0.001999 = 5.002001e-10, whose root is
    // 2.236515e-5: +0.01·1.105263/3.236515 = 0.003414979.
    let mut parameters = [1.0_f32];
    let mut adam = Adam::new(1);
    adam.step(&mut parameters, &[1e-5], 0.01, 1e-5);
    assert!((parameters[0] - 0.995).abs() < 2e-7, "{}", parameters[0]);
    adam.step(&mut parameters, &[-3e-5], 0.01, 1e-5);
    assert!((parameters[0] - 0.998_415).abs() < 2e-7, "{}", parameters[0]);

    // A smaller epsilon takes nearly the whole step: the placement and the size
    // of epsilon are visible.
    let mut parameters = [1.0_f32];
    Adam::new(1).step(&mut parameters, &[1e-5], 0.01, 1e-8);
    assert!((parameters[0] - 0.990_009_99).abs() < 2e-7, "{}", parameters[0]);
}

#[test]
fn long_sequences_follow_the_f64_version() {
    for epsilon in [1e-5_f32, 1e-8, 1e-3] {
        let mut stream = Stream::new(5, "test", 0);
        // Gradients over many magnitudes, around epsilon included; a length
        // that no vector width divides.
        let gradients: Vec<Vec<f32>> = (0..200)
            .map(|_| {
                let mut gradients = vec![0.0; 37];
                stream.fill_normal(&mut gradients);
                gradients
                    .iter_mut()
                    .enumerate()
                    .for_each(|(at, value)| *value *= 10.0_f32.powi(-(at as i32 % 7)));
                gradients
            })
            .collect();
        let mut parameters = vec![0.1_f32; 37];
        let mut adam = Adam::new(37);
        for gradients in &gradients {
            adam.step(&mut parameters, gradients, 1e-3, epsilon);
        }
        let mut wanted = vec![f64::from(0.1_f32); 37];
        reference(&mut wanted, &gradients, f64::from(1e-3_f32), f64::from(epsilon));
        for (found, wanted) in parameters.iter().zip(wanted) {
            // 200 steps of 1e-3 with f32 rounding of parameters near 0.1.
            assert!((f64::from(*found) - wanted).abs() < 3e-6, "{found} instead of {wanted}");
        }
        assert_eq!(adam.steps(), 200);
    }
}

#[test]
fn restored_moments_go_on_with_the_same_bits() {
    let gradients = [0.3, -0.1, 2.0];
    let (mut adam, mut parameters) = (Adam::new(3), [1.0, 2.0, 3.0]);
    (0..5).for_each(|_| adam.step(&mut parameters, &gradients, 0.01, 1e-5));
    let mut copy = Adam::new(3);
    copy.restore(adam.first(), adam.second(), adam.steps()).expect("same size");
    let mut copied = parameters;
    adam.step(&mut parameters, &gradients, 0.01, 1e-5);
    copy.step(&mut copied, &gradients, 0.01, 1e-5);
    assert_eq!(parameters, copied);
    assert_eq!(adam, copy);
    let error = copy.restore(&[0.0], &[0.0; 3], 1).expect_err("one moment for three parameters");
    assert_eq!(error.to_string(), "the optimiser has 3 parameters, the saved moments have 1 and 3");
}

#[test]
fn the_norm_is_global_and_only_shrinks() {
    let mut gradients: Vec<f32> = (0..35).map(|at| if at % 2 == 0 { 3.0 } else { -4.0 }).collect();
    let norm = (18.0_f32 * 9.0 + 17.0 * 16.0).sqrt();
    assert!((global_norm(&gradients) - norm).abs() < 1e-5);
    assert_eq!(clip_global_norm(&mut gradients, 0.5), global_norm(&[norm]));
    assert!((global_norm(&gradients) - 0.5).abs() < 1e-6);
    assert!((gradients[0] / gradients[1] + 0.75).abs() < 1e-6, "the direction stays");
    let small = gradients.clone();
    clip_global_norm(&mut gradients, 0.6);
    assert_eq!(gradients, small, "short gradients stay as they are");
    assert!(global_norm(&[1.0, f32::NAN]).is_nan());
}
