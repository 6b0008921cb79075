//! In a folder with an open study, only `rlx launch` may start runs. Every other verb that trains or evaluates checks
//! here first.

use std::path::Path;

use rlxp_fs::{FsExt, Kind};
use rlxp_govern::documents::Assurance;
use rlxp_govern::view::Study;
use rlxp_types::text::shell_word;

use super::ledger_reader;
use super::paths::{FOLDER, RepositoryPaths};
use super::read::{ledger_bytes, read_study, without_files};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

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
    match open_studies(context, root)?.first() {
        None => Ok(()),
        Some(study) => {
            let message = format!(
                "{} is governed by the open study {}; runs can only be started with rlx launch",
                root.display(),
                study.name
            );
            let hint = format!("rlx study next --root {}", shell_word(&root.display().to_string()));
            Err(Failure::refused("governed_folder", message).hint(hint))
        }
    }
}

/// Refuses a new study at `root` that would accept weaker approvals than an open one there or above; otherwise it
/// could be used to run what the open study doesn't approve.
pub(crate) fn refuse_weaker_beside(context: &Context, root: &Path, assurance: Assurance) -> Outcome<()> {
    let real = context.fs.canonicalize(root)?;
    for above in real.ancestors() {
        for study in open_studies(context, above)? {
            let floor = study.state().opened.as_ref().map_or(Assurance::Signature, |opened| opened.assurance);
            if assurance < floor {
                let message = format!(
                    "the open study {} accepts no approval weaker than {floor}, but this one would accept {assurance}",
                    study.name
                );
                return Err(Failure::refused("weaker_than_beside", message)
                    .hint(format!("rlx study init --assurance {floor}")));
            }
        }
    }
    Ok(())
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
        let mut study = without_files(&place, ledger_reader::read_lean(&ledger_bytes(context, &place)?));
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
