//! Gates over what runs would take: budget, hardware, baseline, seeds, and what must hold at the moment of a launch.

use std::collections::BTreeSet;

use super::{Answers, Purpose, Question, RefusalCode};
use crate::baseline::{BaselineStatus, new_study};
use crate::completeness::SEED_SLOT;
use crate::documents::{CandidateKind, Device, Network, Phase, PhasePlan};
use crate::first_run::FirstRun;
use crate::ledger::state::RunRecord;
use crate::machine::CandidateState;
use crate::next_run::evaluation_pool;
use crate::plan::{PROGRAMS, Plan, phases};
use crate::section::Section;
use crate::seeds::SeedRole;
use crate::shortfall::shortfalls;
use crate::stop_rules::stop_rule;

/// What a person can do where the budget is too small.
const RAISE_BUDGET: &str =
    "rlx contract request    # after raising the budget in contract.yaml: what to approve again";

/// All runs of the candidate's plan fit into what is left, and each into what one may take.
pub(super) fn budget(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let Some(contract) = question.study.contract() else { return };
    let candidate = &view.written.typed;
    let place = format!("candidates/{}.yaml: phases", view.file_name);
    if candidate.phases.is_empty() {
        answers.refuse(
            RefusalCode::NoPhase,
            "the candidate has no phases, so nothing would run",
            place,
            format!("rlx candidate show {}", view.file_name),
        );
        return;
    }
    if !candidate.phases.is_sorted_by(|one, next| one.phase < next.phase) {
        let reason = "each phase may appear once, in the order smoke, short, confirm, incumbent validation";
        let help = format!("rlx candidate show {}", view.file_name);
        answers.refuse(RefusalCode::PhaseOrder, reason, place.clone(), help);
    }
    let limit = contract.budget.per_run.wall_clock;
    for plan in candidate.phases.iter().filter(|plan| plan.wall_clock > limit || plan.wall_clock.0 == 0) {
        let reason =
            format!("one {} run needs {}, but the contract allows {limit}", plan.phase, plan.wall_clock);
        answers.refuse(RefusalCode::RunTooLong, reason, place.clone(), "rlx study status");
    }
    let (state, planned) = (question.study.state(), phases(question.study, view));
    for reason in shortfalls(state, &candidate.id, &planned, contract) {
        answers.refuse(RefusalCode::OverBudget, reason, place.clone(), RAISE_BUDGET);
    }
    // A run that requests no GPU time can still use the GPUs, and is charged for them when it ends.
    let (spent, agreed) = (state.tally.spent.gpu_time, contract.budget.gpu_time.0);
    if contract.hardware.device == Device::Gpu && agreed > 0 && spent >= agreed {
        let reason = "the GPU time budget is used up";
        answers.refuse(RefusalCode::OverBudget, reason, place, RAISE_BUDGET);
    }
    // Stop rules are approved with the budget and apply even if the next step was never requested.
    if question.purpose == Purpose::Launch
        && let Some(stop) = stop_rule(question.study, contract)
    {
        let reason = format!("a stop rule applies: {}", stop.reason);
        answers.refuse(RefusalCode::StopRule, reason, "contract.yaml: stop_rules", "rlx study next");
    }
}

/// The machine matches the contract.
pub(super) fn hardware(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let Some(contract) = question.study.contract() else { return };
    let wants_gpu = view.written.typed.phases.iter().any(|plan| plan.gpu_time.0 > 0);
    if wants_gpu && (contract.hardware.device != Device::Gpu || contract.hardware.gpus == 0) {
        let reason = "its runs need GPU time, but the contract has no GPU";
        answers.refuse(RefusalCode::NoGpuAgreed, reason, "contract.yaml: hardware", "rlx contract check");
    }
    if question.purpose != Purpose::Launch {
        return;
    }
    let Some(machine) = &view.machine else {
        answers.refuse(
            RefusalCode::MachineUnknown,
            "this machine's hardware is unknown",
            "hardware",
            "rlx doctor",
        );
        return;
    };
    if contract.hardware.device == Device::Gpu && machine.gpus < contract.hardware.gpus.max(1) {
        let reason = format!(
            "the contract requires {} GPUs; this machine has {}",
            contract.hardware.gpus, machine.gpus
        );
        answers.refuse(RefusalCode::GpuMissing, reason, "contract.yaml: hardware", "rlx study status");
    }
    if machine.disk < contract.budget.per_run.disk.0 {
        let reason = format!("a run may use {}, but less is free", contract.budget.per_run.disk);
        answers.refuse(RefusalCode::DiskFull, reason, "contract.yaml: budget.per_run", "rlx study status");
    }
    // Isolating a run from the network takes a separate namespace, which only full sandboxing
    // provides.
    if contract.hardware.network != Network::Allowed
        && machine.confinement < crate::documents::Confinement::Full
        && contract.confinement != crate::documents::Confinement::None
    {
        let reason = format!(
            "the contract says network {}, but this machine can't isolate a run from the network",
            contract.hardware.network
        );
        answers.refuse(RefusalCode::NetworkOpen, reason, "contract.yaml: hardware.network", "rlx doctor");
    }
}

/// The study has a baseline, and only one.
pub(super) fn baseline(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let (study, candidate) = (question.study, &view.written.typed);
    if candidate.kind == CandidateKind::Baseline
        && let Some(baseline) = study.state().baseline.as_ref().filter(|baseline| **baseline != candidate.id)
    {
        answers.refuse(
            RefusalCode::SecondBaseline,
            format!("the baseline of this study is {baseline}, for good"),
            "ledger.jsonl",
            new_study(study),
        );
    }
    if matches!(candidate.kind, CandidateKind::Baseline | CandidateKind::Smoke) {
        return;
    }
    let status = BaselineStatus::of(study);
    let (reason, help) = match &status {
        BaselineStatus::Complete(_) => return,
        BaselineStatus::Missing => ("the study has no baseline yet".to_owned(), baseline_help(question)),
        BaselineStatus::Unfinished(id) => {
            (format!("the baseline, {id}, has not finished its confirm phase"), baseline_help(question))
        }
        BaselineStatus::Unapproved(id, keys) => {
            let targets: Vec<String> = keys.iter().map(|key| format!("run:{key}")).collect();
            let reason = format!("runs of the baseline, {id}, count only once a person approves them");
            (reason, format!("rlx approve {}", targets.join(" ")))
        }
        BaselineStatus::Failed(_) | BaselineStatus::NotComparable(_) => {
            (status.dead_end().unwrap_or_default(), new_study(study))
        }
    };
    answers.refuse_unless_excepted(RefusalCode::NoBaseline, Section::Baseline, reason, "ledger.jsonl", help);
}

/// The command that leads to a baseline: continue one in progress, otherwise write one.
fn baseline_help(question: &Question<'_>) -> String {
    let study = question.study;
    let mut records = study.state().candidates.iter();
    let on_its_way = records.find(|(_, record)| {
        record.validated.kind == CandidateKind::Baseline
            && matches!(record.state, CandidateState::Validated | CandidateState::Launched)
    });
    match on_its_way {
        Some((id, record)) if record.state == CandidateState::Validated => format!("rlx launch {id}"),
        Some(_) => "rlx study next    # the baseline has not finished yet".to_owned(),
        None => FirstRun::find(study, CandidateKind::Baseline).command(CandidateKind::Baseline),
    }
}

/// Commands have a slot for the seed, pools are disjoint, and enough seeds are fresh.
pub(super) fn seeds(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let (Some(runbook), Some(spec)) =
        (question.study.files.runbook.typed(), question.study.files.metric_spec.typed())
    else {
        return;
    };
    for (name, step) in [("train", &runbook.train), ("eval", &runbook.eval)] {
        if !step.argv.iter().any(|word| word.contains(SEED_SLOT)) {
            let reason =
                format!("the {name} command has no {SEED_SLOT}, so every run would use the same seed");
            answers.refuse(
                RefusalCode::NoSeedSlot,
                reason,
                format!("runbook.yaml: {name}.argv"),
                "rlx contract check",
            );
        }
    }
    for problem in spec.protocol.seeds.problems() {
        answers.refuse(
            RefusalCode::PoolsOverlap,
            problem,
            "metric_spec.yaml: protocol.seeds",
            "rlx contract check",
        );
    }
    let state = question.study.state();
    let nothing = Default::default();
    for role in [SeedRole::Screen, SeedRole::Confirm, SeedRole::Audit, SeedRole::Evaluation] {
        let takes = |plan: &&PhasePlan| match role {
            // One per run that is evaluated.
            SeedRole::Evaluation => evaluation_pool(plan.phase, &spec.protocol.seeds).is_some(),
            _ => SeedRole::for_phase(plan.phase) == role,
        };
        let phases = view.written.typed.phases.iter().filter(takes);
        let wanted = phases.fold(0u64, |sum, plan| sum.saturating_add(plan.seeds));
        // A plan that is under way has drawn some of them already.
        let own = state.runs_of_plan(&view.written.typed.id);
        let has_drawn = |run: &&&RunRecord| match role {
            SeedRole::Screen => false,
            SeedRole::Evaluation => run.intent.evaluation_seed.is_some(),
            _ => run.intent.role == role,
        };
        let drawn: BTreeSet<(Phase, u64)> =
            own.iter().filter(has_drawn).map(|run| (run.intent.phase, run.intent.seed)).collect();
        let wanted = wanted.saturating_sub(drawn.len() as u64);
        // Screen seeds are shared by all candidates; the others are used once.
        let used =
            if role == SeedRole::Screen { &nothing } else { state.used_seeds.get(&role).unwrap_or(&nothing) };
        let fresh = spec.protocol.seeds.pool(role).unused(used);
        if wanted > fresh {
            let reason = format!("it needs {wanted} {role} seeds; {fresh} are unused");
            let place = format!("metric_spec.yaml: protocol.seeds.{role}");
            answers.refuse(RefusalCode::TooFewSeeds, reason, place, "rlx study status");
        }
    }
}

/// The plan is the one that was validated, and the one that the caller saw.
pub(super) fn plan_digest(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let id = &view.written.typed.id;
    let help = format!("rlx candidate validate {id}");
    let Some(record) = question.study.state().candidates.get(id) else {
        answers.refuse(
            RefusalCode::NotValidated,
            format!("{id} has not been validated"),
            "ledger.jsonl",
            help,
        );
        return;
    };
    // A candidate that has run is not validated again.
    let help = match record.state {
        CandidateState::Draft | CandidateState::Validated | CandidateState::Debug => help,
        _ if record.furthest() == Some(Phase::Smoke) => format!("rlx candidate revise {id}"),
        // There is one baseline, and the same change isn't tried twice.
        _ => "rlx study next".to_owned(),
    };
    if !matches!(record.state, CandidateState::Validated | CandidateState::Launched) {
        let reason = format!("{id} is {}; only a validated candidate can be launched", record.state);
        answers.refuse(RefusalCode::NotValidated, reason, "ledger.jsonl", help.clone());
    }
    let Some(plan) = &question.plan else {
        answers.refuse(RefusalCode::PlanUnknown, format!("can't make a plan for {id}"), "ledger.jsonl", help);
        return;
    };
    if record.validated.file != view.file {
        let reason = format!("candidates/{}.yaml has changed since it was validated", view.file_name);
        answers.refuse(
            RefusalCode::StalePlan,
            reason,
            format!("candidates/{}.yaml", view.file_name),
            help.clone(),
        );
    }
    let changed = Plan::differences(&record.validated.parts, &plan.parts);
    if !changed.is_empty() {
        let reason = format!("changed since {id} was validated: {}", changed.join(", "));
        let is_program = changed.iter().any(|part| part == PROGRAMS);
        let place = if is_program { program_names(question) } else { "ledger.jsonl".to_owned() };
        answers.refuse(RefusalCode::StalePlan, reason, place, help);
    }
    match view.asked_plan {
        Some(asked) if asked == plan.digest() => {}
        Some(asked) => {
            let reason = format!("the current plan is {}, not {}", plan.digest().short(), asked.short());
            answers.refuse(RefusalCode::OtherPlan, reason, "--plan", format!("rlx launch {id}"));
        }
        None => answers.refuse(
            RefusalCode::NoPlan,
            "a launch needs the id of its plan",
            "--plan",
            format!("rlx launch {id}"),
        ),
    }
}

/// The programs that runs start. The record holds one digest over all of them, so which of several changed isn't known.
fn program_names(question: &Question<'_>) -> String {
    let Some(runbook) = question.study.files.runbook.typed() else { return "runbook.yaml".to_owned() };
    let words = runbook.steps().filter_map(|(_, step)| step.argv.first()).map(String::as_str);
    let words: Vec<&str> = words.collect::<BTreeSet<&str>>().into_iter().collect();
    format!("runbook.yaml: {}", words.join(", "))
}

/// No more concurrent runs than the contract allows.
pub(super) fn no_live_run(question: &Question<'_>, answers: &mut Answers) {
    let live = question.study.state().live();
    let parallel = question.study.contract().map_or(0, |contract| contract.budget.parallel);
    if live.len() as u64 >= parallel {
        let keys: Vec<&str> = live.iter().map(|run| run.intent.key.as_str()).collect();
        let reason = format!(
            "the contract allows {parallel} at a time, and these have not finished: {}",
            keys.join(", ")
        );
        answers.refuse(RefusalCode::LiveRun, reason, "ledger.jsonl", "rlx study next");
    }
}

/// The machine can sandbox runs as the contract requires.
pub(super) fn confinement(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let Some(contract) = question.study.contract() else { return };
    let offered =
        view.machine.as_ref().map_or(crate::documents::Confinement::None, |machine| machine.confinement);
    if offered < contract.confinement {
        let reason = format!(
            "the contract requires {} sandboxing; this machine offers {offered}",
            contract.confinement
        );
        answers.refuse(RefusalCode::ConfinementTooWeak, reason, "contract.yaml: confinement", "rlx doctor");
    }
}
