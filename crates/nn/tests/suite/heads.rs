//! Sampled actions, and the probabilities reported for them.

use rlxp_nn::{Head, Noise};
use rlxp_types::Stream;

use crate::reference;

fn heads() -> Vec<Head> {
    vec![
        Head::Categorical { n: 2 },
        Head::Categorical { n: 6 },
        Head::MultiCategorical { nvec: vec![3, 2, 4] },
        Head::Gaussian { size: 3 },
        Head::StateDependent { latent: 5, size: 2 },
    ]
}

struct Drawn {
    policy: Vec<f32>,
    latent: Vec<f32>,
    log_std: Vec<f32>,
    noise: Vec<f32>,
    actions: Vec<f32>,
    log_probs: Vec<f32>,
}

fn latent_width(head: &Head) -> usize {
    match head {
        Head::StateDependent { latent, .. } => *latent,
        _ => 0,
    }
}

fn draw(head: &Head, rows: usize, seed: u64) -> Drawn {
    let mut stream = Stream::new(seed, "test", 0);
    let mut normals = |length: usize, scale: f32| {
        let mut values = vec![0.0; length];
        stream.fill_normal(&mut values);
        values.iter_mut().for_each(|value| *value *= scale);
        values
    };
    let policy = normals(rows * head.outputs(), 2.0);
    let latent = normals(rows * latent_width(head), 1.0);
    let log_std = normals(head.parameter_count(), 0.5);
    let noise = match head.noise() {
        Noise::Normal(width) => normals(rows * width, 1.0),
        Noise::Uniform(width) => (0..rows * width).map(|_| stream.uniform_f32()).collect(),
    };
    let mut actions = vec![0.0; rows * head.action_width()];
    let mut log_probs = vec![0.0; rows];
    head.sample(&log_std, &policy, &latent, &noise, rows, &mut actions, &mut log_probs);
    Drawn { policy, latent, log_std, noise, actions, log_probs }
}

#[test]
fn log_probs_and_entropies_are_those_of_the_reference() {
    for head in heads() {
        let rows = 29;
        let drawn = draw(&head, rows, 1);
        let (mut log_probs, mut entropies) = (vec![0.0; rows], vec![0.0; rows]);
        head.evaluate(
            &drawn.log_std,
            &drawn.policy,
            &drawn.latent,
            &drawn.actions,
            rows,
            &mut log_probs,
            &mut entropies,
        );
        assert_eq!(log_probs, drawn.log_probs, "sample and evaluate agree to the bit: {head:?}");
        let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
        let log_std = wide(&drawn.log_std);
        for row in 0..rows {
            let part = |values: &[f32], width: usize| values[row * width..][..width].to_vec();
            let (log_prob, entropy) = reference::evaluate(
                &head,
                &log_std,
                &wide(&part(&drawn.policy, head.outputs())),
                &wide(&part(&drawn.latent, latent_width(&head))),
                &part(&drawn.actions, head.action_width()),
            );
            assert!(
                (f64::from(log_probs[row]) - log_prob).abs() < 3e-6 * log_prob.abs().max(1.0),
                "{head:?}"
            );
            assert!((f64::from(entropies[row]) - entropy).abs() < 3e-6 * entropy.abs().max(1.0), "{head:?}");
        }
    }
}

#[test]
fn a_row_does_not_depend_on_its_neighbours() {
    for head in heads() {
        let rows = 21;
        let all = draw(&head, rows, 2);
        let noise_width = all.noise.len() / rows;
        for row in 0..rows {
            let part = |values: &[f32], width: usize| values[row * width..][..width].to_vec();
            let mut action = vec![0.0; head.action_width()];
            let mut log_prob = [0.0];
            head.sample(
                &all.log_std,
                &part(&all.policy, head.outputs()),
                &part(&all.latent, latent_width(&head)),
                &part(&all.noise, noise_width),
                1,
                &mut action,
                &mut log_prob,
            );
            assert_eq!(action, part(&all.actions, head.action_width()), "{head:?} row {row}");
            assert_eq!(log_prob[0].to_bits(), all.log_probs[row].to_bits(), "{head:?} row {row}");
        }
    }
}

#[test]
fn choices_come_as_often_as_their_probability() {
    // Probabilities 0.1, 0.2, 0.3, 0.4 and, in the second part, 0.75 and 0.25.
    let logits: Vec<f32> = [0.1_f32, 0.2, 0.3, 0.4, 3.0, 1.0].iter().map(|weight| weight.ln()).collect();
    let head = Head::MultiCategorical { nvec: vec![4, 2] };
    let rows = 100_000;
    let policy = logits.repeat(rows);
    let mut stream = Stream::new(3, "action", 0);
    let noise: Vec<f32> = (0..rows * 2).map(|_| stream.uniform_f32()).collect();
    let (mut actions, mut log_probs) = (vec![0.0; rows * 2], vec![0.0; rows]);
    head.sample(&[], &policy, &[], &noise, rows, &mut actions, &mut log_probs);
    let mut counts = [0_u32; 8];
    actions.chunks(2).for_each(|action| counts[action[0] as usize * 2 + action[1] as usize] += 1);
    for (at, count) in counts.into_iter().enumerate() {
        let wanted = [0.1, 0.2, 0.3, 0.4][at / 2] * [0.75, 0.25][at % 2];
        let found = f64::from(count) / rows as f64;
        // Five standard deviations.
        let bound = 5.0 * (wanted * (1.0 - wanted) / rows as f64).sqrt();
        assert!((found - wanted).abs() < bound, "{at}: {found} instead of {wanted}");
    }
}

#[test]
fn the_ends_of_the_noise_pick_the_first_and_last_possible_choice() {
    let head = Head::Categorical { n: 3 };
    let largest = 1.0 - f32::EPSILON / 2.0;
    let drawn = |logits: [f32; 3], noise: f32| {
        let (mut action, mut log_prob) = ([0.0], [0.0]);
        head.sample(&[], &logits, &[], &[noise], 1, &mut action, &mut log_prob);
        (action[0], log_prob[0])
    };
    assert_eq!(drawn([0.0, 0.0, 0.0], 0.0).0, 0.0);
    assert_eq!(drawn([0.0, 0.0, 0.0], largest).0, 2.0);
    for shift in 0..1000 {
        // However the sum rounds, an action without weight is never drawn.
        let (action, log_prob) = drawn([shift as f32 * 0.01, 3.0, -200.0], largest);
        assert!(action < 2.0 && log_prob > -10.0, "{action} with {log_prob}");
    }
    assert_eq!(drawn([-300.0, 0.0, -300.0], 0.0).0, 0.0, "the smallest weight is not zero");
}

#[test]
fn gaussian_noise_is_scaled_by_the_deviation() {
    let head = Head::Gaussian { size: 2 };
    let log_std = [0.5_f32.ln(), 2.0_f32.ln()];
    let (mut action, mut log_prob) = ([0.0; 2], [0.0]);
    head.sample(&log_std, &[1.0, -1.0], &[], &[1.0, -2.0], 1, &mut action, &mut log_prob);
    assert!((action[0] - 1.5).abs() < 1e-6 && (action[1] + 5.0).abs() < 1e-5, "{action:?}");
    // −(1 + 4)/2 − ln 0.5 − ln 2 − ln 2π
    assert!((log_prob[0] + 2.5 + std::f32::consts::TAU.ln()).abs() < 1e-5, "{log_prob:?}");
}

#[test]
fn state_dependent_noise_follows_the_latent_features() {
    let head = Head::StateDependent { latent: 2, size: 1 };
    let log_std = [0.5_f32.ln(), 2.0_f32.ln()];
    let (mut action, mut log_prob) = ([0.0], [0.0]);
    head.sample(&log_std, &[1.0], &[3.0, -1.0], &[1.0, 0.25], 1, &mut action, &mut log_prob);
    // 1 + 3·0.5·1 − 1·2·0.25 = 2, variance 9·0.25 + 1·4 + 1e-6 = 6.250001
    assert!((action[0] - 2.0).abs() < 1e-6, "{action:?}");
    let wanted = -0.5 * (1.0 / 6.250_001 + (std::f32::consts::TAU * 6.250_001).ln());
    assert!((log_prob[0] - wanted).abs() < 1e-6, "{log_prob:?} instead of {wanted}");
    // Without features only the floor of the variance is left.
    let mut entropy = [0.0];
    head.evaluate(&log_std, &[1.0], &[0.0, 0.0], &[1.0], 1, &mut log_prob, &mut entropy);
    let wanted = 0.5 * (1.0 + (std::f32::consts::TAU * 1e-6).ln());
    assert!((entropy[0] - wanted).abs() < 1e-5, "{entropy:?} instead of {wanted}");
}

#[test]
fn the_mode_is_the_lowest_largest_index_or_the_mean() {
    let mut actions = [9.0; 2];
    let head = Head::MultiCategorical { nvec: vec![3, 2] };
    head.mode(&[1.0, 5.0, 5.0, 0.0, 0.0], 1, &mut actions);
    assert_eq!(actions, [1.0, 0.0]);
    Head::Gaussian { size: 2 }.mode(&[0.25, -7.0], 1, &mut actions);
    assert_eq!(actions, [0.25, -7.0]);
}

#[test]
fn large_logits_neither_overflow_nor_lose_the_entropy() {
    let head = Head::Categorical { n: 2 };
    let (mut log_prob, mut entropy) = ([0.0; 3], [0.0; 3]);
    let logits = [1e30, -1e30, 5000.0, 5000.0, -80.0, -79.0];
    head.evaluate(&[], &logits, &[], &[0.0, 1.0, 0.0], 3, &mut log_prob, &mut entropy);
    assert_eq!(log_prob[0], 0.0);
    assert!(entropy[0].abs() < 1e-30, "{entropy:?}");
    assert!((log_prob[1] + std::f32::consts::LN_2).abs() < 1e-6);
    assert!((entropy[1] - std::f32::consts::LN_2).abs() < 1e-6);
    assert!((log_prob[2] + 1.0_f32.exp().ln_1p()).abs() < 1e-5);
    let mut d_policy = [f32::NAN; 2];
    head.gradient(&[], &[1e30, -1e30], &[], &[0.0], 1, &[1.0], &[1.0], &mut d_policy, &mut []);
    assert!(d_policy.iter().all(|value| value.abs() < 1e-6), "{d_policy:?}");
    head.evaluate(&[], &[f32::NEG_INFINITY, 0.0], &[], &[1.0], 1, &mut log_prob, &mut entropy);
    assert!(log_prob[0] == 0.0 && entropy[0].abs() < 1e-30, "a forbidden choice has no weight: {entropy:?}");
    head.gradient(&[], &[f32::NEG_INFINITY, 0.0], &[], &[1.0], 1, &[1.0], &[1.0], &mut d_policy, &mut []);
    assert!(d_policy.iter().all(|value| value.abs() < 1e-6), "{d_policy:?}");
    head.evaluate(&[], &[f32::NAN, 0.0], &[], &[1.0], 1, &mut log_prob, &mut entropy);
    assert!(log_prob[0].is_nan() && entropy[0].is_nan(), "a broken network stays visible");
}
