//! What each record changes, and what it may not.

use std::collections::BTreeSet;

use super::{Accepted, Approval, CandidateRecord, RunRecord, StudyState};
use crate::documents::Slug;
use crate::ledger::event::{
    Analyzed, Event, Evidence, Judged, LookCall, Looked, RunEnded, Validated, Verdict,
};
use crate::ledger::record::Record;
use crate::machine::{CandidateState, RunEnd, RunState};
use crate::section::{Section, Target};

impl StudyState {
    /// Applies a record, whose parts are moved and not copied. The error says what is not allowed.
    pub(in crate::ledger) fn apply(&mut self, record: Record) -> Result<(), String> {
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

    pub(super) fn move_to(&mut self, id: &Slug, next: CandidateState) -> Result<(), String> {
        let candidate = self.candidates.get_mut(id).ok_or_else(|| format!("there is no candidate {id}"))?;
        // The furthest phase, not the latest: a smoke run after a confirm phase doesn't undo that it was confirmed.
        let phase = candidate.furthest();
        candidate.state = candidate.state.to(next, phase).map_err(|refused| refused.to_string())?;
        Ok(())
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
