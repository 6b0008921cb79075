//! Activations and their slopes, on whole slices.
//!
//! Tanh is x·P(x²)/Q(x²) with coefficients fitted for the smallest largest
//! error on ±7.9, beyond which it is ±1 to 3e-7; the fit is good to 1.2e-7.
//! Gelu uses the normal distribution function by formula 7.1.26 of Abramowitz
//! and Stegun, good to 1.5e-7.

use crate::math::{self, vectorised};
use crate::shape::Activation;

/// Where tanh is cut off.
pub(super) const TANH_LIMIT: f32 = 7.9;
/// Coefficients of P, lowest power first.
pub(super) const TANH_P: [f32; 4] = [0.999_999_4, 0.129_227_6, 0.002_948_584, 1.141_531_9e-5];
/// Coefficients of Q after the leading 1.
pub(super) const TANH_Q: [f32; 4] = [0.462_558_8, 0.023_803_826, 2.384_048e-4, 2.457_418_4e-7];

#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    // Comparisons rather than `clamp`, so that NaN passes through.
    let x = if x > TANH_LIMIT { TANH_LIMIT } else { x };
    let x = if x < -TANH_LIMIT { -TANH_LIMIT } else { x };
    let t = x * x;
    let p = ((TANH_P[3] * t + TANH_P[2]) * t + TANH_P[1]) * t + TANH_P[0];
    let q = (((TANH_Q[3] * t + TANH_Q[2]) * t + TANH_Q[1]) * t + TANH_Q[0]) * t + 1.0;
    x * p / q
}

#[inline(always)]
fn elu(x: f32) -> f32 {
    // With exp(x) = s·(1 + m), s·m + (s − 1) keeps small x accurate.
    let (s, m) = math::exp_parts(x);
    if x > 0.0 { x } else { s * m + (s - 1.0) }
}

/// Gelu and its slope.
#[inline(always)]
fn gelu(x: f32) -> (f32, f32) {
    let magnitude = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * magnitude);
    let polynomial =
        ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    let exponential = math::exp(-magnitude * magnitude);
    let tail = 0.5 * polynomial * exponential;
    let distribution = if x < 0.0 { tail } else { 1.0 - tail };
    let density = 0.398_942_3 * exponential;
    (x * distribution, distribution + x * density)
}

vectorised! {
    /// Replaces values by their activation; gelu leaves its slope in `slopes`.
    pub(super) fn forward(function: Activation, values: &mut [f32], slopes: &mut [f32]) {
        match function {
            Activation::Tanh => values.iter_mut().for_each(|x| *x = tanh(*x)),
            Activation::Relu => values.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            Activation::Elu => values.iter_mut().for_each(|x| *x = elu(*x)),
            Activation::Gelu => {
                for (x, slope) in values.iter_mut().zip(slopes) {
                    (*x, *slope) = gelu(*x);
                }
            }
        }
    }
}

vectorised! {
    /// Multiplies `d` by the slope at the activations `y`.
    pub(super) fn backward(function: Activation, y: &[f32], slopes: &[f32], d: &mut [f32]) {
        match function {
            Activation::Tanh => d.iter_mut().zip(y).for_each(|(d, y)| *d *= 1.0 - y * y),
            Activation::Relu => d.iter_mut().zip(y).for_each(|(d, y)| *d *= if *y > 0.0 { 1.0 } else { 0.0 }),
            Activation::Elu => d.iter_mut().zip(y).for_each(|(d, y)| *d *= if *y > 0.0 { 1.0 } else { *y + 1.0 }),
            Activation::Gelu => d.iter_mut().zip(slopes).for_each(|(d, slope)| *d *= slope),
        }
    }
}
