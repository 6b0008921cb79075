//! What the agreed statistics of a study can find, by the functions that judge: a contract whose verdicts would miss
//! most real improvements should be known as such before anyone signs it.

use rlxp_analyze::power::{Design, Returns, Simulation, power, seeds_for};
use rlxp_govern::documents::Statistics;
use serde::Serialize;

/// The improvement that is asked about, in standard deviations between seeds.
const EFFECT: f64 = 1.0;
/// The chance of finding it that is worth paying for.
const WORTH: f64 = 0.8;
/// Enough for a rounded percentage.
const SIMULATION: Simulation = Simulation { repetitions: 2_000, seed: 0 };

/// The power of a study's statistics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreedPower {
    /// An improvement, in standard deviations between seeds.
    pub effect: f64,
    /// The chance that one candidate with it is found.
    pub found: f64,
    /// Seeds per group in the confirm phase.
    pub confirm_seeds: u64,
    /// Seeds per group that find it in 80% of cases; none if no number does.
    pub seeds_needed: Option<u64>,
    /// Candidates over which the chance of a false claim is divided.
    pub candidates: u64,
}

impl AgreedPower {
    pub(super) fn new(statistics: &Statistics) -> Self {
        let Statistics { alpha, confirm_seeds, looks, maximum_confirms, .. } = *statistics;
        let design = Design { alpha: alpha / maximum_confirms as f64, looks, ..Design::default() };
        Self {
            effect: EFFECT,
            found: power(&design, Returns::Gaussian, EFFECT, confirm_seeds, SIMULATION),
            confirm_seeds,
            seeds_needed: seeds_for(&design, Returns::Gaussian, EFFECT, WORTH, SIMULATION).ok(),
            candidates: maximum_confirms,
        }
    }

    /// One sentence.
    pub fn sentence(&self) -> String {
        let Self { found, confirm_seeds, seeds_needed, candidates, .. } = self;
        let candidates =
            if *candidates == 1 { "1 candidate".to_owned() } else { format!("{candidates} candidates") };
        let needed = match seeds_needed {
            Some(needed) if needed > confirm_seeds => format!("; 80% needs {needed}"),
            _ => String::new(),
        };
        format!(
            "with {confirm_seeds} confirm_seeds and up to {candidates}, an improvement of one standard deviation \
             between seeds is found in {:.0}% of cases{needed}",
            found * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(confirm_seeds: u64, maximum_confirms: u64) -> AgreedPower {
        let (alpha, screen_seeds, looks) = (0.05, 3, 1);
        AgreedPower::new(&Statistics { alpha, screen_seeds, confirm_seeds, looks, maximum_confirms })
    }

    #[test]
    fn more_seeds_find_more_and_more_candidates_find_less() {
        let (few, many) = (agreed(10, 5), agreed(40, 5));
        assert!(few.found < 0.5 && many.found > 0.8, "{few:?} {many:?}");
        assert!(few.found < agreed(10, 1).found);
        assert!(few.seeds_needed.is_some_and(|needed| needed > 10) && few.sentence().contains("80% needs"));
        assert!(!many.sentence().contains("needs"), "{}", many.sentence());
    }
}
