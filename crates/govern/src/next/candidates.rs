//! Steps towards a run: approvals, the first runs, launches, drafts and proposals.

use super::{Action, NOTHING, Next, RECORD};
use crate::approval::{ApprovalStatus, approvers_changed, standing};
use crate::documents::{Automation, CandidateKind, Phase, Slug};
use crate::first_run::{FirstRun, drafts_of};
use crate::gate_words::RefusalCode;
use crate::ledger::state::CandidateRecord;
use crate::machine::CandidateState;
use crate::queue::{Job, Queue};
use crate::section::{Section, Target};
use crate::shortfall::shortfalls;
use crate::view::Study;

pub(super) fn planning_not_approved(study: &Study) -> Option<Next> {
    let needed = Section::Experiment.depends_on().iter().copied().chain([Section::Plan]);
    request(study, needed, None)
}

/// Requests all missing approvals of these sections and of a candidate at once.
fn request(study: &Study, sections: impl Iterator<Item = Section>, candidate: Option<&Slug>) -> Option<Next> {
    if let Some(changed) = approvers_changed(study.state(), study.proofs()) {
        let person = "restore the list of approvers from when the study was opened, or open another study: \
                      no approval is valid under a different list";
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
    let lacking: Vec<(Target, ApprovalStatus)> = sections
        .filter_map(|section| Some((Target::Section(section), standings.get(&section)?.clone())))
        .chain(of_candidate)
        .filter(|(_, standing)| !standing.is_given())
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let why = |(target, standing): &(Target, ApprovalStatus)| match standing {
        ApprovalStatus::Missing => format!("{target} is not approved"),
        ApprovalStatus::Void { reason } => format!("the approval of {target} is void: {reason}"),
        ApprovalStatus::TooWeak { assurance, required } => {
            format!("{target}: approved by {assurance}, needs {required}")
        }
        ApprovalStatus::NotProven { reason } => format!("the approval of {target} is not proven: {reason}"),
        ApprovalStatus::Given { .. } => String::new(),
    };
    let names: Vec<String> = lacking.iter().map(|(target, _)| target.to_string()).collect();
    let reason = lacking.iter().map(why).collect::<Vec<_>>().join("; ");
    let command = format!("rlx approve {}", names.join(" "));
    let person = format!("read and approve {} ({})", names.join(", "), study.required());
    Some(Next::new(Action::RequestApproval, reason, command, RECORD).by_person(person))
}

/// The baseline and the smoke run: both are candidates that change nothing.
pub(super) fn first_runs(study: &Study) -> Option<Next> {
    let state = study.state();
    // Candidates that are or may become the baseline; rejected, reverted and debugged ones don't
    // count.
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
        let reason = "the study has no baseline yet";
        return Some(first_run(study, CandidateKind::Baseline, Action::PlanBaseline, reason));
    }
    if state.smoke_passed() {
        return None;
    }
    let reason = "no smoke run has passed yet";
    // Any candidate that changes nothing shows that training works, if its plan has a smoke phase.
    let changes_nothing =
        |id: &Slug| state.candidates.get(id).is_some_and(|record| record.validated.kind.is_empty_change());
    let queue = Queue::for_study(study);
    let smokes: Vec<&Job> =
        queue.can_run().filter(|job| job.phase == Phase::Smoke && changes_nothing(&job.candidate)).collect();
    Some(match affordable(study, &smokes) {
        Affordable::Nothing => first_run(study, CandidateKind::Smoke, Action::Smoke, reason),
        Affordable::TooLarge(next) => next,
        Affordable::Some(jobs) => launch(study, &jobs[0].candidate, Action::Smoke, reason),
    })
}

/// What of that which can run fits into what is left of the budget.
enum Affordable<'q> {
    /// There is nothing that can run.
    Nothing,
    /// None of it fits.
    TooLarge(Next),
    /// This, at least one.
    Some(Vec<&'q Job>),
}

fn affordable<'q>(study: &Study, jobs: &[&'q Job]) -> Affordable<'q> {
    let short = |job: &Job| {
        let (contract, record) = (study.contract()?, study.state().candidates.get(&job.candidate)?);
        let phases = &record.validated.phases;
        let short = shortfalls(study.state(), &job.candidate, phases, &contract.budget);
        (!short.is_empty()).then(|| short.join("; "))
    };
    let Some(first) = jobs.first() else { return Affordable::Nothing };
    let fitting: Vec<&Job> = jobs.iter().copied().filter(|job| short(job).is_none()).collect();
    if !fitting.is_empty() {
        return Affordable::Some(fitting);
    }
    let (id, why) = (&first.candidate, short(first).unwrap_or_default());
    let reason = format!("no remaining run fits into the rest of the budget; {id}: {why}");
    let person = format!(
        "raise the budget in contract.yaml and approve it, shorten the phases of {id}, or close the study"
    );
    Affordable::TooLarge(Next::new(Action::HandOff, reason, "rlx study handoff", RECORD).by_person(person))
}

/// Whether the approved contract waives the baseline.
fn does_without_baseline(study: &Study) -> bool {
    // The section's approval holds here: planning, which comes first, requires it.
    study.contract().is_some_and(|contract| {
        contract.exceptions.iter().any(|exception| {
            exception.section == Section::Baseline && exception.excepts(RefusalCode::NoBaseline)
        })
    })
}

/// Validates the draft of a first run, or has one written under a name that is free.
fn first_run(study: &Study, kind: CandidateKind, action: Action, reason: &str) -> Next {
    let first = FirstRun::find(study, kind);
    match first {
        FirstRun::Validate(_) => Next::new(Action::Validate, reason, first.command(kind), RECORD),
        FirstRun::Write(_) => Next::new(action, reason, first.command(kind), "writes a candidate"),
    }
}

pub(super) fn validated(study: &Study) -> Option<Next> {
    let queue = Queue::for_study(study);
    // Each phase that can run belongs to another candidate, as the phases after it wait.
    let jobs: Vec<&Job> = queue.can_run().collect();
    let jobs = match affordable(study, &jobs) {
        Affordable::Nothing => return None,
        Affordable::TooLarge(next) => return Some(next),
        Affordable::Some(jobs) => jobs,
    };
    let launched = launched_changes(study);
    let mut outside: Option<(&Slug, String)> = None;
    for job in jobs {
        match outside_envelope(study, &job.candidate, launched) {
            None => {
                let reason = format!("{} is validated and its {} phase can run", job.candidate, job.phase);
                return Some(launch(study, &job.candidate, Action::Launch, &reason));
            }
            Some(why) => outside = outside.or(Some((&job.candidate, why))),
        }
    }
    let (first, why) = outside?;
    let reason = format!("no remaining run is within the envelope; {first}: {why}");
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

/// Why an autonomous study may not launch a candidate, according to its record.
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
        .then(|| format!("its limit of candidates ({}) is reached", envelope.candidates))
}

/// Launching needs more approvals than planning: request the missing ones first.
fn launch(study: &Study, id: &Slug, action: Action, reason: &str) -> Next {
    let needed = [Section::Experiment, Section::Execute, Section::LoopEntry];
    let automation = study.contract().map_or(Automation::Manual, |contract| contract.automation);
    let candidate = Some(id).filter(|_| automation != Automation::Autonomous);
    if let Some(request) = request(study, needed.into_iter(), candidate) {
        return Next { reason: format!("{reason}, and {}", request.reason), ..request };
    }
    let changes =
        "prints the plan; with --execute, starts a run, reserves its budget and appends to the ledger";
    let next = Next::new(action, reason, format!("rlx launch {id}"), changes);
    if automation == Automation::Manual { next.by_person("start the run yourself") } else { next }
}

pub(super) fn drafts(study: &Study) -> Option<Next> {
    let draft = drafts_of(study).into_iter().next()?;
    let reason = format!("{draft} is a draft");
    Some(Next::new(Action::Validate, reason, format!("rlx candidate validate {draft}"), RECORD))
}

pub(super) fn propose(study: &Study) -> Next {
    let surfaces = study.contract().map(|contract| contract.scope.surfaces.as_slice()).unwrap_or_default();
    let names: Vec<String> = surfaces.iter().map(Slug::to_string).collect();
    let reason = format!("nothing left to run; a candidate may change {}", names.join(", "));
    Next::new(Action::Propose, reason, "rlx candidate new NAME", "writes a candidate")
}
