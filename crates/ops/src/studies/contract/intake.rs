//! `rlx contract new`: scan, ask, write. The four files are written together or not at all, and never replace an
//! existing one.

use std::path::PathBuf;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::completeness::{Open, open_questions};
use rlxp_govern::documents::is_answered;
use rlxp_govern::documents::{Files, StudyName};
use rlxp_govern::section::File;
use serde::Serialize;

use super::ask::{self, Answers, Ask, Assumed, Question};
use super::draft;
use super::scan::{Guess, RepositoryScan, scan_repository};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::paths::StudyPaths;
use crate::studies::files::read::{look, parse};

/// An intake in progress: the repository was scanned.
pub struct Intake {
    context: Context,
    place: StudyPaths,
    survey: RepositoryScan,
}

/// The result of an intake.
#[derive(Debug, Serialize)]
pub struct Drafted {
    pub study: StudyName,
    /// Files that were written, from the repository's root.
    pub written: Vec<String>,
    /// Questions that were not answered, with the default that was used.
    pub assumed: Vec<Taken>,
    pub open: Vec<Open>,
    /// Whether the scan covered the whole repository.
    pub looked_at_everything: bool,
}

/// A default that was used.
#[derive(Debug, Serialize)]
pub struct Taken {
    pub ask: Ask,
    /// The flag that would answer it.
    pub flag: &'static str,
    /// The default and its source.
    #[serde(flatten)]
    pub assumed: Assumed,
}

impl Intake {
    /// Scans the repository of a study. Refuses if one of the files exists.
    pub fn begin(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        let opened = OpenStudy::open(context, selector)?;
        if opened.study.state().closed.is_some() {
            return Err(Failure::refused("study_closed", format!("{} is closed", opened.place.name))
                .hint("rlx study init"));
        }
        let floor = opened.study.state().opened.as_ref().map(|opened| opened.assurance);
        let place = opened.place;
        refuse_existing(context.fs.as_ref(), &place)?;
        let mission = task_card_mission(context.fs.as_ref(), &place)?;
        let survey = RepositoryScan { floor, mission, ..scan_repository(context, &place.root)? };
        Ok(Self { context: context.clone(), place, survey })
    }

    /// The question after these answers; `None` if it doesn't apply.
    pub fn question(&self, ask: Ask, answers: &Answers) -> Option<Question> {
        ask::question(ask, answers, &self.survey)
    }

    /// Writes the files.
    pub fn finish(self, answers: &Answers) -> Outcome<Drafted> {
        let fs = self.context.fs.as_ref();
        let files = draft::files(&self.place.name, answers, &self.survey);
        write_all(fs, &self.place, &files)?;
        let assumed = Ask::ALL
            .iter()
            .filter(|ask| answers.given(**ask).is_none())
            .filter_map(|ask| ask::question(*ask, answers, &self.survey))
            .filter_map(|question| {
                Some(Taken { ask: question.ask, flag: question.flag, assumed: question.default? })
            })
            .collect();
        let mut open = open_questions(&as_read(&files));
        for (_, text) in files.iter().filter(|(file, _)| *file == File::MetricSpec) {
            open.extend(super::warn::marked(text));
        }
        Ok(Drafted {
            study: self.place.name.clone(),
            written: files.iter().map(|(file, _)| shown(&self.place, *file)).collect(),
            assumed,
            open,
            looked_at_everything: self.survey.is_whole,
        })
    }
}

/// A file's path from the repository's root.
pub(super) fn shown(place: &StudyPaths, file: File) -> String {
    let path = place.file(file);
    path.strip_prefix(&place.root).unwrap_or(&path).display().to_string()
}

/// The first paragraph of the task card below its title, if there is one.
fn task_card_mission(fs: &dyn Fs, place: &StudyPaths) -> Outcome<Option<Guess>> {
    let path = place.task_card();
    if crate::studies::files::read::look(fs, &place.root, &path)?
        .is_none_or(|meta| meta.length > LONGEST_CARD)
    {
        return Ok(None);
    }
    let Ok(text) = fs.read_text(&path, LONGEST_CARD) else { return Ok(None) };
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with('#'));
    let said: Vec<&str> = lines.by_ref().take_while(|line| !line.trim().is_empty()).collect();
    let said = said.join(" ");
    Ok(is_answered(&said).then(|| Guess { text: said, from: "task_card.md".to_owned() }))
}

/// Longest task card that is read: a page.
const LONGEST_CARD: u64 = 64 << 10;

fn refuse_existing(fs: &dyn Fs, place: &StudyPaths) -> Outcome<()> {
    let mut there = Vec::new();
    for file in File::ALL {
        if look(fs, &place.root, &place.file(file))?.is_some() {
            there.push(shown(place, file));
        }
    }
    if there.is_empty() { Ok(()) } else { Err(exists(&there)) }
}

fn exists(there: &[String]) -> Failure {
    let exist = if there.len() == 1 { "exists" } else { "exist" };
    let message = format!("{} already {exist}, and rlx never rewrites them", there.join(", "));
    Failure::refused("contract_exists", message)
        .hint(format!("edit {}, then: rlx contract check", there.first().map_or("it", String::as_str)))
}

/// Writes the files; if one fails, removes those that were written.
pub(super) fn write_all(fs: &dyn Fs, place: &StudyPaths, files: &[(File, String)]) -> Outcome<()> {
    refuse_existing(fs, place)?;
    let mut written: Vec<PathBuf> = Vec::new();
    for (file, text) in files {
        let path = place.file(*file);
        let failure = match fs.write_new_atomic(&path, text.as_bytes()) {
            Ok(true) => {
                written.push(path);
                continue;
            }
            Ok(false) => exists(&[shown(place, *file)]),
            Err(error) => {
                // The file may have been created before the failure.
                if fs.read(&path, text.len() as u64).is_ok_and(|bytes| bytes == text.as_bytes()) {
                    written.push(path);
                }
                error.into()
            }
        };
        for path in written {
            // The first failure is the one to report.
            let _ = fs.remove_file(&path);
        }
        return Err(failure);
    }
    Ok(())
}

/// The texts as they will be parsed.
pub(super) fn as_read(files: &[(File, String); 4]) -> Files {
    let bytes = |wanted: File| {
        let text = files.iter().find(|(file, _)| *file == wanted).map_or("", |(_, text)| text.as_str());
        text.as_bytes().to_vec()
    };
    let name = File::name;
    Files {
        contract: parse(name(File::Contract), bytes(File::Contract)),
        metric_spec: parse(name(File::MetricSpec), bytes(File::MetricSpec)),
        surface_map: parse(name(File::SurfaceMap), bytes(File::SurfaceMap)),
        runbook: parse(name(File::Runbook), bytes(File::Runbook)),
        override_syntax: None,
    }
}
