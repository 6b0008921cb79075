//! Seed pools: disjoint ranges by role, and no seed of the confirm or audit pool twice.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::{Phase, SeedRange, SeedRoles};

/// What a seed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeedRole {
    /// Screening
    Screen,
    /// Confirming a claim
    Confirm,
    /// Auditing a claim
    Audit,
    /// Evaluation episodes
    Evaluation,
}

impl SeedRole {
    /// The role of training seeds in a phase.
    pub fn for_phase(phase: Phase) -> Self {
        match phase {
            Phase::Smoke | Phase::Short => SeedRole::Screen,
            Phase::Confirm => SeedRole::Confirm,
            Phase::IncumbentValidation => SeedRole::Audit,
        }
    }
}

impl fmt::Display for SeedRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SeedRole::Screen => "screen",
            SeedRole::Confirm => "confirm",
            SeedRole::Audit => "audit",
            SeedRole::Evaluation => "evaluation",
        })
    }
}

impl SeedRoles {
    /// The pools with their roles.
    pub fn pools(&self) -> [(SeedRole, SeedRange); 4] {
        [
            (SeedRole::Screen, self.screen),
            (SeedRole::Confirm, self.confirm),
            (SeedRole::Audit, self.audit),
            (SeedRole::Evaluation, self.evaluation),
        ]
    }

    pub fn pool(&self, role: SeedRole) -> SeedRange {
        self.pools().into_iter().find(|(one, _)| *one == role).expect("every role has a pool").1
    }

    /// Pairs of roles that share a seed, and roles whose range is empty.
    pub fn problems(&self) -> Vec<String> {
        let pools = self.pools();
        let empty = pools.iter().filter(|(_, range)| range.to < range.from);
        let mut found: Vec<String> = empty
            .map(|(role, range)| format!("{role} seeds range from {} to {}", range.from, range.to))
            .collect();
        for (index, (one, first)) in pools.iter().enumerate() {
            for (other, second) in &pools[index + 1..] {
                let (from, to) = (first.from.max(second.from), first.to.min(second.to));
                if from <= to {
                    found.push(format!("{one} and {other} overlap in seeds {from} to {to}"));
                }
            }
        }
        found
    }
}

impl SeedRange {
    /// Whether a seed is one of these.
    pub fn contains(&self, seed: u64) -> bool {
        (self.from..=self.to).contains(&seed)
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.to.checked_sub(self.from).map_or(0, |last| last.saturating_add(1))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are not among `used`.
    pub fn unused(&self, used: &BTreeSet<u64>) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.len() - used.range(self.from..=self.to).count() as u64
    }

    /// The first `count` that are not among `used`.
    pub fn first_unused(&self, used: &BTreeSet<u64>, count: u64) -> Vec<u64> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        (self.from..=self.to).filter(|seed| !used.contains(seed)).take(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: u64, to: u64) -> SeedRange {
        SeedRange { from, to }
    }

    #[test]
    fn pools_that_share_a_seed_are_named() {
        let mut roles = SeedRoles {
            screen: range(0, 99),
            confirm: range(100, 199),
            audit: range(200, 299),
            evaluation: range(10_000, 19_999),
        };
        assert!(roles.problems().is_empty());
        roles.audit = range(199, 250);
        roles.evaluation = range(5, 4);
        let said = roles.problems();
        assert_eq!(
            said,
            ["evaluation seeds range from 5 to 4", "confirm and audit overlap in seeds 199 to 199"]
        );
    }

    #[test]
    fn used_seeds_are_gone() {
        let used = BTreeSet::from([0, 2, 7]);
        assert_eq!(range(0, 4).unused(&used), 3);
        assert_eq!(range(0, 4).first_unused(&used, 2), [1, 3]);
        assert_eq!(range(3, 2).unused(&used), 0);
        assert_eq!(range(0, u64::MAX).unused(&used), u64::MAX - 3);
    }
}
