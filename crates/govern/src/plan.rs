//! Everything a launch would use, in named parts, each by its digest. Two plans are the same when every part is; when
//! they differ, the names say in what.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::Digest;
use serde_json::json;

use crate::budget::reservation;
use crate::canonical;
use crate::documents::PhasePlan;
use crate::ledger::event::PlannedPhase;
use crate::section::{Section, candidate_digest};
use crate::view::{CandidateView, Study};

/// The name of the part that holds how a result is evaluated.
pub const PROTOCOL: &str = "protocol";
/// The name of the part that holds the programs of all steps.
pub(crate) const PROGRAMS: &str = "programs";
/// The name of the part that holds the protected files.
pub const PROTECTED: &str = "protected_files";

/// What a candidate's runs would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub parts: BTreeMap<String, Digest>,
}

impl Plan {
    /// The plan of a candidate; `None` if one of its parts is missing.
    pub fn for_candidate(study: &Study, candidate: &CandidateView) -> Option<Self> {
        let digests = study.digests();
        let runbook = &study.files.runbook.get()?.explicit;
        let metric_spec = &study.files.metric_spec.get()?.explicit;
        let mut parts: BTreeMap<String, Digest> = Section::CONTRACT
            .into_iter()
            .map(|section| Some((format!("section:{section}"), *digests.get(&section)?)))
            .collect::<Option<_>>()?;
        let experiment = *digests.get(&Section::Experiment)?;
        parts.insert("candidate".into(), candidate_digest(experiment, &candidate.written.explicit));
        parts.insert("adapter".into(), study.adapter.as_ref()?.digest);
        parts.insert(PROTECTED.into(), canonical::digest_of(candidate.protected.as_ref()?));
        let protocol = json!({ "protocol": metric_spec.get("protocol"), "eval": runbook.get("eval") });
        parts.insert(PROTOCOL.into(), canonical::digest(&protocol));
        parts.insert("code".into(), canonical::digest_of(candidate.base.as_ref()?));
        parts.insert("changes".into(), candidate.applied().ok()?.digest());
        parts.insert(PROGRAMS.into(), canonical::digest_of(candidate.programs.as_ref()?));
        parts.insert("inputs".into(), canonical::digest_of(candidate.inputs.as_ref()?));
        let steps = study.files.runbook.typed()?.steps();
        let environment: BTreeMap<&str, &[String]> =
            steps.map(|(name, step)| (name.as_str(), step.environment.as_slice())).collect();
        parts.insert("environment".into(), canonical::digest_of(&environment));
        let incumbent = &study.state().incumbent;
        parts.insert("incumbent".into(), canonical::digest(&json!(incumbent)));
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
