//! Elementary functions, written without calls, branches or fused
//! multiply-add, so that loops over them become vectors and every CPU gets the
//! same bits.

pub(crate) use rlxp_types::math::{LN_SERIES, LN2_HIGH, LN2_LOW, SQRT_HALF_BITS, ln};
pub(crate) use rlxp_types::{cpu::has_avx2, vectorised};

/// Adding this rounds to a whole number and leaves it in the low bits.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// Taylor coefficients of exp, r^7 down to r^2: |r| ≤ 0.347 leaves less than 6e-9.
pub(crate) const EXP_TAYLOR: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];

/// Splits exp(x) = 2^n · (1 + m) and gives (2^n, m); x beyond ±87 is clamped.
#[inline(always)]
pub(crate) fn exp_parts(x: f32) -> (f32, f32) {
    // Written as comparisons so that NaN passes through.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut q = EXP_TAYLOR[0];
    for coefficient in &EXP_TAYLOR[1..] {
        q = q * r + coefficient;
    }
    let m = (q * r) * r + r;
    let bits = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    (f32::from_bits(bits), m)
}

/// exp(x) to about 1e-7 relative; x is clamped to [−87, 88].
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let (scale, m) = exp_parts(x);
    scale * m + scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_ln_are_accurate_to_2e_7() {
        let mut x = -86.0_f32;
        while x < 87.0 {
            let wanted = f64::from(x).exp();
            let relative = (f64::from(exp(x)) - wanted).abs() / wanted;
            assert!(relative < 2e-7, "exp({x}) is off by {relative}");
            x += 0.0137;
        }
        let mut x = 1e-30_f32;
        while x < 1e30 {
            let wanted = f64::from(x).ln();
            let error = (f64::from(ln(x)) - wanted).abs() / wanted.abs().max(1.0);
            assert!(error < 2e-7, "ln({x}) is off by {error}");
            x *= 1.0017;
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn not_a_number_stays_visible() {
        assert!(exp(f32::NAN).is_nan());
        assert!(ln(f32::NAN).is_nan());
        assert!(ln(f32::INFINITY).is_nan());
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
        assert!(exp(f32::INFINITY) > 1e38);
    }
}
