//! In a folder with an open study, only `rlx launch` may start runs.
//!
//! Everything that starts a process for training or code of a project needs a [`Permit`], and only this module issues
//! one, each for another reason. Verbs that train or play a policy in this process check here as well.

use std::path::Path;

use rlxp_fs::{FsExt, Kind};
use rlxp_govern::documents::{Assurance, StudyName};
use rlxp_govern::gate::RefusalCode;
use rlxp_govern::section::Section;
use rlxp_govern::view::Study;
use rlxp_launch::Permit;
use rlxp_store::Writer;
use rlxp_types::text::shell_word;

use super::copy::{self, Freshness};
use super::launch_paths::RunPaths;
use super::ledger_reader;
use super::open_study::OpenStudy;
use super::paths::{FOLDER, RepositoryPaths};
use super::read::{ledger_bytes, read_study, without_files};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Allows training outside of studies, on a run in `folder`.
pub(crate) fn permit_training(context: &Context, folder: &Path) -> Outcome<Permit> {
    refuse_governed(context)?;
    refuse_governed_at(context, folder)?;
    Ok(Permit::issue())
}

/// Allows a training process to start the environments of the run in `folder`.
pub(crate) fn permit_worker(context: &Context, folder: &Path) -> Outcome<Permit> {
    refuse_governed_at(context, folder)?;
    Ok(Permit::issue())
}

/// Allows a launch of this study: the loop was entered, and the ledger is whole. The gates decide about the candidate.
pub(crate) fn permit_launch(opened: &OpenStudy) -> Outcome<Permit> {
    let study = &opened.study;
    if study.ledger.is_whole() && study.is_open() && study.state().closed.is_none() {
        // One that is easier to approve could have been opened before a stronger one, and would bypass it.
        let own = floor_of(study);
        return match stronger_beside(opened.context(), &opened.place.root, own)? {
            None => Ok(Permit::issue()),
            Some((other, floor)) => {
                Err(weaker(&other, floor, own).hint(format!("rlx study next --study {other}")))
            }
        };
    }
    let message = format!("{} is not open: only runs of an open study can be launched", study.name);
    Err(Failure::refused("study_not_open", message).hint("rlx study next"))
}

/// Allows the supervisor of a run to start its steps: the launch recorded this process as that supervisor.
pub(crate) fn permit_supervisor(context: &Context, place: &RunPaths) -> Outcome<Permit> {
    let bytes = context.fs.read(&place.shim(), LONGEST_WRITER)?;
    let named = serde_json::from_slice::<Writer>(&bytes).ok().map(|writer| writer.pid);
    if named == Some(context.machine.process_id()) {
        return Ok(Permit::issue());
    }
    let message = format!("{} was not launched with this supervisor", place.path().display());
    Err(Failure::refused("not_launched", message).hint("rlx launch status"))
}

/// Allows to try a step: it is approved in this study, and no other study guards the folder. Otherwise a second study
/// with a runbook of its own could run anything.
pub(crate) fn permit_probe(opened: &OpenStudy) -> Outcome<Permit> {
    let context = opened.context();
    let real = context.fs.canonicalize(&opened.place.root)?;
    for root in real.ancestors() {
        let of_root = root == real;
        let others = open_studies(context, root)?;
        let others = others.into_iter().find(|study| !of_root || study.name != opened.study.name);
        refuse_other(root, others.as_ref())?;
    }
    let standings = opened.study.standings();
    let missing = PROBED.into_iter().find_map(|section| match standings.get(&section) {
        Some(status) => Some((section, status.code()?)),
        None => Some((section, RefusalCode::ApprovalMissing)),
    });
    match missing {
        None => Ok(Permit::issue()),
        Some((section, code)) => {
            let message = format!("steps can be tried once {section} is approved, and it is not");
            let sections = PROBED.map(|section| section.to_string()).join(" ");
            Err(Failure::refused(code.as_str(), message).hint(format!("rlx approve {sections}")))
        }
    }
}

/// What a step that is tried depends on.
const PROBED: [Section; 3] = [Section::Hardware, Section::Baseline, Section::Evaluation];
/// The file that names a supervisor is short.
const LONGEST_WRITER: u64 = 64 << 10;

/// Refuses if a study at or above the context's folder is open.
pub fn refuse_governed(context: &Context) -> Outcome<()> {
    refuse_governed_at(context, &context.folder)
}

/// Refuses if a study at or above `folder` is open. Checks both the given path and the real one, and also folders
/// above a root that the user named.
pub fn refuse_governed_at(context: &Context, folder: &Path) -> Outcome<()> {
    let real = context.fs.canonicalize(folder).ok();
    for start in [Some(folder), real.as_deref()].into_iter().flatten() {
        for root in start.ancestors() {
            refuse_open_study(context, root)?;
        }
    }
    Ok(())
}

fn refuse_open_study(context: &Context, root: &Path) -> Outcome<()> {
    refuse_other(root, open_studies(context, root)?.first())
}

fn refuse_other(root: &Path, study: Option<&Study>) -> Outcome<()> {
    match study {
        None => Ok(()),
        Some(study) => {
            let message = format!(
                "{} is governed by the open study {}; runs can only be started with rlx launch",
                root.display(),
                study.name
            );
            let (root, name) = (root.display().to_string(), &study.name);
            let hint = format!("rlx study next --study {name} --root {}", shell_word(&root));
            Err(Failure::refused("governed_folder", message).hint(hint))
        }
    }
}

/// The weakest approval that can ever count in a study.
fn floor_of(study: &Study) -> Assurance {
    study.state().opened.as_ref().map_or(Assurance::Signature, |opened| opened.assurance)
}

/// Refuses a study at `root` that would accept weaker approvals than an open one there or above; otherwise it
/// could be used to run what the open study doesn't approve.
pub(crate) fn refuse_weaker_beside(context: &Context, root: &Path, assurance: Assurance) -> Outcome<()> {
    match stronger_beside(context, root, assurance)? {
        None => Ok(()),
        Some((study, floor)) => {
            Err(weaker(&study, floor, assurance).hint(format!("rlx study init --assurance {floor}")))
        }
    }
}

fn weaker(study: &StudyName, floor: Assurance, assurance: Assurance) -> Failure {
    let message = format!(
        "the open study {study} accepts no approval weaker than {floor}, but this one would accept {assurance}"
    );
    Failure::refused("weaker_than_beside", message)
}

/// An open study there or above that accepts only stronger approvals, with the weakest of them.
fn stronger_beside(
    context: &Context,
    root: &Path,
    assurance: Assurance,
) -> Outcome<Option<(StudyName, Assurance)>> {
    let real = context.fs.canonicalize(root)?;
    for above in real.ancestors() {
        for study in open_studies(context, above)? {
            let floor = floor_of(&study);
            if assurance < floor {
                return Ok(Some((study.name, floor)));
            }
        }
    }
    Ok(None)
}

/// The open studies of a root, according to their ledgers.
fn open_studies(context: &Context, root: &Path) -> Outcome<Vec<Study>> {
    let fs = context.fs.as_ref();
    match fs.metadata_if_any(&root.join(FOLDER))?.map(|meta| meta.kind) {
        Some(Kind::Folder) => {}
        Some(Kind::Link) => return Err(super::read::linked(&root.join(FOLDER))),
        _ => return Ok(Vec::new()),
    }
    let places = RepositoryPaths::at(context, root);
    let mut open = Vec::new();
    for name in places.studies(fs)? {
        let place = places.study(&name);
        let ledger = loop {
            let mut ledger = ledger_reader::read_lean(&ledger_bytes(context, &place)?);
            // An older ledger, from before the loop was entered, must not open the folder.
            if copy::check(context, &place, &mut ledger)? == Freshness::Current {
                break ledger;
            }
        };
        let mut study = without_files(&place, ledger);
        // Whether a person closed it depends on the approvers and the signature.
        if study.state().closed.is_some() && study.was_entered() {
            study = read_study(context, &place)?;
        }
        if study.is_open() {
            open.push(study);
        }
    }
    Ok(open)
}
