//! The same training twice: a run and its reproduction, or one that was simply
//! started again. Same config, same seed and the same scores to the bit are one
//! training and must not count as two.

use rlxp_store::MEAN_RETURN;

use crate::material::{Group, SeedMaterial};
use crate::summarize::training_keys;

/// Leaves every training in the group once; says which were left out.
pub(super) fn fold(group: &mut Group) -> Vec<String> {
    let mut notes = Vec::new();
    for later in 1..group.runs.len() {
        let (before, rest) = group.runs.split_at_mut(later);
        let run = &mut rest[0];
        let keys = training_keys(&run.config);
        run.seeds.retain(|seed| {
            let twin = before.iter().find(|known| {
                training_keys(&known.config) == keys
                    && known
                        .seeds
                        .iter()
                        .any(|other| other.seed == seed.seed && scores(other) == scores(seed))
            });
            if let Some(twin) = twin {
                notes.push(format!(
                    "seed {} of {} is the same training as that of {} and counts once",
                    seed.seed, run.name, twin.name
                ));
            }
            twin.is_none()
        });
    }
    notes
}

/// Steps and scores, bit by bit.
fn scores(seed: &SeedMaterial) -> Vec<(&'static str, u64, u64)> {
    let of = |kind: &'static str| {
        let series = seed.series(kind, MEAN_RETURN).into_iter();
        series.flat_map(move |series| series.points().map(move |(step, value)| (kind, step, value.to_bits())))
    };
    of("eval").chain(of("train")).collect()
}
