//! Screening and confirming on small examples.

use std::collections::BTreeSet;

use super::*;
use crate::statistics::verdict::Answer;

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
    assert_eq!(order, [1, 4, 3, 0, 2], "one lucky run among failed ones is no final, no run at all is last");
    assert_eq!(screened.finalists, [1]);
    let best = screened.ranking[0];
    assert!(best.shrunk_gain > 0.0 && best.shrunk_gain < best.iqm - 2.0);
    assert!(screened.gain_by_luck > 0.0);
    let rules = Rules {
        compare: Options { direction: crate::statistics::verdict::Direction::Lower, ..Options::default() },
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
