//! Steps towards a run: approvals, the first runs, launches, drafts and proposals.

use super::{About, Action, Ending, NOTHING, Next, RECORD, under_way};
use crate::approval::{ApprovalStatus, UNREADABLE, standing};
use crate::baseline::{BaselineStatus, new_study};
use crate::documents::{Automation, CandidateKind, Phase, Slug};
use crate::first_run::{FirstRun, drafts_of};
use crate::gate_words::RefusalCode;
use crate::ledger::state::{CandidateRecord, RunRecord};
use crate::machine::{CandidateState, RunEnd, RunState};
use crate::plan::{CODE, INCUMBENT};
use crate::queue::{Job, JobStatus, Queue};
use crate::run_approval::{WhyApprove, unapproved};
use crate::section::{Section, Target};
use crate::shortfall::shortfalls;
use crate::view::Study;

pub(super) fn planning_not_approved(study: &Study) -> Option<Next> {
    let needed = Section::Experiment.depends_on().iter().copied().chain([Section::Plan]);
    request(study, needed, None)
}

/// Requests all missing approvals of these sections and of a candidate at once.
fn request(study: &Study, sections: impl Iterator<Item = Section>, candidate: Option<&Slug>) -> Option<Next> {
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
        ApprovalStatus::Unreadable => format!("the approval of {target} is unknown: {UNREADABLE}"),
        ApprovalStatus::TooWeak { assurance, required } => {
            format!("{target}: approved by {assurance}, needs {required}")
        }
        ApprovalStatus::NotProven { reason } => format!("the approval of {target} is not proven: {reason}"),
        ApprovalStatus::NotProvableHere { reason } => {
            format!("the approval of {target} is not provable here: {reason}")
        }
        ApprovalStatus::Given { .. } => String::new(),
    };
    let names: Vec<String> = lacking.iter().map(|(target, _)| target.to_string()).collect();
    let reason = lacking.iter().map(why).collect::<Vec<_>>().join("; ");
    let is_here = |(_, standing): &(Target, ApprovalStatus)| {
        !matches!(standing, ApprovalStatus::NotProvableHere { .. })
    };
    if !lacking.iter().any(is_here) {
        let person = "continue where the study's approvers are listed, or list them here; nothing is void";
        let next = Next::new(Action::RequestApproval, reason, "rlx verify --approvers FILE", NOTHING);
        return Some(next.by_person(person));
    }
    let command = format!("rlx approve {}", names.join(" "));
    let person = format!("read and approve {} ({})", names.join(", "), study.required());
    Some(Next::new(Action::RequestApproval, reason, command, RECORD).by_person(person))
}

/// Nothing can ever be compared with the baseline, and a study has only one.
pub(super) fn dead_end(study: &Study) -> Option<Next> {
    let reason = BaselineStatus::of(study).dead_end().filter(|_| !does_without_baseline(study))?;
    let reason = format!("{reason}: a new study is needed");
    if study.close_standing().is_given() {
        let reason = format!("{reason}; closing is approved");
        let next = Next::new(Action::Wait, reason, "rlx study close", RECORD).ends_by(Ending::NoResult);
        return Some(next.by_person("close the study"));
    }
    let person = "find out what went wrong, open a new study and agree on its contract; then close this one";
    let next = Next::new(Action::HandOff, reason, new_study(study), "writes another study");
    Some(next.by_person(person).ends_by(Ending::NoResult))
}

/// Runs that count only once a person approves them.
pub(super) fn unapproved_runs(study: &Study) -> Option<Next> {
    let queue = Queue::for_study(study);
    let waiting = queue.jobs.iter().find(|job| matches!(job.stand, JobStatus::Unapproved { .. }))?;
    Some(request_runs(study, &waiting.candidate, waiting.phase))
}

fn request_runs(study: &Study, candidate: &Slug, phase: Phase) -> Next {
    let waiting = unapproved(study, candidate, phase);
    let why = |(run, why): &(&RunRecord, WhyApprove)| format!("run {}: {why}", run.intent.key);
    let targets: Vec<String> =
        waiting.iter().map(|(run, _)| Target::Run(run.intent.key.clone()).to_string()).collect();
    let reasons: Vec<String> = waiting.iter().map(why).collect();
    let reason =
        format!("runs of {candidate} count only once a person approves them; {}", reasons.join("; "));
    let command = format!("rlx approve {}", targets.join(" "));
    let person =
        format!("look at what these runs left and approve those that should count ({})", study.required());
    Next::new(Action::RequestApproval, reason, command, RECORD).by_person(person)
}

/// A candidate that stopped in its smoke phase: what is missing is added, and it is tried again as its next revision.
/// Without a file it was given up.
pub(super) fn stopped_in_smoke(study: &Study) -> Option<Next> {
    let state = study.state();
    let queue = Queue::for_study(study);
    // One that changes something and failed is judged instead.
    let is_judged = |id: &Slug, record: &CandidateRecord| {
        !record.validated.kind.is_empty_change() && has_failed_in_smoke(study, id)
    };
    let has_file = |id: &Slug| study.candidate_files.contains_key(id.as_str());
    let mut records: Vec<(&Slug, &CandidateRecord)> =
        state.candidates.iter().filter(|(id, record)| has_file(id) && !is_judged(id, record)).collect();
    records.sort_by_key(|(_, record)| record.order);
    let (id, why) =
        records.into_iter().find_map(|(id, record)| Some((id, why_stopped(study, &queue, id, record)?)))?;
    let reason =
        format!("{id} stopped in its smoke phase: {why}; smoke runs are not evidence, so it can be revised");
    if !has_failed_in_smoke(study, id) {
        // Only what it builds on has changed, for example the incumbent: nothing is to be fixed.
        let next = Next::new(Action::Validate, reason, format!("rlx candidate revise {id}"), REVISION);
        return Some(next.about(About::Revise(id.clone())));
    }
    let key = state.runs_of_plan(id).last().map(|run| run.intent.key.clone()).unwrap_or_default();
    let fix = format!(
        "find out why (rlx launch logs {key}) and fix it; a file that git ignores is added with rlx contract input FILE"
    );
    Some(Next::new(Action::Validate, reason, format!("rlx candidate revise {id}"), REVISION).by_person(fix))
}

const REVISION: &str = "raises the revision in the candidate's file and appends to the ledger";

/// Whether the last smoke run of a candidate's plan didn't succeed.
pub(super) fn has_failed_in_smoke(study: &Study, id: &Slug) -> bool {
    let runs = study.state().runs_of_plan(id);
    let last = runs.iter().rfind(|run| run.intent.phase == Phase::Smoke);
    last.is_some_and(|run| run.state != RunState::Ended(RunEnd::Ok) || run.not_evidence().is_some())
}

/// Why a candidate of which only smoke runs were started can't continue; `None` if it can, or is done.
fn why_stopped(study: &Study, queue: &Queue, id: &Slug, record: &CandidateRecord) -> Option<String> {
    let runs = study.state().runs_of_plan(id);
    let is_live = runs.iter().any(|run| !matches!(run.state, RunState::Ended(_)));
    if record.furthest() != Some(Phase::Smoke) || is_live {
        return None;
    }
    let job = queue.jobs.iter().filter(|job| job.candidate == *id).find_map(|job| match &job.stand {
        JobStatus::Stopped { reason } => Some(reason.clone()),
        _ => None,
    });
    let is_bad = |run: &&&RunRecord| run.state != RunState::Ended(RunEnd::Ok) || run.not_evidence().is_some();
    let bad = runs.iter().rfind(is_bad).map(|run| {
        let why = run.ended.as_ref().map_or("", |ended| ended.reason.as_str());
        format!("run {} did not succeed: {why}", run.intent.key)
    });
    let has_more = record.validated.phases.iter().any(|planned| planned.phase != Phase::Smoke);
    match record.state {
        CandidateState::Launched => job.map(|why| bad.unwrap_or(why)),
        CandidateState::Completed => {
            bad.or_else(|| has_more.then(|| "its plan has changed since".to_owned()))
        }
        _ => None,
    }
}

/// The plan of a candidate that would be launched next differs from the files of the repository in these parts.
pub fn stale_plan(study: &Study, id: &Slug, changed: &[String]) -> Option<Next> {
    let record = study.state().candidates.get(id)?;
    // A verdict or a revert moves the incumbent and with it the code; no file was changed, and none can be restored.
    let is_moved = changed.iter().any(|part| part == INCUMBENT);
    let others: Vec<&str> = changed
        .iter()
        .map(String::as_str)
        .filter(|part| !is_moved || ![INCUMBENT, CODE].contains(part))
        .collect();
    let mut reason = match study.state().reference().filter(|_| is_moved) {
        Some(now) => {
            format!("{id} was validated against another incumbent; candidates are compared with {now} now")
        }
        None if is_moved => format!("{id} was validated against another incumbent"),
        None => String::new(),
    };
    if !others.is_empty() {
        let and = if is_moved { "; " } else { "" };
        reason.push_str(&format!("{and}changed since {id} was validated: {}", others.join(", ")));
    }
    Some(match record.state {
        CandidateState::Validated => {
            Next::new(Action::Validate, reason, format!("rlx candidate validate {id}"), RECORD)
                .about(About::Candidate(id.clone()))
        }
        CandidateState::Launched if record.furthest() == Some(Phase::Smoke) => {
            Next::new(Action::Validate, reason, format!("rlx candidate revise {id}"), REVISION)
                .about(About::Revise(id.clone()))
        }
        _ => {
            let person = if is_moved {
                format!("end {id}: its runs were compared with another incumbent")
            } else {
                format!("restore what has changed, or end {id}: its runs can't be compared with others")
            };
            Next::new(Action::HandOff, reason, "rlx study handoff", RECORD).by_person(person)
        }
    })
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
    if let BaselineStatus::Unapproved(id, _) = BaselineStatus::of(study) {
        return Some(request_runs(study, &id, Phase::Confirm));
    }
    let queue = Queue::for_study(study);
    let is_given_up = |id: &Slug, record: &CandidateRecord| why_stopped(study, &queue, id, record).is_some();
    // It ended before its confirm phase, and what has ended doesn't continue.
    let is_over = |record: &CandidateRecord| {
        record.state == CandidateState::Completed && record.furthest() == Some(Phase::Short)
    };
    let serves_now = |(id, record): (&Slug, &CandidateRecord)| {
        serves(record) && !is_over(record) && !is_given_up(id, record)
    };
    let is_served = state.baseline.is_some() || state.candidates.iter().any(serves_now);
    if !is_served && !does_without_baseline(study) {
        let reason = "the study has no baseline yet";
        return Some(first_run(study, CandidateKind::Baseline, Action::PlanBaseline, reason));
    }
    if state.smoke_passed() {
        return None;
    }
    // A run that is under way may be the smoke run.
    if let Some(next) = under_way(study) {
        return Some(next);
    }
    let reason = "no smoke run has passed yet";
    // Any candidate that changes nothing shows that training works, if its plan has a smoke phase.
    let changes_nothing =
        |id: &Slug| state.candidates.get(id).is_some_and(|record| record.validated.kind.is_empty_change());
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
        let short = shortfalls(study.state(), &job.candidate, phases, contract);
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
    let next = Next::new(Action::HandOff, reason, "rlx study handoff", RECORD).by_person(person);
    Affordable::TooLarge(next.ends_by(Ending::Budget))
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
        FirstRun::Validate(ref draft) => {
            let next = Next::new(Action::Validate, reason, first.command(kind), RECORD);
            about_draft(next, draft)
        }
        FirstRun::Write(ref name) => Next::new(action, reason, first.command(kind), "writes a candidate")
            .about(About::Write { name: name.clone(), kind }),
    }
}

pub(super) fn validated(study: &Study) -> Option<Next> {
    let queue = Queue::for_study(study);
    if queue.free == 0 {
        return None;
    }
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
                let reason = match job.stand {
                    JobStatus::Running => {
                        format!("a place is free, and {} of {} can start", runs(job.left), job.candidate)
                    }
                    _ => format!("{} is validated and its {} phase can run", job.candidate, job.phase),
                };
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

fn runs(count: u64) -> String {
    if count == 1 { "1 more run".to_owned() } else { format!("{count} more runs") }
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
    if let Some(planned) = validated.phases.iter().find(|planned| !envelope.holds(planned.phase)) {
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
    let launches = Some(id.clone());
    if let Some(request) = request(study, needed.into_iter(), candidate) {
        return Next { reason: format!("{reason}, and {}", request.reason), launches, ..request };
    }
    let changes =
        "prints the plan; with --execute, starts a run, reserves its budget and appends to the ledger";
    let next = Next::new(action, reason, format!("rlx launch {id}"), changes);
    let next = Next { launches, ..next }.about(About::Candidate(id.clone()));
    if automation == Automation::Manual { next.by_person("start the run yourself") } else { next }
}

pub(super) fn drafts(study: &Study) -> Option<Next> {
    // Nothing that changes something can be validated before there is a baseline to compare it with.
    if let BaselineStatus::Unfinished(_) = BaselineStatus::of(study) {
        return None;
    }
    let state = study.state();
    let is_refused = |draft: &String| {
        study.candidate_files.get(draft).is_some_and(|file| state.was_refused_as_it_is(draft, *file))
    };
    let draft = drafts_of(study).into_iter().find(|draft| !is_refused(draft))?;
    let reason = format!("{draft} is a draft");
    let next = Next::new(Action::Validate, reason, format!("rlx candidate validate {draft}"), RECORD);
    Some(about_draft(next, &draft))
}

/// A step about the draft in a file, whose name needn't be one that a candidate can have.
fn about_draft(next: Next, draft: &str) -> Next {
    match draft.parse() {
        Ok(id) => next.about(About::Candidate(id)),
        Err(_) => next,
    }
}

pub(super) fn propose(study: &Study) -> Next {
    let surfaces = study.contract().map(|contract| contract.scope.surfaces.as_slice()).unwrap_or_default();
    let names: Vec<String> = surfaces.iter().map(Slug::to_string).collect();
    let reason = format!("nothing left to run; a candidate may change {}", names.join(", "));
    let is_taken = |name: &String| {
        study.candidate_files.contains_key(name) || study.state().candidates.contains_key(name.as_str())
    };
    let free = (1..).map(|number: u64| format!("candidate-{number}")).find(|name| !is_taken(name));
    let surface = names.first().map(|name| format!(" --surface {name}")).unwrap_or_default();
    let command = format!("rlx candidate new {}{surface}", free.unwrap_or_default());
    Next::new(Action::Propose, reason, command, "writes a candidate")
}
