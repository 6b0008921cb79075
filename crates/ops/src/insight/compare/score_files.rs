//! Scores that `rlx eval` measured after training: the same episodes for
//! every seed of every group, or none at all.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::text::shell_word;

use super::groups::ComparedGroup;
use super::score::{ScoreKind, SeedScore, checkpoint_of, lost};
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::fold::Member;
use crate::select::Which;
use crate::select::checkpoint::step_of;

/// How episodes were played: how many, from which seed, by chance or not.
/// The greatest is chosen, which has the most episodes.
type Protocol = (usize, std::cmp::Reverse<u64>, bool);

/// The scores of all groups' members under one protocol that all of them have:
/// the one with the most episodes.
pub(super) fn scores(kind: ScoreKind, groups: &[ComparedGroup<'_>]) -> Outcome<Vec<Vec<SeedScore>>> {
    let checkpoint = checkpoint_of(kind);
    let mut measured: Vec<Vec<BTreeMap<Protocol, f64>>> = Vec::new();
    for group in groups {
        measured.push(
            group.members.iter().map(|member| measurements(member, checkpoint)).collect::<Outcome<_>>()?,
        );
    }
    let with = || groups.iter().zip(&measured).flat_map(|(group, found)| group.members.iter().zip(found));
    let counting = || with().filter(|(member, _)| lost(member).is_none());
    let protocols: BTreeSet<Protocol> = counting().flat_map(|(_, found)| found.keys().copied()).collect();
    let shared = protocols
        .into_iter()
        .rev()
        .find(|protocol| counting().all(|(_, found)| found.contains_key(protocol)));
    let Some(shared) = shared else { return Err(none_shared(checkpoint, counting())) };
    Ok(groups
        .iter()
        .zip(&measured)
        .map(|(group, found)| {
            let pairs = group.members.iter().zip(found);
            pairs
                .map(|(member, found)| match lost(member) {
                    Some(why) => SeedScore { value: f64::NAN, why: Some(why), missing: false },
                    None => SeedScore { value: found[&shared], why: None, missing: false },
                })
                .collect()
        })
        .collect())
}

fn measurements(member: &Member<'_>, checkpoint: Which) -> Outcome<BTreeMap<Protocol, f64>> {
    let Ok(step) = step_of(&member.seed.folder, checkpoint) else { return Ok(BTreeMap::new()) };
    let found = member.seed.evaluations()?.into_iter();
    Ok(found
        .filter(|(name, record)| name.starts_with("posthoc_") && record.step == Some(step))
        .map(|(_, record)| {
            let protocol = (record.returns.len(), std::cmp::Reverse(record.first_seed), record.deterministic);
            (protocol, record.mean_return)
        })
        .collect())
}

fn none_shared<'m, 'a: 'm>(
    checkpoint: Which,
    counting: impl Iterator<Item = (&'m Member<'a>, &'m BTreeMap<Protocol, f64>)>,
) -> Failure {
    let mut runs: BTreeSet<&str> = BTreeSet::new();
    let mut lacking = 0;
    for (member, found) in counting {
        runs.insert(member.run.name.as_str());
        lacking += usize::from(found.is_empty());
    }
    let message = if lacking > 0 {
        let seeds = if lacking == 1 { "1 seed has".to_owned() } else { format!("{lacking} seeds have") };
        format!("{seeds} no `rlx eval` result for the {checkpoint} checkpoint")
    } else {
        format!(
            "the `rlx eval` results for the {checkpoint} checkpoint were not all measured in the same way"
        )
    };
    let failure = Failure::usage("no_common_evaluation", message);
    runs.iter()
        .take(4)
        .fold(failure, |failure, run| failure.hint(format!("rlx eval --run {}", shell_word(run))))
}
