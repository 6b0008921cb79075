//! The special functions behind every distribution here: log-gamma (Stirling's
//! series after a shift), the regularised incomplete gamma function (series
//! and Legendre's continued fraction) and the regularised incomplete beta
//! function (continued fraction, evaluated by Lentz's method as modified by
//! Thompson and Barnett).
//!
//! Written here because the distributions need three functions only, to about
//! 1e-12 for parameters up to some thousands; the tests check them against
//! 40-digit values.

/// Terms of Stirling's series: B(2k) / (2k (2k-1)).
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];

/// Below this a continued fraction's denominator counts as zero.
const TINY: f64 = 1e-300;

/// The natural logarithm of the gamma function, for `x` > 0.
pub fn ln_gamma(x: f64) -> f64 {
    // From 12 on the series is exact to the last digit; smaller arguments get
    // there by the recurrence gamma(x + 1) = x gamma(x).
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 12.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let square = 1.0 / (shifted * shifted);
    let series = STIRLING.iter().rev().fold(0.0, |sum, term| sum * square + term) / shifted;
    (shifted - 0.5) * shifted.ln() - shifted + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

/// The natural logarithm of the beta function, for positive arguments.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The upper regularised incomplete gamma function Q(a, x), for `a` > 0 and
/// `x` ≥ 0: the chance that a gamma variable of shape `a` exceeds `x`.
pub fn gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 2.0 {
        let (mut term, mut sum, mut denominator) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-17 {
            denominator += 1.0;
            term *= x / denominator;
            sum += term;
        }
        return 1.0 - scale * sum;
    }
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for step in 1..10_000 {
        let step = f64::from(step);
        let numerator = -step * (step - a);
        b += 2.0;
        d = 1.0 / away_from_zero(numerator * d + b);
        c = away_from_zero(b + numerator / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    scale * fraction
}

/// The regularised incomplete beta function I_x(a, b), for positive `a` and
/// `b` and `x` in [0, 1]. `complement` is 1 - x, which callers know better
/// than subtraction gives it.
pub(crate) fn beta_with_complement(a: f64, b: f64, x: f64, complement: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if complement <= 0.0 {
        return 1.0;
    }
    // The fraction converges quickly only below the mean; above it the
    // function is mirrored.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_below_mean(b, a, complement, x);
    }
    beta_below_mean(a, b, x, complement)
}

fn beta_below_mean(a: f64, b: f64, x: f64, complement: f64) -> f64 {
    let scale = (a * x.ln() + b * complement.ln() - ln_beta(a, b)).exp() / a;
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    scale * fraction
}

fn away_from_zero(value: f64) -> f64 {
    if value.abs() < TINY { TINY } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beta_regularized(a: f64, b: f64, x: f64) -> f64 {
        beta_with_complement(a, b, x, 1.0 - x)
    }

    fn check(got: f64, expected: f64) {
        let error = (got - expected).abs() / expected.abs();
        assert!(error < 1e-12, "got {got:e}, expected {expected:e}, relative error {error:e}");
    }

    #[test]
    fn log_gamma_has_its_known_values() {
        for (x, expected) in [
            (0.1, 2.252_712_651_734_206),
            (0.5, 0.572_364_942_924_700_1),
            (1.5, -0.120_782_237_635_245_22),
            (3.25, 0.935_801_931_108_725_4),
            (10.0, 12.801_827_480_081_47),
            (123.5, 469.817_275_491_930_6),
            (2000.0, 13_198.923_448_054_265),
        ] {
            check(ln_gamma(x), expected);
        }
    }

    #[test]
    fn incomplete_beta_has_its_known_values() {
        for (a, b, x, expected) in [
            (2.5, 0.5, 0.3, 0.018_927_124_071_945_654),
            (0.5, 0.5, 0.9, 0.795_167_235_300_866_5),
            (10.0, 3.0, 0.7, 0.252_815_347_855),
            (200.0, 0.5, 0.99, 0.045_094_107_137_079_78),
            (3.0, 150.0, 0.01, 0.195_576_382_854_836_63),
            (50.0, 50.0, 0.5, 0.5),
        ] {
            check(beta_regularized(a, b, x), expected);
        }
        assert_eq!(beta_regularized(2.0, 3.0, 0.0), 0.0);
        assert_eq!(beta_regularized(2.0, 3.0, 1.0), 1.0);
    }

    #[test]
    fn incomplete_gamma_has_its_known_values() {
        for (a, x, expected) in [
            (0.5, 0.1, 0.654_720_846_018_577),
            (0.5, 4.0, 0.004_677_734_981_047_266),
            (3.0, 2.0, 0.676_676_416_183_063_5),
            (10.0, 30.0, 7.121_750_862_815_577e-6),
            (100.0, 90.0, 0.841_779_010_813_569_8),
        ] {
            check(gamma_upper(a, x), expected);
        }
        assert_eq!(gamma_upper(2.0, 0.0), 1.0);
    }

    #[test]
    fn the_two_branches_meet() {
        // Where the methods change over, both sides must agree.
        for a in [0.5, 2.0, 17.0] {
            let at = a + 2.0;
            let (below, above) = (gamma_upper(a, at - 1e-12), gamma_upper(a, at + 1e-12));
            assert!((below - above).abs() < 1e-11, "a {a}: {below} and {above}");
        }
        for (a, b) in [(0.5, 3.0), (4.0, 4.0), (60.0, 0.5)] {
            let at = (a + 1.0) / (a + b + 2.0);
            let (below, above) = (beta_regularized(a, b, at - 1e-12), beta_regularized(a, b, at + 1e-12));
            assert!((below - above).abs() < 1e-10, "a {a}, b {b}: {below} and {above}");
        }
    }
}
