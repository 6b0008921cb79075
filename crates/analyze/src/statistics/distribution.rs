//! The distributions that the tests and intervals need: normal, Student's t,
//! and the noncentral t of power calculations. Quantiles
//! invert the distribution functions, so the two always agree.

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

/// The chance that the noncentral t with `df` degrees of freedom and
/// noncentrality `delta` is at most `t`: the normal probability averaged over
/// the distribution of the estimated standard deviation.
pub fn noncentral_t_cdf(t: f64, df: f64, delta: f64) -> f64 {
    // With s the estimated standard deviation and u = ln s, the density of u
    // is proportional to exp(df (u - expm1(2u) / 2)), peaks at 0 and falls
    // fast on both sides. The trapezium rule converges exponentially on such
    // a function, and dividing by the weights' sum spares the constant.
    let reach = (40.0 / df).sqrt();
    let (low, high) = (-(reach + 40.0 / df), reach);
    let finest = (0.2 / (2.0 * df).sqrt()).min(0.25 / t.abs().max(1.0));
    let intervals = ((high - low) / finest).ceil();
    let step = (high - low) / intervals;
    let (mut total, mut sum) = (0.0, 0.0);
    for index in 0..=intervals as u64 {
        let u = low + step * index as f64;
        let weight = (df * (u - 0.5 * (2.0 * u).exp_m1())).exp();
        total += weight;
        sum += weight * normal_cdf(t * u.exp() - delta);
    }
    sum / total
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

    #[test]
    fn the_noncentral_t_has_its_known_values() {
        for (t, df, delta, expected) in [
            (2.0, 4.0, 1.0, 0.764_567_453_824_324_3),
            (2.1, 18.0, 2.5, 0.342_359_202_364_232_7),
            (-2.0, 10.0, 1.0, 0.003_302_485_766_631_587),
            (7.0, 9.0, 4.05, 0.930_062_748_614_889),
            (1.5, 1.0, 0.5, 0.685_827_028_993_783_7),
            (50.0, 3.0, 20.0, 0.922_866_878_558_161_5),
        ] {
            check(noncentral_t_cdf(t, df, delta), expected, 1e-11);
        }
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_distribution_functions(p in 1e-6..0.999_999f64, df in 1.0..200.0f64) {
            prop_assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-13);
            prop_assert!((student_tail(student_quantile(p, df), df) - (1.0 - p)).abs() < 1e-12);
        }

        #[test]
        fn the_noncentral_t_without_shift_is_students(t in -6.0..6.0f64, df in 1.0..80.0f64) {
            let got = noncentral_t_cdf(t, df, 0.0);
            prop_assert!((got - (1.0 - student_tail(t, df))).abs() < 1e-11, "{got}");
        }
    }
}
