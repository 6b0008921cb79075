//! What is known about settings, as data: how each answers to a finding, how
//! far it may lie from a starter's, and which returns are good.
//!
//! It is a file next to the rules, so that a number can be changed or
//! questioned without reading code.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The built-in knowledge.
const BUILT_IN: &str = include_str!("../../../rules/suggestions.json");

/// The direction in which a metric should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// It should rise.
    Up,
    /// It should fall.
    Down,
}

/// What a change should do, so that it can be checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The metric, as `kind.name`.
    pub metric: String,
    /// The direction in which it should move.
    pub direction: Move,
}

/// One thing to do to one key.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Step {
    pub(super) key: String,
    #[serde(flatten)]
    pub(super) operation: Operation,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Operation {
    /// Multiplies a number or both ends of a schedule. If a starter's value is
    /// in that direction, it is used instead; if the number is outside the
    /// usual range, the general default is used.
    Scale {
        by: f64,
        #[serde(default)]
        low: Option<f64>,
        #[serde(default)]
        high: Option<f64>,
        /// Lower bound for a raised number.
        #[serde(default)]
        floor: Option<f64>,
        /// A lowered number below this becomes 0.
        #[serde(default)]
        zero_below: Option<f64>,
        #[serde(default)]
        usual: Option<(f64, f64)>,
    },
    Add {
        by: f64,
        low: f64,
    },
    Set {
        value: Value,
    },
    /// Sets what is null.
    Fill {
        value: Value,
    },
    /// Lowers a number, or caps what has no cap.
    AtMost {
        value: f64,
    },
    /// Lets a constant fall to 0 over the training.
    Decay,
    Replace {
        value: Value,
        to: Value,
    },
    /// Takes a wrapper out that only training has.
    DropWrapper {
        value: String,
    },
}

/// An answer to findings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remedy {
    pub(super) id: String,
    /// Remedies of one family work on the same thing; one of them at a time.
    pub(super) family: String,
    pub(super) title: String,
    pub(super) steps: Vec<Step>,
    pub(super) expect: Vec<Expectation>,
    pub(super) risk: String,
    /// What to do where no setting helps.
    #[serde(default)]
    pub(super) advice: Option<String>,
    /// Runs before and after it can't be compared.
    #[serde(default)]
    pub(super) incomparable: bool,
}

/// How the distance between two values of a key is measured. A distance of 1
/// is as far as is tolerated.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Measure {
    /// By their ratio, which may be this much.
    Ratio { below: f64, above: f64 },
    /// By the ratio of the steps that a discount looks ahead.
    Horizon { below: f64, above: f64 },
    /// By the ratio once this is added to both, for numbers that may be 0.
    Offset { offset: f64, below: f64, above: f64 },
    /// By the ratio of their exponentials.
    Exponent { below: f64, above: f64 },
    /// By the ratio of the narrowest layers.
    Width { below: f64, above: f64 },
    /// Set below a limit where the starter has none.
    Limit { limit: f64 },
    /// Off where the starter has it on, or the other way round.
    Flag { missing: f64, extra: f64 },
    /// Wrappers for training alone that the starter does not have.
    Wrappers { distance: f64 },
}

/// A key that is compared with a starter's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    pub(super) key: String,
    pub(super) why: String,
    pub(super) measure: Measure,
}

/// A return that counts as good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoodReturn {
    pub env_id: String,
    /// Mean return of an evaluation.
    pub value: f64,
    pub basis: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knowledge {
    pub(super) schema: String,
    /// Version of the content; rises with every change.
    pub version: String,
    /// Rules that show that something is wrong, but not the cause.
    pub(super) symptoms: BTreeSet<String>,
    pub(super) remedies: Vec<Remedy>,
    pub(super) keys: Vec<Key>,
    good_returns: Vec<GoodReturn>,
}

impl Knowledge {
    /// The built-in knowledge.
    pub fn built_in() -> &'static Self {
        static KNOWLEDGE: LazyLock<Knowledge> =
            LazyLock::new(|| serde_json::from_str(BUILT_IN).expect("a test reads the built-in knowledge"));
        &KNOWLEDGE
    }

    /// The return that counts as good in an environment as it is registered.
    pub fn good_return(&self, env_id: &str) -> Option<&GoodReturn> {
        self.good_returns.iter().find(|good| good.env_id == env_id)
    }

    pub(super) fn remedy(&self, id: &str) -> Option<&Remedy> {
        self.remedies.iter().find(|remedy| remedy.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::metrics;
    use crate::diagnose::RuleSet;

    #[test]
    fn every_rule_is_answered_by_a_remedy_or_by_advice() {
        let knowledge = Knowledge::built_in();
        assert_eq!(knowledge.schema, "rlx.knowledge/1");
        for rule in &RuleSet::built_in().rules {
            assert!(!rule.suggestions.is_empty(), "{} has no suggestion", rule.id);
            for id in &rule.suggestions {
                assert!(knowledge.remedy(id).is_some(), "{}: unknown remedy {id}", rule.id);
            }
        }
        for symptom in &knowledge.symptoms {
            assert!(RuleSet::built_in().rule(symptom).is_some(), "{symptom}");
        }
    }

    #[test]
    fn remedies_are_whole() {
        let knowledge = Knowledge::built_in();
        let ids: BTreeSet<&str> = knowledge.remedies.iter().map(|remedy| remedy.id.as_str()).collect();
        assert_eq!(ids.len(), knowledge.remedies.len(), "duplicate id");
        for remedy in &knowledge.remedies {
            assert_eq!(remedy.steps.is_empty(), remedy.advice.is_some(), "{}", remedy.id);
            assert_eq!(remedy.steps.is_empty(), remedy.expect.is_empty(), "{}", remedy.id);
            assert_eq!(remedy.steps.is_empty(), remedy.risk.is_empty(), "{}", remedy.id);
            for step in &remedy.steps {
                assert!(
                    step.key != "algo.total_timesteps" || remedy.incomparable,
                    "{}: another budget can't be compared",
                    remedy.id
                );
            }
            for expected in &remedy.expect {
                let (kind, name) = expected.metric.split_once('.').unwrap();
                assert!(metrics::entry(kind, name).is_some(), "{}: {}", remedy.id, expected.metric);
            }
        }
    }
}
