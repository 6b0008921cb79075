//! Two tools that the distributions share: a root finder that cannot leave
//! its bracket (Chandrupatla 1997) and Gauss–Legendre quadrature.

/// A root of `function` between `low` and `high`, where it has opposite signs
/// (a zero at either end counts). Exact to about two units in the last place.
pub(crate) fn root(low: f64, high: f64, mut function: impl FnMut(f64) -> f64) -> f64 {
    let (mut b, mut a) = (low, high);
    let (mut fb, mut fa) = (function(b), function(a));
    if fb == 0.0 {
        return b;
    }
    if fa == 0.0 {
        return a;
    }
    let mut fraction = 0.5;
    for _ in 0..200 {
        let x = a + fraction * (b - a);
        let fx = function(x);
        // `a` and `b` keep the root between them; `c` is the point before.
        let (c, fc);
        if (fx > 0.0) == (fa > 0.0) {
            (c, fc) = (a, fa);
        } else {
            (c, fc) = (b, fb);
            (b, fb) = (a, fa);
        }
        (a, fa) = (x, fx);
        let (best, fbest) = if fa.abs() < fb.abs() { (a, fa) } else { (b, fb) };
        let tolerance = 2.0 * f64::EPSILON * best.abs() + f64::MIN_POSITIVE;
        let limit = tolerance / (b - a).abs();
        if limit > 0.5 || fbest == 0.0 {
            return best;
        }
        let xi = (a - b) / (c - b);
        let phi = (fa - fb) / (fc - fb);
        // Inverse quadratic interpolation where it is known to help, else halve.
        fraction = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            fa / (fb - fa) * (fc / (fb - fc)) + (c - a) / (b - a) * (fa / (fc - fa)) * (fb / (fc - fb))
        } else {
            0.5
        };
        fraction = fraction.clamp(limit, 1.0 - limit);
    }
    if fa.abs() < fb.abs() { a } else { b }
}

/// Nodes and weights of Gauss–Legendre quadrature on an interval.
pub(crate) struct Quadrature {
    /// Where the integrand is looked at, in rising order.
    pub(crate) nodes: Vec<f64>,
    /// What each look counts.
    pub(crate) weights: Vec<f64>,
}

impl Quadrature {
    /// The rule of `order` points on [`low`, `high`].
    pub(crate) fn new(order: usize, low: f64, high: f64) -> Self {
        let (mut nodes, mut weights) = (vec![0.0; order], vec![0.0; order]);
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        for index in 0..order.div_ceil(2) {
            let mut x = (std::f64::consts::PI * (index as f64 + 0.75) / (order as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let value;
                (value, slope) = legendre(order, x);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            let weight = half * 2.0 / ((1.0 - x * x) * slope * slope);
            let mirror = order - 1 - index;
            (nodes[index], weights[index]) = (middle - half * x, weight);
            (nodes[mirror], weights[mirror]) = (middle + half * x, weight);
        }
        Self { nodes, weights }
    }
}

/// The Legendre polynomial of degree `order` at `x`, and its slope there.
fn legendre(order: usize, x: f64) -> (f64, f64) {
    let (mut previous, mut current) = (1.0, x);
    for degree in 2..=order {
        let degree = degree as f64;
        (previous, current) =
            (current, ((2.0 * degree - 1.0) * x * current - (degree - 1.0) * previous) / degree);
    }
    (current, order as f64 * (x * current - previous) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Quadrature {
        fn integrate(&self, mut function: impl FnMut(f64) -> f64) -> f64 {
            self.nodes.iter().zip(&self.weights).map(|(node, weight)| weight * function(*node)).sum()
        }
    }

    #[test]
    fn roots_are_found_to_the_last_digits() {
        assert!((root(0.0, 2.0, |x| x * x - 2.0) - 2.0f64.sqrt()).abs() < 1e-15);
        assert!((root(-10.0, 10.0, |x| x.tanh() - 0.5) - 0.5f64.atanh()).abs() < 1e-15);
        assert_eq!(root(0.0, 1.0, |x| x), 0.0);
        // Flat almost everywhere: a secant method would crawl.
        assert!((root(0.0, 100.0, |x| (x - 3.0).powi(9)) - 3.0).abs() < 1e-2);
    }

    #[test]
    fn quadrature_is_exact_for_polynomials_and_good_for_smooth_functions() {
        let rule = Quadrature::new(8, -1.0, 3.0);
        // x^15 is the highest power that 8 points integrate exactly.
        assert!((rule.integrate(|x| x.powi(15)) / ((3f64.powi(16) - 1.0) / 16.0) - 1.0).abs() < 1e-13);
        assert!((Quadrature::new(33, 0.0, 2.0).integrate(f64::exp) - (2f64.exp() - 1.0)).abs() < 1e-13);
    }
}
