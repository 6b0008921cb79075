//! Budget arithmetic: whole numbers, reserved when a run is intended, settled when it ends.
//!
//! While a run is under way its whole reservation counts as spent, so that any number of intents made at
//! once stay within the budget. Nothing here can drop below zero or overflow into "enough left".

use serde::{Deserialize, Serialize};

use crate::documents::{BudgetSection, Bytes, PhasePlan, Seconds};
use crate::machine::RunEnd;

/// An amount of everything that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// Runs
    pub runs: u64,
    /// Seconds of wall clock
    pub wall_clock: u64,
    /// Seconds of GPUs
    pub gpu_time: u64,
    /// Bytes on the disk
    pub disk: u64,
}

impl Amounts {
    /// The sum, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// What is left of `self`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    /// The amount multiplied.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        self.each(Self { runs: count, wall_clock: count, gpu_time: count, disk: count }, u64::saturating_mul)
    }

    fn each(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            runs: with(self.runs, other.runs),
            wall_clock: with(self.wall_clock, other.wall_clock),
            gpu_time: with(self.gpu_time, other.gpu_time),
            disk: with(self.disk, other.disk),
        }
    }

    /// Each amount formatted for people.
    pub fn named(self) -> [(&'static str, u64, String); 4] {
        [
            ("runs", self.runs, self.runs.to_string()),
            ("wall_clock", self.wall_clock, Seconds(self.wall_clock).to_string()),
            ("gpu_time", self.gpu_time, Seconds(self.gpu_time).to_string()),
            ("disk", self.disk, Bytes(self.disk).to_string()),
        ]
    }
}

impl From<&BudgetSection> for Amounts {
    fn from(budget: &BudgetSection) -> Self {
        Self {
            runs: budget.runs,
            wall_clock: budget.wall_clock.0,
            gpu_time: budget.gpu_time.0,
            disk: budget.disk.0,
        }
    }
}

/// What one run of a phase may take.
pub fn reservation(plan: &PhasePlan, budget: &BudgetSection) -> Amounts {
    Amounts { runs: 1, wall_clock: plan.wall_clock.0, gpu_time: plan.gpu_time.0, disk: budget.per_run.disk.0 }
}

/// What is spent and what is reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// By runs that ended
    pub spent: Amounts,
    /// For runs that are intended or under way
    pub reserved: Amounts,
}

impl Tally {
    /// A run was intended.
    pub fn reserve(&mut self, reserve: Amounts) {
        self.reserved = self.reserved.plus(reserve);
    }

    /// A run ended. One that was blocked before it started costs nothing.
    pub fn settle(&mut self, reserve: Amounts, end: RunEnd, spent: Amounts) {
        self.reserved = self.reserved.minus(reserve);
        if end != RunEnd::Blocked {
            self.spent = self.spent.plus(spent);
        }
    }

    /// What can still be reserved.
    pub fn left(&self, total: Amounts) -> Amounts {
        total.minus(self.spent).minus(self.reserved)
    }

    /// Names of what `wanted` would overrun, each with what is wanted and what is left.
    pub fn overruns(&self, total: Amounts, wanted: Amounts) -> Vec<(&'static str, String, String)> {
        let left = self.left(total);
        let pairs = wanted.named().into_iter().zip(left.named());
        let over = pairs.filter(|(wanted, left)| wanted.1 > left.1);
        over.map(|(wanted, left)| (wanted.0, wanted.2, left.2)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amounts() -> impl Strategy<Value = Amounts> {
        let amount = || prop_oneof![0..1000u64, Just(u64::MAX)];
        (amount(), amount(), amount(), amount()).prop_map(|(runs, wall_clock, gpu_time, disk)| Amounts {
            runs,
            wall_clock,
            gpu_time,
            disk,
        })
    }

    fn small() -> impl Strategy<Value = Amounts> {
        (0..1000u64, 0..1000u64, 0..1000u64, 0..1000u64)
            .prop_map(|(runs, wall_clock, gpu_time, disk)| Amounts { runs, wall_clock, gpu_time, disk })
    }

    proptest! {
        #[test]
        fn more_spent_never_leaves_more(total in amounts(), first in amounts(), more in amounts(), wanted in amounts()) {
            let mut tally = Tally::default();
            tally.reserve(first);
            let before = tally.overruns(total, wanted).len();
            tally.reserve(more);
            prop_assert!(tally.overruns(total, wanted).len() >= before);
        }

        #[test]
        fn reserved_and_settled_is_what_was_spent(runs in prop::collection::vec((small(), small()), 0..20)) {
            let mut tally = Tally::default();
            let mut expected = Amounts::default();
            for (reserve, _) in &runs {
                tally.reserve(*reserve);
            }
            for (reserve, spent) in &runs {
                tally.settle(*reserve, RunEnd::Failed, *spent);
                expected = expected.plus(*spent);
            }
            prop_assert_eq!(tally, Tally { spent: expected, reserved: Amounts::default() });
        }
    }

    #[test]
    fn a_blocked_run_costs_nothing() {
        let one = Amounts { runs: 1, wall_clock: 60, gpu_time: 0, disk: 10 };
        let mut tally = Tally::default();
        tally.reserve(one);
        assert_eq!(tally.overruns(one, one).len(), 3);
        tally.settle(one, RunEnd::Blocked, one);
        assert_eq!(tally, Tally::default());
    }
}
