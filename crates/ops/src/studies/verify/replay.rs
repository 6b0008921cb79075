//! Goes through a ledger again, record by record, and computes each look, verdict, decision, accepted commit and analysis
//! from the records before it and the files of runs.

mod analyses;
mod code;
mod verdicts;

use std::collections::BTreeMap;

use rlxp_govern::judge::{Bounds, Findings as Judging};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{Decided, Reverted};
use rlxp_govern::view::Study;
use rlxp_types::Digest;

use super::Findings;
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::paths::StudyPaths;
use crate::studies::study::status::counted;

/// Computes everything again that follows from the records before it.
pub(super) fn replay(
    context: &Context,
    place: &StudyPaths,
    runs: &LaunchPaths,
    study: &Study,
    found: &mut Findings,
) -> Outcome<()> {
    // Of the records only the state they add up to is needed.
    let (empty, _) = rlxp_govern::ledger::split(&[], true);
    let past = OpenStudy::as_it_was(context, place, Study { ledger: empty, ..study.clone() });
    let mut replay = Replay {
        context,
        runs,
        documents: study.shared_parts(),
        past,
        bounds: Bounds::recomputed(),
        expected: None,
        follows: None,
        same: Same::default(),
    };
    let records = &study.ledger.records;
    for (index, record) in records.iter().enumerate() {
        let next = records.get(index + 1).map(|next| &next.event);
        replay.check(record.seq, &record.event, next, found)?;
        // The chain was checked before.
        if replay.past.study.ledger.push(record.clone()).is_err() {
            break;
        }
    }
    replay.check_present_files(study, found)?;
    replay.tell(found);
    Ok(())
}

/// A ledger that is gone through again.
struct Replay<'a> {
    context: &'a Context,
    runs: &'a LaunchPaths,
    /// The digests of the study's documents as they are now, which no record changes.
    documents: BTreeMap<String, Option<Digest>>,
    /// The study before the record that is looked at.
    past: OpenStudy,
    bounds: Bounds,
    /// What was found at a look and may be followed by a verdict, recorded together.
    expected: Option<Judging>,
    /// What has to follow a verdict that came out the same.
    follows: Option<Follows>,
    same: Same,
}

/// What follows from a verdict.
struct Follows {
    decided: Option<Decided>,
    reverted: Option<Reverted>,
}

/// How much came out the same.
#[derive(Default)]
struct Same {
    verdicts: usize,
    decisions: usize,
    code: usize,
    analyses: usize,
}

impl Replay<'_> {
    fn check(&mut self, seq: u64, event: &Event, next: Option<&Event>, found: &mut Findings) -> Outcome<()> {
        match (event, next) {
            (Event::Looked(looked), _) => self.look(seq, looked, found)?,
            (Event::Judged(judged), next) => {
                self.verdict(seq, judged, found)?;
                self.code(seq, judged, found)?;
                if !matches!(next, Some(Event::Decided(_))) && self.follows.take().is_some() {
                    found.not_checked.push(format!(
                        "what was decided after the verdict on {} in record {seq}: no decision is recorded",
                        judged.candidate
                    ));
                }
            }
            (Event::Decided(decided), _) => self.decision(seq, decided, found),
            (Event::Reverted(reverted), _) => self.reverted(seq, reverted, found),
            (Event::Analyzed(analyzed), _) => self.analysis(seq, analyzed, found)?,
            // Judging completes a candidate that was still launched, so it was judged before this record.
            (Event::Completed(completed), Some(Event::Judged(judged)))
                if completed.candidate == judged.candidate && self.expected.is_none() =>
            {
                self.expected = self.try_judge(&judged.candidate)?;
            }
            (Event::Completed(_), _) => {}
            _ => self.expected = None,
        }
        Ok(())
    }

    fn tell(&self, found: &mut Findings) {
        let Same { verdicts, decisions, code, analyses } = self.same;
        let mut tell = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => found.holds.push(format!("1 {one} comes out the same")),
            count => found.holds.push(format!("{count} {many} come out the same")),
        };
        tell(verdicts, "look or verdict", "looks and verdicts");
        tell(decisions, "decision", "decisions");
        tell(analyses, "reflection or probe summary", "reflections and probe summaries");
        if code > 0 {
            let accepted = counted(code, "accepted candidate");
            found.holds.push(format!("the code of {accepted} follows from what was validated"));
        }
    }
}
