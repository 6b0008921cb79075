//! Many p values at once: adjustments that keep the chance of any false claim
//! (Bonferroni; Holm 1979) or the expected share of false claims (Benjamini
//! and Hochberg 1995; Benjamini and Yekutieli 2001) at the level asked for,
//! and Dunnett's critical value for many arms against one control.
//!
//! An adjusted p value is compared with the level directly.

use crate::distribution::{normal_cdf, normal_density};
use crate::numeric::{Quadrature, root};

/// Each p value times their number.
pub fn bonferroni(p: &[f64]) -> Vec<f64> {
    p.iter().map(|value| (value * p.len() as f64).min(1.0)).collect()
}

/// Holm's step-down adjustment: never weaker than Bonferroni's and valid
/// under any dependence.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![0.0; p.len()];
    let mut running = 0.0f64;
    for (place, index) in order.into_iter().enumerate() {
        running = running.max(p[index] * (p.len() - place) as f64).min(1.0);
        adjusted[index] = running;
    }
    adjusted
}

/// Benjamini and Hochberg's step-up adjustment of the false discovery rate,
/// for independent or positively dependent tests.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    step_up(p, 1.0)
}

/// Benjamini and Yekutieli's adjustment, valid under any dependence.
pub fn benjamini_yekutieli(p: &[f64]) -> Vec<f64> {
    step_up(p, (1..=p.len()).map(|rank| 1.0 / rank as f64).sum())
}

fn step_up(p: &[f64], penalty: f64) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut running = 1.0f64;
    for (place, index) in ascending(p).into_iter().enumerate().rev() {
        running = running.min(p[index] * (penalty * (p.len() as f64 / (place + 1) as f64)));
        adjusted[index] = running;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| p[*left].total_cmp(&p[*right]));
    order
}

/// Dunnett's one-sided critical t for `arms` arms of `per_arm` runs, each
/// compared with one control of the same size: the largest of the `arms`
/// statistics exceeds it with probability `alpha` when nothing differs.
pub fn dunnett_critical(arms: u32, per_arm: u32, alpha: f64) -> f64 {
    let df = f64::from(arms + 1) * (f64::from(per_arm) - 1.0);
    // The control's mean and the pooled deviation are shared: average over
    // both. u is the logarithm of the deviation, as in the noncentral t.
    let reach = (40.0 / df).sqrt();
    let deviations = Quadrature::new(48, -(reach + 40.0 / df).min(4.0), reach);
    let controls = Quadrature::new(64, -8.5, 8.5);
    let density = |u: f64| (df * (u - 0.5 * (2.0 * u).exp_m1())).exp();
    let total = deviations.integrate(density);
    let below = |critical: f64| {
        let given = |u: f64| {
            let reach = std::f64::consts::SQRT_2 * critical * u.exp();
            controls.integrate(|z| normal_density(z) * normal_cdf(reach + z).powi(arms as i32))
        };
        deviations.integrate(|u| density(u) * given(u)) / total
    };
    root(0.0, 60.0, |critical| below(critical) - (1.0 - alpha))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const P: [f64; 8] = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205];

    fn check(got: &[f64], expected: [f64; 8]) {
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 6e-7, "got {got}, expected {expected}");
        }
    }

    #[test]
    fn adjustments_have_the_reference_values() {
        check(&bonferroni(&P), [0.008, 0.064, 0.312, 0.328, 0.336, 0.48, 0.592, 1.0]);
        check(&holm(&P), [0.008, 0.056, 0.234, 0.234, 0.234, 0.234, 0.234, 0.234]);
        check(&benjamini_hochberg(&P), [0.008, 0.032, 0.0672, 0.0672, 0.0672, 0.08, 0.084_571, 0.205]);
        check(
            &benjamini_yekutieli(&P),
            [0.021_743, 0.086_971, 0.182_64, 0.182_64, 0.182_64, 0.217_429, 0.229_853, 0.557_161],
        );
    }

    #[test]
    fn dunnett_agrees_with_quadrature_done_elsewhere() {
        for (arms, per_arm, expected, drawn) in [
            (3, 5, 2.227_115_99, 2.219),
            (3, 10, 2.132_664_74, 2.148),
            (5, 5, 2.361_727_68, 2.350),
            (5, 10, 2.289_195_39, 2.297),
            (10, 5, 2.531_586_09, 2.519),
            (10, 10, 2.484_838_73, 2.487),
        ] {
            let got = dunnett_critical(arms, per_arm, 0.05);
            assert!((got - expected).abs() < 1e-6, "{arms} × {per_arm}: got {got}, expected {expected}");
            // Values that were drawn at random, good to their own noise only.
            assert!((got - drawn).abs() < 0.016, "{arms} × {per_arm}: got {got}, drawn {drawn}");
        }
    }

    proptest! {
        #[test]
        fn adjustments_are_ordered_and_follow_their_p_values(p in proptest::collection::vec(0.0..1.0f64, 0..20)) {
            let (strict, stepped, rate) = (bonferroni(&p), holm(&p), benjamini_hochberg(&p));
            for i in 0..p.len() {
                prop_assert!(strict[i] >= stepped[i] && stepped[i] >= rate[i] && rate[i] >= p[i]);
                prop_assert!(benjamini_yekutieli(&p)[i] >= rate[i]);
            }
            let mut turned = p.clone();
            turned.reverse();
            let mut back = holm(&turned);
            back.reverse();
            prop_assert_eq!(back, stepped);
        }
    }
}
