//! Many candidates against one incumbent, without false discoveries and
//! without wasting runs.
//!
//! The best of ten equal candidates always looks like a gain, so a campaign is
//! planned as a whole: the chance of *any* false "better" in it is fixed
//! beforehand, and the plan says what it can find and what it costs.
//!
//! * [`batch`]: all candidates are known. Successive halving on a few screening
//!   seeds leaves one finalist, which meets the incumbent on fresh seeds in
//!   planned looks.
//! * [`sequence`]: candidates come one after another. One larger set of the
//!   incumbent's runs is reused for all of them; each candidate is dropped as
//!   soon as it looks futile.
//!
//! Both accept at a look when the rank statistic passes a bound **and** the
//! difference matters as in [`crate::statistics::verdict`]. Bounds are found by
//! simulating the procedure under "all candidates equal the incumbent", where
//! ranks have the same distribution whatever the returns look like
//! ([`bounds`]); the smallest effect and the vetoes only make it stricter.

pub mod batch;
pub mod bounds;
pub mod sequence;
pub mod simulate;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::verdict::{Basis, Direction, MinimumEffect, Options, Veto, Weighed};

/// The incumbent's name among the groups of a campaign.
pub const INCUMBENT: &str = "incumbent";

/// Scores by group and seed; `None` for a run that failed.
pub type Scores = BTreeMap<String, BTreeMap<u64, Option<f64>>>;

/// How scores are compared throughout a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Comparison {
    /// Whether more or less is better.
    pub direction: Direction,
    /// The smallest effect that counts.
    pub minimum_effect: MinimumEffect,
    /// What failed runs are scored with; by default worse than every run.
    pub failure_score: Option<f64>,
}

impl Default for Comparison {
    fn default() -> Self {
        let Options { direction, minimum_effect, failure_score, .. } = Options::default();
        Self { direction, minimum_effect, failure_score }
    }
}

impl Comparison {
    fn options(&self) -> Options {
        Options {
            direction: self.direction,
            minimum_effect: self.minimum_effect,
            failure_score: self.failure_score,
            resamples: 0,
            repetitions: 0,
            ..Options::default()
        }
    }
}

impl Comparison {
    fn problems(&self) -> Vec<String> {
        let sizes = match self.minimum_effect {
            MinimumEffect::Absolute(size) | MinimumEffect::Spreads(size) => [size, 0.0],
            MinimumEffect::SpreadsOrFraction { spreads, fraction } => [spreads, fraction],
        };
        let mut problems = Vec::new();
        if !sizes.iter().all(|size| (0.0..=1e150).contains(size)) {
            problems.push("the minimum effect must be finite and not negative".to_owned());
        }
        if self.failure_score.is_some_and(|score| !score.is_finite()) {
            problems.push("the failure score must be finite".to_owned());
        }
        problems
    }
}

/// What a plan can find, simulated on Gaussian returns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// How much better the one good candidate is, in standard deviations.
    pub effect: f64,
    /// The chance that it is accepted.
    pub found: f64,
    /// Runs that this takes on average.
    pub mean_runs: f64,
}

/// A campaign or a look at it that can't be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    pub problems: Vec<String>,
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for Invalid {}

impl Invalid {
    fn one(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()] }
    }
}

/// Runs to make: these seeds for each of these groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    pub group: String,
    pub seeds: Vec<u64>,
}

/// What a look at a candidate found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookReport {
    pub candidate: String,
    /// The look, counted from 1.
    pub look: usize,
    pub looks: usize,
    /// Seeds of the candidate and of the incumbent.
    pub seeds: (u64, u64),
    /// The rank statistic, in standard deviations from even.
    pub z: f64,
    /// From which it accepts.
    pub accept: f64,
    /// Below which it drops; null at the last look.
    pub drop: Option<f64>,
    /// By what the difference matters.
    pub basis: Option<Basis>,
    /// What speaks against accepting.
    pub veto: Option<Veto>,
}

impl LookReport {
    fn new(candidate: &str, index: usize, looks: &[bounds::Look], weighed: &Weighed) -> Self {
        let look = looks[index];
        Self {
            candidate: candidate.to_owned(),
            look: index + 1,
            looks: looks.len(),
            seeds: (look.seeds, look.incumbent_seeds),
            z: weighed.z,
            accept: look.accept,
            drop: look.drop,
            basis: weighed.basis,
            veto: weighed.veto,
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Train what is wanted, then look again.
    MoreSeeds { look: Option<LookReport> },
    /// The candidate is better.
    Accept { look: LookReport },
    /// The candidate is unlikely to be accepted with more seeds.
    Drop { look: LookReport },
    /// All planned seeds are used, and the candidate is not shown to be better.
    Undecided { look: LookReport },
    /// Waiting for a candidate (of a sequence).
    NextCandidate { left: u64 },
    /// The campaign is over.
    Ended,
}

/// The seeds of `wanted` that have no score yet, as problems; and scores that
/// were not asked for, because looking at more than planned is another look.
fn check_scores(wanted: &[Wanted], known: &Scores, given: &Scores) -> Result<(), Invalid> {
    let mut problems = Vec::new();
    for Wanted { group, seeds } in wanted {
        let own = given.get(group);
        let missing: Vec<u64> =
            seeds.iter().copied().filter(|seed| !own.is_some_and(|own| own.contains_key(seed))).collect();
        if !missing.is_empty() {
            problems.push(format!("{group} has no score for {}", seed_list(&missing)));
        }
    }
    for (group, scores) in given {
        let mut unasked = Vec::new();
        for (seed, score) in scores {
            let asked = wanted.iter().any(|wanted| wanted.group == *group && wanted.seeds.contains(seed));
            match known.get(group).and_then(|known| known.get(seed)) {
                Some(before) if before != score => {
                    problems.push(format!(
                        "the score of seed {seed} of {group} has changed since it was looked at"
                    ));
                }
                None if !asked => unasked.push(*seed),
                _ => {}
            }
            if score.is_some_and(|score| !score.is_finite() || score.abs() > 1e150) {
                problems.push(format!(
                    "the score of seed {seed} of {group} is beyond 1e150; leave it empty if the run failed"
                ));
            }
        }
        match unasked.len() {
            0 => {}
            1 => problems.push(format!("{} of {group} was not asked for", seed_list(&unasked))),
            _ => problems.push(format!("{} of {group} were not asked for", seed_list(&unasked))),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Invalid { problems }) }
}

/// The scores of everything that is wanted, if they are all there.
fn all_given(wanted: &[Wanted], scores: &Scores) -> Option<Scores> {
    let mut given = Scores::new();
    for Wanted { group, seeds } in wanted {
        let own = scores.get(group)?;
        let of = |seed: &u64| Some((*seed, *own.get(seed)?));
        given.insert(group.clone(), seeds.iter().map(of).collect::<Option<_>>()?);
    }
    (!given.is_empty()).then_some(given)
}

/// Rising seeds in words: "seed 3", "seeds 0, 4 to 9".
fn seed_list(seeds: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for seed in seeds {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *seed => *last = *seed,
            _ => runs.push((*seed, *seed)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first} to {last}"),
        })
        .collect();
    format!("seed{} {}", if seeds.len() == 1 { "" } else { "s" }, runs.join(", "))
}

/// The scores of a group at these seeds, NaN for failed runs.
fn values(scores: &Scores, group: &str, seeds: impl Iterator<Item = u64>) -> Vec<f64> {
    let own = scores.get(group);
    seeds.filter_map(|seed| own?.get(&seed).copied()).map(|score| score.unwrap_or(f64::NAN)).collect()
}

fn merge(known: &mut Scores, given: &Scores) {
    for (group, scores) in given {
        known.entry(group.clone()).or_default().extend(scores);
    }
}
