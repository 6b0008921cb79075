//! The distributions that the tests and intervals need: normal and Student's
//! t. Quantiles invert the distribution functions, so the two always agree.

use crate::statistics::numeric::root;
use crate::statistics::special::{beta_with_complement, gamma_upper};

/// Density of the standard normal distribution.
pub fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
}

/// The chance that a standard normal variable is at most `z`.
pub fn normal_cdf(z: f64) -> f64 {
    let beyond = 0.5 * gamma_upper(0.5, 0.5 * z * z);
    if z < 0.0 { beyond } else { 1.0 - beyond }
}

/// The point below which a standard normal variable lies with probability
/// `p`; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    let tail = p.min(1.0 - p);
    if tail == 0.0 {
        return if p < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Abramowitz and Stegun 26.2.23 is right to 4.5e-4; each of Halley's
    // steps triples the digits.
    let t = (-2.0 * tail.ln()).sqrt();
    let mut z = t
        - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for _ in 0..3 {
        let step = (normal_cdf(-z) - tail) / normal_density(z);
        z += step / (1.0 + step * z / 2.0);
    }
    if p < 0.5 { -z } else { z }
}

/// The chance that Student's t with `df` degrees of freedom exceeds `t`.
pub fn student_tail(t: f64, df: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    let beyond = 0.5 * beta_with_complement(df / 2.0, 0.5, df / (df + square), square / (df + square));
    if t < 0.0 { 1.0 - beyond } else { beyond }
}

/// The point below which Student's t with `df` degrees of freedom lies with
/// probability `p`.
pub fn student_quantile(p: f64, df: f64) -> f64 {
    let tail = p.min(1.0 - p);
    if tail <= 0.0 || tail.is_nan() {
        return if p == 0.0 {
            f64::NEG_INFINITY
        } else if p == 1.0 {
            f64::INFINITY
        } else {
            f64::NAN
        };
    }
    let mut high = 2.0;
    while student_tail(high, df) > tail {
        high *= 2.0;
    }
    let t = root(0.0, high, |t| student_tail(t, df) - tail);
    if p < 0.5 { -t } else { t }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(got: f64, expected: f64, tolerance: f64) {
        let error = (got - expected).abs() / expected.abs();
        assert!(error < tolerance, "got {got:e}, expected {expected:e}, relative error {error:e}");
    }

    #[test]
    fn the_normal_distribution_has_its_known_values() {
        for (z, expected) in [
            (-8.0, 6.220_960_574_271_784e-16),
            (-3.0, 0.001_349_898_031_630_094_5),
            (-1.0, 0.158_655_253_931_457_05),
            (0.3, 0.617_911_422_188_952_6),
            (1.96, 0.975_002_104_851_779_6),
            (5.0, 0.999_999_713_348_428_1),
        ] {
            check(normal_cdf(z), expected, 1e-12);
        }
        for (p, expected) in [
            (1e-10, -6.361_340_902_404_056),
            (0.001, -3.090_232_306_167_813_5),
            (0.025, -1.959_963_984_540_054_2),
            (0.3, -0.524_400_512_708_040_8),
            (0.9, 1.281_551_565_544_600_5),
            (0.999_999, 4.753_424_308_822_899),
        ] {
            check(normal_quantile(p), expected, 1e-11);
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert!(normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn quantiles_have_their_known_values() {
        for (p, df, expected) in [
            (0.975, 1.0, 12.706_204_736_174_694),
            (0.975, 4.5, 2.658_912_347_204_403_4),
            (0.9, 30.0, 1.310_415_025_391_395_5),
            (0.001, 7.0, -4.785_289_628_638_334),
            (0.6, 2.0, 0.288_675_134_594_812_8),
        ] {
            check(student_quantile(p, df), expected, 1e-12);
        }
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_distribution_functions(p in 1e-6..0.999_999f64, df in 1.0..200.0f64) {
            prop_assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-13);
            prop_assert!((student_tail(student_quantile(p, df), df) - (1.0 - p)).abs() < 1e-12);
        }
    }
}
