//! An opened study that can be added to.
//!
//! Opening already writes: what is void by now, or validated no longer, goes on record the first time anybody looks,
//! so that an edit that is taken back later has happened all the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

use rlxp_fs::clock;
use rlxp_govern::approval::{ApprovalStatus, newly_void, standing};
use rlxp_govern::documents::{Candidate, Reading, Slug};
use rlxp_govern::ledger::event::{Refused, Reopened, Voided};
use rlxp_govern::ledger::{self, Actor, Event, Ledger, Record};
use rlxp_govern::machine::CandidateState;
use rlxp_govern::section::{Section, Target};
use rlxp_govern::view::Study;
use rlxp_types::{Digest, Exit};

use super::anchors::own_anchors;
use super::ledger_reader;
use super::paths::{RepositoryPaths, StudyPaths};
use super::read::{document, ledger_bytes, ledger_file, read_parts, with_ledger};
use super::state_file;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};

/// How often a study is read again because somebody else added to it meanwhile.
const TRIES: usize = 10;

/// A study that was read, and may be added to as long as nobody else has.
pub struct OpenStudy {
    context: Context,
    pub place: StudyPaths,
    /// What was read.
    pub study: Study,
    /// What could not be done and changes no answer: a record that could not be written.
    pub warnings: Vec<String>,
    /// Where the ledger ended when it was read.
    end: End,
    head: Head,
}

impl OpenStudy {
    /// The study that `selector` names, or the active one. A ledger that can't be understood to its end is refused.
    pub fn open(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        Self::look(context, selector)?.if_whole()
    }

    /// The same for those who will ask for the commit that is checked out: git is asked while the ledger is read.
    pub fn open_with_head(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        let place = RepositoryPaths::find(context)?.select(context.fs.as_ref(), selector)?;
        // Before anything is read: the less memory a process has, the sooner another is started from it.
        let head = Head::ask(&place.root);
        let opened = Self::at(context, place)?.if_whole()?;
        Ok(Self { head, ..opened })
    }

    fn if_whole(self) -> Outcome<Self> {
        match broken(&self.study.ledger, &self.place) {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }

    /// The same for those who have something to say about a broken ledger.
    pub fn look(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        let place = RepositoryPaths::find(context)?.select(context.fs.as_ref(), selector)?;
        Self::at(context, place)
    }

    /// The study at a place that is known. Its ledger may be broken.
    pub fn at(context: &Context, place: StudyPaths) -> Outcome<Self> {
        for _ in 0..TRIES {
            // A thousand files are read while ten thousand records are.
            let (bytes, mut ledger, parts) = ledger_reader::read_lean_beside(
                || ledger_bytes(context, &place),
                || read_parts(context.fs.as_ref(), &place),
            )?;
            let parts = parts?;
            // A ledger that an anchor of this user contradicts is as broken as one whose links don't hold.
            let anchors = own_anchors(context.fs.as_ref(), &place)?;
            ledger.problem =
                ledger.problem.take().or_else(|| ledger::against(&ledger, &anchors).into_iter().next());
            let study = with_ledger(&place, ledger, parts);
            let (end, place) = (End::from_bytes(&bytes), place.clone());
            let (context, warnings, head) = (context.clone(), Vec::new(), Head::default());
            let mut opened = Self { context, place, study, warnings, end, head };
            match opened.put_changes_on_record() {
                Ok(()) => return Ok(opened),
                Err(failure) if failure.is(FailureKind::LedgerMoved) => {}
                // Whoever only looks can go on; whoever writes will hear of it again.
                Err(failure) if failure.exit == Exit::Storage || failure.is(FailureKind::LedgerLocked) => {
                    let seen = "void approvals could not be recorded";
                    opened.warnings.push(format!("{seen}: {failure}"));
                    return Ok(opened);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(moved(&place))
    }

    /// Adds one record. It is on the disk when this returns.
    pub fn append(&mut self, actor: Actor, event: Event) -> Outcome<&Record> {
        self.append_all(vec![(actor, event)])?;
        Ok(self.study.ledger.records.last().expect("one was added just now"))
    }

    /// Adds several records at once: all of them, or after an error none that anybody was told of.
    pub fn append_all(&mut self, events: Vec<(Actor, Event)>) -> Outcome<()> {
        if let Some(failure) = broken(&self.study.ledger, &self.place) {
            return Err(failure);
        }
        let ledger = &mut self.study.ledger;
        let (count, last, state) =
            (ledger.digests.len(), ledger.records.last().cloned(), ledger.state.clone());
        let result = add(&self.context, &self.place, ledger, &self.end, events);
        match result {
            Ok(end) => self.end = end,
            Err(failure) => {
                ledger.go_back(count, last, state);
                return Err(failure);
            }
        }
        if let Err(failure) = state_file::write(&self.context, &self.place, &self.study.ledger) {
            self.warnings.push(format!("state.json is behind the ledger: {failure}"));
        }
        Ok(())
    }

    /// Puts a refusal on record; the same one again, with nothing in between, is not written twice.
    pub fn put_refusal_on_record(&mut self, refused: Refused) -> Outcome<()> {
        let event = Event::Refused(refused);
        if self.study.ledger.records.last().is_some_and(|record| record.event == event) {
            return Ok(());
        }
        self.append(Actor::Rlx, event).map(drop)
    }

    /// Puts the study away for good. A verb that is done calls it last: giving back the memory of a thousand candidates
    /// piece by piece takes longer than anything that is left to do, and a process that ends gives it back at once.
    pub fn leave(self) {
        std::mem::forget(self);
    }

    /// The commit that is checked out, as git says when it is first asked for; nothing without one.
    pub fn head(&self) -> Option<&str> {
        self.head.answer(&self.place.root)
    }

    /// The context that it was opened in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The file of a candidate as a type.
    pub fn candidate(&self, id: &Slug) -> Outcome<Reading<Candidate>> {
        document(self.context.fs.as_ref(), &self.place.root, &self.place.candidate(id))
    }

    /// How every approval on record stands: all sections, and the candidates that were ever approved.
    pub fn standings(&self) -> Outcome<BTreeMap<Target, ApprovalStatus>> {
        let study = &self.study;
        let mut standings: BTreeMap<Target, ApprovalStatus> = study
            .standings()
            .into_iter()
            .map(|(section, standing)| (Target::Section(section), standing))
            .collect();
        let approved = study.state().approvals.iter().flat_map(|approval| approval.approved.targets.keys());
        for target in approved {
            if let Target::Candidate(id) = target
                && !standings.contains_key(target)
            {
                let now = self.candidate_digest(id)?;
                let standing = standing(target, now, study.required(), study.state(), study.proofs());
                standings.insert(target.clone(), standing);
            }
        }
        Ok(standings)
    }

    /// The digest of a candidate within what is agreed. A file that is, byte for byte, the one that was validated
    /// under the same agreement isn't read again: there can be a thousand.
    fn candidate_digest(&self, id: &Slug) -> Outcome<Option<Digest>> {
        let Some(experiment) = self.study.digests().get(&Section::Experiment).copied() else {
            return Ok(None);
        };
        let same =
            self.study.state().candidates.get(id).map(|record| &record.validated).filter(|validated| {
                Some(&validated.file) == self.study.candidate_files.get(id.as_str())
                    && validated.parts.get(&format!("section:{}", Section::Experiment)) == Some(&experiment)
            });
        match same {
            Some(validated) => Ok(Some(validated.digest)),
            None => Ok(self.candidate(id)?.get().and_then(|written| self.study.candidate_digest(written))),
        }
    }

    /// Puts on record which approvals are void by now, and which candidates are drafts again.
    fn put_changes_on_record(&mut self) -> Outcome<()> {
        if !self.study.ledger.is_whole() || self.study.state().closed.is_some() {
            return Ok(());
        }
        let mut events = Vec::new();
        let void = newly_void(self.study.state(), &self.standings()?);
        if !void.is_empty() {
            let (targets, mut reasons): (Vec<Target>, Vec<String>) = void.into_iter().unzip();
            reasons.sort_unstable();
            reasons.dedup();
            events.push((Actor::Rlx, Event::Voided(Voided { targets, reason: reasons.join("; ") })));
        }
        for (candidate, reason) in no_longer_validated(&self.study) {
            events.push((Actor::Rlx, Event::Reopened(Reopened { candidate, reason })));
        }
        if events.is_empty() { Ok(()) } else { self.append_all(events) }
    }
}

/// Validated candidates whose text, or whose plan as far as it can be known without reading the repository, isn't the
/// validated one any more. Protected files are looked at where a candidate is launched.
fn no_longer_validated(study: &Study) -> Vec<(Slug, String)> {
    let shared = study.shared_parts();
    let validated =
        study.state().candidates.iter().filter(|(_, record)| record.state == CandidateState::Validated);
    validated.filter_map(|(id, record)| Some((id.clone(), study.stale(record, &shared)?))).collect()
}

/// Why nothing may be done: the ledger can't be understood to its end.
fn broken(ledger: &Ledger, place: &StudyPaths) -> Option<Failure> {
    let why = match &ledger.problem {
        Some(problem) => format!("line {}: {}", problem.line, problem.message),
        None if ledger.records.is_empty() => "it has no records".to_owned(),
        None => return None,
    };
    let message = format!("the ledger of {} is broken, so this study is locked: {why}", place.name);
    Some(
        Failure::refused("ledger_broken", message).hint(format!("rlx verify --chain --study {}", place.name)),
    )
}

fn moved(place: &StudyPaths) -> Failure {
    let message =
        format!("another process wrote to the ledger of {} in the meantime; nothing was done", place.name);
    Failure::with_kind(FailureKind::LedgerMoved, message).hint("run the command again")
}

/// Adds records to `ledger` and to its file, if that still ends where it did. After an error `ledger` may have records
/// that the file has not.
fn add(
    context: &Context,
    place: &StudyPaths,
    ledger: &mut Ledger,
    end: &End,
    events: Vec<(Actor, Event)>,
) -> Outcome<End> {
    let now = clock::wall_text();
    let mut lines = Vec::new();
    for (actor, event) in events {
        let record = Record::new(ledger.next_seq(), now.as_str(), actor, event, ledger.head());
        lines.push(record.line());
        ledger
            .push(record)
            .map_err(|problem| Failure::with_kind(FailureKind::Impossible, problem.message))?;
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut locked = ledger_file(context, place).lock(&now)?;
    if End::from_bytes(locked.content()) != *end {
        return Err(moved(place));
    }
    locked.append_all(&lines)?;
    ledger.torn = 0;
    Ok(End::from_bytes(locked.content()))
}

/// The commit that is checked out.
#[derive(Default)]
struct Head {
    asked: Mutex<Option<JoinHandle<Option<String>>>>,
    answer: OnceLock<Option<String>>,
}

impl Head {
    /// Asks for it on a thread of its own.
    fn ask(root: &Path) -> Self {
        let root = root.to_owned();
        // A system that has no thread left is asked later.
        let asked = Builder::new().spawn(move || rlxp_launch::git::head(&root)).ok();
        Self { asked: Mutex::new(asked), answer: OnceLock::new() }
    }

    fn answer(&self, root: &Path) -> Option<&str> {
        let answer = self.answer.get_or_init(|| {
            let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
            let answered = asked.and_then(|asked| asked.join().ok());
            answered.unwrap_or_else(|| rlxp_launch::git::head(root))
        });
        answer.as_deref()
    }
}

/// Where a ledger ends. Each record names the one before, so the last one stands for all.
#[derive(PartialEq, Eq)]
struct End {
    length: usize,
    last: Digest,
}

impl End {
    fn from_bytes(bytes: &[u8]) -> Self {
        let length = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines = bytes[..length].strip_suffix(b"\n").unwrap_or_default();
        let last = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |start| start + 1);
        Self { length, last: Digest::hash(&lines[last..]) }
    }
}
