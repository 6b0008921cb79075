//! `rlx contract check`: every problem of the four files with its location, every open question, every inconsistency,
//! and the status of each approval.

use std::collections::BTreeMap;

use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::completeness::{Open, open_questions};
use rlxp_govern::documents::{Contract, MetricSpec, Runbook, StudyName, SurfaceMap};
use rlxp_govern::gate::{self, Purpose, Refusal, RefusalCode};
use rlxp_govern::section::{File, Section};
use rlxp_spec::document::Document;
use rlxp_spec::{Problem, Problems, Source};
use rlxp_types::Exit;
use serde::Serialize;

use super::intake::shown;
use super::power::AgreedPower;
use super::warn::{marked, warnings};
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::files::OpenStudy;
use crate::studies::files::read::look;

/// Larger files are not documents; reading them reports that.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Serialize)]
pub struct Checked {
    pub study: StudyName,
    /// Whether there are no problems and no open questions.
    pub complete: bool,
    /// Problems in the files, with their locations.
    pub problems: Vec<Problem>,
    /// Unanswered questions, with their locations.
    pub open: Vec<Problem>,
    /// Values that are inconsistent with each other.
    pub disagreements: Vec<Refusal>,
    /// The status of each section's approval.
    pub approvals: BTreeMap<Section, ApprovalStatus>,
    /// Likely mistakes; they don't block anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the agreed statistics can find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<AgreedPower>,
    /// The texts that the problems point into.
    #[serde(skip)]
    pub sources: Vec<Source>,
}

impl Checked {
    /// Complete, incomplete, or unreadable.
    pub fn exit(&self) -> Exit {
        match (self.problems.is_empty(), self.complete) {
            (false, _) => Exit::Usage,
            (true, false) => Exit::No,
            (true, true) => Exit::Yes,
        }
    }
}

/// Checks the files of the study that `selector` names.
pub fn check(context: &Context, selector: Option<&str>) -> Outcome<Checked> {
    let opened = OpenStudy::look(context, selector)?;
    let study = &opened.study;
    let (mut problems, mut sources) = (Vec::new(), Vec::new());
    let mut documents: BTreeMap<&str, Document> = BTreeMap::new();
    for file in File::ALL {
        let path = opened.place.file(file);
        if look(context.fs.as_ref(), &opened.place.root, &path)?.is_none() {
            continue;
        }
        let name = shown(&opened.place, file);
        let bytes = context.fs.read_at(&path, 0, LONGEST as usize + 1)?;
        match Document::from_bytes(name, bytes) {
            Ok(document) => {
                if let Err(found) = typed(file, &document) {
                    problems.extend(found.problems);
                }
                sources.push(document.source().clone());
                documents.insert(file.name(), document);
            }
            Err(found) => {
                problems.extend(found.problems);
                sources.extend(found.sources);
            }
        }
    }
    let mut open: Vec<Problem> = open_questions(&study.files)
        .into_iter()
        .filter_map(|open| Some(placed(documents.get(open.file)?, &open)))
        .collect();
    if let (Some(spec), Some(document)) =
        (study.files.metric_spec.typed(), documents.get(File::MetricSpec.name()))
    {
        open.extend(marked(&document.source().text).iter().map(|open| placed(document, open)));
        let outside = spec.primary_outside_evaluation();
        open.extend(outside.map(|why| document.problem("primary.source", why.as_str())));
    }
    let disagreements: Vec<Refusal> = gate::refusals(Purpose::Plan, study, None)
        .into_iter()
        .filter(|refusal| refusal.gate.is_about_files())
        // Already reported, with their locations.
        .filter(|refusal| !is_reported(refusal.code))
        .collect();
    let complete = problems.is_empty() && open.is_empty() && disagreements.is_empty();
    Ok(Checked {
        study: opened.place.name.clone(),
        complete,
        problems,
        open,
        disagreements,
        approvals: study.standings(),
        warnings: warnings(&opened)?,
        power: study.contract().map(|contract| AgreedPower::new(&contract.statistics)),
        sources,
    })
}

/// Whether a refusal is about an open question or an unreadable file.
fn is_reported(code: RefusalCode) -> bool {
    matches!(
        code,
        RefusalCode::ContractIncomplete | RefusalCode::BaselineCommitMissing | RefusalCode::FileBroken
    )
}

fn typed(file: File, document: &Document) -> Result<(), Problems> {
    match file {
        File::Contract => document.typed::<Contract>().map(drop),
        File::MetricSpec => document.typed::<MetricSpec>().map(drop),
        File::SurfaceMap => document.typed::<SurfaceMap>().map(drop),
        File::Runbook => document.typed::<Runbook>().map(drop),
    }
}

/// An open question at its location. Questions about surfaces name the surface, which is found in a list.
fn placed(document: &Document, open: &Open) -> Problem {
    let index = open.path.strip_prefix("surfaces.").and_then(|id| {
        let surfaces = document.value().get("surfaces")?.as_array()?;
        surfaces.iter().position(|surface| surface.get("id").and_then(|found| found.as_str()) == Some(id))
    });
    let path = index.map_or_else(|| open.path.clone(), |index| format!("surfaces[{index}].id"));
    Problem { path: open.path.clone(), ..document.problem(&path, open.question.as_str()) }
}
