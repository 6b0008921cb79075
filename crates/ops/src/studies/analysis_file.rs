//! Files that rlx writes about runs, for people and for the gates that ask for them: written whole, and recorded in the
//! ledger by digest, so that no other file can take their place.

use rlxp_fs::FsExt;
use rlxp_govern::ledger::event::Analyzed;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::read::look;

/// How often a ledger that others add to is read again.
const TRIES: usize = 50;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnalysisFile {
    /// Relative to the study's folder.
    pub file: String,
    pub digest: Digest,
    /// The number of its record.
    pub record: u64,
    /// Whether the same bytes were recorded earlier.
    pub already: bool,
}

/// Refuses where nothing can be recorded.
pub(crate) fn check_open(opened: &OpenStudy) -> Outcome<()> {
    match &opened.study.state().closed {
        Some(reason) => Err(Failure::refused("study_closed", format!("the study is closed: {reason}"))),
        None => Ok(()),
    }
}

/// The bytes of such a file.
pub(crate) fn bytes_of(content: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(content).expect("it is plain data");
    bytes.push(b'\n');
    bytes
}

/// Writes `content` to a file in `audits/` and records it as `analyzed`, whose file and digest are filled in here.
pub(crate) fn write(
    context: &Context,
    opened: &mut OpenStudy,
    name: &str,
    content: &impl Serialize,
    analyzed: Analyzed,
) -> Outcome<AnalysisFile> {
    let bytes = bytes_of(content);
    let (folder, digest) = (opened.place.audits(), Digest::hash(&bytes));
    let path = folder.join(name);
    look(context.fs.as_ref(), &opened.place.root, &path)?;
    context.fs.create_dir_all(&folder)?;
    context.fs.write_atomic(&path, &bytes)?;
    let file = format!("audits/{name}");
    let analyzed = Analyzed { file: file.clone(), digest, ..analyzed };
    let mut tries = 0;
    loop {
        let known = opened.study.state().analyzed.iter().rev().find(|(_, known)| *known == analyzed);
        if let Some((record, _)) = known {
            return Ok(AnalysisFile { file, digest, record: *record, already: true });
        }
        match opened.append(Actor::Rlx, Event::Analyzed(analyzed.clone())) {
            Ok(record) => {
                let record = record.seq;
                return Ok(AnalysisFile { file, digest, record, already: false });
            }
            // Another process appends to the ledger too.
            Err(failure) if tries < TRIES && failure.is_contention() => {
                tries += 1;
                *opened = OpenStudy::at(context, opened.place.clone())?;
            }
            Err(failure) => return Err(failure),
        }
    }
}
