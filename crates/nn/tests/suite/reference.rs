//! The same networks and distributions in f64, element by element and by name:
//! slow, obvious, and sharing no code with the library.

use std::collections::BTreeMap;

use rlxp_nn::{Activation, ActorCritic, Data, Head, Input, Shape};
use rlxp_types::Stream;

/// Parameters by tensor name.
pub(crate) type Named = BTreeMap<String, Vec<f64>>;

/// The library's flat parameters (or gradients) by tensor name.
pub(crate) fn named(network: &ActorCritic, flat: &[f32]) -> Named {
    let tensors = network.tensors(flat);
    tensors
        .iter()
        .map(|(name, tensor)| match &tensor.data {
            Data::F32(values) => (name.to_owned(), values.iter().map(|value| f64::from(*value)).collect()),
            other => panic!("{name} holds {}", other.kind()),
        })
        .collect()
}

/// A network with its parameters, and `rows` observations for it.
pub(crate) fn random_network(
    shape: Shape,
    rows: usize,
    stream: &mut Stream,
) -> (ActorCritic, Vec<f32>, Vec<f32>) {
    let network = ActorCritic::new(shape);
    let shape = network.shape();
    let mut parameters = vec![0.0; network.parameter_count()];
    stream.fill_normal(&mut parameters);
    parameters.iter_mut().for_each(|value| *value *= 0.3);
    let mut observations = vec![0.0; rows * shape.input.width()];
    match &shape.input {
        Input::Dense(_) => stream.fill_normal(&mut observations),
        Input::OneHot(parts) => {
            for row in observations.chunks_mut(parts.len()) {
                row.iter_mut().zip(parts).for_each(|(index, &n)| *index = stream.below(n as u32) as f32);
            }
        }
    }
    (network, parameters, observations)
}

/// Outputs for one observation row.
pub(crate) struct Outputs {
    pub(crate) policy: Vec<f64>,
    pub(crate) value: f64,
    pub(crate) latent: Vec<f64>,
}

/// A linear layer's parameters.
struct Layer<'a> {
    weight: &'a [f64],
    bias: &'a [f64],
}

impl Layer<'_> {
    fn named<'a>(parameters: &'a Named, name: &str) -> Layer<'a> {
        Layer { weight: &parameters[&format!("{name}.weight")], bias: &parameters[&format!("{name}.bias")] }
    }

    /// x·W + b with weights [inputs, outputs].
    fn hidden(&self, x: &[f64]) -> Vec<f64> {
        let width = self.bias.len();
        let sum = |output: usize| -> f64 {
            x.iter().enumerate().map(|(input, x)| x * self.weight[input * width + output]).sum()
        };
        self.bias.iter().enumerate().map(|(output, bias)| bias + sum(output)).collect()
    }

    /// x·Wᵀ + b with weights [outputs, inputs].
    fn output(&self, x: &[f64]) -> Vec<f64> {
        let product = |weight: &[f64]| weight.iter().zip(x).map(|(weight, x)| weight * x).sum::<f64>();
        self.bias
            .iter()
            .zip(self.weight.chunks(x.len()))
            .map(|(bias, weight)| bias + product(weight))
            .collect()
    }
}

/// Runs both networks on every row.
pub(crate) fn forward(network: &ActorCritic, parameters: &Named, observations: &[f32]) -> Vec<Outputs> {
    let input = &network.shape().input;
    let rows = observations.chunks(input.width());
    rows.map(|row| forward_features(network, parameters, &features(input, row))).collect()
}

/// Runs both networks on the features of one row.
pub(crate) fn forward_features(network: &ActorCritic, parameters: &Named, features: &[f64]) -> Outputs {
    let shape = network.shape();
    let layers = |stack: &str| -> Vec<Layer<'_>> {
        (0..shape.hidden.len()).map(|number| Layer::named(parameters, &format!("{stack}.{number}"))).collect()
    };
    let run = |layers: &[Layer<'_>], features: &[f64]| {
        layers.iter().fold(features.to_vec(), |x, layer| {
            layer.hidden(&x).into_iter().map(|sum| activate(shape.activation, sum)).collect()
        })
    };
    let policy_layers = layers(if shape.shared { "trunk" } else { "policy" });
    let value_layers = layers(if shape.shared { "trunk" } else { "value" });
    let policy_output = Layer::named(parameters, "policy.out");
    let value_output = Layer::named(parameters, "value.out");
    let latent = run(&policy_layers, features);
    let value = value_output.output(&run(&value_layers, features))[0];
    Outputs { policy: policy_output.output(&latent), value, latent }
}

/// What the first layer reads: the numbers, or one-hot vectors of the indices.
pub(crate) fn features(input: &Input, observation: &[f32]) -> Vec<f64> {
    match input {
        Input::Dense(_) => observation.iter().map(|value| f64::from(*value)).collect(),
        Input::OneHot(parts) => {
            let one_hot = |(&n, &index): (&usize, &f32)| {
                (0..n).map(move |at| f64::from(u8::from(at == index as usize)))
            };
            parts.iter().zip(observation).flat_map(one_hot).collect()
        }
    }
}

fn activate(function: Activation, x: f64) -> f64 {
    match function {
        Activation::Tanh => x.tanh(),
        Activation::Relu => x.max(0.0),
        Activation::Elu => {
            if x > 0.0 {
                x
            } else {
                x.exp_m1()
            }
        }
        Activation::Gelu => x * normal_distribution(x),
    }
}

/// Φ by its series: Φ(x) = ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …).
fn normal_distribution(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..60 {
        term *= x * x / f64::from(2 * n + 1);
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Log-probability of an action and the entropy. `latent` is what a
/// state-dependent head takes its deviation from.
pub(crate) fn evaluate(
    head: &Head,
    log_std: &[f64],
    policy: &[f64],
    latent: &[f64],
    action: &[f32],
) -> (f64, f64) {
    match head {
        Head::Categorical { n } => categorical(&[*n], policy, action),
        Head::MultiCategorical { nvec } => categorical(nvec, policy, action),
        Head::Gaussian { .. } => {
            let variances: Vec<f64> = log_std.iter().map(|log_std| (2.0 * log_std).exp()).collect();
            normal(&variances, policy, action)
        }
        Head::StateDependent { size, .. } => {
            let variances: Vec<f64> = (0..*size)
                .map(|element| {
                    let term = |(i, x): (usize, &f64)| x * x * (2.0 * log_std[i * size + element]).exp();
                    latent.iter().enumerate().map(term).sum::<f64>() + 1e-6
                })
                .collect();
            normal(&variances, policy, action)
        }
    }
}

fn categorical(parts: &[usize], policy: &[f64], action: &[f32]) -> (f64, f64) {
    let (mut log_prob, mut entropy, mut offset) = (0.0, 0.0, 0);
    for (&n, &action) in parts.iter().zip(action) {
        let logits = &policy[offset..offset + n];
        offset += n;
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = logits.iter().map(|logit| (logit - largest).exp()).sum::<f64>().ln() + largest;
        log_prob += logits[action as usize] - log_sum;
        entropy -= logits.iter().map(|logit| (logit - log_sum).exp() * (logit - log_sum)).sum::<f64>();
    }
    (log_prob, entropy)
}

fn normal(variances: &[f64], mean: &[f64], action: &[f32]) -> (f64, f64) {
    let tau = std::f64::consts::TAU;
    let mut totals = (0.0, 0.0);
    for ((variance, mean), action) in variances.iter().zip(mean).zip(action) {
        totals.0 -= 0.5 * ((f64::from(*action) - mean).powi(2) / variance + (tau * variance).ln());
        totals.1 += 0.5 * (1.0 + (tau * variance).ln());
    }
    totals
}
