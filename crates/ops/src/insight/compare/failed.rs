//! What keeps a failed seed from looking good: no failed seed of a pair is scored better than the last value that one
//! of them reached, than a random policy, or than the worst finished seed of either group.

use rlxp_analyze::verdict::Direction;
use rlxp_store::MEAN_RETURN;

use super::groups::ComparedGroup;
use super::score::{Score, SeedScore};
use crate::insight::run_data::RunData;
use crate::insight::run_data::fold::Member;

/// The worst of those values; none where no seed failed or nothing is known.
pub(super) fn failure_limit(score: &Score, groups: [(&ComparedGroup<'_>, &[SeedScore]); 2]) -> Option<f64> {
    let seeds = groups.iter().flat_map(|(group, scores)| group.members.iter().zip(*scores));
    let seeds: Vec<(Member<'_>, f64)> = seeds.map(|(member, score)| (*member, score.value)).collect();
    limit_among(score, &seeds, groups.iter().flat_map(|(group, _)| group.runs))
}

/// The same among any seeds, given with their scores, and their runs.
pub(crate) fn limit_among<'m>(
    score: &Score,
    seeds: &[(Member<'_>, f64)],
    runs: impl Iterator<Item = &'m RunData>,
) -> Option<f64> {
    let seeds = || seeds.iter();
    if seeds().all(|(_, value)| value.is_finite()) {
        return None;
    }
    let (kind, name) = (score.place.0.as_str(), score.place.1.as_str());
    let reached = seeds().filter(|(_, value)| !value.is_finite()).filter_map(|(member, _)| {
        let series = member.seed.series(kind, name)?;
        series.values.iter().copied().rfind(|value| value.is_finite())
    });
    // Only returns of evaluations are in the unit of the random policy's return.
    let is_return = (kind, name) == ("eval", MEAN_RETURN);
    let random = runs.filter(|_| is_return).filter_map(|run| run.metadata.random_return);
    let finished = seeds().map(|(_, value)| *value);
    let known = reached.chain(random).chain(finished).filter(|value| value.is_finite());
    known.reduce(match score.direction {
        Direction::Higher => f64::min,
        Direction::Lower => f64::max,
    })
}
