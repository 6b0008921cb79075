//! Candidates that come one after another, as an agent or a study makes them:
//! one set of the incumbent's runs is reused for all, and each candidate is
//! looked at every few seeds until it is accepted or looks futile.
//!
//! The chance of any false "better" over the planned number of candidates is
//! fixed by simulating the whole sequence against one shared set, so what the
//! candidates have in common through it is accounted for. An accepted
//! candidate becomes the incumbent with the seeds it was accepted on; as these
//! were lucky rather than not, that makes later claims harder, never easier.

use rlxp_types::Stream;
use serde::{Deserialize, Serialize};

use super::batch::{calibrated_level, first_seed_problem, five_percent, number_problems, one_deviation};
use super::bounds::{Call, Look, Shape, constant};
use super::{
    Comparison, INCUMBENT, Invalid, LookReport, Power, Scores, Step, Wanted, all_given, check_scores, merge,
    seed_list, simulate, values,
};
use crate::statistics::verdict::{FEWEST_SEEDS, weigh};

/// Seeds per candidate without a cap on runs.
const CANDIDATE_SEEDS: u64 = 30;
/// Looks at a candidate.
const LOOKS: u64 = 6;
/// How much stricter early looks are than the last.
const EARLY_STRICTNESS: f64 = 0.25;
/// Simulated candidates behind the bounds and the power, shared by the rows.
const BOUND_CANDIDATES: u64 = 600_000;
const POWER_REPETITIONS: u64 = 1_000;

/// A sequence of candidates to plan for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// How many candidates may be tried, 1 to 100.
    pub candidates: u64,
    /// The most runs that it may take, topping up accepted candidates apart.
    #[serde(default)]
    pub runs: Option<u64>,
    /// The chance of a false "better" over all candidates.
    #[serde(default = "five_percent")]
    pub error: f64,
    /// The improvement whose power is stated, in standard deviations.
    #[serde(default = "one_deviation")]
    pub effect: f64,
    #[serde(default)]
    pub comparison: Comparison,
    /// The first seed of the sequence; the others follow.
    #[serde(default)]
    pub first_seed: u64,
}

/// The schedule of a sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub request: Request,
    /// Runs of the incumbent, made once.
    pub incumbent_seeds: u64,
    /// Looks at each candidate.
    pub looks: Vec<Look>,
    /// Runs if every candidate needs every look.
    pub largest_runs: u64,
    pub power: Power,
}

/// Plans a sequence, or reports every problem of the request.
pub fn plan(request: Request) -> Result<Plan, Invalid> {
    let mut problems = number_problems(request.error, request.effect);
    if !(1..=100).contains(&request.candidates) {
        problems.push(format!("{} candidates; plan for 1 to 100", request.candidates));
    }
    problems.extend(request.comparison.problems());
    problems.extend(first_seed_problem(request.first_seed));
    if !problems.is_empty() {
        return Err(Invalid { problems });
    }
    let (incumbent_seeds, seeds) = sizes(request.candidates, request.runs)?;
    let looks = equal_looks(seeds);
    let looks = bounds(request.error, request.candidates, incumbent_seeds, &looks);
    let largest_runs = incumbent_seeds + request.candidates * seeds;
    let power = Power { effect: request.effect, found: f64::NAN, mean_runs: f64::NAN };
    let mut plan = Plan { request, incumbent_seeds, looks, largest_runs, power };
    plan.power = simulate::sequence_power(&plan, POWER_REPETITIONS);
    Ok(plan)
}

/// Looks at equal steps up to this many seeds of a candidate, none below the
/// fewest that make a claim.
fn equal_looks(seeds: u64) -> Vec<u64> {
    let looks = LOOKS.min(seeds / FEWEST_SEEDS).max(1);
    (1..=looks).map(|look| (seeds * look).div_ceil(looks)).collect()
}

/// The accept and drop bounds of looks at these rising numbers of seeds, for
/// candidates that are all compared with one set of `incumbent_seeds` runs: the
/// chance of any false "better" over `candidates` of them is at most `error`.
/// Empty where there is nothing to look at.
pub fn bounds(error: f64, candidates: u64, incumbent_seeds: u64, looks: &[u64]) -> Vec<Look> {
    if looks.is_empty() || incumbent_seeds == 0 || candidates == 0 {
        return Vec::new();
    }
    let sizes = looks.iter().map(|seeds| (*seeds, incumbent_seeds)).collect();
    let level = calibrated_level(error);
    let shape = Shape::new(sizes, EARLY_STRICTNESS, level / candidates as f64);
    calibrated(&shape, level, candidates)
}

/// How many seeds a sequence of `candidates` can afford within `runs`, without
/// topping up what is accepted.
pub struct Affordable {
    pub incumbent_seeds: u64,
    /// Seeds of a candidate at each look.
    pub looks: Vec<u64>,
}

/// The numbers of seeds that [`plan`] would choose, without simulating anything;
/// `None` if the runs are too few.
pub fn affordable(candidates: u64, runs: Option<u64>) -> Option<Affordable> {
    let (incumbent_seeds, seeds) = sizes(candidates, runs).ok()?;
    Some(Affordable { incumbent_seeds, looks: equal_looks(seeds) })
}

/// The chance that one candidate which is better by `effect` standard deviations is accepted at these looks, on Gaussian
/// returns.
pub fn power(looks: &[Look], effect: f64, repetitions: u64) -> f64 {
    simulate::power_of_looks(looks, effect, repetitions)
}

/// The smallest improvement, in standard deviations, that is found with probability `found`; `None` if even a very large
/// one isn't.
pub fn detectable(looks: &[Look], found: f64, repetitions: u64) -> Option<f64> {
    const LARGEST: f64 = 20.0;
    if power(looks, LARGEST, repetitions) < found {
        return None;
    }
    let (mut low, mut high) = (0.0, LARGEST);
    while high - low > 0.02 {
        let middle = f64::midpoint(low, high);
        if power(looks, middle, repetitions) < found {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// Seeds of the incumbent and of each candidate within the cap on runs. The
/// shared set is larger, as Dunnett's comparisons have it: by about half the
/// root of the number of candidates.
fn sizes(candidates: u64, runs: Option<u64>) -> Result<(u64, u64), Invalid> {
    let larger =
        |seeds: u64| ((seeds as f64 * (0.53 * (candidates as f64).sqrt()).max(1.0)).round() as u64).min(200);
    let fits = |seeds: u64| runs.is_none_or(|runs| larger(seeds) + candidates * seeds <= runs);
    let most = if runs.is_some() { 100 } else { CANDIDATE_SEEDS };
    let seeds = (FEWEST_SEEDS..=most).rev().find(|seeds| fits(*seeds)).ok_or_else(|| {
        let least = larger(FEWEST_SEEDS) + candidates * FEWEST_SEEDS;
        let runs = runs.unwrap_or(0);
        Invalid::one(format!(
            "{runs} runs are too few for {candidates} candidates; it takes at least {least}"
        ))
    })?;
    Ok((larger(seeds), seeds))
}

/// Bounds under which a sequence of equal candidates is accepted from with
/// probability `level`.
fn calibrated(shape: &Shape, level: f64, candidates: u64) -> Vec<Look> {
    let mut stream = Stream::new(0, "campaign/sequence", 0);
    let incumbent_seeds = shape.seeds[0].1 as usize;
    let mut incumbent = vec![0.0; incumbent_seeds];
    let repetitions = (BOUND_CANDIDATES / candidates).clamp(12_000, 60_000);
    let highest = (0..repetitions).map(|_| {
        incumbent.fill_with(|| stream.uniform());
        incumbent.sort_unstable_by(f64::total_cmp);
        let mut most = f64::NEG_INFINITY;
        for _ in 0..candidates {
            let (mut wins, mut drawn) = (0usize, 0u64);
            most = most.max(shape.highest(|look| {
                let (seeds, _) = shape.seeds[look];
                for _ in drawn..seeds {
                    let score = stream.uniform();
                    wins += incumbent.partition_point(|other| *other < score);
                }
                drawn = seeds;
                let (n, m) = (seeds as f64, incumbent_seeds as f64);
                (wins as f64 - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
            }));
        }
        most
    });
    shape.looks(constant(highest.collect(), level))
}

/// The stage of a sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum Stage {
    /// The incumbent's set of runs is not complete.
    Incumbent,
    /// Waiting for a candidate.
    Ready,
    Testing {
        candidate: String,
        look: usize,
    },
}

/// A sequence in progress: its plan and all scores so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    pub plan: Plan,
    #[serde(flatten)]
    stage: Stage,
    /// The group that is the incumbent now.
    pub incumbent: String,
    /// Candidates tried so far, in order.
    pub tried: Vec<String>,
    /// Seeds of the incumbent that were looked at when it was accepted.
    looked_at: u64,
    /// How the incumbent compares with the one before, from seeds that had no
    /// part in accepting it.
    pub effect: Option<FreshEffect>,
    /// The incumbent before, which the effect is measured against.
    before: Option<String>,
    pub scores: Scores,
}

/// An effect that no choice has touched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FreshEffect {
    /// Hodges and Lehmann's estimate of the new incumbent minus the old one.
    pub typical: f64,
    pub mean: f64,
    /// Fresh seeds of the new one.
    pub seeds: u64,
}

impl Sequence {
    /// The beginning: the incumbent's runs are wanted.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            stage: Stage::Incumbent,
            incumbent: INCUMBENT.to_owned(),
            tried: Vec::new(),
            looked_at: 0,
            effect: None,
            before: None,
            scores: Scores::new(),
        }
    }

    /// The sequence that follows from a request, the opened candidates and these
    /// scores. A stored sequence that differs was edited.
    pub fn replayed(request: Request, tried: &[String], scores: &Scores) -> Result<Self, Invalid> {
        let mut row = Self::new(plan(request)?);
        let mut tried = tried.iter();
        loop {
            row = match all_given(&row.wanted(), scores) {
                Some(given) => row.look(&given)?.0,
                None if row.stage == Stage::Ready => match tried.next() {
                    Some(candidate) => row.open(candidate)?.0,
                    None => return Ok(row),
                },
                None => return Ok(row),
            };
        }
    }

    /// Opens the next candidate.
    pub fn open(&self, candidate: &str) -> Result<(Self, Step), Invalid> {
        if let Some(Wanted { group, seeds }) = self.wanted().first() {
            let seeds = seed_list(seeds);
            let problem = match &self.stage {
                Stage::Testing { .. } => format!("{group} is not decided yet: its next look needs {seeds}"),
                _ => format!("the incumbent's runs come first: {group} has no score for {seeds}"),
            };
            return Err(Invalid::one(problem));
        }
        if self.left() == 0 {
            return Err(Invalid::one(format!("all {} planned candidates were tried", self.tried.len())));
        }
        if candidate.is_empty() {
            return Err(Invalid::one("a candidate needs a name"));
        }
        if self.scores.contains_key(candidate) || candidate == INCUMBENT {
            return Err(Invalid::one(format!("{candidate:?} was tried before; a candidate has one chance")));
        }
        let mut next = self.clone();
        next.tried.push(candidate.to_owned());
        next.stage = Stage::Testing { candidate: candidate.to_owned(), look: 0 };
        let step = Step::MoreSeeds { look: None };
        Ok((next, step))
    }

    /// Candidates that may still be opened.
    pub fn left(&self) -> u64 {
        self.plan.request.candidates.saturating_sub(self.tried.len() as u64)
    }

    /// The runs that the next look needs.
    pub fn wanted(&self) -> Vec<Wanted> {
        let (group, from, to) = match &self.stage {
            Stage::Incumbent => (&self.incumbent, self.looked_at, self.plan.incumbent_seeds),
            Stage::Ready => return Vec::new(),
            Stage::Testing { candidate, look } => {
                let before = look.checked_sub(1).map_or(0, |look| self.plan.looks[look].seeds);
                (candidate, before, self.plan.looks[*look].seeds)
            }
        };
        let seeds = (from..to).map(|index| self.seed(group, index)).collect();
        vec![Wanted { group: group.clone(), seeds }]
    }

    /// Looks at the scores of the runs that were wanted; earlier ones may be
    /// given again.
    pub fn look(&self, given: &Scores) -> Result<(Self, Step), Invalid> {
        check_scores(&self.wanted(), &self.scores, given)?;
        let mut next = self.clone();
        merge(&mut next.scores, given);
        let step = match &self.stage {
            Stage::Incumbent => {
                next.effect = next.fresh_effect();
                next.stage = Stage::Ready;
                next.ready()
            }
            Stage::Ready => next.ready(),
            Stage::Testing { candidate, look } => next.test(candidate, *look),
        };
        Ok((next, step))
    }

    fn ready(&self) -> Step {
        match self.left() {
            0 => Step::Ended,
            left => Step::NextCandidate { left },
        }
    }

    fn test(&mut self, candidate: &str, index: usize) -> Step {
        let look = self.plan.looks[index];
        let weighed = {
            let (a, b) =
                (self.of(&self.incumbent, 0..look.incumbent_seeds), self.of(candidate, 0..look.seeds));
            weigh(&a, &b, &self.plan.request.comparison.options())
        };
        let call = look.call(weighed.z, weighed.basis.is_some() && weighed.veto.is_none());
        let report = LookReport::new(candidate, index, &self.plan.looks, &weighed);
        match call {
            Call::More => {
                self.stage = Stage::Testing { candidate: candidate.to_owned(), look: index + 1 };
                Step::MoreSeeds { look: Some(report) }
            }
            Call::Accept => {
                self.before = Some(std::mem::replace(&mut self.incumbent, candidate.to_owned()));
                self.looked_at = look.seeds;
                self.effect = None;
                self.stage = Stage::Incumbent;
                Step::Accept { look: report }
            }
            Call::Drop | Call::Undecided => {
                self.stage = Stage::Ready;
                if call == Call::Drop {
                    Step::Drop { look: report }
                } else {
                    Step::Undecided { look: report }
                }
            }
        }
    }

    /// The new incumbent's topped-up seeds against the old incumbent's set.
    fn fresh_effect(&self) -> Option<FreshEffect> {
        let before = self.before.as_deref()?;
        let fresh = self.of(&self.incumbent, self.looked_at..self.plan.incumbent_seeds);
        let old = self.of(before, 0..self.plan.incumbent_seeds);
        let (typical, mean) =
            crate::statistics::verdict::effects(&old, &fresh, &self.plan.request.comparison.options())?;
        Some(FreshEffect { typical, mean, seeds: fresh.len() as u64 })
    }

    fn of(&self, group: &str, indices: std::ops::Range<u64>) -> Vec<f64> {
        values(&self.scores, group, indices.map(|index| self.seed(group, index)))
    }

    /// Every group has seeds of its own.
    fn seed(&self, group: &str, index: u64) -> u64 {
        let place = self.tried.iter().position(|name| name == group).map_or(0, |place| place as u64 + 1);
        let most = self.plan.looks.last().map_or(0, |look| look.seeds).max(self.plan.incumbent_seeds);
        self.plan.request.first_seed + place * most + index
    }
}

#[cfg(test)]
mod tests;
