//! Candidates that follow from what was found, by rules alone: bounded steps of agreed keys, each with why it should
//! help, what that rests on, and how it could be wrong. What was tried isn't proposed again, and a direction that made
//! things worse isn't either. The same study always gives the same proposals.
//!
//! This is the floor: an agent that understands the code can propose better candidates, under the same gates.

mod knowledge;
mod steps;

use serde_json::Value;

use crate::documents::{
    CandidateKind, Direction, MetricSpec, Operation, Slug, Surface, SurfaceKey, SurfaceKind,
};
use crate::probe::{LOWER_ENDS, UPPER_ENDS};
use knowledge::{Known, Sign, known};
use steps::steps;

/// A key that may be changed, and its value in the code that candidates start from.
#[derive(Clone, Debug)]
pub struct PresentValue<'a> {
    pub surface: &'a Surface,
    pub key: &'a SurfaceKey,
    pub path: String,
    pub value: Value,
}

/// Something that was found about the runs of the incumbent, or else of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The rule or the metric that it comes from.
    pub rule: String,
    pub text: String,
    /// What it rests on: run keys, records, files of the study.
    pub evidence: Vec<String>,
    pub about: About,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq)]
pub enum About {
    /// A component of the reward, which is too large or too small.
    Component { name: String, is_too_large: bool },
    /// The size of updates, such as a divergence between policies.
    Updates { are_too_large: bool },
    /// Exploration, such as an entropy.
    Exploration { is_too_small: bool },
    /// The range in which a probed parameter works.
    Range { key: String, from: f64, to: f64 },
}

/// An earlier change of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    pub candidate: Slug,
    pub key: String,
    pub from: Option<Value>,
    pub to: Value,
    pub outcome: Outcome,
    /// Keys of its runs.
    pub runs: Vec<String>,
}

/// What came of an earlier change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not run or not judged yet
    Open,
    Accepted,
    Rejected,
    Inconclusive,
}

/// One bounded change with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Part of a name: the key and the direction.
    pub name: String,
    pub kind: CandidateKind,
    pub surface: Slug,
    pub operation: Operation,
    pub path: String,
    pub key: String,
    pub from: Value,
    pub to: Value,
    /// Why it should help, with the mechanism.
    pub hypothesis: String,
    pub evidence: Vec<String>,
    /// Rules that it follows from.
    pub knowledge: Vec<String>,
    /// How it could be wrong.
    pub risk: String,
    /// The larger, the more promising.
    pub promise: u32,
}

/// Every proposal, the most promising first. `runs` are the runs of the incumbent, or else of the baseline, that a
/// proposal without a finding of its own rests on.
pub fn proposals(
    present: &[PresentValue<'_>],
    found: &[Found],
    earlier: &[Earlier],
    runs: &[String],
    spec: &MetricSpec,
) -> Vec<Proposal> {
    let mut all: Vec<Proposal> = Vec::new();
    for value in present {
        let Some((kind, operation)) = way(value.surface) else { continue };
        for step in steps(value.key, &value.value) {
            let tried = |earlier: &Earlier| earlier.key == value.key.key && same(&earlier.to, &step.to);
            let sign = step.sign;
            if earlier.iter().any(tried) || is_known_to_be_worse(earlier, &value.key.key, sign) {
                continue;
            }
            let reasons: Vec<&Found> =
                found.iter().filter(|found| supports(found, &value.key.key, sign)).collect();
            let opposed = found.iter().any(|found| supports(found, &value.key.key, sign.opposite()));
            if opposed && reasons.is_empty() {
                continue;
            }
            // Rewards change only on a finding about them: a random step of the reward shows nothing.
            if value.surface.kind == SurfaceKind::Reward && reasons.is_empty() {
                continue;
            }
            all.push(proposal(value, (kind, operation), step, &reasons, earlier, runs, spec));
        }
        all.extend(to_range(value, kind, operation, found, earlier));
    }
    // Equal promise keeps the order of the surface map, which people write with the most important first.
    all.sort_by_key(|proposal| std::cmp::Reverse(proposal.promise));
    all
}

/// The kind of candidate for a surface, and how a value of it may be set.
fn way(surface: &Surface) -> Option<(CandidateKind, Operation)> {
    let kind = match surface.kind {
        SurfaceKind::Reward => CandidateKind::RewardTuning,
        SurfaceKind::Termination => CandidateKind::Termination,
        SurfaceKind::Curriculum => CandidateKind::Curriculum,
        SurfaceKind::Randomisation => CandidateKind::Randomisation,
        SurfaceKind::Hyperparameter => CandidateKind::Hyperparameter,
        SurfaceKind::Policy => CandidateKind::Policy,
    };
    surface.operations.contains(&Operation::Set).then_some((kind, Operation::Set))
}

fn proposal(
    value: &PresentValue<'_>,
    (kind, operation): (CandidateKind, Operation),
    step: steps::Step,
    reasons: &[&Found],
    earlier: &[Earlier],
    runs: &[String],
    spec: &MetricSpec,
) -> Proposal {
    let key = &value.key.key;
    let Known { mechanism, wrong, rank } = known(key, step.sign);
    let goal = match spec.primary.direction {
        Direction::Higher => "raises",
        Direction::Lower => "lowers",
    };
    let primary = &spec.primary.name;
    let mut hypothesis = format!("{key} from {} to {} {goal} {primary}: {mechanism}", value.value, step.to);
    for reason in reasons {
        hypothesis.push_str(&format!("; {}: {}", reason.rule, reason.text));
    }
    let went_well = earlier.iter().find(|earlier| {
        earlier.key == *key
            && earlier.outcome == Outcome::Accepted
            && direction_of(earlier) == Some(step.sign)
    });
    let other_way_failed = earlier.iter().find(|earlier| {
        earlier.key == *key
            && earlier.outcome == Outcome::Rejected
            && direction_of(earlier) == Some(step.sign.opposite())
    });
    let mut evidence: Vec<String> = reasons.iter().flat_map(|reason| reason.evidence.clone()).collect();
    let mut promise = rank + if reasons.is_empty() { 0 } else { 1000 };
    if let Some(earlier) = went_well {
        hypothesis.push_str(&format!("; a step in this direction was accepted ({})", earlier.candidate));
        evidence.extend(earlier.runs.iter().take(MOST_RUNS).cloned());
        promise += 500;
    }
    if let Some(earlier) = other_way_failed {
        hypothesis.push_str(&format!("; a step in the other direction was rejected ({})", earlier.candidate));
        evidence.extend(earlier.runs.iter().take(MOST_RUNS).cloned());
        promise += 250;
    }
    if evidence.is_empty() {
        evidence.extend(runs.iter().take(MOST_RUNS).cloned());
    }
    evidence.sort();
    evidence.dedup();
    let mut rules: Vec<String> = reasons.iter().map(|reason| reason.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    Proposal {
        name: format!("{}-{}", plain_name(key), step.sign.word()),
        kind,
        surface: value.surface.id.clone(),
        operation,
        path: value.path.clone(),
        key: key.clone(),
        from: value.value.clone(),
        to: step.to,
        hypothesis,
        evidence,
        knowledge: rules,
        risk: wrong.to_owned(),
        promise,
    }
}

/// Most runs that are cited for one reason.
const MOST_RUNS: usize = 5;

/// The end of a randomised range, from a probe of the parameter.
fn to_range(
    value: &PresentValue<'_>,
    kind: CandidateKind,
    operation: Operation,
    found: &[Found],
    earlier: &[Earlier],
) -> Option<Proposal> {
    let key = &value.key.key;
    let (found, to) = found.iter().find_map(|one| match &one.about {
        About::Range { key: probed, from, to } if value.surface.kind == SurfaceKind::Randomisation => {
            let end = key.strip_prefix(probed.as_str())?.trim_start_matches(['.', '_', '-']);
            match end {
                end if LOWER_ENDS.contains(&end) => Some((one, *from)),
                end if UPPER_ENDS.contains(&end) => Some((one, *to)),
                _ => None,
            }
        }
        _ => None,
    })?;
    let to = steps::inside(value.key, to, value.value.is_i64() || value.value.is_u64())?;
    let is_tried = earlier.iter().any(|earlier| earlier.key == *key && same(&earlier.to, &to));
    if is_tried || same(&value.value, &to) {
        return None;
    }
    Some(Proposal {
        name: format!("{}-probed", plain_name(key)),
        kind,
        surface: value.surface.id.clone(),
        operation,
        path: value.path.clone(),
        key: key.clone(),
        from: value.value.clone(),
        to,
        hypothesis: format!("training over what the policy can handle makes it robust: {}", found.text),
        evidence: found.evidence.clone(),
        knowledge: vec![found.rule.clone()],
        risk: "a wider range is harder to learn, and the score at the nominal value may fall".to_owned(),
        promise: 1000,
    })
}

/// Whether a finding speaks for moving a key in this direction.
fn supports(found: &Found, key: &str, sign: Sign) -> bool {
    match &found.about {
        About::Component { name, is_too_large } => {
            let (key, name) = (plain_name(key), plain_name(name));
            let is_about = key.contains(&name) || name.contains(&key);
            is_about && (sign == Sign::Down) == *is_too_large
        }
        About::Updates { are_too_large } => {
            knowledge::drives_updates(key) && (sign == Sign::Down) == *are_too_large
        }
        About::Exploration { is_too_small } => {
            knowledge::drives_exploration(key) && (sign == Sign::Up) == *is_too_small
        }
        About::Range { .. } => false,
    }
}

/// Whether a step of this key in this direction was rejected.
fn is_known_to_be_worse(earlier: &[Earlier], key: &str, sign: Sign) -> bool {
    earlier.iter().any(|earlier| {
        earlier.key == key && earlier.outcome == Outcome::Rejected && direction_of(earlier) == Some(sign)
    })
}

fn direction_of(earlier: &Earlier) -> Option<Sign> {
    let (from, to) = (earlier.from.as_ref()?.as_f64()?, earlier.to.as_f64()?);
    Some(if to > from { Sign::Up } else { Sign::Down })
}

/// The same value, whichever way a number is written.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(other.abs()),
        _ => one == other,
    }
}

/// Lower-case letters and digits with dashes.
fn plain_name(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .collect();
    let parts: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

#[cfg(test)]
mod tests;
