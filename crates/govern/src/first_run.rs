//! The first runs of a study, which change nothing: a smoke run, the baseline.

use crate::documents::CandidateKind;
use crate::machine::CandidateState;
use crate::view::Study;

/// How to start a first run, with the candidate's name.
pub(crate) enum FirstRun {
    /// There is a draft of it.
    Validate(String),
    /// It has not been written yet; this name is free.
    Write(String),
}

impl FirstRun {
    pub(crate) fn find(study: &Study, kind: CandidateKind) -> Self {
        let is_named = |name: &str| {
            let rest = name.strip_prefix(kind.to_string().as_str()).map(|rest| rest.trim_start_matches('-'));
            rest.is_some_and(|rest| rest.bytes().all(|letter| letter.is_ascii_digit()))
        };
        if let Some(draft) = drafts_of(study).into_iter().find(|draft| is_named(draft)) {
            return FirstRun::Validate(draft);
        }
        let is_taken = |name: &String| {
            study.candidate_files.contains_key(name) || study.state().candidates.contains_key(name.as_str())
        };
        let names =
            std::iter::once(kind.to_string()).chain((2..).map(|number: u64| format!("{kind}-{number}")));
        FirstRun::Write(names.into_iter().find(|name| !is_taken(name)).unwrap_or_default())
    }

    pub(crate) fn command(&self, kind: CandidateKind) -> String {
        match self {
            FirstRun::Validate(draft) => format!("rlx candidate validate {draft}"),
            FirstRun::Write(free) => format!("rlx candidate new {free} --kind {kind}"),
        }
    }
}

/// Candidate files that aren't validated in their current form, by name.
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
