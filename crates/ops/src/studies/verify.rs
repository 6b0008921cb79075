//! `rlx verify`: whether a ledger is intact, whether what it says of runs still follows from their files, and what can't be
//! checked here.

mod recompute;
mod replay;

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::approval::{may_approve, statement};
use rlxp_govern::documents::{Assurance, StudyName};
use rlxp_govern::ledger::state::Approval;
use rlxp_govern::ledger::{self, Anchor, Ledger, against_copy};
use rlxp_govern::signature::{self, Approvers, Fingerprint, LONGEST_SIGNATURE};
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{FailureKind, Outcome};
use crate::studies::files::copy::{LedgerCopy, id_of, matches_now};
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::paths::{RepositoryPaths, StudyPaths};
use crate::studies::files::read::{approvers, approvers_of, ledger_bytes, look};
use crate::studies::files::{ledger_reader, read_anchors, usual_place};
use crate::studies::study::status::counted;

/// What to check against.
#[derive(Clone, Debug, Default)]
pub struct VerifyRequest {
    /// The study; the active one by default.
    pub study: Option<String>,
    /// A list of approvers to use instead of the user's.
    pub approvers: Option<PathBuf>,
    /// Further files of anchors.
    pub anchors: Vec<PathBuf>,
    /// Only the ledger, not the files of runs.
    pub chain_only: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    #[serde(flatten)]
    pub name: StudyName,
    /// Records up to the first problem.
    pub records: u64,
    /// The digest of the last of them.
    pub head: Digest,
    pub problems: Vec<Found>,
    pub holds: Vec<String>,
    /// What can't be checked here, and what it would take.
    pub not_checked: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// A stable identifier.
    pub code: &'static str,
    /// The line of the ledger, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub message: String,
}

/// Checks the chain, the anchors, the signatures and the approvers, and recomputes what follows from the files of runs.
pub fn verify(context: &Context, request: &VerifyRequest) -> Outcome<VerifyReport> {
    let fs = context.fs.as_ref();
    let place = RepositoryPaths::find(context)?.select(fs, request.study.as_deref())?;
    let mut found = Findings::default();
    let bytes = match ledger_bytes(context, &place) {
        Ok(bytes) => bytes,
        Err(failure) if failure.is(FailureKind::LinkInStudy) => {
            found.problem(failure.code, None, failure.message);
            Vec::new()
        }
        Err(failure) => return Err(failure),
    };
    let ledger = ledger_reader::read(&bytes);
    let anchors = anchors(context, &place, &ledger, request, &mut found)?;
    let problems = ledger::problems(&ledger, &bytes, &anchors);
    if found.problems.is_empty() || !bytes.is_empty() {
        for problem in problems {
            found.problem(problem.code, Some(problem.line), problem.message);
        }
    }
    let copy = copy_end(context, &place, &ledger, &mut found)?;
    unknown_runs(context, &ledger, &mut found)?;
    let is_intact = found.problems.is_empty();
    let ends: Vec<Anchor> = anchors.into_iter().chain(copy).collect();
    found.tell_of_chain(&ledger, &ends, is_intact);
    check_signatures(context, &place, &ledger, request, &mut found)?;
    if !request.chain_only && ledger.is_whole() {
        recompute::recompute(context, &place, &ledger, &mut found)?;
    }
    let Findings { problems, holds, not_checked } = found;
    let (records, head) = (ledger.next_seq(), ledger.head());
    Ok(VerifyReport { name: place.name, records, head, problems, holds, not_checked })
}

#[derive(Default)]
struct Findings {
    problems: Vec<Found>,
    holds: Vec<String>,
    not_checked: Vec<String>,
}

impl Findings {
    fn problem(&mut self, code: &'static str, line: Option<u64>, message: impl Into<String>) {
        self.problems.push(Found { code, line, message: message.into() });
    }

    fn tell_of_chain(&mut self, ledger: &Ledger, anchors: &[Anchor], is_intact: bool) {
        if ledger.is_whole() {
            self.holds.push(format!("{} in one chain", counted(ledger.records.len(), "record")));
        }
        let met = |anchor: &&Anchor| {
            let seq = usize::try_from(anchor.seq).ok();
            seq.and_then(|seq| ledger.records.get(seq)).is_some_and(|record| record.digest == anchor.head)
        };
        let last = anchors.iter().filter(met).map(|anchor| anchor.seq).max();
        match last {
            Some(last) => {
                self.holds.push(format!("records 0 to {last} match an anchor or the copy in your state folder"));
                let after = ledger.next_seq().saturating_sub(last + 1);
                let was = if after == 1 { "was" } else { "were" };
                if after > 0 && is_intact {
                    self.not_checked.push(format!(
                        "whether the {} after the last anchor {was} removed or rewritten (save a new anchor: rlx ledger anchor)",
                        counted(after as usize, "record")
                    ));
                }
            }
            // An anchor that doesn't match has been reported.
            None if !is_intact => {}
            None => self.not_checked.push(
                "whether records were removed from the end, or the whole ledger was rewritten: without an anchor \
                 or a copy neither leaves a trace (save an anchor: rlx ledger anchor)"
                    .to_owned(),
            ),
        }
        if ledger.torn > 0 {
            self.not_checked.push(format!(
                "whether the {} after the last record were ever acknowledged: a writer that died and a truncated record \
                 look the same",
                counted(ledger.torn, "byte")
            ));
        }
    }
}

/// The end of the ledger's copy outside the repository, after comparing the ledger with it.
fn copy_end(
    context: &Context,
    place: &StudyPaths,
    ledger: &Ledger,
    found: &mut Findings,
) -> Outcome<Option<Anchor>> {
    let fs = context.fs.as_ref();
    let Some(copy) = LedgerCopy::find(fs, place, ledger)? else { return Ok(None) };
    let Some(end) = copy.end(fs, id_of(ledger))? else {
        let message = format!("the copy {} has no readable last record", copy.path.display());
        found.problem("damaged_copy", None, message);
        return Ok(None);
    };
    if let Some(problem) = against_copy(ledger, &end)
        && !matches_now(context, place, &end)?
    {
        let help = format!("{}; put the copy back with: {}", problem.message, problem.remedy.command());
        found.problem(problem.code, Some(problem.line), help);
    }
    Ok(Some(end))
}

/// Names runs whose files exist although the ledger doesn't have them.
fn unknown_runs(context: &Context, ledger: &Ledger, found: &mut Findings) -> Outcome<()> {
    // Without a home folder, or an id in the ledger, no run can be found.
    let Ok(place) = LaunchPaths::of(&context.user, ledger) else { return Ok(()) };
    for key in place.unknown_runs(context.fs.as_ref(), ledger)? {
        let folder = place.run(&key).folder;
        let message = format!("the ledger has no run {key}, but its files are in {}", folder.display());
        found.problem("unknown_run", None, message);
    }
    Ok(())
}

/// Anchors of this study: those in the user's own folder that name its id or its location, and those in the given
/// files.
fn anchors(
    context: &Context,
    place: &StudyPaths,
    ledger: &Ledger,
    request: &VerifyRequest,
    found: &mut Findings,
) -> Outcome<Vec<Anchor>> {
    let fs = context.fs.as_ref();
    let id = ledger.state.opened.as_ref().map(|opened| &opened.id);
    let own = usual_place(place).ok();
    let mut all: Vec<Anchor> = Vec::new();
    let mut take = |path: &Path, every: bool| -> Outcome<()> {
        let (anchors, bad) = read_anchors(fs, path)?;
        if every {
            for line in bad {
                let message = format!("line {line} of {} is not an anchor", path.display());
                found.problem("damaged_anchor", None, message);
            }
        }
        all.extend(anchors.into_iter().filter(|anchor| every || Some(&anchor.study) == id));
        Ok(())
    };
    if let Some(folder) = place.anchors()
        && fs.is_folder(&folder)?
    {
        for entry in fs.list(&folder)?.iter().filter(|entry| entry.name.ends_with(".jsonl")) {
            let path = folder.join(&entry.name);
            take(&path, own.as_ref() == Some(&path))?;
        }
    }
    for path in &request.anchors {
        take(&context.folder.join(path), true)?;
    }
    all.sort_by_key(|anchor| (anchor.seq, anchor.head));
    all.dedup();
    Ok(all)
}

fn check_signatures(
    context: &Context,
    place: &StudyPaths,
    ledger: &Ledger,
    request: &VerifyRequest,
    found: &mut Findings,
) -> Outcome<()> {
    let Some(opened) = &ledger.state.opened else { return Ok(()) };
    let fs = context.fs.as_ref();
    let approvals = &ledger.state.approvals;
    let signed: Vec<&Approval> =
        approvals.iter().filter(|approval| approval.approved.assurance == Assurance::Signature).collect();
    if signed.len() < approvals.len() {
        found.not_checked.push(format!(
            "who gave the {} without a signature: anyone with a terminal or an agent's client can give those",
            counted(approvals.len() - signed.len(), "approval")
        ));
    }
    let brought = match &request.approvers {
        Some(path) => Some(approvers_of(fs, &context.folder.join(path), false)?),
        None => None,
    };
    let is_brought = brought.is_some();
    let list = match brought.map_or_else(|| approvers(fs, place), Ok)? {
        Ok(list) => list,
        Err(problems) => {
            for problem in problems {
                found.problem("approvers_broken", None, problem);
            }
            return Ok(());
        }
    };
    let lacks = |key: &&Fingerprint| list.find(key).is_none();
    let strangers: Vec<String> = opened.approvers.iter().filter(lacks).map(ToString::to_string).collect();
    let knows_none = opened.approvers.is_empty() && list.iter().next().is_some();
    if !is_brought {
        found.not_checked.push(
            "whether the study was created with the right approvers: pass your list with --approvers FILE"
                .into(),
        );
    } else if strangers.is_empty() && !knows_none {
        found.holds.push("the study was created with approvers from the given list".into());
    } else {
        let said = if strangers.is_empty() { "none".to_owned() } else { strangers.join(", ") };
        let message = format!("the study was created with other approvers than the given ones: {said}");
        found.problem("other_approvers", Some(1), message);
    }
    let (mut good, mut not_here) = (0, 0);
    for approval in &signed {
        let checked = match &approval.approved.key {
            Some(key) if !may_approve(&ledger.state, key) => {
                Err(format!("was made with {key}, which is not an approver of this study"))
            }
            Some(key) if list.find(key).is_none() => {
                not_here += 1;
                continue;
            }
            _ => check_signature(fs, place, &opened.id, approval, &list)?,
        };
        match checked {
            Ok(()) => good += 1,
            Err(why) => {
                let message = format!("record {}: the signature of the approval {why}", approval.seq);
                found.problem("bad_signature", Some(approval.seq + 1), message);
            }
        }
    }
    if good > 0 {
        found.holds.push(format!("{} verified", counted(good, "signature")));
    }
    if not_here > 0 {
        let whose = if is_brought { "the given list" } else { "the list of approvers on this machine" };
        let count = counted(not_here, "signature");
        found.not_checked.push(format!("{count}, not provable here: the keys are not in {whose}"));
    }
    Ok(())
}

/// Whether the key that a record names signed the approval; otherwise why not.
fn check_signature(
    fs: &dyn Fs,
    place: &StudyPaths,
    study: &str,
    approval: &Approval,
    list: &Approvers,
) -> Outcome<Result<(), String>> {
    let Some(digest) = approval.approved.signature else { return Ok(Err("is not given".into())) };
    let path = place.signature(&digest);
    match look(fs, &place.root, &path) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(Err(format!("is missing: {}", path.display()))),
        Err(failure) => return Ok(Err(format!("can't be read: {failure}"))),
    }
    let Ok(text) = String::from_utf8(fs.read_at(&path, 0, LONGEST_SIGNATURE + 1)?) else {
        return Ok(Err("is not text".into()));
    };
    if Digest::hash(text.as_bytes()) != digest {
        return Ok(Err("is not the recorded one".into()));
    }
    let statement = statement(study.to_owned(), &approval.approved.targets, approval.head);
    Ok(match signature::verify(&statement, &text, list) {
        Ok(signed) if approval.approved.key.as_ref() == Some(&signed.fingerprint) => Ok(()),
        Ok(signed) => Err(format!("was made by {}, but the record names another key", signed.fingerprint)),
        Err(problem) => Err(format!("is invalid: {problem}")),
    })
}
