//! Gates over the requirements of some kinds of candidates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Answers, Question, RefusalCode};
use crate::documents::is_answered;
use crate::documents::{CandidateKind, Slug, SurfaceKind};
use crate::ledger::event::{Analysis, ProbedSpan};
use crate::probe;
use crate::section::Section;
use crate::view::CandidateView;

/// A change of the reward builds on a reflection of what the reward does now.
pub(super) fn reflection(question: &Question<'_>, answers: &mut Answers) {
    let kinds = [CandidateKind::RewardTuning, CandidateKind::RewardEngineering];
    let Some(view) = of_kind(question, &kinds).or_else(|| touching(question, SurfaceKind::Reward)) else {
        return;
    };
    let wanted = Wanted {
        name: "reflection",
        file: view.written.typed.requirements.reflection.as_deref(),
        what: Analysis::RewardReflection,
        description: "a reward reflection of the incumbent's runs",
        command: match question.study.state().reference() {
            Some(reference) => format!("rlx study reflect {reference}"),
            None => "rlx study reflect CANDIDATE".to_owned(),
        },
    };
    analysis(question, view, &wanted, answers);
}

/// A change of randomisation builds on a probe.
pub(super) fn probed(question: &Question<'_>, answers: &mut Answers) {
    let of_kind = |kind| self::of_kind(question, &[kind]);
    let randomised =
        of_kind(CandidateKind::Randomisation).or_else(|| touching(question, SurfaceKind::Randomisation));
    // Generated environments require more than a probe.
    if let Some(view) =
        randomised.filter(|view| view.written.typed.kind != CandidateKind::EnvironmentGeneration)
    {
        let wanted = Wanted {
            name: "probe",
            file: view.written.typed.requirements.probe.as_deref(),
            what: Analysis::Probe,
            description: "a probe summary, one parameter at a time",
            command: "rlx study probe plan --help".to_owned(),
        };
        analysis(question, view, &wanted, answers);
        probed_range(question, view, answers);
    }
    if let Some(view) = of_kind(CandidateKind::Probe) {
        let parameter = view.written.typed.requirements.parameter.as_ref();
        if parameter.is_none_or(|parameter| parameter.values.len() < 2 || !is_answered(&parameter.key)) {
            let reason = "a probe varies one parameter over at least two values";
            let place = format!("candidates/{}.yaml: requirements.parameter", view.file_name);
            answers.refuse(RefusalCode::NoParameter, reason, place, "rlx study probe plan --help");
        }
        probe_step(question, view, answers);
    }
}

/// What a candidate randomises was probed: each key by itself, over values between which the new one lies.
fn probed_range(question: &Question<'_>, view: &CandidateView, answers: &mut Answers) {
    let state = question.study.state();
    let surfaces =
        question.study.files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default();
    let is_randomised = |id: &Slug| {
        let surface = surfaces.iter().find(|surface| surface.id == *id);
        surface.is_none_or(|surface| surface.kind == SurfaceKind::Randomisation)
            || view.written.typed.kind == CandidateKind::Randomisation
    };
    let changes = view.written.typed.changes.iter().enumerate();
    for (index, change) in changes.filter(|(_, change)| is_randomised(&change.surface)) {
        let reason = match &change.key {
            None => Some("a patch can't be compared with what was probed; set a key instead".to_owned()),
            Some(key) => match probe::probed_span(state, key) {
                None => Some(format!("{key} was not probed on the policies of the present incumbent")),
                Some(ProbedSpan { from, to }) => {
                    let values = super::change::new_values(change);
                    let outside = values.iter().find(|value| !(**value >= from && **value <= to));
                    match outside {
                        Some(value) => Some(format!("{key} was probed from {from} to {to}, not at {value}")),
                        // Removing a key leaves a default that nothing here knows.
                        None if values.is_empty() => Some(format!(
                            "{key} was probed from {from} to {to}; set it to a number between them"
                        )),
                        None => None,
                    }
                }
            },
        };
        if let Some(reason) = reason {
            answers.refuse_unless_excepted(
                RefusalCode::NotProbed,
                Section::Scope,
                reason,
                format!("candidates/{}.yaml: changes[{index}]", view.file_name),
                "rlx study probe plan --help".to_owned(),
            );
        }
    }
}

/// A probe that runs the runbook's probe step stays in the agreed range of its parameter, and has a policy to run.
fn probe_step(question: &Question<'_>, view: &CandidateView, answers: &mut Answers) {
    let (study, candidate) = (question.study, &view.written.typed);
    let Some(parameter) = probe::parameter(study, candidate) else { return };
    let argv = study.files.runbook.typed().and_then(|runbook| runbook.probe.as_ref());
    let argv = argv.map(|step| step.argv.as_slice()).unwrap_or_default();
    for slot in probe::SLOTS.iter().filter(|slot| !argv.iter().any(|word| word.contains(**slot))) {
        let reason = format!("the probe command has no {slot}, so every run would be the same");
        answers.refuse(RefusalCode::NoProbeSlot, reason, "runbook.yaml: probe.argv", "rlx contract check");
    }
    let place = format!("candidates/{}.yaml: requirements.parameter.values", view.file_name);
    let help = format!("rlx candidate show {}", view.file_name);
    let (values, key) = (&parameter.values, &parameter.key);
    let distinct: BTreeSet<u64> = values.iter().map(|value| value.to_bits()).collect();
    if distinct.len() < values.len() || values.len() > probe::MOST_VALUES {
        let reason = format!("a probe has up to {} different values", probe::MOST_VALUES);
        answers.refuse(RefusalCode::NoParameter, reason, place.clone(), help.clone());
    }
    let surfaces = study.files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default();
    let agreed = study.contract().map(|contract| contract.scope.surfaces.as_slice()).unwrap_or_default();
    let mut keys =
        surfaces.iter().filter(|surface| agreed.contains(&surface.id)).flat_map(|surface| &surface.keys);
    match keys.find(|allowed| allowed.key == *key) {
        Some(allowed) => {
            let outside =
                |value: &&f64| super::change::outside(key, &Value::from(**value), allowed).is_some();
            for value in values.iter().filter(outside) {
                let reason = format!("{value} is outside the agreed range of {key}");
                answers.refuse(RefusalCode::OutOfRange, reason, place.clone(), help.clone());
            }
        }
        None => {
            let reason = format!("no surface in scope defines the allowed values of {key}");
            answers.refuse(RefusalCode::RangeUnknown, reason, place, "rlx contract check");
        }
    }
    if probe::trained_runs(study.state()).is_empty() {
        let reason = "no run of the incumbent or the baseline has left a trained policy that can be probed";
        answers.refuse(RefusalCode::NoTrainedRun, reason, "ledger.jsonl", "rlx study next");
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

/// A file that rlx writes about runs, and that a candidate builds on.
struct Wanted<'a> {
    /// The key in the candidate's requirements.
    name: &'static str,
    file: Option<&'a str>,
    what: Analysis,
    description: &'static str,
    /// The command that writes it.
    command: String,
}

/// The file exists, rlx wrote it in this study, and it is about what candidates are compared with now.
fn analysis(question: &Question<'_>, view: &CandidateView, wanted: &Wanted<'_>, answers: &mut Answers) {
    let Wanted { name, file, what, description, command } = wanted;
    let state = question.study.state();
    let is_there = |file: &&str| view.evidence_there.contains(*file);
    let digest = file.filter(is_there).and_then(|file| view.analyses.get(file));
    let recorded = state.analyzed.iter().rev().map(|(_, analyzed)| analyzed);
    let record =
        recorded.filter(|analyzed| analyzed.what == *what).find(|analyzed| Some(&analyzed.digest) == digest);
    let (code, reason) = match (file, record) {
        (None, _) => (
            RefusalCode::RequirementMissing,
            format!("{name} is missing: this kind of change requires {description}"),
        ),
        (Some(file), _) if !is_there(file) => (
            RefusalCode::EvidenceMissing,
            format!("{file} is missing or can't be read; it should be {description}"),
        ),
        (Some(file), None) => (
            RefusalCode::AnalysisUnknown,
            format!(
                "{file} is not {description} as rlx wrote it: no record of this study's ledger has its digest"
            ),
        ),
        (Some(file), Some(analyzed)) => {
            let reference = state.reference();
            let is_current = reference.is_none()
                || reference == Some(&analyzed.candidate)
                || reference == analyzed.reference.as_ref();
            if is_current {
                return;
            }
            let was = analyzed.reference.as_ref().unwrap_or(&analyzed.candidate);
            let now = reference.map(ToString::to_string).unwrap_or_default();
            (
                RefusalCode::AnalysisOutdated,
                format!("{file} is about {was}, but candidates are compared with {now} now"),
            )
        }
    };
    answers.refuse_unless_excepted(
        code,
        Section::Scope,
        reason,
        format!("candidates/{}.yaml: requirements.{name}", view.file_name),
        command.clone(),
    );
}
