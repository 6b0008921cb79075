//! From runs to groups: groups of seeds that are compared as one.

use std::collections::BTreeSet;
use std::path::Path;

use super::score::SeedScore;
use super::{CompareRequest, state_word};
use crate::failure::{Failure, Outcome};
use crate::insight::group_names::{Unnamed, names};
use crate::insight::group_order::{best_first, in_order, worth};
use crate::insight::run_data::counting::Continuation;
use crate::insight::run_data::fold::{Duplicate, Folded, Member, fold, identity_of};
use crate::insight::run_data::{Group, RunData, SeedState, by_config};
use crate::training::seed_ranges::seed_ranges;

/// A group as it is compared.
pub(super) struct ComparedGroup<'m> {
    /// A, B, C, …
    pub(super) id: String,
    /// What differs from the other groups.
    pub(super) label: String,
    /// The other way to name it.
    pub(super) also: Option<String>,
    /// What was typed, or its runs.
    pub(super) name: String,
    pub(super) runs: &'m [RunData],
    /// Every training once, in the order of the runs and their seeds.
    pub(super) members: Vec<Member<'m>>,
    pub(super) duplicates: Vec<Duplicate>,
    /// Seeds that another run of the group continues.
    pub(super) continued: &'m [Continuation],
}

/// The words to load: the reference first.
pub(super) fn words(request: &CompareRequest) -> Vec<String> {
    let others = request.words.iter().filter(|word| request.reference.as_ref() != Some(word));
    request.reference.iter().chain(others).cloned().collect()
}

/// The groups as loaded, or regrouped by config; the reference is the first.
pub(super) fn grouped(mut loaded: Vec<Group>, request: &CompareRequest) -> Outcome<Vec<Group>> {
    if !request.by_config {
        let is_word = request.reference.as_ref().is_none_or(|reference| request.words.contains(reference));
        if !is_word && loaded.len() > 2 {
            reference_within(&mut loaded);
        }
        return Ok(loaded);
    }
    let groups = by_config(loaded);
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

/// Where the reference, which was loaded first, is part of a group that was named, that group is the reference.
fn reference_within(loaded: &mut Vec<Group>) {
    let paths =
        |group: &Group| group.runs.iter().map(|run| run.run.path().to_owned()).collect::<BTreeSet<_>>();
    let wanted = paths(&loaded[0]);
    if let Some(place) = (1..loaded.len()).find(|place| paths(&loaded[*place]).is_superset(&wanted)) {
        let group = loaded.remove(place);
        loaded[0] = group;
    }
}

/// The groups in the order in which they are shown: the reference, then the best first. With how many of them `--best`
/// keeps; the reference always is.
pub(super) fn in_order_of_score<'m>(
    groups: Vec<ComparedGroup<'m>>,
    scored: Vec<Vec<SeedScore>>,
    request: &CompareRequest,
) -> (Vec<ComparedGroup<'m>>, Vec<Vec<SeedScore>>, usize) {
    let sign = if request.lower { -1.0 } else { 1.0 };
    let of = |scores: &Vec<SeedScore>| {
        let known = scores.iter().filter(|score| !score.missing);
        worth(&known.map(|score| sign * score.value).collect::<Vec<f64>>())
    };
    let ranked = best_first(&scored.iter().map(of).collect::<Vec<_>>());
    let mut places = vec![0];
    places.extend(ranked.iter().copied().filter(|place| *place != 0));
    let best = request.best.unwrap_or(groups.len()).min(ranked.len());
    let others = ranked[..best].iter().filter(|place| **place != 0).count();
    let (mut groups, scored) = (in_order(groups, &places), in_order(scored, &places));
    let kept = (others + 1).clamp(2.min(groups.len()), groups.len());
    for (index, group) in groups.iter_mut().enumerate() {
        group.id = id_of(index);
    }
    let shown = groups[..kept].iter().map(|group| Unnamed::of_runs(&group.name, group.runs));
    let names = names(&shown.collect::<Vec<_>>());
    for (group, name) in groups.iter_mut().zip(names) {
        (group.label, group.also) = (name.label, name.also);
    }
    (groups, scored, kept)
}

impl<'m> ComparedGroup<'m> {
    pub(super) fn new(index: usize, group: &'m Group) -> Self {
        let Folded { members, duplicates } = fold(&group.runs);
        let (label, name) = (group.label.clone(), group.label.clone());
        let (runs, continued) = (group.runs.as_slice(), group.continued.as_slice());
        Self { id: id_of(index), label, also: None, name, runs, members, duplicates, continued }
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
        // Runs of two projects may have the same name.
        let paths: BTreeSet<&Path> = reference.runs.iter().map(|run| run.run.path()).collect();
        for group in others {
            let shared = group.runs.iter().filter(|run| paths.contains(run.run.path())).count();
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
