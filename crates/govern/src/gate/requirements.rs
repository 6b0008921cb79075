//! Gates over the requirements of some kinds of candidates.

use super::{Answers, Question, RefusalCode};
use crate::documents::is_answered;
use crate::documents::{CandidateKind, Slug, SurfaceKind};
use crate::section::Section;
use crate::view::CandidateView;

/// A change of the reward builds on a reflection of what the reward does now.
pub(super) fn reflection(question: &Question<'_>, answers: &mut Answers) {
    let kinds = [CandidateKind::RewardTuning, CandidateKind::RewardEngineering];
    let Some(view) = of_kind(question, &kinds).or_else(|| touching(question, SurfaceKind::Reward)) else {
        return;
    };
    let named = view.written.typed.requirements.reflection.as_deref();
    named_file(view, "reflection", named, "a reward reflection of an earlier run", answers);
}

/// A change of randomisation builds on a probe.
pub(super) fn probe(question: &Question<'_>, answers: &mut Answers) {
    let of_kind = |kind| self::of_kind(question, &[kind]);
    let randomised =
        of_kind(CandidateKind::Randomisation).or_else(|| touching(question, SurfaceKind::Randomisation));
    // Generated environments require more than a probe.
    if let Some(view) =
        randomised.filter(|view| view.written.typed.kind != CandidateKind::EnvironmentGeneration)
    {
        let named = view.written.typed.requirements.probe.as_deref();
        named_file(view, "probe", named, "a probe summary, one parameter at a time", answers);
    }
    if let Some(view) = of_kind(CandidateKind::Probe) {
        let parameter = view.written.typed.requirements.parameter.as_ref();
        if parameter.is_none_or(|parameter| parameter.values.len() < 2 || !is_answered(&parameter.key)) {
            let reason = "a probe varies one parameter over at least two values";
            let place = format!("candidates/{}.yaml: requirements.parameter", view.file_name);
            answers.refuse(RefusalCode::NoParameter, reason, place, "rlx candidate new");
        }
    }
}

/// Generated environments can be learned, lead to the target, stay diverse, don't affect the
/// held-out evaluation, and can be undone.
pub(super) fn environment_generation(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = of_kind(question, &[CandidateKind::EnvironmentGeneration]) else { return };
    let candidate = &view.written.typed;
    let needed = [
        (
            "learnability",
            candidate.requirements.learnability.as_deref(),
            "evidence that the new cases can be learned",
        ),
        (
            "bridge",
            candidate.requirements.bridge.as_deref(),
            "how they lead from the current failures to the target",
        ),
        ("diversity", candidate.requirements.diversity.as_deref(), "how they stay diverse"),
        (
            "held_out",
            candidate.requirements.held_out.as_deref(),
            "evidence that the held-out evaluation is unchanged",
        ),
        ("rollback", candidate.rollback.as_deref(), "how it is undone"),
    ];
    for (name, text, what) in needed {
        if !text.is_some_and(is_answered) {
            answers.refuse_unless_excepted(
                RefusalCode::RequirementMissing,
                Section::Scope,
                format!("{name} is missing: {what}"),
                format!("candidates/{}.yaml: {name}", view.file_name),
                format!("rlx candidate show {}", view.file_name),
            );
        }
    }
}

fn of_kind<'a>(question: &Question<'a>, kinds: &[CandidateKind]) -> Option<&'a CandidateView> {
    question.candidate.filter(|view| kinds.contains(&view.written.typed.kind))
}

/// The candidate, if it changes a surface of this kind, regardless of its declared kind: its author can't
/// choose which requirements apply.
fn touching<'a>(question: &Question<'a>, kind: SurfaceKind) -> Option<&'a CandidateView> {
    let surfaces =
        question.study.files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default();
    let of_kind = |id: &Slug| surfaces.iter().any(|surface| surface.id == *id && surface.kind == kind);
    question.candidate.filter(|view| view.written.typed.changes.iter().any(|change| of_kind(&change.surface)))
}

fn named_file(
    view: &CandidateView,
    name: &'static str,
    file: Option<&str>,
    what: &str,
    answers: &mut Answers,
) {
    let (code, reason) = match file {
        Some(file) if view.evidence_there.contains(file) => return,
        Some(file) => {
            (RefusalCode::EvidenceMissing, format!("{file} is missing or can't be read; it should be {what}"))
        }
        None => (
            RefusalCode::RequirementMissing,
            format!("{name} is missing: this kind of change requires {what}"),
        ),
    };
    answers.refuse_unless_excepted(
        code,
        Section::Scope,
        reason,
        format!("candidates/{}.yaml: requirements.{name}", view.file_name),
        format!("rlx candidate show {}", view.file_name),
    );
}
