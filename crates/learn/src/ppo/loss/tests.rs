//! The loss against finite differences through the whole network, and against
//! numbers worked out by hand.

use rlxp_env::Space;
use rlxp_types::Stream;

use super::*;
use crate::policy::Policy;

/// Networks and samples for one kind of action.
fn setup(actions: &Space, rows: usize, yaml: &str) -> (Policy, Tile) {
    let config = crate::testing::config(&format!("env: {{id: CartPole-v1}}\n{yaml}"));
    let observations = Space::vector(vec![-1.0; 3], vec![1.0; 3]);
    let mut policy = Policy::new(&config, &observations, actions, 3);
    let mut stream = Stream::new(5, "test", 0);
    // Away from the initial near-uniform policy, so that every gradient counts.
    policy.parameters.iter_mut().for_each(|x| *x += 0.3 * stream.normal_pair().0 as f32);
    let mut tile = Tile::default();
    let mut normals = |count: usize| {
        let mut values = vec![0.0; count];
        stream.fill_normal(&mut values);
        values
    };
    tile.observations = normals(rows * 3);
    tile.advantages = normals(rows);
    tile.returns = normals(rows);
    tile.values = normals(rows);
    let width = policy.head().action_width();
    tile.actions = match actions {
        Space::Box { .. } => normals(rows * width),
        Space::Discrete { n } => (0..rows).map(|row| (row % n) as f32).collect(),
        Space::MultiDiscrete { nvec } => {
            (0..rows * width).map(|at| (at / 2 % nvec[at % width]) as f32).collect()
        }
        Space::MultiBinary { .. } => (0..rows * width).map(|at| (at / 3 % 2) as f32).collect(),
    };
    // Old log-probabilities near the new ones: some ratios inside, some outside the clip range.
    let mut scratch = policy.network.scratch(rows);
    policy.network.forward(&policy.parameters, &tile.observations, rows, &mut scratch);
    let (mut log_probs, mut entropies) = (vec![0.0; rows], vec![0.0; rows]);
    policy.head().evaluate(
        policy.head_parameters(),
        &scratch.policy,
        scratch.latent(),
        &tile.actions,
        rows,
        &mut log_probs,
        &mut entropies,
    );
    tile.log_probs =
        log_probs.iter().enumerate().map(|(row, x)| x + [0.05, -0.4, 0.5, -0.02][row % 4]).collect();
    (policy, tile)
}

fn coefficients() -> Coefficients {
    Coefficients {
        clip_range: 0.2,
        clip_value: Some(0.3),
        entropy: 0.1,
        value: 0.7,
        normalize_advantages: false,
    }
}

/// The loss and its whole gradient.
fn loss(policy: &Policy, tile: &Tile) -> (f64, Vec<f32>, LossSums) {
    let rows = tile.log_probs.len();
    let coefficients = coefficients();
    let mut scratch = policy.network.scratch(rows);
    let mut gradients = vec![0.0; policy.parameters.len()];
    policy.network.forward(&policy.parameters, &tile.observations, rows, &mut scratch);
    let sums = loss_and_gradient(
        policy,
        tile,
        rows,
        &coefficients,
        &mut scratch,
        &mut LossWork::new(rows, policy.head().outputs()),
        policy.network.head_parameters_mut(&mut gradients),
    );
    policy.network.backward(&policy.parameters, &tile.observations, rows, &mut scratch, &mut gradients);
    let value = (sums.policy_loss + f64::from(coefficients.value) * sums.value_loss
        - f64::from(coefficients.entropy) * sums.entropy)
        / sums.count;
    (value, gradients, sums)
}

fn check_gradient(actions: Space, yaml: &str) {
    let (mut policy, tile) = setup(&actions, 8, yaml);
    let (_, gradients, sums) = loss(&policy, &tile);
    assert!(sums.clipped > 0.0 && sums.clipped < sums.count, "both sides of the clip are exercised");
    let mut worst: f64 = 0.0;
    for (index, gradient) in gradients.iter().copied().enumerate() {
        let original = policy.parameters[index];
        // f32 forward passes: a step of 4e-3 balances rounding (~1e-7/h) and curvature (~h²).
        let mut at = |shift: f32| {
            policy.parameters[index] = original + shift;
            let value = loss(&policy, &tile).0;
            policy.parameters[index] = original;
            value
        };
        let h = 4e-3;
        let difference = (at(h) - at(-h)) / f64::from((original + h) - (original - h));
        let error = (difference - f64::from(gradient)).abs() / (1.0 + difference.abs());
        assert!(
            error < 2e-3,
            "parameter {index}: gradient {} but the loss changes by {difference}",
            gradient
        );
        worst = worst.max(error);
    }
    assert!(gradients.iter().any(|x| x.abs() > 1e-3), "the gradient is not all zero");
    assert!(worst.is_finite());
}

const SMALL: &str = "policy: {hidden_sizes: [5, 4]}";

#[test]
fn gradient_with_discrete_actions() {
    check_gradient(Space::Discrete { n: 3 }, SMALL);
}

#[test]
fn gradient_with_a_shared_network() {
    check_gradient(Space::Discrete { n: 3 }, "policy: {hidden_sizes: [5, 4], shared_network: true}");
}

#[test]
fn gradient_with_several_discrete_actions() {
    check_gradient(Space::MultiDiscrete { nvec: vec![2, 3] }, SMALL);
}

#[test]
fn gradient_with_binary_actions() {
    check_gradient(Space::MultiBinary { n: 3 }, SMALL);
}

#[test]
fn gradient_with_continuous_actions() {
    check_gradient(Space::vector(vec![-1.0; 2], vec![1.0; 2]), SMALL);
}

#[test]
fn kl_is_the_k3_estimator() {
    // ln r = 0.1, −0.2, 0.05: k3 = 0.00839092251, and two of three leave ε = 0.1.
    let log_ratios = [0.1_f32, -0.2, 0.05];
    let (policy, mut tile) = setup(&Space::Discrete { n: 3 }, 3, SMALL);
    let mut scratch = policy.network.scratch(3);
    policy.network.forward(&policy.parameters, &tile.observations, 3, &mut scratch);
    let (mut log_probs, mut entropies) = (vec![0.0; 3], vec![0.0; 3]);
    let head = policy.head();
    head.evaluate(&[], &scratch.policy, scratch.latent(), &tile.actions, 3, &mut log_probs, &mut entropies);
    tile.log_probs = log_probs.iter().zip(log_ratios).map(|(new, ratio)| new - ratio).collect();
    let mut work = LossWork::new(3, 3);
    let coefficients = Coefficients { clip_range: 0.1, ..coefficients() };
    let sums = loss_and_gradient(&policy, &tile, 3, &coefficients, &mut scratch, &mut work, &mut []);
    assert!((sums.mean_kl() - 0.008_390_922_51).abs() < 1e-7, "{}", sums.mean_kl());
    assert_eq!(sums.clipped, 2.0);
}

#[test]
fn the_clipped_value_loss_is_the_larger_one() {
    // Unclipped: (1 − 0)² = 1. Clipped around the old value 2 by 0.5: (1.5 − 0)² = 2.25, constant.
    assert_eq!(value_loss(1.0, 2.0, 0.0, Some(0.5)), (2.25, 0.0));
    assert_eq!(value_loss(1.0, 0.9, 0.0, Some(0.5)), (1.0, 2.0));
    assert_eq!(value_loss(1.0, 2.0, 0.0, None), (1.0, 2.0));
}
