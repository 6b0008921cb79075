//! How many runs a question needs, and what a number of runs can detect:
//! power of the t tests by the noncentral t distribution.

use serde::{Deserialize, Serialize};

use crate::statistics::distribution::{noncentral_t_cdf, student_quantile};
use crate::statistics::numeric::root;

/// Beyond this many runs per group a question counts as unanswerable.
pub const MOST_RUNS: u64 = 10_000_000;

/// How the runs of the two groups belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Two independent groups of equal size; effects are in standard
    /// deviations of a run.
    Unpaired,
    /// Pairs; effects are in standard deviations of a difference.
    Paired,
}

/// A test about to be made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// How runs belong together.
    pub design: Design,
    /// The chance of a false claim.
    pub alpha: f64,
    /// Whether a difference in either direction would be claimed.
    pub two_sided: bool,
}

impl Test {
    /// The chance that the test finds a true `effect` with `runs` runs per
    /// group (or pairs). Zero below two runs: there is no spread to judge by.
    pub fn power(&self, effect: f64, runs: u64) -> f64 {
        if runs < 2 {
            return 0.0;
        }
        let n = runs as f64;
        let (df, shift) = match self.design {
            Design::Unpaired => (2.0 * n - 2.0, effect * (n / 2.0).sqrt()),
            Design::Paired => (n - 1.0, effect * n.sqrt()),
        };
        let tail = if self.two_sided { self.alpha / 2.0 } else { self.alpha };
        let critical = student_quantile(1.0 - tail, df);
        let right = 1.0 - noncentral_t_cdf(critical, df, shift);
        if self.two_sided { right + noncentral_t_cdf(-critical, df, shift) } else { right }
    }

    /// The fewest runs per group (or pairs) with at least this power for
    /// `effect`; `None` where [`MOST_RUNS`] don't suffice.
    pub fn runs_needed(&self, effect: f64, power: f64) -> Option<u64> {
        if effect.is_nan() || effect <= 0.0 {
            return None;
        }
        let enough = |runs| self.power(effect, runs) >= power;
        let mut high = 2;
        while !enough(high) {
            if high >= MOST_RUNS {
                return None;
            }
            high *= 2;
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// The smallest true effect that `runs` runs per group (or pairs) find
    /// with this power; `None` below two runs.
    pub fn detectable_effect(&self, runs: u64, power: f64) -> Option<f64> {
        if runs < 2 {
            return None;
        }
        let mut high = 1.0;
        while self.power(high, runs) < power {
            high *= 2.0;
            if high > 1e6 {
                return None;
            }
        }
        Some(root(0.0, high, |effect| self.power(effect, runs) - power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(test: Test, power: f64, expected: &[(f64, u64)]) {
        for (effect, runs) in expected {
            assert_eq!(test.runs_needed(*effect, power), Some(*runs), "{test:?} effect {effect}");
        }
    }

    const fn test(design: Design, alpha: f64, two_sided: bool) -> Test {
        Test { design, alpha, two_sided }
    }

    #[test]
    fn runs_needed_have_the_reference_values() {
        use Design::{Paired, Unpaired};
        let effects = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0];
        let table = |runs: [u64; 8]| -> Vec<(f64, u64)> { effects.into_iter().zip(runs).collect() };
        check(test(Unpaired, 0.05, true), 0.8, &table([64, 26, 17, 12, 9, 6, 4, 4]));
        check(test(Unpaired, 0.05, true), 0.9, &table([86, 34, 23, 16, 11, 7, 5, 4]));
        check(test(Unpaired, 0.05, false), 0.8, &table([51, 21, 14, 10, 7, 4, 3, 3]));
        check(test(Paired, 0.05, false), 0.8, &table([27, 12, 8, 6, 5, 4, 0, 0])[..6]);
        check(test(Unpaired, 0.01, false), 0.8, &[(0.8, 33), (1.0, 22), (1.5, 11), (2.0, 7)]);
        check(test(Paired, 0.01, false), 0.8, &[(0.5, 43), (0.8, 19), (1.0, 13), (1.5, 8)]);
    }

    #[test]
    fn detectable_effects_have_the_reference_values() {
        let runs = [3, 5, 8, 10, 15, 20, 30];
        let unpaired = test(Design::Unpaired, 0.05, true);
        for (runs, expected) in runs.into_iter().zip([3.0709, 2.0244, 1.5066, 1.3249, 1.0598, 0.9091, 0.7356])
        {
            let got = unpaired.detectable_effect(runs, 0.8).unwrap();
            assert!((got - expected).abs() < 6e-5, "{runs} runs: got {got}, expected {expected}");
        }
        let paired = test(Design::Paired, 0.05, false);
        for (runs, expected) in runs.into_iter().zip([2.2973, 1.3594, 0.9782, 0.8528, 0.6755, 0.5769]) {
            let got = paired.detectable_effect(runs, 0.8).unwrap();
            assert!((got - expected).abs() < 6e-5, "{runs} pairs: got {got}, expected {expected}");
        }
    }

    #[test]
    fn power_grows_and_questions_without_answer_have_none() {
        let test = test(Design::Unpaired, 0.05, true);
        let mut last = 0.0;
        for runs in 2..60 {
            let power = test.power(0.7, runs);
            assert!(power > last);
            last = power;
        }
        assert!((test.power(0.0, 10) - 0.05).abs() < 1e-9, "without an effect, the rejection rate is alpha");
        assert_eq!(test.runs_needed(0.0, 0.8), None);
        assert_eq!(test.runs_needed(f64::NAN, 0.8), None);
        assert_eq!(test.runs_needed(1e-5, 0.8), None);
        assert_eq!(test.detectable_effect(1, 0.8), None);
    }
}
