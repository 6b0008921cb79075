//! Looks at a candidate with bounds for accepting and for giving up, found by
//! simulating candidates that equal the incumbent.
//!
//! The accept bound has the shape of Wang and Tsiatis (1987), c·(n/N)^-e: a
//! little stricter at early looks. Giving up follows a line from -1/2 at no
//! runs to the plain critical value at all of them, so a candidate continues
//! only while it keeps up with what acceptance needs.

use rlxp_types::Stream;
use serde::{Deserialize, Serialize};

use crate::statistics::distribution::normal_quantile;
use crate::statistics::verdict::SortedPair;

/// A planned look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Seeds of the candidate.
    pub seeds: u64,
    /// Seeds of the incumbent.
    pub incumbent_seeds: u64,
    /// Accepts from this z on.
    pub accept: f64,
    /// Drops below this z; null at the last look.
    pub drop: Option<f64>,
}

/// What a look says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Accept,
    Drop,
    More,
    /// The last look, neither accepted nor dropped before.
    Undecided,
}

impl Look {
    /// The decision; `admitted` says whether the difference matters.
    pub fn call(&self, z: f64, admitted: bool) -> Call {
        match self.drop {
            _ if z >= self.accept && admitted => Call::Accept,
            Some(drop) if z < drop => Call::Drop,
            Some(_) => Call::More,
            None => Call::Undecided,
        }
    }
}

/// Looks before their accept bounds are known.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Seeds of candidate and incumbent.
    pub(super) seeds: Vec<(u64, u64)>,
    /// What z is multiplied with at each look so that one number bounds all.
    weights: Vec<f64>,
    drops: Vec<Option<f64>>,
}

impl Shape {
    /// Looks at these numbers of seeds. Early ones are stricter by `exponent`;
    /// the line of giving up follows the `level` of one candidate.
    pub(super) fn new(seeds: Vec<(u64, u64)>, exponent: f64, level: f64) -> Self {
        let most = seeds.last().map_or(1.0, |last| last.0 as f64);
        let shares: Vec<f64> = seeds.iter().map(|(seeds, _)| *seeds as f64 / most).collect();
        let critical = normal_quantile(1.0 - level);
        let mut drops: Vec<Option<f64>> = shares.iter().map(|share| Some(-0.5 + critical * share)).collect();
        if let Some(last) = drops.last_mut() {
            *last = None;
        }
        Self { seeds, weights: shares.iter().map(|share| share.powf(exponent)).collect(), drops }
    }

    pub(super) fn looks(&self, constant: f64) -> Vec<Look> {
        let look = |(index, (seeds, incumbent_seeds)): (usize, &(u64, u64))| Look {
            seeds: *seeds,
            incumbent_seeds: *incumbent_seeds,
            accept: constant / self.weights[index],
            drop: self.drops[index],
        };
        self.seeds.iter().enumerate().map(look).collect()
    }

    /// The largest weighted z over the looks that a candidate reaches whose z
    /// at look `k` is `z(k)`.
    pub(super) fn highest(&self, mut z: impl FnMut(usize) -> f64) -> f64 {
        let mut highest = f64::NEG_INFINITY;
        for (look, (weight, drop)) in self.weights.iter().zip(&self.drops).enumerate() {
            let z = z(look);
            highest = highest.max(z * weight);
            if drop.is_some_and(|drop| z < drop) {
                break;
            }
        }
        highest
    }
}

/// The constant that the highest values pass with probability `level` at most.
pub(super) fn constant(mut highest: Vec<f64>, level: f64) -> f64 {
    highest.sort_unstable_by(f64::total_cmp);
    let allowed = (level * highest.len() as f64).floor() as usize;
    match highest.len().checked_sub(allowed + 1) {
        // Just above the first value that must not pass.
        Some(last) => highest[last] + 1e-9,
        None => f64::INFINITY,
    }
}

/// Looks at a candidate whose incumbent runs as many fresh seeds, at this level.
pub(super) fn calibrated(shape: &Shape, level: f64, repetitions: u64, seed: u64) -> Vec<Look> {
    let (most, most_incumbent) = *shape.seeds.last().expect("a plan has looks");
    let mut stream = Stream::new(seed, "campaign/bounds", 0);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut sorted = (Vec::new(), Vec::new());
    let highest = (0..repetitions).map(|_| {
        a.clear();
        b.clear();
        a.extend((0..most_incumbent).map(|_| stream.uniform()));
        b.extend((0..most).map(|_| stream.uniform()));
        shape.highest(|look| {
            let (seeds, incumbent) = shape.seeds[look];
            rising(&a[..incumbent as usize], &mut sorted.0);
            rising(&b[..seeds as usize], &mut sorted.1);
            SortedPair { a: &sorted.0, b: &sorted.1 }.z()
        })
    });
    shape.looks(constant(highest.collect(), level))
}

/// The values in rising order.
pub(super) fn rising(values: &[f64], into: &mut Vec<f64>) {
    into.clear();
    into.extend_from_slice(values);
    into.sort_unstable_by(f64::total_cmp);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape::new([7, 14, 21, 28, 35].map(|seeds| (seeds, seeds)).to_vec(), 0.1, 0.045)
    }

    #[test]
    fn bounds_fall_from_look_to_look_and_drops_rise() {
        let looks = calibrated(&shape(), 0.045, 20_000, 1);
        assert!(looks.windows(2).all(|pair| pair[0].accept > pair[1].accept), "{looks:?}");
        assert!(looks.windows(2).all(|pair| pair[1].drop.is_none_or(|drop| drop > pair[0].drop.unwrap())));
        // The plain one-sided value is 1.70; several looks cost a little more.
        assert!((1.85..2.2).contains(&looks[4].accept), "{looks:?}");
        assert_eq!(looks[4].drop, None);
    }

    #[test]
    fn a_fresh_simulation_errs_as_often_as_planned() {
        let looks = calibrated(&shape(), 0.045, 20_000, 1);
        let mut stream = Stream::new(7, "test", 0);
        let (rounds, mut accepted) = (10_000, 0);
        for _ in 0..rounds {
            let a: Vec<f64> = (0..35).map(|_| stream.uniform()).collect();
            let b: Vec<f64> = (0..35).map(|_| stream.uniform()).collect();
            let (mut left, mut right) = (Vec::new(), Vec::new());
            for look in &looks {
                rising(&a[..look.seeds as usize], &mut left);
                rising(&b[..look.seeds as usize], &mut right);
                match look.call(SortedPair { a: &left, b: &right }.z(), true) {
                    Call::Accept => accepted += 1,
                    Call::More => continue,
                    Call::Drop | Call::Undecided => {}
                }
                break;
            }
        }
        let share = f64::from(accepted) / f64::from(rounds);
        assert!((0.038..0.052).contains(&share), "{share}");
    }

    #[test]
    fn a_difference_that_does_not_matter_is_not_accepted() {
        let look = Look { seeds: 7, incumbent_seeds: 7, accept: 2.0, drop: Some(0.0) };
        assert_eq!(look.call(3.0, true), Call::Accept);
        assert_eq!(look.call(3.0, false), Call::More);
        assert_eq!(look.call(-0.1, true), Call::Drop);
        assert_eq!(Look { drop: None, ..look }.call(-0.1, true), Call::Undecided);
    }
}
