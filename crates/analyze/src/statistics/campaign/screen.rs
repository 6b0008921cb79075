//! Screening: an order of the candidates, and no claim.

use serde::Serialize;

use super::Rules;
use crate::statistics::aggregate::{iqm, probability_of_improvement};
use crate::statistics::selection::{expected_maximum, shrink_gains};
use crate::statistics::verdict::scored_groups;

/// One screened candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// Its index in the screened list.
    pub candidate: usize,
    /// The chance that one of its runs beats any run that was screened, which
    /// decides the order.
    pub chance: f64,
    /// Interquartile mean of its scores, failed runs scored.
    pub iqm: f64,
    /// Its IQM minus the incumbent's, shrunk by what chance explains.
    pub shrunk_gain: f64,
}

/// What screening found: an order, not a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screened {
    /// All candidates, the best first.
    pub ranking: Vec<Ranked>,
    /// Candidates to confirm, as indices into the screened list.
    pub finalists: Vec<usize>,
    /// The gain that the best of equally good candidates would show.
    pub gain_by_luck: f64,
}

/// Ranks `candidates` by their few screening scores beside the incumbent's.
/// Candidates without any run come last and are never finalists.
pub fn screen(incumbent: &[f64], candidates: &[Vec<f64>], rules: &Rules) -> Screened {
    let sign = rules.compare.direction.sign();
    // All groups share one failure score, or a failed run would cost a weak
    // candidate less than a strong one.
    let mut groups: Vec<&[f64]> = vec![incumbent];
    groups.extend(candidates.iter().map(Vec::as_slice));
    let (scored, spread) = scored_groups(&groups, &rules.compare);
    let baseline = iqm(&scored[0]);
    let turn = |scores: &[f64]| -> Vec<f64> { scores.iter().map(|score| sign * score).collect() };
    let everyone = turn(&scored.concat());
    let mut ranking: Vec<Ranked> = scored[1..]
        .iter()
        .enumerate()
        .map(|(candidate, scores)| Ranked {
            candidate,
            chance: probability_of_improvement(&turn(scores), &everyone),
            iqm: iqm(scores),
            shrunk_gain: f64::NAN,
        })
        .collect();
    let place = |left: &Ranked, right: &Ranked| {
        let missing = left.iqm.is_nan().cmp(&right.iqm.is_nan());
        missing
            .then(right.chance.total_cmp(&left.chance))
            .then((sign * right.iqm).total_cmp(&(sign * left.iqm)))
    };
    ranking.sort_by(place);
    let known = ranking.iter().filter(|one| !one.iqm.is_nan()).count();
    let runs =
        candidates.iter().map(|scores| scores.len() as u64).filter(|runs| *runs > 0).min().unwrap_or(1);
    let gains: Vec<f64> = ranking[..known].iter().map(|one| one.iqm - baseline).collect();
    for (one, shrunk) in ranking.iter_mut().zip(shrink_gains(&gains, spread, runs)) {
        one.shrunk_gain = shrunk;
    }
    let finalists = rules.finalists_of(known);
    Screened {
        finalists: ranking[..finalists].iter().map(|one| one.candidate).collect(),
        ranking,
        gain_by_luck: expected_maximum(candidates.len().max(1) as u32) * spread / (runs as f64).sqrt(),
    }
}
