//! A root finder that cannot leave its bracket (Chandrupatla 1997).

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_found_to_the_last_digits() {
        assert!((root(0.0, 2.0, |x| x * x - 2.0) - 2.0f64.sqrt()).abs() < 1e-15);
        assert!((root(-10.0, 10.0, |x| x.tanh() - 0.5) - 0.5f64.atanh()).abs() < 1e-15);
        assert_eq!(root(0.0, 1.0, |x| x), 0.0);
        // Flat almost everywhere: a secant method would crawl.
        assert!((root(0.0, 100.0, |x| (x - 3.0).powi(9)) - 3.0).abs() < 1e-2);
    }
}
