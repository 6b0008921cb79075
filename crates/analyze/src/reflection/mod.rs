//! What the components of a reward did over training, and whether they pull in the direction of the task.
//!
//! The series of every component, of the training reward, of the task metric and of the episode length go in, one set
//! per training run; the same of the incumbent's runs may come with them. What comes out per component: its share of
//! the reward's magnitude, how it changed, whether it is constant, saturated or dominating, and how it correlates with
//! the task and with episode length. The training run is the unit: every number is computed per seed, and an estimate
//! over seeds has an interval where there are enough of them. A finding applies when more than half of the seeds with
//! data show it.
//!
//! The rules are F19 (reward and task diverge), F20 (domination), F21 (constant), F22 (saturated) and F29 (ending early
//! pays), as in the rules for runs of rlx itself, here on whatever a repository logs.

mod component;
mod findings;
mod track;

use std::collections::BTreeMap;

use rlxp_types::Point;
use serde::Serialize;

use crate::statistics::shift::{Shift, hodges_lehmann, pseudomedian};
use component::{Seed, against, reflect_component};
use track::{Track, sum};

/// Each end of an interval over seeds is wrong with at most this probability. Five seeds are then enough for one.
pub const TAIL: f64 = 0.05;
/// Fewer points of a run say nothing about a trend or a correlation.
pub const LEAST_POINTS: usize = 5;
/// Values of the course that are shown per component.
pub const SAMPLES: usize = 10;

/// The series of one run, each by its declaration; a missing one has a reason.
#[derive(Clone, Debug, Default)]
pub struct RunSeries {
    /// The run, as text.
    pub run: String,
    pub components: BTreeMap<String, Result<Vec<Point>, String>>,
    /// The training reward; without one, the sum of the components is taken.
    pub reward: Option<Vec<Point>>,
    pub task: Option<Vec<Point>>,
    pub length: Option<Vec<Point>>,
}

/// What the components did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reflection {
    /// Runs that were looked at.
    pub runs: u64,
    /// Runs of the incumbent that they were compared with.
    pub incumbent_runs: u64,
    /// In the order in which they were asked for.
    pub components: Vec<ComponentReflection>,
    /// The reward as a whole.
    pub reward: RewardReflection,
    /// The most severe first.
    pub findings: Vec<Finding>,
    /// What could not be computed, and why.
    pub not_measured: Vec<String>,
}

/// One component over training.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentReflection {
    pub name: String,
    /// Runs in which it could be read.
    pub runs: u64,
    /// Runs in which it could not, with the reason.
    pub missing: BTreeMap<String, String>,
    /// Values that are NaN or infinite, over all runs.
    pub non_finite: u64,
    /// Its course: the median over runs at evenly spaced places.
    pub course: Vec<f64>,
    pub max: Option<f64>,
    pub mean: Option<f64>,
    pub min: Option<f64>,
    /// Its part of the magnitude of all components.
    pub share: Option<Estimate>,
    /// The same over the last fifth of training.
    pub late_share: Option<Estimate>,
    /// Its change along a line through the whole course.
    pub change: Option<Estimate>,
    pub trend: Trend,
    /// Runs in which it hardly changes.
    pub constant_in: u64,
    /// Runs in which it is always zero.
    pub zero_in: u64,
    /// Runs in which it is at its largest value from early on.
    pub saturated_in: u64,
    /// Rank correlation with the task metric over training.
    pub with_task: Option<Estimate>,
    /// Rank correlation with the episode length over training.
    pub with_length: Option<Estimate>,
    /// Its share less the incumbent's.
    pub share_against_incumbent: Option<Estimate>,
    /// Its mean over the last fifth less the incumbent's.
    pub late_mean_against_incumbent: Option<Estimate>,
}

/// The reward as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RewardReflection {
    /// Whether it is the sum of the components, because no reward is declared.
    pub is_sum: bool,
    /// Its change over the last half of training.
    pub change: Option<Estimate>,
    /// The change of the task metric over the last half of training.
    pub task_change: Option<Estimate>,
    /// The rank correlation of the two over the last half of training.
    pub with_task: Option<Estimate>,
}

/// A value over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    /// Lower end; `None` with too few seeds.
    pub low: Option<f64>,
    /// Upper end; `None` with too few seeds.
    pub high: Option<f64>,
    /// Seeds that it was computed from.
    pub seeds: u64,
}

/// How a series went, in most runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    Rises,
    Falls,
    Flat,
    /// Runs differ
    Mixed,
    /// Too few points
    Unknown,
}

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule, such as `F20`
    pub rule: String,
    pub severity: Severity,
    /// The component; `None` for the reward as a whole.
    pub component: Option<String>,
    pub text: String,
    pub value: f64,
    pub threshold: f64,
    /// Runs that show it.
    pub seeds: u64,
    /// Runs with the data.
    pub of: u64,
    /// What to try about it.
    pub advice: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// Reflects on the components of these runs, beside those of the incumbent's runs where there are any.
pub fn reflect(names: &[String], runs: &[RunSeries], incumbent: &[RunSeries]) -> Reflection {
    let seeds: Vec<Seed> = runs.iter().map(|run| Seed::new(names, run)).collect();
    let others: Vec<Seed> = incumbent.iter().map(|run| Seed::new(names, run)).collect();
    let mut components: Vec<ComponentReflection> =
        names.iter().map(|name| reflect_component(name, &seeds)).collect();
    if !others.is_empty() {
        components.iter_mut().for_each(|component| against(component, &seeds, &others));
    }
    let reward = reward(&seeds, runs);
    let not_measured = not_measured(names, &seeds, &components);
    let mut findings = findings::of_components(&components, &seeds);
    findings.extend(findings::of_reward(&seeds));
    findings.sort_by(|one, other| other.severity.cmp(&one.severity).then_with(|| one.rule.cmp(&other.rule)));
    Reflection {
        runs: runs.len() as u64,
        incumbent_runs: incumbent.len() as u64,
        components,
        reward,
        findings,
        not_measured,
    }
}

fn reward(seeds: &[Seed], runs: &[RunSeries]) -> RewardReflection {
    let change = |track: &dyn Fn(&Seed) -> Option<Track>| {
        estimate(seeds.iter().filter_map(|seed| Some(track(seed)?.rise()?.0)))
    };
    RewardReflection {
        is_sum: runs.iter().all(|run| run.reward.is_none()),
        change: change(&|seed| Some(seed.reward.part(0.5, 1.0))),
        task_change: change(&|seed| Some(seed.task.as_ref()?.part(0.5, 1.0))),
        with_task: estimate(seeds.iter().filter_map(Seed::late_agreement)),
    }
}

fn not_measured(names: &[String], seeds: &[Seed], components: &[ComponentReflection]) -> Vec<String> {
    let mut said = Vec::new();
    let lacking = |what: &str, has: &dyn Fn(&Seed) -> bool| {
        let without = seeds.iter().filter(|seed| !has(seed)).count();
        match without {
            0 => None,
            all if all == seeds.len() => Some(format!("{what}: not measured in any run")),
            some => Some(format!("{what}: not measured in {some} of {} runs", seeds.len())),
        }
    };
    said.extend(lacking("task metric over training", &|seed| seed.task.is_some()));
    said.extend(lacking("episode length over training", &|seed| seed.length.is_some()));
    for component in components.iter().filter(|component| component.runs == 0) {
        let why = component.missing.values().next().map_or("no runs", String::as_str);
        said.push(format!("{}: {why}", component.name));
    }
    if seeds.len() == 1 {
        said.push("seed-to-seed variation: there is only one run".to_owned());
    }
    if names.len() == 1 {
        said.push("shares: the reward has only one component".to_owned());
    }
    said
}

/// The centre of values over seeds with its interval; `None` without values.
fn estimate(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    from_shift(pseudomedian(&values, TAIL)?, values.len())
}

/// How far the values of one group of seeds are above those of another.
fn difference(one: &[f64], other: &[f64]) -> Option<Estimate> {
    from_shift(hodges_lehmann(one, other, TAIL)?, one.len())
}

fn from_shift(shift: Shift, seeds: usize) -> Option<Estimate> {
    let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
    shift.value.is_finite().then(|| Estimate {
        value: shift.value,
        low: finite(shift.low),
        high: finite(shift.high),
        seeds: seeds as u64,
    })
}

#[cfg(test)]
mod tests;
