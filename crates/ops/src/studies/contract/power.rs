//! What the agreed statistics of a study can find, by the functions that judge: a contract whose verdicts would miss
//! most real improvements should be known as such before anyone signs it.

use rlxp_analyze::statistics::campaign::sequence::{bounds, detectable, power};
use rlxp_govern::documents::{Schedule, Statistics};
use serde::Serialize;

use super::schedule::looks_text;

/// The improvement that is asked about, in standard deviations between seeds.
const EFFECT: f64 = 1.0;
/// The chance of finding an improvement that is worth paying for.
const WORTH: f64 = 0.8;
/// Enough for a rounded percentage.
const REPETITIONS: u64 = 1_000;

/// The power of a study's statistics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreedPower {
    /// An improvement, in standard deviations between seeds.
    pub effect: f64,
    /// The chance that a candidate with it is found.
    pub found: f64,
    /// The improvement that is found in 80% of cases, in standard deviations between seeds; none if even a large one
    /// isn't.
    pub detectable: Option<f64>,
    /// Seeds of the baseline.
    pub incumbent_seeds: u64,
    /// Seeds of a candidate at each look.
    pub looks: Vec<u64>,
    /// Candidates that share the chance of a false claim.
    pub candidates: u64,
}

impl AgreedPower {
    pub(super) fn new(statistics: &Statistics) -> Self {
        let Schedule { alpha, candidates, incumbent_seeds, looks, .. } = statistics.schedule();
        let bounds = bounds(alpha, candidates, incumbent_seeds, &looks);
        Self {
            effect: EFFECT,
            found: power(&bounds, EFFECT, REPETITIONS),
            detectable: detectable(&bounds, WORTH, REPETITIONS),
            incumbent_seeds,
            looks,
            candidates,
        }
    }

    /// One sentence.
    pub fn sentence(&self) -> String {
        let Self { effect, found, detectable, incumbent_seeds, looks, candidates } = self;
        let candidates = if *candidates == 1 {
            "1 candidate".to_owned()
        } else {
            format!("up to {candidates} candidates")
        };
        let looks = looks_text(looks).replace(',', ", ");
        let plan = format!("{candidates} at {looks} seeds against {incumbent_seeds} seeds of the baseline");
        let percent = found * 100.0;
        match detectable {
            Some(size) => format!(
                "{plan}: an improvement of {size:.1} standard deviations between seeds is found in 80% of cases, one of \
                 {effect:.1} in {percent:.0}%"
            ),
            None => format!(
                "{plan}: an improvement of {effect:.1} standard deviations between seeds is found in {percent:.0}% of \
                 cases, and no improvement in 80%: plan more seeds or fewer candidates"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use rlxp_govern::documents::Looks;

    use super::*;

    fn agreed(looks: &[u64], candidates: u64) -> AgreedPower {
        AgreedPower::new(&Statistics {
            alpha: 0.05,
            screen_seeds: 3,
            candidates: Some(candidates),
            incumbent_seeds: looks.last().copied(),
            looks: Looks::Seeds(looks.to_vec()),
            confirm_seeds: None,
            maximum_confirms: None,
        })
    }

    #[test]
    fn more_seeds_find_more_and_more_candidates_find_less() {
        let (few, many) = (agreed(&[5, 10], 5), agreed(&[10, 20, 30], 5));
        assert!(few.found < 0.5 && many.found > 0.7, "{few:?} {many:?}");
        assert!(few.found < agreed(&[5, 10], 1).found);
        let (few, many) = (few.detectable.unwrap(), many.detectable.unwrap());
        assert!(few > many && many < 1.3, "{few} {many}");
    }

    #[test]
    fn the_sentence_names_the_plan_and_what_it_finds() {
        let said = agreed(&[5, 10], 5).sentence();
        assert!(
            said.starts_with("up to 5 candidates at 5, 10 seeds against 10 seeds of the baseline: "),
            "{said}"
        );
        assert!(said.contains("is found in 80% of cases"), "{said}");
    }
}
