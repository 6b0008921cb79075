//! What differs between two groups: config keys, code and seeds.

use std::collections::BTreeSet;

use serde::Serialize;

use super::code::{CodeChange, FileChanges, Repository, code_changes};
use super::groups::ComparedGroup;
use crate::insight::run_data::fold::{NOISE, keys_of};
use crate::training::seed_ranges::seed_ranges;

/// Distinct values of a group that are written out.
const MOST_VALUES: usize = 4;

/// A config key that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigChange {
    /// Dotted key, as `--set` takes it.
    pub key: String,
    /// A's value, or values where its runs differ, as in a config.
    pub a: String,
    /// The other group's value.
    pub b: String,
}

/// Which seeds each group has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeedSets {
    pub a: String,
    /// Seeds of the other group.
    pub b: String,
    /// Whether both have the same ones.
    pub same: bool,
}

/// Everything that differs between A and another group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Config keys, without names, threads and seeds.
    pub config: Vec<ConfigChange>,
    /// Code, program, machine and origin.
    pub code: Vec<CodeChange>,
    /// Files that differ between the two commits, where both are in the repository.
    pub files: Option<FileChanges>,
    pub seeds: SeedSets,
    /// What the record doesn't tell, a sentence each.
    pub notes: Vec<String>,
}

/// What differs between `a` and `b`.
pub(super) fn changes(git: &Repository, a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> Changes {
    let (code, files, notes) = code_changes(git, a, b);
    Changes { config: config_changes(a, b), code, files, seeds: seed_sets(a, b), notes }
}

fn config_changes(a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> Vec<ConfigChange> {
    let all =
        |group: &ComparedGroup<'_>| group.runs.iter().map(|run| keys_of(&run.config)).collect::<Vec<_>>();
    let (of_a, of_b) = (all(a), all(b));
    let values = |configs: &[Vec<(String, String)>], index: usize| {
        configs.iter().map(|keys| keys[index].1.clone()).collect::<BTreeSet<String>>()
    };
    // A snapshot holds every key in the order of the table, whatever the config.
    let keys = of_a[0].iter().map(|(key, _)| key).enumerate();
    keys.filter(|(_, key)| !NOISE.contains(&key.as_str()))
        .filter_map(|(index, key)| {
            let (a, b) = (values(&of_a, index), values(&of_b, index));
            (a != b).then(|| ConfigChange { key: key.clone(), a: joined(a), b: joined(b) })
        })
        .collect()
}

/// The values of a group in one text.
pub(super) fn joined(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    let shown = values.iter().take(MOST_VALUES).cloned().collect::<Vec<_>>().join(" | ");
    match values.len().saturating_sub(MOST_VALUES) {
        0 => shown,
        more => format!("{shown} | {more} more"),
    }
}

fn seed_sets(a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> SeedSets {
    let seeds = |group: &ComparedGroup<'_>| {
        group.members.iter().map(|member| member.seed.seed).collect::<BTreeSet<u64>>()
    };
    let (of_a, of_b) = (seeds(a), seeds(b));
    SeedSets { same: of_a == of_b, a: seed_ranges(of_a), b: seed_ranges(of_b) }
}
