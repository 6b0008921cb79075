//! Whole campaigns played with returns of a known kind: what a plan finds, how
//! often it errs, and how many runs it takes. The decisions are those of
//! [`super::batch`] and [`super::sequence`].

use std::borrow::Cow;

use rlxp_types::Stream;

use super::batch::survivors;
use super::bounds::{Call, Look, rising};
use super::{Comparison, Power, batch, sequence};
use crate::statistics::verdict::{Direction, Gate, MinimumEffect, Options, SortedPair, scored_groups, weigh};

/// Who makes a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Incumbent,
    Candidate(usize),
}

/// How a simulated campaign ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Accepted candidates in their order; at most one of a batch.
    pub accepted: Vec<usize>,
    pub runs: u64,
}

/// Plays a batch; `draw` makes a score, NaN for a run that failed.
pub fn batch(plan: &batch::Plan, draw: &mut (impl FnMut(Group) -> f64 + ?Sized)) -> Played {
    let turn = sign(&plan.request.comparison);
    let mut alive: Vec<usize> = (0..plan.request.candidates.len()).collect();
    let mut groups: Vec<Vec<f64>> = vec![Vec::new(); alive.len()];
    let mut runs = 0;
    for (index, round) in plan.rounds.iter().enumerate() {
        for (candidate, group) in alive.iter().zip(&mut groups) {
            group.extend((0..round.seeds).map(|_| turn * draw(Group::Candidate(*candidate))));
        }
        runs += alive.len() as u64 * round.seeds;
        let keep = plan.rounds.get(index + 1).map_or(1, |next| next.candidates);
        let kept = survivors(&scored(&groups, &plan.request.comparison), keep);
        groups = kept.iter().map(|place| std::mem::take(&mut groups[*place])).collect();
        alive = kept.into_iter().map(|place| alive[place]).collect();
    }
    let finalist = alive[0];
    let mut incumbent = Vec::new();
    let mut drawn = Drawn::default();
    let comparison = &plan.request.comparison;
    for look in &plan.looks {
        let more = look.seeds as usize - drawn.scores.len();
        runs += 2 * more as u64;
        incumbent.extend((0..more).map(|_| turn * draw(Group::Incumbent)));
        drawn.scores.extend((0..more).map(|_| turn * draw(Group::Candidate(finalist))));
        match drawn.call(look, &incumbent, comparison) {
            Call::More => {}
            Call::Accept => return Played { accepted: vec![finalist], runs },
            Call::Drop | Call::Undecided => break,
        }
    }
    Played { accepted: Vec::new(), runs }
}

/// Plays a sequence of candidates. An accepted one becomes the incumbent and is
/// topped up; those runs are counted too.
pub fn sequence(plan: &sequence::Plan, draw: &mut (impl FnMut(Group) -> f64 + ?Sized)) -> Played {
    let turn = sign(&plan.request.comparison);
    let size = plan.incumbent_seeds as usize;
    let mut incumbent: Vec<f64> = (0..size).map(|_| turn * draw(Group::Incumbent)).collect();
    let comparison = &plan.request.comparison;
    let mut played = Played { accepted: Vec::new(), runs: plan.incumbent_seeds };
    for candidate in 0..plan.request.candidates as usize {
        let mut drawn = Drawn::default();
        for look in &plan.looks {
            let more = look.seeds as usize - drawn.scores.len();
            played.runs += more as u64;
            drawn.scores.extend((0..more).map(|_| turn * draw(Group::Candidate(candidate))));
            match drawn.call(look, &incumbent, comparison) {
                Call::More => continue,
                Call::Accept => {
                    let missing = size.saturating_sub(drawn.scores.len());
                    played.runs += missing as u64;
                    drawn.scores.extend((0..missing).map(|_| turn * draw(Group::Candidate(candidate))));
                    drawn.scores.truncate(size);
                    incumbent = drawn.scores;
                    played.accepted.push(candidate);
                }
                Call::Drop | Call::Undecided => {}
            }
            break;
        }
    }
    played
}

#[derive(Default)]
struct Drawn {
    scores: Vec<f64>,
    sorted: (Vec<f64>, Vec<f64>),
}

impl Drawn {
    /// The planned decision; without failed runs by the quick form of it.
    fn call(&mut self, look: &Look, incumbent: &[f64], comparison: &Comparison) -> Call {
        if incumbent.iter().chain(&self.scores).any(|score| score.is_nan()) {
            let more_is_better = Options { direction: Direction::Higher, ..comparison.options() };
            let weighed = weigh(incumbent, &self.scores, &more_is_better);
            return look.call(weighed.z, weighed.basis.is_some() && weighed.veto.is_none());
        }
        rising(incumbent, &mut self.sorted.0);
        rising(&self.scores, &mut self.sorted.1);
        let pair = SortedPair { a: &self.sorted.0, b: &self.sorted.1 };
        let gate = Gate { minimum_effect: comparison.minimum_effect };
        let z = pair.z();
        look.call(z, z >= look.accept && gate.admits(pair))
    }
}

/// The groups with failed runs scored.
fn scored<'g>(groups: &'g [Vec<f64>], comparison: &Comparison) -> Cow<'g, [Vec<f64>]> {
    if groups.iter().flatten().all(|score| score.is_finite()) {
        return Cow::Borrowed(groups);
    }
    let more_is_better = Options { direction: Direction::Higher, ..comparison.options() };
    let borrowed: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
    Cow::Owned(scored_groups(&borrowed, &more_is_better))
}

fn sign(comparison: &Comparison) -> f64 {
    if comparison.direction == Direction::Lower { -1.0 } else { 1.0 }
}

/// What a batch finds on Gaussian returns when one candidate is better.
pub(super) fn batch_power(plan: &batch::Plan, repetitions: u64) -> Power {
    let mut plan = plan.clone();
    in_spreads(&mut plan.request.comparison);
    let candidates = plan.request.candidates.len() as u32;
    let turn = sign(&plan.request.comparison);
    gaussian_power(plan.request.effect, turn, candidates, repetitions, |draw| batch(&plan, draw))
}

/// What a sequence finds on Gaussian returns when one candidate is better.
pub(super) fn sequence_power(plan: &sequence::Plan, repetitions: u64) -> Power {
    let mut plan = plan.clone();
    in_spreads(&mut plan.request.comparison);
    let candidates = plan.request.candidates as u32;
    let turn = sign(&plan.request.comparison);
    gaussian_power(plan.request.effect, turn, candidates, repetitions, |draw| sequence(&plan, draw))
}

/// How often one candidate that is better by `effect` passes these looks, on Gaussian returns.
pub(super) fn power_of_looks(looks: &[Look], effect: f64, repetitions: u64) -> f64 {
    let Some(size) = looks.last().map(|look| look.incumbent_seeds) else { return 0.0 };
    let mut stream = Stream::new(0, "campaign/power_of_looks", 0);
    let comparison = Comparison::default();
    let mut found = 0u64;
    for _ in 0..repetitions {
        let incumbent: Vec<f64> = (0..size).map(|_| stream.normal_pair().0).collect();
        let mut drawn = Drawn::default();
        for look in looks {
            let more = look.seeds as usize - drawn.scores.len();
            drawn.scores.extend((0..more).map(|_| stream.normal_pair().0 + effect));
            match drawn.call(look, &incumbent, &comparison) {
                Call::More => continue,
                Call::Accept => found += 1,
                Call::Drop | Call::Undecided => {}
            }
            break;
        }
    }
    found as f64 / repetitions.max(1) as f64
}

/// How many standard deviations an effect in the scores' unit has is not known
/// before there are runs; then the default is simulated.
fn in_spreads(comparison: &mut Comparison) {
    if !matches!(comparison.minimum_effect, MinimumEffect::Spreads(_)) {
        comparison.minimum_effect = Comparison::default().minimum_effect;
    }
}

fn gaussian_power(
    effect: f64,
    sign: f64,
    candidates: u32,
    repetitions: u64,
    mut play: impl FnMut(&mut dyn FnMut(Group) -> f64) -> Played,
) -> Power {
    let mut stream = Stream::new(0, "campaign/power", 0);
    let (mut found, mut runs) = (0u64, 0u64);
    for _ in 0..repetitions {
        let good = stream.below(candidates) as usize;
        let played = play(&mut |group: Group| {
            let shift = if group == Group::Candidate(good) { sign * effect } else { 0.0 };
            stream.normal_pair().0 + shift
        });
        found += u64::from(played.accepted.contains(&good));
        runs += played.runs;
    }
    let share = |count: u64| count as f64 / repetitions as f64;
    Power { effect, found: share(found), mean_runs: share(runs) }
}
