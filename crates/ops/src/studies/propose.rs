//! `rlx study propose`: drafts of candidates that follow from what was found. Each one passes every gate of validation
//! before it is written.

mod evidence;

use std::collections::BTreeSet;
use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_govern::documents::{
    Candidate, CandidateKind, ExpectedEffect, MetricSpec, Runbook, Slug, StudyName, Surface, Written,
};
use rlxp_govern::gate::{Purpose, Refusal, refusals};
use rlxp_govern::plan::agreed_phases;
use rlxp_govern::propose::{PresentValue, Proposal, proposals};
use rlxp_govern::view::CandidateView;
use rlxp_spec::document::to_yaml;
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::analysis_file::check_open;
use crate::studies::extract::approved_spec;
use crate::studies::files::OpenStudy;
use crate::studies::files::read::look;
use crate::studies::present::{surfaces_in_scope, value, view};
use evidence::{Analyses, earlier, reference_runs};

/// What to propose.
#[derive(Clone, Copy, Debug)]
pub struct ProposeRequest {
    /// At most this many.
    pub count: usize,
    /// Write no files.
    pub dry_run: bool,
}

/// The proposals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposeReport {
    pub study: StudyName,
    /// The most promising first.
    pub proposals: Vec<Proposed>,
    /// Whether they were written.
    pub written: bool,
    /// Why there are not more: what rules can say nothing about, and what gates refuse.
    pub left_out: Vec<String>,
}

/// One draft.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposed {
    pub candidate: Slug,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub file: PathBuf,
    pub kind: CandidateKind,
    pub key: String,
    pub from: Value,
    pub to: Value,
    pub hypothesis: String,
    pub evidence: Vec<String>,
    pub expected_effect: ExpectedEffect,
    /// How it could be wrong.
    pub risk: String,
}

/// Writes the most promising drafts.
pub fn propose(context: &Context, study: Option<&str>, request: ProposeRequest) -> Outcome<ProposeReport> {
    let opened = OpenStudy::open_with_head(context, study)?;
    check_open(&opened)?;
    let (spec, _) = approved_spec(&opened)?;
    let surfaces = surfaces_in_scope(&opened);
    let seen = view(&opened, &surfaces)?;
    let mut left_out = Vec::new();
    let runbook = opened.study.files.runbook.typed();
    let present = present_values(&surfaces, &seen, runbook, &mut left_out);
    let analyses = Analyses::read(&opened)?;
    let tried = earlier(&opened)?;
    let runs = reference_runs(&opened);
    let found = analyses.found(&opened, spec, &runs);
    let all = proposals(&present, &found, &tried, &runs, spec);
    if all.is_empty() && !present.is_empty() {
        left_out
            .push("every step of every key was tried, or leads in a direction that was rejected".to_owned());
    }
    let mut drafts = Drafts { opened: &opened, seen, spec, analyses: &analyses, names: BTreeSet::new() };
    let mut report =
        ProposeReport { study: opened.study.name.clone(), proposals: Vec::new(), written: false, left_out };
    for proposal in all {
        if report.proposals.len() == request.count {
            break;
        }
        match drafts.draft(&proposal) {
            Ok((proposed, text)) => {
                if !request.dry_run {
                    look(context.fs.as_ref(), &opened.place.root, &proposed.file)?;
                    context.fs.create_dir_all(&opened.place.candidates())?;
                    if !context.fs.write_new_atomic(&proposed.file, text.as_bytes())? {
                        let message = format!("{} already exists", proposed.file.display());
                        return Err(Failure::usage("candidate_exists", message).hint("run the command again"));
                    }
                    report.written = true;
                }
                report.proposals.push(proposed);
            }
            Err(refused) => {
                let why: Vec<String> =
                    refused.iter().map(|refusal| format!("{}: {}", refusal.code, refusal.reason)).collect();
                report.left_out.push(format!("{} to {}: {}", proposal.key, proposal.to, why.join("; ")));
            }
        }
    }
    // The same reason for many keys is one reason.
    let mut known = BTreeSet::new();
    report.left_out.retain(|why| known.insert(why.clone()));
    Ok(report)
}

/// Every key in scope whose value can be read.
fn present_values<'s>(
    surfaces: &'s [Surface],
    seen: &CandidateView,
    runbook: Option<&Runbook>,
    left_out: &mut Vec<String>,
) -> Vec<PresentValue<'s>> {
    let mut present = Vec::new();
    for surface in surfaces {
        if surface.keys.is_empty() {
            left_out.push(format!("{}: it has no keys, and rules don't write code", surface.id));
        }
        for key in &surface.keys {
            match value(seen, runbook, surface, &key.key) {
                Some((path, value)) => present.push(PresentValue { surface, key, path, value }),
                None => {
                    left_out.push(format!("{}: its present value can't be read from {}", key.key, surface.id))
                }
            }
        }
    }
    present
}

/// Makes drafts and asks the gates about them.
struct Drafts<'a> {
    opened: &'a OpenStudy,
    /// What gates look at, with the files of every surface.
    seen: CandidateView,
    spec: &'a MetricSpec,
    analyses: &'a Analyses,
    /// Names that were given just now.
    names: BTreeSet<String>,
}

impl Drafts<'_> {
    /// A draft with its text, or why it could not be validated.
    fn draft(&mut self, proposal: &Proposal) -> Result<(Proposed, String), Vec<Refusal>> {
        let id = self.free_name(&proposal.name);
        let value = self.value(&id, proposal);
        let typed: Candidate =
            serde_json::from_value(value.clone()).expect("it has all fields of a candidate");
        let named = [&typed.requirements.reflection, &typed.requirements.probe].into_iter().flatten();
        let analyses = named.filter_map(|file| Some((file.clone(), self.analyses.digest(file)?)));
        let analyses: std::collections::BTreeMap<String, Digest> = analyses.collect();
        let text = to_yaml(&value);
        let view = CandidateView {
            file: Digest::hash(text.as_bytes()),
            file_name: id.to_string(),
            evidence_there: self.analyses.files().chain(analyses.keys().cloned()).collect(),
            analyses,
            written: Written { typed, explicit: value },
            ..self.seen.clone()
        };
        let refused = refusals(Purpose::Validate, &self.opened.study, Some(&view));
        if !refused.is_empty() {
            return Err(refused);
        }
        self.names.insert(id.to_string());
        let proposed = Proposed {
            file: self.opened.place.candidate(&id),
            candidate: id,
            kind: proposal.kind,
            key: proposal.key.clone(),
            from: proposal.from.clone(),
            to: proposal.to.clone(),
            hypothesis: proposal.hypothesis.clone(),
            evidence: proposal.evidence.clone(),
            expected_effect: self.effect(),
            risk: proposal.risk.clone(),
        };
        Ok((proposed, text))
    }

    fn effect(&self) -> ExpectedEffect {
        let MetricSpec { primary, smallest_effect, .. } = self.spec;
        ExpectedEffect {
            metric: primary.name.clone(),
            direction: primary.direction,
            size: Some(*smallest_effect),
        }
    }

    /// The file of a draft.
    fn value(&self, id: &Slug, proposal: &Proposal) -> Value {
        let name = &self.opened.study.name;
        let contract = self.opened.study.contract();
        let phases = contract.map(|contract| agreed_phases(proposal.kind, contract)).unwrap_or_default();
        let phases: Vec<Value> = phases
            .iter()
            .map(|plan| json!({ "phase": plan.phase, "seeds": plan.seeds, "wall_clock": plan.wall_clock }))
            .collect();
        let mut value = json!({
            "schema": "rlxp.candidate/1", "id": id, "task": name.task, "study": name.study,
            "kind": proposal.kind,
            "hypothesis": proposal.hypothesis,
            "changes": [{
                "surface": proposal.surface, "operation": proposal.operation, "path": proposal.path,
                "key": proposal.key, "from": proposal.from, "to": proposal.to,
            }],
            "expected_effect": self.effect(),
            "evidence": proposal.evidence,
            "knowledge": proposal.knowledge,
            "phases": phases,
            "rollback": format!("set {} back to {}", proposal.key, proposal.from),
            "risk": proposal.risk,
        });
        let requirement = match proposal.kind {
            CandidateKind::RewardTuning => {
                self.analyses.reflection().map(|file| json!({ "reflection": file }))
            }
            CandidateKind::Randomisation => {
                self.analyses.probe_of(&proposal.key).map(|file| json!({ "probe": file }))
            }
            _ => None,
        };
        if let (Some(requirement), Some(fields)) = (requirement, value.as_object_mut()) {
            fields.insert("requirements".to_owned(), requirement);
        }
        value
    }

    fn free_name(&self, name: &str) -> Slug {
        let base: String = name.chars().take(56).collect();
        let study = &self.opened.study;
        let is_free = |name: &String| {
            !self.names.contains(name)
                && !study.candidate_files.contains_key(name)
                && !study.state().candidates.contains_key(name.as_str())
        };
        let mut names =
            std::iter::once(base.clone()).chain((2..).map(|number: u64| format!("{base}-{number}")));
        let free = names.find(is_free).expect("there are more names than candidates");
        free.parse().unwrap_or_else(|_| "proposal".parse().expect("it is a plain name"))
    }
}
