//! Which finding to look at first: the worst; among equals the cause before
//! what it causes; then the one furthest beyond its threshold. A warning that
//! explains an error counts as much as the error: fixing a symptom first means
//! fixing it twice.

use std::collections::BTreeMap;

use super::outcome::{Answer, RuleOutcome, Severity};
use super::rules::RuleSet;

/// Sets rank and causes of every finding. `affected` holds the seeds of each outcome: what happens in one seed can't be
/// the cause of what happens in another.
pub(super) fn rank(outcomes: &mut [RuleOutcome], affected: &[Vec<u64>], rules: &RuleSet) {
    let found: Vec<usize> =
        (0..outcomes.len()).filter(|index| outcomes[*index].finding().is_some()).collect();
    let mut causes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &cause in &found {
        let Some(rule) = rules.rule(&outcomes[cause].rule) else { continue };
        let meets = |symptom: usize| affected[symptom].iter().any(|seed| affected[cause].contains(seed));
        let explained =
            |symptom: &&usize| rule.explains.contains(&outcomes[**symptom].rule) && meets(**symptom);
        for &symptom in found.iter().filter(explained) {
            causes.entry(symptom).or_default().push(cause);
        }
    }
    let mut order: Vec<(usize, usize)> =
        found.iter().map(|index| (*index, depth(*index, &causes, found.len()))).collect();
    let weights = weights(&found, &causes, outcomes);
    order.sort_by(|(a, a_depth), (b, b_depth)| {
        let [x, y] = [a, b].map(|index| outcomes[*index].finding().expect("only findings are ranked"));
        weights[b]
            .cmp(&weights[a])
            .then(a_depth.cmp(b_depth))
            .then(y.strength.total_cmp(&x.strength))
            .then(a.cmp(b))
    });
    let names: BTreeMap<usize, Vec<String>> = causes
        .iter()
        .map(|(symptom, causes)| {
            (*symptom, causes.iter().map(|cause| outcomes[*cause].rule.clone()).collect())
        })
        .collect();
    for (place, (index, _)) in order.into_iter().enumerate() {
        if let Answer::Finding(finding) = &mut outcomes[index].answer {
            finding.rank = place + 1;
            finding.explained_by = names.get(&index).cloned().unwrap_or_default();
        }
    }
}

/// The severity of each finding, or the worst of what it explains where that is worse.
fn weights(
    found: &[usize],
    causes: &BTreeMap<usize, Vec<usize>>,
    outcomes: &[RuleOutcome],
) -> BTreeMap<usize, Severity> {
    let own = |index: usize| outcomes[index].finding().expect("only findings are ranked").severity;
    let mut weights: BTreeMap<usize, Severity> = found.iter().map(|index| (*index, own(*index))).collect();
    // As often as there are findings: that is the longest that a chain can be.
    for _ in found {
        for (symptom, causes) in causes {
            let worst = weights[symptom];
            // Info findings are never a cause.
            for cause in causes.iter().filter(|cause| own(**cause) >= Severity::Warning) {
                weights.entry(*cause).and_modify(|weight| *weight = worst.max(*weight));
            }
        }
    }
    weights
}

/// The length of the chain of causes; `limit` stops a cycle.
fn depth(index: usize, causes: &BTreeMap<usize, Vec<usize>>, limit: usize) -> usize {
    if limit == 0 {
        return 0;
    }
    let of = causes.get(&index).into_iter().flatten();
    of.map(|cause| 1 + depth(*cause, causes, limit - 1)).max().unwrap_or(0)
}
