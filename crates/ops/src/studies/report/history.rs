//! The records of a ledger in the order in which they were appended, each with its number: the state alone says what is
//! the case, and a report also says since which record.
//!
//! Reports themselves are left out, so that a ledger to which nothing but its last report was added gives the same
//! report again, byte for byte.

use std::collections::BTreeMap;

use rlxp_govern::documents::{CandidateKind, Phase, Slug};
use rlxp_govern::ledger::event::{Decided, Judged, Looked, Refused, Reverted, Validated, Verdict};
use rlxp_govern::ledger::{Event, Record};
use rlxp_types::Digest;

/// The records of a study that a report is about.
pub(super) struct History<'l> {
    /// The last record that is not a report; `None` for an empty ledger.
    pub(super) last: Option<&'l Record>,
    /// Verdicts, in their order.
    pub(super) verdicts: Vec<JudgedAt<'l>>,
    /// Numbers of the records of each run.
    pub(super) runs: BTreeMap<&'l str, RunAt>,
    pub(super) refusals: Vec<(u64, &'l Refused)>,
    pub(super) reverted: Vec<(u64, &'l Reverted)>,
    /// The last decision.
    pub(super) decided: Option<(u64, &'l Decided)>,
    /// Every validation, in order.
    pub(super) validations: Vec<(u64, &'l Validated)>,
    /// Looks at each candidate's present revision that no verdict followed.
    pub(super) open_looks: BTreeMap<&'l Slug, Vec<(u64, &'l Looked)>>,
    /// The number of the record that handed the study off, and of the one that closed it.
    pub(super) handed_off: Option<u64>,
    pub(super) closed: Option<u64>,
}

/// A verdict and what led to it.
pub(super) struct JudgedAt<'l> {
    pub(super) seq: u64,
    pub(super) judged: &'l Judged,
    pub(super) kind: Option<CandidateKind>,
    pub(super) revision: Option<u64>,
    /// The plan that its runs followed.
    pub(super) plan: Option<Digest>,
    /// What it was compared with: the incumbent at that moment, or the baseline.
    pub(super) against: Option<Slug>,
    pub(super) looks: Vec<(u64, &'l Looked)>,
}

/// Numbers of the records of a run.
pub(super) struct RunAt {
    pub(super) intended: u64,
    pub(super) ended: Option<u64>,
    pub(super) evidence: Option<u64>,
}

impl RunAt {
    /// The record that says what the run counts for.
    pub(super) fn result(&self) -> Option<u64> {
        self.evidence.or(self.ended)
    }
}

impl<'l> History<'l> {
    pub(super) fn new(records: &'l [Record]) -> Self {
        let mut history = Self {
            last: None,
            verdicts: Vec::new(),
            runs: BTreeMap::new(),
            refusals: Vec::new(),
            reverted: Vec::new(),
            decided: None,
            validations: Vec::new(),
            open_looks: BTreeMap::new(),
            handed_off: None,
            closed: None,
        };
        let mut follower = Follower::default();
        for record in records.iter().filter(|record| !matches!(record.event, Event::Reported(_))) {
            history.last = Some(record);
            history.take(record, &mut follower);
        }
        history
    }

    fn take(&mut self, record: &'l Record, follower: &mut Follower<'l>) {
        let seq = record.seq;
        match &record.event {
            Event::Validated(validated) => {
                self.validations.push((seq, validated));
                follower.validated.insert(&validated.candidate, validated);
                self.open_looks.remove(&validated.candidate);
            }
            Event::LaunchIntent(intent) => {
                if follower.baseline.is_none()
                    && intent.phase == Phase::Confirm
                    && follower.kind(&intent.candidate) == Some(CandidateKind::Baseline)
                {
                    follower.baseline = Some(&intent.candidate);
                }
                let run = RunAt { intended: seq, ended: None, evidence: None };
                self.runs.insert(&intent.key, run);
            }
            Event::RunEnded(ended) => {
                if let Some(run) = self.runs.get_mut(ended.key.as_str()) {
                    run.ended = Some(seq);
                }
            }
            Event::Evidence(evidence) => {
                if let Some(run) = self.runs.get_mut(evidence.key.as_str()) {
                    run.evidence = Some(seq);
                }
            }
            Event::Looked(looked) => {
                self.open_looks.entry(&looked.candidate).or_default().push((seq, looked))
            }
            Event::Judged(judged) => {
                let validated = follower.validated.get(&judged.candidate);
                self.verdicts.push(JudgedAt {
                    seq,
                    judged,
                    kind: validated.map(|validated| validated.kind),
                    revision: validated.map(|validated| validated.revision),
                    plan: validated.map(|validated| validated.plan),
                    against: follower.reference().cloned(),
                    looks: self.open_looks.remove(&judged.candidate).unwrap_or_default(),
                });
                if judged.verdict == Verdict::Accepted {
                    follower.accepted.push(&judged.candidate);
                }
            }
            Event::Reverted(reverted) => {
                follower.accepted.retain(|accepted| **accepted != reverted.candidate);
                self.reverted.push((seq, reverted));
            }
            Event::Refused(refused) => self.refusals.push((seq, refused)),
            Event::Decided(decided) => self.decided = Some((seq, decided)),
            Event::HandedOff(_) => self.handed_off = Some(seq),
            Event::Closed(_) => self.closed = Some(seq),
            _ => {}
        }
    }

    /// How many records the report is about.
    pub(super) fn records(&self) -> u64 {
        self.last.map_or(0, |record| record.seq + 1)
    }

    /// The last verdict about a candidate.
    pub(super) fn verdict(&self, candidate: &Slug) -> Option<&JudgedAt<'l>> {
        self.verdicts.iter().rev().find(|verdict| verdict.judged.candidate == *candidate)
    }

    /// The record in which the present incumbent was accepted.
    pub(super) fn accepted(&self, candidate: &Slug) -> Option<u64> {
        let is_it = |verdict: &&JudgedAt<'_>| {
            verdict.judged.candidate == *candidate && verdict.judged.verdict == Verdict::Accepted
        };
        self.verdicts.iter().rev().find(is_it).map(|verdict| verdict.seq)
    }

    /// The record that intended the first run.
    pub(super) fn first_run(&self) -> Option<u64> {
        self.runs.values().map(|run| run.intended).min()
    }
}

/// What is known at each record.
#[derive(Default)]
struct Follower<'l> {
    validated: BTreeMap<&'l Slug, &'l Validated>,
    baseline: Option<&'l Slug>,
    accepted: Vec<&'l Slug>,
}

impl<'l> Follower<'l> {
    fn kind(&self, candidate: &Slug) -> Option<CandidateKind> {
        self.validated.get(candidate).map(|validated| validated.kind)
    }

    fn reference(&self) -> Option<&'l Slug> {
        self.accepted.last().copied().or(self.baseline)
    }
}

/// The most ranges of records that are listed one by one.
const MOST_RANGES: usize = 6;

/// Records as a report cites them: `#4`, `#4, #7–#9`; many of them as `#4 to #97 (31 records)`.
pub(super) fn cited(records: impl IntoIterator<Item = u64>) -> String {
    let mut all: Vec<u64> = records.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return "no record".to_owned() };
    let ranges: Vec<&[u64]> = all.chunk_by(|one, next| one + 1 == *next).collect();
    if ranges.len() > MOST_RANGES {
        return format!("#{first} to #{last} ({} records)", all.len());
    }
    let range = |range: &&[u64]| match range {
        [one] => format!("#{one}"),
        [one, other] => format!("#{one}, #{other}"),
        [first, .., last] => format!("#{first}–#{last}"),
        [] => String::new(),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_cited_in_ranges() {
        assert_eq!(cited([]), "no record");
        assert_eq!(cited([4]), "#4");
        assert_eq!(cited([9, 8, 4, 8]), "#4, #8, #9");
        assert_eq!(cited([7, 8, 9, 4]), "#4, #7–#9");
        assert_eq!(cited((0..20).map(|seq| 2 * seq)), "#0 to #38 (20 records)");
    }
}
