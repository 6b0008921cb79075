//! What acts: the network, its weights, the frozen observation normaliser and
//! the bounds of the actions. This is also what a checkpoint's
//! `model.safetensors` holds.

mod hand;

use rlxp_env::Space;
use rlxp_nn::{Activation, ActorCritic, Head, Input, Noise, Scratch, Shape, Tensors};
use rlxp_spec::config::{ActivationName, Config, MlpConfig, PolicyConfig};
use rlxp_types::Stream;

use crate::LearnError;
use crate::normalize::{Moments, ObservationNormalizer};
use crate::state::numbers;

/// Rows that go through the network at once: enough for wide kernels, small
/// enough that activations stay in cache.
pub(crate) const TILE: usize = 64;

/// A policy that can act and be trained further.
#[derive(Clone)]
pub struct Policy {
    pub(crate) network: ActorCritic,
    pub(crate) parameters: Vec<f32>,
    pub(crate) normalizer: Option<ObservationNormalizer>,
    bounds: Option<(Vec<f32>, Vec<f32>)>,
    /// Steps between new exploration noise, where it is kept over several.
    noise_every: Option<u64>,
}

impl Policy {
    /// A fresh policy for these spaces.
    pub fn new(config: &Config, observations: &Space, actions: &Space, seed: u64) -> Self {
        let PolicyConfig::Mlp(mlp) = &config.policy;
        let network = ActorCritic::new(shape(mlp, observations, actions));
        let mut parameters = vec![0.0; network.parameter_count()];
        let log_std = mlp.log_std_init as f32;
        network.init(&mut parameters, log_std, &mut Stream::new(seed, "init", 0));
        // Only real numbers have a scale; an index keeps its meaning.
        let scaled = config.env.normalize_observations && matches!(observations, Space::Box { .. });
        let normalizer = scaled.then(|| ObservationNormalizer::new(Moments::new(observations.width())));
        let bounds = match actions {
            Space::Box { low, high, .. } => Some((low.clone(), high.clone())),
            _ => None,
        };
        Self { network, parameters, normalizer, bounds, noise_every: config.policy.sde_sample_freq() }
    }

    /// How many numbers a policy for these spaces would train.
    pub fn size(config: &Config, observations: &Space, actions: &Space) -> usize {
        let PolicyConfig::Mlp(mlp) = &config.policy;
        ActorCritic::new(shape(mlp, observations, actions)).parameter_count()
    }

    /// The policy that `tensors` describe; refused when shapes differ from the config's.
    pub fn from_tensors(
        config: &Config,
        observations: &Space,
        actions: &Space,
        tensors: &Tensors,
    ) -> Result<Self, LearnError> {
        let mut policy = Self::new(config, observations, actions, 0);
        policy.load(tensors)?;
        Ok(policy)
    }

    /// Takes weights and normaliser from `tensors`.
    pub fn load(&mut self, tensors: &Tensors) -> Result<(), LearnError> {
        let Some(normalizer) = &mut self.normalizer else {
            return Ok(self.network.load(tensors, &mut self.parameters)?);
        };
        let width = normalizer.moments.mean.len();
        let moments = Moments {
            count: numbers(tensors, "observation.count", 1)?[0],
            mean: numbers(tensors, "observation.mean", width)?,
            variance: numbers(tensors, "observation.variance", width)?,
        };
        let mut network = Tensors::new();
        for (name, tensor) in tensors.iter().filter(|(name, _)| !name.starts_with("observation.")) {
            network.insert(name, tensor.clone());
        }
        self.network.load(&network, &mut self.parameters)?;
        *normalizer = ObservationNormalizer::new(moments);
        Ok(())
    }

    /// Everything that acting needs, by name.
    pub fn tensors(&self) -> Tensors {
        let mut tensors = self.network.tensors(&self.parameters);
        if let Some(normalizer) = &self.normalizer {
            let Moments { count, mean, variance } = normalizer.moments.clone();
            tensors.insert_f64s("observation.count", vec![count]);
            tensors.insert_f64s("observation.mean", mean);
            tensors.insert_f64s("observation.variance", variance);
        }
        tensors
    }

    /// Value estimates of raw observations.
    pub fn estimate_values(&self, observations: &[f32]) -> Vec<f32> {
        let width = self.network.shape().input.width();
        let mut scaled = observations.to_vec();
        self.normalize(&mut scaled);
        let mut scratch = self.network.scratch(1);
        let mut out = Vec::new();
        for row in scaled.chunks_exact(width) {
            self.network.forward(&self.parameters, row, 1, &mut scratch);
            out.push(scratch.values[0]);
        }
        out
    }

    pub(crate) fn head(&self) -> &Head {
        &self.network.shape().head
    }

    pub(crate) fn head_parameters(&self) -> &[f32] {
        self.network.head_parameters(&self.parameters)
    }

    /// Floats of exploration noise that one row's action needs.
    pub(crate) fn noise_width(&self) -> usize {
        match self.head().noise() {
            Noise::Uniform(width) | Noise::Normal(width) => width,
        }
    }

    /// Draws one or several rows of exploration noise.
    pub(crate) fn draw_noise(&self, stream: &mut Stream, row: &mut [f32]) {
        match self.head().noise() {
            Noise::Uniform(_) => row.iter_mut().for_each(|x| *x = stream.uniform_f32()),
            Noise::Normal(_) => stream.fill_normal(row),
        }
    }

    /// Whether noise is kept over several steps (state-dependent exploration).
    pub(crate) fn noise_is_kept(&self) -> bool {
        matches!(self.head(), Head::StateDependent { .. })
    }

    /// Scales raw observations as the network wants them.
    pub(crate) fn normalize(&self, rows: &mut [f32]) {
        if let Some(normalizer) = &self.normalizer {
            normalizer.apply(rows);
        }
    }

    /// Values of observations that are normalised already.
    pub(crate) fn values(&self, observations: &[f32], rows: usize, scratch: &mut Scratch, out: &mut [f32]) {
        self.network.forward(&self.parameters, observations, rows, scratch);
        out[..rows].copy_from_slice(&scratch.values[..rows]);
    }

    /// Lowest and highest action, where actions are real numbers.
    pub(crate) fn bounds(&self) -> Option<(&[f32], &[f32])> {
        self.bounds.as_ref().map(|(low, high)| (low.as_slice(), high.as_slice()))
    }

    /// What the environment gets for the policy's actions: within its bounds.
    pub(crate) fn bounded(&self, actions: &[f32], out: &mut [f32]) {
        out.copy_from_slice(actions);
        if let Some((low, high)) = &self.bounds {
            for row in out.chunks_exact_mut(low.len()) {
                for ((action, low), high) in row.iter_mut().zip(low).zip(high) {
                    *action = action.clamp(*low, *high);
                }
            }
        }
    }
}

fn shape(policy: &MlpConfig, observations: &Space, actions: &Space) -> Shape {
    let input = match observations {
        Space::Discrete { n } => Input::OneHot(vec![*n]),
        Space::MultiDiscrete { nvec } => Input::OneHot(nvec.clone()),
        Space::MultiBinary { n } => Input::Dense(*n),
        Space::Box { low, .. } => Input::Dense(low.len()),
    };
    let latent = policy.hidden_sizes.last().copied().expect("the config has at least one hidden layer");
    let head = match actions {
        Space::Discrete { n } => Head::Categorical { n: *n },
        Space::MultiDiscrete { nvec } => Head::MultiCategorical { nvec: nvec.clone() },
        Space::MultiBinary { n } => Head::MultiCategorical { nvec: vec![2; *n] },
        Space::Box { low, .. } if policy.use_sde => Head::StateDependent { latent, size: low.len() },
        Space::Box { low, .. } => Head::Gaussian { size: low.len() },
    };
    let activation = match policy.activation {
        ActivationName::Tanh => Activation::Tanh,
        ActivationName::Relu => Activation::Relu,
        ActivationName::Elu => Activation::Elu,
        ActivationName::Gelu => Activation::Gelu,
    };
    Shape { input, hidden: policy.hidden_sizes.clone(), activation, shared: policy.shared_network, head }
}
