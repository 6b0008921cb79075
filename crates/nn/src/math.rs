//! Elementary functions, written without calls, branches or fused
//! multiply-add, so that loops over them become vectors and every CPU gets the
//! same bits.

/// Whether this CPU has 256-bit vectors with fused multiply-add.
#[inline]
pub(crate) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Defines a function twice, for the plain CPU and for AVX2, and chooses
/// between them where it runs. The body is the same, so the results are too.
macro_rules! vectorised {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        $visible fn $name($($argument: $kind),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $kind),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($argument: $kind),*) $(-> $result)? {
                    body($($argument),*)
                }
                if $crate::math::has_avx2() {
                    // SAFETY: the CPU was just found to have AVX2.
                    return unsafe { wide($($argument),*) };
                }
            }
            body($($argument),*)
        }
    };
}
pub(crate) use vectorised;

/// The leading bits of ln 2, so few that products with exponents are exact.
pub(crate) const LN2_HIGH: f32 = 0.693_359_4;
/// The rest of ln 2.
pub(crate) const LN2_LOW: f32 = -2.121_944_4e-4;
/// Adding this rounds to a whole number and leaves it in the low bits.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// Taylor coefficients of exp, r^7 down to r^2: |r| ≤ 0.347 leaves less than 6e-9.
pub(crate) const EXP_TAYLOR: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];
/// Coefficients of ln((1+s)/(1−s)) = 2s + (2/3)s³ + …, s⁹ down to s³.
pub(crate) const LN_SERIES: [f32; 4] = [2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0];
/// √½ as bits: mantissas are taken from there to √2, where the series converges fastest.
pub(crate) const SQRT_HALF_BITS: u32 = 0x3f35_04f3;

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

/// The natural logarithm of a positive normal number, to about 1e-7.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
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
