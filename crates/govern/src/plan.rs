//! Everything a launch would use, in named parts, each by its digest. Two plans are the same when every part is; when
//! they differ, the names say in what.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_spec::document::{add_value, set_value, whole_value};
use rlxp_types::Digest;
use serde_json::{Value, json};

use crate::budget::reservation;
use crate::canonical;
use crate::change::{Applied, holds_keys};
use crate::documents::{Candidate, CandidateKind, Contract, Phase, PhasePlan, Seconds};
use crate::ledger::event::PlannedPhase;
use crate::probe;
use crate::section::{Section, candidate_digest};
use crate::view::{CandidateView, Study};

/// The name of the part that holds the programs of all steps.
pub(crate) const PROGRAMS: &str = "programs";
/// The name of the part that holds the code that training and evaluation start from.
pub const CODE: &str = "code";
/// The name of the part that holds the protected files.
pub const PROTECTED: &str = "protected_files";
pub use crate::ledger::event::{CHANGES, INCUMBENT, PROTOCOL};

/// What a candidate's runs would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub parts: BTreeMap<String, Digest>,
}

impl Plan {
    /// The plan of a candidate; `None` if one of its parts is missing.
    pub fn for_candidate(study: &Study, candidate: &CandidateView) -> Option<Self> {
        let digests = study.digests();
        let mut parts: BTreeMap<String, Digest> = Section::CONTRACT
            .into_iter()
            .map(|section| Some((format!("section:{section}"), *digests.get(&section)?)))
            .collect::<Option<_>>()?;
        let experiment = *digests.get(&Section::Experiment)?;
        parts.insert("candidate".into(), candidate_digest(experiment, &candidate.written.explicit));
        parts.insert("adapter".into(), study.adapter.as_ref()?.digest);
        parts.insert(PROTECTED.into(), canonical::digest_of(candidate.protected.as_ref()?));
        parts.insert(PROTOCOL.into(), study.protocol()?);
        parts.insert(CODE.into(), code(candidate)?);
        parts.insert(CHANGES.into(), changes(candidate)?);
        parts.insert(PROGRAMS.into(), canonical::digest_of(candidate.programs.as_ref()?));
        parts.insert("inputs".into(), canonical::digest_of(candidate.inputs.as_ref()?));
        let steps = study.files.runbook.typed()?.steps();
        let environment: BTreeMap<&str, &[String]> =
            steps.map(|(name, step)| (name.as_str(), step.environment.as_slice())).collect();
        parts.insert("environment".into(), canonical::digest_of(&environment));
        let incumbent = &study.state().incumbent;
        parts.insert(INCUMBENT.into(), canonical::digest(&json!(incumbent)));
        Some(Self { parts })
    }

    pub fn digest(&self) -> Digest {
        canonical::digest_of(&self.parts)
    }

    /// Names of the parts in which two plans differ.
    pub fn differences(one: &BTreeMap<String, Digest>, other: &BTreeMap<String, Digest>) -> Vec<String> {
        let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
    }
}

/// The code that training and evaluation start from, as a digest; `None` if it is unknown.
pub fn code(candidate: &CandidateView) -> Option<Digest> {
    let base = candidate.base.as_ref()?;
    Some(match &candidate.accepted {
        None => canonical::digest_of(base),
        Some(accepted) => canonical::digest(&json!({ "evaluation": base, "training": accepted })),
    })
}

/// The result of a candidate's changes, as a digest: what its runs train with, however it is written. `None` if they
/// can't be made.
pub fn changes(candidate: &CandidateView) -> Option<Digest> {
    let applied = candidate.applied().ok()?.digest();
    match candidate.written.typed.arguments.as_slice() {
        [] => Some(applied),
        arguments => Some(canonical::digest(&json!({ "changes": applied, "arguments": arguments }))),
    }
}

/// What a candidate's runs train with, as a digest that is the same whichever way leads there: a key set in its file, by
/// a patch of that file or by an argument, and a file with keys in another layout. `None` if its changes can't be made.
pub fn effect(candidate: &CandidateView) -> Option<Digest> {
    let Applied { files, arguments, given } = candidate.applied().ok()?;
    // Content of files as it would be with the values that arguments give.
    let mut texts: BTreeMap<String, Option<String>> =
        files.into_iter().map(|(path, change)| (path, change.after)).collect();
    let mut not_in_files = BTreeMap::new();
    for ((path, key), value) in given {
        let before = || candidate.sources.get(&path).cloned().flatten();
        let text = texts.get(&path).cloned().unwrap_or_else(before);
        let with_value = text.filter(|_| holds_keys(&path)).and_then(|text| {
            set_value(&text, &path, &key, &value).or_else(|_| add_value(&text, &path, &key, &value)).ok()
        });
        match with_value {
            Some(text) => drop(texts.insert(path, Some(text))),
            None => drop(not_in_files.insert(format!("{path}: {key}"), numbers_alike(value))),
        }
    }
    let content = |path: &str, text: &Option<String>| match text {
        Some(text) => match whole_value(text, path).ok().filter(|_| holds_keys(path)) {
            Some(value) => json!({ "value": numbers_alike(value) }),
            None => json!({ "text": Digest::hash(text.as_bytes()) }),
        },
        None => json!(null),
    };
    // A file that has the value it had before is not changed.
    let is_changed = |path: &str, after: &Value| {
        candidate.sources.get(path).is_none_or(|before| content(path, before) != *after)
    };
    let files: BTreeMap<&String, Value> = texts
        .iter()
        .map(|(path, text)| (path, content(path, text)))
        .filter(|(path, after)| is_changed(path, after))
        .collect();
    // Those of keys are in the files.
    let own = candidate.written.typed.arguments.iter().filter(|word| !arguments.contains(word));
    let own: Vec<&String> = own.collect();
    Some(canonical::digest(&json!({ "files": files, "values": not_in_files, "arguments": own })))
}

/// The same value with every number as a floating-point one: 3 and 3.0 are the same.
fn numbers_alike(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(numbers_alike).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, numbers_alike(value))).collect(),
        other => other,
    }
}

/// The phases that a candidate of this kind goes through, with seeds and limits as the contract says.
pub fn agreed_phases(kind: CandidateKind, contract: &Contract) -> Vec<PhasePlan> {
    let phases: &[Phase] = match kind {
        CandidateKind::Smoke => &[Phase::Smoke],
        CandidateKind::Probe => &[Phase::Short],
        CandidateKind::Baseline => &[Phase::Smoke, Phase::Confirm],
        CandidateKind::Incumbent => &[Phase::IncumbentValidation],
        _ => &[Phase::Smoke, Phase::Short, Phase::Confirm, Phase::IncumbentValidation],
    };
    let schedule = contract.statistics.schedule();
    let seeds = |phase: Phase| match (phase, kind.is_empty_change()) {
        (Phase::Smoke, _) => 1,
        (Phase::Short, _) => schedule.screen_seeds,
        (Phase::Confirm | Phase::IncumbentValidation, true) => schedule.incumbent_seeds,
        // Both are the most that it can need; looks decide how many of them run.
        (Phase::Confirm, false) => schedule.last_look(),
        (Phase::IncumbentValidation, false) => schedule.most_audit_seeds(),
    };
    let wall_clock = contract.budget.per_run.wall_clock;
    let plan = |phase: &Phase| PhasePlan {
        phase: *phase,
        seeds: seeds(*phase),
        wall_clock,
        gpu_time: Seconds::default(),
    };
    phases.iter().map(plan).collect()
}

/// The same for one candidate: a probe has the seeds of the short phase at each of its values.
pub fn phases_for(study: &Study, candidate: &Candidate, contract: &Contract) -> Vec<PhasePlan> {
    let mut plans = agreed_phases(candidate.kind, contract);
    if let Some(parameter) = probe::parameter(study, candidate) {
        let values = (parameter.values.len() as u64).max(1);
        plans.iter_mut().for_each(|plan| plan.seeds = plan.seeds.saturating_mul(values));
    }
    plans
}

/// The phases of a candidate as they are recorded.
pub fn phases(study: &Study, candidate: &CandidateView) -> Vec<PlannedPhase> {
    let budget = study.contract().map(|contract| &contract.budget);
    let planned = |plan: &PhasePlan| PlannedPhase {
        phase: plan.phase,
        seeds: plan.seeds,
        reserve: budget.map(|budget| reservation(plan, budget)),
    };
    candidate.written.typed.phases.iter().map(planned).collect()
}
