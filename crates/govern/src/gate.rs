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

/// Why something isn't allowed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refusal {
    pub gate: &'static str,
    /// A stable code for the problem.
    pub code: &'static str,
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
    name: &'static str,
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
    gate: &'static str,
    refusals: Vec<Refusal>,
}

impl Answers {
    /// Adds a refusal that can't be waived.
    pub(crate) fn refuse(
        &mut self,
        code: &'static str,
        reason: impl Into<String>,
        evidence: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, None, reason.into(), evidence.into(), help.into());
    }

    /// Adds a refusal that the contract can waive, with the approval of `section`.
    pub(crate) fn refuse_unless_excepted(
        &mut self,
        code: &'static str,
        section: Section,
        reason: impl Into<String>,
        evidence: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Some(section), reason.into(), evidence.into(), help.into());
    }

    fn push(
        &mut self,
        code: &'static str,
        section: Option<Section>,
        reason: String,
        evidence: String,
        help: String,
    ) {
        self.refusals.push(Refusal { gate: self.gate, code, section, reason, evidence, help });
    }
}

/// In the order in which they are answered.
const GATES: [Gate; 29] = [
    Gate { name: "files_agree", from: Purpose::Plan, check: agreement::files_agree },
    Gate { name: "identity", from: Purpose::Plan, check: agreement::identity },
    Gate { name: "contract_complete", from: Purpose::Plan, check: agreement::contract_complete },
    Gate { name: "approvals", from: Purpose::Plan, check: agreement::approvals },
    Gate { name: "plan_allowed", from: Purpose::Plan, check: agreement::plan_allowed },
    Gate { name: "execute_allowed", from: Purpose::Launch, check: agreement::execute_allowed },
    Gate { name: "loop_entry", from: Purpose::Launch, check: agreement::loop_entry },
    Gate { name: "adapter_fresh", from: Purpose::Validate, check: agreement::adapter_fresh },
    Gate { name: "scope", from: Purpose::Validate, check: scope::scope },
    Gate { name: "protected", from: Purpose::Validate, check: scope::protected },
    Gate { name: "ranges", from: Purpose::Validate, check: change::ranges },
    Gate { name: "candidate_complete", from: Purpose::Validate, check: change::candidate_complete },
    Gate { name: "one_change", from: Purpose::Validate, check: change::one_change },
    Gate { name: "base", from: Purpose::Validate, check: code::base },
    Gate { name: "change_applies", from: Purpose::Validate, check: code::change_applies },
    Gate { name: "inputs", from: Purpose::Validate, check: code::inputs },
    Gate { name: "programs", from: Purpose::Validate, check: code::programs },
    Gate { name: "budget", from: Purpose::Validate, check: launch::budget },
    Gate { name: "hardware", from: Purpose::Validate, check: launch::hardware },
    Gate { name: "baseline", from: Purpose::Validate, check: launch::baseline },
    Gate { name: "protocol", from: Purpose::Validate, check: agreement::protocol },
    Gate { name: "seeds", from: Purpose::Validate, check: launch::seeds },
    Gate { name: "reflection", from: Purpose::Validate, check: requirements::reflection },
    Gate { name: "probe", from: Purpose::Validate, check: requirements::probe },
    Gate {
        name: "environment_generation",
        from: Purpose::Validate,
        check: requirements::environment_generation,
    },
    Gate { name: "no_detaching", from: Purpose::Validate, check: detaching::no_detaching },
    Gate { name: "plan_digest", from: Purpose::Launch, check: launch::plan_digest },
    Gate { name: "no_live_run", from: Purpose::Launch, check: launch::no_live_run },
    Gate { name: "confinement", from: Purpose::Launch, check: launch::confinement },
];

/// Names of all gates that `purpose` passes.
pub fn names(purpose: Purpose) -> Vec<&'static str> {
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
                && exception.code == refusal.code
                && !exception.reason.trim().is_empty()
                && question.standings.get(&exception.section).is_some_and(|standing| standing.is_given())
        });
        !excepted
    });
    all
}
