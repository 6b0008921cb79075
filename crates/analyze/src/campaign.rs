//! Many candidates against one incumbent, without fooling oneself: screen
//! cheaply, confirm the few best on fresh seeds, and never spend more than a
//! fixed chance of a false "better" over the whole campaign.
//!
//! * **Screening** ranks candidates by how often their few runs beat the runs
//!   of all others, and claims nothing. (The interquartile mean of three
//!   scores is their plain mean, which one failed seed decides.) The best of equals always looks like a gain, so the
//!   gains are reported shrunk, beside the gain that luck alone would show.
//! * **Confirming** uses seeds that no screening and no earlier confirmation
//!   has seen; the incumbent runs on them too. The k-th batch may spend
//!   α·6/(π²k²) of the budget, or an equal share of it when the number of
//!   batches was fixed beforehand, and Holm's procedure divides that among
//!   the finalists. Each is judged by [`crate::verdict`].
//!
//! | default | value |
//! | --- | --- |
//! | budget of false "better" over the campaign | 0.05 |
//! | most that one verdict may use | 0.025, the level of a single comparison |
//! | spending | endless (any number of batches) |
//! | finalists of K candidates | K/5 rounded up, at most 2 |
//! | screening seeds per candidate | 3 (5 if affordable) |
//! | confirming seeds per arm | 10 (15 for effects below one deviation) |

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::aggregate::{iqm, probability_of_improvement};
use crate::selection::{expected_maximum, shrink_gains};
use crate::sequential::spent_at;
use crate::verdict::{
    Answer, Guardrail, InvalidQuestion, Names, Options, Question, Verdict, scored_arms, verdict,
};

/// Screening seeds per candidate that the procedure was validated with.
pub const SCREEN_SEEDS: u64 = 3;

/// Confirming seeds per arm that the procedure was validated with.
pub const CONFIRM_SEEDS: u64 = 10;

/// How the campaign's budget is shared among its confirmations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spending {
    /// Any number of batches; later ones get less.
    Endless,
    /// At most so many batches, fixed beforehand; each gets the same.
    Planned(u64),
}

/// The campaign's rules, fixed before it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// The chance of any false "better" over the whole campaign.
    pub budget: f64,
    /// How it is shared.
    pub spending: Spending,
    /// How many candidates reach confirmation; null for the default.
    pub finalists: Option<usize>,
    /// How arms are compared. Its `alpha` is the most one verdict may use.
    pub compare: Options,
}

impl Default for Rules {
    fn default() -> Self {
        Self { budget: 0.05, spending: Spending::Endless, finalists: None, compare: Options::default() }
    }
}

impl Rules {
    /// What the `batch`-th confirmation (from 1) may spend; nothing once the
    /// planned number is used up.
    pub fn level(&self, batch: u64) -> f64 {
        match self.spending {
            Spending::Endless => spent_at(self.budget, batch),
            Spending::Planned(batches) if batch <= batches => self.budget / batches as f64,
            Spending::Planned(_) => 0.0,
        }
    }

    /// How many of `candidates` are confirmed.
    pub fn finalists_of(&self, candidates: usize) -> usize {
        self.finalists.unwrap_or_else(|| candidates.div_ceil(5).min(2)).min(candidates)
    }
}

/// One screened candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// Its place in the list that was screened.
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
    /// Who is to be confirmed, by place in the list that was screened.
    pub finalists: Vec<usize>,
    /// The gain that the best of equally good candidates would show.
    pub gain_by_luck: f64,
}

/// Ranks `candidates` by their few screening scores beside the incumbent's.
/// Candidates without any run come last and are never finalists.
pub fn screen(incumbent: &[f64], candidates: &[Vec<f64>], rules: &Rules) -> Screened {
    let sign = rules.compare.direction.sign();
    // All arms share one failure score, or a failed run would cost a weak
    // candidate less than a strong one.
    let mut arms: Vec<&[f64]> = vec![incumbent];
    arms.extend(candidates.iter().map(Vec::as_slice));
    let (scored, spread) = scored_arms(&arms, &rules.compare);
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

/// The runs of one arm, each with its seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// The seeds, in the order of the scores.
    pub seeds: Vec<u64>,
    /// The scores; NaN for a run that failed.
    pub scores: Vec<f64>,
}

/// A candidate that reached confirmation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finalist {
    /// Its runs on fresh seeds.
    pub runs: Runs,
    /// Other metrics of these runs that must not suffer.
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
}

/// A finalist with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmed {
    /// Its place in the list of finalists.
    pub finalist: usize,
    /// The level that Holm's procedure left for it.
    pub level: f64,
    /// The verdict at that level.
    pub verdict: Verdict,
}

/// What a confirmation found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmation {
    /// Which confirmation of the campaign this is, from 1.
    pub batch: u64,
    /// What it may spend.
    pub level: f64,
    /// Every finalist in the order given.
    pub finalists: Vec<Confirmed>,
    /// The finalist to adopt: among those found better the one with the
    /// largest effect.
    pub accepted: Option<usize>,
}

/// Judges finalists on fresh seeds. `used_seeds` are all seeds that screening
/// or earlier confirmations have seen; using one again is refused.
pub fn confirm(
    batch: u64,
    incumbent: &Runs,
    finalists: &[Finalist],
    used_seeds: &BTreeSet<u64>,
    rules: &Rules,
) -> Result<Confirmation, InvalidQuestion> {
    let level = rules.level(batch);
    let problems = problems(batch, level, incumbent, finalists, used_seeds);
    if !problems.is_empty() {
        return Err(InvalidQuestion { problems });
    }
    let judge = |one: &Finalist, alpha: f64, resamples: usize| {
        let question = Question {
            a: &incumbent.scores,
            b: &one.runs.scores,
            guardrails: &one.guardrails,
            names: Names::default(),
        };
        verdict(question, &Options { alpha, resamples, ..rules.compare.clone() })
    };
    // The p values don't depend on the level, so a first pass finds Holm's
    // order and a second judges everyone at the level that is left.
    let cap = |share: f64| share.min(rules.compare.alpha);
    let mut order = Vec::new();
    for (index, one) in finalists.iter().enumerate() {
        order.push((index, judge(one, cap(level), 0)?.p_better));
    }
    order.sort_by(|left, right| left.1.total_cmp(&right.1));
    let mut confirmed = Vec::new();
    let mut open = true;
    let mut share = level;
    for (place, (index, _)) in order.into_iter().enumerate() {
        // After the first that fails, nobody may pass: the level stays there.
        if open {
            share = level / (finalists.len() - place) as f64;
        }
        let verdict = judge(&finalists[index], cap(share), rules.compare.resamples)?;
        open &= verdict.p_better <= verdict.alpha;
        confirmed.push(Confirmed { finalist: index, level: cap(share), verdict });
    }
    confirmed.sort_by_key(|one| one.finalist);
    let better = confirmed.iter().filter(|one| one.verdict.verdict == Answer::Better);
    let gain = |one: &&Confirmed| rules.compare.direction.sign() * one.verdict.effect.unwrap_or(0.0);
    let accepted = better.max_by(|left, right| gain(left).total_cmp(&gain(right))).map(|one| one.finalist);
    Ok(Confirmation { batch, level, finalists: confirmed, accepted })
}

fn problems(
    batch: u64,
    level: f64,
    incumbent: &Runs,
    finalists: &[Finalist],
    used_seeds: &BTreeSet<u64>,
) -> Vec<String> {
    let mut problems = Vec::new();
    if batch == 0 {
        problems.push("confirmations are counted from 1".to_owned());
    } else if level <= 0.0 {
        problems.push(format!("confirmation {batch} is beyond the number that was planned"));
    }
    let arms = std::iter::once(("the incumbent".to_owned(), incumbent));
    let others = finalists.iter().enumerate().map(|(index, one)| (format!("finalist {index}"), &one.runs));
    for (name, runs) in arms.chain(others) {
        if runs.seeds.len() != runs.scores.len() {
            let (seeds, scores) = (runs.seeds.len(), runs.scores.len());
            problems.push(format!("{name} has {seeds} seeds but {scores} scores"));
        }
        let distinct: BTreeSet<u64> = runs.seeds.iter().copied().collect();
        if distinct.len() != runs.seeds.len() {
            problems.push(format!("{name} uses a seed twice: that is one run, not two"));
        }
        if let Some(seed) = distinct.intersection(used_seeds).next() {
            problems
                .push(format!("seed {seed} of {name} is not fresh: it was seen before this confirmation"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(first_seed: u64, scores: &[f64]) -> Runs {
        Runs { seeds: (first_seed..).take(scores.len()).collect(), scores: scores.to_vec() }
    }

    fn finalist(first_seed: u64, scores: &[f64]) -> Finalist {
        Finalist { runs: runs(first_seed, scores), guardrails: Vec::new() }
    }

    fn rising(from: f64, count: u32) -> Vec<f64> {
        (0..count).map(|i| from + f64::from(i)).collect()
    }

    #[test]
    fn screening_orders_and_keeps_the_best() {
        let candidates =
            vec![rising(0.0, 3), rising(9.0, 3), vec![], vec![50.0, f64::NAN, f64::NAN], rising(4.0, 3)];
        let screened = screen(&rising(1.0, 3), &candidates, &Rules::default());
        let order: Vec<usize> = screened.ranking.iter().map(|one| one.candidate).collect();
        assert_eq!(
            order,
            [1, 4, 3, 0, 2],
            "one lucky run among failed ones is no final, no run at all is last"
        );
        assert_eq!(screened.finalists, [1]);
        let best = screened.ranking[0];
        assert!(best.shrunk_gain > 0.0 && best.shrunk_gain < best.iqm - 2.0);
        assert!(screened.gain_by_luck > 0.0);
        let rules = Rules {
            compare: Options { direction: crate::verdict::Direction::Lower, ..Options::default() },
            finalists: Some(2),
            ..Rules::default()
        };
        assert_eq!(screen(&rising(1.0, 3), &candidates, &rules).finalists, [0, 4]);
        assert!(screen(&[], &[], &Rules::default()).finalists.is_empty());
    }

    #[test]
    fn finalists_are_few() {
        let kept: Vec<usize> = [0, 1, 5, 6, 10, 20].map(|k| Rules::default().finalists_of(k)).to_vec();
        assert_eq!(kept, [0, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn the_budget_is_never_overspent() {
        let rules = Rules::default();
        assert!((1..10_000).map(|batch| rules.level(batch)).sum::<f64>() <= rules.budget);
        let planned = Rules { spending: Spending::Planned(4), ..Rules::default() };
        assert!(((1..20).map(|batch| planned.level(batch)).sum::<f64>() - planned.budget).abs() < 1e-12);
        assert_eq!(planned.level(5), 0.0);
    }

    #[test]
    fn a_clear_winner_is_adopted_and_a_single_verdict_keeps_its_own_level() {
        let incumbent = runs(100, &rising(0.0, 10));
        let finalists = [finalist(100, &rising(9.5, 10)), finalist(100, &rising(20.0, 10))];
        let got = confirm(1, &incumbent, &finalists, &BTreeSet::new(), &Rules::default()).unwrap();
        assert_eq!(got.accepted, Some(1));
        assert!(got.finalists.iter().all(|one| one.verdict.verdict == Answer::Better));
        let mut levels: Vec<f64> = got.finalists.iter().map(|one| one.level).collect();
        levels.sort_by(f64::total_cmp);
        assert!((levels[0] - 0.030_396 / 2.0).abs() < 1e-6);
        assert_eq!(levels[1], 0.025, "Holm leaves the whole share, capped at one comparison's level");
    }

    #[test]
    fn after_one_fails_nobody_passes() {
        // Both would pass at .025 alone; the better p is above its half share.
        let incumbent = runs(0, &rising(0.0, 10));
        let mut scores = rising(3.6, 10);
        scores[0] = 2.1;
        let finalists = [finalist(0, &scores), finalist(0, &scores)];
        let alone = confirm(1, &incumbent, &finalists[..1], &BTreeSet::new(), &Rules::default()).unwrap();
        let p = alone.finalists[0].verdict.p_better;
        assert!(p < 0.025 && p > 0.030_396 / 2.0, "{p}");
        assert_eq!(alone.accepted, Some(0));
        let both = confirm(1, &incumbent, &finalists, &BTreeSet::new(), &Rules::default()).unwrap();
        assert_eq!(both.accepted, None);
    }

    #[test]
    fn seeds_that_were_seen_are_refused_and_every_problem_is_named() {
        let used = BTreeSet::from([103]);
        let mut torn = finalist(200, &rising(0.0, 10));
        torn.runs.seeds[1] = 200;
        torn.runs.scores.pop();
        let incumbent = runs(100, &rising(0.0, 10));
        let rules = Rules { spending: Spending::Planned(1), ..Rules::default() };
        let problems = confirm(2, &incumbent, &[torn], &used, &rules).unwrap_err().problems;
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.contains("seed 103 of the incumbent")));
    }
}
