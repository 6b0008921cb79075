//! What the diagnosis says of a run, in short.

use rlxp_analyze::diagnose::RuleSet;
use serde::Serialize;

use crate::insight::diagnose::{Severity, diagnose_loaded};
use crate::insight::run_data::RunData;

/// A finding of `rlx diagnose`.
#[derive(Clone, Debug, Serialize)]
pub struct TopFinding {
    pub run: String,
    /// The rule, such as `F08`.
    pub rule: String,
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen, with metric, steps, value and threshold.
    pub sentence: String,
}

/// The findings of runs that were loaded with every metric, the worst first;
/// and what kept a run from being diagnosed.
pub(crate) fn findings(runs: &[RunData]) -> (Vec<TopFinding>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for run in runs {
        match diagnose_loaded(run, RuleSet::built_in()) {
            Ok(diagnosis) => {
                found.extend(diagnosis.answers.findings().iter().map(|(outcome, finding)| TopFinding {
                    run: run.name.clone(),
                    rule: outcome.rule.clone(),
                    title: outcome.title.clone(),
                    severity: finding.severity,
                    sentence: finding.sentence.clone(),
                }));
            }
            Err(failure) => notes.push(format!("{}: no diagnosis: {}", run.name, failure.message)),
        }
    }
    // Within a run they come ranked; a stable sort keeps that.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    (found, notes)
}
