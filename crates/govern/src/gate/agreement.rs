//! Gates over the agreement: files, identity, completeness, approvals and permissions.

use std::collections::BTreeSet;

use super::{Answers, Purpose, Question, RefusalCode};
use crate::approval::{ApprovalStatus, UNREADABLE};
use crate::completeness::open_questions;
use crate::documents::{Automation, Contract, MetricSpec, Reading, Slug, SurfaceMap};
use crate::plan::PROTOCOL;
use crate::section::{File, Section, Target};

/// Every file can be read, they are consistent, and the ledger is intact.
pub(super) fn files_agree(question: &Question<'_>, answers: &mut Answers) {
    let study = question.study;
    if let Some(problem) = &study.ledger.problem {
        answers.refuse(
            RefusalCode::LedgerBroken,
            format!("the ledger is invalid from line {} on: {}", problem.line, problem.message),
            "ledger.jsonl",
            problem.remedy.command(),
        );
    } else if study.ledger.records.is_empty() {
        answers.refuse(RefusalCode::LedgerEmpty, "the ledger is empty", "ledger.jsonl", "rlx study init");
    }
    readable(&study.files.contract, File::Contract, answers);
    readable(&study.files.metric_spec, File::MetricSpec, answers);
    readable(&study.files.surface_map, File::SurfaceMap, answers);
    readable(&study.files.runbook, File::Runbook, answers);
    let (contract, spec, map) =
        (study.files.contract.typed(), study.files.metric_spec.typed(), study.files.surface_map.typed());
    if let (Some(contract), Some(spec)) = (contract, spec) {
        for reason in metric_disagreements(contract, spec) {
            let place = "contract.yaml: metrics";
            answers.refuse(RefusalCode::FilesDisagree, reason, place, "rlx contract check");
        }
    }
    if let (Some(contract), Some(map)) = (contract, map) {
        same_surfaces(contract, map, answers);
    }
}

fn readable<T>(reading: &Reading<T>, file: File, answers: &mut Answers) {
    match reading {
        Reading::Read(_) => {}
        Reading::Missing => {
            let reason = format!("{} is not there", file.name());
            answers.refuse(RefusalCode::FileMissing, reason, file.name(), "rlx contract new");
        }
        Reading::Broken(problems) => {
            let reason = format!("{} is invalid: {}", file.name(), problems.join("; "));
            answers.refuse(RefusalCode::FileBroken, reason, file.name(), "rlx contract check");
        }
    }
}

/// How contract and metric spec differ in the metrics that they name.
pub fn metric_disagreements(contract: &Contract, spec: &MetricSpec) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |reason: String| found.push(reason);
    if contract.metrics.primary != spec.primary.name {
        let (one, other) = (&contract.metrics.primary, &spec.primary.name);
        differ(format!("the contract's primary metric is {one}, that of metric_spec.yaml is {other}"));
    }
    let agreed: BTreeSet<&Slug> = contract.metrics.guardrails.iter().collect();
    let given: BTreeSet<&Slug> = spec.guardrails.iter().map(|guardrail| &guardrail.metric.name).collect();
    for name in agreed.symmetric_difference(&given) {
        differ(format!("guardrail {name} is in only one of contract.yaml and metric_spec.yaml"));
    }
    let mut seen = BTreeSet::new();
    for (_, metric) in spec.metrics() {
        if !seen.insert(&metric.name) {
            differ(format!("metric_spec.yaml has two metrics called {}", metric.name));
        }
    }
    found
}

fn same_surfaces(contract: &Contract, map: &SurfaceMap, answers: &mut Answers) {
    let mut differ = |reason: String| {
        answers.refuse(RefusalCode::FilesDisagree, reason, "contract.yaml: scope", "rlx contract check");
    };
    let mut known = BTreeSet::new();
    for surface in &map.surfaces {
        if !known.insert(&surface.id) {
            differ(format!("surface_map.yaml has two surfaces called {}", surface.id));
        }
    }
    for surface in contract.scope.surfaces.iter().filter(|surface| !known.contains(surface)) {
        differ(format!("the contract allows surface {surface}, which surface_map.yaml doesn't have"));
    }
    let envelope = contract.experiment.envelope.iter().flat_map(|envelope| &envelope.surfaces);
    for surface in envelope.filter(|surface| !contract.scope.surfaces.contains(surface)) {
        differ(format!("the envelope contains surface {surface}, which the scope doesn't allow"));
    }
}

/// Folder, contract, ledger and candidate belong to the same study.
pub(super) fn identity(question: &Question<'_>, answers: &mut Answers) {
    let study = question.study;
    let mut other = |what: &str, task: &Slug, name: &Slug| {
        if *task != study.name.task || *name != study.name.study {
            let reason = format!("{what} belongs to {task}/{name}, but this is {}", study.name);
            answers.refuse(RefusalCode::OtherStudy, reason, what.to_owned(), "rlx study list");
        }
    };
    if let Some(contract) = study.contract() {
        other("contract.yaml", &contract.task.id, &contract.task.study);
    }
    if let Some(opened) = &study.state().opened {
        other("ledger.jsonl", &opened.task, &opened.study);
    }
    if let Some(view) = question.candidate {
        let candidate = &view.written.typed;
        other(&format!("candidates/{}.yaml", view.file_name), &candidate.task, &candidate.study);
        if candidate.id.as_str() != view.file_name {
            let reason = format!("the file {}.yaml contains candidate {}", view.file_name, candidate.id);
            answers.refuse(
                RefusalCode::OtherName,
                reason,
                format!("candidates/{}.yaml", view.file_name),
                "rlx candidate list",
            );
        }
    } else if question.purpose != Purpose::Plan {
        answers.refuse(
            RefusalCode::CandidateMissing,
            "no candidate given",
            "candidates/",
            "rlx candidate list",
        );
    }
    if study.state().closed.is_some() {
        let help = format!("rlx study init --task {} --study another-name", study.name.task);
        answers.refuse(RefusalCode::StudyClosed, "the study is closed", "ledger.jsonl", help);
    }
}

/// No question to a person is open.
pub(super) fn contract_complete(question: &Question<'_>, answers: &mut Answers) {
    for open in open_questions(&question.study.files) {
        let reason = format!("{}: {} {}", open.file, open.path, open.question);
        answers.refuse(open.code, reason, format!("{}: {}", open.file, open.path), "rlx contract check");
    }
    if let Some(contract) = question.study.contract()
        && contract.automation == Automation::Autonomous
        && contract.assurance != crate::documents::Assurance::Signature
    {
        answers.refuse(
            RefusalCode::AutonomyNeedsSignature,
            format!(
                "an autonomous study requires signed approvals, but the contract requires {}",
                contract.assurance
            ),
            "contract.yaml: assurance",
            "rlx contract check",
        );
    }
}

/// The sections that a purpose needs are approved in their current form with sufficient assurance.
pub(super) fn approvals(question: &Question<'_>, answers: &mut Answers) {
    let needed: &[Section] = match question.purpose {
        Purpose::Plan => Section::Plan.depends_on(),
        Purpose::Validate => Section::Experiment.depends_on(),
        Purpose::Launch => &Section::CONTRACT,
    };
    for section in needed {
        require(*section, question, answers);
    }
    if question.purpose == Purpose::Launch
        && let (Some(contract), Some(view)) = (question.study.contract(), question.candidate)
    {
        match &contract.experiment.envelope {
            Some(_) if contract.automation == Automation::Autonomous => envelope(question, answers),
            _ => {
                let id = &view.written.typed.id;
                let standing = question.study.candidate_standing(&view.written);
                let target = Target::Candidate(id.clone());
                say(&target, &standing, answers);
            }
        }
    }
}

/// In autonomous mode, a candidate within the envelope needs no separate approval.
fn envelope(question: &Question<'_>, answers: &mut Answers) {
    let (Some(contract), Some(view)) = (question.study.contract(), question.candidate) else { return };
    let Some(envelope) = &contract.experiment.envelope else { return };
    let candidate = &view.written.typed;
    let mut outside = |reason: String| {
        // Approving the candidate would have no effect: only a wider, newly approved envelope has.
        let (place, help) = ("contract.yaml: experiment.envelope", "rlx contract check");
        answers.refuse(RefusalCode::OutsideEnvelope, reason, place, help);
    };
    if !candidate.kind.is_empty_change() && !envelope.kinds.contains(&candidate.kind) {
        outside(format!("candidates of kind {} are not in the envelope", candidate.kind));
    }
    for change in candidate.changes.iter().filter(|change| !envelope.surfaces.contains(&change.surface)) {
        outside(format!("surface {} is not in the envelope", change.surface));
    }
    for plan in candidate.phases.iter().filter(|plan| !envelope.holds(plan.phase)) {
        outside(format!("the {} phase is not in the envelope", plan.phase));
    }
    let state = question.study.state();
    let launched = state
        .candidates
        .iter()
        .filter(|(id, record)| {
            **id != candidate.id && !record.validated.kind.is_empty_change() && !record.phases.is_empty()
        })
        .count() as u64;
    if !candidate.kind.is_empty_change() && launched >= envelope.candidates {
        outside(format!("{launched} candidates were launched; the envelope allows {}", envelope.candidates));
    }
}

fn require(section: Section, question: &Question<'_>, answers: &mut Answers) {
    let standing = question.standings.get(&section).cloned().unwrap_or(ApprovalStatus::Missing);
    say(&Target::Section(section), &standing, answers);
}

fn say(target: &Target, standing: &ApprovalStatus, answers: &mut Answers) {
    let Some(code) = standing.code() else { return };
    let reason = match standing {
        ApprovalStatus::Given { .. } => return,
        ApprovalStatus::Missing => format!("{target} is not approved"),
        ApprovalStatus::Void { reason } => format!("the approval of {target} is void: {reason}"),
        ApprovalStatus::Unreadable => format!("the approval of {target} is unknown: {UNREADABLE}"),
        ApprovalStatus::TooWeak { assurance, required } => {
            format!("{target} was approved by {assurance}, but the contract requires {required}")
        }
        ApprovalStatus::NotProven { reason } => {
            format!("the approval of {target} is not proven: {reason}")
        }
        ApprovalStatus::NotProvableHere { reason } => {
            format!("the approval of {target} is not provable here: {reason}")
        }
    };
    // Approving again would not help where the list of approvers is another one.
    let help = match standing {
        ApprovalStatus::NotProvableHere { .. } => "rlx verify --approvers FILE".to_owned(),
        ApprovalStatus::Unreadable => "rlx contract check".to_owned(),
        _ => format!("rlx approve {target}"),
    };
    answers.refuse(code, reason, format!("ledger.jsonl: {target}"), help);
}

/// Planning is permitted.
pub(super) fn plan_allowed(question: &Question<'_>, answers: &mut Answers) {
    require(Section::Plan, question, answers);
}

/// Running is permitted.
pub(super) fn execute_allowed(question: &Question<'_>, answers: &mut Answers) {
    require(Section::Execute, question, answers);
}

/// The loop was entered.
pub(super) fn loop_entry(question: &Question<'_>, answers: &mut Answers) {
    require(Section::LoopEntry, question, answers);
}

/// The findings about the repository are still current.
pub(super) fn adapter_fresh(question: &Question<'_>, answers: &mut Answers) {
    let Some(adapter) = &question.study.adapter else {
        answers.refuse(
            RefusalCode::AdapterMissing,
            "the repository has not been audited yet",
            "adapter.yaml",
            "rlx study audit",
        );
        return;
    };
    for place in &adapter.stale {
        let reason = format!("{place} no longer matches the line cited in adapter.yaml");
        answers.refuse(RefusalCode::ClaimStale, reason, place.clone(), "rlx study audit");
    }
    if question.study.state().audited != Some(adapter.digest) {
        let reason = "adapter.yaml has changed since the audit";
        answers.refuse(RefusalCode::AdapterNotAudited, reason, "adapter.yaml", "rlx study audit");
    }
}

/// What is compared is evaluated the same way.
pub(super) fn protocol(question: &Question<'_>, answers: &mut Answers) {
    let state = question.study.state();
    let Some(view) = question.candidate else { return };
    // Before there is an incumbent, everything is compared with the baseline.
    let reference = state.incumbent.as_ref().or(state.baseline.as_ref());
    let Some((name, record)) = reference.and_then(|id| state.candidates.get_key_value(id)) else { return };
    if *name == view.written.typed.id {
        return;
    }
    match &question.plan {
        Some(plan) if plan.parts.get(PROTOCOL) == record.validated.parts.get(PROTOCOL) => {}
        Some(_) => answers.refuse(
            RefusalCode::OtherProtocol,
            format!("results would be evaluated differently from those of {name}"),
            "metric_spec.yaml: protocol",
            "rlx contract diff",
        ),
        None => answers.refuse(
            RefusalCode::ProtocolUnknown,
            format!("can't determine whether results would be evaluated like those of {name}"),
            "metric_spec.yaml: protocol",
            "rlx contract check",
        ),
    }
    // The choice of interpreter determines what an approved command does. A new step has no program
    // to keep.
    let (Some(then), Some(now)) = (&record.validated.programs, &view.programs) else { return };
    let others = now.iter().filter(|(step, digest)| then.get(*step).is_some_and(|before| before != *digest));
    let others: Vec<&str> = others.map(|(step, _)| step.as_str()).collect();
    if !others.is_empty() {
        answers.refuse_unless_excepted(
            RefusalCode::OtherPrograms,
            Section::Evaluation,
            format!("{} would start a different program than for {name}", others.join(", ")),
            "runbook.yaml",
            "rlx contract check",
        );
    }
}
