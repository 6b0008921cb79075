//! Saliency, SmoothGrad and integrated gradients of one output of a policy.
//!
//! Points are raw features: the observation's numbers, or one-hot entries where
//! it holds indices. The network runs in f32 as it does when it acts; sums over
//! points are in f64.

use rlxp_nn::{ActorCritic, Head, Input, Scratch};
use rlxp_types::Stream;

use super::trajectory::{Moment, choices, softmax};
use super::{Integration, Target};
use crate::policy::Policy;

/// Largest difference between the sum of integrated gradients and what it explains, relative to that (absolute if it
/// is less than 1).
pub const COMPLETENESS: f64 = 1e-3;
/// Initial number of points on the path; doubled until the sum is right.
const FIRST_STEPS: usize = 64;
const MOST_STEPS: usize = 16_384;
/// Points that go through the network together.
const BATCH: usize = 256;

/// A question about a state.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub target: Target,
    /// The action whose probability is asked for; ignored for other targets.
    pub action: &'a [f32],
}

/// Integrated gradients per feature.
pub struct IntegratedGradients {
    /// One per feature.
    pub attributions: Vec<f64>,
    pub integration: Integration,
}

/// A policy's network over raw features.
pub struct Explainer<'a> {
    policy: &'a Policy,
    network: ActorCritic,
    scratch: Scratch,
    /// Sizes of the one-hot blocks, where observations are indices.
    parts: Option<Vec<usize>>,
    raw: Vec<f32>,
    d_features: Vec<f32>,
}

impl<'a> Explainer<'a> {
    pub fn new(policy: &'a Policy) -> Self {
        let network = policy.network.over_features();
        let parts = match &policy.network.shape().input {
            Input::Dense(_) => None,
            Input::OneHot(parts) => Some(parts.clone()),
        };
        let scratch = network.scratch(BATCH);
        Self { policy, network, scratch, parts, raw: Vec::new(), d_features: Vec::new() }
    }

    /// Numbers of values of each part, where observations are indices.
    pub fn parts(&self) -> Option<&[usize]> {
        self.parts.as_deref()
    }

    pub fn features(&self, observation: &[f32]) -> Vec<f64> {
        let Some(parts) = &self.parts else {
            return observation.iter().copied().map(f64::from).collect();
        };
        let mut features = vec![0.0; parts.iter().sum()];
        let mut offset = 0;
        for (&index, &n) in observation.iter().zip(parts) {
            features[offset + (index as usize).min(n - 1)] = 1.0;
            offset += n;
        }
        features
    }

    /// Mean and deviation of every feature over the visited states.
    pub fn moments(&self, visited: &[Moment]) -> (Vec<f64>, Vec<f64>) {
        let count = visited.len().max(1) as f64;
        let width = self.network.shape().input.features();
        let mut mean = vec![0.0; width];
        for moment in visited {
            let features = self.features(&moment.observation);
            mean.iter_mut().zip(features).for_each(|(mean, feature)| *mean += feature / count);
        }
        let mut variance = vec![0.0; width];
        for moment in visited {
            let features = self.features(&moment.observation);
            for ((variance, mean), feature) in variance.iter_mut().zip(&mean).zip(features) {
                *variance += (feature - mean).powi(2) / count;
            }
        }
        (mean, variance.into_iter().map(f64::sqrt).collect())
    }

    /// The output at a point, and its gradient there.
    pub fn gradient(&mut self, point: &[f64], question: &Question<'_>) -> (f64, Vec<f64>) {
        let mut sum = vec![0.0; point.len()];
        let output = self.add_gradients(point, question, &mut sum)[0];
        (output, sum)
    }

    /// The mean gradient over `samples` points around `point`, normal with
    /// these deviations.
    pub fn smooth_gradient(
        &mut self,
        point: &[f64],
        question: &Question<'_>,
        deviations: &[f64],
        samples: usize,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let mut sum = vec![0.0; point.len()];
        let mut noise = vec![0.0; point.len()];
        let mut left = samples;
        while left > 0 {
            let rows = left.min(BATCH);
            let mut points = Vec::with_capacity(rows * point.len());
            for _ in 0..rows {
                stream.fill_normal(&mut noise);
                let noisy = point.iter().zip(deviations).zip(&noise);
                points.extend(noisy.map(|((x, deviation), noise)| x + deviation * f64::from(*noise)));
            }
            self.add_gradients(&points, question, &mut sum);
            left -= rows;
        }
        sum.into_iter().map(|sum| sum / samples.max(1) as f64).collect()
    }

    /// (x − baseline) × the mean gradient on the straight path between them, by
    /// the midpoint rule. Points are doubled until the attributions add up.
    pub fn integrated_gradients(
        &mut self,
        point: &[f64],
        baseline: &[f64],
        question: &Question<'_>,
    ) -> IntegratedGradients {
        let ends = self.outputs(&[baseline, point].concat(), question);
        let difference = ends[1] - ends[0];
        let mut steps = FIRST_STEPS;
        loop {
            let attributions = self.integrate(point, baseline, question, steps);
            let error = (attributions.iter().sum::<f64>() - difference).abs();
            let complete = error <= COMPLETENESS * difference.abs().max(1.0);
            if complete || steps >= MOST_STEPS || error.is_nan() {
                let integration =
                    Integration { baseline_target: ends[0], completeness_error: error, complete, steps };
                return IntegratedGradients { attributions, integration };
            }
            steps *= 2;
        }
    }

    fn integrate(
        &mut self,
        point: &[f64],
        baseline: &[f64],
        question: &Question<'_>,
        steps: usize,
    ) -> Vec<f64> {
        let mut sum = vec![0.0; point.len()];
        for first in (0..steps).step_by(BATCH) {
            let mut points = Vec::new();
            for step in first..(first + BATCH).min(steps) {
                let part = (step as f64 + 0.5) / steps as f64;
                points.extend(point.iter().zip(baseline).map(|(x, from)| from + part * (x - from)));
            }
            self.add_gradients(&points, question, &mut sum);
        }
        let ways = point.iter().zip(baseline).map(|(x, from)| x - from);
        sum.iter().zip(ways).map(|(sum, way)| way * sum / steps as f64).collect()
    }

    /// One number per observation dimension of gradients per feature: the
    /// gradient itself, or for an index Σ gradient × (entry − baseline entry).
    pub fn per_dimension(&self, gradient: &[f64], point: &[f64], baseline: &[f64]) -> Vec<f64> {
        if self.parts.is_none() {
            return gradient.to_vec();
        }
        let terms = gradient.iter().zip(point).zip(baseline).map(|((g, x), from)| g * (x - from));
        self.sums(&terms.collect::<Vec<_>>())
    }

    /// Attributions of features summed over each observation dimension.
    pub fn sums(&self, attributions: &[f64]) -> Vec<f64> {
        let Some(parts) = &self.parts else { return attributions.to_vec() };
        let mut rest = attributions;
        let mut sums = Vec::with_capacity(parts.len());
        for n in parts {
            let (part, after) = rest.split_at(*n);
            sums.push(part.iter().sum());
            rest = after;
        }
        sums
    }

    /// The output at up to a batch of points.
    fn outputs(&mut self, points: &[f64], question: &Question<'_>) -> Vec<f64> {
        let rows = self.forward(points);
        self.seed_gradients(rows, question)
    }

    /// The output at up to a batch of points, whose gradients are added to `sum`.
    fn add_gradients(&mut self, points: &[f64], question: &Question<'_>, sum: &mut [f64]) -> Vec<f64> {
        let rows = self.forward(points);
        let outputs = self.seed_gradients(rows, question);
        self.d_features.resize(points.len(), 0.0);
        self.network.input_gradient(&self.policy.parameters, rows, &mut self.scratch, &mut self.d_features);
        if let Some(normalizer) = &self.policy.normalizer {
            normalizer.chain(&self.raw, &mut self.d_features);
        }
        for row in self.d_features.chunks_exact(sum.len()) {
            sum.iter_mut().zip(row).for_each(|(sum, gradient)| *sum += f64::from(*gradient));
        }
        outputs
    }

    /// Runs the network; the number of points.
    fn forward(&mut self, points: &[f64]) -> usize {
        let rows = points.len() / self.network.shape().input.features();
        self.raw.clear();
        self.raw.extend(points.iter().map(|value| *value as f32));
        let mut scaled = self.raw.clone();
        self.policy.normalize(&mut scaled);
        self.network.forward(&self.policy.parameters, &scaled, rows, &mut self.scratch);
        rows
    }

    /// The requested output of each row, and its gradient at the network's outputs.
    fn seed_gradients(&mut self, rows: usize, question: &Question<'_>) -> Vec<f64> {
        let Scratch { policy, values, d_policy, d_values, .. } = &mut self.scratch;
        let head = &self.network.shape().head;
        let width = head.outputs();
        d_policy[..rows * width].fill(0.0);
        d_values[..rows].fill(0.0);
        let element = match question.target {
            Target::Value => {
                d_values[..rows].fill(1.0);
                return values[..rows].iter().copied().map(f64::from).collect();
            }
            Target::Action => None,
            Target::ActionElement(element) => Some(element),
        };
        let row_pairs = policy.chunks_exact(width).zip(d_policy.chunks_exact_mut(width)).take(rows);
        row_pairs
            .map(|(outputs, d_outputs)| action_output(head, outputs, question, element, d_outputs))
            .collect()
    }
}

/// The mean or log-probability of one row (of one element or all), and its
/// gradient at the policy's outputs.
fn action_output(
    head: &Head,
    outputs: &[f32],
    question: &Question<'_>,
    element: Option<usize>,
    d_outputs: &mut [f32],
) -> f64 {
    let asked = |index: usize| element.is_none_or(|element| element == index);
    let mut total = 0.0;
    let parts = choices(head);
    if parts.is_empty() {
        for (index, (output, d_output)) in outputs.iter().zip(d_outputs).enumerate() {
            if asked(index) {
                total += f64::from(*output);
                *d_output = 1.0;
            }
        }
        return total;
    }
    let mut offset = 0;
    for (index, (&n, &action)) in parts.iter().zip(question.action).enumerate() {
        let logits = &outputs[offset..offset + n];
        if asked(index) {
            let action = (action as usize).min(n - 1);
            let probabilities = softmax(logits);
            total += log_probability(logits, action);
            // Through the sum of the others: 1 − p would lose precision for a near-certain choice.
            let others: f64 = (0..n).filter(|at| *at != action).map(|at| probabilities[at]).sum();
            for (at, d_output) in d_outputs[offset..offset + n].iter_mut().enumerate() {
                *d_output = (if at == action { others } else { -probabilities[at] }) as f32;
            }
        }
        offset += n;
    }
    total
}

/// logit − ln Σ exp(logits), exact for a near-certain choice too.
fn log_probability(logits: &[f32], action: usize) -> f64 {
    let own = f64::from(logits[action]);
    let largest = logits.iter().map(|logit| f64::from(*logit)).fold(f64::NEG_INFINITY, f64::max);
    if largest > own {
        let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - largest).exp()).sum();
        return own - largest - sum.ln();
    }
    let others = logits.iter().enumerate().filter(|(at, _)| *at != action);
    -others.map(|(_, logit)| (f64::from(*logit) - own).exp()).sum::<f64>().ln_1p()
}
