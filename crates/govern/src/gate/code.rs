//! Gates over the code that would run: its base, the result of the changes, its inputs and its
//! programs.

use rlxp_types::text::shell_word;

use super::{Answers, Question, RefusalCode};
use crate::change::holds_keys;
use crate::documents::Base;
use crate::view::CandidateView;

/// Changes start from reproducible code, the same for everything that is compared.
pub(super) fn base(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let place = "contract.yaml: baseline.commit";
    let unknown_commit = question.study.named_commit().is_some_and(|text| Base::of_commit(text).is_none());
    let Some(found) = view.base.as_ref().filter(|_| !unknown_commit) else {
        let reason = "the base code is unknown: neither the commit nor a snapshot exists";
        answers.refuse(RefusalCode::BaseUnknown, reason, place, "rlx contract check");
        return;
    };
    let pinned = [question.study.pinned_base(), question.study.launched_base()];
    if let Some(other) = pinned.into_iter().flatten().find(|pinned| pinned != found) {
        let reason = format!("the code is {found}, but this study started from {other}");
        // What has run keeps its code; before that, the contract can name another.
        let help = match (question.study.launched_base(), found) {
            (None, Base::Snapshot(digest)) => {
                format!("undo the edits, or edit contract.yaml: baseline.snapshot: {digest}")
            }
            _ => "rlx study status".to_owned(),
        };
        answers.refuse(RefusalCode::BaseChanged, reason, place, help);
    }
}

/// Every change can be made to the file that it names, as that is.
pub(super) fn change_applies(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    flags_agree(view, answers);
    let Err(problems) = view.applied() else { return };
    for (index, reason) in problems {
        let place = format!("candidates/{}.yaml: changes[{index}]", view.file_name);
        let change = view.written.typed.changes.get(index);
        let is_flag = view.override_syntax.is_none()
            && change.is_some_and(|change| change.key.is_some() && !holds_keys(&change.path));
        // A value of code is passed to it, once the audit says how.
        let help = match is_flag {
            true => "rlx study audit --override-syntax '--{key}={value}'".to_owned(),
            false => format!("rlx candidate show {}", view.file_name),
        };
        answers.refuse(RefusalCode::ChangeDoesNotApply, reason, place, help);
    }
}

/// What a candidate says about the present value of a flag is so, where that can be read.
fn flags_agree(view: &CandidateView, answers: &mut Answers) {
    for (index, change, key) in view.flag_changes() {
        let Some(from) = &change.from else { continue };
        let Some(real) = view.flag_values.get(&(change.path.clone(), key.to_owned())) else { continue };
        let says = from.as_f64().or_else(|| from.as_str().and_then(|text| text.trim().parse().ok()));
        if says == Some(*real) {
            continue;
        }
        let file = format!("candidates/{}.yaml", view.file_name);
        answers.refuse(
            RefusalCode::ChangeDoesNotApply,
            format!("{key} of {} is {real}, but the candidate says {from}", change.path),
            format!("{file}: changes[{index}].from"),
            format!("edit {file}: changes[{index}].from: {real}"),
        );
    }
}

/// Input files of a run match the runbook.
pub(super) fn inputs(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let Some(runbook) = question.study.files.runbook.typed() else { return };
    let Some(found) = &view.inputs else {
        let reason = "not all inputs of the runs can be read";
        answers.refuse(RefusalCode::InputMissing, reason, "runbook.yaml: inputs", "rlx contract check");
        return;
    };
    for (index, input) in runbook.inputs.iter().enumerate() {
        let place = format!("runbook.yaml: inputs[{index}]");
        match found.get(&input.path) {
            None => {
                let reason = format!("{} does not exist, and runs need it", input.path);
                answers.refuse(RefusalCode::InputMissing, reason, place, "rlx contract check");
            }
            Some(digest) if *digest != input.digest => {
                // In full: it is copied into the runbook.
                let says = input.digest.short();
                let reason = format!("{} has digest {digest}, but the runbook says {says}", input.path);
                let help = format!("rlx contract input {}", shell_word(&input.path));
                answers.refuse(RefusalCode::InputChanged, reason, place, help);
            }
            Some(_) => {}
        }
    }
}

/// Every command has a program.
pub(super) fn programs(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let Some(runbook) = question.study.files.runbook.typed() else { return };
    for (name, step) in runbook.steps() {
        if view.programs.as_ref().is_some_and(|programs| programs.contains_key(name.as_str())) {
            continue;
        }
        let program = step.argv.first().map(String::as_str).unwrap_or_default();
        let place = format!("{name}.argv[0]");
        let reason = format!("the program of {name}, {program}, was not found");
        // With a slash it is looked for in the repository, without one where PATH says.
        let help = if program.contains('/') {
            format!("edit runbook.yaml: {place} must be a file in the repository")
        } else {
            format!(
                "edit runbook.yaml: {place} must be a program on PATH or, with a slash, a file in the \
                 repository"
            )
        };
        answers.refuse(RefusalCode::ProgramMissing, reason, format!("runbook.yaml: {place}"), help);
    }
}
