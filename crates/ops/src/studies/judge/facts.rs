//! What the files of runs say: whether they are still those that the ledger knows, and what training left.

use std::collections::BTreeMap;

use rlxp_fs::FsExt;
use rlxp_govern::canonical;
use rlxp_govern::judge::{Facts, RunFacts};
use rlxp_govern::ledger::StudyState;
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_types::Digest;

use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};
use crate::studies::launch::Manifest;

/// The longest list of files that is read.
const LONGEST_MANIFEST: u64 = 64 << 20;
/// What training leaves is below this folder.
const TRAINED: &str = "train/";

/// The facts about these runs. A file that is missing or changed is a fact; only one that can't be read is an error.
pub(crate) fn gather(
    context: &Context,
    place: &LaunchPaths,
    state: &StudyState,
    keys: &[String],
) -> Outcome<Facts> {
    let mut facts = Facts::default();
    for key in keys {
        // A key is the name of a folder; one that isn't has no facts, and so fails its checks.
        if rlxp_govern::scope::bad_path(key).is_some() || key.contains('/') {
            continue;
        }
        if let Some(run) = state.runs.get(key) {
            facts.runs.insert(key.clone(), of_run(context, &place.run(key), run)?);
        }
    }
    Ok(facts)
}

fn of_run(context: &Context, place: &RunPaths, run: &RunRecord) -> Outcome<RunFacts> {
    let mut facts = RunFacts::default();
    let fs = context.fs.rooted(place.path());
    let fs = fs.as_ref();
    const MANIFEST: &str = "manifest.json";
    let Some(expected) = run.ended.as_ref().and_then(|ended| ended.manifest) else {
        // A run that ended well has a list of its files.
        if run.state == RunState::Ended(RunEnd::Ok) {
            facts.changed.insert(MANIFEST.to_owned(), "is not recorded".to_owned());
        }
        return Ok(facts);
    };
    let bytes = match fs.read(&place.manifest(), LONGEST_MANIFEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => {
            facts.changed.insert(MANIFEST.to_owned(), "is gone".to_owned());
            return Ok(facts);
        }
        Err(error) => return Err(error.into()),
    };
    if Digest::hash(&bytes) != expected {
        facts.changed.insert(MANIFEST.to_owned(), "has changed since the run ended".to_owned());
        return Ok(facts);
    }
    let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else {
        facts.changed.insert(MANIFEST.to_owned(), "can't be read".to_owned());
        return Ok(facts);
    };
    let read = run.evidence.as_ref().map(|evidence| &evidence.files);
    for (name, digest) in read.into_iter().flatten() {
        let is_listed = manifest.files.get(name).is_some_and(|file| file.digest == *digest);
        let why = match fs.digest(&place.path().join(name)) {
            Ok(now) if now == *digest && is_listed => continue,
            Ok(_) => "has changed since it was read",
            Err(error) if error.is_not_found() => "is gone",
            Err(error) => return Err(error.into()),
        };
        facts.changed.insert(name.clone(), why.to_owned());
    }
    let trained: BTreeMap<&String, Digest> = manifest
        .files
        .iter()
        .filter(|(name, _)| name.starts_with(TRAINED))
        .map(|(name, file)| (name, file.digest))
        .collect();
    facts.trained = (!trained.is_empty()).then(|| canonical::digest_of(&trained));
    Ok(facts)
}
