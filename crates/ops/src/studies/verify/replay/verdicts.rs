//! Looks, verdicts and the decisions that follow from them.

use rlxp_fs::FsExt;
use rlxp_govern::documents::Slug;
use rlxp_govern::judge::{Findings as Judging, Judgement, judge, runs_needed};
use rlxp_govern::ledger::event::{Decided, Judged, Looked, Reverted};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_types::Digest;

use super::{Follows, Replay};
use crate::below::word_of;
use crate::failure::Outcome;
use crate::studies::judge::gather;
use crate::studies::verify::Findings;

impl Replay<'_> {
    pub(super) fn look(&mut self, seq: u64, recorded: &Looked, found: &mut Findings) -> Outcome<()> {
        self.expected = None;
        let Some(again) = self.judge(seq, &recorded.candidate, found)? else { return Ok(()) };
        if again.looked.as_ref() == Some(recorded) {
            self.same.verdicts += 1;
        } else {
            let (look, id) = (recorded.look, &recorded.candidate);
            let message = format!("look {look} at {id} doesn't come out as it is recorded");
            found.problem("look_differs", Some(seq + 1), message);
        }
        self.expected = Some(again);
        Ok(())
    }

    pub(super) fn verdict(&mut self, seq: u64, recorded: &Judged, found: &mut Findings) -> Outcome<()> {
        self.follows = None;
        let together = self.expected.take().filter(|before| before.candidate == recorded.candidate);
        let candidates = &self.past.study.state().candidates;
        let is_of_this_version = candidates
            .get(&recorded.candidate)
            .is_some_and(|record| !record.looks.is_empty() || record.validated.effect.is_some());
        // This version records the effect of every candidate, gives every verdict a reason, and looks before it decides.
        if recorded.reason.is_empty() && !is_of_this_version {
            let id = &recorded.candidate;
            found
                .not_checked
                .push(format!("the verdict on {id} in record {seq}: an earlier version made it"));
            return Ok(());
        }
        // The code follows from the changes, not from the evidence, and is checked by itself.
        let with_code = |judged: &Judged| Judged { code: recorded.code.clone(), ..judged.clone() };
        let is_same = |found: &Judging| found.judged.as_ref().map(with_code).as_ref() == Some(recorded);
        let again = match together.filter(is_same) {
            Some(together) => together,
            None => match self.judge(seq, &recorded.candidate, found)? {
                Some(again) => again,
                None => return Ok(()),
            },
        };
        if is_same(&again) {
            self.same.verdicts += 1;
            self.follows = Some(Follows { decided: again.decided, reverted: again.reverted });
            return Ok(());
        }
        let said = |judged: &Judged| format!("{} ({})", word_of(&judged.verdict), judged.reason);
        let now = again.judged.as_ref().map_or_else(|| "none".to_owned(), said);
        let inputs = match &again.judged {
            Some(again) if again.inputs != recorded.inputs => "; it was computed from something else",
            _ => "",
        };
        let message = format!(
            "the verdict on {} is recorded as {} and comes out as {now}{inputs}",
            recorded.candidate,
            said(recorded)
        );
        found.problem("verdict_differs", Some(seq + 1), message);
        Ok(())
    }

    /// A decision comes from the verdict before it. Without that, or where it doesn't come out the same, there is nothing
    /// to compare with, which was reported with the verdict.
    pub(super) fn decision(&mut self, seq: u64, recorded: &Decided, found: &mut Findings) {
        let Some(follows) = &mut self.follows else {
            found.not_checked.push(format!("the decision in record {seq}: its verdict can't be recomputed"));
            return;
        };
        let again = follows.decided.take();
        if again.as_ref() == Some(recorded) {
            self.same.decisions += 1;
            return;
        }
        let said = |decided: &Decided| format!("{} ({})", word_of(&decided.decision), decided.reason);
        let now = again.as_ref().map_or_else(|| "none".to_owned(), said);
        let message =
            format!("the decision in record {seq} is recorded as {} and comes out as {now}", said(recorded));
        found.problem("decision_differs", Some(seq + 1), message);
        self.follows = None;
    }

    /// What a decision to roll back undoes. Other acceptances are undone by a person, which follows from nothing.
    pub(super) fn reverted(&mut self, seq: u64, recorded: &Reverted, found: &mut Findings) {
        let Some(again) = self.follows.take().and_then(|follows| follows.reverted) else { return };
        if again != *recorded {
            let message = format!(
                "record {seq} reverts {} ({}), but the decision before it reverts {} ({})",
                recorded.candidate, recorded.reason, again.candidate, again.reason
            );
            found.problem("decision_differs", Some(seq + 1), message);
        }
    }

    /// Judges a candidate as it was before a record; `None` if that can't be done any more.
    fn judge(&mut self, seq: u64, candidate: &Slug, found: &mut Findings) -> Outcome<Option<Judging>> {
        let Some(file) = self.validated_file(candidate) else {
            found.not_checked.push(format!(
                "record {seq} about {candidate}: the contract or another document has changed since"
            ));
            return Ok(None);
        };
        // A file that was edited after its verdict changes nothing about the verdict.
        let name = candidate.to_string();
        let present = self.past.study.candidate_files.insert(name.clone(), file);
        let judged = self.judge_as_validated(seq, candidate, found);
        let files = &mut self.past.study.candidate_files;
        match present {
            Some(present) => files.insert(name, present),
            None => files.remove(&name),
        };
        judged
    }

    fn judge_as_validated(
        &mut self,
        seq: u64,
        candidate: &Slug,
        found: &mut Findings,
    ) -> Outcome<Option<Judging>> {
        let past = &self.past.study;
        let needed = runs_needed(past, candidate);
        if let Some(key) = needed.iter().find(|key| self.is_gone(past.state().runs.get(*key))) {
            let message = format!("record {seq} about {candidate}: the files of run {key} are gone");
            found.not_checked.push(message);
            return Ok(None);
        }
        let facts = gather(self.context, self.runs, past.state(), &needed)?;
        Ok(match judge(past, candidate, &facts, &mut self.bounds) {
            Judgement::Found(findings) => Some(*findings),
            Judgement::NotYet(why) => {
                let message = format!("record {seq} about {candidate} should not exist: {}", why.reason);
                found.problem("verdict_differs", Some(seq + 1), message);
                None
            }
        })
    }

    /// The digest of the file that the candidate was validated with, if the other documents are those of its validation.
    /// What it is compared with may have changed since: then the verdict says so.
    fn validated_file(&self, candidate: &Slug) -> Option<Digest> {
        let validated = &self.past.study.state().candidates.get(candidate)?.validated;
        let is_same = |(name, digest): (&String, &Option<Digest>)| {
            name == rlxp_govern::plan::INCUMBENT || validated.parts.get(name) == digest.as_ref()
        };
        self.documents.iter().all(is_same).then_some(validated.file)
    }

    /// Judges a candidate as it was before a record, without saying why that can't be done.
    pub(super) fn try_judge(&mut self, candidate: &Slug) -> Outcome<Option<Judging>> {
        self.judge(0, candidate, &mut Findings::default())
    }

    fn is_gone(&self, run: Option<&RunRecord>) -> bool {
        run.is_some_and(|run| {
            !self.context.fs.is_folder(self.runs.run(&run.intent.key).path()).unwrap_or(false)
        })
    }
}
