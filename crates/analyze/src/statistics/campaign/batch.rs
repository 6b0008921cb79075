//! A batch of candidates: screen them all on a few seeds by successive
//! halving, then confirm the one finalist on fresh seeds in planned looks.
//!
//! Screening claims nothing, so it costs no error; the finalist's fresh seeds
//! carry the whole chance of a false "better", however many candidates there
//! were. Reusing screening runs in the claim would cost power, not save it.

use serde::{Deserialize, Serialize};

use super::bounds::{Call, Look, Shape, calibrated};
use super::{
    Comparison, INCUMBENT, Invalid, LookReport, Power, Scores, Step, Wanted, all_given, check_scores, merge,
    simulate, values,
};
use crate::statistics::verdict::{FEWEST_SEEDS, scored_groups, weigh};

/// Confirm seeds per group without a cap on runs.
const CONFIRM_SEEDS: u64 = 35;
/// More looks than this save hardly any runs.
const MOST_LOOKS: u64 = 5;
/// Seeds between two looks that make another one worthwhile.
const SEEDS_PER_LOOK: u64 = 7;
/// Fewer confirm seeds than this make a thriftier screening worthwhile.
const ENOUGH_TO_CONFIRM: u64 = 20;
/// Simulated campaigns behind the bounds and the power.
const BOUND_REPETITIONS: u64 = 60_000;
const POWER_REPETITIONS: u64 = 2_000;

/// A campaign to plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The candidates' names, 1 to 50.
    pub candidates: Vec<String>,
    /// The most runs that it may take.
    #[serde(default)]
    pub runs: Option<u64>,
    /// How many such batches are planned in total; they share the error.
    #[serde(default = "one")]
    pub batches: u64,
    /// The chance of a false "better" over all batches.
    #[serde(default = "five_percent")]
    pub error: f64,
    /// The improvement whose power is stated, in standard deviations.
    #[serde(default = "one_deviation")]
    pub effect: f64,
    #[serde(default)]
    pub comparison: Comparison,
    /// The first seed of this batch; it takes those from here on.
    #[serde(default)]
    pub first_seed: u64,
}

fn one() -> u64 {
    1
}

pub(super) fn five_percent() -> f64 {
    0.05
}

pub(super) fn one_deviation() -> f64 {
    1.0
}

/// A round of screening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Candidates that take part, the best so far.
    pub candidates: usize,
    /// Further seeds for each of them.
    pub seeds: u64,
}

/// The schedule of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub request: Request,
    pub rounds: Vec<Round>,
    /// Looks at the finalist, on fresh seeds.
    pub looks: Vec<Look>,
    /// Runs if every look is needed.
    pub largest_runs: u64,
    pub power: Power,
}

/// Plans a batch, or reports every problem of the request.
pub fn plan(request: Request) -> Result<Plan, Invalid> {
    let problems = problems(&request);
    if !problems.is_empty() {
        return Err(Invalid { problems });
    }
    let (rounds, seeds) = rounds_within(&request)?;
    let looks = (seeds / SEEDS_PER_LOOK).clamp(1, MOST_LOOKS);
    let sizes = (1..=looks).map(|look| (seeds * look).div_ceil(looks)).map(|seeds| (seeds, seeds));
    let level = calibrated_level(request.error) / request.batches as f64;
    let shape = Shape::new(sizes.collect(), 0.1, level);
    let looks = calibrated(&shape, level, BOUND_REPETITIONS, 0);
    let largest_runs = screening_runs(&rounds) + 2 * seeds;
    let power = Power { effect: request.effect, found: f64::NAN, mean_runs: f64::NAN };
    let mut plan = Plan { request, rounds, looks, largest_runs, power };
    plan.power = simulate::batch_power(&plan, POWER_REPETITIONS);
    Ok(plan)
}

/// What bounds are calibrated to: a tenth is kept for the error of simulating.
pub(super) fn calibrated_level(error: f64) -> f64 {
    0.9 * error
}

fn problems(request: &Request) -> Vec<String> {
    let mut problems = Vec::new();
    let count = request.candidates.len();
    if !(1..=50).contains(&count) {
        problems.push(format!("{count} candidates; a batch has 1 to 50"));
    }
    let mut names: Vec<&str> = request.candidates.iter().map(String::as_str).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        problems.push(format!("two candidates are called {:?}", twice[0]));
    }
    if names.contains(&INCUMBENT) {
        problems.push(format!("a candidate can't be called {INCUMBENT:?}"));
    }
    if !(1..=100).contains(&request.batches) {
        problems.push(format!("{} batches; plan 1 to 100", request.batches));
    }
    if names.contains(&"") {
        problems.push("a candidate has no name".to_owned());
    }
    problems.extend(number_problems(request.error, request.effect));
    problems.extend(request.comparison.problems());
    problems.extend(first_seed_problem(request.first_seed));
    problems
}

/// Seeds are written as numbers that every JSON reader keeps exactly.
pub(super) fn first_seed_problem(first: u64) -> Option<String> {
    const MOST: u64 = 1 << 50;
    (first > MOST).then(|| format!("the first seed is {first}; it can be at most {MOST}"))
}

pub(super) fn number_problems(error: f64, effect: f64) -> Vec<String> {
    let mut problems = Vec::new();
    if !(0.001..=0.2).contains(&error) {
        problems.push(format!("the error is {error}; it must be between 0.001 and 0.2"));
    }
    if !(effect > 0.0 && effect <= 100.0) {
        problems.push(format!("the effect is {effect}; it must be above 0, in standard deviations"));
    }
    problems
}

/// Screening rounds and confirm seeds per group within the cap on runs.
fn rounds_within(request: &Request) -> Result<(Vec<Round>, u64), Invalid> {
    let options: Vec<(Vec<Round>, u64)> = screenings(request.candidates.len())
        .into_iter()
        .map(|rounds| {
            let screened = screening_runs(&rounds);
            let seeds = request.runs.map_or(CONFIRM_SEEDS, |runs| runs.saturating_sub(screened) / 2);
            (rounds, seeds.min(200))
        })
        .collect();
    let ample = options.iter().find(|(_, seeds)| *seeds >= ENOUGH_TO_CONFIRM);
    let chosen =
        ample.or_else(|| options.iter().max_by_key(|(_, seeds)| *seeds)).expect("there are screenings");
    if chosen.1 < FEWEST_SEEDS {
        let least = screening_runs(&chosen.0) + 2 * FEWEST_SEEDS;
        let runs = request.runs.unwrap_or(0);
        return Err(Invalid::one(format!(
            "{runs} runs are too few for {}; it takes at least {least}",
            match request.candidates.len() {
                1 => "1 candidate".to_owned(),
                count => format!("{count} candidates"),
            }
        )));
    }
    Ok(chosen.clone())
}

/// Ways to screen, the most thorough first.
fn screenings(candidates: usize) -> Vec<Vec<Round>> {
    if candidates == 1 {
        return vec![Vec::new()];
    }
    let round = |share: usize, seeds| Round { candidates: (candidates * share).div_ceil(10).max(2), seeds };
    vec![
        vec![round(10, 2), round(6, 1), round(3, 3)],
        vec![round(10, 2), round(3, 2)],
        vec![round(10, 1), round(3, 2)],
        vec![round(10, 1)],
    ]
}

fn screening_runs(rounds: &[Round]) -> u64 {
    rounds.iter().map(|round| round.candidates as u64 * round.seeds).sum()
}

/// The `keep` best of groups of finite scores in which more is better, by mean
/// rank, then by mean; the best first.
pub(super) fn survivors(groups: &[Vec<f64>], keep: usize) -> Vec<usize> {
    let mut pool: Vec<f64> = groups.concat();
    pool.sort_unstable_by(f64::total_cmp);
    let rank = |score: &f64| {
        let below = pool.partition_point(|other| other < score);
        let up_to = pool.partition_point(|other| other <= score);
        (below + up_to) as f64
    };
    let mean =
        |values: &[f64], of: &dyn Fn(&f64) -> f64| values.iter().map(of).sum::<f64>() / values.len() as f64;
    let keys: Vec<(f64, f64)> =
        groups.iter().map(|group| (mean(group, &rank), mean(group, &|score| *score))).collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|left, right| {
        let (left, right) = (keys[*left], keys[*right]);
        right.0.total_cmp(&left.0).then(right.1.total_cmp(&left.1))
    });
    order.truncate(keep);
    order
}

/// The stage of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum Stage {
    Screen { round: usize, alive: Vec<String> },
    Confirm { finalist: String, look: usize },
    Ended,
}

/// A batch in progress: its plan and all scores so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    pub plan: Plan,
    #[serde(flatten)]
    stage: Stage,
    pub scores: Scores,
}

impl Batch {
    /// The beginning: nothing was run yet.
    pub fn new(plan: Plan) -> Self {
        let alive = plan.request.candidates.clone();
        let stage = match plan.rounds.is_empty() {
            true => Stage::Confirm { finalist: alive[0].clone(), look: 0 },
            false => Stage::Screen { round: 0, alive },
        };
        Self { plan, stage, scores: Scores::new() }
    }

    /// The batch that follows from a request and these scores. A stored batch
    /// that differs was edited.
    pub fn replayed(request: Request, scores: &Scores) -> Result<Self, Invalid> {
        let mut batch = Self::new(plan(request)?);
        while let Some(given) = all_given(&batch.wanted(), scores) {
            batch = batch.look(&given)?.0;
        }
        Ok(batch)
    }

    /// The runs that the next look needs.
    pub fn wanted(&self) -> Vec<Wanted> {
        match &self.stage {
            Stage::Screen { round, alive } => {
                let seeds: Vec<u64> = self.screen_seeds(*round).collect();
                alive.iter().map(|name| Wanted { group: name.clone(), seeds: seeds.clone() }).collect()
            }
            Stage::Confirm { finalist, look } => {
                let before = look.checked_sub(1).map_or(0, |look| self.plan.looks[look].seeds);
                let seeds: Vec<u64> =
                    (before..self.plan.looks[*look].seeds).map(|seed| self.confirm_seed(seed)).collect();
                [finalist.as_str(), INCUMBENT]
                    .map(|name| Wanted { group: name.to_owned(), seeds: seeds.clone() })
                    .to_vec()
            }
            Stage::Ended => Vec::new(),
        }
    }

    /// The candidates that are still in.
    pub fn left(&self) -> Vec<String> {
        match &self.stage {
            Stage::Screen { alive, .. } => alive.clone(),
            Stage::Confirm { finalist, .. } => vec![finalist.clone()],
            Stage::Ended => Vec::new(),
        }
    }

    /// Looks at the scores of the runs that were wanted; earlier ones may be
    /// given again.
    pub fn look(&self, given: &Scores) -> Result<(Self, Step), Invalid> {
        if self.stage == Stage::Ended {
            return Err(Invalid::one("the campaign is over"));
        }
        check_scores(&self.wanted(), &self.scores, given)?;
        let mut next = self.clone();
        merge(&mut next.scores, given);
        let step = match &self.stage {
            Stage::Screen { round, alive } => next.screen(*round, alive),
            Stage::Confirm { finalist, look } => next.confirm(finalist, *look),
            Stage::Ended => Step::Ended,
        };
        Ok((next, step))
    }

    fn screen(&mut self, round: usize, alive: &[String]) -> Step {
        let seeds: Vec<u64> = (0..=round).flat_map(|round| self.screen_seeds(round)).collect();
        let groups: Vec<Vec<f64>> =
            alive.iter().map(|name| values(&self.scores, name, seeds.iter().copied())).collect();
        let options = self.plan.request.comparison.options();
        let borrowed: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let mut scored = scored_groups(&borrowed, &options);
        let sign = options.direction.sign();
        scored.iter_mut().flatten().for_each(|score| *score *= sign);
        let keep = self.plan.rounds.get(round + 1).map_or(1, |next| next.candidates);
        let kept: Vec<String> =
            survivors(&scored, keep).into_iter().map(|index| alive[index].clone()).collect();
        self.stage = match self.plan.rounds.get(round + 1) {
            Some(_) => Stage::Screen { round: round + 1, alive: kept },
            None => Stage::Confirm { finalist: kept[0].clone(), look: 0 },
        };
        Step::MoreSeeds { look: None }
    }

    fn confirm(&mut self, finalist: &str, index: usize) -> Step {
        let look = self.plan.looks[index];
        let seeds = || (0..look.seeds).map(|seed| self.confirm_seed(seed));
        let (a, b) = (values(&self.scores, INCUMBENT, seeds()), values(&self.scores, finalist, seeds()));
        let weighed = weigh(&a, &b, &self.plan.request.comparison.options());
        let call = look.call(weighed.z, weighed.basis.is_some() && weighed.veto.is_none());
        let report = LookReport::new(finalist, index, &self.plan.looks, &weighed);
        self.stage = match call {
            Call::More => Stage::Confirm { finalist: finalist.to_owned(), look: index + 1 },
            Call::Accept | Call::Drop | Call::Undecided => Stage::Ended,
        };
        match call {
            Call::Accept => Step::Accept { look: report },
            Call::Drop => Step::Drop { look: report },
            Call::More => Step::MoreSeeds { look: Some(report) },
            Call::Undecided => Step::Undecided { look: report },
        }
    }

    fn screen_seeds(&self, round: usize) -> impl Iterator<Item = u64> + use<> {
        let before: u64 = self.plan.rounds[..round].iter().map(|round| round.seeds).sum();
        let first = self.plan.request.first_seed + before;
        first..first + self.plan.rounds[round].seeds
    }

    fn confirm_seed(&self, index: u64) -> u64 {
        let screened: u64 = self.plan.rounds.iter().map(|round| round.seeds).sum();
        self.plan.request.first_seed + screened + index
    }
}

#[cfg(test)]
mod tests;
