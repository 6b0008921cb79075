//! The one next step of a study, from files alone. The first line of the table that applies is the answer.
//!
//! | what is found | what to do |
//! |---|---|
//! | the ledger is broken | stop |
//! | the study is closed | nothing |
//! | a run is intended or under way | watch it |
//! | a run ended, its metrics weren't read | extract |
//! | all runs of a candidate ended, no verdict | judge |
//! | something was judged since the last report | report |
//! | budget spent or a stop rule met | hand off |
//! | nobody looked at the repository | audit |
//! | the contract is incomplete | ask |
//! | approvals for planning are missing or void | request them |
//! | no baseline is planned | plan it |
//! | no smoke run has passed | smoke |
//! | a candidate is validated | launch it, or ask |
//! | a candidate is a draft | validate it |
//! | otherwise | propose within scope |

use serde::Serialize;

use crate::approval::{Standing, approvers_changed, standing};
use crate::budget::Amounts;
use crate::completeness::open_questions;
use crate::documents::{Automation, CandidateKind, Contract, Direction, Phase, Reading, Slug, StopRule};
use crate::gate::{self, Purpose};
use crate::ledger::state::CandidateRecord;
use crate::machine::{CandidateState, RunState};
use crate::queue::Queue;
use crate::section::{Section, Target};
use crate::view::Study;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Nothing may be done before the record is mended
    Stop,
    /// Nothing is left to do
    Closed,
    /// Watch a run
    Monitor,
    /// Read a run's metrics
    Extract,
    /// Judge a candidate
    Judge,
    /// Write the report
    Report,
    /// Give the study to a person
    HandOff,
    /// Wait for the person it was given to
    Wait,
    /// Look at the repository
    Audit,
    /// Ask a person what the contract lacks
    Ask,
    /// Ask a person for approvals
    RequestApproval,
    /// Plan the baseline
    PlanBaseline,
    /// Show that training works at all
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
    /// What to do.
    pub action: Action,
    /// Why this, now.
    pub reason: String,
    /// The exact command.
    pub command: Option<String>,
    /// What it would change.
    pub changes: String,
    /// What a person must do, where one must.
    pub person: Option<String>,
}

impl Next {
    fn new(
        action: Action,
        reason: impl Into<String>,
        command: impl Into<String>,
        changes: impl Into<String>,
    ) -> Self {
        let command = Some(command.into()).filter(|command: &String| !command.is_empty());
        Self { action, reason: reason.into(), command, changes: changes.into(), person: None }
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
        .or_else(|| under_way(study))
        .or_else(|| judged(study))
        .or_else(|| over(study))
        .or_else(|| audit(study))
        .or_else(|| incomplete(study))
        .or_else(|| planning_not_approved(study))
        .or_else(|| first_runs(study))
        .or_else(|| validated(study))
        .or_else(|| drafts(study))
        .unwrap_or_else(|| propose(study))
}

fn broken(study: &Study) -> Option<Next> {
    let said = match &study.ledger.problem {
        Some(problem) => format!("the ledger is broken at line {}: {}", problem.line, problem.message),
        None if study.ledger.records.is_empty() => "the ledger has no record".to_owned(),
        None => return None,
    };
    let person = "find out what happened to the ledger (an edit, a bad disk, a later rlx), and restore it from a \
                  copy that an anchor confirms";
    Some(Next::new(Action::Stop, said, "rlx verify --chain", NOTHING).by_person(person))
}

fn closed(study: &Study) -> Option<Next> {
    let reason = study.state().closed.as_ref()?;
    Some(Next::new(
        Action::Closed,
        format!("the study is closed: {reason}"),
        "rlx study export --to FOLDER",
        NOTHING,
    ))
}

fn under_way(study: &Study) -> Option<Next> {
    let state = study.state();
    if let Some(run) = state.live().first() {
        let reason = format!("run {} of {} is {}", run.intent.key, run.intent.candidate, run.state);
        return Some(Next::new(Action::Monitor, reason, "rlx launch status", NOTHING));
    }
    let unread = |run: &&crate::ledger::state::RunRecord| {
        run.evidence.is_none() && matches!(run.state, RunState::Ended(end) if !end.may_run_again())
    };
    let mut ended: Vec<_> = state.runs.values().filter(unread).collect();
    ended.sort_by_key(|run| run.order);
    let run = ended.first()?;
    let reason = format!("run {} ended, and its metrics weren't read", run.intent.key);
    Some(Next::new(Action::Extract, reason, format!("rlx study extract {}", run.intent.key), RECORD))
}

fn judged(study: &Study) -> Option<Next> {
    let state = study.state();
    let queue = Queue::of(study);
    let over = queue.over();
    // A launched candidate of which no run is left is over, though nobody wrote that down.
    let is_over = |id: &Slug, record: &CandidateRecord| match record.state {
        CandidateState::Completed => true,
        CandidateState::Launched => over.contains(id),
        _ => false,
    };
    let done = state.candidates.iter().filter(|(id, record)| is_over(id, record));
    if let Some((id, _)) = done.min_by_key(|(_, record)| record.order) {
        let reason = format!("all runs of {id} are over, and it has no verdict");
        return Some(Next::new(Action::Judge, reason, format!("rlx study judge {id}"), RECORD));
    }
    let unreported =
        state.last_judged.filter(|seq| state.last_reported.is_none_or(|reported| reported < *seq))?;
    let reason = format!("record {unreported} is a verdict that no report has");
    Some(Next::new(Action::Report, reason, "rlx study report", "writes report.md and appends to the ledger"))
}

fn over(study: &Study) -> Option<Next> {
    let contract = study.contract()?;
    let reason = spent(study, contract).or_else(|| stop_rule(study, contract))?;
    let person = "decide whether to go on under a new contract or to close the study";
    if study.state().handed_off.is_some() {
        return Some(
            Next::new(Action::Wait, format!("{reason}; the study was handed off"), "rlx study close", RECORD)
                .by_person(person),
        );
    }
    Some(Next::new(Action::HandOff, reason, "rlx study handoff", RECORD).by_person(person))
}

fn spent(study: &Study, contract: &Contract) -> Option<String> {
    let left = study.state().tally.left(Amounts::from(&contract.budget));
    let agreed = Amounts::from(&contract.budget).named();
    let out: Vec<&str> = left
        .named()
        .into_iter()
        .zip(agreed)
        .filter(|(left, agreed)| left.1 == 0 && agreed.1 > 0)
        .map(|(left, _)| left.0)
        .collect();
    (!out.is_empty()).then(|| format!("the budget of {} is spent", out.join(" and ")))
}

fn stop_rule(study: &Study, contract: &Contract) -> Option<String> {
    let state = study.state();
    contract.stop_rules.iter().find_map(|rule| match rule {
        StopRule::TargetReached { value } => {
            let score = state.incumbent_score?;
            let reached = match study.files.metric_spec.typed()?.primary.direction {
                Direction::Higher => score >= *value,
                Direction::Lower => score <= *value,
            };
            reached.then(|| format!("the incumbent has {score}, the target is {value}"))
        }
        StopRule::NoImprovement { candidates } => (state.misses_in_a_row >= *candidates)
            .then(|| format!("{} candidates in a row were not accepted", state.misses_in_a_row)),
        StopRule::FailuresInARow { runs } => (state.failures_in_a_row >= *runs)
            .then(|| format!("{} runs in a row failed", state.failures_in_a_row)),
    })
}

fn audit(study: &Study) -> Option<Next> {
    let reason = match &study.adapter {
        None => "nobody looked at the repository yet".to_owned(),
        Some(adapter) if !adapter.stale.is_empty() => {
            format!("lines that were cited changed: {}", adapter.stale.join(", "))
        }
        Some(adapter) if study.state().audited != Some(adapter.digest) => {
            "adapter.yaml was not audited as it is now".into()
        }
        Some(_) => return None,
    };
    Some(Next::new(Action::Audit, reason, "rlx study audit", "writes adapter.yaml and appends to the ledger"))
}

fn incomplete(study: &Study) -> Option<Next> {
    let open = open_questions(&study.files);
    let other: Vec<String> = gate::refusals(Purpose::Plan, study, None)
        .into_iter()
        .filter(|refusal| matches!(refusal.gate, "files_agree" | "identity" | "contract_complete"))
        .filter(|refusal| refusal.code != "contract_incomplete")
        .map(|refusal| refusal.reason)
        .collect();
    if open.is_empty() && other.is_empty() {
        return None;
    }
    let asked = open.iter().map(|open| format!("{} {}: {}", open.file, open.path, open.question));
    let all: Vec<String> = other.iter().cloned().chain(asked).collect();
    // The intake writes all four files and touches none that is there.
    let files = &study.files;
    let nothing_there = matches!(files.contract, Reading::Missing)
        && matches!(files.metric_spec, Reading::Missing)
        && matches!(files.surface_map, Reading::Missing)
        && matches!(files.runbook, Reading::Missing);
    let command = if nothing_there { "rlx contract new" } else { "rlx contract check" };
    let reason = format!("the contract is not complete: {}", all.join("; "));
    let person = match (open.is_empty(), other.is_empty()) {
        (true, false) => "mend the files",
        (false, false) => "mend the files and answer what is open",
        _ => "answer what is open",
    };
    let person = if nothing_there { "answer what the intake asks" } else { person };
    Some(Next::new(Action::Ask, reason, command, "the files of the study").by_person(person))
}

fn planning_not_approved(study: &Study) -> Option<Next> {
    let needed = Section::Experiment.depends_on().iter().copied().chain([Section::Plan]);
    request(study, needed, None)
}

/// Asks for all that is lacking of these sections and of a candidate, at once.
fn request(study: &Study, sections: impl Iterator<Item = Section>, candidate: Option<&Slug>) -> Option<Next> {
    if let Some(changed) = approvers_changed(study.state(), study.proofs()) {
        let person = "put the list of approvers back as it was when the study was opened, or open another study: \
                      under another list no approval counts";
        return Some(
            Next::new(Action::RequestApproval, changed, "rlx study status", NOTHING).by_person(person),
        );
    }
    let standings = study.standings();
    let of_candidate = candidate.map(|id| {
        let digest = study.state().candidates.get(id).map(|record| record.validated.digest);
        let target = Target::Candidate(id.clone());
        let stands = standing(&target, digest, study.required(), study.state(), study.proofs());
        (target, stands)
    });
    let lacking: Vec<(Target, Standing)> = sections
        .filter_map(|section| Some((Target::Section(section), standings.get(&section)?.clone())))
        .chain(of_candidate)
        .filter(|(_, standing)| !standing.is_given())
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let why = |(target, standing): &(Target, Standing)| match standing {
        Standing::Missing => format!("{target} is not approved"),
        Standing::Void { reason } => format!("{target} is void: {reason}"),
        Standing::TooWeak { assurance, required } => format!("{target} has {assurance}, needs {required}"),
        Standing::NotProven { reason } => format!("{target} is not proven: {reason}"),
        Standing::Given { .. } => String::new(),
    };
    let names: Vec<String> = lacking.iter().map(|(target, _)| target.to_string()).collect();
    let reason = lacking.iter().map(why).collect::<Vec<_>>().join("; ");
    let command = format!("rlx approve {}", names.join(" "));
    let person = format!("read and approve {} ({})", names.join(", "), study.required());
    Some(Next::new(Action::RequestApproval, reason, command, RECORD).by_person(person))
}

/// The baseline and the smoke run: both are candidates that change nothing.
fn first_runs(study: &Study) -> Option<Next> {
    let state = study.state();
    // What has a baseline's part to play or has played it; one that was rejected, undone or debugged has not.
    let serves = |record: &CandidateRecord| {
        record.validated.kind == CandidateKind::Baseline
            && !matches!(
                record.state,
                CandidateState::Draft
                    | CandidateState::Debug
                    | CandidateState::Rejected
                    | CandidateState::Reverted
            )
    };
    if !state.candidates.values().any(serves) && !does_without_baseline(study) {
        let reason = "there is no baseline to compare with";
        return Some(first_run(study, CandidateKind::Baseline, Action::PlanBaseline, reason));
    }
    if state.smoke_passed() {
        return None;
    }
    let reason = "no smoke run has passed yet";
    // Any candidate that changes nothing shows that training works, if its plan has a smoke phase.
    let changes_nothing =
        |id: &Slug| state.candidates.get(id).is_some_and(|record| record.validated.kind.is_empty_change());
    let queue = Queue::of(study);
    let smoke = queue.can_run().find(|job| job.phase == Phase::Smoke && changes_nothing(&job.candidate));
    Some(match smoke {
        Some(job) => launch(study, &job.candidate, Action::Smoke, reason),
        None => first_run(study, CandidateKind::Smoke, Action::Smoke, reason),
    })
}

/// Whether the contract says, approved, that nothing needs to be compared with.
fn does_without_baseline(study: &Study) -> bool {
    // The section's approval holds here: planning, which comes before, asks for it.
    study.contract().is_some_and(|contract| {
        contract.exceptions.iter().any(|exception| {
            exception.section == Section::Baseline
                && exception.code == "no_baseline"
                && !exception.reason.trim().is_empty()
        })
    })
}

/// Validates the draft of a first run, or has one written under a name that is free.
fn first_run(study: &Study, kind: CandidateKind, action: Action, reason: &str) -> Next {
    let is_named = |name: &str| {
        let rest = name.strip_prefix(kind.to_string().as_str()).map(|rest| rest.trim_start_matches('-'));
        rest.is_some_and(|rest| rest.bytes().all(|letter| letter.is_ascii_digit()))
    };
    if let Some(draft) = drafts_of(study).into_iter().find(|draft| is_named(draft)) {
        return Next::new(Action::Validate, reason, format!("rlx candidate validate {draft}"), RECORD);
    }
    let is_taken = |name: &String| {
        study.candidate_files.contains_key(name) || study.state().candidates.contains_key(name.as_str())
    };
    let names = std::iter::once(kind.to_string()).chain((2..).map(|number: u64| format!("{kind}-{number}")));
    let free = names.into_iter().find(|name| !is_taken(name)).unwrap_or_default();
    Next::new(action, reason, format!("rlx candidate new {free} --kind {kind}"), "writes a candidate")
}

fn validated(study: &Study) -> Option<Next> {
    let queue = Queue::of(study);
    // Each phase that can run belongs to another candidate, as the phases after it wait.
    let launched = launched_changes(study);
    let mut outside: Option<(&Slug, String)> = None;
    for job in queue.can_run() {
        match outside_envelope(study, &job.candidate, launched) {
            None => {
                let reason = format!("{} is validated, and its {} phase can run", job.candidate, job.phase);
                return Some(launch(study, &job.candidate, Action::Launch, &reason));
            }
            Some(why) => outside = outside.or(Some((&job.candidate, why))),
        }
    }
    let (first, why) = outside?;
    let reason = format!("nothing that could run lies within the envelope; {first}: {why}");
    let person = "widen experiment.envelope in contract.yaml and approve it, or take the study over";
    Some(Next::new(Action::Ask, reason, "rlx contract check", "the files of the study").by_person(person))
}

fn has_launched_change(record: &CandidateRecord) -> bool {
    !record.validated.kind.is_empty_change() && !record.phases.is_empty()
}

/// How many candidates that change something were launched.
fn launched_changes(study: &Study) -> u64 {
    study.state().candidates.values().filter(|record| has_launched_change(record)).count() as u64
}

/// Why an autonomous study may not launch a candidate, as far as its record tells.
fn outside_envelope(study: &Study, id: &Slug, launched: u64) -> Option<String> {
    let contract = study.contract().filter(|contract| contract.automation == Automation::Autonomous)?;
    let envelope = contract.experiment.envelope.as_ref()?;
    let record = study.state().candidates.get(id)?;
    let validated = &record.validated;
    if let Some(planned) = validated.phases.iter().find(|planned| !envelope.phases.contains(&planned.phase)) {
        return Some(format!("the {} phase is not in it", planned.phase));
    }
    if validated.kind.is_empty_change() {
        return None;
    }
    if !envelope.kinds.contains(&validated.kind) {
        return Some(format!("candidates of kind {} are not in it", validated.kind));
    }
    let others = launched - u64::from(has_launched_change(record));
    (others >= envelope.candidates)
        .then(|| format!("all candidates that it allows ({}) were launched", envelope.candidates))
}

/// Launching needs more than planning: what is missing is asked for first.
fn launch(study: &Study, id: &Slug, action: Action, reason: &str) -> Next {
    let needed = [Section::Experiment, Section::Execute, Section::LoopEntry];
    let automation = study.contract().map_or(Automation::Manual, |contract| contract.automation);
    let candidate = Some(id).filter(|_| automation != Automation::Autonomous);
    if let Some(request) = request(study, needed.into_iter(), candidate) {
        return Next { reason: format!("{reason}, and {}", request.reason), ..request };
    }
    let changes = "starts a run, reserves its budget and appends to the ledger";
    let next = Next::new(action, reason, format!("rlx launch {id}"), changes);
    if automation == Automation::Manual { next.by_person("start the run yourself") } else { next }
}

fn drafts(study: &Study) -> Option<Next> {
    let draft = drafts_of(study).into_iter().next()?;
    let reason = format!("{draft} is a draft");
    Some(Next::new(Action::Validate, reason, format!("rlx candidate validate {draft}"), RECORD))
}

/// Candidate files that aren't validated as they are, by name.
pub fn drafts_of(study: &Study) -> Vec<String> {
    let state = study.state();
    let is_draft = |name: &str| match state.candidates.get(name).map(|record| record.state) {
        None | Some(CandidateState::Draft) => true,
        Some(CandidateState::Debug) => {
            // Debugged: a draft again once its text is another one.
            study.candidate_files.get(name) != state.candidates.get(name).map(|record| &record.validated.file)
        }
        Some(_) => false,
    };
    study.candidate_files.keys().filter(|name| is_draft(name)).cloned().collect()
}

fn propose(study: &Study) -> Next {
    let surfaces = study.contract().map(|contract| contract.scope.surfaces.as_slice()).unwrap_or_default();
    let names: Vec<String> = surfaces.iter().map(Slug::to_string).collect();
    let reason = format!("nothing is left to run; a candidate may change {}", names.join(", "));
    Next::new(Action::Propose, reason, "rlx candidate new NAME", "writes a candidate")
}
