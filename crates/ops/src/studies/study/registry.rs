//! `rlx study use` and `rlx study list`: which studies there are, and which one is meant when none is named.

use std::path::PathBuf;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::documents::{Reading, Registry, RegistrySchema, Slug, StudyName};
use rlxp_spec::document::to_yaml;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::contract::import::{FlatStudy, flat_layout};
use crate::studies::files::ledger_reader;
use crate::studies::files::paths::RepositoryPaths;
use crate::studies::files::read::{ledger_bytes, without_files};

/// All studies of a repository.
#[derive(Clone, Debug, Serialize)]
pub struct StudyList {
    /// The repository.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub root: PathBuf,
    /// Studies by name.
    pub studies: Vec<StudyRow>,
    /// Files of an older tool, which count as a study that can only be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flat: Option<FlatStudy>,
}

#[derive(Clone, Debug, Serialize)]
pub struct StudyRow {
    pub task: Slug,
    pub study: Slug,
    /// Whether it is meant when none is named.
    pub active: bool,
    /// Whether the loop was entered: from then on only rlx's launch path runs things in the repository.
    pub open: bool,
    /// Why it is over.
    pub closed: Option<String>,
    /// Records in its ledger.
    pub records: u64,
    /// When the last one was written.
    pub last: Option<String>,
    /// What is wrong with its ledger.
    pub problem: Option<String>,
}

pub fn list(context: &Context) -> Outcome<StudyList> {
    let fs = context.fs.as_ref();
    let places = RepositoryPaths::find(context)?;
    let active = places.read_registry(fs)?.typed().and_then(|registry| registry.active.clone());
    let mut studies = Vec::new();
    for name in places.studies(fs)? {
        let place = places.study(&name);
        let study = without_files(&place, ledger_reader::read_lean(&ledger_bytes(context, &place)?));
        let ledger = &study.ledger;
        let empty = ledger.records.is_empty().then(|| "it has no record".to_owned());
        studies.push(StudyRow {
            active: active.as_ref() == Some(&name),
            open: study.is_open(),
            closed: ledger.state.closed.clone(),
            records: ledger.next_seq(),
            last: ledger.records.last().map(|record| record.at.clone()),
            problem: ledger.problem.as_ref().map(|problem| problem.message.clone()).or(empty),
            task: name.task,
            study: name.study,
        });
    }
    let flat = flat_layout(fs, &places.root)?;
    Ok(StudyList { root: places.root, studies, flat })
}

/// Makes a study the active one.
pub fn make_active(context: &Context, selector: &str) -> Outcome<StudyName> {
    let fs = context.fs.as_ref();
    let places = RepositoryPaths::find(context)?;
    let name = places.select(fs, Some(selector))?.name;
    let registry = match places.read_registry(fs)? {
        Reading::Read(written) => written.typed,
        // A registry is only a list of what the folders show.
        Reading::Missing | Reading::Broken(_) => {
            Registry { schema: RegistrySchema::V1, active: None, studies: places.studies(fs)? }
        }
    };
    activate(fs, &places, registry, &name)?;
    Ok(name)
}

/// Writes the registry with `name` in it and active.
pub(super) fn activate(
    fs: &dyn Fs,
    places: &RepositoryPaths,
    mut registry: Registry,
    name: &StudyName,
) -> Outcome<()> {
    registry.active = Some(name.clone());
    if !registry.studies.contains(name) {
        registry.studies.push(name.clone());
        registry.studies.sort();
    }
    let value =
        serde_json::to_value(&registry).map_err(|_| Failure::usage("registry", "it can't be written"))?;
    Ok(fs.write_atomic(&places.registry(), to_yaml(&value).as_bytes())?)
}
