//! `rlx contract new`: scan, ask, write. The four files are written together or not at all. A draft that is
//! neither edited nor approved is replaced when the intake is run again; other files only if the user asks for it.

use std::path::PathBuf;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::completeness::{Open, open_questions};
use rlxp_govern::documents::is_answered;
use rlxp_govern::documents::{Adapter, Base, Files, StudyName};
use rlxp_govern::section::File;
use rlxp_types::text::shell_word;
use serde::Serialize;

use super::ask::{self, Answers, Ask, Assumed, Question};
use super::draft;
use super::last_draft::LastDraft;
use super::power::AgreedPower;
use super::scan::{Guess, RepositoryScan, scan_repository};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::audit::{Overrides, set_overrides};
use crate::studies::files::OpenStudy;
use crate::studies::files::paths::StudyPaths;
use crate::studies::files::read::{document, look, parse};
use crate::studies::tree::present_base;

/// An intake in progress: the repository was scanned.
pub struct Intake {
    context: Context,
    place: StudyPaths,
    survey: RepositoryScan,
    base: Option<Base>,
    again: Again,
}

/// Which existing files may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// A draft that is as rlx wrote it.
    Unedited,
    /// An edited draft as well; its text is kept beside it.
    Edited,
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
    /// What the agreed statistics can find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<AgreedPower>,
    /// What runs won't have, and other likely mistakes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Edited files whose text was kept under another name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Whether the scan covered the whole repository.
    pub looked_at_everything: bool,
}

/// A default that was used.
#[derive(Debug, Serialize)]
pub struct Taken {
    pub ask: Ask,
    /// The flag that would answer it.
    pub flag: &'static str,
    /// The file and the key where it can be changed.
    pub place: &'static str,
    /// The default and its source.
    #[serde(flatten)]
    pub assumed: Assumed,
}

impl Intake {
    /// Scans the repository of a study. Refuses if one of the files exists and isn't an unedited draft.
    pub fn begin(context: &Context, selector: Option<&str>) -> Outcome<Self> {
        Self::begin_with(context, selector, Again::Unedited)
    }

    /// The same, where the caller says which drafts may be replaced.
    pub fn begin_with(context: &Context, selector: Option<&str>, again: Again) -> Outcome<Self> {
        let opened = OpenStudy::open_with_head(context, selector)?;
        if opened.study.state().closed.is_some() {
            let hint = format!("rlx study init --task {} --study another-name", opened.place.name.task);
            return Err(
                Failure::refused("study_closed", format!("{} is closed", opened.place.name)).hint(hint)
            );
        }
        let fs = context.fs.as_ref();
        let floor = opened.study.state().opened.as_ref().map(|opened| opened.assurance);
        let last = replaceable(fs, &opened, again)?;
        let in_adapter = opened.study.files.override_syntax.clone();
        let base = present_base(fs, &opened.place.root, opened.head())?;
        let place = opened.place;
        let mission = task_card_mission(fs, &place)?;
        let adapter = document::<Adapter>(fs, &place.root, &place.adapter())?;
        let audited = adapter.typed().map(|adapter| adapter.claims.as_slice()).unwrap_or_default();
        let found = scan_repository(context, &place.root, audited)?;
        let in_adapter = in_adapter.map(|text| Guess { text, from: "adapter.yaml".to_owned() });
        let override_syntax = in_adapter.or(found.override_syntax.clone());
        let last_answers = last.answers;
        let survey = RepositoryScan { floor, mission, override_syntax, last_answers, ..found };
        Ok(Self { context: context.clone(), place, survey, base, again })
    }

    /// The question after these answers; `None` if it doesn't apply.
    pub fn question(&self, ask: Ask, answers: &Answers) -> Option<Question> {
        ask::question(ask, answers, &self.survey)
    }

    /// Writes the files, and how values reach the train command into `adapter.yaml`.
    pub fn finish(mut self, answers: &Answers) -> Outcome<Drafted> {
        let context = self.context.clone();
        let fs = context.fs.as_ref();
        digest_inputs(fs, &self.place, answers, &mut self.survey)?;
        let files = draft::files(&self.place.name, answers, &self.survey, self.base.as_ref());
        let kept = self.make_room(&files)?;
        // Before the files: if it fails, none of them is written.
        LastDraft::new(&self.survey.last_answers, answers, &files).write(fs, &self.place)?;
        write_all(fs, &self.place, &files)?;
        let mut warnings = self.survey.warnings.clone();
        let settled = answers.settled(&self.survey);
        warnings.extend(self.pass_overrides(settled.typed.overrides.first())?);
        let assumed = Ask::ALL
            .iter()
            .filter(|ask| answers.given(**ask).is_none())
            .filter_map(|ask| ask::question(*ask, answers, &self.survey))
            .filter_map(|question| {
                let Question { ask, flag, place, default, .. } = question;
                Some(Taken { ask, flag, place, assumed: default? })
            })
            .collect();
        let read = as_read(&files);
        let mut open = open_questions(&read);
        for (_, text) in files.iter().filter(|(file, _)| *file == File::MetricSpec) {
            open.extend(super::warn::marked(text));
        }
        Ok(Drafted {
            study: self.place.name.clone(),
            written: files.iter().map(|(file, _)| shown(&self.place, *file)).collect(),
            assumed,
            open,
            power: read.contract.typed().map(|contract| AgreedPower::new(&contract.statistics)),
            warnings,
            kept,
            looked_at_everything: self.survey.is_whole,
        })
    }

    /// Removes the draft that is replaced. What a person edited is kept under another name.
    fn make_room(&self, files: &[(File, String)]) -> Outcome<Vec<String>> {
        let (fs, place) = (self.context.fs.as_ref(), &self.place);
        let last = LastDraft::read(fs, place)?;
        let edited = last.edited(fs, place)?;
        if self.again == Again::Unedited && !edited.is_empty() {
            return Err(was_edited(place, &edited));
        }
        let mut kept = Vec::new();
        for (file, text) in files {
            let path = place.file(*file);
            if look(fs, &place.root, &path)?.is_none() {
                continue;
            }
            let is_same = fs.digest(&path)? == rlxp_types::Digest::hash(text.as_bytes());
            if edited.contains(file) && !is_same {
                let old = path.with_extension("yaml.old");
                fs.rename(&path, &old)?;
                kept.push(old.strip_prefix(&place.root).unwrap_or(&old).display().to_string());
            } else {
                fs.remove_file(&path)?;
            }
        }
        Ok(kept)
    }

    /// Writes the override syntax into the adapter and records that; the warning says what is left to do.
    fn pass_overrides(&self, syntax: Option<&String>) -> Outcome<Option<String>> {
        let Some(syntax) = syntax else { return Ok(None) };
        let name = self.place.name.to_string();
        match set_overrides(&self.context, Some(&name), syntax)? {
            Overrides::Recorded => Ok(None),
            Overrides::NotAudited => Ok(Some(format!(
                "values are passed to the train command as {syntax} once the repository is audited: rlx study audit \
                 --claim train_command:FILE:LINE --override-syntax {}",
                shell_word(syntax)
            ))),
        }
    }
}

/// The digests of the inputs that the runbook will list.
pub(super) fn digest_inputs(
    fs: &dyn Fs,
    place: &StudyPaths,
    answers: &Answers,
    survey: &mut RepositoryScan,
) -> Outcome<()> {
    for path in answers.settled(survey).typed.inputs {
        let at = place.root.join(&path);
        if !fs.is_file(&at)? {
            let message = format!("--input: {path} is not a file in the repository");
            return Err(Failure::usage("no_such_input", message).hint("rlx contract new --help"));
        }
        survey.input_digests.insert(path, crate::studies::tree::file_digest(fs, &at)?);
    }
    Ok(())
}

/// The last draft, if it may be replaced, or an empty one if there are no files yet.
fn replaceable(fs: &dyn Fs, opened: &OpenStudy, again: Again) -> Outcome<LastDraft> {
    let place = &opened.place;
    let there = existing(fs, place)?;
    if there.is_empty() {
        return Ok(LastDraft::default());
    }
    if !opened.study.state().approvals.is_empty() {
        return Err(exists(&there));
    }
    let last = LastDraft::read(fs, place)?;
    let edited = last.edited(fs, place)?;
    match again {
        Again::Unedited if !edited.is_empty() => Err(was_edited(place, &edited)),
        _ => Ok(last),
    }
}

fn was_edited(place: &StudyPaths, edited: &[File]) -> Failure {
    let names: Vec<String> = edited.iter().map(|file| shown(place, *file)).collect();
    let message = format!("{} changed since rlx wrote the draft, or came from elsewhere", names.join(", "));
    Failure::refused("contract_exists", message)
        .hint("rlx contract check    # continue with the files as they are")
        .hint("rlx contract new --again    # replace them; your text is kept with the ending .old")
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
    let there = existing(fs, place)?;
    if there.is_empty() { Ok(()) } else { Err(exists(&there)) }
}

fn existing(fs: &dyn Fs, place: &StudyPaths) -> Outcome<Vec<String>> {
    let mut there = Vec::new();
    for file in File::ALL {
        if look(fs, &place.root, &place.file(file))?.is_some() {
            there.push(shown(place, file));
        }
    }
    Ok(there)
}

fn exists(there: &[String]) -> Failure {
    let exist = if there.len() == 1 { "exists" } else { "exist" };
    let message =
        format!("{} already {exist}, and rlx never rewrites files that were approved", there.join(", "));
    Failure::refused("contract_exists", message).hint("rlx contract check    # after editing them")
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
