//! The format of a recording, the study built from it, and everything reported about that study.

use std::collections::BTreeMap;

use rlxp_govern::approval::standing;
use rlxp_govern::documents::{Files, Reading, StudyName, Written};
use rlxp_govern::first_run::drafts_of;
use rlxp_govern::ledger::read;
use rlxp_govern::next::next;
use rlxp_govern::queue::Queue;
use rlxp_govern::section::Target;
use rlxp_govern::signature::Approvers;
use rlxp_govern::view::{AdapterFacts, Study};
use rlxp_spec::Source;
use rlxp_spec::document::Document;
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A study at one moment, and what was reported about it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recorded {
    pub(crate) task: String,
    pub(crate) study: String,
    /// Each as it is on disk; `None` where there is no file.
    pub(crate) contract: Option<String>,
    pub(crate) metric_spec: Option<String>,
    pub(crate) surface_map: Option<String>,
    pub(crate) runbook: Option<String>,
    /// Whole lines, without their ends.
    pub(crate) ledger: Vec<String>,
    /// The text after the last complete line.
    pub(crate) torn: String,
    /// The list of approvers; `None` where it can't be read.
    pub(crate) approvers: Option<String>,
    pub(crate) signatures: BTreeMap<Digest, String>,
    pub(crate) adapter: Option<Adapter>,
    pub(crate) candidate_files: BTreeMap<String, Digest>,
    pub(crate) expected: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adapter {
    pub(crate) digest: Digest,
    pub(crate) stale: Vec<String>,
}

impl Recorded {
    /// The study, from what is recorded and nothing else.
    pub(crate) fn study(&self) -> Study {
        let lines: String = self.ledger.iter().map(|line| format!("{line}\n")).collect();
        let adapter = self.adapter.as_ref();
        Study {
            name: StudyName { task: self.task.parse().unwrap(), study: self.study.parse().unwrap() },
            files: Files {
                contract: reading("contract.yaml", self.contract.as_deref()),
                metric_spec: reading("metric_spec.yaml", self.metric_spec.as_deref()),
                surface_map: reading("surface_map.yaml", self.surface_map.as_deref()),
                runbook: reading("runbook.yaml", self.runbook.as_deref()),
                override_syntax: None,
            },
            ledger: read((lines + &self.torn).as_bytes()),
            approvers: self.approvers.as_ref().map(|text| Approvers::parse(text).unwrap()),
            signatures: self.signatures.clone(),
            adapter: adapter.map(|facts| AdapterFacts { digest: facts.digest, stale: facts.stale.clone() }),
            candidate_files: self.candidate_files.clone(),
        }
    }
}

fn reading<T>(name: &str, text: Option<&str>) -> Reading<T>
where
    T: serde::de::DeserializeOwned + schemars::JsonSchema,
{
    let Some(text) = text else { return Reading::Missing };
    let read = Document::read(Source::new(name, text)).and_then(|document| {
        let typed = document.typed::<T>()?;
        Ok(Written { typed, explicit: document.value().clone() })
    });
    match read {
        Ok(written) => Reading::Read(Box::new(written)),
        // The wording of a problem is not recorded here.
        Err(_) => Reading::Broken(vec!["it can't be read".into()]),
    }
}

/// The next step, the queue, and everything that the ledger adds up to.
pub(crate) fn said_of(study: &Study) -> Value {
    let state = study.state();
    let queue = Queue::for_study(study);
    let jobs: Vec<Value> = queue
        .jobs
        .iter()
        .map(|job| json!({ "candidate": job.candidate, "phase": job.phase, "stand": job.stand }))
        .collect();
    let candidates: BTreeMap<String, Value> = state
        .candidates
        .iter()
        .map(|(id, record)| {
            let now = Some(record.validated.digest);
            let target = Target::Candidate(id.clone());
            let approval = standing(&target, now, study.required(), state, study.proofs());
            let said = json!({
                "state": record.state,
                "revision": record.validated.revision,
                "phases": record.phases,
                "runs": record.runs,
                "approval": approval,
            });
            (id.to_string(), said)
        })
        .collect();
    let runs: BTreeMap<&String, Value> = state
        .runs
        .iter()
        .map(|(key, run)| {
            let values = run.evidence.as_ref().map(|evidence| &evidence.values);
            (key, json!({ "state": run.state, "seed": run.intent.seed, "values": values }))
        })
        .collect();
    let seeds: BTreeMap<String, Value> =
        state.used_seeds.iter().map(|(role, seeds)| (role.to_string(), json!(seeds))).collect();
    let standings: BTreeMap<String, Value> = study
        .standings()
        .into_iter()
        .map(|(section, standing)| (section.to_string(), json!(standing)))
        .collect();
    let said = json!({
        "next": next(study),
        "queue": jobs,
        "drafts": drafts_of(study),
        "standings": standings,
        "is_open": study.is_open(),
        "ledger": {
            "records": study.ledger.records.len(),
            "head": study.ledger.head(),
            "torn": study.ledger.torn,
            // What the JSON parser reports about a damaged line isn't rlx's wording.
            "problem": study.ledger.problem.as_ref().map(|problem| json!([problem.code, problem.line])),
        },
        "candidates": candidates,
        "runs": runs,
        "verdicts": state.judged,
        "accepted": state.accepted.iter().map(|one| (&one.candidate, one.score)).collect::<Vec<_>>(),
        "incumbent": state.incumbent,
        "incumbent_score": state.incumbent_score,
        "spent": state.tally.spent,
        "reserved": state.tally.reserved,
        "used_seeds": seeds,
        "failures_in_a_row": state.failures_in_a_row,
        "misses_in_a_row": state.misses_in_a_row,
        "last_judged": state.last_judged,
        "last_reported": state.last_reported,
        "handed_off": state.handed_off.as_ref().map(|(seq, _)| seq),
        "closed": state.closed,
    });
    // Through text, so that it is what a file would hold.
    serde_json::from_str(&said.to_string()).unwrap()
}
