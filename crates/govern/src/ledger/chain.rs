//! Whether the lines of a ledger belong together, and the state that they add up to.
//!
//! Detected without help: any changed byte, and a record that was dropped from, replaced in or inserted into the
//! middle. Detected only with an [`Anchor`]: complete records cut off the end, and a ledger that was rewritten from
//! some record on; the owner of the disk can do both.

use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

use super::record::{NO_RECORD, Record};
use super::state::StudyState;
use crate::canonical;

/// A ledger as far as it could be read.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The records before the first problem; of a lean ledger the last one alone.
    pub records: Vec<Record>,
    /// The digest of every record before the first problem.
    pub digests: Vec<Digest>,
    /// Whether only the last record is kept.
    lean: bool,
    /// What they add up to.
    pub state: StudyState,
    /// The first problem; nothing after it was read.
    pub problem: Option<ChainProblem>,
    /// Bytes after the last whole line: a record that was being written when its writer died. It was never
    /// acknowledged, so nothing depends on it.
    pub torn: usize,
}

/// What is wrong with a ledger, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainProblem {
    /// A stable identifier.
    pub code: &'static str,
    /// The line, from 1.
    pub line: u64,
    pub message: String,
    /// What would help.
    #[serde(skip)]
    pub remedy: Remedy,
}

/// What helps against a problem of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Finding out what happened.
    Verify,
    /// Putting back the copy outside the repository, which has more or other records.
    Restore,
}

impl Remedy {
    /// The command to begin with.
    pub fn command(self) -> &'static str {
        match self {
            Remedy::Verify => "rlx verify --chain",
            Remedy::Restore => "rlx ledger restore",
        }
    }
}

impl ChainProblem {
    fn new(code: &'static str, line: u64, message: impl Into<String>) -> Self {
        Self { code, line, message: message.into(), remedy: Remedy::Verify }
    }
}

/// A head that was stored outside the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The study's id.
    pub study: String,
    /// The number of the record that was the last one.
    pub seq: u64,
    pub head: Digest,
    /// When; a label.
    pub at: String,
}

impl Ledger {
    /// The digest of the last record.
    pub fn head(&self) -> Digest {
        self.digests.last().copied().unwrap_or(NO_RECORD)
    }

    /// The number of the next record.
    pub fn next_seq(&self) -> u64 {
        self.digests.len() as u64
    }

    /// Whether it was read to its end.
    pub fn is_whole(&self) -> bool {
        self.problem.is_none() && !self.digests.is_empty()
    }

    /// Adds a record that was just written.
    pub fn push(&mut self, record: Record) -> Result<(), ChainProblem> {
        self.take(record.clone())?;
        if self.lean {
            self.records.clear();
        }
        self.records.push(record);
        Ok(())
    }

    /// Adds a record without keeping it: its content goes into the state, and no part of it is copied.
    fn take(&mut self, record: Record) -> Result<(), ChainProblem> {
        let line = self.next_seq() + 1;
        let wrong = |code, message| ChainProblem::new(code, line, message);
        if record.seq != self.next_seq() {
            let message = format!("record {} stands where record {} belongs", record.seq, self.next_seq());
            return Err(wrong("wrong_number", message));
        }
        if record.prev != self.head() {
            let message = format!(
                "record {} names {} as the one before, which is {}",
                record.seq,
                record.prev.short(),
                self.head().short()
            );
            return Err(wrong("broken_link", message));
        }
        let (seq, digest) = (record.seq, record.digest);
        self.state
            .apply(record)
            .map_err(|message| wrong("impossible", format!("record {seq}: {message}")))?;
        self.digests.push(digest);
        Ok(())
    }

    /// Adds a record while a ledger is read from its beginning. A lean ledger keeps only the last record, which
    /// [`ending_with`](Self::ending_with) adds at the end.
    pub fn add(&mut self, record: Record) -> Result<(), ChainProblem> {
        if self.lean { self.take(record) } else { self.push(record) }
    }

    /// The ledger with its last record, parsed from the last line: parsing it again costs less than keeping a copy of
    /// every record until the next. `None` for a line that is not in canonical form.
    pub fn ending_with(mut self, last: Option<&str>) -> Option<Self> {
        if let (true, Some(last)) = (self.lean, last) {
            self.records = vec![Record::parse_usual(last, &mut Vec::new())?];
        }
        Some(self)
    }

    /// Undoes every push since there were `count` records, of which `last` was the last one.
    pub fn go_back(&mut self, count: usize, last: Option<Record>, state: StudyState) {
        self.digests.truncate(count);
        if self.lean {
            self.records = last.into_iter().collect();
        } else {
            self.records.truncate(count);
        }
        self.state = state;
    }
}

/// Reads a ledger up to its end or its first problem.
pub fn read(bytes: &[u8]) -> Ledger {
    let (ledger, whole) = split(bytes, false);
    read_lines(ledger, whole)
}

/// An empty ledger, and the complete lines that it will have. A lean ledger is for callers that need a study's state
/// and not its history.
pub fn split(bytes: &[u8], lean: bool) -> (Ledger, &[u8]) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let ledger = Ledger {
        records: Vec::new(),
        digests: Vec::new(),
        lean,
        state: StudyState::default(),
        problem: None,
        torn: bytes.len() - whole,
    };
    (ledger, &bytes[..whole])
}

/// Adds complete lines up to the first problem.
pub fn read_lines(mut ledger: Ledger, whole: &[u8]) -> Ledger {
    let lines = whole.strip_suffix(b"\n").into_iter().flat_map(|text| text.split(|byte| *byte == b'\n'));
    for (index, line) in lines.enumerate() {
        let read =
            std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned()).and_then(Record::parse);
        let pushed = match read {
            Ok(record) => ledger.push(record),
            Err(why) => {
                let message = format!("record {index}: {why}");
                Err(ChainProblem::new("damaged_record", index as u64 + 1, message))
            }
        };
        if let Err(problem) = pushed {
            ledger.problem = Some(problem);
            break;
        }
    }
    ledger
}

/// All problems of a ledger that was read from `bytes` with all its records: its first problem, lines that are not
/// exactly as rlx writes them, and anchors that don't match.
pub fn problems(ledger: &Ledger, bytes: &[u8], anchors: &[Anchor]) -> Vec<ChainProblem> {
    let mut problems: Vec<ChainProblem> = ledger.problem.clone().into_iter().collect();
    if ledger.records.is_empty() && problems.is_empty() {
        problems.push(ChainProblem::new("empty", 1, "there is no record"));
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    for (index, (line, _)) in lines.zip(&ledger.records).enumerate() {
        let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
        if value.is_none_or(|value| canonical::text(&value).as_bytes() != line) {
            let message = format!("record {index} is not written the way rlx writes records");
            problems.push(ChainProblem::new("not_canonical", index as u64 + 1, message));
        }
    }
    problems.extend(against(ledger, anchors));
    problems
}

/// Every anchor that doesn't match a ledger.
pub fn against(ledger: &Ledger, anchors: &[Anchor]) -> Vec<ChainProblem> {
    let study = ledger.state.opened.as_ref().map(|opened| opened.id.clone());
    let mut problems = Vec::new();
    for anchor in anchors {
        let line = anchor.seq.saturating_add(1);
        let met = usize::try_from(anchor.seq).ok().and_then(|seq| ledger.digests.get(seq));
        let said = match met {
            _ if study.as_ref() != Some(&anchor.study) => {
                Some(("anchor_of_other_study", format!("the anchor belongs to study {}", anchor.study)))
            }
            None => Some((
                "cut_off",
                format!("an anchor of {} names record {}, which is not there", anchor.at, anchor.seq),
            )),
            Some(digest) if *digest != anchor.head => Some((
                "rewritten",
                format!(
                    "record {} is {}, but an anchor of {} says {}",
                    anchor.seq,
                    digest.short(),
                    anchor.at,
                    anchor.head.short()
                ),
            )),
            Some(_) => None,
        };
        problems.extend(said.map(|(code, message)| ChainProblem::new(code, line, message)));
    }
    problems
}

/// How a ledger contradicts the end of its copy outside the repository: it lacks records of the copy, or has others in
/// their place. A copy of another study says nothing about this one.
pub fn against_copy(ledger: &Ledger, copy: &Anchor) -> Option<ChainProblem> {
    let study = ledger.state.opened.as_ref().map(|opened| &opened.id);
    if study.is_some_and(|study| *study != copy.study) {
        return None;
    }
    let (has, wants) = (ledger.next_seq(), copy.seq.saturating_add(1));
    let met = usize::try_from(copy.seq).ok().and_then(|seq| ledger.digests.get(seq));
    let (code, message) = match met {
        Some(digest) if *digest == copy.head => return None,
        Some(digest) => (
            "ledger_diverged",
            format!(
                "record {} is {}, but {} in the copy of {} outside the repository: both were continued on their \
                 own, as on two branches",
                copy.seq,
                digest.short(),
                copy.head.short(),
                copy.at
            ),
        ),
        None => (
            "ledger_behind_copy",
            format!(
                "it has {has} of the {wants} records in the copy of {} outside the repository: an older ledger was \
                 put in its place, as `git checkout`, `git stash` or another branch does",
                copy.at
            ),
        ),
    };
    let line = has.min(wants).max(1);
    Some(ChainProblem { code, line, message, remedy: Remedy::Restore })
}
