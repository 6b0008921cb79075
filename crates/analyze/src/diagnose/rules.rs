//! The rules as data: what each is called, means, needs and compares with.
//!
//! A rule's formula is code; everything that can be tuned or said about it is
//! in a JSON file, so that thresholds can be calibrated, stored next to their
//! initial values, and replaced by a user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::checks;
use super::outcome::Severity;

/// The built-in rules.
const BUILT_IN: &str = include_str!("../../rules/failure_signatures.json");

/// The format that a file of rules must name.
pub const SCHEMA: &str = "rlx.rules/1";

/// One number that a rule compares with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    pub meaning: String,
    /// The initial value.
    pub start: f64,
    /// The current value.
    pub value: f64,
    /// Why it was changed; null while it is the initial value.
    pub reason: Option<String>,
}

/// What a rule is about; a run that is of another kind is not judged by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    /// Names of algorithms; empty for any.
    pub algorithms: BTreeSet<String>,
    /// `discrete` or `continuous`; null for both.
    pub actions: Option<ActionKind>,
    /// Only where observations are real numbers.
    pub real_observations: bool,
    /// Only where the policy has a choice: not in an environment with a single action.
    pub choice: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Choices.
    Discrete,
    /// Real numbers.
    Continuous,
}

/// What can excuse a finding; each is computed from the return of the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The return ends at the environment's target, or within its tolerance.
    AtTarget,
    /// The return rose beyond its noise and ends near its best.
    Improved,
    /// That, where no target is known that could be missed.
    ImprovedWithoutTarget,
    /// The return still rises at the end.
    Improving,
}

/// What happens to an excused finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing is reported.
    Silence,
    /// It is an info at most.
    Info,
    /// It is a warning at most.
    Warning,
}

/// A condition under which a finding is milder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excuse {
    pub when: Condition,
    pub then: Effect,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `F01` and so on.
    pub id: String,
    /// A few words.
    pub title: String,
    pub severities: Vec<Severity>,
    /// What its findings mean, in plain words.
    pub meaning: String,
    /// How it is computed.
    pub formula: String,
    /// Metrics that it reads, `kind.name`; `<i>` and `*` stand for any.
    pub inputs: Vec<String>,
    /// Fewest points of a metric.
    pub minimum_points: usize,
    /// The numbers in the formula.
    pub thresholds: BTreeMap<String, Threshold>,
    pub basis: String,
    #[serde(default)]
    pub applies_to: Scope,
    #[serde(default)]
    pub excuses: Vec<Excuse>,
    /// Further exclusions that only a person can judge.
    #[serde(default)]
    pub exclusions: Vec<String>,
    /// Metrics that are ignored.
    #[serde(default)]
    pub ignores: BTreeSet<String>,
    /// Rules whose findings this one may be the cause of.
    #[serde(default)]
    pub explains: BTreeSet<String>,
    /// Commands to continue with; the first whose words are all known is offered.
    pub next: Vec<String>,
    /// Ids of suggestions that answer it.
    #[serde(default)]
    pub suggestions: Vec<String>,
}

impl Rule {
    /// The thresholds in the order of `names`, which must be all of them: so
    /// that the file can't contain a number that no code uses.
    pub(crate) fn values<const N: usize>(&self, names: [&str; N]) -> [f64; N] {
        debug_assert_eq!(
            names.iter().copied().collect::<BTreeSet<_>>(),
            self.thresholds.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            "the thresholds of {} and of its code",
            self.id
        );
        names.map(|name| self.thresholds.get(name).expect("validated rules hold every threshold").value)
    }
}

/// A whole file of rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSet {
    pub schema: String,
    /// Version of the content; rises with every change of a rule or number.
    pub rules_version: String,
    /// Numbers that several rules share.
    pub common: BTreeMap<String, Threshold>,
    /// The rules, in the order of their ids.
    pub rules: Vec<Rule>,
}

/// A file of rules can't be used; everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub struct BadRules {
    pub problems: Vec<String>,
}

impl RuleSet {
    /// The built-in rules.
    pub fn built_in() -> &'static Self {
        static RULES: LazyLock<RuleSet> =
            LazyLock::new(|| serde_json::from_str(BUILT_IN).expect("a test reads the built-in rules"));
        &RULES
    }

    /// Rules from a user's file. They must be the built-in ones with other
    /// numbers and words: a formula is code and can't be defined in a file.
    pub fn parse(text: &str) -> Result<Self, BadRules> {
        let rules: Self =
            serde_json::from_str(text).map_err(|error| BadRules { problems: vec![error.to_string()] })?;
        let problems = rules.problems(Self::built_in());
        if problems.is_empty() { Ok(rules) } else { Err(BadRules { problems }) }
    }

    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// One of the shared numbers.
    pub(crate) fn common(&self, name: &str) -> f64 {
        self.common.get(name).expect("validated rules hold every shared number").value
    }

    /// Every problem, compared with the built-in rules.
    fn problems(&self, known: &Self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.schema != SCHEMA {
            problems.push(format!("schema is {:?}; it must be {SCHEMA:?}", self.schema));
        }
        if self.rules_version.trim().is_empty() {
            problems.push("rules_version is empty".to_owned());
        }
        thresholds("common", &self.common, &known.common, &mut problems);
        let mut seen = BTreeSet::new();
        for rule in &self.rules {
            if !seen.insert(rule.id.as_str()) {
                problems.push(format!("{}: duplicate id", rule.id));
                continue;
            }
            match known.rule(&rule.id) {
                Some(own) => rule_problems(rule, own, &mut problems),
                None => problems.push(format!("{}: unknown rule; the rules are F01 to F49", rule.id)),
            }
        }
        for rule in known.rules.iter().filter(|rule| !seen.contains(rule.id.as_str())) {
            problems.push(format!("{}: missing rule", rule.id));
        }
        for rule in &self.rules {
            for explained in rule.explains.iter().filter(|id| !seen.contains(id.as_str())) {
                problems.push(format!("{}: explains unknown rule {explained}", rule.id));
            }
        }
        if let Some(id) = self.in_a_circle() {
            problems.push(format!("{id}: explains itself, directly or through other rules"));
        }
        problems
    }

    /// A rule that explains itself through others.
    fn in_a_circle(&self) -> Option<&str> {
        self.rules.iter().map(|rule| rule.id.as_str()).find(|id| {
            let mut reached: BTreeSet<&str> = BTreeSet::new();
            let mut open = vec![*id];
            while let Some(rule) = open.pop().and_then(|id| self.rule(id)) {
                for next in rule.explains.iter().map(String::as_str) {
                    if next == *id {
                        return true;
                    }
                    if self.rule(next).is_some() && reached.insert(next) {
                        open.push(next);
                    }
                }
            }
            false
        })
    }
}

fn rule_problems(rule: &Rule, own: &Rule, problems: &mut Vec<String>) {
    thresholds(&rule.id, &rule.thresholds, &own.thresholds, problems);
    for (what, text) in [("title", &rule.title), ("meaning", &rule.meaning), ("formula", &rule.formula)] {
        if text.trim().is_empty() {
            problems.push(format!("{}: {what} is empty", rule.id));
        }
    }
    if rule.severities.is_empty() {
        problems.push(format!("{}: severities is empty", rule.id));
    }
    if rule.minimum_points == 0 {
        problems.push(format!("{}: minimum_points must be at least 1", rule.id));
    }
    debug_assert!(checks::find(&own.id).is_some(), "{} has code", own.id);
}

fn thresholds(
    of: &str,
    given: &BTreeMap<String, Threshold>,
    known: &BTreeMap<String, Threshold>,
    problems: &mut Vec<String>,
) {
    for (name, threshold) in given {
        if !known.contains_key(name) {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            problems
                .push(format!("{of}: unknown threshold {name:?}; the thresholds are {}", names.join(", ")));
        }
        if !threshold.value.is_finite() || !threshold.start.is_finite() {
            problems.push(format!("{of}: {name} is not a finite number"));
        }
        if threshold.value != threshold.start && threshold.reason.as_deref().is_none_or(str::is_empty) {
            problems.push(format!(
                "{of}: {name} was changed to {} from {} without a `reason`",
                threshold.value, threshold.start
            ));
        }
    }
    for name in known.keys().filter(|name| !given.contains_key(*name)) {
        problems.push(format!("{of}: missing threshold {name:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rules_are_whole() {
        let rules = RuleSet::built_in();
        let expected: Vec<String> = (1..=49).map(|number| format!("F{number:02}")).collect();
        let ids: Vec<String> = rules.rules.iter().map(|rule| rule.id.clone()).collect();
        assert_eq!(ids, expected);
        assert_eq!(rules.problems(rules), Vec::<String>::new());
        for rule in &rules.rules {
            assert!(checks::find(&rule.id).is_some(), "{} has no code", rule.id);
            assert!(!rule.next.is_empty(), "{} has no next command", rule.id);
            assert!(!rule.basis.is_empty() && !rule.inputs.is_empty(), "{}", rule.id);
            assert!(rule.severities.is_sorted(), "{}", rule.id);
        }
    }

    #[test]
    fn a_file_of_ones_own_is_checked_and_every_problem_is_named() {
        let mut own = RuleSet::built_in().clone();
        own.rules[2].thresholds.get_mut("warning").unwrap().value = 0.03;
        own.rules[2].thresholds.get_mut("warning").unwrap().reason = Some("our robot".to_owned());
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(RuleSet::parse(&text).unwrap(), own);

        own.rules[2].thresholds.get_mut("warning").unwrap().reason = None;
        own.rules[3].thresholds.clear();
        own.rules[5].explains.insert("F99".to_owned());
        own.rules[6].id = "F06".to_owned();
        own.rules[0].explains.insert("F16".to_owned());
        own.rules[15].explains.insert("F01".to_owned());
        let problems = RuleSet::parse(&serde_json::to_string(&own).unwrap()).unwrap_err().problems;
        let text = problems.join("\n");
        for part in [
            "without a `reason`",
            "missing threshold",
            "F99",
            "F06: duplicate id",
            "F07: missing rule",
            "explains itself",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert_eq!(RuleSet::parse("{").unwrap_err().problems.len(), 1);
        assert_eq!(RuleSet::parse("[]").unwrap_err().problems.len(), 1);
    }
}
