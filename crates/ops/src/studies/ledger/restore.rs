//! `rlx ledger restore`: puts the copy outside the repository back in place of a ledger that lacks records of it.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, clock};
use rlxp_govern::approval::newly_void;
use rlxp_govern::documents::StudyName;
use rlxp_govern::ledger::{Ledger, against_copy};
use rlxp_govern::section::Target;
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::copy::{LedgerCopy, id_of};
use crate::studies::files::paths::{RepositoryPaths, StudyPaths};
use crate::studies::files::read::{ledger_file, look, study_with};
use crate::studies::files::{ledger_reader, state_file};

/// A ledger that was put back.
#[derive(Clone, Debug, Serialize)]
pub struct RestoreReport {
    #[serde(flatten)]
    pub name: StudyName,
    /// Records before.
    pub before: u64,
    /// Records now.
    pub records: u64,
    /// The digest of the last one.
    pub head: Digest,
    /// Records that only the replaced ledger has, which count no longer.
    pub only_replaced: u64,
    /// Where the replaced ledger is kept; `None` if there was nothing to restore.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub kept: Option<PathBuf>,
    /// Signatures that were put back as well.
    pub signatures: usize,
}

/// Puts the copy back. `even_if_void` accepts that approvals are void then, because their documents are not those that
/// were approved.
pub fn restore(context: &Context, selector: Option<&str>, even_if_void: bool) -> Outcome<RestoreReport> {
    let fs = context.fs.as_ref();
    let place = RepositoryPaths::find(context)?.select(fs, selector)?;
    // A ledger that was removed is restored like one that was cut to nothing.
    let is_missing = look(fs, &place.root, &place.ledger())?.is_none();
    if is_missing {
        fs.write_new_atomic(&place.ledger(), b"")?;
    }
    let restored = restore_at(context, &place, even_if_void);
    if is_missing && restored.is_err() {
        // git would refuse to switch to the branch that has the ledger.
        fs.remove_file(&place.ledger())?;
    }
    restored
}

fn restore_at(context: &Context, place: &StudyPaths, even_if_void: bool) -> Outcome<RestoreReport> {
    let fs = context.fs.as_ref();
    let mut locked = ledger_file(context, place).lock(&clock::wall_text())?;
    let present = ledger_reader::read(locked.content());
    let Some(copy) = LedgerCopy::find(fs, place, &present)? else {
        return if present.is_whole() {
            Ok(nothing_to_do(place, &present))
        } else {
            Err(no_copy(place, &present))
        };
    };
    let bytes = copy.read(fs)?;
    let copied = ledger_reader::read(&bytes);
    if let Some(problem) = &copied.problem {
        let message = format!(
            "the copy {} is damaged itself, line {}: {}",
            copy.path.display(),
            problem.line,
            problem.message
        );
        return Err(Failure::refused("copy_damaged", message).hint("rlx verify --chain"));
    }
    let end = copy.end(fs, id_of(&copied))?.ok_or_else(|| no_copy(place, &present))?;
    let (before, records, head) = (present.next_seq(), copied.next_seq(), copied.head());
    let name = place.name.clone();
    if present.is_whole() && against_copy(&present, &end).is_none() {
        return Ok(nothing_to_do(place, &present));
    }
    let missing = missing_signatures(fs, place, &copied, &copy)?;
    if !even_if_void {
        refuse_if_void(context, place, copied.clone(), &missing)?;
    }
    let shared = present.digests.iter().zip(&copied.digests).take_while(|(one, other)| one == other).count();
    let only_replaced = before - shared as u64;
    // Before the records that refer to them, as when they were made.
    for (digest, text) in &missing {
        fs.create_dir_all(&place.signatures())?;
        fs.write_atomic(&place.signature(digest), text.as_bytes())?;
    }
    let kept = Some(locked.replace(bytes)?);
    drop(locked);
    state_file::write(context, place, &copied)?;
    Ok(RestoreReport { name, before, records, head, only_replaced, kept, signatures: missing.len() })
}

fn nothing_to_do(place: &StudyPaths, present: &Ledger) -> RestoreReport {
    let (records, head) = (present.next_seq(), present.head());
    RestoreReport {
        name: place.name.clone(),
        before: records,
        records,
        head,
        only_replaced: 0,
        kept: None,
        signatures: 0,
    }
}

fn no_copy(place: &StudyPaths, present: &Ledger) -> Failure {
    let folder = place.ledger_copies().map_or_else(|| "none without HOME".to_owned(), shown);
    let of = if present.records.is_empty() { "exactly one copy" } else { "a copy" };
    let message = format!("no copy of the ledger of {}: expected {of} in {folder}", place.name);
    Failure::refused("no_copy", message).hint("rlx verify --chain")
}

fn shown(path: PathBuf) -> String {
    path.display().to_string()
}

/// Signatures that the copied records refer to, that the copy has and the study's folder lacks.
fn missing_signatures(
    fs: &dyn Fs,
    place: &StudyPaths,
    copied: &Ledger,
    copy: &LedgerCopy,
) -> Outcome<Vec<(Digest, String)>> {
    let mut missing = Vec::new();
    let named = copied.state.approvals.iter().filter_map(|approval| approval.approved.signature);
    for digest in named {
        if look(fs, &place.root, &place.signature(&digest))?.is_some() {
            continue;
        }
        if let Some(text) = kept_signature(fs, &copy.signature(&digest), &digest) {
            missing.push((digest, text));
        }
    }
    Ok(missing)
}

fn kept_signature(fs: &dyn Fs, path: &Path, digest: &Digest) -> Option<String> {
    let text = fs.read_text(path, rlxp_govern::signature::LONGEST_SIGNATURE as u64).ok()?;
    (Digest::hash(text.as_bytes()) == *digest).then_some(text)
}

/// Refuses if the next command would find approvals void, which is for good: on another branch, the documents may be
/// older than the approvals.
fn refuse_if_void(
    context: &Context,
    place: &StudyPaths,
    copied: Ledger,
    signatures: &[(Digest, String)],
) -> Outcome<()> {
    let mut study = study_with(context, place, copied)?;
    study.signatures.extend(signatures.iter().cloned());
    let standings = study.standings().into_iter().map(|(section, status)| (Target::Section(section), status));
    let void = newly_void(study.state(), &standings.collect());
    if study.state().closed.is_some() || void.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = void.iter().map(|(target, _)| target.to_string()).collect();
    let message = format!(
        "the documents here are not those that were approved, so these approvals would be void for good: {}",
        names.join(", ")
    );
    Err(Failure::refused("would_void", message)
        .hint("switch to the branch with the study's documents: git switch -")
        .hint("rlx ledger restore --even-if-void"))
}
