//! Which group is best: the order of groups in tables and legends, and what `--best` keeps.
//!
//! A group is worth the interquartile mean of its seeds' last scores, in which a failed seed counts as worse than every
//! other; of two that are worth the same, the one with the higher mean comes first. Groups without a score come last, in
//! the order in which they were named.

use rlxp_analyze::aggregate::{iqm, mean};
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

/// What a group is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worth {
    pub(crate) iqm: f64,
    /// What decides between groups at a ceiling.
    pub(crate) mean: f64,
}

/// What a group with these scores is worth, NaN for failed seeds; `None` without any score.
pub(crate) fn worth(scores: &[f64]) -> Option<Worth> {
    let scored = scores.iter().any(|score| score.is_finite());
    let scores = scored.then(|| final_scores(scores))?;
    Some(Worth { iqm: iqm(&scores), mean: mean(&scores) }).filter(|worth| worth.iqm.is_finite())
}

/// Places of groups, best first.
pub(crate) fn best_first(worths: &[Option<Worth>]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..worths.len()).collect();
    let lowest = Worth { iqm: f64::NEG_INFINITY, mean: f64::NEG_INFINITY };
    let of = |place: usize| worths[place].unwrap_or(lowest);
    places.sort_by(|a, b| {
        let (a, b) = (of(*a), of(*b));
        b.iqm.total_cmp(&a.iqm).then(b.mean.total_cmp(&a.mean))
    });
    places
}

/// The things at `places`, in that order.
pub(crate) fn in_order<T>(things: Vec<T>, places: &[usize]) -> Vec<T> {
    let mut things: Vec<Option<T>> = things.into_iter().map(Some).collect();
    places.iter().filter_map(|place| things.get_mut(*place)?.take()).collect()
}

/// What groups of loaded seeds are worth by their last evaluations; by training where no seed was evaluated. Seeds
/// must have been loaded with [`is_ranked_by`].
pub(crate) fn worth_of_seeds(groups: &[Vec<&SeedData>]) -> Vec<Option<Worth>> {
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
        let of = |score: f64| worth(&[score]);
        assert_eq!(best_first(&[None, of(1.0), of(3.0), None, of(3.0)]), [2, 4, 1, 0, 3]);
        // Both reach the ceiling in most seeds.
        let often = [406.0, 500.0, 500.0, 500.0, 500.0];
        assert_eq!(best_first(&[worth(&often), worth(&[500.0; 5])]), [1, 0]);
        assert_eq!(in_order(vec!['a', 'b', 'c'], &[2, 0]), ['c', 'a']);
    }

    #[test]
    fn failed_seeds_make_a_group_worse() {
        assert_eq!(worth(&[10.0]).map(|worth| worth.iqm), Some(10.0));
        assert_eq!((worth(&[]), worth(&[f64::NAN])), (None, None));
        let whole = worth(&[10.0, 10.0, 10.0, 11.0]).unwrap().iqm;
        let failed = worth(&[10.0, 10.0, f64::NAN, f64::NAN]).unwrap().iqm;
        assert!(failed < whole, "{failed} {whole}");
    }

    #[test]
    fn what_was_left_out_is_counted() {
        assert_eq!(BestOf::new(3, 3), None);
        let some = BestOf::new(2, 50).unwrap();
        assert_eq!(some.sentence(), "2 of 50 groups are shown; 48 left out by --best.");
    }
}
