//! Which training a run is part of. `rlx resume --total-timesteps` makes a new run that continues the seeds of its
//! parent: run and extension are one training, which counts once in a group.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_store::{Lineage, LineageKind, Metadata, Run};
use rlxp_types::Digest;

use super::fold::Duplicate;
use super::{Group, RunData};
use crate::training::seed_ranges::seed_ranges;

/// Longest chain of extensions that is followed.
const LONGEST_CHAIN: usize = 100;

/// The runs that a run extends.
#[derive(Clone)]
pub(crate) struct Ancestry {
    /// Those that exist, the nearest first.
    pub(crate) runs: Vec<Ancestor>,
    /// The oldest of them that is known: equal in all runs that continue the same seeds.
    pub(crate) root: Digest,
    /// What is recorded of the first one that was not found.
    pub(crate) gone: Option<Lineage>,
}

/// A run that was extended.
#[derive(Clone)]
pub(crate) struct Ancestor {
    pub(crate) run: Run,
    /// Where the extension starts.
    pub(crate) extended: Lineage,
}

impl Ancestry {
    /// Follows the lineage of a run within the folder that holds it.
    pub(crate) fn of(run: &Run, metadata: &Metadata) -> Self {
        let mut ancestry = Self { runs: Vec::new(), root: metadata.id, gone: None };
        let mut seen = BTreeSet::from([metadata.id]);
        let mut lineage = metadata.lineage.clone();
        while let Some(extended) = lineage.filter(|it| it.kind == LineageKind::ResumedExtended) {
            let Some((parent, known)) = parent_of(run, &extended) else {
                // Extensions of a removed run still continue the same seeds.
                ancestry.root = extended.parent_id.unwrap_or(ancestry.root);
                ancestry.gone = Some(extended);
                break;
            };
            if ancestry.runs.len() == LONGEST_CHAIN || !seen.insert(known.id) {
                break;
            }
            ancestry.root = known.id;
            ancestry.runs.push(Ancestor { run: parent, extended });
            lineage = known.lineage;
        }
        ancestry
    }

    /// Whether the run extends another one.
    pub(crate) fn extends(&self) -> bool {
        self.gone.is_some() || !self.runs.is_empty()
    }
}

/// The parent, if it is still there and the same run that was extended.
fn parent_of(run: &Run, lineage: &Lineage) -> Option<(Run, Metadata)> {
    let parent = run.sibling(&lineage.parent)?;
    // A run that can't be read can't be used either; the extension itself can.
    let metadata = parent.metadata().ok()?;
    lineage.parent_id.is_none_or(|id| id == metadata.id).then_some((parent, metadata))
}

/// A seed of a run, as far as counting needs it.
pub(crate) struct Continued<'m> {
    pub(crate) run: &'m str,
    pub(crate) root: Digest,
    /// Whether the run extends another one.
    pub(crate) extends: bool,
    /// Steps that the run is planned for. An extension has more than what it extends.
    pub(crate) total_steps: u64,
    pub(crate) seed: u64,
}

impl<'m> Continued<'m> {
    pub(crate) fn new(run: &'m str, ancestry: &Ancestry, metadata: &Metadata, seed: u64) -> Self {
        let (root, extends) = (ancestry.root, ancestry.extends());
        Self { run, root, extends, total_steps: metadata.total_steps, seed }
    }
}

/// Of the seeds that continue one training, all but the one that is trained furthest.
pub(crate) fn continued<'m>(seeds: impl IntoIterator<Item = Continued<'m>>) -> Vec<Duplicate> {
    let mut trainings: BTreeMap<(Digest, u64), Vec<Continued<'m>>> = BTreeMap::new();
    let mut order = Vec::new();
    for seed in seeds {
        let key = (seed.root, seed.seed);
        let same = trainings.entry(key).or_default();
        if same.is_empty() {
            order.push(key);
        }
        same.push(seed);
    }
    let mut left_out = Vec::new();
    for key in order {
        let same = &trainings[&key];
        let extensions = || same.iter().filter(|one| one.extends);
        let furthest = extensions().map(|one| one.total_steps).max();
        // Of equal ones the first. Copies of one folder have the same root, but don't continue each other.
        let Some(counted) = extensions().find(|one| Some(one.total_steps) == furthest) else { continue };
        left_out.extend(same.iter().filter(|one| one.run != counted.run).map(|one| Duplicate {
            seed: one.seed,
            counted: counted.run.to_owned(),
            left_out: one.run.to_owned(),
        }));
    }
    left_out
}

/// The seeds of the group that another run of it continues.
fn continued_in(group: &Group) -> Vec<Duplicate> {
    continued(
        group.seeds().map(|(run, seed)| Continued::new(&run.name, &run.ancestry, &run.metadata, seed.seed)),
    )
}

/// The runs of the group with a seed that counts.
pub(crate) fn counted_runs(group: &Group) -> Vec<&RunData> {
    let found = continued_in(group);
    let out = |run: &RunData, seed: u64| found.iter().any(|one| one.seed == seed && one.left_out == run.name);
    let counts = |run: &&RunData| run.seeds.is_empty() || run.seeds.iter().any(|seed| !out(run, seed.seed));
    group.runs.iter().filter(counts).collect()
}

/// Leaves the furthest part of every training in the group, and notes down which seeds it leaves out.
pub(crate) fn count_once(group: &mut Group) {
    let found = continued_in(group);
    for run in &mut group.runs {
        let out = |seed: u64| found.iter().any(|one| one.seed == seed && one.left_out == run.name);
        run.seeds.retain(|seed| !out(seed.seed));
    }
    // A run without any seed was so before, and is reported as it is.
    let emptied: BTreeSet<&str> = found.iter().map(|one| one.left_out.as_str()).collect();
    group.runs.retain(|run| !run.seeds.is_empty() || !emptied.contains(run.name.as_str()));
    group.continued.extend(found);
}

/// Which seeds count once because another run continues them, in one sentence.
pub(crate) fn counted_once(continued: &[Duplicate]) -> Option<String> {
    let pairs: BTreeSet<(&str, &str)> =
        continued.iter().map(|one| (one.left_out.as_str(), one.counted.as_str())).collect();
    let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
    match pairs.as_slice() {
        [] => None,
        [(left_out, counted)] => {
            let seeds: BTreeSet<u64> = continued.iter().map(|one| one.seed).collect();
            let (noun, verb) = if seeds.len() == 1 { ("seed", "counts") } else { ("seeds", "count") };
            let seeds = seed_ranges(seeds);
            Some(format!("{left_out}: {noun} {seeds} {verb} once, as {counted} continues the same training"))
        }
        several => {
            let runs: BTreeSet<&str> = several.iter().map(|(left_out, _)| *left_out).collect();
            let names: Vec<String> = runs.into_iter().map(str::to_owned).collect();
            Some(format!(
                "{}: {} seeds count once, as other runs continue the same trainings",
                super::named(&names),
                continued.len()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(run: &str, root: u8, total_steps: u64, seed: u64) -> Continued<'_> {
        // In these tests, "a" is the run that the others extend.
        Continued { run, root: Digest::hash(&[root]), extends: run != "a", total_steps, seed }
    }

    fn left_out(seeds: Vec<Continued<'_>>) -> Vec<(u64, String, String)> {
        continued(seeds).into_iter().map(|one| (one.seed, one.left_out, one.counted)).collect()
    }

    #[test]
    fn the_last_extension_counts_and_other_seeds_and_trainings_stay() {
        let of = |seed: u64, left_out: &str, counted: &str| (seed, left_out.to_owned(), counted.to_owned());
        let chain = vec![seed("a", 1, 10, 0), seed("c", 1, 30, 0), seed("b", 1, 20, 0)];
        assert_eq!(left_out(chain), [of(0, "a", "c"), of(0, "b", "c")]);
        let others = vec![seed("a", 1, 10, 0), seed("b", 1, 20, 1), seed("c", 2, 20, 0)];
        assert_eq!(left_out(others), []);
        assert_eq!(left_out(vec![seed("a", 1, 10, 0), seed("a", 1, 20, 0)]), [], "copies of one folder");
        // Two extensions of one run to the same step: one training all the same.
        let forked = vec![seed("b", 1, 20, 3), seed("c", 1, 20, 3)];
        assert_eq!(left_out(forked), [of(3, "c", "b")]);
    }

    #[test]
    fn what_counts_once_is_said_in_one_sentence() {
        let one = |seed, left_out: &str, counted: &str| Duplicate {
            seed,
            counted: counted.to_owned(),
            left_out: left_out.to_owned(),
        };
        assert_eq!(counted_once(&[]), None);
        assert_eq!(
            counted_once(&[one(4, "a", "b")]).unwrap(),
            "a: seed 4 counts once, as b continues the same training"
        );
        assert_eq!(
            counted_once(&[one(0, "a", "b"), one(1, "a", "b"), one(2, "a", "b")]).unwrap(),
            "a: seeds 0-2 count once, as b continues the same training"
        );
        assert_eq!(
            counted_once(&[one(0, "a", "b"), one(0, "c", "d")]).unwrap(),
            "a and c: 2 seeds count once, as other runs continue the same trainings"
        );
    }
}
