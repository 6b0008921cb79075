//! Sine and cosine in plain arithmetic, so that loops over copies vectorise
//! and every machine gives the same bits (the system's library does neither).

use std::f64::consts::{FRAC_2_PI, PI, TAU};

const FRAC_1_TAU: f64 = 1.0 / TAU;

/// π/2 in three parts; the first two have 33 bits, so that products with
/// quarter counts below 2^20 are exact.
const HALF_PI_HIGH: f64 = f64::from_bits(0x3FF9_21FB_5440_0000);
const HALF_PI_MIDDLE: f64 = f64::from_bits(0x3DD0_B461_1A60_0000);
const HALF_PI_LOW: f64 = f64::from_bits(0x3BA3_198A_2E03_7073);

/// Adding this number rounds to a whole number and leaves it in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// Reciprocals of factorials: the Taylor series of both functions on ±π/4,
/// cut where the next term is below 1e-16.
const SINE: [f64; 7] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
];
const COSINE: [f64; 7] = [
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

/// The sum of `coefficients[i] · x^i`.
#[inline(always)]
fn polynomial(x: f64, coefficients: &[f64; 7]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// Sine and cosine of `x`, within 1e-15 for |x| up to a million. Farther out
/// the error grows like the spacing of the numbers around x.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    let shifted = x * FRAC_2_PI + ROUNDER;
    let quarters = shifted - ROUNDER;
    let quadrant = shifted.to_bits();
    let r = ((x - quarters * HALF_PI_HIGH) - quarters * HALF_PI_MIDDLE) - quarters * HALF_PI_LOW;
    let square = r * r;
    let sine = r + r * square * polynomial(square, &SINE);
    let cosine = 1.0 - 0.5 * square + square * square * polynomial(square, &COSINE);
    // Odd quadrants swap the two; bit masks instead of branches keep this a
    // straight line of code.
    let odd = 0u64.wrapping_sub(quadrant & 1);
    let (s, c) = (sine.to_bits(), cosine.to_bits());
    let s_sign = (quadrant & 2) << 62;
    let c_sign = (quadrant.wrapping_add(1) & 2) << 62;
    (f64::from_bits(((s & !odd) | (c & odd)) ^ s_sign), f64::from_bits(((c & !odd) | (s & odd)) ^ c_sign))
}

/// The same angle within ±π; one that lies there already keeps its bits.
/// Rounding instead of repeated subtraction: no restored value makes this loop
/// for ever, and angles of any size stay finite.
#[inline(always)]
pub fn wrap(angle: f64) -> f64 {
    let turns = (angle * FRAC_1_TAU + ROUNDER) - ROUNDER;
    let r = ((angle - turns * (4.0 * HALF_PI_HIGH)) - turns * (4.0 * HALF_PI_MIDDLE))
        - turns * (4.0 * HALF_PI_LOW);
    let r = r.clamp(-PI, PI);
    if angle.abs() <= PI { angle } else { r }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library_to_1e_15() {
        let near = (-400_000..=400_000).map(|i| f64::from(i) * 2.5e-5);
        let far = (-100_000..=100_000).map(|i| f64::from(i) * 9.999);
        let corners = (-64..=64).map(|i| f64::from(i) * std::f64::consts::FRAC_PI_4);
        for x in near.chain(far).chain(corners) {
            let (sine, cosine) = sin_cos(x);
            assert!((sine - x.sin()).abs() <= 1e-15, "sin({x}) gave {sine}");
            assert!((cosine - x.cos()).abs() <= 1e-15, "cos({x}) gave {cosine}");
        }
    }

    #[test]
    fn wrapped_angles_are_the_same_angle_within_half_a_turn() {
        for step in -200_000..=200_000 {
            let angle = f64::from(step) * 3.1e-3;
            let wrapped = wrap(angle);
            assert!(wrapped.abs() <= PI, "{angle} gave {wrapped}");
            let turns = (angle - wrapped) / TAU;
            assert!((turns - turns.round()).abs() < 1e-12, "{angle} gave {wrapped}");
            if angle.abs() <= PI {
                assert_eq!(wrapped.to_bits(), angle.to_bits());
            }
        }
        for angle in [f64::MAX, -1e300, 1e17, f64::INFINITY] {
            assert!(wrap(angle).abs() <= PI || wrap(angle).is_nan(), "{angle}");
        }
    }

    #[test]
    fn any_input_gives_some_answer() {
        for x in [f64::MAX, f64::MIN, f64::INFINITY, f64::NAN, 1e300, -0.0, f64::MIN_POSITIVE] {
            let _ = sin_cos(x);
        }
    }
}
