//! Which seeds become one curve, in which order, and what they are called.

use std::collections::BTreeSet;

use rlxp_draw::chart::LOOKS;

use super::{GroupBy, PlotOptions};
use crate::insight::group_names::{GroupName, Unnamed, abbreviated, names};
use crate::insight::group_order::{BestOf, best_first, in_order, worth_of_seeds};
use crate::insight::run_data::fold::{Duplicate, Folded, fold, identity_of, same_configs};
use crate::insight::run_data::{Group, RunData, SeedData, first_and_more, named};

/// Up to this many groups, each label has a row of its own in the legend.
const FEW: usize = 7;

/// Seeds that become one curve.
pub(super) struct PlottedGroup<'m> {
    pub(super) label: String,
    /// The label in a crowded legend.
    pub(super) short: String,
    /// The other way to name it.
    pub(super) also: Option<String>,
    pub(super) runs: Vec<&'m RunData>,
    pub(super) seeds: Vec<(&'m RunData, &'m SeedData)>,
}

/// All curves, best first, and what was decided about them.
pub(super) struct PlottedGroups<'m> {
    pub(super) groups: Vec<PlottedGroup<'m>>,
    pub(super) best_of: Option<BestOf>,
    pub(super) notes: Vec<String>,
}

/// A group before it has a label.
struct Nameless<'m> {
    name: String,
    runs: Vec<&'m RunData>,
    seeds: Vec<(&'m RunData, &'m SeedData)>,
    duplicates: Vec<Duplicate>,
}

/// The curves of loaded groups.
pub(super) fn plotted<'m>(groups: &'m [Group], options: &PlotOptions) -> PlottedGroups<'m> {
    let mut notes = Vec::new();
    let by = match options.group_by {
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
    let merged: Vec<Nameless<'m>> = match by {
        GroupBy::Word => groups
            .iter()
            .map(|group| Nameless::new(group.label.clone(), group.runs.iter().collect()))
            .collect(),
        GroupBy::None => each_run(groups).map(|run| Nameless::new(run.name.clone(), vec![run])).collect(),
        GroupBy::Config => by_config(each_run(groups)),
    };
    let all = merged.len();
    let seeds = |group: &Nameless<'m>| group.seeds.iter().map(|(_, seed)| *seed).collect();
    let mut places = best_first(&worth_of_seeds(&merged.iter().map(seeds).collect::<Vec<_>>()));
    places.truncate(options.best.unwrap_or(all));
    let merged = in_order(merged, &places);
    let best_of = BestOf::new(merged.len(), all);
    notes.extend(best_of.map(BestOf::sentence));
    let groups = with_names(merged, &mut notes);
    if groups.len() > LOOKS {
        notes.push(format!(
            "{} groups: only the best {LOOKS} are coloured, the others are grey.",
            groups.len()
        ));
    }
    PlottedGroups { groups, best_of, notes }
}

impl<'m> Nameless<'m> {
    fn new(name: String, runs: Vec<&'m RunData>) -> Self {
        // The same training counts once, however many runs hold it.
        let Folded { members, duplicates } = fold(runs.iter().copied());
        let seeds = members.into_iter().map(|member| (member.run, member.seed)).collect();
        Self { name, runs, seeds, duplicates }
    }
}

/// Labels the groups and notes what a reader must know of each.
fn with_names<'m>(groups: Vec<Nameless<'m>>, notes: &mut Vec<String>) -> Vec<PlottedGroup<'m>> {
    let unnamed: Vec<Unnamed> =
        groups.iter().map(|group| Unnamed::of_runs(&group.name, group.runs.iter().copied())).collect();
    let given = names(&unnamed);
    let full = || given.iter().map(|name| name.label.clone()).collect();
    // Few labels have room enough.
    let shortened = if given.len() > FEW { abbreviated(&unnamed, &given) } else { None };
    let (short, said) = shortened.map_or_else(|| (full(), None), |(short, said)| (short, Some(said)));
    notes.extend(said);
    let mut named_groups = Vec::new();
    for ((group, short), GroupName { label, also }) in groups.into_iter().zip(short).zip(given) {
        let configs: BTreeSet<_> = group.seeds.iter().map(|(run, _)| identity_of(run)).collect();
        if configs.len() > 1 {
            notes.push(format!(
                "{label} combines runs with {} different configs (--group-by config separates them).",
                configs.len()
            ));
        }
        notes.extend(counted_once(&label, group.duplicates));
        named_groups.push(PlottedGroup { label, short, also, runs: group.runs, seeds: group.seeds });
    }
    named_groups
}

fn counted_once(label: &str, duplicates: Vec<Duplicate>) -> Option<String> {
    let count = duplicates.len();
    let mut left_out: Vec<String> = duplicates.into_iter().map(|duplicate| duplicate.left_out).collect();
    left_out.dedup();
    (count > 0).then(|| {
        format!(
            "{label}: {count} seed{} of {} repeat{} another one exactly and count{} once.",
            if count == 1 { "" } else { "s" },
            named(&left_out),
            if count == 1 { "s" } else { "" },
            if count == 1 { "s" } else { "" },
        )
    })
}

/// Every run once, in the order in which they were named.
fn each_run(groups: &[Group]) -> impl Iterator<Item = &RunData> {
    let mut seen = BTreeSet::new();
    groups.iter().flat_map(|group| &group.runs).filter(move |run| seen.insert(run.run.path().to_owned()))
}

fn by_config<'m>(runs: impl Iterator<Item = &'m RunData>) -> Vec<Nameless<'m>> {
    let name =
        |runs: &[&RunData]| first_and_more(&runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>());
    same_configs(runs).into_iter().map(|runs| Nameless::new(name(&runs), runs)).collect()
}
