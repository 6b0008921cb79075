//! What can happen in a study. A kind that isn't here can't be read, and what can't be read is never skipped.

use std::collections::BTreeMap;

use rlxp_types::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Amounts;
use crate::documents::{Assurance, Base, CandidateKind, Confinement, Phase, Slug};
use crate::machine::RunEnd;
use crate::section::Target;
use crate::seeds::SeedRole;
use crate::signature::Fingerprint;

/// Makes the enum, the name of each kind, and the way from a kind and a body to a value.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:literal $name:ident),* $(,)?) => {
        /// Something that happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event { $($(#[$doc])* $name($name)),* }

        impl Event {
            /// Every kind.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The kind's name.
            pub fn kind(&self) -> &'static str {
                match self { $(Event::$name(_) => $kind),* }
            }

            /// What it carries.
            pub fn body(&self) -> Value {
                match self { $(Event::$name(body) => crate::canonical::plain(body)),* }
            }

            /// From a kind and the JSON text of a body.
            pub fn read(kind: &str, body: &str) -> Result<Self, String> {
                match kind {
                    $($kind => serde_json::from_str(body)
                        .map(Event::$name)
                        .map_err(|error| format!("a record of kind {kind} can't be read: {error}")),)*
                    _ => Err(format!("records of kind {kind:?} are not known to this version of rlx")),
                }
            }
        }
    };
}

events! {
    /// The study was opened; always the first record
    "opened" Opened,
    /// Files of an older tool were taken over; they prove nothing
    "imported" Imported,
    /// A person approved
    "approved" Approved,
    /// Approvals were seen to be void
    "voided" Voided,
    /// Something was asked for and refused
    "refused" Refused,
    /// The repository was looked at
    "audited" Audited,
    /// A candidate passed every gate
    "validated" Validated,
    /// A candidate is a draft again
    "reopened" Reopened,
    /// A queue was planned
    "queued" Queued,
    /// A run is about to be started
    "launch_intent" LaunchIntent,
    /// A run was started
    "launched" Launched,
    /// A run is over
    "run_ended" RunEnded,
    /// A step of the runbook was tried
    "probed" Probed,
    /// All runs of a candidate's plan are over
    "completed" Completed,
    /// Metrics were read from a run's files
    "evidence" Evidence,
    /// A candidate was judged
    "judged" Judged,
    /// An accepted candidate was undone
    "reverted" Reverted,
    /// What to do next was decided
    "decided" Decided,
    /// The report was written
    "reported" Reported,
    /// The head was written down outside
    "anchored" Anchored,
    /// The study was handed to a person
    "handed_off" HandedOff,
    /// The study is over
    "closed" Closed,
    /// A remark
    "note" Note,
}

macro_rules! bodies {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type),* })*
    };
}

bodies! {
    /// The study was opened.
    Opened {
        /// A random id, so that nothing of one study counts in another
        id: String,
        /// The task
        task: Slug,
        /// The study
        study: Slug,
        /// Who may sign
        approvers: Vec<Fingerprint>,
        /// The weakest way of approving that can ever count here; a contract may ask for more, never for less
        assurance: Assurance,
    }
    /// Files of an older tool were taken over.
    Imported {
        /// Where they were
        from: String,
        /// Their digests
        files: BTreeMap<String, Digest>,
        /// Keys that have no place here
        unknown: Vec<String>,
    }
    /// A person approved.
    Approved {
        /// What, and the digest it had
        targets: BTreeMap<Target, Digest>,
        /// How surely
        assurance: Assurance,
        /// Who, as far as it is known
        who: String,
        /// The key that signed
        key: Option<Fingerprint>,
        /// The digest of the signature beside the ledger
        signature: Option<Digest>,
    }
    /// Approvals were seen to be void. They stay void, whatever the files say later.
    Voided {
        /// Which
        targets: Vec<Target>,
        /// Why
        reason: String,
    }
    /// Something was asked for and refused.
    Refused {
        /// What was asked for
        what: String,
        /// Why not, as codes
        codes: Vec<String>,
        /// Why not, in words
        detail: String,
    }
    /// The repository was looked at.
    Audited {
        /// The digest of `adapter.yaml`'s explicit values
        adapter: Digest,
        /// How many claims it has
        claims: u64,
    }
    /// A candidate passed every gate.
    Validated {
        /// Which
        candidate: Slug,
        /// Its revision
        revision: u64,
        /// Its kind
        kind: CandidateKind,
        /// The digest of its file's bytes
        file: Digest,
        /// Its digest within what was agreed
        digest: Digest,
        /// The digest of everything a launch would use
        plan: Digest,
        /// What that plan was made of, so that it can be said what changed
        parts: BTreeMap<String, Digest>,
        /// The phases of its plan, with seeds each
        phases: Vec<PlannedPhase>,
        /// The code that its changes start from
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<Base>,
        /// The program of every step, by digest
        #[serde(default, skip_serializing_if = "Option::is_none")]
        programs: Option<BTreeMap<String, Digest>>,
    }
    /// A phase of a validated plan.
    PlannedPhase {
        /// Which
        phase: Phase,
        /// On how many seeds
        seeds: u64,
        /// What one run of it may take
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserve: Option<Amounts>,
    }
    /// A candidate is a draft again: its text or something it depends on changed, or it was debugged.
    Reopened {
        /// Which
        candidate: Slug,
        /// Why
        reason: String,
    }
    /// A queue was planned.
    Queued {
        /// Its digest
        digest: Digest,
        /// How many jobs
        jobs: u64,
    }
    /// A run is about to be started.
    LaunchIntent {
        /// One run per key, ever
        key: String,
        /// Of which candidate
        candidate: Slug,
        /// In which phase
        phase: Phase,
        /// With which seed
        seed: u64,
        /// What the seed is for
        role: SeedRole,
        /// What it may take
        reserve: Amounts,
        /// The plan it follows
        plan: Digest,
        /// What else runs it, in words, when it isn't rlx
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<String>,
    }
    /// A run was started. One that something else runs has no process here: boot, process and start are empty.
    Launched {
        /// Its key
        key: String,
        /// The boot during which it was started
        boot: String,
        /// Its process
        process: u32,
        /// When that process started, in the kernel's ticks
        started: u64,
        /// What else runs it, in words, when it isn't rlx
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<String>,
    }
    /// A run is over.
    RunEnded {
        /// Its key
        key: String,
        /// How
        end: RunEnd,
        /// In words
        reason: String,
        /// What it took
        spent: Amounts,
        /// Why it never counts as evidence, as a code such as `not_the_patched_code`; it is paid for all the same
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_evidence: Option<String>,
        /// The digest of the list of its files
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manifest: Option<Digest>,
        /// How much it was kept apart
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confinement: Option<Confinement>,
    }
    /// A step of the runbook was tried. It was no run: nothing counts it.
    Probed {
        /// Which step
        step: String,
        /// How it ended
        end: RunEnd,
        /// In words
        reason: String,
    }
    /// All runs of a candidate's plan are over.
    Completed {
        /// Which
        candidate: Slug,
    }
    /// Metrics were read from a run's files.
    Evidence {
        /// Of which run
        key: String,
        /// Values by metric; missing ones are null
        values: BTreeMap<Slug, Option<f64>>,
        /// The files they came from
        files: BTreeMap<String, Digest>,
    }
    /// A candidate was judged.
    Judged {
        /// Which
        candidate: Slug,
        /// The last phase that ran
        phase: Phase,
        /// What came out
        verdict: Verdict,
        /// The digest of everything the verdict was computed from
        inputs: Digest,
        /// The incumbent's primary metric after this, where it is known
        score: Option<f64>,
    }
    /// An accepted candidate was undone.
    Reverted {
        /// Which
        candidate: Slug,
        /// Why
        reason: String,
    }
    /// What to do next was decided.
    Decided {
        /// What
        decision: Decision,
        /// Why
        reason: String,
    }
    /// The report was written.
    Reported {
        /// Its digest
        digest: Digest,
    }
    /// The head was written down outside.
    Anchored {
        /// The head
        head: Digest,
        /// Where
        place: String,
    }
    /// The study was handed to a person.
    HandedOff {
        /// Why
        reason: String,
    }
    /// The study is over.
    Closed {
        /// Why
        reason: String,
    }
    /// A remark.
    Note {
        /// What was remarked
        text: String,
    }
}

/// What a judgement says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, and guardrails hold
    Accepted,
    /// Worse
    Rejected,
    /// It can't be told
    Inconclusive,
    /// It didn't work as meant
    Debug,
}

/// What to do next, at large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Go on
    Continue,
    /// Stop
    Stop,
    /// Undo the last accepted change
    RollBack,
    /// Go on with less
    Narrow,
    /// Ask a person
    Escalate,
}
