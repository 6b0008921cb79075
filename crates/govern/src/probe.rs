//! The runs of a probe: a trained policy is run with one parameter of the environment at each value of an agreed grid.
//!
//! A probe is a candidate that changes nothing and goes through launch like every other. Its grid is part of its file,
//! so it is recorded, by digest, before the first run. Each run has a seed of its own; the place of that seed among the
//! candidate's seeds says which value it has, and on which of the reference's trained policies.

use crate::documents::{Candidate, CandidateKind, Phase, ProbeParameter};
use crate::ledger::StudyState;
use crate::ledger::event::ProbePoint;
use crate::ledger::state::RunRecord;
use crate::machine::{RunEnd, RunState};
use crate::view::Study;

/// Most values of one probe.
pub const MOST_VALUES: usize = 50;
/// Slots that the probe step must have.
pub const SLOTS: [&str; 2] = ["{value}", "{trained}"];

/// The parameter that a candidate probes. A repository whose runbook has no probe step has no probes: there a candidate
/// of that kind trains and evaluates like any other without changes.
pub fn parameter<'a>(study: &Study, candidate: &'a Candidate) -> Option<&'a ProbeParameter> {
    study.files.runbook.typed()?.probe.as_ref()?;
    let parameter = candidate.requirements.parameter.as_ref();
    parameter.filter(|_| candidate.kind == CandidateKind::Probe)
}

/// The runs whose trained files can be probed: those of the incumbent, or else of the baseline, that succeeded here.
pub fn trained_runs(state: &StudyState) -> Vec<&RunRecord> {
    let Some(reference) = state.reference() else { return Vec::new() };
    let has_policy = |run: &&RunRecord| {
        matches!(run.intent.phase, Phase::Confirm | Phase::IncumbentValidation)
            && run.state == RunState::Ended(RunEnd::Ok)
            && run.not_evidence().is_none()
            && run.intent.external.is_none()
            && run.ended.as_ref().is_some_and(|ended| ended.manifest.is_some())
    };
    let mut runs = state.runs_of_plan(reference);
    runs.retain(|run| has_policy(run));
    runs
}

/// What the run with this place among the candidate's seeds probes; `None` without values or trained policies. Every
/// value runs once before any runs again, then on the next policy.
pub fn point(study: &Study, parameter: &ProbeParameter, place: u64) -> Option<ProbePoint> {
    let (values, runs) = (&parameter.values, trained_runs(study.state()));
    let count = u64::try_from(values.len()).ok().filter(|count| *count > 0)?;
    let trained = runs.get(usize::try_from((place / count).checked_rem(runs.len() as u64)?).ok()?)?;
    let value = *values.get(usize::try_from(place % count).ok()?)?;
    Some(ProbePoint { key: parameter.key.clone(), value, trained: trained.intent.key.clone() })
}
