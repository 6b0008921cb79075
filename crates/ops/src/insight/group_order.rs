//! Which group is best: the order of groups in tables and legends, and what `--best` keeps.
//!
//! A group is worth the interquartile mean of its seeds' last scores, in which a failed seed counts as worse than every
//! other. Groups without a score come last, in the order in which they were named.

use rlxp_analyze::aggregate::iqm;
use rlxp_analyze::story::final_scores;
use rlxp_store::MEAN_RETURN;
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::insight::run_data::{SeedData, SeedState};

/// Groups that `--best` kept, and how many it left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BestOf {
    pub shown: usize,
    pub left_out: usize,
}

impl BestOf {
    /// `None` if all groups are shown.
    pub(crate) fn new(shown: usize, all: usize) -> Option<Self> {
        (shown < all).then_some(Self { shown, left_out: all - shown })
    }

    pub fn sentence(self) -> String {
        let Self { shown, left_out } = self;
        let are = if shown == 1 { "is" } else { "are" };
        format!("{shown} of {} groups {are} shown; {left_out} left out by --best.", shown + left_out)
    }
}

/// Fails if `--best` asks for no group.
pub(crate) fn check_best(best: Option<usize>) -> Outcome<()> {
    match best {
        Some(0) => Err(Failure::usage("out_of_range", "--best is 0: it must be at least 1")),
        _ => Ok(()),
    }
}

/// What a group with these scores is worth, NaN for failed seeds; `None` without any score.
pub(crate) fn worth(scores: &[f64]) -> Option<f64> {
    let scored = scores.iter().any(|score| score.is_finite());
    scored.then(|| iqm(&final_scores(scores))).filter(|worth| worth.is_finite())
}

/// Places of groups, best first.
pub(crate) fn best_first(worths: &[Option<f64>]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..worths.len()).collect();
    let of = |place: usize| worths[place].unwrap_or(f64::NEG_INFINITY);
    places.sort_by(|a, b| of(*b).total_cmp(&of(*a)));
    places
}

/// The things at `places`, in that order.
pub(crate) fn in_order<T>(things: Vec<T>, places: &[usize]) -> Vec<T> {
    let mut things: Vec<Option<T>> = things.into_iter().map(Some).collect();
    places.iter().filter_map(|place| things.get_mut(*place)?.take()).collect()
}

/// What groups of loaded seeds are worth by their last evaluations; by training where no seed was evaluated. Seeds
/// must have been loaded with [`is_ranked_by`].
pub(crate) fn worth_of_seeds(groups: &[Vec<&SeedData>]) -> Vec<Option<f64>> {
    let has = |kind: &str| groups.iter().flatten().any(|seed| seed.series(kind, MEAN_RETURN).is_some());
    let kind = if has("eval") { "eval" } else { "train" };
    let score = |seed: &&SeedData| match seed.state {
        SeedState::Failed => Some(f64::NAN),
        _ => seed.series(kind, MEAN_RETURN)?.last().map(|(_, value)| value),
    };
    groups.iter().map(|seeds| worth(&seeds.iter().filter_map(score).collect::<Vec<f64>>())).collect()
}

/// Whether ranking groups needs a series.
pub(crate) fn is_ranked_by(kind: &str, name: &str) -> bool {
    name == MEAN_RETURN && matches!(kind, "eval" | "train")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_comes_first_and_what_has_no_score_last() {
        assert_eq!(best_first(&[None, Some(1.0), Some(3.0), None, Some(3.0)]), [2, 4, 1, 0, 3]);
        assert_eq!(in_order(vec!['a', 'b', 'c'], &[2, 0]), ['c', 'a']);
    }

    #[test]
    fn failed_seeds_make_a_group_worse() {
        assert_eq!(worth(&[10.0]), Some(10.0));
        assert_eq!((worth(&[]), worth(&[f64::NAN])), (None, None));
        let whole = worth(&[10.0, 10.0, 10.0, 11.0]).unwrap();
        let failed = worth(&[10.0, 10.0, f64::NAN, f64::NAN]).unwrap();
        assert!(failed < whole, "{failed} {whole}");
    }

    #[test]
    fn what_was_left_out_is_counted() {
        assert_eq!(BestOf::new(3, 3), None);
        let some = BestOf::new(2, 50).unwrap();
        assert_eq!(some.sentence(), "2 of 50 groups are shown; 48 left out by --best.");
    }
}
