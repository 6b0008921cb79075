//! An opened study, to which records can be appended.
//!
//! Opening already writes: void approvals and candidates that are no longer validated are recorded as soon as any
//! command opens the study, so that an edit that is reverted later is in the record too.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

use rlxp_fs::clock;
use rlxp_govern::approval::{ApprovalStatus, newly_void, standing};
use rlxp_govern::documents::{Candidate, Reading, Slug};
use rlxp_govern::ledger::event::{Refused, Reopened, Voided};
use rlxp_govern::ledger::{Actor, Event, Ledger, Record, Remedy};
use rlxp_govern::machine::CandidateState;
use rlxp_govern::section::{Section, Target};
use rlxp_govern::view::Study;
use rlxp_types::{Digest, Exit};

use super::copy::{self, Freshness, LedgerCopy, Urgency};
use super::ledger_reader;
use super::paths::{RepositoryPaths, StudyPaths};
use super::read::{document, ledger_bytes, ledger_file, read_parts, with_ledger};
use super::state_file;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};

/// How often a study is read again because another process appended to its ledger.
const TRIES: usize = 10;

/// A study as it was read. Records can be appended as long as no other process does.
pub struct OpenStudy {
    context: Context,
    pub place: StudyPaths,
    pub study: Study,
    /// Problems that change no result, such as a record that could not be written.
    pub warnings: Vec<String>,
    /// The end of the ledger when it was read.
    end: End,
    head: Head,
}

impl OpenStudy {
    /// Opens the study that `selector` names, or the active one. Refuses a broken ledger.
    pub fn open(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        Self::look(context, selector)?.if_whole()
    }

    /// Like [`Self::open`], for callers that need the checked-out commit: git runs while the ledger is read.
    pub fn open_with_head(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        let place = RepositoryPaths::find(context)?.select(context.fs.as_ref(), selector)?;
        // Before anything is read: forking is faster while the process has little memory.
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

    /// Like [`Self::open`], for callers that can handle a broken ledger.
    pub fn look(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        let place = RepositoryPaths::find(context)?.select(context.fs.as_ref(), selector)?;
        Self::at(context, place)
    }

    /// Opens the study at a known place. Its ledger may be broken.
    pub fn at(context: &Context, place: StudyPaths) -> Outcome<Self> {
        for _ in 0..TRIES {
            // In parallel: there can be a thousand files and ten thousand records.
            let (bytes, mut ledger, parts) = ledger_reader::read_lean_beside(
                || ledger_bytes(context, &place),
                || read_parts(context.fs.as_ref(), &place),
            )?;
            let parts = parts?;
            // A ledger that contradicts its copy or one of the user's anchors is broken too.
            if copy::check(context, &place, &mut ledger)? == Freshness::Moved {
                continue;
            }
            let study = with_ledger(&place, ledger, parts);
            let (end, place) = (End::from_bytes(&bytes), place.clone());
            let (context, warnings, head) = (context.clone(), Vec::new(), Head::default());
            let mut opened = Self { context, place, study, warnings, end, head };
            match opened.record_changes() {
                Ok(()) => return Ok(opened),
                Err(failure) if failure.is(FailureKind::LedgerMoved) => {}
                // Readers can continue; writers will get the error again.
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

    /// A study as it was before some of its records, to compute again what followed. Nothing can be appended to it: its
    /// end is not that of the file.
    pub(crate) fn as_it_was(context: &Context, place: &StudyPaths, study: Study) -> Self {
        let (context, place, end) = (context.clone(), place.clone(), End::from_bytes(&[]));
        Self { context, place, study, warnings: Vec::new(), end, head: Head::default() }
    }

    /// Appends one record. It is synced when this returns.
    pub fn append(&mut self, actor: Actor, event: Event) -> Outcome<&Record> {
        self.append_all(vec![(actor, event)])?;
        Ok(self.study.ledger.records.last().expect("one was added just now"))
    }

    /// Appends several records at once. After an error, none of them counts.
    pub fn append_all(&mut self, events: Vec<(Actor, Event)>) -> Outcome<()> {
        if let Some(failure) = broken(&self.study.ledger, &self.place) {
            return Err(failure);
        }
        let ledger = &mut self.study.ledger;
        let (count, last, state) =
            (ledger.digests.len(), ledger.records.last().cloned(), ledger.state.clone());
        let kinds: Vec<&'static str> = events.iter().map(|(_, event)| event.kind()).collect();
        let signatures: Vec<Digest> = events.iter().filter_map(|(_, event)| signature_of(event)).collect();
        let result = add(&self.context, &self.place, ledger, &self.end, events);
        match result {
            Ok((end, copied)) => {
                self.end = end;
                let copied = copied.and_then(|()| self.copy_signatures(&signatures));
                self.warnings.extend(copied.err().map(|failure| copy::not_written(&failure)));
            }
            Err(failure) => {
                ledger.go_back(count, last, state);
                return Err(failure);
            }
        }
        if let Err(failure) = state_file::write(&self.context, &self.place, &self.study.ledger) {
            self.warnings.push(format!("state.json is behind the ledger: {failure}"));
        }
        for kind in kinds {
            rlxp_launch::crash::point(&format!("ledger:{kind}"));
        }
        rlxp_launch::crash::point("ledger:any");
        Ok(())
    }

    /// Copies the signatures of new approvals.
    fn copy_signatures(&self, digests: &[Digest]) -> Outcome<()> {
        let fs = self.context.fs.as_ref();
        let copy = LedgerCopy::of(&self.place, copy::id_of(&self.study.ledger));
        for digest in digests {
            if let (Some(copy), Some(text)) = (&copy, self.study.signatures.get(digest)) {
                copy.write_signature(fs, digest, text)?;
            }
        }
        Ok(())
    }

    /// Records a refusal, unless the last record is the same one.
    pub fn record_refusal(&mut self, refused: Refused) -> Outcome<()> {
        let event = Event::Refused(refused);
        if self.study.ledger.records.last().is_some_and(|record| record.event == event) {
            return Ok(());
        }
        self.append(Actor::Rlx, event).map(drop)
    }

    /// Leaks the study. A verb calls this last: freeing a thousand candidates takes longer than everything else that
    /// is left to do, and the process is about to exit.
    pub fn leave(self) {
        std::mem::forget(self);
    }

    /// The checked-out commit, determined on first use; `None` without a commit.
    pub fn head(&self) -> Option<&str> {
        self.head.answer(&self.place.root)
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The file of a candidate as a type.
    pub fn candidate(&self, id: &Slug) -> Outcome<Reading<Candidate>> {
        document(self.context.fs.as_ref(), &self.place.root, &self.place.candidate(id))
    }

    /// The status of every recorded approval: all sections, and every candidate and run that was ever
    /// approved.
    pub fn standings(&self) -> Outcome<BTreeMap<Target, ApprovalStatus>> {
        let study = &self.study;
        let mut standings: BTreeMap<Target, ApprovalStatus> = study
            .standings()
            .into_iter()
            .map(|(section, standing)| (Target::Section(section), standing))
            .collect();
        let approved = study.state().approvals.iter().flat_map(|approval| approval.approved.targets.keys());
        for target in approved {
            if standings.contains_key(target) {
                continue;
            }
            let standing = match target {
                Target::Candidate(id) => {
                    let now = self.candidate_digest(id)?;
                    standing(target, now, study.required(), study.state(), study.proofs())
                }
                Target::Run(key) => match study.state().runs.get(key) {
                    Some(run) => study.run_standing(run),
                    None => continue,
                },
                Target::Section(_) | Target::Close => continue,
            };
            standings.insert(target.clone(), standing);
        }
        Ok(standings)
    }

    /// The digest of a candidate together with the contract. A file that is byte for byte the validated one, under
    /// the same contract, is not parsed again: there can be a thousand.
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

    /// Records which approvals are now void, and which candidates are drafts again.
    fn record_changes(&mut self) -> Outcome<()> {
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

/// Validated candidates whose text or plan has changed, as far as that can be known without reading the repository.
/// Protected files are checked at launch.
fn no_longer_validated(study: &Study) -> Vec<(Slug, String)> {
    let shared = study.shared_parts();
    let validated =
        study.state().candidates.iter().filter(|(_, record)| record.state == CandidateState::Validated);
    validated.filter_map(|(id, record)| Some((id.clone(), study.stale(record, &shared)?))).collect()
}

/// The failure of a broken ledger, which blocks everything.
fn broken(ledger: &Ledger, place: &StudyPaths) -> Option<Failure> {
    let why = match &ledger.problem {
        Some(problem) => format!("line {}: {}", problem.line, problem.message),
        None if ledger.records.is_empty() => "it has no records".to_owned(),
        None => return None,
    };
    if let Some(problem) = ledger.problem.as_ref().filter(|problem| problem.remedy == Remedy::Restore) {
        let message = format!(
            "the ledger of {} doesn't match its copy, so this study is locked: {}",
            place.name, problem.message
        );
        // Back on its branch the study is complete; the copy has only the ledger.
        return Some(
            Failure::refused(problem.code, message)
                .hint("if you switched branches: git switch -")
                .hint(format!("rlx ledger restore --study {}", place.name)),
        );
    }
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

fn signature_of(event: &Event) -> Option<Digest> {
    match event {
        Event::Approved(approved) => approved.signature,
        _ => None,
    }
}

/// Appends records to `ledger` and to its file, if that still has the same end. After an error, `ledger` may have
/// records that the file doesn't have. The second result is that of writing the copy, where one is due.
fn add(
    context: &Context,
    place: &StudyPaths,
    ledger: &mut Ledger,
    end: &End,
    events: Vec<(Actor, Event)>,
) -> Outcome<(End, Outcome<()>)> {
    let now = clock::wall_text();
    let urgency = copy::urgency(events.iter().map(|(_, event)| event));
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
    // Under the same lock, so that no older copy replaces a newer one.
    let copied =
        urgency.map_or(Ok(()), |urgency| write_copy(context, place, ledger, locked.content(), urgency));
    Ok((End::from_bytes(locked.content()), copied))
}

fn write_copy(
    context: &Context,
    place: &StudyPaths,
    ledger: &Ledger,
    content: &[u8],
    urgency: Urgency,
) -> Outcome<()> {
    let copy = LedgerCopy::of(place, copy::id_of(ledger)).ok_or_else(copy::no_folder)?;
    copy.write(context.fs.as_ref(), content, urgency)
}

/// The commit that is checked out.
#[derive(Default)]
struct Head {
    asked: Mutex<Option<JoinHandle<Option<String>>>>,
    answer: OnceLock<Option<String>>,
}

impl Head {
    /// Asks git on a separate thread.
    fn ask(root: &Path) -> Self {
        let root = root.to_owned();
        // Without a free thread, git is asked later.
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

/// The end of a ledger. Each record contains the digest of the one before, so the last one identifies all.
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
