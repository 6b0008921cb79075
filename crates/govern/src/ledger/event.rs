//! The events of a study. An unknown kind can't be read, and what can't be read is never skipped.

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

/// Defines the enum, the name of each kind, and the parser from a kind and a body to a value.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:literal $name:ident),* $(,)?) => {
        /// An event of a study.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event { $($(#[$doc])* $name($name)),* }

        impl Event {
            /// Every kind.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The kind's name.
            pub fn kind(&self) -> &'static str {
                match self { $(Event::$name(_) => $kind),* }
            }

            /// The fields of the event.
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
    /// Files of an older tool were imported; they prove nothing
    "imported" Imported,
    /// A person approved
    "approved" Approved,
    /// Approvals were seen to be void
    "voided" Voided,
    /// Something was asked for and refused
    "refused" Refused,
    /// The repository was audited
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
    /// A run has ended
    "run_ended" RunEnded,
    /// A step of the runbook was tried
    "probed" Probed,
    /// All runs of a candidate's plan have ended
    "completed" Completed,
    /// Metrics were read from a run's files
    "evidence" Evidence,
    /// Runs were analyzed, and the result was written to a file
    "analyzed" Analyzed,
    /// A candidate's seeds so far were compared with the incumbent's
    "looked" Looked,
    /// A candidate was judged
    "judged" Judged,
    /// An accepted candidate was undone
    "reverted" Reverted,
    /// What to do next was decided
    "decided" Decided,
    /// The report was written
    "reported" Reported,
    /// The head was stored outside the repository
    "anchored" Anchored,
    /// The study was handed to a person
    "handed_off" HandedOff,
    /// The study was closed
    "closed" Closed,
    /// A note
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
        /// Keys that may sign
        approvers: Vec<Fingerprint>,
        /// The weakest kind of approval that can ever count here; a contract may require more, never less
        assurance: Assurance,
    }
    /// Files of an older tool were imported.
    Imported {
        /// Where they were
        from: String,
        /// Their digests
        files: BTreeMap<String, Digest>,
        /// Keys that this version doesn't have
        unknown: Vec<String>,
    }
    /// A person approved.
    Approved {
        /// The targets with their digests
        targets: BTreeMap<Target, Digest>,
        /// The assurance of the approval
        assurance: Assurance,
        /// Who, as far as known
        who: String,
        /// The key that signed
        key: Option<Fingerprint>,
        /// The digest of the signature beside the ledger
        signature: Option<Digest>,
    }
    /// Approvals were seen to be void. They stay void, whatever the files contain later.
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
        /// Why not, as text
        detail: String,
        /// The candidate that wasn't validated, and the digest of its file's bytes
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draft: Option<RefusedDraft>,
    }
    /// A candidate's file that wasn't validated.
    RefusedDraft {
        candidate: Slug,
        file: Digest,
    }
    /// The repository was audited.
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
        /// Its digest together with the contract's
        digest: Digest,
        /// The digest of everything a launch would use
        plan: Digest,
        /// The parts of that plan, to show what changed
        parts: BTreeMap<String, Digest>,
        /// The phases of its plan, with seeds each
        phases: Vec<PlannedPhase>,
        /// The code that its changes start from
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<Base>,
        /// The program of every step, by digest
        #[serde(default, skip_serializing_if = "Option::is_none")]
        programs: Option<BTreeMap<String, Digest>>,
        /// What its runs train with, whichever way it is written
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Digest>,
    }
    /// A phase of a validated plan.
    PlannedPhase {
        /// Which
        phase: Phase,
        /// On how many seeds
        seeds: u64,
        /// Limits of one run
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
        /// What it reserves
        reserve: Amounts,
        /// The plan it follows
        plan: Digest,
        /// The external runtime, as text, if rlx doesn't run it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<String>,
        /// The seed of its evaluation, which training never sees; a run without one is never compared with
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evaluation_seed: Option<u64>,
        /// Whether its evaluation takes files from the candidate; it then counts only once a person approves it
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        evaluator_exposed: bool,
        /// From here on, a repeat keeps its evaluation seed and a seed can be blocked three times; earlier versions
        /// drew another and had no bound
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bounded_repeats: bool,
        /// Where it probes a trained policy instead of training one
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<ProbePoint>,
    }
    /// One value of a probed parameter, on one trained policy.
    ProbePoint {
        /// The parameter's dotted key
        key: String,
        /// The value it has
        value: f64,
        /// The run whose trained files are probed
        trained: String,
    }
    /// A run was started. An external run has no process here: boot, process and start are empty.
    Launched {
        /// Its key
        key: String,
        /// The boot during which it was started
        boot: String,
        /// Its process
        process: u32,
        /// When that process started, in the kernel's ticks
        started: u64,
        /// The external runtime, as text, if rlx doesn't run it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<String>,
    }
    /// A run has ended.
    RunEnded {
        /// Its key
        key: String,
        /// How
        end: RunEnd,
        /// Why, as text
        reason: String,
        /// What it cost
        spent: Amounts,
        /// The signal that killed it, if one did
        #[serde(default, skip_serializing_if = "Option::is_none")]
        killed_by: Option<i32>,
        /// Why it never counts as evidence, as a code such as `not_the_patched_code`; it is charged anyway
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_evidence: Option<String>,
        /// Whether its training had succeeded before it ended; `None` if that is unknown
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_training: Option<bool>,
        /// The digest of the list of its files
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manifest: Option<Digest>,
        /// How it was sandboxed
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confinement: Option<Confinement>,
        /// A file that changed code left in training and that can run code when it is loaded, such as a pickle, and why;
        /// the run then counts only once a person approves it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        executable_output: Option<String>,
    }
    /// A step of the runbook was tried. It was not a run and doesn't count.
    Probed {
        /// Which step
        step: String,
        /// How it ended
        end: RunEnd,
        /// Why, as text
        reason: String,
    }
    /// All runs of a candidate's plan have ended.
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
        /// Why each missing value is missing
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        reasons: BTreeMap<Slug, Unmeasured>,
        /// The digest of the approved declarations they were read by
        #[serde(default, skip_serializing_if = "Option::is_none")]
        declared: Option<Digest>,
    }
    /// Why a run has no value of a metric.
    Unmeasured {
        /// The kind of reason
        kind: NoValue,
        /// The file and the place, as text
        detail: String,
    }
    /// Runs were analyzed, and the result was written to a file. Gates that ask for such a file take only bytes that a
    /// record has.
    Analyzed {
        /// What the file is
        what: Analysis,
        /// The candidate whose runs were analyzed
        candidate: Slug,
        /// The incumbent, or else the baseline, at that moment
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<Slug>,
        /// The parameter that was probed
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
        /// The values between which it was probed
        #[serde(default, skip_serializing_if = "Option::is_none")]
        span: Option<ProbedSpan>,
        /// The runs that were read, those of the reference included, each with the digest of the list of its files
        runs: BTreeMap<String, Digest>,
        /// The file, relative to the study's folder
        file: String,
        /// The digest of its bytes
        digest: Digest,
    }
    /// The lowest and the highest value at which a parameter was probed.
    ProbedSpan {
        from: f64,
        to: f64,
    }
    /// A candidate's seeds so far were compared with the incumbent's, at a planned number of seeds.
    Looked {
        /// Which
        candidate: Slug,
        /// The look, from 1
        look: u64,
        /// How many are planned
        looks: u64,
        /// Seeds of the candidate
        seeds: u64,
        /// Seeds of the incumbent
        incumbent_seeds: u64,
        /// The rank statistic, in standard deviations from even; positive if the candidate is better
        z: f64,
        /// From which `z` it is accepted
        accept: f64,
        /// Below which `z` it is dropped; null at the last look
        drop: Option<f64>,
        /// By what the difference matters, as a word; null if it doesn't
        basis: Option<String>,
        /// What speaks against accepting, as a word
        veto: Option<String>,
        /// The guardrails at this look
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        guardrails: Vec<GuardrailLook>,
        /// What follows
        call: LookCall,
        /// The digest of everything it was computed from
        inputs: Digest,
    }
    /// A guardrail at a look.
    GuardrailLook {
        /// The metric
        name: Slug,
        /// How much worse the candidate may be, in the metric's unit
        allowed: f64,
        /// The candidate less the incumbent, positive if better, by Hodges and Lehmann's estimate
        difference: Option<f64>,
        /// The one-sided bound below which the difference is not
        bound: Option<f64>,
        /// Whether it is shown that the candidate is not worse than allowed
        holds: bool,
    }
    /// A candidate was judged.
    Judged {
        /// Which
        candidate: Slug,
        /// The last phase that ran
        phase: Phase,
        verdict: Verdict,
        /// The digest of everything the verdict was computed from
        inputs: Digest,
        /// The incumbent's primary metric after this, if known
        score: Option<f64>,
        /// Why, as a sentence
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// The checks of rlx's own facts that failed, as codes
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed_checks: Vec<String>,
        /// What later candidates train from, if it was accepted
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<AcceptedCode>,
    }
    /// What candidates train from after an acceptance: the contract's code with every accepted change.
    AcceptedCode {
        /// The files, as a commit of the repository below `refs/rlxp/`, or as the digest of a kept folder
        base: Base,
        /// Arguments that are added to the train command, those of earlier acceptances first
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
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
    /// The head was stored outside the repository.
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
    /// The study was closed.
    Closed {
        /// Why
        reason: String,
    }
    /// A note.
    Note {
        text: String,
    }
}

/// What an analysis is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Analysis {
    /// What the components of the reward did over training
    RewardReflection,
    /// Where a policy keeps working while one parameter varies
    Probe,
}

/// The kind of reason for which a run has no value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoValue {
    /// No file, or no such key, column, tag or line in it
    Missing,
    /// The file is damaged, too large or in another format, or the value is not a number
    Unreadable,
    /// NaN or infinite
    NotFinite,
    /// Outside the declared range
    OutOfRange,
    /// Several files or several values fit
    Ambiguous,
}

/// Why a run is not evidence: an input was changed while it ran.
pub const INPUT_CHANGED: &str = "input_changed";
/// Why a run is not evidence: what a step had left was changed from outside.
pub const OUTPUT_CHANGED: &str = "output_changed";

/// The name of the part that holds how a result is evaluated.
pub const PROTOCOL: &str = "protocol";
/// The name of the part that holds the result of the changes.
pub const CHANGES: &str = "changes";
/// The name of the part that holds what results are compared with.
pub const INCUMBENT: &str = "incumbent";

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookCall {
    /// More seeds, up to the next look
    More,
    /// Better: its set of seeds is topped up and audited
    Accept,
    /// More seeds are unlikely to show that it is better
    Drop,
    /// The last look, and it isn't shown to be better
    Undecided,
}

/// The verdict about a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, and guardrails hold
    Accepted,
    /// Worse
    Rejected,
    /// Too little evidence
    Inconclusive,
    /// It didn't work as intended
    Debug,
}

/// The decision about how to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Continue
    Continue,
    /// Stop
    Stop,
    /// Undo the last accepted change
    RollBack,
    /// Continue with a narrower scope
    Narrow,
    /// Ask a person
    Escalate,
}
