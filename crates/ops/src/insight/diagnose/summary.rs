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
    /// Runs without problems so far that have not trained a step: nothing is known about them.
    pub not_started: usize,
    /// What was found, the worst first; of equal severity that of most runs.
    pub findings: Vec<CommonFinding>,
}

/// A rule that found something of one severity, with the runs it is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommonFinding {
    pub rule: String,
    pub title: String,
    /// Its severity in each of the runs.
    pub severity: Severity,
    pub runs: Vec<String>,
}

pub fn summary(diagnoses: &[Diagnosis]) -> DiagnosisSummary {
    let with = |worst: Severity| diagnoses.iter().filter(|one| one.worst == Some(worst)).count();
    let (with_errors, with_warnings) = (with(Severity::Error), with(Severity::Warning));
    let is_blank = |one: &&Diagnosis| one.steps == 0 && one.worst < Some(Severity::Warning);
    let not_started = diagnoses.iter().filter(is_blank).count();
    let mut findings: Vec<CommonFinding> = Vec::new();
    for diagnosis in diagnoses {
        for (outcome, finding) in diagnosis.answers.findings() {
            // One row per severity: an error in one run and a remark in another are not two errors.
            let known = findings
                .iter_mut()
                .find(|known| known.rule == outcome.rule && known.severity == finding.severity);
            match known {
                Some(known) => known.runs.push(diagnosis.run.clone()),
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
        without_problems: diagnoses.len() - with_errors - with_warnings - not_started,
        not_started,
        findings,
    }
}

#[cfg(test)]
mod tests {
    use rlxp_types::RunStatus;

    use super::*;
    use crate::insight::diagnose::{Answer, Answers, Finding, RuleOutcome};

    fn diagnosed(run: &str, steps: u64, severity: Option<Severity>) -> Diagnosis {
        let outcome = severity.map(|severity| RuleOutcome {
            rule: "F11".to_owned(),
            title: "value function".to_owned(),
            answer: Answer::Finding(Box::new(Finding {
                rank: 1,
                severity,
                sentence: String::new(),
                meaning: String::new(),
                seeds_showing: 1,
                seeds_judged: 1,
                evidence: Vec::new(),
                exclusions: Vec::new(),
                explained_by: Vec::new(),
                keys: Vec::new(),
                strength: 1.0,
                next: None,
                suggestions: Vec::new(),
            })),
        });
        Diagnosis {
            run: run.to_owned(),
            status: RunStatus::Completed,
            env: String::new(),
            seeds: vec![0],
            steps,
            fewest_steps: steps,
            total_steps: 10,
            worst: severity,
            findings: Vec::new(),
            answers: Answers { rules_version: String::new(), outcomes: outcome.into_iter().collect() },
            notes: Vec::new(),
        }
    }

    #[test]
    fn rows_agree_with_the_counts_of_runs() {
        let all = [
            diagnosed("bad", 10, Some(Severity::Error)),
            diagnosed("fair", 10, Some(Severity::Warning)),
            diagnosed("good", 10, None),
            diagnosed("blank", 0, None),
        ];
        let short = summary(&all);
        let counts = (short.with_errors, short.with_warnings, short.without_problems, short.not_started);
        assert_eq!(counts, (1, 1, 1, 1));
        let rows: Vec<_> = short.findings.iter().map(|row| (row.severity, row.runs.join(" "))).collect();
        assert_eq!(rows, [(Severity::Error, "bad".to_owned()), (Severity::Warning, "fair".to_owned())]);
    }
}
