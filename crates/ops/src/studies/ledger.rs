//! `rlx ledger show`, `note`, `anchor` and `restore`.

mod restore;

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::documents::StudyName;
use rlxp_govern::ledger::event::{Anchored, Note};
use rlxp_govern::ledger::{Actor, Anchor, Event, Record};
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::Value;

pub use restore::{RestoreReport, restore};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::files::open_study::OpenStudy;
use crate::studies::files::{ledger_reader, usual_place};

/// How often a note is tried again because another process was faster.
const TRIES: usize = 100;
/// Longest note, in bytes.
const LONGEST_NOTE: usize = 10_000;

#[derive(Clone, Debug, Serialize)]
pub struct Records {
    #[serde(flatten)]
    pub name: StudyName,
    /// How many records there are in total.
    pub total: u64,
    /// The selected records, oldest first.
    pub records: Vec<ShownRecord>,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ShownRecord {
    pub seq: u64,
    /// When it was written.
    pub at: String,
    pub actor: Actor,
    /// The kind of event.
    pub kind: &'static str,
    /// The fields of the event.
    pub body: Value,
    pub digest: Digest,
}

impl From<&Record> for ShownRecord {
    fn from(record: &Record) -> Self {
        let Record { seq, at, actor, event, digest, .. } = record;
        let (kind, body) = (event.kind(), event.body());
        Self { seq: *seq, at: at.clone(), actor: *actor, kind, body, digest: *digest }
    }
}

/// A recorded anchor.
#[derive(Clone, Debug, Serialize)]
pub struct AnchorReport {
    #[serde(flatten)]
    pub anchor: Anchor,
    /// The name of the study.
    pub name: String,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    /// The command that stores it in a git note as well.
    pub git_notes: String,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// The last `tail` records, of one kind or of all.
pub fn show(
    context: &Context,
    selector: Option<&str>,
    tail: Option<usize>,
    kind: Option<&str>,
) -> Outcome<Records> {
    if let Some(kind) = kind
        && !Event::KINDS.contains(&kind)
    {
        let message = format!("unknown kind {kind:?}; kinds are: {}", Event::KINDS.join(", "));
        return Err(Failure::usage("unknown_kind", message));
    }
    let opened = OpenStudy::open(context, selector)?;
    let all =
        ledger_reader::read(&crate::studies::files::read::ledger_bytes(context, &opened.place)?).records;
    let fits = |record: &&Record| kind.is_none_or(|kind| record.event.kind() == kind);
    let mut records: Vec<ShownRecord> =
        all.iter().rev().filter(fits).take(tail.unwrap_or(usize::MAX)).map(ShownRecord::from).collect();
    records.reverse();
    Ok(Records {
        name: opened.place.name.clone(),
        total: all.len() as u64,
        records,
        warnings: opened.warnings,
    })
}

/// Records a note. A note depends on nothing, so it is tried again if another process was faster.
pub fn note(context: &Context, selector: Option<&str>, text: &str, actor: Actor) -> Outcome<Records> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_NOTE {
        return Err(Failure::usage("bad_note", format!("a note must have 1 to {LONGEST_NOTE} bytes")));
    }
    for turn in 1.. {
        let mut opened = OpenStudy::open(context, selector)?;
        match opened.append(actor, Event::Note(Note { text: text.to_owned() })) {
            Ok(record) => {
                let records = vec![ShownRecord::from(record)];
                let (name, total) = (opened.place.name.clone(), opened.study.ledger.next_seq());
                return Ok(Records { name, total, records, warnings: opened.warnings });
            }
            Err(failure) if failure.is(FailureKind::LedgerMoved) && turn < TRIES => {}
            Err(failure) => return Err(failure),
        }
    }
    unreachable!("the last turn returns")
}

/// Writes the ledger's head to a file outside the repository, after recording that.
pub fn anchor(context: &Context, selector: Option<&str>, to: Option<&Path>) -> Outcome<AnchorReport> {
    let mut opened = OpenStudy::open(context, selector)?;
    let path = match to {
        Some(path) => context.folder.join(path),
        None => usual_place(&opened.place)?,
    };
    refuse_inside(context.fs.as_ref(), &opened.place.root, &path)?;
    let head = opened.study.ledger.head();
    let place = path.display().to_string();
    let record = opened.append(Actor::Rlx, Event::Anchored(Anchored { head, place }))?;
    let (seq, head, at) = (record.seq, record.digest, record.at.clone());
    let study = opened.study.state().opened.as_ref().map(|opened| opened.id.clone()).unwrap_or_default();
    let anchor = Anchor { study, seq, head, at };
    let line = serde_json::to_string(&anchor).expect("an anchor is plain data");
    add_line(context.fs.as_ref(), &path, &line)?;
    // The line consists of hexadecimal digits and a time, so nothing in it can end the quotes.
    let git_notes = format!("git notes --ref=rlxp append -m '{line}' HEAD");
    Ok(AnchorReport {
        anchor,
        name: opened.place.name.to_string(),
        path,
        git_notes,
        warnings: opened.warnings,
    })
}

/// Refuses an anchor beside the ledger, where both could be rewritten together.
fn refuse_inside(fs: &dyn Fs, root: &Path, path: &Path) -> Outcome<()> {
    let real = |path: &Path| fs.canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().map(real).unwrap_or_default();
    if folder.starts_with(real(root)) || path.starts_with(root) {
        let message = format!(
            "{} is inside the repository, where it can be rewritten together with the ledger",
            path.display()
        );
        return Err(Failure::refused("anchor_inside", message).hint("rlx ledger anchor"));
    }
    Ok(())
}

fn add_line(fs: &dyn Fs, path: &Path, line: &str) -> Outcome<()> {
    let folder = path.parent().expect("a file lies in a folder");
    fs.create_dir_all(folder)?;
    let mut file = match fs.create_new(path) {
        Ok(file) => {
            fs.sync_dir(folder)?;
            file
        }
        Err(error) if error.is_already_there() => fs.open_append(path)?,
        Err(error) => return Err(error.into()),
    };
    // A truncated last line must not swallow this one.
    let length = file.length()?;
    let torn = length > 0 && fs.read_at(path, length - 1, 1)? != b"\n";
    file.write_all(format!("{}{line}\n", if torn { "\n" } else { "" }).as_bytes())?;
    Ok(file.sync()?)
}
