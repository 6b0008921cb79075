//! Which seeds become one curve, and what to call it.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_draw::chart::LOOKS;

use super::GroupBy;
use super::metric::named;
use crate::insight::run_data::fold::{Folded, fold, identity_of};
use crate::insight::run_data::{Group, RunData, SeedData};

/// At most this many differing keys make a label.
const MOST_KEYS: usize = 3;

/// Seeds that become one curve.
pub(super) struct PlottedGroup<'m> {
    pub(super) label: String,
    pub(super) runs: Vec<&'m RunData>,
    pub(super) seeds: Vec<(&'m RunData, &'m SeedData)>,
}

/// All curves, and what was decided about them.
pub(super) struct PlottedGroups<'m> {
    pub(super) groups: Vec<PlottedGroup<'m>>,
    pub(super) notes: Vec<String>,
}

/// The curves of loaded groups.
pub(super) fn plotted(groups: &[Group], by: GroupBy) -> PlottedGroups<'_> {
    let mut notes = Vec::new();
    let fold = match by {
        GroupBy::Word if groups.len() > LOOKS => {
            notes.push(format!(
                "{} groups are too many to distinguish: runs with the same config are merged \
                 (--group-by none keeps them separate).",
                groups.len()
            ));
            GroupBy::Config
        }
        other => other,
    };
    let merged = match fold {
        GroupBy::Word => {
            for group in groups {
                let configs: BTreeSet<Identity> = group.runs.iter().map(identity).collect();
                if configs.len() > 1 {
                    notes.push(format!(
                        "{} combines runs with {} different configs (--group-by config separates them).",
                        group.label,
                        configs.len()
                    ));
                }
            }
            groups
                .iter()
                .map(|group| PlottedGroup::new(group.label.clone(), group.runs.iter().collect()))
                .collect()
        }
        GroupBy::None => each_run(groups).map(|run| PlottedGroup::new(run.name.clone(), vec![run])).collect(),
        GroupBy::Config => by_config(each_run(groups)),
    };
    let mut plotted = PlottedGroups { groups: merged, notes };
    plotted.count_once();
    if plotted.groups.len() > LOOKS {
        plotted.notes.push(format!(
            "{} groups: only the first {LOOKS} are coloured, the others are grey.",
            plotted.groups.len()
        ));
    }
    plotted
}

impl<'m> PlottedGroup<'m> {
    fn new(label: String, runs: Vec<&'m RunData>) -> Self {
        let seeds = runs.iter().flat_map(|run| run.seeds.iter().map(move |seed| (*run, seed))).collect();
        Self { label, runs, seeds }
    }
}

impl PlottedGroups<'_> {
    /// The same training counts once, however many runs hold it.
    fn count_once(&mut self) {
        for group in &mut self.groups {
            let Folded { members, duplicates } = fold(group.runs.iter().copied());
            group.seeds = members.into_iter().map(|member| (member.run, member.seed)).collect();
            if !duplicates.is_empty() {
                let count = duplicates.len();
                let mut left_out: Vec<String> =
                    duplicates.into_iter().map(|duplicate| duplicate.left_out).collect();
                left_out.dedup();
                self.notes.push(format!(
                    "{}: {count} seed{} of {} repeat{} another one exactly and count{} once.",
                    group.label,
                    if count == 1 { "" } else { "s" },
                    named(&left_out),
                    if count == 1 { "s" } else { "" },
                    if count == 1 { "s" } else { "" },
                ));
            }
        }
    }
}

/// Every run once, in the order in which they were named.
fn each_run(groups: &[Group]) -> impl Iterator<Item = &RunData> {
    let mut seen = BTreeSet::new();
    groups.iter().flat_map(|group| &group.runs).filter(move |run| seen.insert(run.run.path().to_owned()))
}

type Identity = BTreeMap<String, String>;

/// What of a config changes what is trained.
fn identity(run: &RunData) -> Identity {
    identity_of(run).into_iter().map(|(key, value)| (key, short(&value))).collect()
}

/// A schedule reads as from → to; everything else as it is written.
fn short(value: &str) -> String {
    let parts = value.strip_prefix("{schedule: ").and_then(|rest| rest.strip_suffix('}'));
    let part = |name: &str| parts?.split(", ").find_map(|part| part.strip_prefix(name));
    match (part("from: "), part("to: ")) {
        (Some(from), Some(to)) => format!("{from}→{to}"),
        _ => value.to_owned(),
    }
}

fn by_config<'m>(runs: impl Iterator<Item = &'m RunData>) -> Vec<PlottedGroup<'m>> {
    let mut groups: Vec<(Identity, Vec<&RunData>)> = Vec::new();
    for run in runs {
        let own = identity(run);
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, members)) => members.push(run),
            None => groups.push((own, vec![run])),
        }
    }
    let identities: Vec<&Identity> = groups.iter().map(|(identity, _)| identity).collect();
    let labels = labels(&identities);
    let name = |runs: &[&RunData]| match runs.len() - 1 {
        0 => runs[0].name.clone(),
        more => format!("{} and {more} more", runs[0].name),
    };
    let labels: Vec<String> = match labels {
        Some(labels) => labels,
        None => groups.iter().map(|(_, runs)| name(runs)).collect(),
    };
    groups.into_iter().zip(labels).map(|((_, runs), label)| PlottedGroup::new(label, runs)).collect()
}

/// The keys in which configs differ, as labels; `None` if there are too many of them, or no differences.
fn labels(identities: &[&Identity]) -> Option<Vec<String>> {
    let all: BTreeSet<&String> = identities.iter().flat_map(|identity| identity.keys()).collect();
    let differing: Vec<&String> = all
        .into_iter()
        .filter(|key| identities.iter().any(|identity| identity.get(*key) != identities[0].get(*key)))
        .collect();
    if differing.is_empty() || differing.len() > MOST_KEYS {
        return None;
    }
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let short: Vec<String> = differing
        .iter()
        .map(|key| {
            let shared = differing.iter().filter(|other| last(other) == last(key)).count() > 1;
            if shared { (*key).clone() } else { last(key) }
        })
        .collect();
    let label = |identity: &&Identity| {
        let parts = differing.iter().zip(&short).map(|(key, short)| {
            let value = identity.get(*key).map_or("default", String::as_str);
            // The environment needs no key.
            if *key == "env.id" { value.to_owned() } else { format!("{short}={value}") }
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    Some(identities.iter().map(label).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity_from(pairs: &[(&str, &str)]) -> Identity {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn groups_are_called_by_what_differs() {
        let a = identity_from(&[("algo.learning_rate", "0.001"), ("algo.gamma", "0.99")]);
        let b = identity_from(&[("algo.learning_rate", "0.003"), ("algo.gamma", "0.99")]);
        let c = identity_from(&[("algo.learning_rate", "0.003"), ("env.gamma", "1")]);
        let labels_of = |list: &[&Identity]| labels(list).unwrap_or_default();
        assert_eq!(labels_of(&[&a, &b]), ["learning_rate=0.001", "learning_rate=0.003"]);
        assert_eq!(labels_of(&[&b, &c])[1], "algo.gamma=default, env.gamma=1");
        assert_eq!(labels(&[&a]), None);
    }

    #[test]
    fn schedules_are_one_value() {
        assert_eq!(short("{schedule: linear, from: 0.001, to: 0}"), "0.001→0");
        assert_eq!(short("[64, 64]"), "[64, 64]");
    }
}
