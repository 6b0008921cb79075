//! What choosing the best does to its score: the expected maximum of equally
//! good candidates (the winner's curse).

use crate::statistics::distribution::{normal_cdf, normal_density};

/// How many standard errors the best of `candidates` equally good ones lies
/// above their common mean, on average.
pub fn expected_maximum(candidates: u32) -> f64 {
    if candidates == 0 {
        return f64::NAN;
    }
    let k = f64::from(candidates);
    let density = |z: f64| k * normal_density(z) * normal_cdf(z).powf(k - 1.0);
    // The integrand dies away at both ends, where the trapezium rule is as
    // good as any and the cheapest.
    let step = 0.125;
    (-72..=72).map(|index| f64::from(index) * step).map(|z| step * z * density(z)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_maxima_have_the_reference_values() {
        for (candidates, expected) in [
            (1, 0.0),
            (2, 0.564_190),
            (3, 0.846_284),
            (5, 1.162_964),
            (8, 1.423_600),
            (10, 1.538_753),
            (16, 1.765_991),
            (20, 1.867_475),
            (32, 2.069_669),
            (50, 2.249_074),
            (80, 2.426_774),
            (100, 2.507_594),
        ] {
            let got = expected_maximum(candidates);
            assert!((got - expected).abs() < 6e-7, "{candidates}: got {got}, expected {expected}");
        }
    }
}
