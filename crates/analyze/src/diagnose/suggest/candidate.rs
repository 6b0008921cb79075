//! Everything that could be tried, each with its reasons.

use std::collections::BTreeSet;

use serde_json::Value;

use super::deviation::Deviation;
use super::fitted;
use super::knowledge::{Expectation, Knowledge, Move};
use super::remedy::{self, Origin};
use super::{BasisKind, Change, Situation, State, Unanswered};
use crate::diagnose::{Citation, Finding, RuleOutcome, Severity};

/// Numbers of one finding that are taken over.
const MOST_CITATIONS: usize = 3;
/// Findings whose sentences are the reason; of further ones only the rules are named.
const MOST_REASONS: usize = 3;
/// The family of remedies that only train longer.
const BUDGET: &str = "budget";
/// A budget below this share of the starter's is short.
const SHORT_BUDGET: f64 = 0.8;

/// How good the reasons are; better ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// A rule gives the direction and the starter the value.
    Agreed,
    /// It lies far from the starter.
    Far,
    /// A rule that names a cause.
    Cause,
    /// A rule that only says that something is wrong.
    Symptom,
    /// A larger budget, which needs no finding.
    Budget,
}

/// Something to try.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) family: String,
    pub(super) title: String,
    pub(super) changes: Vec<Change>,
    pub(super) tier: Tier,
    /// Rank of the first finding, then place among its remedies or distance.
    place: (usize, usize),
    pub(super) basis: BasisKind,
    pub(super) origin: Origin,
    pub(super) rules: Vec<String>,
    pub(super) explained_by: BTreeSet<String>,
    pub(super) reasons: Vec<String>,
    pub(super) evidence: Vec<Citation>,
    pub(super) expect: Vec<Expectation>,
    pub(super) risk: String,
    pub(super) incomparable: bool,
}

impl Candidate {
    /// Smaller is to be tried earlier.
    pub(super) fn order(&self) -> (Tier, (usize, usize), &str) {
        (self.tier, self.place, &self.id)
    }

    /// Whether it changes this key.
    pub(super) fn touches(&self, key: &str) -> bool {
        self.changes.iter().any(|change| change.key == key)
    }
}

/// What findings lead to.
pub(super) struct FromFindings {
    pub(super) candidates: Vec<Candidate>,
    pub(super) unanswered: Vec<Unanswered>,
}

/// The remedies of every finding that counts in this situation.
pub(super) fn from_findings(
    situation: &Situation<'_>,
    knowledge: &Knowledge,
    far: &[Deviation<'_>],
) -> FromFindings {
    let (mut candidates, mut unanswered): (Vec<Candidate>, Vec<Unanswered>) = (Vec::new(), Vec::new());
    // Info findings are no reason to change a run that does well.
    let least = if situation.standing.state == State::Poor { Severity::Info } else { Severity::Warning };
    let findings = situation.answers.findings();
    for (outcome, finding) in findings.into_iter().filter(|(_, finding)| finding.severity >= least) {
        let (mut advice, mut answered) = (Vec::new(), false);
        for (order, id) in finding.suggestions.iter().enumerate() {
            let Some(remedy) = knowledge.remedy(id) else { continue };
            if let Some(text) = &remedy.advice {
                advice.push(text.clone());
                continue;
            }
            // Nothing is more random than a uniform policy.
            let adds_entropy =
                |expected: &Expectation| expected.metric == "train.entropy" && expected.direction == Move::Up;
            if situation.as_random_as_possible && remedy.expect.iter().any(adds_entropy) {
                continue;
            }
            // A finding that names its keys is answered by those alone.
            let is_named = |key: &String| remedy.steps.iter().any(|step| step.key == *key);
            if !finding.keys.is_empty() && !finding.keys.iter().any(is_named) {
                continue;
            }
            let Some((mut changes, origin)) =
                remedy::changes(remedy, situation.settings, situation.reference)
            else {
                continue;
            };
            // Keys that only make sense together take the starter's values together.
            let whole = far.iter().find(|far| changes.iter().all(|change| far.changes.contains(change)));
            if let (Origin::Starter, Some(whole)) = (origin, whole) {
                changes.clone_from(&whole.changes);
            }
            // The starter is in the other direction: this would move further away from settings
            // that are known to work.
            let is_far = |change: &Change| {
                far.iter()
                    .any(|far| far.changes.iter().any(|c| c.key == change.key && c.key != fitted::BUDGET))
            };
            if origin != Origin::Starter && changes.iter().any(is_far) {
                continue;
            }
            answered = true;
            // Two rules that ask for the same change are two reasons for it.
            if let Some(known) =
                candidates.iter_mut().find(|known| known.id == *id || known.changes == changes)
            {
                known.add(outcome, finding);
                continue;
            }
            let symptom = knowledge.symptoms.contains(&outcome.rule) || finding.severity == Severity::Info;
            let tier = match origin {
                _ if remedy.family == BUDGET => Tier::Budget,
                Origin::Starter if changes.iter().any(is_far) || !symptom => Tier::Agreed,
                _ if symptom => Tier::Symptom,
                _ => Tier::Cause,
            };
            let mut candidate = Candidate {
                id: id.clone(),
                family: remedy.family.clone(),
                title: remedy.title.clone(),
                changes,
                tier,
                place: (finding.rank, order),
                basis: if origin == Origin::Starter { BasisKind::RuleAndStarter } else { BasisKind::Rule },
                origin,
                rules: Vec::new(),
                explained_by: BTreeSet::new(),
                reasons: Vec::new(),
                evidence: Vec::new(),
                expect: remedy.expect.clone(),
                risk: remedy.risk.clone(),
                incomparable: remedy.incomparable,
            };
            candidate.add(outcome, finding);
            candidates.push(candidate);
        }
        if !answered && let Some(candidate) = reset(situation, far, outcome, finding) {
            answered = true;
            match candidates.iter_mut().find(|known| known.changes == candidate.changes) {
                Some(known) => known.add(outcome, finding),
                None => candidates.push(candidate),
            }
        }
        if !answered && finding.severity >= Severity::Warning {
            unanswered.push(Unanswered {
                rule: outcome.rule.clone(),
                title: outcome.title.clone(),
                sentence: finding.sentence.clone(),
                advice,
                // This is what `rlx suggest` says already.
                next: finding.next.clone().filter(|next| !next.starts_with("rlx suggest")),
            });
        }
    }
    FromFindings { candidates, unanswered }
}

/// The named keys back at the starter's values, or at the general defaults.
fn reset(
    situation: &Situation<'_>,
    far: &[Deviation<'_>],
    outcome: &RuleOutcome,
    finding: &Finding,
) -> Option<Candidate> {
    let reference = situation.reference?;
    let mut changes: Vec<Change> = finding
        .keys
        .iter()
        .filter_map(|key| Change::between(key, situation.settings.get(key)?, reference.settings.get(key)?))
        .collect();
    // A batch of the starter's size fits the starter's rollout: keys that only make sense together go together.
    for whole in far {
        if whole.changes.iter().any(|change| changes.contains(change)) {
            let missing = whole.changes.iter().filter(|change| !changes.contains(change)).cloned();
            changes.extend(missing.collect::<Vec<_>>());
        }
    }
    let changes = fitted::fitted(changes, situation.settings, &reference.settings);
    let own = changes.iter().map(|change| change.key.as_str()).filter(|key| *key != fitted::BUDGET);
    let keys: Vec<&str> = own.collect();
    if keys.is_empty() {
        return None;
    }
    let (tier, basis, origin, whose) = if reference.is_starter {
        (Tier::Agreed, BasisKind::RuleAndStarter, Origin::Starter, "as in the starter")
    } else {
        (Tier::Cause, BasisKind::Rule, Origin::Default, "back at its default")
    };
    let mut candidate = Candidate {
        id: format!(
            "reset_{}",
            keys.iter().map(|key| key.rsplit('.').next().unwrap_or(key)).collect::<Vec<_>>().join("_")
        ),
        family: keys[0].to_owned(),
        title: format!("{} {whose}", keys.join(", ")),
        tier,
        place: (finding.rank, 0),
        basis,
        origin,
        rules: Vec::new(),
        explained_by: BTreeSet::new(),
        reasons: Vec::new(),
        evidence: Vec::new(),
        expect: vec![Expectation { metric: "eval.mean_return".to_owned(), direction: Move::Up }],
        risk: fitted::risk(&changes, situation.settings)
            .unwrap_or_else(|| "the setting may not be the only cause".to_owned()),
        incomparable: false,
        changes,
    };
    candidate.add(outcome, finding);
    Some(candidate)
}

impl Candidate {
    /// One more finding that it answers.
    fn add(&mut self, outcome: &RuleOutcome, finding: &Finding) {
        if self.rules.is_empty() {
            self.explained_by = finding.explained_by.iter().cloned().collect();
        }
        self.rules.push(outcome.rule.clone());
        if self.reasons.len() < MOST_REASONS {
            self.reasons.push(format!("{}: {}", outcome.rule, sentence(&finding.sentence)));
            self.evidence.extend(finding.evidence.iter().take(MOST_CITATIONS).cloned());
        }
    }
}

/// `text` with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

/// Settings far from the starter; those already named by findings only get an additional reason.
pub(super) fn from_starter(
    situation: &Situation<'_>,
    far: &[Deviation<'_>],
    named: &[Candidate],
) -> Vec<Candidate> {
    let agreed = |far: &Deviation<'_>| {
        let mut agreed = named.iter().filter(|candidate| candidate.tier == Tier::Agreed);
        agreed.any(|candidate| far.changes.iter().all(|change| candidate.changes.contains(change)))
    };
    let standing = situation.standing.sentence();
    far.iter()
        .enumerate()
        .filter(|(_, far)| !agreed(far))
        .map(|(place, far)| Candidate {
            id: format!("starter_{}", far.key.key.rsplit('.').next().unwrap_or(&far.key.key)),
            family: far.key.key.clone(),
            title: format!("{} as in the starter", shown_key(&far.key.key)),
            changes: far.changes.clone(),
            tier: Tier::Far,
            place: (place, 0),
            basis: BasisKind::Starter,
            origin: Origin::Starter,
            rules: Vec::new(),
            explained_by: BTreeSet::new(),
            reasons: std::iter::once(far.sentence(situation.env)).chain(standing.clone()).collect(),
            evidence: situation.standing.citation().into_iter().collect(),
            expect: vec![Expectation { metric: "eval.mean_return".to_owned(), direction: Move::Up }],
            risk: fitted::risk(&far.changes, situation.settings).unwrap_or_else(|| {
                "the starter works with all of its settings together; this one alone may not be the cause"
                    .to_owned()
            }),
            incomparable: false,
        })
        .collect()
}

fn shown_key(key: &str) -> &str {
    if key == "rollout" { "rollout size" } else { key }
}

/// The starter's budget, where the run does poorly within a much smaller one.
pub(super) fn more_budget(
    situation: &Situation<'_>,
    knowledge: &Knowledge,
    named: &[Candidate],
) -> Option<Candidate> {
    const KEY: &str = fitted::BUDGET;
    let starter = situation.reference.filter(|reference| reference.is_starter)?;
    let steps = |settings: &super::Settings| settings.get(KEY).and_then(Value::as_f64);
    let (here, there) = (steps(situation.settings)?, steps(&starter.settings)?);
    let is_poor = situation.standing.state == State::Poor && situation.standing.failed == 0;
    if !is_poor || here >= SHORT_BUDGET * there || named.iter().any(|candidate| candidate.touches(KEY)) {
        return None;
    }
    let remedy = knowledge.remedy("train_longer")?;
    let (changes, origin) = remedy::changes(remedy, situation.settings, situation.reference)?;
    Some(Candidate {
        id: remedy.id.clone(),
        family: remedy.family.clone(),
        title: remedy.title.clone(),
        changes,
        tier: Tier::Budget,
        place: (0, 0),
        basis: BasisKind::Starter,
        origin,
        rules: Vec::new(),
        explained_by: BTreeSet::new(),
        reasons: std::iter::once(format!(
            "{KEY} is {here} in this run and {there} in the starter for {}.",
            situation.env
        ))
        .chain(situation.standing.sentence())
        .collect(),
        evidence: situation.standing.citation().into_iter().collect(),
        expect: remedy.expect.clone(),
        risk: remedy.risk.clone(),
        incomparable: true,
    })
}
