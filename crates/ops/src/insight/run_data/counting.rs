//! Which of the runs that continue one training counts: the one that is trained furthest.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::Digest;
use serde::Serialize;

use super::fold::{Training, contradict};
use super::lineage::{Ancestry, Beginning};
use super::{Group, RunData, SeedData, SeedState};
use crate::training::seed_ranges::seed_ranges;

/// How a seed that is left out is related to the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The run that counts continues it.
    Continued,
    /// It continues the run that counts, and is unfinished.
    Unfinished,
    /// Both have the same first steps.
    SharedBeginning,
}

/// A seed that is left out because another run has more of the same training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Continuation {
    pub seed: u64,
    /// The run that counts.
    pub counted: String,
    pub left_out: String,
    pub relation: Relation,
}

/// A seed of a run, as far as counting needs it.
pub(crate) struct Part<'m> {
    pub(crate) run: &'m str,
    /// The run's own id.
    pub(crate) id: Digest,
    pub(crate) seed: u64,
    pub(crate) ancestry: &'m Ancestry,
    pub(crate) beginning: Option<Beginning>,
    pub(crate) root: Digest,
    /// Whether its training has a result: it finished or failed by itself.
    pub(crate) decided: bool,
    /// Steps done, those of the runs that it extends included.
    pub(crate) reached: u64,
    /// Its curves, if they are loaded.
    pub(crate) data: Option<&'m SeedData>,
}

impl<'m> Part<'m> {
    pub(crate) fn new(run: &'m RunData, seed: &'m SeedData) -> Self {
        let (ancestry, metadata) = (&run.ancestry, &run.metadata);
        Self {
            run: &run.name,
            id: metadata.id,
            seed: seed.seed,
            ancestry,
            beginning: ancestry.beginning(&Training::from_run(run), metadata),
            root: ancestry.root(metadata),
            decided: seed.state != SeedState::Unfinished,
            reached: seed.metrics.last_step.max(ancestry.start(seed.seed)),
            data: Some(seed),
        }
    }

    /// Whether both have the same first steps, or one all of the other's.
    pub(crate) fn is_related(&self, other: &Part<'_>) -> bool {
        if self.seed != other.seed || !(self.ancestry.extends() || other.ancestry.extends()) {
            return false;
        }
        let apart = || match (self.data, other.data) {
            (Some(one), Some(other)) => contradict(one, other),
            _ => false,
        };
        self.root == other.root || (self.beginning.is_some() && self.beginning == other.beginning && !apart())
    }

    fn relation(&self, counted: &Part<'_>) -> Relation {
        let continues = |later: &Part<'_>, earlier: &Part<'_>| {
            // The same run, or one that was trained again from its config.
            let again = !earlier.ancestry.extends() && later.root != earlier.root;
            later.ancestry.extends() && (later.ancestry.ids.contains(&earlier.id) || again)
        };
        match (continues(counted, self), continues(self, counted)) {
            (true, _) => Relation::Continued,
            (_, true) if !self.decided => Relation::Unfinished,
            _ => Relation::SharedBeginning,
        }
    }
}

/// A part that is left out, by its place among those given.
pub(crate) struct LeftOut {
    pub(crate) place: usize,
    pub(crate) continuation: Continuation,
}

/// Of the seeds that continue one training, all but the one that is trained furthest.
pub(crate) fn continued(parts: &[Part<'_>]) -> Vec<LeftOut> {
    let mut left_out = Vec::new();
    for same in trainings(parts) {
        // Copies of one folder have the same root, but don't continue each other.
        if same.len() < 2 || !same.iter().any(|place| parts[*place].ancestry.extends()) {
            continue;
        }
        let key = |place: usize| {
            let part = &parts[place];
            (part.decided, part.reached, part.ancestry.ids.len())
        };
        // Of equal ones the first.
        let counted =
            same.iter().copied().reduce(|best, next| if key(next) > key(best) { next } else { best });
        let Some(counted) = counted else { continue };
        let others = same.into_iter().filter(|place| *place != counted);
        left_out.extend(others.map(|place| {
            let (part, counted) = (&parts[place], &parts[counted]);
            let relation = part.relation(counted);
            let (counted, left_out) = (counted.run.to_owned(), part.run.to_owned());
            LeftOut { place, continuation: Continuation { seed: part.seed, counted, left_out, relation } }
        }));
    }
    left_out
}

/// The places of the parts of each training, in the order in which trainings first occur.
fn trainings(parts: &[Part<'_>]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut by_root: BTreeMap<(u64, Digest), usize> = BTreeMap::new();
    let mut by_beginning: BTreeMap<(u64, &Training), Vec<usize>> = BTreeMap::new();
    // Extensions first: runs that extend none are only related through them.
    let (extended, plain): (Vec<usize>, Vec<usize>) =
        (0..parts.len()).partition(|place| parts[*place].ancestry.extends());
    for place in extended.into_iter().chain(plain) {
        let part = &parts[place];
        let beginning = part.beginning.as_ref().map(|it| (part.seed, &it.training));
        let known = by_root.get(&(part.seed, part.root)).copied().or_else(|| {
            let candidates = beginning.as_ref().and_then(|key| by_beginning.get(key))?;
            let related = |index: &usize| found[*index].iter().any(|other| part.is_related(&parts[*other]));
            candidates.iter().copied().find(related)
        });
        let index = known.unwrap_or(found.len());
        match found.get_mut(index) {
            Some(same) => same.push(place),
            None => found.push(vec![place]),
        }
        by_root.entry((part.seed, part.root)).or_insert(index);
        if let Some(key) = beginning {
            let indices = by_beginning.entry(key).or_default();
            if !indices.contains(&index) {
                indices.push(index);
            }
        }
    }
    found.iter_mut().for_each(|same| same.sort_unstable());
    found.sort_unstable();
    found
}

/// The seeds of the group that another run of it continues, by the place of their run and their own.
fn continued_in(group: &Group) -> (BTreeSet<(usize, usize)>, Vec<Continuation>) {
    let seeds = group.runs.iter().enumerate().flat_map(|(run, data)| {
        data.seeds.iter().enumerate().map(move |(seed, own)| ((run, seed), Part::new(data, own)))
    });
    // Nothing is continued where no run extends another one.
    if !group.runs.iter().any(|run| run.ancestry.extends()) {
        return (BTreeSet::new(), Vec::new());
    }
    let (places, parts): (Vec<_>, Vec<_>) = seeds.unzip();
    continued(&parts).into_iter().map(|one| (places[one.place], one.continuation)).unzip()
}

/// The runs of the group with a seed that counts.
pub(crate) fn counted_runs(group: &Group) -> Vec<&RunData> {
    let (out, _) = continued_in(group);
    let counts = |(place, run): &(usize, &RunData)| {
        run.seeds.is_empty() || (0..run.seeds.len()).any(|seed| !out.contains(&(*place, seed)))
    };
    group.runs.iter().enumerate().filter(counts).map(|(_, run)| run).collect()
}

/// Leaves the furthest part of every training in the group, and notes down which seeds it leaves out.
pub(crate) fn count_once(group: &mut Group) {
    let (out, found) = continued_in(group);
    for (place, run) in group.runs.iter_mut().enumerate() {
        let mut seeds = 0..;
        run.seeds.retain(|_| !seeds.next().is_some_and(|seed| out.contains(&(place, seed))));
    }
    // A run without any seed was so before, and is reported as it is.
    let emptied: BTreeSet<usize> = out.iter().map(|(run, _)| *run).collect();
    let mut places = 0..;
    group.runs.retain(|run| {
        let was_emptied = places.next().is_some_and(|place| emptied.contains(&place));
        !run.seeds.is_empty() || !was_emptied
    });
    group.continued.extend(found);
}

/// Which seeds count once because another run has more of the same training, in one sentence.
pub(crate) fn counted_once(continued: &[Continuation]) -> Option<String> {
    let pairs: BTreeSet<(&str, &str, Relation)> =
        continued.iter().map(|one| (one.left_out.as_str(), one.counted.as_str(), one.relation)).collect();
    let pairs: Vec<(&str, &str, Relation)> = pairs.into_iter().collect();
    match pairs.as_slice() {
        [] => None,
        [(left_out, counted, relation)] => {
            let seeds: BTreeSet<u64> = continued.iter().map(|one| one.seed).collect();
            let (noun, verb) = if seeds.len() == 1 { ("seed", "counts") } else { ("seeds", "count") };
            let why = match relation {
                Relation::Continued => format!("as {counted} continues the same training"),
                Relation::Unfinished => format!("as part of {counted}: the extension is unfinished"),
                Relation::SharedBeginning => format!("as {counted} shares their beginning"),
            };
            let seeds = seed_ranges(seeds);
            Some(format!("{left_out}: {noun} {seeds} {verb} once, {why}"))
        }
        several => {
            let runs: BTreeSet<&str> = several.iter().map(|(left_out, ..)| *left_out).collect();
            let names: Vec<String> = runs.into_iter().map(str::to_owned).collect();
            let all = several.iter().all(|(.., relation)| *relation == Relation::Continued);
            let why = if all { "continue the same trainings" } else { "share their beginning" };
            let count = continued.len();
            Some(format!("{}: {count} seeds count once, as other runs {why}", super::named(&names)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_once_is_said_in_one_sentence() {
        let related = |relation| {
            move |seed, left_out: &str, counted: &str| Continuation {
                seed,
                counted: counted.to_owned(),
                left_out: left_out.to_owned(),
                relation,
            }
        };
        let one = related(Relation::Continued);
        let check = |found: &[Continuation], expect: &str| assert_eq!(counted_once(found).unwrap(), expect);
        assert_eq!(counted_once(&[]), None);
        check(&[one(4, "a", "b")], "a: seed 4 counts once, as b continues the same training");
        check(
            &[one(0, "a", "b"), one(1, "a", "b"), one(2, "a", "b")],
            "a: seeds 0-2 count once, as b continues the same training",
        );
        check(
            &[one(0, "a", "b"), one(0, "c", "d")],
            "a and c: 2 seeds count once, as other runs continue the same trainings",
        );
        let branch = related(Relation::SharedBeginning)(0, "c", "b");
        check(std::slice::from_ref(&branch), "c: seed 0 counts once, as b shares their beginning");
        check(
            &[one(0, "a", "b"), branch],
            "a and c: 2 seeds count once, as other runs share their beginning",
        );
        check(
            &[related(Relation::Unfinished)(0, "b", "a")],
            "b: seed 0 counts once, as part of a: the extension is unfinished",
        );
    }
}
