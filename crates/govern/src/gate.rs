//! Gates: each looks at a study (and a candidate) and answers pass or fail. All failures are reported at
//! once, each with a code, the reason, the evidence and the command that would help. Missing input fails.
//!
//! Gates are monotonic: removing any part of their input may turn a pass into a failure, never a failure
//! into a pass.

mod agreement;
mod change;
mod code;
mod detaching;
mod launch;
mod phases;
mod requirements;
mod scope;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::approval::ApprovalStatus;
use crate::documents::Exception;
use crate::plan::Plan;
use crate::section::Section;
use crate::view::{CandidateView, Study};

pub use crate::budget::reservation;
pub use crate::gate_words::{GateName, RefusalCode};
pub use agreement::metric_disagreements;

/// Why something isn't allowed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refusal {
    pub gate: GateName,
    /// A stable code for the problem.
    pub code: RefusalCode,
    /// The section whose approval could waive it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Section>,
    /// The problem as a sentence.
    pub reason: String,
    /// The evidence: a file, a key, a record.
    pub evidence: String,
    /// The command that would help.
    pub help: String,
}

/// What is to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Propose and plan candidates
    Plan,
    /// Call a candidate validated
    Validate,
    /// Start its runs
    Launch,
}

/// A gate's name and the question it answers.
#[derive(Clone, Copy)]
struct Gate {
    name: GateName,
    /// The first purpose that needs it: a launch needs all of them.
    from: Purpose,
    check: fn(&Question<'_>, &mut Answers),
}

pub(crate) struct Question<'a> {
    pub(crate) study: &'a Study,
    pub(crate) candidate: Option<&'a CandidateView>,
    pub(crate) purpose: Purpose,
    /// The status of every approval; computed once, since checking signatures is slow.
    pub(crate) standings: BTreeMap<Section, ApprovalStatus>,
    /// What the candidate's runs would use, if known.
    pub(crate) plan: Option<Plan>,
}

/// Collects refusals.
pub(crate) struct Answers {
    gate: GateName,
    refusals: Vec<Refusal>,
}

impl Answers {
    /// Adds a refusal that can't be waived.
    pub(crate) fn refuse(
        &mut self,
        code: RefusalCode,
        reason: impl Into<String>,
        evidence: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, None, reason.into(), evidence.into(), help.into());
    }

    /// Adds a refusal that the contract can waive, with the approval of `section`.
    pub(crate) fn refuse_unless_excepted(
        &mut self,
        code: RefusalCode,
        section: Section,
        reason: impl Into<String>,
        evidence: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Some(section), reason.into(), evidence.into(), help.into());
    }

    fn push(
        &mut self,
        code: RefusalCode,
        section: Option<Section>,
        reason: String,
        evidence: String,
        help: String,
    ) {
        self.refusals.push(Refusal { gate: self.gate, code, section, reason, evidence, help });
    }
}

/// In the order in which they are answered.
const GATES: [Gate; 31] = [
    Gate { name: GateName::FilesAgree, from: Purpose::Plan, check: agreement::files_agree },
    Gate { name: GateName::Identity, from: Purpose::Plan, check: agreement::identity },
    Gate { name: GateName::ContractComplete, from: Purpose::Plan, check: agreement::contract_complete },
    Gate { name: GateName::Approvals, from: Purpose::Plan, check: agreement::approvals },
    Gate { name: GateName::PlanAllowed, from: Purpose::Plan, check: agreement::plan_allowed },
    Gate { name: GateName::ExecuteAllowed, from: Purpose::Launch, check: agreement::execute_allowed },
    Gate { name: GateName::LoopEntry, from: Purpose::Launch, check: agreement::loop_entry },
    Gate { name: GateName::AdapterFresh, from: Purpose::Validate, check: agreement::adapter_fresh },
    Gate { name: GateName::Scope, from: Purpose::Validate, check: scope::scope },
    Gate { name: GateName::Protected, from: Purpose::Validate, check: scope::protected },
    Gate { name: GateName::Ranges, from: Purpose::Validate, check: change::ranges },
    Gate { name: GateName::CandidateComplete, from: Purpose::Validate, check: change::candidate_complete },
    Gate { name: GateName::OneChange, from: Purpose::Validate, check: change::one_change },
    Gate { name: GateName::Base, from: Purpose::Validate, check: code::base },
    Gate { name: GateName::ChangeApplies, from: Purpose::Validate, check: code::change_applies },
    Gate { name: GateName::Inputs, from: Purpose::Validate, check: code::inputs },
    Gate { name: GateName::Programs, from: Purpose::Validate, check: code::programs },
    Gate { name: GateName::Phases, from: Purpose::Validate, check: phases::phases },
    Gate { name: GateName::NotTried, from: Purpose::Validate, check: phases::not_tried },
    Gate { name: GateName::Budget, from: Purpose::Validate, check: launch::budget },
    Gate { name: GateName::Hardware, from: Purpose::Validate, check: launch::hardware },
    Gate { name: GateName::Baseline, from: Purpose::Validate, check: launch::baseline },
    Gate { name: GateName::Protocol, from: Purpose::Validate, check: agreement::protocol },
    Gate { name: GateName::Seeds, from: Purpose::Validate, check: launch::seeds },
    Gate { name: GateName::Reflection, from: Purpose::Validate, check: requirements::reflection },
    Gate { name: GateName::Probe, from: Purpose::Validate, check: requirements::probed },
    Gate {
        name: GateName::EnvironmentGeneration,
        from: Purpose::Validate,
        check: requirements::environment_generation,
    },
    Gate { name: GateName::NoDetaching, from: Purpose::Validate, check: detaching::no_detaching },
    Gate { name: GateName::PlanDigest, from: Purpose::Launch, check: launch::plan_digest },
    Gate { name: GateName::NoLiveRun, from: Purpose::Launch, check: launch::no_live_run },
    Gate { name: GateName::Confinement, from: Purpose::Launch, check: launch::confinement },
];

/// Names of all gates that `purpose` passes.
pub fn names(purpose: Purpose) -> Vec<GateName> {
    applying(purpose).map(|gate| gate.name).collect()
}

fn applying(purpose: Purpose) -> impl Iterator<Item = &'static Gate> {
    GATES.iter().filter(move |gate| gate.from as u8 <= purpose as u8)
}

/// Every reason why not; empty when it is allowed. Exceptions of the contract apply only while their
/// section's approval holds.
pub fn refusals(purpose: Purpose, study: &Study, candidate: Option<&CandidateView>) -> Vec<Refusal> {
    // Planning doesn't concern a particular candidate, so the given one is ignored.
    let candidate = candidate.filter(|_| purpose != Purpose::Plan);
    let plan = candidate.and_then(|candidate| Plan::for_candidate(study, candidate));
    let question = Question { study, candidate, purpose, standings: study.standings(), plan };
    let mut all = Vec::new();
    for gate in applying(purpose) {
        let mut answers = Answers { gate: gate.name, refusals: Vec::new() };
        (gate.check)(&question, &mut answers);
        all.extend(answers.refusals);
    }
    let exceptions: &[Exception] = study.contract().map_or(&[], |contract| &contract.exceptions);
    all.retain(|refusal| {
        let excepted = exceptions.iter().any(|exception| {
            Some(exception.section) == refusal.section
                && exception.excepts(refusal.code)
                && question.standings.get(&exception.section).is_some_and(|standing| standing.is_given())
        });
        !excepted
    });
    all
}
