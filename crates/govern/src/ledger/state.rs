//! The state that the records of a ledger add up to. It is the only source: nothing derived is ever read back.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_types::Digest;

use super::event::{
    self, AcceptedCode, Analyzed, Approved, Decision, Event, Evidence, Judged, LaunchIntent, Launched,
    LookCall, Looked, Opened, Refused, RunEnded, Validated, Verdict,
};
use super::record::Record;
use crate::budget::Tally;
use crate::documents::{CandidateKind, Phase, Slug};
use crate::ledger::attempts::{self, Attempts, Side};
use crate::machine::{CandidateState, EndCause, RunEnd, RunState};
use crate::section::{Section, Target};
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

    /// Applies a record, whose parts are moved and not copied. The error says what is not allowed.
    pub(super) fn apply(&mut self, record: Record) -> Result<(), String> {
        if self.opened.is_none() != matches!(record.event, Event::Opened(_)) {
            return Err("a ledger begins with one record that opens the study, and has no other".into());
        }
        if self.closed.is_some()
            && !matches!(record.event, Event::Note(_) | Event::Anchored(_) | Event::Refused(_))
        {
            return Err(format!("the study is closed; nothing of kind {} can happen", record.event.kind()));
        }
        let Record { seq, at, event, prev, .. } = record;
        if may_admit_drafts(&event) {
            self.refused_drafts.clear();
        }
        match event {
            Event::Opened(opened) => self.opened = Some(opened),
            Event::Approved(approved) => {
                // Approving to close doesn't give the study back.
                if approved.targets.keys().any(|target| *target != Target::Close) {
                    self.handed_off = None;
                    self.blocked_in_a_row = 0;
                }
                self.approvals.push(Approval { seq, head: prev, at, approved });
            }
            Event::Voided(voided) => {
                for target in self.with_dependents(&voided.targets) {
                    self.voided.insert(target, (seq, voided.reason.clone()));
                }
            }
            Event::Refused(refused) => {
                if let Some(draft) = &refused.draft {
                    self.refused_drafts.insert(draft.candidate.clone(), draft.file);
                }
                self.refusals.push(refused);
            }
            Event::Audited(audited) => self.audited = Some(audited.adapter),
            Event::Validated(validated) => self.validate(seq, validated)?,
            Event::Reopened(reopened) => self.move_to(&reopened.candidate, CandidateState::Draft)?,
            Event::Queued(queued) => self.queued = Some(queued.digest),
            Event::LaunchIntent(intent) => self.intend(seq, intent)?,
            Event::Launched(launched) => {
                let run = self.run(&launched.key)?;
                run.state = run.state.to(RunState::Running).map_err(|refused| refused.to_string())?;
                run.launched = Some(launched);
            }
            Event::RunEnded(ended) => self.end(ended)?,
            Event::Completed(completed) => self.complete(&completed.candidate)?,
            Event::Evidence(evidence) => self.take_evidence(evidence)?,
            Event::Analyzed(analyzed) => self.analyze(seq, analyzed)?,
            Event::Looked(looked) => self.look(looked)?,
            Event::Judged(judged) => self.judge(seq, judged)?,
            Event::Reverted(reverted) => self.revert(&reverted.candidate)?,
            Event::Decided(decided) => self.decided = Some(decided.decision),
            Event::Reported(_) => self.last_reported = Some(seq),
            Event::HandedOff(handed_off) => self.handed_off = Some((seq, handed_off.reason)),
            Event::Closed(closed) => {
                if let Some(run) = self.live().first() {
                    return Err(format!("run {} hasn't ended, so the study can't be closed", run.intent.key));
                }
                self.closed = Some(closed.reason);
            }
            Event::Imported(_) | Event::Anchored(_) | Event::Note(_) | Event::Probed(_) => {}
        }
        Ok(())
    }

    /// These targets and everything that becomes void with them, listed or not.
    fn with_dependents(&self, targets: &[Target]) -> BTreeSet<Target> {
        let mut all: BTreeSet<Target> = targets.iter().cloned().collect();
        for target in targets {
            if let Target::Section(section) = target {
                all.extend(section.dependents().into_iter().map(Target::Section));
            }
        }
        if all.contains(&Target::Section(Section::Experiment)) {
            let approved = self.approvals.iter().flat_map(|approval| approval.approved.targets.keys());
            all.extend(approved.filter(|target| matches!(target, Target::Candidate(_))).cloned());
        }
        all
    }

    fn validate(&mut self, seq: u64, validated: Validated) -> Result<(), String> {
        let known = self.candidates.get_mut(&validated.candidate);
        if let Some(known) = &known {
            // What has run is final; only a new revision gets another chance.
            let again = validated.revision == known.validated.revision && known.phases.is_empty();
            if !again && Some(validated.revision) != known.validated.revision.checked_add(1) {
                let (one, other) = (known.validated.revision, validated.revision);
                return Err(format!("revision {other} of candidate {} follows {one}", validated.candidate));
            }
        }
        let state = known.as_ref().map_or(CandidateState::Draft, |known| known.state);
        let state = state.to(CandidateState::Validated, None).map_err(|refused| refused.to_string())?;
        match known {
            Some(known) => {
                known.state = state;
                known.validated = validated;
                known.phases.clear();
                known.looks.clear();
            }
            None => {
                let id = validated.candidate.clone();
                let (phases, runs, looks) = (Vec::new(), Vec::new(), Vec::new());
                let record = CandidateRecord { order: seq, state, validated, phases, runs, looks };
                self.candidates.insert(id, record);
            }
        }
        Ok(())
    }

    fn move_to(&mut self, id: &Slug, next: CandidateState) -> Result<(), String> {
        let candidate = self.candidates.get_mut(id).ok_or_else(|| format!("there is no candidate {id}"))?;
        // The furthest phase, not the latest: a smoke run after a confirm phase doesn't undo that it was confirmed.
        let phase = candidate.furthest();
        candidate.state = candidate.state.to(next, phase).map_err(|refused| refused.to_string())?;
        Ok(())
    }

    fn intend(&mut self, order: u64, intent: LaunchIntent) -> Result<(), String> {
        if self.runs.contains_key(&intent.key) {
            return Err(format!("key {} has a run already", intent.key));
        }
        let id = &intent.candidate;
        let candidate = self.candidates.get(id).ok_or_else(|| format!("there is no candidate {id}"))?;
        if !matches!(candidate.state, CandidateState::Validated | CandidateState::Launched) {
            return Err(format!("candidate {id} is {}; only a validated one can run", candidate.state));
        }
        let validated = &candidate.validated;
        if intent.plan != validated.plan {
            let (one, other) = (intent.plan.short(), validated.plan.short());
            return Err(format!("candidate {id} was validated with plan {other}, not {one}"));
        }
        if !validated.phases.iter().any(|planned| planned.phase == intent.phase) {
            return Err(format!("the plan of candidate {id} has no {} phase", intent.phase));
        }
        if intent.role != SeedRole::for_phase(intent.phase) {
            return Err(format!("runs of the {} phase don't use {} seeds", intent.phase, intent.role));
        }
        self.check_seed(&intent)?;
        self.check_evaluation_seed(&intent)?;
        let reserved = self.tally.reserved.plus(intent.reserve);
        if reserved.minus(intent.reserve) != self.tally.reserved {
            return Err(format!("run {} reserves more than can be counted", intent.key));
        }
        // Everything is checked: nothing fails from here on, so a refused record leaves no trace.
        let is_baseline = candidate.validated.kind == CandidateKind::Baseline;
        if candidate.state == CandidateState::Validated {
            let part = |name: &str| candidate.validated.parts.get(name).copied();
            let (changes, incumbent) = (part(event::CHANGES), part(event::INCUMBENT));
            let effect = candidate.validated.effect;
            if !candidate.validated.kind.is_empty_change() {
                self.tried.push(Tried { candidate: id.clone(), changes, effect, incumbent });
            }
            self.move_to(id, CandidateState::Launched)?;
        }
        if is_baseline && intent.phase == Phase::Confirm && self.baseline.is_none() {
            self.baseline = Some(id.clone());
        }
        self.bounded_repeats |= intent.bounded_repeats;
        self.used_seeds.entry(intent.role).or_default().insert(intent.seed);
        if let Some(seed) = intent.evaluation_seed {
            self.used_seeds.entry(SeedRole::Evaluation).or_default().insert(seed);
        }
        let candidate = self.candidates.get_mut(id).expect("it was found above");
        if candidate.phases.last() != Some(&intent.phase) {
            candidate.phases.push(intent.phase);
        }
        candidate.runs.push(intent.key.clone());
        self.tally.reserve(intent.reserve);
        let key = intent.key.clone();
        let (state, launched, ended, evidence) = (RunState::Intended, None, None, None);
        self.runs.insert(key, RunRecord { order, intent, state, launched, ended, evidence });
        Ok(())
    }

    /// Confirm and audit seeds are used once; only a run that never started or was interrupted frees its seed, as
    /// often as its side allows.
    fn check_seed(&self, intent: &LaunchIntent) -> Result<(), String> {
        let (role, seed) = (intent.role, intent.seed);
        let side = self.side_of(&intent.candidate);
        let is_same = |run: &&RunRecord| run.intent.role == role && run.intent.seed == seed;
        let once = matches!(role, SeedRole::Confirm | SeedRole::Audit);
        // Looking through all runs takes time, and most seeds are new.
        if once && self.used_seeds.get(&role).is_some_and(|used| used.contains(&seed)) {
            let mut same: Vec<&RunRecord> = self.runs.values().filter(is_same).collect();
            same.sort_by_key(|run| run.order);
            let elsewhere = same.iter().any(|run| run.intent.candidate != intent.candidate);
            // How often a seed may be blocked is checked below.
            let is_over = |seed: &Attempts<'_>| {
                seed.is_live() || (seed.is_done(side) && seed.last.cause() != Some(EndCause::NotStarted))
            };
            if elsewhere || attempts::by_seed(&same).values().any(is_over) {
                return Err(format!("{role} seed {seed} has served before"));
            }
        }
        // In every role: what interrupts a run doesn't give its seed any number of chances.
        let mut same = self.runs_of_plan(&intent.candidate);
        same.retain(|run| is_same(run) && run.intent.phase == intent.phase);
        let bounded = self.bounded_repeats || intent.bounded_repeats;
        let is_over = |seed: &Attempts<'_>| {
            seed.is_interrupted_too_often(side) || (bounded && seed.is_blocked_for_good())
        };
        if attempts::by_seed(&same).values().any(is_over) {
            return Err(format!("{role} seed {seed} was interrupted or blocked too often to run again"));
        }
        Ok(())
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

    /// Every run is evaluated with a seed of its own, which stays the same while its training seed is repeated.
    fn check_evaluation_seed(&self, intent: &LaunchIntent) -> Result<(), String> {
        let bounded = self.bounded_repeats || intent.bounded_repeats;
        let kept = self.kept_evaluation_seed(&intent.candidate, intent.phase, intent.seed);
        if let Some(kept) = kept.filter(|_| bounded) {
            return match intent.evaluation_seed {
                Some(seed) if seed == kept => Ok(()),
                _ => {
                    Err(format!("run {} repeats one with evaluation seed {kept} and has another", intent.key))
                }
            };
        }
        let used = self.used_seeds.get(&SeedRole::Evaluation);
        match intent.evaluation_seed.filter(|seed| used.is_some_and(|used| used.contains(seed))) {
            Some(seed) => Err(format!("evaluation seed {seed} has served before")),
            None => Ok(()),
        }
    }

    fn run(&mut self, key: &str) -> Result<&mut RunRecord, String> {
        self.runs.get_mut(key).ok_or_else(|| format!("there is no run {key}"))
    }

    fn end(&mut self, ended: RunEnded) -> Result<(), String> {
        let run = self.run(&ended.key)?;
        run.state = run.state.to(RunState::Ended(ended.end)).map_err(|refused| refused.to_string())?;
        let (reserve, is_evidence) = (run.intent.reserve, ended.not_evidence.is_none());
        let (end, spent) = (ended.end, ended.spent);
        run.ended = Some(ended);
        self.tally.settle(reserve, end, spent);
        match end {
            RunEnd::Ok if is_evidence => self.failures_in_a_row = 0,
            end if end.is_failure() => self.failures_in_a_row += 1,
            _ => {}
        }
        self.blocked_in_a_row = if end == RunEnd::Blocked { self.blocked_in_a_row + 1 } else { 0 };
        Ok(())
    }

    fn complete(&mut self, id: &Slug) -> Result<(), String> {
        if let Some(run) = self.runs_of(id).into_iter().find(|run| !matches!(run.state, RunState::Ended(_))) {
            return Err(format!("run {} of candidate {id} hasn't ended", run.intent.key));
        }
        self.move_to(id, CandidateState::Completed)
    }

    fn take_evidence(&mut self, evidence: Evidence) -> Result<(), String> {
        let run = self.run(&evidence.key)?;
        if !matches!(run.state, RunState::Ended(_)) {
            return Err(format!("run {} hasn't ended, so it proves nothing yet", evidence.key));
        }
        if let Some(code) = run.ended.as_ref().and_then(|ended| ended.not_evidence.as_ref()) {
            return Err(format!("run {} never counts as evidence: {code}", evidence.key));
        }
        run.evidence = Some(evidence);
        Ok(())
    }

    /// What candidates train from: the incumbent's code. `None` if that is the contract's.
    pub fn accepted_code(&self) -> Option<&AcceptedCode> {
        self.accepted.last()?.code.as_ref()
    }

    /// Only the incumbent can be undone: what was accepted after a candidate was built on it.
    fn revert(&mut self, id: &Slug) -> Result<(), String> {
        if let Some(incumbent) = self.incumbent.as_ref().filter(|incumbent| *incumbent != id)
            && self.accepted.iter().any(|accepted| accepted.candidate == *id)
        {
            return Err(format!("{incumbent} was accepted after {id} and has to be reverted first"));
        }
        self.move_to(id, CandidateState::Reverted)?;
        self.accepted.retain(|accepted| accepted.candidate != *id);
        self.put_incumbent();
        Ok(())
    }

    /// An analysis is about runs of this study that have ended, with the files that they had then.
    fn analyze(&mut self, seq: u64, analyzed: Analyzed) -> Result<(), String> {
        for (key, manifest) in &analyzed.runs {
            let run = self.runs.get(key).ok_or_else(|| format!("there is no run {key}"))?;
            if run.ended.as_ref().and_then(|ended| ended.manifest) != Some(*manifest) {
                return Err(format!("run {key} didn't leave the files that were analyzed"));
            }
        }
        self.analyzed.push((seq, analyzed));
        Ok(())
    }

    /// What candidates are compared with: the incumbent, or else the baseline.
    pub fn reference(&self) -> Option<&Slug> {
        self.incumbent.as_ref().or(self.baseline.as_ref())
    }

    /// The last candidate that was accepted and not reverted.
    fn put_incumbent(&mut self) {
        let last = self.accepted.last();
        self.incumbent = last.map(|accepted| accepted.candidate.clone());
        self.incumbent_score = last.and_then(|accepted| accepted.score);
    }

    /// Looks come in their order, while the candidate's runs are under way, and none follows one that decided.
    fn look(&mut self, looked: Looked) -> Result<(), String> {
        let id = looked.candidate.clone();
        let candidate = self.candidates.get_mut(&id).ok_or_else(|| format!("there is no candidate {id}"))?;
        if candidate.state != CandidateState::Launched {
            return Err(format!("candidate {id} is {}; only a launched one is looked at", candidate.state));
        }
        if candidate.looks.last().is_some_and(|last| last.call != LookCall::More) {
            return Err(format!("look {} of candidate {id} decided", candidate.looks.len()));
        }
        let next = candidate.looks.len() as u64 + 1;
        if looked.look != next || looked.look > looked.looks {
            return Err(format!(
                "look {} of {} of candidate {id} follows look {}",
                looked.look,
                looked.looks,
                next - 1
            ));
        }
        candidate.looks.push(looked);
        Ok(())
    }

    fn judge(&mut self, seq: u64, judged: Judged) -> Result<(), String> {
        let next = match judged.verdict {
            Verdict::Accepted => CandidateState::Accepted,
            Verdict::Rejected => CandidateState::Rejected,
            Verdict::Inconclusive => CandidateState::Inconclusive,
            Verdict::Debug => CandidateState::Debug,
        };
        self.move_to(&judged.candidate, next)?;
        self.judged.push((judged.candidate.clone(), judged.verdict));
        self.last_judged = Some(seq);
        if judged.verdict == Verdict::Accepted {
            self.misses_in_a_row = 0;
            let Judged { candidate, score, code, .. } = judged.clone();
            self.accepted.push(Accepted { candidate, score, code });
            self.put_incumbent();
        } else if !self.changes_nothing(&judged.candidate) {
            self.misses_in_a_row += 1;
        }
        Ok(())
    }
}

/// Whether a refused draft may pass after this: what is approved, agreed or accepted has changed.
fn may_admit_drafts(event: &Event) -> bool {
    matches!(
        event,
        Event::Approved(_)
            | Event::Voided(_)
            | Event::Audited(_)
            | Event::Completed(_)
            | Event::Judged(_)
            | Event::Reverted(_)
    )
}
