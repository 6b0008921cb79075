//! The Adam optimiser (Kingma and Ba, 2015) and the global gradient norm, over
//! flat buffers.

use crate::math::vectorised;

const BETA_FIRST: f64 = 0.9;
const BETA_SECOND: f64 = 0.999;

/// Running moments of the gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    step: u64,
}

/// Saved moments do not fit the network.
#[derive(Debug, thiserror::Error)]
#[error("the optimiser has {wanted} parameters, the saved moments have {first} and {second}")]
pub struct MomentsMismatch {
    wanted: usize,
    first: usize,
    second: usize,
}

impl Adam {
    /// Zero moments for that many parameters.
    pub fn new(parameter_count: usize) -> Self {
        Self { first: vec![0.0; parameter_count], second: vec![0.0; parameter_count], step: 0 }
    }

    /// Running mean of the gradients.
    pub fn first(&self) -> &[f32] {
        &self.first
    }

    /// Running mean of the squared gradients.
    pub fn second(&self) -> &[f32] {
        &self.second
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Takes the state that `first`, `second` and `steps` gave.
    pub fn restore(&mut self, first: &[f32], second: &[f32], step: u64) -> Result<(), MomentsMismatch> {
        if first.len() != self.first.len() || second.len() != self.second.len() {
            return Err(MomentsMismatch {
                wanted: self.first.len(),
                first: first.len(),
                second: second.len(),
            });
        }
        self.first.copy_from_slice(first);
        self.second.copy_from_slice(second);
        self.step = step;
        Ok(())
    }

    /// Moves the parameters against the gradients. Epsilon is added to the root
    /// of the bias-corrected second moment, outside the root.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &[f32], learning_rate: f32, epsilon: f32) {
        assert_eq!(parameters.len(), self.first.len(), "one moment per parameter");
        assert_eq!(gradients.len(), self.first.len(), "one gradient per parameter");
        self.step += 1;
        let exponent = self.step.min(i32::MAX as u64) as i32;
        let rate = f64::from(learning_rate) / (1.0 - BETA_FIRST.powi(exponent));
        let correction = 1.0 / (1.0 - BETA_SECOND.powi(exponent)).sqrt();
        update(
            parameters,
            gradients,
            &mut self.first,
            &mut self.second,
            rate as f32,
            correction as f32,
            epsilon,
        );
    }
}

vectorised! {
    fn update(parameters: &mut [f32], gradients: &[f32], first: &mut [f32], second: &mut [f32], rate: f32, correction: f32, epsilon: f32) {
        const KEEP_FIRST: f32 = BETA_FIRST as f32;
        const TAKE_FIRST: f32 = (1.0 - BETA_FIRST) as f32;
        const KEEP_SECOND: f32 = BETA_SECOND as f32;
        const TAKE_SECOND: f32 = (1.0 - BETA_SECOND) as f32;
        for (((parameter, &gradient), first), second) in parameters.iter_mut().zip(gradients).zip(first).zip(second) {
            *first = KEEP_FIRST * *first + TAKE_FIRST * gradient;
            *second = KEEP_SECOND * *second + TAKE_SECOND * (gradient * gradient);
            *parameter -= rate * *first / (second.sqrt() * correction + epsilon);
        }
    }
}

vectorised! {
    /// The Euclidean norm of all gradients together, summed in f64 in a fixed order.
    pub fn global_norm(gradients: &[f32]) -> f32 {
        let mut lanes = [0.0_f64; 16];
        let mut chunks = gradients.chunks_exact(16);
        for chunk in &mut chunks {
            for (sum, &gradient) in lanes.iter_mut().zip(chunk) {
                *sum += f64::from(gradient) * f64::from(gradient);
            }
        }
        for (sum, &gradient) in lanes.iter_mut().zip(chunks.remainder()) {
            *sum += f64::from(gradient) * f64::from(gradient);
        }
        lanes.iter().sum::<f64>().sqrt() as f32
    }
}

/// Scales the gradients down to norm `max` if they are longer, and gives the
/// norm that they had.
pub fn clip_global_norm(gradients: &mut [f32], max: f32) -> f32 {
    let norm = global_norm(gradients);
    if norm > max {
        let scale = max / norm;
        gradients.iter_mut().for_each(|gradient| *gradient *= scale);
    }
    norm
}
