//! The copy of a ledger in the user's state folder, written after each approval, run and verdict. With it, an older
//! ledger that git puts back (`git checkout -- .rlxp`, another branch) is noticed, and nothing is lost: budget, seeds
//! and voided approvals stay as they were.
//!
//! It is as safe as that folder: it protects against git and honest mistakes, not against the owner of the account.

use std::path::PathBuf;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::ledger::{Anchor, Event, Ledger, Record, against, against_copy};
use rlxp_types::Digest;

use super::anchors::{own_anchors, place_key};
use super::ledger_reader;
use super::paths::StudyPaths;
use super::read::ledger_bytes;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The longest copy that is read, as of a ledger.
pub(crate) const LONGEST: u64 = 1 << 30;
/// No record is longer, so this much of the end has a whole one.
const LONGEST_RECORD: u64 = 1 << 20;

/// How a copy has to reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Before the command continues.
    Synced,
    /// When the system gets to it: what follows has to begin quickly, and only a power cut could lose it.
    Unsynced,
}

/// Whether the ledger is copied after these events, and how.
pub(super) fn urgency<'e>(events: impl Iterator<Item = &'e Event>) -> Option<Urgency> {
    let of = |event: &Event| match event {
        Event::Approved(_)
        | Event::Voided(_)
        | Event::RunEnded(_)
        | Event::Completed(_)
        | Event::Judged(_)
        | Event::Reverted(_)
        | Event::HandedOff(_)
        | Event::Closed(_) => Some(Urgency::Synced),
        // Drawn seeds and what is reserved of the budget; that the run started, without which its end can't be recorded;
        // and what was read from its files.
        Event::LaunchIntent(_) | Event::Launched(_) | Event::Evidence(_) => Some(Urgency::Unsynced),
        _ => None,
    };
    let mut found = None;
    for event in events {
        found = match (found, of(event)) {
            (Some(Urgency::Synced), _) | (_, Some(Urgency::Synced)) => Some(Urgency::Synced),
            (found, of) => found.or(of),
        };
    }
    found
}

/// The copy of a study's ledger.
#[derive(Clone, Debug)]
pub(crate) struct LedgerCopy {
    pub(crate) path: PathBuf,
}

impl LedgerCopy {
    /// Where the copy of this study's ledger is: named after the location, as anchors are, and the study's id, so that
    /// a study recreated there has its own. `None` without a home folder.
    pub(crate) fn of(place: &StudyPaths, id: &str) -> Option<Self> {
        // The id becomes a part of a file name, and the ledger that it comes from is not trusted.
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let folder = place.ledger_copies().filter(|_| is_id)?;
        Some(Self { path: folder.join(format!("{}-{id}.jsonl", place_key(place))) })
    }

    /// The copy for a ledger; for one without a first record, the only copy of a study at this location.
    pub(crate) fn find(fs: &dyn Fs, place: &StudyPaths, ledger: &Ledger) -> Outcome<Option<Self>> {
        if let Some(opened) = &ledger.state.opened {
            let Some(copy) = Self::of(place, &opened.id) else { return Ok(None) };
            return Ok(fs.is_file(&copy.path)?.then_some(copy));
        }
        let Some(folder) = place.ledger_copies() else { return Ok(None) };
        if !fs.is_folder(&folder)? {
            return Ok(None);
        }
        let start = format!("{}-", place_key(place));
        // A study called `a` must not find the copy of `a-b`: an id has no dash.
        let is_of = |name: &str| {
            name.strip_prefix(&start)
                .and_then(|rest| rest.strip_suffix(".jsonl"))
                .is_some_and(|id| !id.contains('-'))
        };
        let names = fs.list(&folder)?.into_iter().map(|entry| entry.name);
        let mut found: Vec<PathBuf> =
            names.filter(|name| is_of(name)).map(|name| folder.join(name)).collect();
        Ok(if found.len() == 1 { found.pop().map(|path| Self { path }) } else { None })
    }

    /// Its last record as an anchor; `None` for a copy without a whole record.
    pub(crate) fn end(&self, fs: &dyn Fs, study: &str) -> Outcome<Option<Anchor>> {
        let length = fs.metadata(&self.path)?.length;
        let start = length.saturating_sub(LONGEST_RECORD);
        let tail = fs.read_at(&self.path, start, LONGEST_RECORD as usize)?;
        let Some(whole) = tail.iter().rposition(|byte| *byte == b'\n') else { return Ok(None) };
        let line = tail[..whole].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let record = std::str::from_utf8(line).ok().and_then(|line| Record::parse(line).ok());
        Ok(record.map(|record| Anchor {
            study: study.to_owned(),
            seq: record.seq,
            head: record.digest,
            at: record.at,
        }))
    }

    /// All its bytes.
    pub(crate) fn read(&self, fs: &dyn Fs) -> Outcome<Vec<u8>> {
        Ok(fs.read(&self.path, LONGEST)?)
    }

    /// Replaces it atomically.
    pub(super) fn write(&self, fs: &dyn Fs, content: &[u8], urgency: Urgency) -> Outcome<()> {
        fs.create_dir_all(self.path.parent().expect("a copy lies in a folder"))?;
        match urgency {
            Urgency::Synced => fs.write_atomic(&self.path, content)?,
            Urgency::Unsynced => fs.replace_unsynced(&self.path, content)?,
        }
        Ok(())
    }

    /// The folder of the signatures that its records refer to: another branch may lack those too.
    fn signatures(&self) -> PathBuf {
        self.path.with_extension("signatures")
    }

    /// Where the copy of a signature is.
    pub(crate) fn signature(&self, digest: &Digest) -> PathBuf {
        self.signatures().join(format!("{digest}.sig"))
    }

    pub(super) fn write_signature(&self, fs: &dyn Fs, digest: &Digest, text: &str) -> Outcome<()> {
        fs.create_dir_all(&self.signatures())?;
        Ok(fs.write_atomic(&self.signature(digest), text.as_bytes())?)
    }
}

/// The id of a study, as its ledger has it.
pub(crate) fn id_of(ledger: &Ledger) -> &str {
    ledger.state.opened.as_ref().map_or("", |opened| opened.id.as_str())
}

/// Whether a ledger that was read is the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    Current,
    /// Another process appended to it meanwhile: it has to be read again.
    Moved,
}

/// Notes as the ledger's problem what contradicts it outside the repository: the user's anchors, and its copy.
pub(super) fn check(context: &Context, place: &StudyPaths, ledger: &mut Ledger) -> Outcome<Freshness> {
    if ledger.problem.is_some() {
        return Ok(Freshness::Current);
    }
    let fs = context.fs.as_ref();
    // The copy first: it also says what helps.
    if let Some(copy) = LedgerCopy::find(fs, place, ledger)?
        && let Some(end) = copy.end(fs, id_of(ledger))?
    {
        ledger.problem = against_copy(ledger, &end);
        if ledger.problem.is_some() && matches_now(context, place, &end)? {
            return Ok(Freshness::Moved);
        }
    }
    if ledger.problem.is_none() {
        ledger.problem = against(ledger, &own_anchors(fs, place)?).into_iter().next();
    }
    Ok(Freshness::Current)
}

/// Whether the ledger matches the end of its copy by now. The copy is written after the ledger, so a ledger that was read
/// before the copy may lack what another process appended in between.
pub(crate) fn matches_now(context: &Context, place: &StudyPaths, end: &Anchor) -> Outcome<bool> {
    let now = ledger_reader::read_lean(&ledger_bytes(context, place)?);
    Ok(now.problem.is_none() && against_copy(&now, end).is_none())
}

/// What is said if the copy can't be written. The ledger itself is written, so nothing stops.
pub(super) fn not_written(failure: &Failure) -> String {
    format!(
        "the copy of the ledger in your state folder could not be written ({failure}): an older ledger in the \
         repository would not be noticed"
    )
}

/// What is said where there is no folder for the copy.
pub(super) fn no_folder() -> Failure {
    Failure::usage("no_state_folder", "HOME is not set")
}
