//! Gates against plans that suit their author: phases, seeds and limits are the contract's, and what was tried before
//! isn't tried again under another name.

use super::{Answers, Question, RefusalCode};
use crate::documents::{Phase, PhasePlan};
use crate::machine::CandidateState;
use crate::plan::{CHANGES, INCUMBENT, effect, phases_for};

/// A candidate's phases, seeds and limits are those of the contract. Fewer seeds or a shorter limit would decide on
/// less evidence than was agreed, more would be another chance.
pub(super) fn phases(question: &Question<'_>, answers: &mut Answers) {
    let (Some(view), Some(contract)) = (question.candidate, question.study.contract()) else { return };
    let candidate = &view.written.typed;
    let mut agreed = phases_for(question.study, candidate, contract);
    // What an earlier version of rlx launched has no audit seeds in its plan; it may run to its end, and isn't accepted.
    let record = question.study.state().candidates.get(&candidate.id);
    if record.is_some_and(|record| {
        record.state == CandidateState::Launched
            && !candidate.kind.is_empty_change()
            && !record.validated.phases.iter().any(|planned| planned.phase == Phase::IncumbentValidation)
    }) {
        agreed.retain(|plan| plan.phase != Phase::IncumbentValidation);
    }
    let place = |rest: &str| format!("candidates/{}.yaml: phases{rest}", view.file_name);
    let help = || format!("edit candidates/{}.yaml: {}", view.file_name, in_yaml(&agreed));
    let names = |plans: &[PhasePlan]| {
        let names: Vec<String> = plans.iter().map(|plan| plan.phase.to_string()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    if !agreed.iter().map(|plan| plan.phase).eq(candidate.phases.iter().map(|plan| plan.phase)) {
        let reason = format!(
            "its phases are {}; a candidate of kind {} goes through {}",
            names(&candidate.phases),
            candidate.kind,
            names(&agreed)
        );
        answers.refuse(RefusalCode::OtherPhases, reason, place(""), help());
    }
    for (index, plan) in candidate.phases.iter().enumerate() {
        let Some(wanted) = agreed.iter().find(|wanted| wanted.phase == plan.phase) else { continue };
        if plan.seeds != wanted.seeds {
            let reason = format!(
                "the {} phase has {} seeds; the contract says {}",
                plan.phase, plan.seeds, wanted.seeds
            );
            answers.refuse(RefusalCode::OtherSeeds, reason, place(&format!("[{index}].seeds")), help());
        }
        // A run that is too long is refused with the budget.
        if plan.wall_clock.0 > 0 && plan.wall_clock < wanted.wall_clock {
            let reason = format!(
                "one {} run may take {}; the contract gives every run {}",
                plan.phase, plan.wall_clock, wanted.wall_clock
            );
            answers.refuse(RefusalCode::OtherLimit, reason, place(&format!("[{index}].wall_clock")), help());
        }
    }
}

/// The phases as they are written in a candidate's file.
fn in_yaml(plans: &[PhasePlan]) -> String {
    let one = |plan: &PhasePlan| {
        let phase = crate::canonical::plain(&plan.phase);
        let phase = phase.as_str().unwrap_or_default().to_owned();
        format!("{{phase: {phase}, seeds: {}, wall_clock: {}}}", plan.seeds, plan.wall_clock)
    };
    format!("phases: [{}]", plans.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The same result of changes, whichever way it is written, wasn't launched against the same incumbent. A candidate may come back as its own next
/// revision after debugging; under another name it would be another roll of the dice.
pub(super) fn not_tried(question: &Question<'_>, answers: &mut Answers) {
    let (Some(view), Some(plan)) = (question.candidate, &question.plan) else { return };
    let candidate = &view.written.typed;
    if candidate.kind.is_empty_change() {
        return;
    }
    let (changes, incumbent) = (plan.parts.get(CHANGES), plan.parts.get(INCUMBENT));
    let effect = effect(view);
    let tried = question.study.state().tried.iter().find(|tried| {
        tried.candidate != candidate.id
            && (tried.changes.as_ref() == changes || (effect.is_some() && tried.effect == effect))
            && tried.incumbent.as_ref() == incumbent
    });
    if let Some(tried) = tried {
        answers.refuse(
            RefusalCode::TriedBefore,
            format!(
                "its changes are those of {}, which was launched against the same incumbent",
                tried.candidate
            ),
            format!("candidates/{}.yaml: changes", view.file_name),
            format!("rlx candidate show {}", tried.candidate),
        );
    }
}
