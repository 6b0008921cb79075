//! Looking more than once: group-sequential bounds after Pocock (1977) and
//! O'Brien and Fleming (1979), computed by the recursive integration of
//! Armitage, McPherson and Rowe (1969), and an error budget that lasts for any
//! number of tests in a row.

use serde::{Deserialize, Serialize};

use crate::statistics::distribution::{normal_cdf, normal_density};
use crate::statistics::numeric::{Quadrature, root};

/// How the chance of a false claim is spread over the planned looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The same bound at every look: stops early, pays at the end.
    Pocock,
    /// Hardly any early stopping; the last look is almost the plain test.
    OBrienFleming,
}

/// The bounds on |z| at each of `looks` equally spaced looks that together
/// are crossed with probability `alpha` (two-sided) when nothing differs.
pub fn group_sequential_bounds(boundary: Boundary, looks: usize, alpha: f64) -> Vec<f64> {
    let shape = |constant: f64| -> Vec<f64> {
        let bound = |look: usize| match boundary {
            Boundary::Pocock => constant,
            Boundary::OBrienFleming => constant * (looks as f64 / look as f64).sqrt(),
        };
        (1..=looks).map(bound).collect()
    };
    if looks == 0 {
        return Vec::new();
    }
    shape(root(0.1, 10.0, |constant| crossing_probability(&shape(constant)) - alpha))
}

/// The chance that |z| crosses a bound at some look although nothing differs.
pub fn crossing_probability(bounds: &[f64]) -> f64 {
    // The sum of the scores after look k has variance k; `mass` carries its
    // distribution over the sums that did not cross so far.
    let mut nodes = vec![0.0];
    let mut mass = vec![1.0];
    let mut crossed = 0.0;
    for (look, bound) in bounds.iter().enumerate() {
        let edge = bound * ((look + 1) as f64).sqrt();
        for (node, mass) in nodes.iter().zip(&mass) {
            crossed += mass * (normal_cdf(node - edge) + normal_cdf(-edge - node));
        }
        // Beyond nine standard deviations there is no mass to integrate.
        let reach = edge.min(9.0 * ((look + 1) as f64).sqrt());
        let rule = Quadrature::new(72, -reach, reach);
        let density = |at: f64| -> f64 {
            nodes.iter().zip(&mass).map(|(node, mass)| mass * normal_density(at - node)).sum()
        };
        let next = rule.nodes.iter().zip(&rule.weights).map(|(at, weight)| weight * density(*at)).collect();
        (nodes, mass) = (rule.nodes, next);
    }
    crossed
}

/// The one-sided level of each look, when both directions together may be
/// claimed falsely with probability 2 × `alpha`.
pub fn look_levels(boundary: Boundary, looks: usize, alpha: f64) -> Vec<f64> {
    let bounds = group_sequential_bounds(boundary, looks, 2.0 * alpha);
    bounds.into_iter().map(|bound| normal_cdf(-bound)).collect()
}

/// The share of `alpha` that the `k`-th test of an endless row may use, k
/// counted from 1: all shares together are `alpha`.
pub fn spent_at(alpha: f64, k: u64) -> f64 {
    let k = k.max(1) as f64;
    alpha * 6.0 / (std::f64::consts::PI * k).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(boundary: Boundary, expected: &[f64]) {
        let got = group_sequential_bounds(boundary, expected.len(), 0.05);
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 7e-4, "{boundary:?}: got {got}, expected {expected}");
        }
    }

    #[test]
    fn bounds_have_the_published_values() {
        for (looks, expected) in [(2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413)] {
            check(Boundary::Pocock, &vec![expected; looks]);
        }
        check(Boundary::OBrienFleming, &[2.797, 1.977]);
        check(Boundary::OBrienFleming, &[3.471, 2.454, 2.004]);
        check(Boundary::OBrienFleming, &[4.049, 2.863, 2.337, 2.024]);
        check(Boundary::OBrienFleming, &[4.562, 3.226, 2.634, 2.281, 2.040]);
        let nominal: Vec<f64> =
            look_levels(Boundary::OBrienFleming, 3, 0.025).iter().map(|p| 2.0 * p).collect();
        for (got, expected, digits) in
            [(nominal[0], 0.00052, 5e-6), (nominal[1], 0.014, 5e-4), (nominal[2], 0.045, 5e-4)]
        {
            assert!((got - expected).abs() < digits, "got {got}, expected {expected}");
        }
    }

    #[test]
    fn one_look_is_the_plain_test_and_drawn_walks_cross_as_often_as_computed() {
        let plain = group_sequential_bounds(Boundary::Pocock, 1, 0.05);
        assert!((plain[0] - 1.959_963_984_540_054).abs() < 1e-9);
        assert!(group_sequential_bounds(Boundary::Pocock, 0, 0.05).is_empty());
        let bounds = group_sequential_bounds(Boundary::Pocock, 4, 0.1);
        let mut stream = rlxp_types::Stream::new(1, "test", 0);
        let walks = 40_000;
        let crossings = (0..walks).filter(|_| {
            let mut sum = 0.0;
            (1..=4).fold(false, |crossed, look| {
                sum += stream.normal_pair().0;
                crossed | (f64::abs(sum) / f64::from(look).sqrt() > bounds[look as usize - 1])
            })
        });
        let share = crossings.count() as f64 / f64::from(walks);
        assert!((share - 0.1).abs() < 0.006, "{share}");
    }

    #[test]
    fn the_budget_has_the_reference_values_and_never_runs_out() {
        for (k, expected) in [(1, 0.030_396), (2, 0.007_599), (3, 0.003_377), (4, 0.001_900), (5, 0.001_216)]
        {
            assert!((spent_at(0.05, k) - expected).abs() < 6e-7);
        }
        let spent: f64 = (1..100_000).map(|k| spent_at(0.05, k)).sum();
        assert!(spent < 0.05 && spent > 0.0499);
    }
}
