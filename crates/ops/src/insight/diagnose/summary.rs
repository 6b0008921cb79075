//! The diagnoses of many runs in short: how many have problems, and which problems are common.

use serde::Serialize;

use super::{Diagnosis, Severity};

/// Several diagnoses together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DiagnosisSummary {
    pub runs: usize,
    /// Runs with at least one error.
    pub with_errors: usize,
    /// Runs with warnings, but no error.
    pub with_warnings: usize,
    /// Runs with nothing worse than a remark.
    pub without_problems: usize,
    /// What was found, the worst first; of equal severity that of most runs.
    pub findings: Vec<CommonFinding>,
}

/// A rule that found something, with the runs it is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommonFinding {
    pub rule: String,
    pub title: String,
    /// The worst in any of the runs.
    pub severity: Severity,
    pub runs: Vec<String>,
}

pub fn summary(diagnoses: &[Diagnosis]) -> DiagnosisSummary {
    let with = |worst: Severity| diagnoses.iter().filter(|one| one.worst == Some(worst)).count();
    let (with_errors, with_warnings) = (with(Severity::Error), with(Severity::Warning));
    let mut findings: Vec<CommonFinding> = Vec::new();
    for diagnosis in diagnoses {
        for (outcome, finding) in diagnosis.answers.findings() {
            let known = findings.iter_mut().find(|known| known.rule == outcome.rule);
            match known {
                Some(known) => {
                    known.severity = known.severity.max(finding.severity);
                    known.runs.push(diagnosis.run.clone());
                }
                None => findings.push(CommonFinding {
                    rule: outcome.rule.clone(),
                    title: outcome.title.clone(),
                    severity: finding.severity,
                    runs: vec![diagnosis.run.clone()],
                }),
            }
        }
    }
    findings.sort_by(|a, b| {
        let place = |one: &CommonFinding| (one.severity, one.runs.len());
        place(b).cmp(&place(a)).then_with(|| a.rule.cmp(&b.rule))
    });
    DiagnosisSummary {
        runs: diagnoses.len(),
        with_errors,
        with_warnings,
        without_problems: diagnoses.len() - with_errors - with_warnings,
        findings,
    }
}
