//! Combines changes into runs and words the suggestions.
//!
//! Changes that all lead towards a starter are tried together first: the
//! starter learns with all of them. Steps suggested by rules alone are combined
//! only when they work on different things and none is the consequence of
//! another, so that the result can be attributed.

use std::collections::BTreeSet;

use super::candidate::{Candidate, Tier};
use super::remedy::Origin;
use super::{Basis, BasisKind, Suggestion};

/// Most steps suggested by rules alone in one run.
const MOST_STEPS: usize = 3;

/// Suggestions from ordered candidates: combinations first, then each separately.
pub(super) fn suggestions(env: &str, candidates: Vec<Candidate>) -> Vec<Suggestion> {
    let mut all: Vec<Suggestion> = Vec::new();
    let together = together(&candidates);
    if together.len() > 1 {
        all.push(merged(env, &together));
    }
    all.extend(candidates.iter().map(|candidate| merged(env, &[candidate])));
    let mut seen: Vec<Vec<super::Change>> = Vec::new();
    all.retain(|suggestion| {
        let is_new = !seen.contains(&suggestion.changes);
        seen.push(suggestion.changes.clone());
        is_new
    });
    all
}

fn together(candidates: &[Candidate]) -> Vec<&Candidate> {
    let towards: Vec<&Candidate> =
        candidates.iter().filter(|candidate| candidate.tier <= Tier::Far).collect();
    if !towards.is_empty() {
        return without_repeated_keys(towards);
    }
    let Some(first) = candidates.first().filter(|first| first.tier == Tier::Cause) else { return Vec::new() };
    let mut chosen = vec![first];
    for candidate in candidates.iter().filter(|candidate| candidate.tier == Tier::Cause) {
        let kin = chosen.iter().any(|known| known.family == candidate.family);
        let same_finding = chosen.iter().any(|known| known.rules[0] == candidate.rules[0]);
        let consequence =
            chosen.iter().any(|known| known.rules.iter().any(|rule| candidate.explained_by.contains(rule)));
        if !kin && !same_finding && !consequence && chosen.len() < MOST_STEPS {
            chosen.push(candidate);
        }
    }
    without_repeated_keys(chosen)
}

/// Leaves out whatever changes a key that an earlier one changes.
fn without_repeated_keys(candidates: Vec<&Candidate>) -> Vec<&Candidate> {
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    candidates
        .into_iter()
        .filter(|candidate| {
            let keys: Vec<&str> = candidate.changes.iter().map(|change| change.key.as_str()).collect();
            let is_free = keys.iter().all(|key| !taken.contains(key));
            if is_free {
                taken.extend(keys);
            }
            is_free
        })
        .collect()
}

/// One suggestion out of candidates that change different keys.
fn merged(env: &str, parts: &[&Candidate]) -> Suggestion {
    let joined = |text: fn(&Candidate) -> &str, between: &str| {
        parts.iter().map(|part| text(part)).collect::<Vec<_>>().join(between)
    };
    let changes = parts.iter().flat_map(|part| part.changes.clone()).collect();
    Suggestion {
        id: joined(|part| &part.id, "+"),
        title: joined(|part| &part.title, ", "),
        changes,
        reason: distinct(parts.iter().flat_map(|part| part.reasons.iter().cloned())).join(" "),
        evidence: distinct(parts.iter().flat_map(|part| part.evidence.iter().cloned())),
        rules: distinct(parts.iter().flat_map(|part| part.rules.iter().cloned())),
        expect: without_contradictions(distinct(parts.iter().flat_map(|part| part.expect.iter().cloned()))),
        risk: distinct(parts.iter().map(|part| part.risk.clone())).join("; "),
        basis: basis(env, parts),
        comparable: parts.iter().all(|part| !part.incomparable),
    }
}

/// Each once, in order of appearance.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// A metric that one change should raise and another lower can't be predicted.
fn without_contradictions(all: Vec<super::Expectation>) -> Vec<super::Expectation> {
    let times = |metric: &str| all.iter().filter(|expected| expected.metric == metric).count();
    all.iter().filter(|expected| times(&expected.metric) == 1).cloned().collect()
}

fn basis(env: &str, parts: &[&Candidate]) -> Basis {
    let any = |kind: BasisKind| parts.iter().any(|part| part.basis == kind);
    let starter = format!("starter config for {env}");
    if any(BasisKind::RuleAndStarter) {
        let more = if any(BasisKind::Starter) {
            "; some keys are based on the starter alone, without a rule that shows they are the cause"
        } else {
            ""
        };
        let sentence = format!("rule (direction), {starter} (value){more}");
        return Basis { kind: BasisKind::RuleAndStarter, sentence };
    }
    if any(BasisKind::Starter) {
        let sentence = format!("{starter}; no rule shows that this is the cause");
        return Basis { kind: BasisKind::Starter, sentence };
    }
    let sentence = if parts.iter().any(|part| part.origin == Origin::Default) {
        "rule (direction), general default (value): no starter config for this environment"
    } else {
        "rule (direction), usual step size (value), not measured for this environment"
    };
    Basis { kind: BasisKind::Rule, sentence: sentence.to_owned() }
}
