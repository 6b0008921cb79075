//! The same training twice: a run and its reproduction, or one that was simply
//! started again. Same config, same seed and the same scores to the bit are one
//! training and must not count as two.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_store::MEAN_RETURN;

use crate::insight::config_keys::training_keys;
use crate::insight::run_data::{Group, SeedData};

/// Leaves every training in the group once; says which were left out.
pub(super) fn fold(group: &mut Group) -> Vec<String> {
    let mut notes = Vec::new();
    for later in 1..group.runs.len() {
        let (before, rest) = group.runs.split_at_mut(later);
        let run = &mut rest[0];
        let keys = training_keys(&run.config);
        let mut left_out: BTreeMap<String, Vec<String>> = BTreeMap::new();
        run.seeds.retain(|seed| {
            let twin = before.iter().find(|known| {
                training_keys(&known.config) == keys
                    && known
                        .seeds
                        .iter()
                        .any(|other| other.seed == seed.seed && scores(other) == scores(seed))
            });
            if let Some(twin) = twin {
                left_out.entry(twin.name.clone()).or_default().push(seed.seed.to_string());
            }
            twin.is_none()
        });
        notes.extend(left_out.iter().map(|(twin, seeds)| {
            let numbers = seeds.join(", ");
            if seeds.len() == 1 {
                format!("seed {numbers} of {} repeats {twin} exactly and counts once", run.name)
            } else {
                format!("seeds {numbers} of {} repeat {twin} exactly and count once", run.name)
            }
        }));
    }
    notes
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

/// Steps and scores, bit by bit.
fn scores(seed: &SeedData) -> Vec<(&'static str, u64, u64)> {
    let of = |kind: &'static str| {
        let series = seed.series(kind, MEAN_RETURN).into_iter();
        series.flat_map(move |series| series.points().map(move |(step, value)| (kind, step, value.to_bits())))
    };
    of("eval").chain(of("train")).collect()
}
