//! Reads everything of a study at once.
//!
//! Nothing below `.rlxp/` may be a link: it could show another study's approvals, or change between two reads.
//! Invalid files are kept as broken, with every reason, so that gates can report them; only a failing disk stops the
//! reading.

use std::collections::BTreeMap;
use std::path::Path;

use rlxp_fs::{Fs, FsExt, Kind, Meta};
use rlxp_govern::documents::{
    Adapter, Candidate, Claim, Contract, Files, MetricSpec, Reading, Registry, Runbook, SurfaceMap, Written,
    is_answered,
};
use rlxp_govern::ledger::Ledger;
use rlxp_govern::scope::bad_path;
use rlxp_govern::signature::{Approvers, LONGEST_SIGNATURE};
use rlxp_govern::view::{AdapterFacts, Study};
use rlxp_govern::{canonical, section};
use rlxp_spec::document::{Document, get_value};
use rlxp_spec::{Problem, Problems, Source};
use rlxp_store::LedgerFile;
use rlxp_types::Digest;
use serde_json::Value;

use super::ledger_reader;
use super::paths::{FOLDER, StudyPaths};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};

/// Documents are far smaller; larger files are broken.
const LONGEST_DOCUMENT: u64 = 1 << 20;
/// Largest source file that a claim can cite.
const LONGEST_SOURCE: u64 = 16 << 20;

pub fn read_study(context: &Context, place: &StudyPaths) -> Outcome<Study> {
    let fs = context.fs.as_ref();
    Ok(with_ledger(place, ledger_reader::read(&ledger_bytes(context, place)?), read_parts(fs, place)?))
}

/// The study as it would be with another ledger.
pub(crate) fn study_with(context: &Context, place: &StudyPaths, ledger: Ledger) -> Outcome<Study> {
    Ok(with_ledger(place, ledger, read_parts(context.fs.as_ref(), place)?))
}

/// Everything but the ledger.
pub(super) struct Parts {
    files: Files,
    approvers: Option<Approvers>,
    signatures: BTreeMap<Digest, String>,
    adapter: Option<AdapterFacts>,
    candidate_files: BTreeMap<String, Digest>,
}

pub(super) fn with_ledger(place: &StudyPaths, ledger: Ledger, parts: Parts) -> Study {
    let Parts { files, approvers, signatures, adapter, candidate_files } = parts;
    Study { name: place.name.clone(), files, ledger, approvers, signatures, adapter, candidate_files }
}

/// A study with only its ledger: enough to know whether it is open.
pub(crate) fn without_files(place: &StudyPaths, ledger: Ledger) -> Study {
    let files = Files {
        contract: Reading::Missing,
        metric_spec: Reading::Missing,
        surface_map: Reading::Missing,
        runbook: Reading::Missing,
        override_syntax: None,
    };
    let (signatures, candidate_files) = (BTreeMap::new(), BTreeMap::new());
    with_ledger(place, ledger, Parts { files, approvers: None, signatures, adapter: None, candidate_files })
}

pub(super) fn read_parts(fs: &dyn Fs, place: &StudyPaths) -> Outcome<Parts> {
    let root = &place.root;
    let (adapter, override_syntax) = adapter(fs, place)?;
    Ok(Parts {
        files: Files {
            contract: document(fs, root, &place.file(section::File::Contract))?,
            metric_spec: document(fs, root, &place.file(section::File::MetricSpec))?,
            surface_map: document(fs, root, &place.file(section::File::SurfaceMap))?,
            runbook: document(fs, root, &place.file(section::File::Runbook))?,
            override_syntax,
        },
        approvers: approvers(fs, place)?.ok(),
        signatures: signatures(fs, place)?,
        adapter,
        candidate_files: candidate_files(fs, place)?,
    })
}

/// The bytes of the ledger; empty if there is no file.
pub fn ledger_bytes(context: &Context, place: &StudyPaths) -> Outcome<Vec<u8>> {
    match look(context.fs.as_ref(), &place.root, &place.ledger())? {
        None => Ok(Vec::new()),
        Some(_) => Ok(ledger_file(context, place).read()?),
    }
}

pub(crate) fn ledger_file(context: &Context, place: &StudyPaths) -> LedgerFile {
    LedgerFile::at(context.fs.clone(), context.machine.clone(), &place.ledger())
}

/// The metadata of `path`, which is below `root/.rlxp`; fails if it or a folder on the way is a link.
pub fn look(fs: &dyn Fs, root: &Path, path: &Path) -> Outcome<Option<Meta>> {
    let inside =
        path.strip_prefix(root.join(FOLDER)).expect("only paths below the folder of studies are asked for");
    let mut at = root.join(FOLDER);
    let mut found = fs.metadata_if_any(&at)?;
    for part in inside.components() {
        match found.map(|meta| meta.kind) {
            Some(Kind::Folder) => at.push(part),
            Some(Kind::Link) => return Err(linked(&at)),
            _ => return Ok(None),
        }
        found = fs.metadata_if_any(&at)?;
    }
    if found.is_some_and(|meta| meta.kind == Kind::Link) {
        return Err(linked(&at));
    }
    Ok(found)
}

pub(crate) fn linked(path: &Path) -> Failure {
    let message = format!("{} is a symbolic link; studies must not contain links", path.display());
    Failure::with_kind(FailureKind::LinkInStudy, message)
        .hint("replace it with the file itself, then run the command again")
}

/// A hand-written file of a study.
pub trait StudyDocument: Sized {
    /// Parses it, or returns every problem.
    fn from_document(document: &Document) -> Result<Self, Problems>;
}

macro_rules! documents {
    ($($type:ty),*) => {
        $(impl StudyDocument for $type {
            fn from_document(document: &Document) -> Result<Self, Problems> {
                document.typed()
            }
        })*
    };
}

documents!(Adapter, Candidate, Contract, MetricSpec, Registry, Runbook, SurfaceMap);

/// Reads a hand-written file.
pub fn document<T: StudyDocument>(fs: &dyn Fs, root: &Path, path: &Path) -> Outcome<Reading<T>> {
    let Some(meta) = look(fs, root, path)? else { return Ok(Reading::Missing) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if meta.kind != Kind::File {
        return Ok(Reading::Broken(vec![format!("{name} is not a file")]));
    }
    if meta.length > LONGEST_DOCUMENT {
        return Ok(Reading::Broken(vec![format!("{name} is too large: {} bytes", meta.length)]));
    }
    Ok(parse(&name, fs.read(path, LONGEST_DOCUMENT)?))
}

/// Parses a hand-written file.
pub fn parse<T: StudyDocument>(name: &str, bytes: Vec<u8>) -> Reading<T> {
    let source = Source::from_bytes(name, bytes);
    let text = source.as_ref().map(|source| source.text.clone()).unwrap_or_default();
    let read = source.and_then(Document::read).and_then(|document| {
        let typed = T::from_document(&document)?;
        Ok(Written { typed, explicit: document.value().clone() })
    });
    match read {
        Ok(written) => Reading::Read(Box::new(written)),
        Err(problems) => {
            Reading::Broken(problems.problems.iter().map(|problem| told(problem, name, &text)).collect())
        }
    }
}

/// A problem as one line. For an open question, the expected form is left out.
fn told(problem: &Problem, name: &str, text: &str) -> String {
    let written = get_value(text, name, &problem.path).ok().flatten();
    let is_open = written.as_ref().and_then(Value::as_str).is_some_and(|written| !is_answered(written));
    if !is_open {
        return problem.to_string();
    }
    let message = format!("`{}` is not filled in: it is still TODO", problem.path);
    Problem { message, ..problem.clone() }.to_string()
}

/// The approvers in the user's configuration, or the problems of that list. A missing list is empty.
pub fn approvers(fs: &dyn Fs, place: &StudyPaths) -> Outcome<Result<Approvers, Vec<String>>> {
    match place.approvers() {
        None => Ok(Ok(Approvers::default())),
        Some(path) => approvers_of(fs, &path, true),
    }
}

/// The approvers in a file, or its problems.
pub fn approvers_of(
    fs: &dyn Fs,
    path: &Path,
    may_be_missing: bool,
) -> Outcome<Result<Approvers, Vec<String>>> {
    let bytes = match fs.read(path, LONGEST_DOCUMENT) {
        Ok(bytes) => bytes,
        Err(error) if may_be_missing && error.is_not_found() => return Ok(Ok(Approvers::default())),
        Err(error) => return Err(error.into()),
    };
    let named = |problem: String| format!("{}: {problem}", path.display());
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Approvers::parse(&text)
            .map_err(|problems| problems.iter().map(|problem| named(problem.to_string())).collect()),
        Err(_) => Err(vec![named("it is not UTF-8 text".to_owned())]),
    })
}

/// Names of plain files in a folder of the study that end with `end`, without that ending.
fn names(fs: &dyn Fs, place: &StudyPaths, folder: &Path, end: &str) -> Outcome<Vec<String>> {
    if look(fs, &place.root, folder)?.is_none_or(|meta| meta.kind != Kind::Folder) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs.list(folder)? {
        match (entry.kind, entry.name.strip_suffix(end)) {
            (Kind::Link, _) => return Err(linked(&folder.join(&entry.name))),
            (Kind::File, Some(name)) => found.push(name.to_owned()),
            _ => {}
        }
    }
    Ok(found)
}

/// Signatures by the digest of their text, regardless of their file names.
fn signatures(fs: &dyn Fs, place: &StudyPaths) -> Outcome<BTreeMap<Digest, String>> {
    let folder = place.signatures();
    let mut found = BTreeMap::new();
    for name in names(fs, place, &folder, ".sig")? {
        let bytes = fs.read_at(&folder.join(format!("{name}.sig")), 0, LONGEST_SIGNATURE + 1)?;
        if let Ok(text) = String::from_utf8(bytes) {
            found.insert(Digest::hash(text.as_bytes()), text);
        }
    }
    Ok(found)
}

fn candidate_files(fs: &dyn Fs, place: &StudyPaths) -> Outcome<BTreeMap<String, Digest>> {
    let folder = place.candidates();
    let mut found = BTreeMap::new();
    for name in names(fs, place, &folder, ".yaml")? {
        let bytes = fs.read_at(&folder.join(format!("{name}.yaml")), 0, LONGEST_DOCUMENT as usize + 1)?;
        found.insert(name, Digest::hash(&bytes));
    }
    Ok(found)
}

/// The adapter's facts, and how it passes overrides to a run. An unreadable adapter counts as missing.
fn adapter(fs: &dyn Fs, place: &StudyPaths) -> Outcome<(Option<AdapterFacts>, Option<String>)> {
    let reading: Reading<Adapter> = document(fs, &place.root, &place.adapter())?;
    let Some(written) = reading.get() else { return Ok((None, None)) };
    let facts = AdapterFacts {
        digest: canonical::digest(&written.explicit),
        stale: stale_claims(fs, &place.root, &written.typed.claims)?,
    };
    Ok((Some(facts), written.typed.override_syntax.clone()))
}

/// Claims whose line has changed, as `file:line`.
pub fn stale_claims(fs: &dyn Fs, root: &Path, claims: &[Claim]) -> Outcome<Vec<String>> {
    let mut sources: BTreeMap<&str, Option<Vec<u8>>> = BTreeMap::new();
    let mut stale = Vec::new();
    for claim in claims {
        let source = match sources.get(claim.file.as_str()) {
            Some(source) => source,
            None => {
                let source = source(fs, root, &claim.file)?;
                sources.entry(&claim.file).or_insert(source)
            }
        };
        let line = usize::try_from(claim.line).ok().and_then(|line| line.checked_sub(1));
        let cited = line.zip(source.as_ref()).and_then(|(line, source)| nth_line(source, line));
        if cited.is_none_or(|cited| Digest::hash(cited) != claim.line_digest) {
            stale.push(format!("{}:{}", claim.file, claim.line));
        }
    }
    Ok(stale)
}

/// A file of the repository, read without following links; `None` if it is not a plain file.
fn source(fs: &dyn Fs, root: &Path, file: &str) -> Outcome<Option<Vec<u8>>> {
    if bad_path(file).is_some() {
        return Ok(None);
    }
    let mut at = root.to_owned();
    let mut last = None;
    for part in file.split('/') {
        at.push(part);
        last = fs.metadata_if_any(&at)?;
        if last.is_none_or(|meta| meta.kind == Kind::Link) {
            return Ok(None);
        }
    }
    match last {
        Some(meta) if meta.kind == Kind::File && meta.length <= LONGEST_SOURCE => {
            Ok(Some(fs.read_at(&at, 0, LONGEST_SOURCE as usize)?))
        }
        _ => Ok(None),
    }
}

/// A line without its ending, `
/// ` or `\r
/// `.
fn nth_line(source: &[u8], line: usize) -> Option<&[u8]> {
    let line = source.split(|byte| *byte == b'\n').nth(line)?;
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_their_end() {
        let source = b"one\r\ntwo\n\nlast";
        let lines: Vec<Option<&[u8]>> = (0..5).map(|line| nth_line(source, line)).collect();
        assert_eq!(lines, [Some(&b"one"[..]), Some(b"two"), Some(b""), Some(b"last"), None]);
    }
}
