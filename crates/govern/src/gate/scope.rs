//! Gates over what a candidate touches: only its surfaces, and never protected files.

use super::{Answers, Question, RefusalCode};
use crate::documents::{Candidate, Change, Operation, Phase, Surface};
use crate::evaluation_files;
use crate::patch::{self, PatchFacts};
use crate::plan::PROTECTED;
use crate::scope::{bad_path, is_plain, matches, protected_by};
use crate::view::{CandidateView, PathFacts, Unprotectable, WhyNot};

/// Every changed path and key is inside a surface that the contract allows.
pub(super) fn scope(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let candidate = &view.written.typed;
    shape(candidate, answers);
    arguments(view, answers);
    let allowed =
        question.study.contract().map(|contract| contract.scope.surfaces.as_slice()).unwrap_or_default();
    let surfaces =
        question.study.files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default();
    for (index, change) in candidate.changes.iter().enumerate() {
        let place = format!("candidates/{}.yaml: changes[{index}]", view.file_name);
        let surface = surfaces.iter().find(|surface| surface.id == change.surface);
        match surface.filter(|surface| allowed.contains(&surface.id)) {
            Some(surface) => within(surface, change, view, &place, answers),
            None => answers.refuse(
                RefusalCode::SurfaceNotAllowed,
                format!("the contract doesn't allow surface {}", change.surface),
                place,
                "rlx contract check",
            ),
        }
    }
}

/// Kinds without changes must have none; all others need at least one.
fn shape(candidate: &Candidate, answers: &mut Answers) {
    let place = format!("candidates/{}.yaml: changes", candidate.id);
    let help = format!("rlx candidate show {}", candidate.id);
    if candidate.kind.is_empty_change() && !candidate.changes.is_empty() {
        let reason = format!("a candidate of kind {} must not have changes", candidate.kind);
        answers.refuse(RefusalCode::UnexpectedChange, reason, place, help.clone());
    } else if !candidate.kind.is_empty_change() && candidate.changes.is_empty() {
        let reason = format!("a candidate of kind {} needs at least one change", candidate.kind);
        answers.refuse(RefusalCode::NoChange, reason, place, help.clone());
    }
}

/// Arguments reach the same command as keys do, but bypass every surface and range: a candidate may repeat those that
/// its keys give, and add none.
fn arguments(view: &CandidateView, answers: &mut Answers) {
    let candidate = &view.written.typed;
    let given = view.applied().map(|applied| applied.arguments).unwrap_or_default();
    if candidate.arguments.is_empty() || candidate.arguments == given {
        return;
    }
    let says = if given.is_empty() { "none".to_owned() } else { given.join(" ") };
    let reason = format!(
        "arguments {} are not those of its keys ({says}): a value is changed by a key of a surface",
        candidate.arguments.join(" ")
    );
    let place = format!("candidates/{}.yaml: arguments", view.file_name);
    let help = format!("edit {place}: remove it, and set keys under `changes`");
    answers.refuse(RefusalCode::UnexpectedArguments, reason, place, help);
}

fn within(surface: &Surface, change: &Change, view: &CandidateView, place: &str, answers: &mut Answers) {
    let help = format!("rlx candidate show {}", view.file_name);
    let mut refuse = |code, reason: String| answers.refuse(code, reason, place, help.clone());
    if !surface.operations.contains(&change.operation) {
        refuse(
            RefusalCode::OperationNotAllowed,
            format!("operation {} is not allowed on surface {}", change.operation, surface.id),
        );
    }
    if let Some(key) = &change.key
        && !surface.keys.iter().any(|allowed| allowed.key == *key)
    {
        refuse(RefusalCode::KeyNotAllowed, format!("{key} is not a key of surface {}", surface.id));
    }
    for (code, reason) in path_problems(surface, change, &change.path, view.paths.get(&change.path)) {
        refuse(code, reason);
    }
    match (&change.patch, change.operation) {
        (Some(text), _) => {
            let found = patch::facts(text);
            if !does(&found, change.operation) {
                let reason = format!("the patch doesn't {} the file", change.operation);
                refuse(RefusalCode::PatchDoesOther, reason);
            }
            for trick in found.tricks {
                refuse(RefusalCode::PatchNotPlain, trick);
            }
            for path in found.paths.iter().filter(|path| **path != change.path) {
                refuse(
                    RefusalCode::PatchElsewhere,
                    format!("the patch touches {path}, but the change is for {}", change.path),
                );
            }
        }
        (None, Operation::EditCode) => {
            refuse(RefusalCode::NoPatch, "code must be changed by a patch, and the change has none".into())
        }
        (None, _) if change.key.is_none() => {
            refuse(RefusalCode::NothingNamed, "a change needs either a key with a value, or a patch".into());
        }
        (None, _) => {}
    }
    if change.key.is_some() && change.patch.is_some() {
        refuse(RefusalCode::TwoWays, "a change has either a key or a patch, not both".into());
    }
}

/// Whether a patch does what its operation says. Values are set by key, within their ranges, never by patch.
fn does(patch: &PatchFacts, operation: Operation) -> bool {
    match operation {
        Operation::Add => patch.adds && !patch.removes,
        Operation::Remove => patch.removes && !patch.adds,
        Operation::EditCode => !patch.adds && !patch.removes,
        Operation::Set | Operation::Scale | Operation::Schedule => false,
    }
}

fn path_problems(
    surface: &Surface,
    change: &Change,
    path: &str,
    facts: Option<&PathFacts>,
) -> Vec<(RefusalCode, String)> {
    if let Some(why) = bad_path(path) {
        return vec![(RefusalCode::BadPath, format!("{path:?} is not a path inside the repository: {why}"))];
    }
    let mut found = Vec::new();
    if !surface.paths.iter().any(|glob| matches(glob, path)) {
        found.push((
            RefusalCode::PathNotAllowed,
            format!("{path} does not match the paths of surface {}", surface.id),
        ));
    }
    if !is_plain(path) && !surface.paths.iter().any(|glob| glob == path) {
        let reason = format!("{path:?} contains look-alike characters; the surface must name it literally");
        found.push((RefusalCode::LookAlike, reason));
    }
    let Some(facts) = facts else {
        found.push((RefusalCode::PathUnknown, format!("{path} was not checked")));
        return found;
    };
    if let Some(link) = &facts.link {
        found.push((RefusalCode::Symlink, format!("{link}, a part of {path}, is a symlink")));
    }
    if let Some(other) = &facts.same_but_case {
        found.push((RefusalCode::CaseTwin, format!("{path} differs from {other} only by case")));
    }
    let adds = change.operation == Operation::Add && change.key.is_none();
    if adds && facts.exists {
        found.push((RefusalCode::AlreadyThere, format!("{path} already exists")));
    }
    if !adds && !facts.is_file {
        found.push((RefusalCode::NoSuchFile, format!("{path} is not a file in the repository")));
    }
    found
}

/// No protected file is touched, and the protected files are those that earlier candidates were
/// judged with.
pub(super) fn protected(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let Some(map) = question.study.files.surface_map.typed() else { return };
    for (index, change) in view.written.typed.changes.iter().enumerate() {
        let patched = change.patch.as_deref().map(patch::facts).unwrap_or_default().paths;
        for path in std::iter::once(&change.path).chain(&patched) {
            if let Some(glob) = protected_by(&map.protected, path) {
                answers.refuse(
                    RefusalCode::Protected,
                    format!("{path} is protected by {glob}"),
                    format!("candidates/{}.yaml: changes[{index}]", view.file_name),
                    format!("rlx candidate show {}", view.file_name),
                );
            }
        }
    }
    for (index, surface) in map.surfaces.iter().enumerate() {
        let files = view.protected.iter().flat_map(|files| files.keys());
        if let Some(reason) = evaluation_files::problem(map, surface, files) {
            let place = format!("surface_map.yaml: surfaces[{index}].evaluation_files");
            answers.refuse(RefusalCode::ExposesEvaluator, reason, place, "rlx contract check");
        }
    }
    for Unprotectable { path, why } in &view.unprotectable {
        let (code, reason) = match why {
            WhyNot::LinkOutside { target } => (
                RefusalCode::ProtectedLink,
                format!("the protected path {path} is a link to {target}, outside the repository"),
            ),
            WhyNot::LinkToUnprotected { target } => (
                RefusalCode::ProtectedLink,
                format!("the protected path {path} is a link to {target}, which is not protected"),
            ),
            WhyNot::TooLarge { bytes } => (
                RefusalCode::ProtectedTooLarge,
                format!("the protected file {path} has {bytes} bytes, too many to check at every launch"),
            ),
        };
        let help = match why {
            WhyNot::TooLarge { .. } => {
                "edit surface_map.yaml: list data under `inputs` of runbook.yaml instead"
            }
            _ => "replace the link by the file itself, commit that, and name the commit in contract.yaml",
        };
        answers.refuse(code, reason, "surface_map.yaml: protected", help);
    }
    match &view.protected {
        // Said above, by name.
        None if !view.unprotectable.is_empty() => {}
        None => {
            let reason = "not all protected files can be read";
            answers.refuse(
                RefusalCode::ProtectedUnknown,
                reason,
                "surface_map.yaml: protected",
                "rlx contract check",
            );
        }
        Some(files) if files.is_empty() => {
            let reason = "the protected patterns match no files, so the evaluation isn't protected";
            answers.refuse(
                RefusalCode::ProtectsNothing,
                reason,
                "surface_map.yaml: protected",
                "rlx contract check",
            );
        }
        Some(_) => unchanged(question, answers),
    }
}

fn unchanged(question: &Question<'_>, answers: &mut Answers) {
    let state = question.study.state();
    // Without a plan, one of its parts is missing, which another gate refuses.
    let Some(plan) = &question.plan else { return };
    // Smoke runs are never evidence, so nothing is compared with them.
    let judged = state.candidates.iter().find(|(_, record)| {
        record.furthest().is_some_and(|phase| phase != Phase::Smoke)
            && record.validated.parts.get(PROTECTED) != plan.parts.get(PROTECTED)
    });
    if let Some((name, _)) = judged {
        let reason = format!("the protected files have changed since {name} ran");
        answers.refuse(
            RefusalCode::ProtectedChanged,
            reason,
            "surface_map.yaml: protected",
            "rlx study status",
        );
    }
}
