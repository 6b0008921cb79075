//! The state that the records of a ledger add up to. It is the only source: nothing derived is ever read back.

mod apply;
mod launches;

use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::Digest;

use super::event::{
    self, AcceptedCode, Analyzed, Approved, Decision, Evidence, LaunchIntent, Launched, Looked, Opened,
    Refused, RunEnded, Validated, Verdict,
};
use crate::budget::Tally;
use crate::documents::{CandidateKind, Phase, Slug};
use crate::ledger::attempts::Side;
use crate::machine::{CandidateState, EndCause, RunEnd, RunState};
use crate::section::Target;
use crate::seeds::SeedRole;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyState {
    /// The first record.
    pub opened: Option<Opened>,
    /// Every approval with the number and the predecessor of its record, oldest first.
    pub approvals: Vec<Approval>,
    /// For each target the number of the last record that voided it.
    pub voided: BTreeMap<Target, (u64, String)>,
    /// Recorded refusals.
    pub refusals: Vec<Refused>,
    /// The adapter that was last audited.
    pub audited: Option<Digest>,
    /// Candidates that were ever validated.
    pub candidates: BTreeMap<Slug, CandidateRecord>,
    /// Runs by key, with the order in which they were intended.
    pub runs: BTreeMap<String, RunRecord>,
    /// Seeds that were ever used, by role.
    pub used_seeds: BTreeMap<SeedRole, BTreeSet<u64>>,
    /// Whether repeats keep their evaluation seed and blocked ones are bounded: since the first run of a version of
    /// rlx that does so. What earlier versions wrote is still read.
    pub bounded_repeats: bool,
    /// What is spent and reserved.
    pub tally: Tally,
    /// Candidates with their verdicts, in the order in which they were judged.
    pub judged: Vec<(Slug, Verdict)>,
    /// Candidates that were accepted and not reverted, the present incumbent last.
    pub accepted: Vec<Accepted>,
    /// The baseline: the first candidate of that kind with a run intended in its confirm phase, for good.
    pub baseline: Option<Slug>,
    /// Changes that were launched, oldest first.
    pub tried: Vec<Tried>,
    /// Files that rlx wrote about runs, each with the number of its record, oldest first.
    pub analyzed: Vec<(u64, Analyzed)>,
    /// The reference for all comparisons.
    pub incumbent: Option<Slug>,
    /// Its primary metric, if known.
    pub incumbent_score: Option<f64>,
    /// The number of the last verdict's record.
    pub last_judged: Option<u64>,
    /// The number of the last report.
    pub last_reported: Option<u64>,
    /// The last decision.
    pub decided: Option<Decision>,
    /// The queue that was last planned.
    pub queued: Option<Digest>,
    /// Consecutive runs that failed, up to now.
    pub failures_in_a_row: u64,
    /// Consecutive runs that could not start, up to now.
    pub blocked_in_a_row: u64,
    /// Files of candidates that weren't validated, since anything happened that could change the answer.
    pub refused_drafts: BTreeMap<Slug, Digest>,
    /// Consecutive judged candidates that weren't accepted, up to now; without those that change nothing, which are
    /// not expected to be better.
    pub misses_in_a_row: u64,
    /// The number of and reason for the last hand-off, unless a person approved anything but closing since.
    pub handed_off: Option<(u64, String)>,
    /// Why the study was closed.
    pub closed: Option<String>,
}

/// A recorded approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// The number of its record.
    pub seq: u64,
    /// The head it was given on.
    pub head: Digest,
    /// When; a label.
    pub at: String,
    pub approved: Approved,
}

/// An accepted candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    pub candidate: Slug,
    /// Its primary metric, if known.
    pub score: Option<f64>,
    /// What later candidates train from; earlier versions of rlx didn't record it.
    pub code: Option<AcceptedCode>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CandidateRecord {
    /// The number of the record that first validated it.
    pub order: u64,
    pub state: CandidateState,
    /// Its last validation.
    pub validated: Validated,
    /// Phases that ran, the last one last.
    pub phases: Vec<Phase>,
    /// Keys of its runs, in order.
    pub runs: Vec<String>,
    /// Looks at its present revision, in order.
    pub looks: Vec<Looked>,
}

/// Changes that were launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub candidate: Slug,
    /// The digest of their result.
    pub changes: Option<Digest>,
    /// The same whichever way they are written; earlier versions of rlx didn't record it.
    pub effect: Option<Digest>,
    /// The digest of the incumbent that they were compared with.
    pub incumbent: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The number of the record that intended it.
    pub order: u64,
    pub intent: LaunchIntent,
    pub state: RunState,
    /// How it was started.
    pub launched: Option<Launched>,
    pub ended: Option<RunEnded>,
    /// The metrics that were read from its files.
    pub evidence: Option<Evidence>,
}

impl CandidateRecord {
    /// The furthest phase of its present revision that ran.
    pub fn furthest(&self) -> Option<Phase> {
        self.phases.iter().max().copied()
    }
}

impl RunRecord {
    /// Why it never counts as evidence, as a code. A run that may be repeated counts for nothing anyway.
    pub fn not_evidence(&self) -> Option<&str> {
        let ended = self.ended.as_ref().filter(|ended| !ended.end.may_run_again())?;
        ended.not_evidence.as_deref()
    }

    /// Whether it never counts as evidence because files were changed from outside while it ran. That can be done to a
    /// run whose bad result is foreseen.
    pub fn was_touched(&self) -> bool {
        matches!(self.not_evidence(), Some(event::INPUT_CHANGED | event::OUTPUT_CHANGED))
    }

    /// Why its phase can't continue, as a code: a run that never counts as evidence. A judged one whose files were
    /// touched counts as failed instead.
    pub fn stops_its_phase(&self, side: Side) -> Option<&str> {
        let has_failed = side == Side::Judged && self.is_measured() && self.was_touched();
        self.not_evidence().filter(|_| !has_failed)
    }

    /// What ended it; `None` while it hasn't ended.
    pub fn cause(&self) -> Option<EndCause> {
        let RunState::Ended(end) = self.state else { return None };
        let ended = self.ended.as_ref();
        Some(match end {
            RunEnd::Ok => EndCause::Finished,
            RunEnd::Failed if ended.is_some_and(|ended| ended.killed_by.is_some()) => EndCause::Outside,
            RunEnd::Failed => EndCause::Itself,
            RunEnd::Limit | RunEnd::Cancelled => EndCause::Outside,
            RunEnd::Lost if ended.is_some_and(|ended| ended.after_training == Some(true)) => {
                EndCause::Outside
            }
            RunEnd::Lost => EndCause::LostEarly,
            RunEnd::Blocked => EndCause::NotStarted,
        })
    }

    /// Whether its metrics can ever be evidence: smoke runs only show that training works.
    pub fn is_measured(&self) -> bool {
        self.intent.phase != Phase::Smoke
    }
}

impl StudyState {
    /// The runs of a candidate, in order.
    pub fn runs_of(&self, candidate: &Slug) -> Vec<&RunRecord> {
        let keys = self.candidates.get(candidate).map(|record| record.runs.as_slice()).unwrap_or_default();
        keys.iter().filter_map(|key| self.runs.get(key)).collect()
    }

    /// The runs of the plan that a candidate is validated with now; those of earlier revisions are not included.
    pub fn runs_of_plan<'s>(&'s self, candidate: &'s Slug) -> Vec<&'s RunRecord> {
        let plan = self.candidates.get(candidate).map(|record| record.validated.plan);
        let mut runs = self.runs_of(candidate);
        runs.retain(|run| Some(run.intent.plan) == plan);
        runs
    }

    /// Active runs, in order.
    pub fn live(&self) -> Vec<&RunRecord> {
        let live = |run: &&RunRecord| !matches!(run.state, RunState::Ended(_));
        let mut runs: Vec<&RunRecord> = self.runs.values().filter(live).collect();
        runs.sort_by_key(|run| run.order);
        runs
    }

    /// Whether this file of a candidate was refused, and nothing happened since that could change the answer.
    pub fn was_refused_as_it_is(&self, candidate: &str, file: Digest) -> bool {
        self.refused_drafts.get(candidate) == Some(&file)
    }

    /// The side that a candidate's runs are on while they run. What nothing was changed in serves as the reference
    /// from the beginning; everything else is judged first.
    pub fn side_of(&self, candidate: &Slug) -> Side {
        let kind = self.candidates.get(candidate).map(|record| record.validated.kind);
        match kind {
            Some(CandidateKind::Baseline | CandidateKind::Incumbent) => Side::Reference,
            _ => Side::Judged,
        }
    }

    /// Whether a smoke run of the unchanged repository succeeded.
    pub fn smoke_passed(&self) -> bool {
        self.runs.values().any(|run| {
            run.intent.phase == Phase::Smoke
                && run.state == RunState::Ended(RunEnd::Ok)
                && run.not_evidence().is_none()
                && self.changes_nothing(&run.intent.candidate)
        })
    }

    fn changes_nothing(&self, candidate: &Slug) -> bool {
        self.candidates.get(candidate).is_some_and(|record| record.validated.kind.is_empty_change())
    }

    /// The evaluation seed that a run of this phase and training seed has to use: that of earlier attempts, as long as
    /// none of them succeeded. With another one, a run could be put off until its evaluation suits. `None` if it is drawn.
    pub fn kept_evaluation_seed(&self, candidate: &Slug, phase: Phase, seed: u64) -> Option<u64> {
        let mut same = self.runs_of_plan(candidate);
        same.retain(|run| (run.intent.phase, run.intent.seed) == (phase, seed));
        let is_ok = |run: &&RunRecord| run.state == RunState::Ended(RunEnd::Ok);
        if same.iter().any(is_ok) {
            return None;
        }
        same.iter().rev().find_map(|run| run.intent.evaluation_seed)
    }

    /// What candidates train from: the incumbent's code. `None` if that is the contract's.
    pub fn accepted_code(&self) -> Option<&AcceptedCode> {
        self.accepted.last()?.code.as_ref()
    }

    /// What candidates are compared with: the incumbent, or else the baseline.
    pub fn reference(&self) -> Option<&Slug> {
        self.incumbent.as_ref().or(self.baseline.as_ref())
    }
}
