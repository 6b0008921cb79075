//! Attributions against what is known of them, and whole inspections.

use rlxp_env::Space;
use rlxp_nn::{Activation, ActorCritic, Head, Input, Shape};
use rlxp_types::Stream;

use super::attribution::{COMPLETENESS, Explainer, Question};
use super::*;
use crate::evaluate;
use crate::normalize::{Moments, ObservationNormalizer};
use crate::testing::config;

const QUICK: &str = "algo: {total_timesteps: 64}\npolicy: {hidden_sizes: [16, 16]}\n";

fn quick(env: &str) -> (Config, Policy) {
    let config = config(&format!("env: {{id: {env}}}\n{QUICK}"));
    let (observations, actions) = rlxp_env::NATIVE.spaces(&config.env).unwrap();
    let policy = Policy::new(&config, &observations, &actions, 3);
    (config, policy)
}

/// A policy with a random network of this shape and, where numbers are read, a
/// normaliser that moves and stretches every dimension differently.
fn policy(shape: Shape, seed: u64) -> Policy {
    let (_, mut policy) = quick("CartPole-v1");
    let width = shape.input.width();
    policy.normalizer = matches!(shape.input, Input::Dense(_)).then(|| {
        let mean = (0..width).map(|column| column as f64 * 0.3 - 0.5).collect();
        let variance = (0..width).map(|column| (column as f64 + 0.5) / 2.0).collect();
        ObservationNormalizer::new(Moments { count: 9.0, mean, variance })
    });
    policy.network = ActorCritic::new(shape);
    policy.parameters = vec![0.0; policy.network.parameter_count()];
    let mut stream = Stream::new(seed, "test", 0);
    stream.fill_normal(&mut policy.parameters);
    policy.parameters.iter_mut().for_each(|parameter| *parameter *= 0.5);
    policy
}

fn point(explainer: &Explainer<'_>, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, "test", 1);
    match explainer.parts().map(<[usize]>::to_vec) {
        None => {
            let mut numbers = vec![0.0; 4];
            stream.fill_normal(&mut numbers);
            explainer.features(&numbers)
        }
        Some(parts) => {
            let indices: Vec<f32> = parts.iter().map(|n| stream.below(*n as u32) as f32).collect();
            explainer.features(&indices)
        }
    }
}

const TARGETS: [Target; 3] = [Target::Value, Target::Action, Target::ActionElement(1)];

/// Every activation, head and input kind.
fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for activation in [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Gelu] {
        for head in [
            Head::Categorical { n: 3 },
            Head::MultiCategorical { nvec: vec![2, 3] },
            Head::Gaussian { size: 2 },
            Head::StateDependent { latent: 24, size: 2 },
        ] {
            for (input, shared) in [(Input::Dense(4), false), (Input::OneHot(vec![5, 3]), true)] {
                let (head, hidden) = (head.clone(), vec![32, 24]);
                shapes.push(Shape { input, hidden, activation, shared, head });
            }
        }
    }
    shapes
}

#[test]
fn integrated_gradients_add_up_on_every_kind_of_network() {
    for (seed, shape) in shapes().into_iter().enumerate() {
        let policy = policy(shape, seed as u64);
        let mut explainer = Explainer::new(&policy);
        let (x, from) = (point(&explainer, seed as u64), point(&explainer, 1000 + seed as u64));
        for target in TARGETS {
            let question = Question { target, action: &[1.0, 2.0] };
            let found = explainer.integrated_gradients(&x, &from, &question);
            let difference = explainer.gradient(&x, &question).0 - explainer.gradient(&from, &question).0;
            let error = (found.attributions.iter().sum::<f64>() - difference).abs();
            let bound = COMPLETENESS * difference.abs().max(1.0);
            assert!(
                error <= bound && found.integration.complete,
                "{:?} {target:?}: {error} of {difference}",
                policy.network.shape()
            );
        }
    }
}

#[test]
fn gradients_at_raw_observations_agree_with_differences() {
    for (seed, shape) in shapes().into_iter().enumerate() {
        // The kinks of relu are no place for differences.
        if shape.activation == Activation::Relu {
            continue;
        }
        let policy = policy(shape, seed as u64);
        let mut explainer = Explainer::new(&policy);
        let x = point(&explainer, seed as u64);
        for target in TARGETS {
            let question = Question { target, action: &[1.0, 2.0] };
            let (_, gradient) = explainer.gradient(&x, &question);
            for feature in 0..x.len() {
                let mut at = |shift: f64| {
                    let mut moved = x.clone();
                    moved[feature] += shift;
                    explainer.gradient(&moved, &question).0
                };
                // f32 rounds outputs near 3 by 2e-7, over a step of 0.02.
                let difference = (at(1e-2) - at(-1e-2)) / 2e-2;
                let error = (gradient[feature] - difference).abs();
                assert!(
                    error < 3e-3 * difference.abs().max(1.0),
                    "{:?} {target:?} feature {feature}: {} instead of {difference}",
                    policy.network.shape(),
                    gradient[feature]
                );
            }
        }
    }
}

#[test]
fn a_linear_network_is_explained_exactly() {
    let shape = Shape {
        input: Input::Dense(3),
        hidden: vec![],
        activation: Activation::Tanh,
        shared: false,
        head: Head::Gaussian { size: 2 },
    };
    let policy = policy(shape, 5);
    let tensors = policy.network.tensors(&policy.parameters);
    let scales: Vec<f64> = (0..3).map(|column| 1.0 / ((column as f64 + 0.5) / 2.0).sqrt()).collect();
    let per_raw_unit = |weights: &[f32]| -> Vec<f64> {
        weights.iter().zip(&scales).map(|(weight, scale)| f64::from(*weight) * scale).collect()
    };
    let value = per_raw_unit(tensors.f32s("value.out.weight").unwrap());
    let means: Vec<Vec<f64>> =
        tensors.f32s("policy.out.weight").unwrap().chunks(3).map(per_raw_unit).collect();
    let sum: Vec<f64> = means[0].iter().zip(&means[1]).map(|(a, b)| a + b).collect();
    let (x, from) = ([0.3, -1.2, 2.0], [0.1, 0.4, -0.7]);
    let mut explainer = Explainer::new(&policy);
    let close = |found: &[f64], wanted: &[f64]| {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {wanted:?}");
    };
    for (target, weights) in
        [(Target::Value, &value), (Target::Action, &sum), (Target::ActionElement(1), &means[1])]
    {
        let question = Question { target, action: &[0.0, 0.0] };
        close(&explainer.gradient(&x, &question).1, weights);
        let mut stream = Stream::new(1, "test", 0);
        close(&explainer.smooth_gradient(&x, &question, &[0.5; 3], 300, &mut stream), weights);
        let found = explainer.integrated_gradients(&x, &from, &question);
        let wanted: Vec<f64> = (0..3).map(|at| weights[at] * (x[at] - from[at])).collect();
        close(&found.attributions, &wanted);
        assert_eq!((found.integration.complete, found.integration.steps), (true, 64));
    }
}

#[test]
fn a_clipped_dimension_has_no_gradient_and_the_path_into_the_clip_adds_up() {
    let shape = Shape {
        input: Input::Dense(2),
        hidden: vec![8],
        activation: Activation::Tanh,
        shared: false,
        head: Head::Categorical { n: 2 },
    };
    let policy = policy(shape, 8);
    let mut explainer = Explainer::new(&policy);
    let question = Question { target: Target::Value, action: &[0.0] };
    // Twenty times as far as the clip: the finest steps still see where the path enters it.
    let far = [200.0, 0.2];
    let (_, gradient) = explainer.gradient(&far, &question);
    assert_eq!(gradient[0], 0.0);
    assert_ne!(gradient[1], 0.0);
    let found = explainer.integrated_gradients(&far, &[0.0, 0.0], &question);
    assert!(found.integration.complete, "{:?}", found.integration);
    assert!(found.integration.steps > 64, "the clip lies within the first step");
}

#[test]
fn smoothgrad_averages_what_the_gradient_does_around_a_state() {
    let shape = Shape {
        input: Input::Dense(1),
        hidden: vec![1],
        activation: Activation::Relu,
        shared: false,
        head: Head::Categorical { n: 2 },
    };
    let mut policy = policy(shape, 0);
    policy.normalizer = None;
    // value = relu(x), at whose kink half of the noise answers with slope 1.
    policy.parameters.fill(0.0);
    for (name, value) in [("value.0.weight", 1.0), ("value.out.weight", 1.0)] {
        let mut tensors = policy.network.tensors(&policy.parameters);
        let shape = tensors.get(name).unwrap().shape.clone();
        tensors.insert(name, rlxp_nn::Tensor::new(shape, rlxp_nn::Data::F32(vec![value])));
        policy.network.load(&tensors, &mut policy.parameters).unwrap();
    }
    let mut explainer = Explainer::new(&policy);
    let question = Question { target: Target::Value, action: &[0.0] };
    let mut smooth = |x: f64, noise: f64, seed: u64| {
        let mut stream = Stream::new(seed, "inspect/smoothgrad", 0);
        explainer.smooth_gradient(&[x], &question, &[noise], 4000, &mut stream)[0]
    };
    assert!((smooth(0.0, 1.0, 0) - 0.5).abs() < 0.03);
    // Φ(1) = 0.8413.
    assert!((smooth(1.0, 1.0, 0) - 0.8413).abs() < 0.03);
    assert_eq!(smooth(1.0, 0.0, 0), 1.0);
    assert_eq!(smooth(0.3, 1.0, 7), smooth(0.3, 1.0, 7));
    assert_ne!(smooth(0.3, 1.0, 7), smooth(0.3, 1.0, 8));
}

#[test]
fn a_sure_choice_still_has_a_gradient() {
    let shape = Shape {
        input: Input::Dense(1),
        hidden: vec![],
        activation: Activation::Tanh,
        shared: false,
        head: Head::Categorical { n: 2 },
    };
    let mut policy = policy(shape, 0);
    policy.normalizer = None;
    let mut tensors = policy.network.tensors(&policy.parameters);
    let shape = tensors.get("policy.out.weight").unwrap().shape.clone();
    tensors.insert("policy.out.weight", rlxp_nn::Tensor::new(shape, rlxp_nn::Data::F32(vec![20.0, -20.0])));
    tensors.insert_f32s("policy.out.bias", vec![0.0, 0.0]);
    policy.network.load(&tensors, &mut policy.parameters).unwrap();
    let mut explainer = Explainer::new(&policy);
    let (log_prob, gradient) =
        explainer.gradient(&[1.0], &Question { target: Target::Action, action: &[0.0] });
    // ln p = −ln(1 + e⁻⁴⁰), and its slope 40·e⁻⁴⁰ / (1 + e⁻⁴⁰).
    let rest = (-40.0_f64).exp();
    assert!((log_prob / -rest - 1.0).abs() < 1e-9, "{log_prob}");
    assert!((gradient[0] / (40.0 * rest) - 1.0).abs() < 1e-5, "{gradient:?}");
    let (other, _) = explainer.gradient(&[1.0], &Question { target: Target::Action, action: &[1.0] });
    assert!((other + 40.0).abs() < 1e-6);
}

fn options(target: Target) -> Options {
    let baseline = Baseline::Mean;
    Options { episodes: 1, seed: 20_000, states: 8, target, baseline, samples: 20, sampled: false }
}

#[test]
fn every_environment_is_inspected() {
    for info in rlxp_env::NATIVE.catalogue() {
        let (config, policy) = quick(info.id);
        for target in [Target::Value, Target::Action] {
            for baseline in [Baseline::Mean, Baseline::Zeros] {
                for sampled in [false, true] {
                    let options = Options { baseline, sampled, ..options(target) };
                    let found = inspect(rlxp_env::NATIVE, &config, &policy, &options).unwrap();
                    check_inspection(info.id, &found, &options);
                }
            }
        }
    }
}

fn check_inspection(id: &str, found: &Inspection, options: &Options) {
    let width = found.trajectory[0].observation.len();
    assert_eq!(found.ranking.dimensions.len(), width, "{id}");
    assert_eq!(found.states.len(), options.states.min(found.different_states), "{id}");
    assert!(found.states.iter().all(|state| state.integration.complete), "{id}: {:?}", found.states);
    assert!(found.states.windows(2).all(|pair| pair[0].moment < pair[1].moment));
    let shares: f64 = found.ranking.dimensions.iter().map(|place| place.share).sum();
    assert!(shares == 0.0 || (shares - 1.0).abs() < 1e-9 || found.different_states == 1, "{id}: {shares}");
    for moment in &found.trajectory {
        let sum: f64 = moment.probabilities.iter().sum();
        assert!(moment.probabilities.is_empty() || (sum - 1.0).abs() < 1e-9);
        assert_eq!(moment.mean.len(), moment.deviation.len());
        assert_eq!(moment.mean.is_empty(), !moment.probabilities.is_empty());
        assert!(moment.deviation.iter().all(|deviation| *deviation > 0.0));
    }
    let steps: u64 = found.episodes.iter().map(|episode| episode.length).sum();
    assert_eq!(steps as usize, found.trajectory.len());
}

#[test]
fn episodes_are_those_of_an_evaluation_and_repeat_exactly() {
    for (id, sampled) in
        [("CartPole-v1", false), ("CartPole-v1", true), ("Blackjack-v1", true), ("Pendulum-v1", true)]
    {
        let (config, policy) = quick(id);
        let options = Options { sampled, episodes: 4, ..options(Target::Action) };
        let found = inspect(rlxp_env::NATIVE, &config, &policy, &options).unwrap();
        let actor = if sampled { Actor::Stochastic(&policy) } else { Actor::Deterministic(&policy) };
        let played = evaluate(rlxp_env::NATIVE, &config, actor, found.episodes.len(), options.seed).unwrap();
        assert_eq!(found.episodes, played.episodes, "{id}");
        assert_eq!(inspect(rlxp_env::NATIVE, &config, &policy, &options).unwrap(), found, "{id}");
        let other = Options { seed: 5, ..options };
        assert_ne!(inspect(rlxp_env::NATIVE, &config, &policy, &other).unwrap().states, found.states, "{id}");
    }
}

#[test]
fn short_episodes_are_followed_by_more_and_a_single_state_is_not_repeated() {
    let (config, policy) = quick("Blackjack-v1");
    let found = inspect(rlxp_env::NATIVE, &config, &policy, &options(Target::Value)).unwrap();
    assert!(found.episodes.len() > 1 && found.episodes.len() < EPISODE_CAP);
    assert_eq!(found.states.len(), 8);
    let (config, policy) = quick("ProbeValue-v0");
    let found = inspect(rlxp_env::NATIVE, &config, &policy, &options(Target::Value)).unwrap();
    assert_eq!((found.episodes.len(), found.states.len()), (EPISODE_CAP, 1));
    assert_eq!(found.ranking.dimensions[0].share, 0.0, "what never changes can't be compared");
}

#[test]
fn weights_that_are_not_numbers_are_survived() {
    for id in ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1"] {
        let (config, mut policy) = quick(id);
        policy.parameters.fill(f32::NAN);
        let found = inspect(rlxp_env::NATIVE, &config, &policy, &options(Target::Action)).unwrap();
        assert!(found.states.iter().all(|state| !state.integration.complete), "{id}");
    }
}

#[test]
fn an_index_is_explained_against_the_visited_ones() {
    // Two parts; only the first one reaches the value.
    let config = config(&format!("env: {{id: CartPole-v1}}\n{QUICK}"));
    let space = Space::MultiDiscrete { nvec: vec![3, 4] };
    let mut policy = Policy::new(&config, &space, &Space::Discrete { n: 2 }, 1);
    let mut tensors = policy.network.tensors(&policy.parameters);
    let mut first = tensors.f32s("value.0.weight").unwrap().to_vec();
    let shape = tensors.get("value.0.weight").unwrap().shape.clone();
    first[3 * 16..].fill(0.25);
    tensors.insert("value.0.weight", rlxp_nn::Tensor::new(shape, rlxp_nn::Data::F32(first)));
    policy.network.load(&tensors, &mut policy.parameters).unwrap();
    let mut explainer = Explainer::new(&policy);
    let question = Question { target: Target::Value, action: &[0.0] };
    let x = explainer.features(&[1.0, 2.0]);
    let from = vec![0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25];
    let (_, gradient) = explainer.gradient(&x, &question);
    assert!(gradient[3..].iter().any(|entry| *entry != 0.0), "the entries as such have a slope");
    let saliency = explainer.per_dimension(&gradient, &x, &from);
    assert!(saliency[0].abs() > 1e-3 && saliency[1].abs() < 1e-6, "{saliency:?}");
    let integrated = explainer.integrated_gradients(&x, &from, &question);
    let sums = explainer.sums(&integrated.attributions);
    assert!(sums[0].abs() > 1e-3 && sums[1].abs() < 1e-6, "{sums:?}");
}
