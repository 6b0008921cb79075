//! Confirming: the finalists on fresh seeds, within what the batch may spend.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Rules;
use crate::statistics::verdict::{Answer, Guardrail, InvalidQuestion, Options, Question, Verdict, verdict};

/// The runs of one group, each with its seed.
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
    /// Its index in the list of finalists.
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
        let question = Question { a: &incumbent.scores, b: &one.runs.scores, guardrails: &one.guardrails };
        verdict(question, &Options { alpha, resamples, ..rules.compare.clone() })
    };
    // The p values don't depend on the level, so a first pass finds Holm's
    // order and a second judges every finalist at its remaining level.
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
        // After the first that fails, no later one may pass: the level stays there.
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
        problems.push("confirmation numbers start at 1".to_owned());
    } else if level <= 0.0 {
        problems.push(format!("confirmation {batch} exceeds the planned number"));
    }
    let groups = std::iter::once(("the incumbent".to_owned(), incumbent));
    let others = finalists.iter().enumerate().map(|(index, one)| (format!("finalist {index}"), &one.runs));
    for (name, runs) in groups.chain(others) {
        if runs.seeds.len() != runs.scores.len() {
            let (seeds, scores) = (runs.seeds.len(), runs.scores.len());
            problems.push(format!("{name} has {seeds} seeds but {scores} scores"));
        }
        let distinct: BTreeSet<u64> = runs.seeds.iter().copied().collect();
        if distinct.len() != runs.seeds.len() {
            problems.push(format!("{name} uses a seed twice, which counts as one run"));
        }
        if let Some(seed) = distinct.intersection(used_seeds).next() {
            problems
                .push(format!("seed {seed} of {name} is not fresh: it was used before this confirmation"));
        }
    }
    problems
}
