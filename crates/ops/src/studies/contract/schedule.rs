//! The schedule of looks that `rlx contract new` proposes for a number of runs: as many candidates as can be judged well,
//! each on as many seeds as fit.

use rlxp_analyze::statistics::campaign::sequence::{Affordable, affordable};
use rlxp_govern::documents::FEWEST_SEEDS;

/// Candidates that are planned for where runs are short, most first.
const FEW_CANDIDATES: [u64; 3] = [3, 2, 1];
/// The most candidates that are proposed.
const MOST_CANDIDATES: u64 = 10;
/// Seeds per candidate that make another candidate worth more than further seeds.
const ENOUGH_SEEDS: u64 = 15;
/// Seeds per candidate beyond which more find little.
const MANY_SEEDS: u64 = 30;

/// A proposed schedule.
pub(super) struct Proposed {
    pub(super) candidates: u64,
    pub(super) incumbent_seeds: u64,
    pub(super) looks: Vec<u64>,
}

/// The schedule for this many runs in total. `candidates` may be given.
pub(super) fn propose(runs: u64, screen_seeds: u64, candidates: Option<u64>) -> Proposed {
    let fitting = |candidates: u64| {
        // A smoke run of the baseline, smoke and short runs of every candidate, and the audit of one that is accepted.
        let screened = candidates.saturating_mul(screen_seeds.saturating_add(1));
        let other = screened.saturating_add(1 + FEWEST_SEEDS);
        let fits = affordable(candidates, Some(runs.saturating_sub(other)))?;
        let is_large = fits.looks.last().is_some_and(|seeds| *seeds > MANY_SEEDS);
        let Affordable { incumbent_seeds, looks } =
            if is_large { affordable(candidates, None)? } else { fits };
        Some(Proposed { candidates, incumbent_seeds, looks })
    };
    let is_enough = |proposed: &Proposed| proposed.looks.last().is_some_and(|seeds| *seeds >= ENOUGH_SEEDS);
    let found = match candidates {
        Some(candidates) => fitting(candidates),
        None => (FEW_CANDIDATES[0]..=MOST_CANDIDATES)
            .rev()
            .filter_map(fitting)
            .find(is_enough)
            .or_else(|| FEW_CANDIDATES.into_iter().find_map(fitting)),
    };
    let least = Proposed {
        candidates: candidates.unwrap_or(1),
        incumbent_seeds: FEWEST_SEEDS,
        looks: vec![FEWEST_SEEDS],
    };
    found.unwrap_or(least)
}

/// Seeds of a candidate at each look, as they are typed.
pub(super) fn looks_text(looks: &[u64]) -> String {
    looks.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_runs_are_more_seeds_and_then_more_candidates() {
        let of = |runs| {
            let Proposed { candidates, incumbent_seeds, looks } = propose(runs, 3, None);
            (candidates, incumbent_seeds, looks)
        };
        assert_eq!(of(1), (1, 5, vec![5]));
        assert_eq!(of(40), (3, 5, vec![5]));
        assert_eq!(of(100), (4, 16, vec![5, 10, 15]));
        let (candidates, incumbent_seeds, looks) = of(1000);
        assert_eq!((candidates, looks.last()), (10, Some(&30)));
        assert!(incumbent_seeds >= 30);
        // What was asked for is kept.
        assert_eq!(propose(40, 3, Some(7)).candidates, 7);
    }
}
