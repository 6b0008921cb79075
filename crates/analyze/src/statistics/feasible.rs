//! The values of one parameter at which something keeps working, from successes counted at some of them.
//!
//! A value is feasible where the success rate is shown to be at least a share of the nominal value's. The feasible
//! range is the widest run of neighbouring feasible values around the nominal one: a value beyond a failure is not
//! part of it, however well it works there, because nothing is known of the way to it.

use serde::Serialize;

use crate::statistics::proportion::wilson;

/// Wilson's interval of this coverage: each of its ends is wrong with at most 5%.
const CONFIDENCE: f64 = 0.9;
/// An edge is found well enough when the gap behind it is at most this part of the feasible width.
const FINE_ENOUGH: f64 = 0.1;
/// The part of the feasible width that is proposed for training, in its centre.
const PROPOSED: f64 = 0.7;
/// From this ratio on, the middle between two positive values is the geometric one.
const FAR_APART: f64 = 4.0;
/// The share of the nominal success rate that is asked for.
pub const LEAST_SHARE: f64 = 0.8;

/// What was counted at one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub value: f64,
    pub successes: u64,
    pub episodes: u64,
}

/// One value of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridValue {
    pub value: f64,
    pub successes: u64,
    pub episodes: u64,
    /// The lower end of the success rate's interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    pub status: Feasibility,
}

/// Whether it works at a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feasibility {
    /// The rate is shown to be high enough
    Feasible,
    /// The rate is shown to be too low
    Infeasible,
    /// Neither is shown; more episodes would tell
    Uncertain,
}

/// What is known about a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Feasible {
    pub nominal: f64,
    /// The success rate at the nominal value.
    pub nominal_rate: f64,
    /// The success rate that is asked for.
    pub asked: f64,
    /// By value.
    pub grid: Vec<GridValue>,
    /// The feasible range around the nominal value; `None` if not even that is feasible.
    pub range: Option<Range>,
    /// Values that are not feasible between feasible ones.
    pub holes: Vec<f64>,
    /// Values that are feasible but cut off from the nominal one.
    pub cut_off: Vec<f64>,
    /// Values to try next.
    pub next: Vec<f64>,
    /// The range that is proposed for training.
    pub proposed: Option<Range>,
    /// The largest loss of success rate over the grid.
    pub sensitivity: f64,
}

/// A range including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    pub from: f64,
    pub to: f64,
}

/// The feasible range around `nominal`, which must be among the values, within `limits`; `None` if it isn't, or if
/// nothing was counted there. Trials at the same value add up.
pub fn feasible(trials: &[Trial], nominal: f64, limits: Range) -> Option<Feasible> {
    let mut sorted: Vec<Trial> = trials.iter().copied().filter(|trial| trial.value.is_finite()).collect();
    sorted.sort_by(|one, other| one.value.total_cmp(&other.value));
    let mut counted: Vec<Trial> = Vec::new();
    for trial in sorted {
        match counted.last_mut() {
            Some(last) if last.value == trial.value => {
                last.successes += trial.successes;
                last.episodes += trial.episodes;
            }
            _ => counted.push(trial),
        }
    }
    let centre = counted.iter().position(|trial| trial.value == nominal)?;
    let rate = |trial: &Trial| trial.successes as f64 / trial.episodes as f64;
    let nominal_rate = Some(rate(&counted[centre])).filter(|rate| rate.is_finite())?;
    let asked = LEAST_SHARE * nominal_rate;
    let grid: Vec<GridValue> = counted.iter().map(|trial| grid_value(trial, asked)).collect();
    let is_feasible = |index: usize| grid[index].status == Feasibility::Feasible && nominal_rate > 0.0;
    let rates = counted.iter().map(rate).filter(|rate| rate.is_finite());
    let sensitivity = nominal_rate - rates.fold(nominal_rate, f64::min);
    let mut found = Feasible {
        nominal,
        nominal_rate,
        asked,
        range: None,
        holes: Vec::new(),
        cut_off: Vec::new(),
        next: Vec::new(),
        proposed: None,
        sensitivity,
        grid: Vec::new(),
    };
    if is_feasible(centre) {
        let first = (0..centre).rev().take_while(|index| is_feasible(*index)).last().unwrap_or(centre);
        let last = (centre..grid.len()).take_while(|index| is_feasible(*index)).last().unwrap_or(centre);
        let range = Range { from: grid[first].value, to: grid[last].value };
        found.cut_off =
            outside(&grid, first, last).filter(|index| is_feasible(*index)).map(|i| grid[i].value).collect();
        found.holes = holes(&grid, first, last, &is_feasible);
        let width = range.to - range.from;
        let below = first.checked_sub(1).map(|index| grid[index].value);
        let above = grid.get(last + 1).map(|point| point.value);
        found.next.extend(refined(range.from, below, limits.from, width));
        found.next.extend(refined(range.to, above, limits.to, width));
        let margin = width * (1.0 - PROPOSED) / 2.0;
        // The nominal value stays inside, however close to an end it is.
        let from = (range.from + margin).min(nominal);
        let to = (range.to - margin).max(nominal);
        found.range = Some(range);
        found.proposed = Some(Range { from, to }).filter(|range| range.to > range.from);
    }
    found.grid = grid;
    Some(found)
}

fn grid_value(trial: &Trial, asked: f64) -> GridValue {
    let (low, high) = wilson(trial.successes.min(trial.episodes), trial.episodes, CONFIDENCE);
    let status = if low >= asked {
        Feasibility::Feasible
    } else if high < asked {
        Feasibility::Infeasible
    } else {
        Feasibility::Uncertain
    };
    GridValue { value: trial.value, successes: trial.successes, episodes: trial.episodes, low, high, status }
}

fn outside(grid: &[GridValue], first: usize, last: usize) -> impl Iterator<Item = usize> {
    (0..first).chain(last + 1..grid.len())
}

/// Values that are not feasible between the range and feasible ones beyond it.
fn holes(grid: &[GridValue], first: usize, last: usize, is_feasible: &impl Fn(usize) -> bool) -> Vec<f64> {
    let lowest = (0..first).find(|index| is_feasible(*index));
    let highest = (last + 1..grid.len()).rev().find(|index| is_feasible(*index));
    let is_hole = |index: &usize| {
        !is_feasible(*index)
            && (lowest.is_some_and(|lowest| *index > lowest && *index < first)
                || highest.is_some_and(|highest| *index < highest && *index > last))
    };
    outside(grid, first, last).filter(is_hole).map(|index| grid[index].value).collect()
}

/// The value that narrows an edge down: between the last feasible value and the next, or the limit where no value
/// beyond was tried.
fn refined(edge: f64, beyond: Option<f64>, limit: f64, width: f64) -> Option<f64> {
    match beyond {
        Some(beyond) if (beyond - edge).abs() > FINE_ENOUGH * width => {
            let middle = middle(edge, beyond);
            (middle != edge && middle != beyond).then_some(middle)
        }
        Some(_) => None,
        None => Some(limit).filter(|limit| limit.is_finite() && *limit != edge),
    }
}

/// The middle of two values; of two positive ones that are far apart, the geometric one.
pub fn middle(one: f64, other: f64) -> f64 {
    let (low, high) = (one.min(other), one.max(other));
    if low > 0.0 && high / low > FAR_APART { (low * high).sqrt() } else { f64::midpoint(low, high) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Range = Range { from: 0.0, to: 10.0 };

    fn counted(values: &[(f64, u64)]) -> Vec<Trial> {
        values
            .iter()
            .map(|(value, successes)| Trial { value: *value, successes: *successes, episodes: 40 })
            .collect()
    }

    /// What a plain minimum and maximum of the successes would miss: 8 works, but 5 doesn't.
    #[test]
    fn a_failure_inside_cuts_the_range() {
        let trials = counted(&[(0.5, 0), (1.0, 38), (2.0, 40), (3.0, 39), (5.0, 3), (8.0, 40), (10.0, 0)]);
        let found = feasible(&trials, 2.0, LIMITS).unwrap();
        assert_eq!(found.range, Some(Range { from: 1.0, to: 3.0 }));
        assert_eq!((found.holes, found.cut_off), (vec![5.0], vec![8.0]));
        assert_eq!(found.next, [0.75, 4.0]);
        assert_eq!(found.proposed, Some(Range { from: 1.3, to: 2.7 }));
        assert_eq!(found.sensitivity, 1.0);
    }

    #[test]
    fn a_range_that_reaches_the_last_value_asks_for_the_limit() {
        let found = feasible(&counted(&[(1.0, 40), (2.0, 40)]), 1.0, LIMITS).unwrap();
        assert_eq!(found.range, Some(Range { from: 1.0, to: 2.0 }));
        assert_eq!(found.next, [0.0, 10.0]);
        // The nominal value is at the end and stays inside.
        assert_eq!(found.proposed.unwrap().from, 1.0);
        let closed = feasible(&counted(&[(1.0, 40), (2.0, 40)]), 1.0, Range { from: 1.0, to: 2.0 }).unwrap();
        assert!(closed.next.is_empty());
    }

    #[test]
    fn too_few_episodes_are_uncertain_and_bound_nothing() {
        let trials: Vec<Trial> =
            [1.0, 2.0, 3.0].map(|value| Trial { value, successes: 2, episodes: 2 }).into();
        let found = feasible(&trials, 2.0, LIMITS).unwrap();
        assert!(found.grid.iter().all(|point| point.status == Feasibility::Uncertain));
        assert_eq!((found.range, found.proposed), (None, None));
    }

    #[test]
    fn what_never_works_or_was_never_counted() {
        assert_eq!(feasible(&[], 1.0, LIMITS), None);
        assert_eq!(feasible(&counted(&[(1.0, 40)]), 2.0, LIMITS), None);
        let none = [Trial { value: 1.0, successes: 0, episodes: 0 }];
        assert_eq!(feasible(&none, 1.0, LIMITS), None);
        // Everything is at least 80% of nothing, which must not make it feasible.
        assert_eq!(feasible(&counted(&[(1.0, 0), (2.0, 40)]), 1.0, LIMITS).unwrap().range, None);
    }

    #[test]
    fn a_fine_edge_is_left_alone() {
        let trials = counted(&[(0.0, 40), (10.0, 40), (10.5, 0)]);
        let found = feasible(&trials, 5.0, LIMITS);
        assert_eq!(found, None, "the nominal value wasn't tried");
        let found = feasible(&trials, 0.0, Range { from: 0.0, to: 20.0 }).unwrap();
        assert!(found.next.is_empty());
        assert_eq!(middle(0.01, 1.0), 0.1);
        assert_eq!(middle(-1.0, 1.0), 0.0);
    }

    proptest! {
        #[test]
        fn the_range_holds_the_nominal_value_and_only_feasible_ones(
            counts in prop::collection::vec(0u64..=40, 1..12),
            centre in 0usize..12,
        ) {
            let trials: Vec<Trial> = counts.iter().enumerate().map(|(index, successes)| {
                Trial { value: index as f64, successes: *successes, episodes: 40 }
            }).collect();
            let nominal = (centre % counts.len()) as f64;
            let found = feasible(&trials, nominal, Range { from: 0.0, to: 100.0 }).unwrap();
            if let Some(range) = found.range {
                prop_assert!(range.from <= nominal && nominal <= range.to);
                for point in &found.grid {
                    let inside = point.value >= range.from && point.value <= range.to;
                    prop_assert!(!inside || point.status == Feasibility::Feasible);
                }
            }
            if let (Some(range), Some(proposed)) = (found.range, found.proposed) {
                prop_assert!(proposed.from >= range.from && proposed.to <= range.to);
            }
        }
    }
}
