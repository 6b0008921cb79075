//! The small files of a run's folder as types: its launcher, its supervisor, its end.

use std::collections::BTreeMap;
use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::documents::StepName;
use rlxp_govern::machine::RunEnd;
use rlxp_launch::order::{Level, StepEnd, StepOutcome, Usage};
use rlxp_types::Digest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Outcome};
use crate::studies::files::launch_paths::RunPaths;

/// None of these files gets close to this size.
const LONGEST: u64 = 64 << 20;

/// `end.json`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndFile {
    pub(crate) key: String,
    pub(crate) end: RunEnd,
    pub(crate) reason: String,
    pub(crate) usage: Usage,
    /// How it was sandboxed; `None` if it never started.
    pub(crate) level: Option<Level>,
    /// Why it can never be evidence, where it can't.
    pub(crate) not_evidence: Option<String>,
    /// Whether training had succeeded by then; `None` if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after_training: Option<bool>,
    /// A file that changed code left and that can run code when it is loaded, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) executable_output: Option<String>,
    /// The digest of `manifest.json`.
    pub(crate) manifest: Option<Digest>,
    pub(crate) steps: Vec<StepEnd>,
}

/// `manifest.json`: every file that the run left, by its path in the run's folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) key: String,
    pub(crate) files: BTreeMap<String, ManifestFile>,
    /// What could not be listed: too many files, or entries that are not plain files.
    pub(crate) left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestFile {
    pub(crate) length: u64,
    pub(crate) digest: Digest,
}

/// How a run ended, as the ledger says it.
pub(crate) fn run_end(how: StepOutcome) -> RunEnd {
    match how {
        StepOutcome::Ok => RunEnd::Ok,
        StepOutcome::Failed => RunEnd::Failed,
        StepOutcome::Limit => RunEnd::Limit,
        StepOutcome::Cancelled => RunEnd::Cancelled,
        StepOutcome::Blocked => RunEnd::Blocked,
    }
}

/// Whether one of these steps is the training, and succeeded.
pub(crate) fn has_trained(steps: &[StepEnd]) -> bool {
    let trains = |name: &str| [StepName::Train, StepName::Smoke].iter().any(|step| step.as_str() == name);
    steps.iter().any(|step| trains(&step.name) && step.how == StepOutcome::Ok)
}

/// Reads a file as a type; `None` if it doesn't exist.
pub(crate) fn read<T: DeserializeOwned>(fs: &dyn Fs, path: &Path) -> Outcome<Option<T>> {
    let bytes = match fs.read(path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        Failure::new(
            rlxp_types::Exit::Storage,
            "run_file_broken",
            format!("{} can't be read: {error}", path.display()),
        )
        .hint("rlx launch status")
    })
}

/// The list of a run's files, if it is the one in the ledger.
pub(crate) fn recorded_manifest(
    fs: &dyn Fs,
    place: &RunPaths,
    key: &str,
    expected: Digest,
) -> Outcome<Manifest> {
    let path = place.manifest();
    let bytes = fs.read(&path, LONGEST).map_err(|error| {
        if error.is_not_found() {
            let message = format!(
                "the files of run {key} are gone: {} doesn't exist; what the ledger has about the run still holds",
                path.display()
            );
            return Failure::refused("run_files_gone", message)
                .hint("restore the run's folder, or: rlx study handoff");
        }
        error.into()
    })?;
    if Digest::hash(&bytes) != expected {
        let message = format!("{} has changed since run {key} ended", path.display());
        return Err(Failure::refused("run_file_changed", message)
            .hint("restore the file, then run the command again"));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{} can't be read: {error}", path.display());
        Failure::refused("run_file_broken", message)
    })
}

/// The bytes of a small file.
pub(crate) fn bytes(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("it is plain data");
    bytes.push(b'\n');
    bytes
}
