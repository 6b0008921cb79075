//! Tests on means: Welch's t with the Welch–Satterthwaite degrees of freedom,
//! the paired t, the t interval of one mean, and the standardised effects of
//! Cohen and Hedges.

use serde::Serialize;

use crate::statistics::aggregate::{mean, variance};
use crate::statistics::distribution::{student_quantile, student_tail};

/// Which departure from "no difference" counts as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alternative {
    /// The first group is larger.
    Greater,
    /// The first group is smaller.
    Less,
    /// Either.
    TwoSided,
}

/// A t test: its p values and intervals follow from these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TTest {
    /// The estimated mean or difference of means.
    pub difference: f64,
    pub standard_error: f64,
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl TTest {
    fn new(difference: f64, standard_error: f64, df: f64) -> Option<Self> {
        // Without any spread there is no t; a certain-looking p would lie.
        let usable = standard_error > 0.0 && standard_error.is_finite() && difference.is_finite();
        usable.then(|| Self { difference, standard_error, t: difference / standard_error, df })
    }

    pub fn p(&self, alternative: Alternative) -> f64 {
        match alternative {
            Alternative::Greater => student_tail(self.t, self.df),
            Alternative::Less => student_tail(-self.t, self.df),
            Alternative::TwoSided => 2.0 * student_tail(self.t.abs(), self.df),
        }
    }

    /// The two-sided interval of the difference.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let half = student_quantile(0.5 + confidence / 2.0, self.df) * self.standard_error;
        (self.difference - half, self.difference + half)
    }
}

/// Welch's test of mean(`x`) - mean(`y`). `None` with fewer than two values
/// in a group or no spread at all.
pub fn welch(x: &[f64], y: &[f64]) -> Option<TTest> {
    if x.len() < 2 || y.len() < 2 {
        return None;
    }
    let (nx, ny) = (x.len() as f64, y.len() as f64);
    let (vx, vy) = (variance(x) / nx, variance(y) / ny);
    let df = (vx + vy).powi(2) / (vx * vx / (nx - 1.0) + vy * vy / (ny - 1.0));
    TTest::new(mean(x) - mean(y), (vx + vy).sqrt(), df)
}

/// The t test of one mean against zero.
pub fn one_sample_t(values: &[f64]) -> Option<TTest> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    TTest::new(mean(values), (variance(values) / count).sqrt(), count - 1.0)
}

/// The paired test of mean(x - y). `None` for groups of different size, fewer
/// than two pairs or differences without spread.
pub fn paired_t(x: &[f64], y: &[f64]) -> Option<TTest> {
    if x.len() != y.len() {
        return None;
    }
    one_sample_t(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [10.0, 12.0, 9.0, 11.0, 13.0];
    const B: [f64; 5] = [8.0, 9.0, 7.0, 10.0, 9.0];

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-12, "got {got}, expected {expected}");
    }

    #[test]
    fn welch_has_the_reference_values() {
        let test = welch(&A, &B).unwrap();
        close(test.t, 2.752_988_806_446_741_6);
        close(test.df, 7.274_559_193_954_66);
        close(test.p(Alternative::TwoSided), 0.027_329_281_262_030_918);
        let (low, high) = test.interval(0.95);
        close(low, 0.354_236_139_197_377_84);
        close(high, 4.445_763_860_802_623);
    }

    #[test]
    fn the_paired_test_has_the_reference_values() {
        let test = paired_t(&A, &B).unwrap();
        close(test.t, 4.706_787_243_316_416);
        close(test.p(Alternative::TwoSided), 0.009_261_696_759_514_423);
        close(test.p(Alternative::Greater), 0.004_630_848_379_757_212);
        let (low, high) = test.interval(0.95);
        close(low, 0.984_285_223_017_727_7);
        close(high, 3.815_714_776_982_272);
    }

    #[test]
    fn the_interval_of_one_mean_has_the_reference_values() {
        let test = one_sample_t(&[0.81, 0.92, 0.85, 0.40, 0.88, 0.95, 0.79, 0.90, 0.86, 0.91]).unwrap();
        let (low, high) = test.interval(0.95);
        assert!((low - 0.714_040_5).abs() < 5e-8 && (high - 0.939_959_5).abs() < 5e-8, "{low} {high}");
    }

    #[test]
    fn too_little_or_constant_data_has_no_test() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(paired_t(&[1.0, 2.0], &[0.0, 1.0]), None);
        assert_eq!(paired_t(&[1.0, 2.0], &[0.0]), None);
    }
}
