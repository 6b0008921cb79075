//! Groups of trainings, each with its whole curve and counted once: what `compare` and `report` start from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rlxp_store::TIMING_KIND;

use super::counting::{count_once, counted_once};
use super::joined::{self, Joined};
use super::{Group, load, named};
use crate::context::Context;
use crate::failure::Outcome;

/// Groups, and what a reader must know about how they were made.
pub(crate) struct Trainings {
    pub(crate) groups: Vec<Group>,
    /// A sentence each, without its full stop.
    pub(crate) notes: Vec<String>,
}

/// The groups that `words` name, as [`load`] reads them, with the curves of extended runs joined with those of the runs
/// that they extend. Words for the same seeds are one group as long as `fewest` are left.
pub(crate) fn load_trainings(
    context: &Context,
    words: &[String],
    fewest: usize,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<Trainings> {
    let mut groups = load(context, words, wanted)?;
    let notes: Vec<String> = named_once(&mut groups, fewest).into_iter().collect();
    // As in `join_training`.
    let of_training = |kind: &str, name: &str| kind != TIMING_KIND && wanted(kind, name);
    joined::join(context, &mut groups, &of_training)?;
    Ok(Trainings { groups, notes })
}

impl Trainings {
    /// Leaves each training in its group once; for groups as they are compared. A run and its extension are two groups
    /// when runs are grouped by config, since each is the result of its own budget.
    pub(crate) fn count_once(&mut self) {
        self.groups.iter_mut().for_each(count_once);
        let counted = self.groups.iter().filter_map(|group| counted_once(&group.continued));
        self.notes.splice(0..0, counted.collect::<Vec<_>>());
        let Joined { included, late } = Joined::of(&self.groups);
        self.notes.extend(included.into_iter().chain(late));
    }
}

/// Drops groups with exactly the seeds of an earlier one, and says which.
pub(crate) fn named_once(groups: &mut Vec<Group>, fewest: usize) -> Option<String> {
    let mut seen: BTreeSet<BTreeSet<(PathBuf, u64)>> = BTreeSet::new();
    let is_new: Vec<bool> = groups
        .iter()
        .map(|group| {
            seen.insert(group.seeds().map(|(run, seed)| (run.run.path().to_owned(), seed.seed)).collect())
        })
        .collect();
    if seen.len() < fewest || seen.len() == groups.len() {
        return None;
    }
    let mut kept = is_new.iter().copied();
    let mut repeated: Vec<String> = Vec::new();
    groups.retain(|group| {
        let keep = kept.next().unwrap_or(true);
        if !keep && !repeated.contains(&group.label) {
            repeated.push(group.label.clone());
        }
        keep
    });
    let (are, count) = if repeated.len() == 1 { ("is", "counts") } else { ("are", "count") };
    Some(format!("{} {are} named more than once and {count} once", named(&repeated)))
}
