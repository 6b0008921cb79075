//! From runs to groups: groups of seeds that are compared as one.

use std::collections::BTreeSet;

use super::state_word;
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::fold::{Duplicate, Folded, Member, fold, identity_of};
use crate::insight::run_data::{Group, RunData, SeedState};
use crate::training::seed_ranges::seed_ranges;

/// A group as it is compared.
pub(super) struct ComparedGroup<'m> {
    /// A, B, C, …
    pub(super) id: String,
    pub(super) label: String,
    pub(super) runs: &'m [RunData],
    /// Every training once, in the order of the runs and their seeds.
    pub(super) members: Vec<Member<'m>>,
    pub(super) duplicates: Vec<Duplicate>,
}

/// The groups as loaded, or regrouped by config.
pub(super) fn grouped(loaded: Vec<Group>, by_config: bool) -> Outcome<Vec<Group>> {
    if !by_config {
        return Ok(loaded);
    }
    let mut groups: Vec<(Vec<(String, String)>, Group)> = Vec::new();
    let mut seen = BTreeSet::new();
    for run in loaded.into_iter().flat_map(|group| group.runs) {
        if !seen.insert(run.run.path().to_owned()) {
            continue;
        }
        let identity = identity_of(&run);
        match groups.iter_mut().find(|(known, _)| *known == identity) {
            Some((_, group)) => group.runs.push(run),
            None => groups.push((identity, Group { label: String::new(), runs: vec![run] })),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    for group in &mut groups {
        let more = group.runs.len() - 1;
        let first = &group.runs[0].name;
        group.label = if more == 0 { first.clone() } else { format!("{first} and {more} more") };
    }
    if let [only] = groups.as_slice() {
        let runs = only.runs.len();
        let which = if runs == 1 {
            "only one run was given".to_owned()
        } else {
            format!("all {runs} runs have the same config")
        };
        return Err(Failure::usage("nothing_to_compare", format!("{which}, so there is nothing to compare"))
            .hint("rlx ls --columns name,env,tags"));
    }
    Ok(groups)
}

impl<'m> ComparedGroup<'m> {
    pub(super) fn new(index: usize, group: &'m Group) -> Self {
        let Folded { members, duplicates } = fold(&group.runs);
        Self { id: id_of(index), label: group.label.clone(), runs: &group.runs, members, duplicates }
    }

    pub(super) fn in_state(&self, state: SeedState) -> impl Iterator<Item = &Member<'m>> {
        self.members.iter().filter(move |member| member.seed.state == state)
    }
}

/// A, B, …, Z, AA, AB, …
fn id_of(index: usize) -> String {
    let letter = |number: usize| char::from(b'A' + (number % 26) as u8);
    match index / 26 {
        0 => letter(index).to_string(),
        rounds => format!("{}{}", id_of(rounds - 1), letter(index)),
    }
}

/// Warnings about the groups, one sentence each.
pub(super) fn warnings(groups: &[ComparedGroup<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    let single: Vec<&str> =
        groups.iter().filter(|group| group.members.len() == 1).map(|group| group.id.as_str()).collect();
    if !single.is_empty() {
        let has = if single.len() == 1 { "has" } else { "have" };
        warnings.push(format!("{} {has} one seed: seed-to-seed variation is unknown", listed(&single)));
    }
    for group in groups {
        if !group.duplicates.is_empty() {
            let seeds: BTreeSet<u64> = group.duplicates.iter().map(|duplicate| duplicate.seed).collect();
            warnings.push(format!(
                "{}: {} repeated with the same config, so counted once: {}",
                group.id,
                if group.duplicates.len() == 1 {
                    "1 seed".to_owned()
                } else {
                    format!("{} seeds", group.duplicates.len())
                },
                seed_ranges(seeds)
            ));
        }
        let configs: BTreeSet<Vec<(String, String)>> = group.runs.iter().map(identity_of).collect();
        if configs.len() > 1 {
            warnings.push(format!("{} combines runs with {} different configs", group.id, configs.len()));
        }
        for member in group.in_state(SeedState::Failed) {
            let why = member.seed.reason().unwrap_or("its run ended before it was done");
            let of = format!(
                "{}: seed {} of {} {}",
                group.id,
                member.seed.seed,
                member.run.name,
                state_word(SeedState::Failed)
            );
            warnings.push(format!("{of}: {why}"));
        }
        for run in group.runs {
            warnings.extend(run.notes.iter().map(|note| format!("{}: {}: {note}", group.id, run.name)));
        }
    }
    if let Some((reference, others)) = groups.split_first() {
        let names: BTreeSet<&str> = reference.runs.iter().map(|run| run.name.as_str()).collect();
        for group in others {
            let shared = group.runs.iter().filter(|run| names.contains(run.name.as_str())).count();
            if shared > 0 {
                let runs = if shared == 1 { "1 run is".to_owned() } else { format!("{shared} runs are") };
                warnings.push(format!("{runs} in both A and {}", group.id));
            }
        }
    }
    warnings
}

/// `A, B and C`; the first few of many.
pub(super) fn listed(ids: &[&str]) -> String {
    const MOST: usize = 6;
    match ids {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if ids.len() <= MOST => format!("{} and {last}", first.join(", ")),
        many => format!("{} and {} more", many[..MOST - 1].join(", "), many.len() - (MOST - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_letters() {
        assert_eq!(
            [0, 1, 25, 26, 27, 52, 701, 702].map(id_of),
            ["A", "B", "Z", "AA", "AB", "BA", "ZZ", "AAA"]
        );
    }

    #[test]
    fn lists_stay_short() {
        assert_eq!(listed(&["A"]), "A");
        assert_eq!(listed(&["A", "B", "C"]), "A, B and C");
        assert_eq!(listed(&["A"; 200]), "A, A, A, A, A and 195 more");
    }
}
