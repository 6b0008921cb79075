//! The status of approvals: given, void, too weak, not proven, not provable here, or missing. Computed from the ledger
//! and the files each time; an approval holds only as long as everything it covers is unchanged.
//!
//! Void is for good, so it depends only on what the study itself holds. What this machine lacks, such as the list of
//! approvers, makes an approval not provable here and voids nothing. A file that can't be read has no values that
//! could differ from the approved ones: until it can be read again, nothing that it covers is approved.

use std::fmt;

use std::collections::BTreeMap;

use rlxp_types::Digest;
use serde::Serialize;

use crate::documents::{Assurance, Automation, Contract};
use crate::gate_words::RefusalCode;
use crate::ledger::state::{Approval, StudyState};
use crate::section::{Target, together};
use crate::signature::{Approvers, Fingerprint, Statement, verify};

/// The status of the approval of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum ApprovalStatus {
    Given {
        /// The assurance of the approval.
        assurance: Assurance,
        who: String,
    },
    /// There never was one.
    Missing,
    /// The content it covers has changed.
    Void {
        /// What was seen.
        reason: String,
    },
    /// A file that it covers can't be read now. It holds again if that returns as it was.
    Unreadable,
    /// It was given with a weaker assurance than the contract requires.
    TooWeak {
        assurance: Assurance,
        /// The required assurance.
        required: Assurance,
    },
    /// It says that it was signed, and the signature is missing or doesn't hold.
    NotProven {
        /// What is wrong.
        reason: String,
    },
    /// It can't be checked with the list of approvers at hand; elsewhere it may hold.
    NotProvableHere {
        /// What is missing.
        reason: String,
    },
}

pub(crate) const UNREADABLE: &str = "a file it covers can't be read";

impl fmt::Display for ApprovalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApprovalStatus::Given { assurance, who } => write!(f, "given by {who} ({assurance})"),
            ApprovalStatus::Missing => write!(f, "missing"),
            ApprovalStatus::Void { reason } => write!(f, "void: {reason}"),
            ApprovalStatus::Unreadable => write!(f, "unknown: {UNREADABLE}"),
            ApprovalStatus::TooWeak { assurance, required } => {
                write!(f, "too weak: {assurance}, but {required} is required")
            }
            ApprovalStatus::NotProven { reason } => write!(f, "not proven: {reason}"),
            ApprovalStatus::NotProvableHere { reason } => write!(f, "not provable here: {reason}"),
        }
    }
}

impl ApprovalStatus {
    pub fn is_given(&self) -> bool {
        matches!(self, ApprovalStatus::Given { .. })
    }

    /// A stable code for the problem; `None` when the approval holds.
    pub fn code(&self) -> Option<RefusalCode> {
        match self {
            ApprovalStatus::Given { .. } => None,
            ApprovalStatus::Missing => Some(RefusalCode::ApprovalMissing),
            ApprovalStatus::Void { .. } => Some(RefusalCode::ApprovalVoid),
            ApprovalStatus::Unreadable => Some(RefusalCode::ApprovalUnreadable),
            ApprovalStatus::TooWeak { .. } => Some(RefusalCode::ApprovalTooWeak),
            ApprovalStatus::NotProven { .. } => Some(RefusalCode::ApprovalNotProven),
            ApprovalStatus::NotProvableHere { .. } => Some(RefusalCode::ApprovalNotProvableHere),
        }
    }
}

/// What approvals are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Proofs<'a> {
    /// The present approvers of the user's configuration; `None` if they can't be read.
    pub approvers: Option<&'a Approvers>,
    /// Signatures stored next to the ledger, by the digest of their text.
    pub signatures: &'a BTreeMap<Digest, String>,
}

/// The minimum assurance. An autonomous study always requires signatures.
pub fn required(contract: &Contract) -> Assurance {
    if contract.automation == Automation::Autonomous { Assurance::Signature } else { contract.assurance }
}

/// The status of the approval of `target` when its digest is `now` (`None` when it can't be
/// computed).
pub fn standing(
    target: &Target,
    now: Option<Digest>,
    required: Assurance,
    state: &StudyState,
    proofs: Proofs<'_>,
) -> ApprovalStatus {
    let given = |approval: &Approval| approval.approved.targets.get(target).copied();
    let mut approvals = state.approvals.iter().rev().filter_map(|one| Some((one, given(one)?))).peekable();
    // A later approval of something else replaces an earlier one.
    let Some((last, digest)) = approvals.peek().copied() else { return ApprovalStatus::Missing };
    let voided = state.voided.get(target).filter(|(seq, _)| *seq > last.seq);
    if let Some((_, reason)) = voided {
        return ApprovalStatus::Void { reason: reason.clone() };
    }
    match now {
        None => return ApprovalStatus::Unreadable,
        Some(now) if now != digest => {
            return ApprovalStatus::Void { reason: "the approved content has changed since".into() };
        }
        Some(_) => {}
    }
    // The same content may have been approved several times; the strongest approval counts.
    let since = state.voided.get(target).map(|(seq, _)| *seq);
    let mut lacking = ApprovalStatus::Missing;
    for (approval, _) in
        approvals.take_while(|(one, covered)| *covered == digest && since.is_none_or(|seq| one.seq > seq))
    {
        match held(approval, required, state, proofs) {
            given @ ApprovalStatus::Given { .. } => return given,
            why if lacking == ApprovalStatus::Missing => lacking = why,
            _ => {}
        }
    }
    lacking
}

/// The status of one approval on its own.
fn held(approval: &Approval, required: Assurance, state: &StudyState, proofs: Proofs<'_>) -> ApprovalStatus {
    let assurance = approval.approved.assurance;
    if assurance == Assurance::Signature
        && let Err(status) = proven(approval, state, proofs)
    {
        return status;
    }
    if assurance < required {
        return ApprovalStatus::TooWeak { assurance, required };
    }
    ApprovalStatus::Given { assurance, who: approval.approved.who.clone() }
}

/// Whether a key may approve in this study: only keys that were listed when the study was opened ever count.
pub fn may_approve(state: &StudyState, key: &Fingerprint) -> bool {
    state.opened.as_ref().is_some_and(|opened| opened.approvers.contains(key))
}

/// Whether the signature of an approval holds, with the head of the ledger it was given on; otherwise its status.
fn proven(approval: &Approval, state: &StudyState, proofs: Proofs<'_>) -> Result<(), ApprovalStatus> {
    let not_proven = |reason: String| ApprovalStatus::NotProven { reason };
    let not_here = |reason: String| ApprovalStatus::NotProvableHere { reason };
    let study = state.opened.as_ref().map(|opened| opened.id.clone());
    let study = study.ok_or_else(|| not_proven("the ledger has no first record".into()))?;
    let Some(key) = &approval.approved.key else {
        return Err(not_proven("its ledger record names no key".into()));
    };
    if !may_approve(state, key) {
        let reason = format!("its key {key} is not one of the approvers that the study was opened with");
        return Err(not_proven(reason));
    }
    let digest = approval.approved.signature;
    let digest = digest.ok_or_else(|| not_proven("its ledger record names no signature".into()))?;
    let armored = proofs.signatures.get(&digest);
    let armored = armored.ok_or_else(|| not_proven("its signature file is missing".into()))?;
    if Digest::hash(armored.as_bytes()) != digest {
        return Err(not_proven("its signature is not the recorded one".into()));
    }
    let Some(approvers) = proofs.approvers else {
        return Err(not_here("the list of approvers can't be read".into()));
    };
    if approvers.find(key).is_none() {
        return Err(not_here(format!("its key {key} is not in the list of approvers on this machine")));
    }
    let statement = statement(study, &approval.approved.targets, approval.head);
    let signed = verify(&statement, armored, approvers).map_err(|problem| not_proven(problem.to_string()))?;
    if *key != signed.fingerprint {
        let reason = "its ledger record names a different key than the one that signed";
        return Err(not_proven(reason.into()));
    }
    Ok(())
}

/// What a person signs to approve `targets` on this head.
pub fn statement(study: String, targets: &BTreeMap<Target, Digest>, head: Digest) -> Statement {
    let names: Vec<String> = targets.keys().map(Target::to_string).collect();
    Statement { study, section: names.join(" "), digest: together(targets), head }
}

/// Targets whose approval is void now and not yet recorded as void.
pub fn newly_void(state: &StudyState, standings: &BTreeMap<Target, ApprovalStatus>) -> Vec<(Target, String)> {
    let on_record = |target: &Target| {
        let given =
            state.approvals.iter().rev().find(|approval| approval.approved.targets.contains_key(target));
        let voided = state.voided.get(target).map(|(seq, _)| *seq);
        given.is_some_and(|approval| voided.is_some_and(|seq| seq > approval.seq))
    };
    standings
        .iter()
        .filter(|(target, _)| !on_record(target))
        .filter_map(|(target, standing)| match standing {
            ApprovalStatus::Void { reason } => Some((target.clone(), reason.clone())),
            _ => None,
        })
        .collect()
}
