//! What a run that was not a fresh policy started from: `origin/` in a seed's folder contains its initial weights
//! and, if a run was extended, the whole training state. The folder is written once, so the run can be resumed before
//! its first checkpoint and reproduced at any time.

use rlxp_fs::{Fs, FsError, FsExt};
use rlxp_learn::{Learner, Resumed};
use rlxp_store::{LineageKind, MODEL_FILE, Run, STATE_FILE, SeedFolder};
use rlxp_types::Exit;

use crate::failure::{Failure, Outcome};
use crate::training::weights::{tensors, unfit};

const FOLDER: &str = "origin";
/// Largest origin file that is read.
const CAP: u64 = 1 << 30;

/// What a seed starts from.
#[derive(Clone)]
pub(crate) struct InitialCheckpoint {
    /// Bytes of `model.safetensors`.
    pub(crate) model: Vec<u8>,
    /// Bytes of `state.safetensors`, if training continues.
    pub(crate) state: Option<Vec<u8>>,
}

impl InitialCheckpoint {
    /// Writes the origin into a seed's folder.
    pub(crate) fn write(&self, fs: &dyn Fs, folder: &SeedFolder) -> Result<(), FsError> {
        let place = folder.path().join(FOLDER);
        fs.create_dir_all(&place)?;
        if let Some(state) = &self.state {
            fs.write_atomic(&place.join(STATE_FILE), state)?;
        }
        // The model last: without it there is no origin.
        fs.write_atomic(&place.join(MODEL_FILE), &self.model)
    }

    /// The origin of a seed, if it has one.
    pub(crate) fn read(folder: &SeedFolder, run: &Run) -> Outcome<Option<Self>> {
        let fs = run.fs();
        let place = folder.path().join(FOLDER);
        let file = |name: &str| match fs.read(&place.join(name), CAP) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(Failure::from(error)),
        };
        let Some(model) = file(MODEL_FILE)? else { return Ok(None) };
        Ok(Some(Self { model, state: file(STATE_FILE)? }))
    }

    /// Starts `learner` from the seed's origin, if the run has one; returns how it continues if the origin has a
    /// training state.
    pub(crate) fn apply(
        run: &Run,
        folder: &SeedFolder,
        learner: &mut dyn Learner,
    ) -> Outcome<Option<Resumed>> {
        let lineage = run.metadata()?.lineage;
        let needed = lineage.as_ref().is_some_and(|lineage| lineage.kind != LineageKind::Reproduced);
        let Some(origin) = Self::read(folder, run)? else {
            if needed {
                let message = format!("the initial weights of {} are missing", run.name());
                return Err(Failure::new(Exit::Storage, "origin_missing", message)
                    .hint("the run was interrupted while it was created: start it again"));
            }
            return Ok(None);
        };
        let place = folder.path().join(FOLDER);
        let model = tensors(&place.join(MODEL_FILE), &origin.model)?;
        let begun = match origin.state {
            Some(state) => {
                learner.continue_from(&model, &tensors(&place.join(STATE_FILE), &state)?).map(Some)
            }
            None => learner.start_from(&model).map(|()| None),
        };
        begun.map_err(|error| unfit(&place, error))
    }
}
