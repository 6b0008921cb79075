//! Detects what is wrong with a training run, by published rules.
//!
//! The rules F01 to F49 are known failure signatures. Each is a formula in code
//! ([`checks`]) with its numbers, words and exclusions as data ([`RuleSet`]).
//! [`diagnose`] checks a run's [`Evidence`] against all of them. Nothing is
//! guessed: a rule finds something, or is clear, or says what data it lacks, or
//! why it does not apply; and what it finds cites metric, steps, value and
//! threshold.
//!
//! The seed is the unit: a rule is evaluated for every seed and applies to the
//! run when most of its seeds show it. Only events that are wrong however
//! rarely they happen (a NaN, say) need one seed.
//!
//! [`suggest`] says what to try about what was found.

mod check;
mod checks;
mod curve;
mod engine;
mod evidence;
mod next;
mod outcome;
mod rank;
mod rules;
pub mod suggest;
#[cfg(test)]
mod tests;

use serde::Serialize;

use check::{Check, Reading, SeedView};
pub use evidence::{
    Actions, Baseline, Environment, Evaluation, Evidence, Failed, RecordState, SeedEvidence, Series,
    Settings, Termination,
};
pub use outcome::{Answer, Citation, Considered, Finding, RuleOutcome, Severity};
pub use rules::{
    ActionKind, BadRules, Condition, Effect, Excuse, Rule, RuleSet, SCHEMA as RULES_SCHEMA, Scope, Threshold,
};

/// Every rule's answer about a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answers {
    pub rules_version: String,
    /// Their answers, in the order of the rules.
    pub outcomes: Vec<RuleOutcome>,
}

impl Answers {
    /// The findings with their rules, the first to look at first.
    pub fn findings(&self) -> Vec<(&RuleOutcome, &Finding)> {
        let mut found: Vec<(&RuleOutcome, &Finding)> =
            self.outcomes.iter().filter_map(|outcome| Some((outcome, outcome.finding()?))).collect();
        found.sort_by_key(|(_, finding)| finding.rank);
        found
    }

    /// The worst severity found.
    pub fn worst(&self) -> Option<Severity> {
        self.outcomes.iter().filter_map(|outcome| Some(outcome.finding()?.severity)).max()
    }
}

/// Checks a run against every rule.
pub fn diagnose(evidence: &Evidence<'_>, rules: &RuleSet) -> Answers {
    let seeds: Vec<SeedView<'_>> = evidence
        .seeds
        .iter()
        .map(|data| SeedView { data, reading: Reading::for_seed(data, evidence, rules) })
        .collect();
    let (mut outcomes, affected): (Vec<RuleOutcome>, Vec<Vec<u64>>) = rules
        .rules
        .iter()
        .map(|rule| {
            let told = engine::answer(&Check { rule, rules, evidence }, &seeds);
            let outcome =
                RuleOutcome { rule: rule.id.clone(), title: rule.title.clone(), answer: told.answer };
            (outcome, told.seeds)
        })
        .unzip();
    rank::rank(&mut outcomes, &affected, rules);
    Answers { rules_version: rules.rules_version.clone(), outcomes }
}
