//! Activations and their slopes, on whole slices.
//!
//! Tanh is x·P(x²)/Q(x²) with coefficients fitted for the smallest largest
//! error on ±7.9, beyond which it is constant; with rounding it is good to 4e-7.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the layer kernels make of values, through the identity as weights.
    fn through_a_layer(function: Activation, values: &[f32]) -> (Vec<f32>, Vec<f32>) {
        use crate::kernel::{Linear, Panels, Rows, RowsMut, hidden_forward, prepare_forward};
        let layer = Linear { inputs: 1, outputs: 1, weight: &[1.0], bias: &[0.0] };
        let mut panels = Panels::hidden(1, 1);
        let mut y = vec![0.0; values.len() * 16];
        let mut slopes = vec![0.0; values.len() * 16];
        prepare_forward(layer, values.len(), &mut panels);
        let x = Rows { data: values, stride: 1 };
        let rows = RowsMut { data: &mut y, stride: 16 };
        hidden_forward(values.len(), x, layer, &panels, function, rows, &mut slopes);
        let first = |padded: &[f32]| padded.iter().step_by(16).copied().collect();
        (first(&y), first(&slopes))
    }

    fn swept() -> Vec<f32> {
        let linear = (-40_000..=40_000).map(|step| step as f32 * 0.0005);
        let tiny = (0..60).map(|power| 10.0_f32.powi(-power));
        let far = [1e3, 1e10, 1e30, f32::MAX, -1e3, -f32::MAX];
        linear.chain(tiny.clone()).chain(tiny.map(|value| -value)).chain(far).collect()
    }

    #[test]
    fn tanh_is_accurate_to_4e_7_everywhere_on_both_paths() {
        let values = swept();
        let (vectors, _) = through_a_layer(Activation::Tanh, &values);
        for (x, vector) in values.into_iter().zip(vectors) {
            let wanted = f64::from(x).tanh();
            for found in [tanh(x), vector] {
                let error = (f64::from(found) - wanted).abs();
                assert!(error < 4e-7, "tanh({x}) = {found}, off by {error}");
                assert!(error <= 1e-6 * wanted.abs() + 1e-40, "tanh({x}) = {found}, relatively off");
            }
        }
    }

    #[test]
    fn the_ends_and_not_a_number() {
        let values = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0];
        let (vectors, _) = through_a_layer(Activation::Tanh, &values);
        for found in [values.map(tanh).to_vec(), vectors] {
            assert!((found[0] - 1.0).abs() < 4e-7 && (found[1] + 1.0).abs() < 4e-7, "{found:?}");
            assert!(found[2].is_nan());
            assert_eq!(found[3], 0.0);
        }
        for function in [Activation::Relu, Activation::Elu, Activation::Gelu] {
            let (found, _) = through_a_layer(function, &[f32::NAN, -30.0, 30.0]);
            assert!(found[0].is_nan(), "{function:?} hides NaN");
            assert_eq!(found[2], 30.0, "{function:?}");
        }
    }

    #[test]
    fn elu_and_gelu_are_accurate_to_5e_7() {
        let values: Vec<f32> = (-20_000..=20_000).map(|step| step as f32 * 0.0005).collect();
        let (elus, _) = through_a_layer(Activation::Elu, &values);
        let (gelus, slopes) = through_a_layer(Activation::Gelu, &values);
        for (at, &x) in values.iter().enumerate() {
            let wide = f64::from(x);
            let close =
                |found: f32, wanted: f64| (f64::from(found) - wanted).abs() < 5e-7 * wide.abs().max(1.0);
            let elu = if wide > 0.0 { wide } else { wide.exp_m1() };
            assert!(close(elus[at], elu), "elu({x}) = {}", elus[at]);
            if x < 0.0 {
                assert!((f64::from(elus[at]) / elu - 1.0).abs() < 1e-6, "elu({x}) relatively off");
            }
            let distribution = normal_distribution(wide);
            let density = (-wide * wide / 2.0).exp() / std::f64::consts::TAU.sqrt();
            assert!(close(gelus[at], wide * distribution), "gelu({x}) = {}", gelus[at]);
            assert!(close(slopes[at], distribution + wide * density), "slope of gelu at {x}: {}", slopes[at]);
        }
    }

    /// Φ(x) = ½ + φ(x)·(x + x³/3 + x⁵/15 + …)
    fn normal_distribution(x: f64) -> f64 {
        if x.abs() > 7.0 {
            return if x > 0.0 { 1.0 } else { 0.0 };
        }
        let (mut term, mut sum) = (x, x);
        for n in 1..120 {
            term *= x * x / f64::from(2 * n + 1);
            sum += term;
        }
        0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
    }
}
