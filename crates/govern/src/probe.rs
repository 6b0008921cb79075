//! The runs of a probe: a trained policy is run with one parameter of the environment at each value of an agreed grid.
//!
//! A probe is a candidate that changes nothing and goes through launch like every other. Its grid is part of its file,
//! so it is recorded, by digest, before the first run. Each run has a seed of its own; the place of that seed among the
//! candidate's seeds says which value it has, and on which of the reference's trained policies.

use crate::documents::{Candidate, CandidateKind, Phase, ProbeParameter};
use crate::ledger::StudyState;
use crate::ledger::event::{Analysis, Analyzed, ProbePoint, ProbedSpan};
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

/// The values between which the reference's policies were probed, for a key that is the probed parameter or an end of its
/// range, such as `mass.min` of `mass`; `None` if it wasn't.
pub fn probed_span(state: &StudyState, key: &str) -> Option<ProbedSpan> {
    let is_about = |it: &&Analyzed| {
        it.what == Analysis::Probe
            && it.reference.as_ref() == state.reference()
            && it.parameter.as_deref().is_some_and(|parameter| is_probed_by(key, parameter))
    };
    let spans = state.analyzed.iter().map(|(_, it)| it).filter(is_about).filter_map(|it| it.span.clone());
    spans.reduce(|one, other| ProbedSpan { from: one.from.min(other.from), to: one.to.max(other.to) })
}

/// Words for the two ends of a range.
pub(crate) const LOWER_ENDS: [&str; 4] = ["min", "low", "lower", "from"];
pub(crate) const UPPER_ENDS: [&str; 4] = ["max", "high", "upper", "to"];

/// Whether a probe of this parameter says something about a key.
fn is_probed_by(key: &str, parameter: &str) -> bool {
    let Some(rest) = key.strip_prefix(parameter) else { return false };
    let end = rest.trim_start_matches(['.', '_', '-']);
    rest.is_empty() || (end.len() < rest.len() && (LOWER_ENDS.contains(&end) || UPPER_ENDS.contains(&end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_probed_by_itself_or_by_the_parameter_whose_range_it_ends() {
        for (key, parameter, expected) in [
            ("mass", "mass", true),
            ("mass.min", "mass", true),
            ("env.mass_high", "env.mass", true),
            ("mass.noise", "mass", false),
            ("masses", "mass", false),
            ("massto", "mass", false),
            ("gravity", "mass", false),
            ("mass", "mass.min", false),
        ] {
            assert_eq!(is_probed_by(key, parameter), expected, "{key} by {parameter}");
        }
    }
}
