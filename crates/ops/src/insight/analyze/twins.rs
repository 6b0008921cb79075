//! The same training twice: a run and its reproduction, or one that was simply
//! started again. Same config, same seed and the same scores to the bit are one
//! training and must not count as two.

use std::collections::{BTreeMap, BTreeSet};

use crate::insight::config_keys::training_keys;
use crate::insight::run_data::fold::Folded;
use crate::insight::run_data::{self, Group, RunData};

/// Leaves every training in the group once, as `compare` and `plot` do; says which were left out.
pub(super) fn fold(group: &mut Group) -> Vec<String> {
    let Folded { members, duplicates } = run_data::fold::fold(&group.runs);
    let place = |run: &RunData, seed: u64| (run.run.path().to_owned(), seed);
    let counted: BTreeSet<_> = members.iter().map(|member| place(member.run, member.seed.seed)).collect();
    for run in &mut group.runs {
        let path = run.run.path().to_owned();
        run.seeds.retain(|seed| counted.contains(&(path.clone(), seed.seed)));
    }
    let mut left_out: BTreeMap<(String, String), BTreeSet<u64>> = BTreeMap::new();
    for one in duplicates {
        left_out.entry((one.left_out, one.counted)).or_default().insert(one.seed);
    }
    let sentence = |((run, twin), seeds): ((String, String), BTreeSet<u64>)| {
        let numbers = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        if seeds.len() == 1 {
            format!("seed {numbers} of {run} repeats {twin} exactly and counts once")
        } else {
            format!("seeds {numbers} of {run} repeat {twin} exactly and count once")
        }
    };
    left_out.into_iter().map(sentence).collect()
}

/// What differs between the configs of the group, in a sentence.
pub(super) fn differences(group: &Group) -> Option<String> {
    let configs: Vec<Vec<(String, String)>> =
        group.runs.iter().map(|run| training_keys(&run.config)).collect();
    let keys = configs.first()?.iter().enumerate();
    let differing: Vec<String> = keys
        .filter_map(|(index, (key, _))| {
            let values: BTreeSet<&str> =
                configs.iter().filter_map(|config| Some(config.get(index)?.1.as_str())).collect();
            (values.len() > 1).then(|| format!("{key} ({} values)", values.len()))
        })
        .collect();
    (!differing.is_empty()).then(|| {
        format!("the runs of this group differ in {} but are described as one", differing.join(", "))
    })
}
