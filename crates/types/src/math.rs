//! Elementary functions in f32, written without calls, branches or fused
//! multiply-add, so that loops over them become vectors and every CPU gets the
//! same bits.

/// The leading bits of ln 2, so few that products with exponents are exact.
pub const LN2_HIGH: f32 = 0.693_359_4;
/// The rest of ln 2.
pub const LN2_LOW: f32 = -2.121_944_4e-4;
/// Coefficients of ln((1+s)/(1−s)) = 2s + (2/3)s³ + …, s⁹ down to s³.
pub const LN_SERIES: [f32; 4] = [2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0];
/// √½ as bits: mantissas are taken from there to √2, where the series converges fastest.
pub const SQRT_HALF_BITS: u32 = 0x3f35_04f3;

/// Taylor coefficients of sin(r)/r and cos(r) in r², from r² on: |r| ≤ π/4 leaves less than 3e-8.
const SINE: [f32; 4] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5_040.0, 1.0 / 362_880.0];
const COSINE: [f32; 4] = [-0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0];
/// Adding this rounds to a whole number and leaves it in the low bits.
const ROUND: f32 = 12_582_912.0;

/// The natural logarithm of a positive normal number, to about 1e-7.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let exponent = (x.to_bits().wrapping_sub(SQRT_HALF_BITS) as i32) >> 23;
    let mantissa = f32::from_bits(x.to_bits().wrapping_sub((exponent << 23) as u32));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let t = s * s;
    let mut q = LN_SERIES[0];
    for coefficient in &LN_SERIES[1..] {
        q = q * t + coefficient;
    }
    let series = (q * t) * s + 2.0 * s;
    let n = exponent as f32;
    // 0·x is zero, or NaN where x is not a number or infinite.
    n * LN2_HIGH + (n * LN2_LOW + series) + 0.0 * x
}

/// Sine and cosine of `turns` full turns, for a few turns at most.
#[inline(always)]
pub fn sin_cos_of_turns(turns: f32) -> (f32, f32) {
    let quarters = turns * 4.0;
    let shifted = quarters + ROUND;
    let r = (quarters - (shifted - ROUND)) * std::f32::consts::FRAC_PI_2;
    let square = r * r;
    let series = |coefficients: &[f32; 4]| {
        coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient)
    };
    let sine = r + r * square * series(&SINE);
    let cosine = 1.0 + square * series(&COSINE);
    // Odd quarters swap the two; bit masks instead of branches keep this a straight line of code.
    let quadrant = shifted.to_bits();
    let odd = 0u32.wrapping_sub(quadrant & 1);
    let (s, c) = (sine.to_bits(), cosine.to_bits());
    let s_sign = (quadrant & 2) << 30;
    let c_sign = (quadrant.wrapping_add(1) & 2) << 30;
    (f32::from_bits(((s & !odd) | (c & odd)) ^ s_sign), f32::from_bits(((c & !odd) | (s & odd)) ^ c_sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_of_turns_are_accurate_to_2e_7() {
        for step in 0..400_000 {
            let turns = step as f32 / 200_000.0;
            let (sine, cosine) = sin_cos_of_turns(turns);
            let (wanted_sine, wanted_cosine) = (f64::from(turns) * std::f64::consts::TAU).sin_cos();
            assert!((f64::from(sine) - wanted_sine).abs() < 2e-7, "sine of {turns} turns is {sine}");
            assert!((f64::from(cosine) - wanted_cosine).abs() < 2e-7, "cosine of {turns} turns is {cosine}");
        }
    }
}
