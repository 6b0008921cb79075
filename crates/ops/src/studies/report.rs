//! `rlx study report`: the whole study from its ledger and evidence, every number with the record it comes from.
//!
//! | module | what it does |
//! |---|---|
//! | `history` | the records in their order, each with its number |
//! | `facts` | everything a report is rendered from, and what seeds count for |
//! | `summary`, `verdicts`, `spending`, `agreement`, `charts` | the sections, as blocks |
//! | `page` | all of them in order |
//! | `document`, `html_page` | blocks as Markdown and as HTML |
//! | `experiments`, `loop_files` | `experiments.yaml` and the files of `loops/<n>/` |
//!
//! All of it is derived: no decision reads any of these files. `report.md` has no time in it and leaves out reports, so
//! the same ledger gives the same bytes, and a report that says nothing new is not recorded again.

mod agreement;
mod charts;
mod document;
mod experiments;
mod facts;
mod history;
mod html_page;
mod loop_files;
mod page;
mod spending;
mod summary;
#[cfg(test)]
mod tests;
mod verdicts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use rlxp_govern::documents::{Reading, Slug, StudyName};
use rlxp_govern::ledger::event::Reported;
use rlxp_govern::ledger::{Actor, Event, Ledger};
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::read::{ledger_bytes, look};
use crate::studies::files::{OpenStudy, ledger_reader};
use crate::studies::launch::reconcile;
use crate::studies::study::next::next_of;

use facts::{CandidateFile, Facts};
use history::History;

/// How often a study is read again because another process appended to its ledger.
const TRIES: usize = 20;

/// A report that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyReport {
    pub study: StudyName,
    /// The number of verdicts so far, which names the folder of the loop.
    #[serde(rename = "loop")]
    pub number: u64,
    /// How many records it is about.
    pub records: u64,
    /// The study in three sentences.
    pub summary: [String; 3],
    /// Everything that was written.
    pub files: ReportFiles,
    /// The digest of `report.md`.
    pub digest: Digest,
    /// Whether it was appended to the ledger now. A report that says nothing new isn't, and neither is one of a closed
    /// study.
    pub recorded: bool,
    /// The command of the next step.
    pub next: Option<String>,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// Files of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportFiles {
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub report: PathBuf,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub html: PathBuf,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub experiments: PathBuf,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub feedback: PathBuf,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub manifest: PathBuf,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub handoff: PathBuf,
}

/// Writes the report of a study and records it; `open` shows it with the desktop's viewer.
pub fn report(context: &Context, study: Option<&str>, open: bool) -> Outcome<StudyReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let mut warnings = Vec::new();
    if opened.study.state().closed.is_none()
        && let Err(failure) = reconcile(context, &mut opened)
    {
        // A damaged run folder must not keep what is recorded from being reported.
        warnings.push(format!("runs could not be checked: {failure}"));
    }
    let mut tries = 0;
    let mut written = loop {
        match write(context, &mut opened) {
            Err(failure) if tries < TRIES && failure.is_contention() => {
                tries += 1;
                opened = OpenStudy::at(context, opened.place.clone())?;
            }
            result => break result?,
        }
    };
    warnings.append(&mut opened.warnings);
    written.warnings = warnings;
    opened.leave();
    if open {
        crate::show::show(&written.files.html)?;
    }
    Ok(written)
}

fn write(context: &Context, opened: &mut OpenStudy) -> Outcome<StudyReport> {
    let bytes = ledger_bytes(context, &opened.place)?;
    let ledger = ledger_reader::read(&bytes);
    if ledger.head() != opened.study.ledger.head() {
        let message = format!("another process wrote to the ledger of {}", opened.place.name);
        return Err(Failure::with_kind(FailureKind::LedgerMoved, message).hint("run the command again"));
    }
    let candidates = candidate_files(opened)?;
    let facts = gather(context, opened, &ledger, candidates)?;
    let document = page::document(&facts);
    let markdown = document.to_markdown().into_bytes();
    let (digest, number) = (Digest::hash(&markdown), loop_files::number_of(&facts));
    let folder = format!("loops/{number}");
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("report.md".to_owned(), markdown),
        ("report.html".to_owned(), html_page::render(&document).into_bytes()),
        ("experiments.yaml".to_owned(), experiments::text(&facts).into_bytes()),
        (format!("{folder}/feedback.json"), loop_files::feedback(&facts)),
        (format!("{folder}/handoff.md"), loop_files::handoff(&facts).into_bytes()),
    ];
    let manifest = loop_files::manifest(&facts, &files, &opened.study.candidate_files);
    files.push((format!("{folder}/manifest.json"), manifest));
    let place = |name: &str| opened.place.folder.join(name);
    put(context, opened, &folder, &files)?;
    let report = StudyReport {
        study: facts.name.clone(),
        number,
        records: facts.history.records(),
        summary: summary::sentences(&facts),
        files: ReportFiles {
            report: place("report.md"),
            html: place("report.html"),
            experiments: place("experiments.yaml"),
            feedback: place(&format!("{folder}/feedback.json")),
            manifest: place(&format!("{folder}/manifest.json")),
            handoff: place(&format!("{folder}/handoff.md")),
        },
        digest,
        recorded: is_new(&ledger, digest) && facts.state.closed.is_none(),
        next: facts.next.command.clone(),
        warnings: Vec::new(),
    };
    if report.recorded {
        opened.append(Actor::Rlx, Event::Reported(Reported { digest }))?;
    }
    Ok(report)
}

/// Whether the last report says something else, or was written before the last verdict.
fn is_new(ledger: &Ledger, digest: Digest) -> bool {
    let last = ledger.records.iter().rev().find_map(|record| match &record.event {
        Event::Reported(reported) => Some(reported.digest),
        _ => None,
    });
    let state = &ledger.state;
    last != Some(digest) || state.last_reported < state.last_judged
}

/// Everything that the report is rendered from.
fn gather<'a>(
    context: &Context,
    opened: &'a OpenStudy,
    ledger: &'a Ledger,
    candidates: BTreeMap<Slug, CandidateFile>,
) -> Outcome<Facts<'a>> {
    let study = &opened.study;
    // The step after this report: before it is recorded, the answer would be to report.
    let next = next_of(context, opened, true)?;
    Ok(Facts {
        name: &study.name,
        history: History::new(&ledger.records),
        state: &ledger.state,
        contract: study.contract(),
        spec: study.files.metric_spec.typed(),
        approvals: opened.standings()?,
        candidates,
        unknown_runs: match LaunchPaths::for_study(opened) {
            Ok(place) => place.unknown_runs(context.fs.as_ref(), &study.ledger)?,
            // Without a home folder there are no runs.
            Err(_) => Vec::new(),
        },
        next,
    })
}

/// The files of all candidates that were ever validated, where they are still what was validated.
fn candidate_files(opened: &OpenStudy) -> Outcome<BTreeMap<Slug, CandidateFile>> {
    let study = &opened.study;
    let mut files = BTreeMap::new();
    for (id, record) in &study.state().candidates {
        let file = match study.candidate_files.get(id.as_str()) {
            None => CandidateFile::Missing,
            Some(digest) if *digest != record.validated.file => CandidateFile::Changed,
            Some(_) => match opened.candidate(id)? {
                Reading::Read(written) => CandidateFile::Same(Box::new(written.typed)),
                Reading::Missing => CandidateFile::Missing,
                Reading::Broken(_) => CandidateFile::Unreadable,
            },
        };
        files.insert(id.clone(), file);
    }
    Ok(files)
}

/// Writes all files. Each is whole or as it was before.
fn put(context: &Context, opened: &OpenStudy, folder: &str, files: &[(String, Vec<u8>)]) -> Outcome<()> {
    let (fs, place) = (context.fs.as_ref(), &opened.place);
    // Nothing below the study's folder may be a link, for writing either.
    let checked = |path: &Path| look(fs, &place.root, path).map(drop);
    let folder = place.folder.join(folder);
    checked(&folder)?;
    fs.create_dir_all(&folder)?;
    for (name, bytes) in files {
        let path = place.folder.join(name);
        checked(&path)?;
        fs.remove_abandoned(context.machine.as_ref(), &path);
        fs.write_atomic(&path, bytes)?;
    }
    Ok(())
}
