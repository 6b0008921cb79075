//! `rlx diagnose`: problems of runs, found by the rules of `rlxp_analyze::diagnose`, with the evidence of each
//! finding.
//!
//! The rules are pure; this module turns a run on disk into their evidence. What the files don't contain but the
//! environment can show (how random actions score, which components of an observation change at all) is measured by
//! playing.

mod environment;
mod evidence;
mod summary;

use std::path::Path;

pub(crate) use environment::{actions, good_return};
pub use rlxp_analyze::diagnose::{
    Answer, Answers, Citation, Considered, Finding, Rule, RuleOutcome, RuleSet, Severity, Threshold,
};
pub use summary::{CommonFinding, DiagnosisSummary, summary};

use rlxp_fs::FsExt;
use rlxp_types::RunStatus;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::{RunData, load, load_run};

/// The longest file of rules that is read.
const RULES_CAP: u64 = 4 << 20;

/// What the rules say about one run.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    pub run: String,
    pub status: RunStatus,
    pub env: String,
    pub seeds: Vec<u64>,
    /// Steps that the furthest seed has done.
    pub steps: u64,
    /// Steps that the seed with the fewest has done.
    pub fewest_steps: u64,
    /// Training steps per seed.
    pub total_steps: u64,
    /// The worst severity found; `None` without findings.
    pub worst: Option<Severity>,
    /// Rules that found something, the first to look at first.
    pub findings: Vec<String>,
    /// Every rule's answer.
    #[serde(flatten)]
    pub answers: Answers,
    /// What is wrong with the run's record, a sentence each.
    pub notes: Vec<String>,
}

/// Diagnoses a run with the built-in rules.
pub fn diagnose(context: &Context, word: &str) -> Outcome<Diagnosis> {
    diagnose_loaded(&load_run(context, word, &wanted)?, RuleSet::built_in())
}

/// Diagnoses every run that `words` name; `tag:TAG` and `A+B` name several.
pub fn diagnose_all(context: &Context, words: &[String], rules: &RuleSet) -> Outcome<Vec<Diagnosis>> {
    let mut all: Vec<Diagnosis> = Vec::new();
    // One word at a time: the metrics of many runs need not be held at once.
    for word in words {
        for group in load(context, std::slice::from_ref(word), &wanted)? {
            for run in &group.runs {
                if all.iter().all(|known| known.run != run.name) {
                    all.push(diagnose_loaded(run, rules)?);
                }
            }
        }
    }
    Ok(all)
}

/// Diagnoses a run that is already loaded, with all metrics that [`wanted`] accepts.
pub fn diagnose_loaded(run: &RunData, rules: &RuleSet) -> Outcome<Diagnosis> {
    let answers = rlxp_analyze::diagnose::diagnose(&evidence::evidence(run)?, rules);
    let (fewest_steps, steps) = run.steps();
    Ok(Diagnosis {
        run: run.name.clone(),
        status: run.status,
        env: run.config.env.id.clone(),
        seeds: run.seeds.iter().map(|seed| seed.seed).collect(),
        steps,
        fewest_steps,
        total_steps: run.metadata.total_steps,
        worst: answers.worst(),
        findings: answers.findings().iter().map(|(outcome, _)| outcome.rule.clone()).collect(),
        answers,
        notes: run.notes.clone(),
    })
}

/// The metrics that a diagnosis reads: all of them, since any can be broken.
pub fn wanted(_kind: &str, _name: &str) -> bool {
    true
}

/// The rules to use: those of a file, or the built-in ones.
pub fn rules(context: &Context, file: Option<&Path>) -> Outcome<RuleSet> {
    let Some(file) = file else { return Ok(RuleSet::built_in().clone()) };
    let text = context.fs.read_text(&context.folder.join(file), RULES_CAP)?;
    RuleSet::parse(&text).map_err(|bad| {
        let count = bad.problems.len();
        let plural = if count == 1 { "" } else { "s" };
        let message = format!("{} has {count} problem{plural}:\n{bad}", file.display());
        Failure::usage("rules_invalid", message)
            .hint("rlx diagnose --rules --json    # the built-in rules as a starting point")
    })
}
