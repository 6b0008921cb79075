//! The input of gates and the next step: everything that the caller read from disk at one moment. Each part
//! may be missing, and a missing part never turns a refusal into a pass.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::Digest;
use serde_json::json;

use crate::approval::{ApprovalStatus, Proofs, required, standing};
use crate::canonical;
use crate::change::{self, Applied};
use crate::documents::{
    Assurance, Base, Candidate, CandidateKind, Change, Confinement, Contract, Device, Files, StudyName,
    Written,
};
use crate::ledger::event::{AcceptedCode, INCUMBENT, PROTOCOL};
use crate::ledger::state::{CandidateRecord, RunRecord};
use crate::ledger::{Ledger, StudyState};
use crate::run_section::run_digest;
use crate::section::{Identity, Section, Target, candidate_digest, close_digest, digests};
use crate::signature::Approvers;

/// A study at one moment.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its identity, from the folder it was read from.
    pub name: StudyName,
    /// The four files.
    pub files: Files,
    pub ledger: Ledger,
    /// The approvers of the user's configuration; `None` if they can't be read.
    pub approvers: Option<Approvers>,
    /// Signatures beside the ledger, by the digest of their text.
    pub signatures: BTreeMap<Digest, String>,
    /// The findings about the repository; `None` without an adapter.
    pub adapter: Option<AdapterFacts>,
    /// Candidate files: the digest of each file's bytes. Reading all of them as documents would be slow and isn't
    /// needed to know whether they changed.
    pub candidate_files: BTreeMap<String, Digest>,
}

/// What is known of `adapter.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterFacts {
    /// The digest of its explicit values.
    pub digest: Digest,
    /// Claims whose line has changed, each as `file:line`.
    pub stale: Vec<String>,
}

/// A candidate and the facts the caller gathered about it.
#[derive(Clone, Debug)]
pub struct CandidateView {
    /// Its file.
    pub written: Written<Candidate>,
    /// The digest of its file's bytes.
    pub file: Digest,
    /// The file's name without `.yaml`.
    pub file_name: String,
    /// The paths it changes and those its patches name, as found in the repository.
    pub paths: BTreeMap<String, PathFacts>,
    /// Readable files named by its requirements and evidence.
    pub evidence_there: BTreeSet<String>,
    /// The digests of the files that its requirements name.
    pub analyses: BTreeMap<String, Digest>,
    /// Digests of the protected files in the code that runs start from; `None` if they couldn't all be read.
    pub protected: Option<BTreeMap<String, Digest>>,
    /// Protected paths whose content can't be pinned down. There are no digests then.
    pub unprotectable: Vec<Unprotectable>,
    pub machine: Option<MachineFacts>,
    /// The digest of the plan that the caller has to follow.
    pub asked_plan: Option<Digest>,
    /// The content of the files that its changes name: `None` for a missing file. Unreadable files are left out; the
    /// result of their changes is then unknown.
    pub sources: BTreeMap<String, Option<String>>,
    /// How the repository takes overrides, where it does.
    pub override_syntax: Option<String>,
    /// Values that the train command or the script has for flags that it changes, by file and key, as far as they can be
    /// read.
    pub flag_values: BTreeMap<(String, String), f64>,
    /// The contract's code, which evaluation runs; `None` if unknown.
    pub base: Option<Base>,
    /// What training and its changes start from, if candidates were accepted before: the contract's code with their
    /// changes.
    pub accepted: Option<AcceptedCode>,
    /// The program of every step that has one, by the digest of where it is and what it holds; `None` if
    /// not checked.
    pub programs: Option<BTreeMap<String, Digest>>,
    /// The runbook's inputs as found on disk; `None` if one can't be read.
    pub inputs: Option<BTreeMap<String, Digest>>,
}

impl CandidateView {
    /// Its changes of values that a command takes as flags, by number: the first of each, since later ones build on it.
    pub fn flag_changes(&self) -> Vec<(usize, &Change, &str)> {
        let mut found: Vec<(usize, &Change, &str)> = Vec::new();
        if self.override_syntax.is_none() {
            return found;
        }
        for (index, change) in self.written.typed.changes.iter().enumerate() {
            let Some(key) = change.key.as_deref().filter(|_| !change::holds_keys(&change.path)) else {
                continue;
            };
            if !found.iter().any(|(_, other, known)| other.path == change.path && *known == key) {
                found.push((index, change, key));
            }
        }
        found
    }

    /// The result of its changes, or every change that can't be made.
    pub fn applied(&self) -> Result<Applied, Vec<(usize, String)>> {
        let changes = &self.written.typed.changes;
        let unread: Vec<(usize, String)> = changes
            .iter()
            .enumerate()
            .filter(|(_, change)| !self.sources.contains_key(&change.path))
            .map(|(index, change)| (index, format!("{} can't be read as text", change.path)))
            .collect();
        if !unread.is_empty() {
            return Err(unread);
        }
        let earlier = self.accepted.as_ref().map(|code| code.arguments.as_slice()).unwrap_or_default();
        change::apply_after(changes, self.override_syntax.as_deref(), earlier, &|path| {
            self.sources.get(path).cloned().flatten()
        })
    }
}

/// A protected path that can't be protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprotectable {
    pub path: String,
    pub why: WhyNot,
}

/// Why a path can't be protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// It is a link that leads out of the repository, or nowhere.
    LinkOutside { target: String },
    /// It is a link to something in the repository that isn't protected.
    LinkToUnprotected { target: String },
    /// It is too large to be read.
    TooLarge { bytes: u64 },
}

/// What a path of the repository is, found without following links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFacts {
    pub exists: bool,
    /// The first part of it that is a link.
    pub link: Option<String>,
    /// Whether it is a plain file.
    pub is_file: bool,
    /// Another path that differs by upper and lower case only.
    pub same_but_case: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Whether it has GPUs.
    pub device: Device,
    /// How many.
    pub gpus: u32,
    /// Free bytes where runs are kept.
    pub disk: u64,
    /// The strongest confinement it offers.
    pub confinement: Confinement,
}

impl Study {
    /// The state recorded in the ledger.
    pub fn state(&self) -> &StudyState {
        &self.ledger.state
    }

    /// The contract, when it can be read.
    pub fn contract(&self) -> Option<&Contract> {
        self.files.contract.typed()
    }

    /// How results are evaluated, as a digest. That each run gets a fresh evaluation seed is a part of it: results of
    /// versions that reused training's seed are not comparable.
    pub(crate) fn protocol(&self) -> Option<Digest> {
        let runbook = &self.files.runbook.get()?.explicit;
        let metric_spec = &self.files.metric_spec.get()?.explicit;
        Some(canonical::digest(&json!({
            "protocol": metric_spec.get("protocol"),
            "eval": runbook.get("eval"),
            "evaluation_seed": "one per run",
        })))
    }

    /// The parts of every candidate's plan that are the same for all of them, named as
    /// [`Plan`](crate::plan::Plan) names them; `None` for a part that is currently unavailable.
    pub fn shared_parts(&self) -> BTreeMap<String, Option<Digest>> {
        let digests = self.digests();
        let mut parts: BTreeMap<String, Option<Digest>> = Section::CONTRACT
            .into_iter()
            .map(|section| (format!("section:{section}"), digests.get(&section).copied()))
            .collect();
        parts.insert("adapter".into(), self.adapter.as_ref().map(|adapter| adapter.digest));
        parts.insert(PROTOCOL.into(), self.protocol());
        parts.insert(INCUMBENT.into(), Some(canonical::digest(&json!(self.state().incumbent))));
        parts
    }

    /// Why a candidate no longer matches its validation, as far as can be known without reading the
    /// repository. `shared` is what [`Study::shared_parts`] says.
    pub fn stale(
        &self,
        record: &CandidateRecord,
        shared: &BTreeMap<String, Option<Digest>>,
    ) -> Option<String> {
        let validated = &record.validated;
        match self.candidate_files.get(validated.candidate.as_str()) {
            None => Some("its file is missing".to_owned()),
            Some(file) if *file != validated.file => Some("its file has changed".to_owned()),
            Some(_) => {
                let differs = |(name, digest): &(&String, &Option<Digest>)| {
                    validated.parts.get(*name) != digest.as_ref()
                };
                let names: Vec<&str> = shared.iter().filter(differs).map(|(name, _)| name.as_str()).collect();
                let changed = format!("files it was validated with have changed: {}", names.join(", "));
                (!names.is_empty()).then_some(changed)
            }
        }
    }

    /// The commit that the contract starts from, as it is written.
    pub fn named_commit(&self) -> Option<&str> {
        self.contract()?.baseline.commit.as_deref()
    }

    /// What a candidate of this kind trains from, if that isn't the contract's code alone: the present incumbent's code.
    /// A baseline is the contract's code, whenever it runs.
    pub fn training_code(&self, kind: CandidateKind) -> Option<&AcceptedCode> {
        match kind {
            CandidateKind::Baseline => None,
            _ => self.state().accepted_code(),
        }
    }

    /// The code that everything from now on is evaluated with, and that training starts from before the first
    /// acceptance: what the contract names, or else what the first candidate that was launched started from. `None`
    /// when nothing was approved or launched yet, and when the contract doesn't name a commit.
    pub fn pinned_base(&self) -> Option<Base> {
        match self.named_commit() {
            Some(text) => Base::of_commit(text),
            None => self.named_snapshot().map(Base::Snapshot).or_else(|| self.launched_base()),
        }
    }

    /// The digest of the folder that the contract starts from, where it names one.
    fn named_snapshot(&self) -> Option<Digest> {
        self.contract()?.baseline.snapshot
    }

    /// The code that the first candidate that ran beyond its smoke phase started from. Smoke runs are never evidence,
    /// so the code may still be fixed after them.
    pub fn launched_base(&self) -> Option<Base> {
        let state = self.state();
        let is_measured = |record: &&CandidateRecord| {
            record.runs.iter().filter_map(|key| state.runs.get(key)).any(RunRecord::is_measured)
        };
        let launched = state.candidates.values().filter(is_measured);
        let based = launched.filter(|record| record.validated.base.is_some());
        based.min_by_key(|record| record.order)?.validated.base.clone()
    }

    /// What all digests have in common; nothing before there is a first record.
    pub fn identity(&self) -> Option<Identity> {
        let opened = self.state().opened.as_ref()?;
        Some(Identity { study: opened.id.clone(), approvers: opened.approvers.iter().cloned().collect() })
    }

    /// The digest of every section that can be approved.
    pub fn digests(&self) -> BTreeMap<Section, Digest> {
        self.identity().map(|identity| digests(&identity, &self.files)).unwrap_or_default()
    }

    /// The digest of a candidate within the agreement.
    pub fn candidate_digest(&self, candidate: &Written<Candidate>) -> Option<Digest> {
        Some(candidate_digest(*self.digests().get(&Section::Experiment)?, &candidate.explicit))
    }

    /// What approvals are checked against.
    pub fn proofs(&self) -> Proofs<'_> {
        Proofs { approvers: self.approvers.as_ref(), signatures: &self.signatures }
    }

    /// The minimum assurance: what the contract requires, and never less than what the study was opened
    /// with, so that editing the contract can't lower the bar. The strongest when unknown.
    pub fn required(&self) -> Assurance {
        let contract = self.contract().map_or(Assurance::Signature, required);
        let floor = self.state().opened.as_ref().map_or(Assurance::Signature, |opened| opened.assurance);
        contract.max(floor)
    }

    /// Whether a signature can ever count: only keys that were listed when the study was opened do.
    pub fn can_be_signed(&self) -> bool {
        self.state().opened.as_ref().is_some_and(|opened| !opened.approvers.is_empty())
    }

    /// The status of the approval of every section.
    pub fn standings(&self) -> BTreeMap<Section, ApprovalStatus> {
        let digests = self.digests();
        let of = |section: Section| {
            let now = digests.get(&section).copied();
            standing(&Target::Section(section), now, self.required(), self.state(), self.proofs())
        };
        Section::ALL.into_iter().map(|section| (section, of(section))).collect()
    }

    /// The status of the approval of a candidate.
    pub fn candidate_standing(&self, candidate: &Written<Candidate>) -> ApprovalStatus {
        let target = Target::Candidate(candidate.typed.id.clone());
        standing(&target, self.candidate_digest(candidate), self.required(), self.state(), self.proofs())
    }

    /// The status of the approval that makes a run count.
    pub fn run_standing(&self, run: &RunRecord) -> ApprovalStatus {
        let now = self.identity().and_then(|identity| run_digest(&identity, run));
        let target = Target::Run(run.intent.key.clone());
        standing(&target, now, self.required(), self.state(), self.proofs())
    }

    /// Whether the loop was ever entered.
    pub fn was_entered(&self) -> bool {
        let entered = Target::Section(Section::LoopEntry);
        self.state().approvals.iter().any(|approval| approval.approved.targets.contains_key(&entered))
    }

    /// The status of the approval to close the study. Closing removes the protection of the folder, so once
    /// the loop was entered it needs a person's approval.
    pub fn close_standing(&self) -> ApprovalStatus {
        let now = self.identity().map(|identity| close_digest(&identity));
        // A contract that can't be read must not keep a person from closing what went wrong.
        let floor = self.state().opened.as_ref().map_or(Assurance::Signature, |opened| opened.assurance);
        let needed = self.contract().map_or(floor, |_| self.required());
        standing(&Target::Close, now, needed, self.state(), self.proofs())
    }

    /// Whether the loop was entered and no person closed the study: from then on, only rlx's launch path
    /// may run things in this folder. A void approval doesn't open the folder again.
    pub fn is_open(&self) -> bool {
        // A ledger that can't be read to its end may hide what matters here.
        if !self.ledger.is_whole() {
            return true;
        }
        let closed = self.state().closed.is_some() && self.close_standing().is_given();
        self.was_entered() && !closed
    }
}
