//! Weights and training states out of a run's files. Whatever is wrong with
//! one, the error names the file and the checkpoints that can be used instead.

use std::path::Path;

use rlxp_env::Sources;
use rlxp_learn::{Agent, LearnError, Spaces, algorithm};
use rlxp_nn::Tensors;
use rlxp_spec::Config;
use rlxp_store::{MODEL_FILE, SeedFolder};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::failure::{Failure, Outcome, describe};

/// Checkpoints that a hint names.
const MOST_NAMED: usize = 3;

/// What acts in a checkpoint, with the bytes it was read from.
pub(crate) struct Weights {
    pub(crate) bytes: Vec<u8>,
    pub(crate) agent: Box<dyn Agent>,
}

impl Weights {
    /// Loads a checkpoint for `config`.
    pub(crate) fn load(
        sources: Sources<'_>,
        config: &Config,
        folder: &SeedFolder,
        step: u64,
    ) -> Outcome<Self> {
        let spaces = Spaces::from(sources.spaces(&config.env).map_err(LearnError::from)?);
        let load = || {
            let (_, bytes) = folder.checkpoints().load_model(step)?;
            let path = folder.checkpoints().step_path(step).join(MODEL_FILE);
            let agent = algorithm(config)
                .agent(config, &spaces, &tensors(&path, &bytes)?)
                .map_err(|error| unfit(&path, error))?;
            Ok(Self { bytes, agent })
        };
        load().map_err(|failure| with_others(failure, folder, step))
    }
}

/// The tensors that the bytes of a file hold.
pub(crate) fn tensors(path: &Path, bytes: &[u8]) -> Outcome<Tensors> {
    Tensors::from_bytes(bytes).map_err(|error| {
        let message = format!("{} can't be read: {}", path.display(), describe(&error));
        Failure::new(Exit::Storage, "checkpoint_damaged", message)
    })
}

/// What is wrong with tensors that could be read from `path`.
pub(crate) fn unfit(path: &Path, error: LearnError) -> Failure {
    let mut failure = Failure::from(error);
    failure.message = format!("{}: {}", path.display(), failure.message);
    failure
}

/// Adds the commands that use other checkpoints of the seed, the newest first.
pub(crate) fn with_others(failure: Failure, folder: &SeedFolder, step: u64) -> Failure {
    let store = folder.checkpoints();
    let steps = store.steps().unwrap_or_default().into_iter().rev();
    let others = steps.filter(|other| *other != step && store.load_model(*other).is_ok());
    others.take(MOST_NAMED).fold(failure, |failure, other| {
        let path = store.step_path(other).display().to_string();
        failure.hint(format!("rlx eval {}    # another checkpoint of this seed", shell_word(&path)))
    })
}
