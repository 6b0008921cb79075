//! The sets of seeds that are compared: which runs, and what each counts for.

use rlxp_types::Digest;
use serde_json::{Value, json};

use crate::baseline::BaselineStatus;
use crate::documents::{CandidateKind, MetricSpec, Phase, Slug};
use crate::ledger::attempts::{self, Side};
use crate::ledger::state::{CandidateRecord, RunRecord};
use crate::score::{self, SeedResult};
use crate::view::Study;

/// The last attempts at the seeds of a set, with what each counts for.
#[derive(Clone, Debug)]
pub(super) struct Set<'s> {
    pub(super) candidate: &'s Slug,
    pub(super) record: &'s CandidateRecord,
    pub(super) runs: Vec<&'s RunRecord>,
    pub(super) results: Vec<SeedResult>,
}

/// Why nothing can be compared with the reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NoReference {
    /// It may become complete.
    NotYet(String),
    /// The study has none.
    Never(String),
}

/// What candidates are compared with: the last one that was accepted, both its sets, or else the baseline.
pub(super) fn reference<'s>(study: &'s Study, spec: &MetricSpec) -> Result<Set<'s>, NoReference> {
    let state = study.state();
    let accepted =
        state.accepted.last().and_then(|accepted| state.candidates.get_key_value(&accepted.candidate));
    if let Some((id, record)) =
        accepted.filter(|(_, record)| record.validated.kind != CandidateKind::Baseline)
    {
        let mut set = Set { candidate: id, record, runs: Vec::new(), results: Vec::new() };
        for phase in [Phase::Confirm, Phase::IncumbentValidation] {
            let runs = of_phase(study, id, phase);
            let results = score::results_as_reference(&runs, spec).ok_or_else(|| unread(id))?;
            set.runs.extend(attempts::done(&runs, Side::Judged).iter().map(|attempts| attempts.last));
            set.results.extend(results);
        }
        return Ok(set);
    }
    let id = match BaselineStatus::of(study) {
        BaselineStatus::Complete(id) => id,
        BaselineStatus::Unfinished(id) => {
            return Err(NoReference::NotYet(format!(
                "the baseline, {id}, has not finished its confirm phase"
            )));
        }
        BaselineStatus::Unapproved(id, keys) => {
            let keys = keys.join(", ");
            let why = format!("runs of the baseline, {id}, count only once a person approves them: {keys}");
            return Err(NoReference::NotYet(why));
        }
        status @ (BaselineStatus::Failed(_) | BaselineStatus::NotComparable(_)) => {
            return Err(NoReference::Never(status.dead_end().unwrap_or_default()));
        }
        BaselineStatus::Missing => {
            return Err(NoReference::Never("without a baseline nothing is accepted".to_owned()));
        }
    };
    let (id, record) = state.candidates.get_key_value(&id).expect("a baseline that is complete is recorded");
    let runs = of_phase(study, id, Phase::Confirm);
    let results = score::results(&runs, spec, Side::Reference).ok_or_else(|| unread(id))?;
    let runs = attempts::done(&runs, Side::Reference).iter().map(|attempts| attempts.last).collect();
    Ok(Set { candidate: id, record, runs, results })
}

fn unread(id: &Slug) -> NoReference {
    NoReference::NotYet(format!("the metrics of a run of {id} have not been read: rlx study extract"))
}

/// A phase of a candidate that is judged; the error names a run whose metrics were not read.
pub(super) fn judged<'s>(
    study: &'s Study,
    (candidate, record): (&'s Slug, &'s CandidateRecord),
    phase: Phase,
    spec: &MetricSpec,
) -> Result<Set<'s>, String> {
    let mut set = Set { candidate, record, runs: Vec::new(), results: Vec::new() };
    for attempts in attempts::done(&of_phase(study, candidate, phase), Side::Judged) {
        let Some(result) = score::result_of(&attempts, spec, Side::Judged) else {
            return Err(attempts.last.intent.key.clone());
        };
        set.runs.push(attempts.last);
        set.results.push(result);
    }
    Ok(set)
}

pub(super) fn of_phase<'s>(study: &'s Study, id: &'s Slug, phase: Phase) -> Vec<&'s RunRecord> {
    let mut runs = study.state().runs_of_plan(id);
    runs.retain(|run| run.intent.phase == phase);
    runs
}

impl<'s> Set<'s> {
    /// This set and another of the same candidate as one.
    pub(super) fn and(&self, other: &Set<'s>) -> Set<'s> {
        let mut both = self.clone();
        both.runs.extend(&other.runs);
        both.results.extend(&other.results);
        both
    }

    /// The values of a metric, one per seed; `None` where a run has none.
    pub(super) fn metric(&self, name: &Slug) -> Vec<Option<f64>> {
        let value = |run: &&RunRecord| {
            let value = run.evidence.as_ref()?.values.get(name).copied().flatten()?;
            (run.not_evidence().is_none() && value.abs() <= score::LARGEST).then_some(value)
        };
        self.runs.iter().map(value).collect()
    }

    /// Everything about the set that a verdict is computed from, in an order that doesn't depend on how its runs ended.
    pub(super) fn inputs(&self) -> Value {
        let mut runs: Vec<(&str, Value)> =
            self.runs.iter().map(|run| (run.intent.key.as_str(), inputs_of(run))).collect();
        runs.sort_unstable_by(|one, other| one.0.cmp(other.0));
        let runs: Vec<Value> = runs.into_iter().map(|(_, run)| run).collect();
        json!({ "candidate": self.candidate, "plan": self.record.validated.plan, "runs": runs })
    }
}

fn inputs_of(run: &RunRecord) -> Value {
    let ended = run.ended.as_ref();
    let manifest: Option<Digest> = ended.and_then(|ended| ended.manifest);
    json!({
        "key": run.intent.key,
        "seed": run.intent.seed,
        "evaluation_seed": run.intent.evaluation_seed,
        "reserve": run.intent.reserve,
        "end": ended.map(|ended| ended.end),
        "not_evidence": ended.and_then(|ended| ended.not_evidence.clone()),
        "manifest": manifest,
        "values": run.evidence.as_ref().map(|evidence| &evidence.values),
        "files": run.evidence.as_ref().map(|evidence| &evidence.files),
    })
}
