//! What makes a difference matter, and what forbids to claim it.
//!
//! A rank test says whether the groups differ. Whether that is worth a claim
//! can show in three ways: the typical score (Hodges and Lehmann's estimate),
//! the mean, which also counts how far failing runs fall, and the share of
//! failed runs. One is enough, but the others must not speak against it: a
//! candidate that is usually better but fails more often is not an improvement.

use serde::{Deserialize, Serialize};

/// The share of failed runs that matters as a difference: 10 points.
pub const FAILED_SHARE: f64 = 0.1;

/// By what a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The typical score, by Hodges and Lehmann's estimate.
    TypicalScore,
    /// The mean score.
    Mean,
    /// The share of failed runs.
    FailedRuns,
}

/// What speaks against a claim that the test would allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Veto {
    /// The mean moved in the other direction.
    Mean,
    /// More runs fail, by over 10 points.
    FailedRuns,
}

/// How large an effect is, in the words of Cohen (1988).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectSize {
    /// Below 0.2 spreads.
    Negligible,
    /// From 0.2 spreads.
    Small,
    /// From 0.5 spreads.
    Medium,
    /// From 0.8 spreads.
    Large,
}

impl EffectSize {
    pub(super) fn from_spreads(spreads: f64) -> Self {
        match spreads.abs() {
            size if size < 0.2 => Self::Negligible,
            size if size < 0.5 => Self::Small,
            size if size < 0.8 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// B minus A; more is better.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub(super) typical: f64,
    pub(super) mean: f64,
    /// Positive when more runs of B fail.
    pub(super) failed_share: f64,
}

impl Difference {
    /// A minus B.
    pub(super) fn reversed(self) -> Self {
        Self { typical: -self.typical, mean: -self.mean, failed_share: -self.failed_share }
    }

    /// By what B is better enough to matter. Without a smallest effect
    /// (`least`) only failed runs can matter. `slack` covers rounding.
    pub(super) fn basis(self, least: Option<f64>, slack: f64) -> Option<Basis> {
        let reaches = |gain: f64| least.is_some_and(|least| gain >= least - slack);
        if reaches(self.typical) {
            Some(Basis::TypicalScore)
        } else if reaches(self.mean) {
            Some(Basis::Mean)
        } else {
            (self.failed_share <= 1e-9 - FAILED_SHARE).then_some(Basis::FailedRuns)
        }
    }

    /// What speaks against calling B better.
    pub(super) fn veto(self, slack: f64) -> Option<Veto> {
        if self.mean < -slack {
            Some(Veto::Mean)
        } else {
            (self.failed_share > FAILED_SHARE + 1e-9).then_some(Veto::FailedRuns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(typical: f64, mean: f64, failed_share: f64) -> Difference {
        Difference { typical, mean, failed_share }
    }

    #[test]
    fn one_of_three_is_enough() {
        let basis = |difference: Difference| difference.basis(Some(1.0), 0.0);
        assert_eq!(basis(difference(1.0, 0.0, 0.0)), Some(Basis::TypicalScore));
        assert_eq!(basis(difference(0.1, 1.5, 0.0)), Some(Basis::Mean));
        assert_eq!(basis(difference(0.1, 0.5, -0.1)), Some(Basis::FailedRuns));
        assert_eq!(basis(difference(0.9, 0.9, -0.09)), None);
        assert_eq!(difference(9.0, 9.0, 0.0).basis(None, 0.0), None);
        assert_eq!(difference(9.0, 9.0, 0.0).reversed().basis(Some(1.0), 0.0), None);
    }

    #[test]
    fn the_others_must_not_speak_against_it() {
        assert_eq!(difference(5.0, -0.1, 0.0).veto(0.0), Some(Veto::Mean));
        assert_eq!(difference(5.0, 1.0, 0.11).veto(0.0), Some(Veto::FailedRuns));
        assert_eq!(difference(5.0, 0.0, 0.1).veto(0.0), None);
        assert_eq!(difference(-5.0, 0.2, 0.0).reversed().veto(0.0), Some(Veto::Mean));
    }
}
