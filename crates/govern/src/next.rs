//! The one next step of a study, from files alone. The first line of the table that applies is the answer.
//!
//! | what is found | what to do |
//! |---|---|
//! | the ledger is broken | stop |
//! | the study is closed | nothing |
//! | the baseline failed, or nothing can be compared with it | hand off: a new study is needed |
//! | a run ended, its metrics weren't read | extract |
//! | a look at a candidate is due, or all its runs ended without a verdict | judge |
//! | something was judged since the last report | report |
//! | budget spent, a stop rule met, or two runs in a row blocked | watch what still runs, hand off, then wait |
//! | handed off, and nothing approved since | wait |
//! | the repository has not been audited | audit |
//! | the contract is incomplete | ask |
//! | approvals for planning are missing or void | request them |
//! | a candidate stopped in its smoke phase | revise it |
//! | no baseline is planned | plan it |
//! | no smoke run has passed | smoke |
//! | a place is free and a candidate may run | launch it, or ask; hand off when what is left holds none of them |
//! | a candidate is a draft that wasn't refused as it is | validate it |
//! | a run is intended or under way | watch it |
//! | a run counts only once a person approves it | request that |
//! | otherwise | propose within scope |

mod candidates;

pub use candidates::stale_plan;

use std::collections::BTreeSet;

use rlxp_types::text::shell_word;
use serde::Serialize;

use crate::completeness::open_questions;
use crate::documents::{Assurance, CandidateKind, Phase, Reading, Slug};
use crate::gate::{self, Purpose, RefusalCode};
use crate::judge;
use crate::ledger::Remedy;
use crate::ledger::attempts;
use crate::ledger::state::CandidateRecord;
use crate::machine::CandidateState;
use crate::queue::Queue;
pub use crate::stop_rules::Ending;
use crate::stop_rules::{Stop, blocked, planned_out, spent, stop_rule};
use crate::view::Study;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Nothing may be done until the ledger is repaired
    Stop,
    /// Nothing left to do
    Closed,
    /// Watch a run
    Monitor,
    /// Read a run's metrics
    Extract,
    /// Judge a candidate
    Judge,
    /// Write the report
    Report,
    /// Hand the study off to a person
    HandOff,
    /// Wait for the person it was handed off to
    Wait,
    /// Audit the repository
    Audit,
    /// Ask a person what the contract lacks
    Ask,
    /// Ask a person for approvals
    RequestApproval,
    /// Plan the baseline
    PlanBaseline,
    /// Show that training works
    Smoke,
    /// Launch a candidate
    Launch,
    /// Validate a draft
    Validate,
    /// Propose a candidate
    Propose,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    pub action: Action,
    /// The reason for this step.
    pub reason: String,
    /// The exact command.
    pub command: Option<String>,
    /// What it would change.
    pub changes: String,
    /// What a person must do, where one must.
    pub person: Option<String>,
    /// The candidate that would be launched, for the caller to compare its plan with the files of the repository.
    #[serde(skip)]
    pub launches: Option<Slug>,
    /// What the step is about, for callers that take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// Why the study doesn't continue by itself, where it doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

/// What a step is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A candidate that exists
    Candidate(Slug),
    /// A candidate of which only smoke runs were started, and which needs another revision
    Revise(Slug),
    /// A run, by its key
    Run(String),
    /// A candidate without changes that is to be written
    Write {
        /// A free name
        name: String,
        kind: CandidateKind,
    },
}

impl Next {
    fn new(
        action: Action,
        reason: impl Into<String>,
        command: impl Into<String>,
        changes: impl Into<String>,
    ) -> Self {
        let command = Some(command.into()).filter(|command: &String| !command.is_empty());
        let (reason, changes) = (reason.into(), changes.into());
        Self { action, reason, command, changes, person: None, launches: None, about: None, ending: None }
    }

    fn about(self, about: About) -> Self {
        Self { about: Some(about), ..self }
    }

    fn ends_by(self, ending: Ending) -> Self {
        Self { ending: Some(ending), ..self }
    }

    fn by_person(self, what: impl Into<String>) -> Self {
        Self { person: Some(what.into()), ..self }
    }
}

const RECORD: &str = "appends to the ledger";
const NOTHING: &str = "nothing";

/// The next step.
pub fn next(study: &Study) -> Next {
    broken(study)
        .or_else(|| closed(study))
        .or_else(|| candidates::dead_end(study))
        .or_else(|| unread(study))
        .or_else(|| judged(study))
        .or_else(|| over(study))
        .or_else(|| audit(study))
        .or_else(|| incomplete(study))
        .or_else(|| candidates::planning_not_approved(study))
        .or_else(|| candidates::stopped_in_smoke(study))
        .or_else(|| candidates::first_runs(study))
        .or_else(|| candidates::validated(study))
        .or_else(|| candidates::drafts(study))
        .or_else(|| under_way(study))
        .or_else(|| candidates::unapproved_runs(study))
        .unwrap_or_else(|| candidates::propose(study))
}

fn broken(study: &Study) -> Option<Next> {
    if let Some(problem) = study.ledger.problem.as_ref().filter(|problem| problem.remedy == Remedy::Restore) {
        let person = "if you switched branches, switch back; otherwise put the copy back";
        let changes = "puts the copy of the ledger back; the present one is kept beside it";
        let next = Next::new(Action::Stop, problem.message.clone(), problem.remedy.command(), changes);
        return Some(next.by_person(person));
    }
    let said = match &study.ledger.problem {
        Some(problem) => format!("the ledger is broken at line {}: {}", problem.line, problem.message),
        None if study.ledger.records.is_empty() => "the ledger is empty".to_owned(),
        None => return None,
    };
    let person = "find out what happened to the ledger (an edit, a bad disk, a newer rlx) and restore it \
                  from a copy that matches an anchor";
    Some(Next::new(Action::Stop, said, "rlx verify --chain", NOTHING).by_person(person))
}

fn closed(study: &Study) -> Option<Next> {
    let reason = study.state().closed.as_ref()?;
    let to = format!("rlx study export --to ../{}-{}", study.name.task, study.name.study);
    let next = |reason| Next::new(Action::Closed, reason, to, NOTHING);
    Some(if study.is_open() {
        next(format!(
            "the study is closed: {reason}; the closing was not approved, so the folder stays \
                      protected"
        ))
        .by_person("find out who closed it")
    } else {
        next(format!("the study is closed: {reason}"))
    })
}

/// A run that is under way.
pub(crate) fn under_way(study: &Study) -> Option<Next> {
    let state = study.state();
    let live = state.live();
    let run = live.first()?;
    let reason = format!("run {} of {} is {}", run.intent.key, run.intent.candidate, run.state);
    if run.intent.external.is_some() {
        let command = format!("rlx study receive {} --from FOLDER", run.intent.key);
        let person = "import the results of the run once it has finished";
        let reason = format!("{reason} outside of rlx");
        return Some(Next::new(Action::Monitor, reason, command, RECORD).by_person(person));
    }
    Some(Next::new(Action::Monitor, reason, "rlx launch status", NOTHING))
}

/// A run whose metrics are to be read.
fn unread(study: &Study) -> Option<Next> {
    let run = *attempts::unread(study.state()).first()?;
    let reason = format!("run {} ended, but its metrics have not been read", run.intent.key);
    let next = Next::new(Action::Extract, reason, format!("rlx study extract {}", run.intent.key), RECORD);
    Some(next.about(About::Run(run.intent.key.clone())))
}

fn judged(study: &Study) -> Option<Next> {
    let state = study.state();
    let queue = Queue::for_study(study);
    let judge = |id: &Slug, reason: String| {
        let next = Next::new(Action::Judge, reason, format!("rlx study judge {id}"), RECORD);
        Some(next.about(About::Candidate(id.clone())))
    };
    if let Some(job) = queue.to_judge() {
        let reason = match job.phase {
            Phase::IncumbentValidation => format!("the audit seeds of {} have run", job.candidate),
            _ => format!("{} has {} confirm seeds, and a look at them is due", job.candidate, job.runs),
        };
        return judge(&job.candidate, reason);
    }
    let over = queue.over();
    let done = state.candidates.iter().filter(|(id, record)| is_over(study, &over, id, record));
    if let Some((id, record)) = done.min_by_key(|(_, record)| record.order) {
        return judge(
            id,
            match record.furthest() {
                Some(Phase::Smoke) => format!("{id} failed in its smoke phase, and it has no verdict"),
                _ => format!("all runs of {id} have finished, but it has no verdict"),
            },
        );
    }
    let unreported =
        state.last_judged.filter(|seq| state.last_reported.is_none_or(|reported| reported < *seq))?;
    let reason = format!("the verdict in record {unreported} is not in the report");
    Some(Next::new(Action::Report, reason, "rlx study report", "writes report.md and appends to the ledger"))
}

/// Whether all runs of a candidate are over and only a verdict is left. A launched candidate without remaining runs is
/// complete, even if that was not recorded.
fn is_over(study: &Study, over: &BTreeSet<&Slug>, id: &Slug, record: &CandidateRecord) -> bool {
    // What changes nothing makes no claim.
    if record.validated.kind.is_empty_change() {
        return false;
    }
    let is_over = match record.state {
        CandidateState::Completed => true,
        CandidateState::Launched => over.contains(id),
        _ => false,
    };
    match record.furthest() {
        _ if !is_over => false,
        // One that only has smoke runs is over if they failed; otherwise its plan has changed, and it is revised.
        Some(Phase::Smoke) => candidates::has_failed_in_smoke(study, id),
        // Files that were edited may be restored, as long as no person approved them as they are.
        _ => judge::stale(study, record).is_none_or(|_| candidates::planning_not_approved(study).is_none()),
    }
}

/// The budget or a stop rule ends the study, or it was handed off. A hand-off removes no permission, so no
/// gate checks it: it says who has to act, and only an approval by that person shows that they did.
fn over(study: &Study) -> Option<Next> {
    let handed_off = study.state().handed_off.as_ref();
    let rule = study.contract().and_then(|contract| {
        spent(study, contract)
            .or_else(|| stop_rule(study, contract))
            .or_else(|| planned_out(study, contract))
            .or_else(|| blocked(study))
    });
    if rule.is_some() || handed_off.is_some() {
        // Started runs are finished first.
        if let Some(next) = under_way(study) {
            return Some(next);
        }
    }
    let Some(Stop { ending, reason: rule }) = rule else {
        return handed_off.map(|(_, reason)| handed_over(study, reason));
    };
    let person = "decide whether to continue under a new contract or close the study";
    // Closing removes the protection of the folder, which needs a person's approval once the loop
    // was entered.
    let approved = study.close_standing().is_given();
    if handed_off.is_some() || approved {
        let done = if approved { "closing is approved" } else { "the study was handed off" };
        let may_close = approved || !study.was_entered();
        let command = if may_close { close_command(&rule) } else { "rlx approve close".to_owned() };
        let next = Next::new(Action::Wait, format!("{rule}; {done}"), command, RECORD);
        return Some(next.by_person(person).ends_by(ending));
    }
    Some(Next::new(Action::HandOff, rule, "rlx study handoff", RECORD).by_person(person).ends_by(ending))
}

/// Nothing ends the study, but it was handed off.
fn handed_over(study: &Study, reason: &str) -> Next {
    let reason = format!("the study was handed off: {reason}");
    if study.close_standing().is_given() {
        let reason = format!("{reason}; closing is approved");
        let command = close_command(&reason);
        return Next::new(Action::Wait, reason, command, RECORD).by_person("close the study");
    }
    let who = match (study.required(), &study.approvers) {
        (Assurance::Signature, Some(approvers)) if !approvers.is_empty() => {
            approvers.iter().map(|approver| approver.name.as_str()).collect::<Vec<_>>().join(" or ")
        }
        _ => "an approver".to_owned(),
    };
    let open = incomplete(study).and_then(|next| next.command);
    let (command, how) = match open {
        Some(command) => (command, "complete the contract and approve it"),
        None if study.was_entered() => {
            ("rlx approve loop_entry".to_owned(), "approve what changed, or loop_entry again if nothing did")
        }
        None => ("rlx contract request".to_owned(), "approve what it lists"),
    };
    let end = if study.was_entered() { "approve close, which ends it" } else { "close the study" };
    let person = format!("decide how to continue ({who}): {how}; or {end}");
    Next::new(Action::Wait, reason, command, RECORD).by_person(person)
}

/// The command that closes the study for this reason.
fn close_command(reason: &str) -> String {
    format!("rlx study close --reason {}", shell_word(reason))
}

fn audit(study: &Study) -> Option<Next> {
    let reason = match &study.adapter {
        None => "the repository has not been audited yet".to_owned(),
        Some(adapter) if !adapter.stale.is_empty() => {
            format!("cited lines have changed: {}", adapter.stale.join(", "))
        }
        Some(adapter) if study.state().audited != Some(adapter.digest) => {
            "adapter.yaml has changed since the audit".into()
        }
        Some(_) => return None,
    };
    Some(Next::new(Action::Audit, reason, "rlx study audit", "writes adapter.yaml and appends to the ledger"))
}

fn incomplete(study: &Study) -> Option<Next> {
    let open = open_questions(&study.files);
    let other: Vec<String> = gate::refusals(Purpose::Plan, study, None)
        .into_iter()
        .filter(|refusal| refusal.gate.is_about_files() && refusal.code != RefusalCode::ContractIncomplete)
        .map(|refusal| refusal.reason)
        .collect();
    if open.is_empty() && other.is_empty() {
        return None;
    }
    let asked = open.iter().map(|open| format!("{} {}: {}", open.file, open.path, open.question));
    let all: Vec<String> = other.iter().cloned().chain(asked).collect();
    // The intake writes all four files and never changes an existing one.
    let files = &study.files;
    let nothing_there = matches!(files.contract, Reading::Missing)
        && matches!(files.metric_spec, Reading::Missing)
        && matches!(files.surface_map, Reading::Missing)
        && matches!(files.runbook, Reading::Missing);
    let command = if nothing_there { "rlx contract new" } else { "rlx contract check" };
    let reason = format!("the contract is not complete: {}", all.join("; "));
    let person = match (open.is_empty(), other.is_empty()) {
        (true, false) => "fix the files",
        (false, false) => "fix the files and answer the open questions",
        _ => "answer the open questions",
    };
    let person = if nothing_there { "answer the intake questions" } else { person };
    Some(Next::new(Action::Ask, reason, command, "the files of the study").by_person(person))
}
